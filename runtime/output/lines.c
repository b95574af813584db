#define _GNU_SOURCE
#include "runtime/output/lines.h"

#include <string.h>

static int64_t row_end(char quote, SbStr rows, int64_t begin, int64_t from) {
    bool quoted = false;
    for (int64_t at = begin; at < rows.len; at++) {
        quoted ^= quote != 0 && rows.ptr[at] == quote;
        if (rows.ptr[at] == '\n' && !quoted && at + 1 >= from) return at + 1;
    }
    return rows.len;
}

int64_t lines_row_end(const SbSink *what, SbStr rows, int64_t from) {
    return row_end(what->quote, rows, 0, from);
}

int64_t lines_rows_within(const SbSink *what, SbStr rows, int64_t room) {
    if (rows.len <= room) return rows.len;
    if (what->quote == 0 || !memchr(rows.ptr, what->quote, (size_t)room)) {
        const char *last = memrchr(rows.ptr, '\n', (size_t)room);
        return last ? last + 1 - rows.ptr : 0;
    }
    int64_t end = 0, next;
    while ((next = row_end(what->quote, rows, end, end + 1)) <= room) end = next;
    return end;
}

int64_t lines_rows_end(const SbSink *what, SbStr rows, int64_t count) {
    int64_t end = 0;
    for (int64_t n = 0; n < count && end < rows.len; n++)
        end = row_end(what->quote, rows, end, end + 1);
    return end;
}
