// JSON files: one array of objects, or, where they are read, objects one after the other.
#include "ir/format.h"

const FormatInfo format_info_json = {
    .names = {{"json", 0}},
    .suffixes = {{".json", 0}},
    .reads = true,
    .writes = true,
    .input = FORMAT_SCANNED,
    .read_options = FORMAT_OPTION_ZONE | FORMAT_OPTION_ROW_MAX | FORMAT_OPTION_ENCODING,
    .write_options = FORMAT_OPTION_BYTES | FORMAT_OPTION_FILES,
    .row = FORMAT_ROW_VALUES,
    .spells = true,
    .one_bool = true,
    .lines = true,
};
