// Text: a row is a line.
#include "ir/format.h"

static bool fits_line(const Type *type) { return type->kind == TYPE_STR && !type->nullable; }

const FormatInfo format_info_text = {
    .names = {{"text", 0}},
    .suffixes = {{".txt", 0}, {".log", 0}},
    .reads = true,
    .writes = true,
    .input = FORMAT_SCANNED,
    .read_options = FORMAT_OPTION_ROW_MAX | FORMAT_OPTION_ENCODING,
    .write_options = FORMAT_OPTION_BYTES | FORMAT_OPTION_FILES | FORMAT_OPTION_APPEND,
    .row = FORMAT_ROW_FIXED,
    .fixed = {{"line", TYPE_STR}},
    .write_columns = {.count = 1, .fits = fits_line, .words = "one column of type str",
                      .fix = "make the line first: | select line = f\"...\""},
    .lines = true,
};
