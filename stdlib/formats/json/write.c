// JSON files: outputs are one array, with a row on each line.
//
//   [           the header
//   {"a":1},    ",\n{...}" for each row, whose comma the first row of a file goes without
//   {"a":2}
//   ]
#include "runtime/output.h"

#include <string.h>

enum { FRONT = 2 };  // Of a row: its line end, perhaps after a comma. Values have none.

// Where the row at `begin` ends.
static int64_t end_at(SbStr rows, int64_t begin) {
    if (begin + FRONT >= rows.len) return rows.len;
    const char *from = rows.ptr + begin + FRONT;
    const char *line = memchr(from, '\n', (size_t)(rows.ptr + rows.len - from));
    return line ? line - 1 - rows.ptr : rows.len;
}

static int64_t row_end(const SbSink *, SbStr rows, int64_t from) {
    // A line end right at `from` is that of a row which ends before it, at its comma.
    return end_at(rows, from > FRONT ? from + 1 - FRONT : 0);
}

static int64_t rows_within(const SbSink *, SbStr rows, int64_t room) {
    if (rows.len <= room) return rows.len;
    int64_t end = 0, next;
    while ((next = end_at(rows, end)) <= room) end = next;
    return end;
}

static int64_t rows_end(const SbSink *, SbStr rows, int64_t count) {
    int64_t end = 0;
    for (int64_t n = 0; n < count && end < rows.len; n++) end = end_at(rows, end);
    return end;
}

const SbWriter sb_writer_json = {
    .extension = "json", .widens = 6, .row_end = row_end, .rows_within = rows_within,
    .rows_end = rows_end, .between = 1, .footer = {"\n]\n", 3},
};
