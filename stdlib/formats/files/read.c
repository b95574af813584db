// Files: each is a row, of its path and its bytes.
#include "runtime/format.h"

#include <string.h>

static void fill(const SbSource *what, SbStr path, SbStr bytes, SbEntry *entry) {
    for (uint32_t i = 0; i < what->column_count; i++) {
        const SbField *column = &what->columns[i];
        bool is_path = column->name.len == 4 && memcmp(column->name.ptr, "path", 4) == 0;
        *(SbStr *)((char *)entry + column->offset) = is_path ? path : bytes;
    }
}

const SbReader sb_reader_files = {.fill = fill};
