// Scan lines: for readers of formats whose rows are lines.
#ifndef SBC_RUNTIME_INPUT_SCAN_LINES_H
#define SBC_RUNTIME_INPUT_SCAN_LINES_H

#include "runtime/format.h"

// For SbReader. A text has no header, but it may begin with a byte order mark.
bool scan_text_front(const Source *source, SourceFile *file, SbStr front, Trouble *trouble);
int64_t scan_line_end(const Window *window, int64_t pos, int64_t from);
int64_t scan_line_start(const Window *window, int64_t to);

#endif
