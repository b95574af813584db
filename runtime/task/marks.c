#include "runtime/task/marks.h"

#include <stdlib.h>
#include <string.h>

enum : uint8_t { MATCHED = 1 };  // SbBreaker.matched_offset

void marks_close(MarkList *marks) {
    if (marks) free(marks->items);
    free(marks);
}

void marks_reset(MarkList *marks) {
    if (marks->count == 0) return;
    memset(marks->recent, 0, sizeof marks->recent);
    marks->count = 0;
    marks->sum = 0;
}

bool marks_are_many(const MarkList *marks) {
    enum { MANY = 1 << 14 };
    return marks->count >= MANY;
}

static bool more(MarkList *marks) {
    enum { FEW = 256 };
    if (marks->count < marks->room) return true;
    int64_t room = marks->room ? 2 * marks->room : FEW;
    uint8_t **items = realloc(marks->items, (size_t)room * sizeof *items);
    if (!items) return false;
    marks->items = items;
    marks->room = room;
    return true;
}

static uint64_t mixed(const uint8_t *mark) {
    return (uint64_t)(uintptr_t)mark * UINT64_C(0x9e3779b97f4a7c15);
}

bool marks_add(MarkList **list, uint8_t *mark) {
    enum { ENTRY_BITS = 4 };  // Entries are multiples of 16 bytes.
    if (!*list) *list = calloc(1, sizeof **list);
    MarkList *marks = *list;
    if (!marks) return false;
    uint8_t **recent = &marks->recent[((uintptr_t)mark >> ENTRY_BITS) % MARKS_RECENT];
    if (*recent == mark) return true;
    if (!more(marks)) return false;
    *recent = mark;
    marks->items[marks->count++] = mark;
    marks->sum += mixed(mark);
    return true;
}

bool marks_take(const MarkList *marks, const ArenaSpace *space) {
    uint64_t sum = 0;
    bool good = true;
    for (int64_t i = 0; i < marks->count && good; i++) {
        sum += mixed(marks->items[i]);
        good = arena_space_find(space, marks->items[i], 1) < space->count;
    }
    if (!good || sum != marks->sum) return false;
    for (int64_t i = 0; i < marks->count; i++)
        __atomic_store_n(marks->items[i], MATCHED, __ATOMIC_RELAXED);
    return true;
}
