// Lines: finds the rows of text files and of JSON lines.
#ifndef SBC_STDLIB_LINES_H
#define SBC_STDLIB_LINES_H

#include "runtime/abi/text.h"

enum SbLinesRule : uint32_t {
    SB_LINES_SKIP_BLANK = 1,  // Lines of spaces, tabs and CRs alone are no rows: JSON lines.
    SB_LINES_ANY_BYTES = 2,   // Need not be UTF-8.
};

// Indexes lines of text[pos, end), pos a line start. It stops where index->rows_max or ends_max (at
// least rows_max + 64 for full speed) is reached, or a line is not UTF-8 (SB_FAULT_BAD_UTF8). Else
// the text ends. Line r lies in [starts[r], ends[r]): LF, and a CR right before it, are not part of
// it. The last line may lack its LF. `rules` is a sum of SB_LINES_... Sets rows, next, lines and
// the fault as sb_csv_index does.
void sb_lines_index(SbIndex *index, const char *text, int64_t pos, int64_t end, uint32_t rules);

// The end, after the LF, of the first line that ends at or after `from`; -1 when there is none.
int64_t sb_lines_end(const char *text, int64_t pos, int64_t from, int64_t end);

// Line ends in text[0, len).
int64_t sb_lines_count(const char *text, int64_t len);

#endif
