#include "runtime/breakers/first_rows.h"

#include "runtime/breakers/window.h"

#include <stdlib.h>

enum {
    ROWS_MIN = 1 << 14,  // Fewer are not looked through...
    EAGER_ROWS = 4,      // ...but in tests.
    ROW_BYTES = sizeof(SbEntry *) + 2 * sizeof(SbSortItem),  // What looking through takes.
};

bool first_rows_together(const FirstRows *first, const SbEntry *a, const SbEntry *b) {
    const SbWindow *window = first->what->window;
    return !window || window_same_partition(window, a, b);
}

bool first_rows_wants_last(const FirstRows *first) {
    return first->what->window && first->what->window->keeps == SB_KEEPS_LAST;
}

int64_t first_rows_choose(const FirstRows *first, const SbEntry **entries, int64_t count) {
    bool last = first_rows_wants_last(first);
    int64_t left = 0, number = 0;  // Of the row in its partition.
    for (int64_t i = 0; i < count; i++) {
        bool same = i > 0 && first_rows_together(first, entries[i - 1], entries[i]);
        number = same ? number + 1 : 0;
        if (last && same) left--;
        if (last || number < first->most) entries[left++] = entries[i];
    }
    return left;
}

// ---- while rows come ----------------------------------------------------------------------------

static bool copy_rows(const FirstRows *first, const SbRows *rows, const SbEntry *const *entries,
                      int64_t count, SbRows *copies) {
    const struct SbRowsState *state = rows->state;
    if (sb_rows_init(copies, state->entries.memory, state->entry_bytes)) return false;
    if (state->entries.shared) sb_rows_share(copies);
    bool good = true;
    for (int64_t i = 0; good && i < count; i++) good = spill_copy(copies, first->what, entries[i]);
    return good;
}

// The rows that stay are copied, and the others go with the memory that all lie in.
static void shrink(RowsShrink *self, SbRows *rows) {
    FirstRows *first = (FirstRows *)(void *)self;
    SbMemory *memory = rows->state->entries.memory;
    int64_t count = rows->count, least = memory->eager ? EAGER_ROWS : ROWS_MIN;
    self->at = 2 * count;
    if (!sb_memory_charge(memory, count * ROW_BYTES)) return;
    const SbEntry **entries = malloc((size_t)count * sizeof *entries);
    SbSortItem *room = malloc((size_t)count * 2 * sizeof *room);
    if (entries && room) {
        sb_rows_list(rows, entries);
        sb_sort_serial(entries, room, count, first->by);
        int64_t left = first_rows_choose(first, entries, count);
        SbRows copies = {0};
        if (left <= count / 2 && copy_rows(first, rows, entries, left, &copies) &&
            sb_rows_become(rows, &copies)) {
            self->at = 2 * left > least ? 2 * left : least;
        }
        sb_rows_fini(&copies);
    }
    free(entries);
    free(room);
    sb_memory_release(memory, count * ROW_BYTES);
}

void first_rows_open(FirstRows *first, const SbBreaker *what, const SbSortBy *by, int64_t most) {
    *first = (FirstRows){.shrink = {shrink, EAGER_ROWS}, .what = what, .by = by, .most = most};
}
