// JSON lines: outputs are lines.
#include "runtime/output.h"

const SbWriter sb_writer_jsonl = {
    .extension = "jsonl", .widens = 6, .row_end = lines_row_end,
    .rows_within = lines_rows_within, .rows_end = lines_rows_end,
};
