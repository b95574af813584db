// Text: outputs are lines.
#include "runtime/output.h"

const SbWriter sb_writer_text = {
    .extension = "txt", .widens = 2, .row_end = lines_row_end,
    .rows_within = lines_rows_within, .rows_end = lines_rows_end,
};
