#include "runtime/breakers/first_rows.h"

#include "runtime/breakers/spill_sort.h"
#include "runtime/breakers/window.h"

#include <stdlib.h>

enum {
    ROWS_MIN = 1 << 14,  // Fewer are not looked through...
    EAGER_ROWS = 4,      // ...but in tests.
    ROW_BYTES = sizeof(SbEntry *) + 2 * sizeof(SbSortItem),  // What looking through takes.
};

static bool same_partition(const FirstRows *first, const SbEntry *a, const SbEntry *b) {
    const SbWindow *window = first->what->window;
    return !window || window_same_partition(window, a, b);
}

static bool wants_last(const FirstRows *first) {
    return first->what->window && first->what->window->keeps == SB_KEEPS_LAST;
}

int64_t first_rows_choose(const FirstRows *first, const SbEntry **entries, int64_t count) {
    bool last = wants_last(first);
    int64_t left = 0, number = 0;  // Of the row in its partition.
    for (int64_t i = 0; i < count; i++) {
        bool same = i > 0 && same_partition(first, entries[i - 1], entries[i]);
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

// ---- on disk ------------------------------------------------------------------------------------

typedef struct Choice {
    const FirstRows *first;
    const SpillRuns *from;
    SpillSort        sort;    // Writes what is chosen.
    SbRows           chosen;
    SbRows           before;  // A copy of the row before, or of the first one of its partition.
    const SbEntry   *row;     // It. nullptr: there is none.
    bool             good;
} Choice;

static bool hold(Choice *choice, const SbEntry *entry) {
    sb_rows_reset(&choice->before);
    choice->row = spill_copy(&choice->before, choice->first->what, entry);
    return choice->row;
}

static bool choose(Choice *choice, const SbEntry *entry) {
    return spill_copy(&choice->chosen, choice->first->what, entry);
}

static bool go_along(Choice *choice, SpillMerge *merge) {
    const FirstRows *first = choice->first;
    bool last = wants_last(first), good = true;
    int64_t number = 0, held;
    for (const SbEntry *entry; good && (entry = spill_merge_first(merge, &held));) {
        bool same = choice->row && same_partition(first, choice->row, entry);
        number = same ? number + 1 : 0;
        if (last && choice->row && !same) good = choose(choice, choice->row);
        if (last || !same) good = good && hold(choice, entry);
        if (!last && number < first->most) good = good && choose(choice, entry);
        spill_merge_pass(merge);
    }
    if (last && choice->row) good = good && choose(choice, choice->row);
    return good;
}

static void run_choice(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Choice *choice = arg;
    const FirstRows *first = choice->first;
    Spill *spill = choice->from->spill;
    int64_t bytes = first->what->entry_bytes;
    if (!sb_rows_init(&choice->chosen, spill->memory, bytes) &&
        !sb_rows_init(&choice->before, spill->memory, bytes) &&
        spill_sort_watch(&choice->sort, thread, &choice->chosen)) {
        SpillMerge *merge = spill_merge_open(choice->from, first->what, first->by);
        choice->good = merge && go_along(choice, merge);
        spill_merge_close(merge);
    }
    if (!choice->good)
        spill_fail(spill, TROUBLE_MEMORY, "no memory for the first rows of a partition");
}

int32_t first_rows_on_disk(const FirstRows *first, const SpillRuns *from, SpillRuns *to,
                           const SbSortBy *by, SbParallel *parallel) {
    Choice choice = {.first = first, .from = from};
    if (!spill_sort_open(&choice.sort, first->what, by, to)) return SB_FAULT_TOO_LARGE;
    parallel->each(parallel, 1, run_choice, &choice);
    if (choice.good) spill_sort_rest(&choice.sort, &choice.chosen, parallel);
    sb_rows_fini(&choice.chosen);
    sb_rows_fini(&choice.before);
    spill_sort_close(&choice.sort);
    return to->spill->failed ? SB_FAULT_TOO_LARGE : SB_OK;
}
