// JSON lines: an object a line.
#include "ir/format.h"

const FormatInfo format_info_jsonl = {
    .names = {{"jsonl", 0}},
    .suffixes = {{".jsonl", 0}, {".ndjson", 0}},
    .reads = true,
    .writes = true,
    .input = FORMAT_SCANNED,
    .read_options = FORMAT_OPTION_ZONE | FORMAT_OPTION_ROW_MAX | FORMAT_OPTION_ENCODING,
    .write_options = FORMAT_OPTION_BYTES | FORMAT_OPTION_FILES | FORMAT_OPTION_APPEND,
    .row = FORMAT_ROW_OBJECTS,
    .records = FORMAT_RECORDS_JSONL,
    .spells = true,
    .one_bool = true,
    .lines = true,
};
