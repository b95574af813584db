// Lines: rows of outputs that end in a line end, which SbSink.quote may hide.
#ifndef SBC_RUNTIME_OUTPUT_LINES_H
#define SBC_RUNTIME_OUTPUT_LINES_H

#include "runtime/format.h"

// For SbWriter.
int64_t lines_row_end(const SbSink *what, SbStr rows, int64_t from);
int64_t lines_rows_within(const SbSink *what, SbStr rows, int64_t room);
int64_t lines_rows_end(const SbSink *what, SbStr rows, int64_t count);

#endif
