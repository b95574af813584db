// CSV: outputs are lines, in which quotes hide line ends.
#include "runtime/output.h"

const SbWriter sb_writer_csv = {
    .extension = "csv", .widens = 2, .row_end = lines_row_end, .rows_within = lines_rows_within,
    .rows_end = lines_rows_end,
};
