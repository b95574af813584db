// Files: a row is a whole file, its path and its bytes.
#include "ir/format.h"

const FormatInfo format_info_files = {
    .names = {{"files", 0}},
    .reads = true,
    .input = FORMAT_FILLED,
    .read_options = FORMAT_OPTION_ROW_MAX,
    .row = FORMAT_ROW_FIXED,
    .fixed = {{"path", TYPE_STR}, {"bytes", TYPE_BYTES}},
};
