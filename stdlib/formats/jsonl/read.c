// JSON lines: rows are lines.
#include "runtime/input.h"

const SbReader sb_reader_jsonl = {
    .lines = true, .header = scan_text_front, .row_end = scan_line_end,
    .row_start = scan_line_start,
};
