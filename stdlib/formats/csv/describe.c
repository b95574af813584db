// CSV: fields between delimiters, with quotes; TSV is the same between tabs.
#include "ir/format.h"

enum : unsigned {
    DIALECT = FORMAT_OPTION_DELIMITER | FORMAT_OPTION_QUOTE | FORMAT_OPTION_HEADER |
              FORMAT_OPTION_NULL | FORMAT_OPTION_DECIMAL,
};

static bool fits_field(const Type *type) { return !type_is_nested(type); }

const FormatInfo format_info_csv = {
    .names = {{"csv", ','}, {"tsv", '\t'}},
    .suffixes = {{".csv", 0}, {".tsv", '\t'}, {".tab", '\t'}},
    .reads = true,
    .writes = true,
    .input = FORMAT_SCANNED,
    .read_options = DIALECT | FORMAT_OPTION_COMMENT | FORMAT_OPTION_ZONE | FORMAT_OPTION_ROW_MAX |
                    FORMAT_OPTION_ENCODING | FORMAT_OPTION_SKIP | FORMAT_OPTION_THOUSANDS |
                    FORMAT_OPTION_MISSING,
    .write_options = DIALECT | FORMAT_OPTION_BYTES | FORMAT_OPTION_FILES | FORMAT_OPTION_APPEND,
    .row = FORMAT_ROW_FIELDS,
    .read_columns = {.fits = fits_field, .words = "a CSV field",
                     .fix = "declare it as json, or as str and split it"},
    .records = FORMAT_RECORDS_CSV,
    .dialect = true,
    .spells = true,
    .lines = true,
};
