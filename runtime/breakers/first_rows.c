#include "runtime/breakers/first_rows.h"

#include "runtime/breakers/window.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MIN = 1 << 12,  // Fewer, which a core's cache holds, are not looked through...
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

// ---- by hash ------------------------------------------------------------------------------------

// Of rows of one partition: does `a` come before `b`?
static bool comes_before(const FirstRows *first, const SbEntry *a, const SbEntry *b) {
    const SbWindow *window = first->what->window;
    int32_t order = window->peers ? window->peers(a, b) : 0;
    return order ? order < 0 : a->order < b->order;
}

static bool wants_one(const FirstRows *first) {
    return first->most == 1 || first_rows_wants_last(first);
}

// The slot of the partition that the entry is of, or the free one for it; nullptr: it is far away.
static SbSortItem *slot_of(const FirstRows *first, SbSortItem *table, uint64_t mask,
                           const SbEntry *entry) {
    enum { STEPS_MAX = 64 };
    for (uint64_t i = 0; i < STEPS_MAX; i++) {
        SbSortItem *slot = &table[(entry->hash + i) & mask];
        if (!slot->entry) return slot;
        if (slot->key == entry->hash && first_rows_together(first, slot->entry, entry)) return slot;
    }
    return nullptr;
}

// Leaves the one row that is wanted of each partition, in any order; all rows where partitions are
// more than half of them. Entries are looked at as they lie in memory. -1: many partitions have one
// hash. The table is for twice as many items.
static int64_t choose_ones(const FirstRows *first, const SbEntry **entries, SbSortItem *table,
                           int64_t count) {
    bool last = first_rows_wants_last(first);
    uint64_t slots = 1;
    while (slots < (uint64_t)count) slots *= 2;
    memset(table, 0, slots * sizeof *table);
    int64_t left = 0;
    for (int64_t i = 0; i < count; i++) {
        const SbEntry *entry = entries[i];
        SbSortItem *slot = slot_of(first, table, slots - 1, entry);
        if (!slot) return -1;
        if (!slot->entry && ++left > count / 2) return count;
        if (!slot->entry || comes_before(first, entry, slot->entry) != last)
            *slot = (SbSortItem){entry->hash, entry};
    }
    left = 0;
    for (uint64_t i = 0; i < slots; i++)
        if (table[i].entry) entries[left++] = table[i].entry;
    return left;
}

// Leaves the wanted ones of rows of one hash, most often one partition. Returns how many.
static int64_t choose_alike(const FirstRows *first, SortRun run, const SbEntry **to) {
    sort_run(first->by, run, nullptr);
    for (int64_t i = 0; i < run.count; i++) to[i] = run.items[i].entry;
    return first_rows_choose(first, to, run.count);
}

// The same rows as first_rows_choose, in any order: nothing of a partition is sorted but its own
// rows. `room` is for twice as many items.
static int64_t choose_by_hash(const FirstRows *first, const SbEntry **entries, SbSortItem *room,
                              int64_t count) {
    enum { AHEAD = 8 };
    int64_t left = 0;
    for (int64_t i = 0; i < count; i++) room[i] = (SbSortItem){entries[i]->hash, entries[i]};
    sort_by_word(room, room + count, count, UINT64_MAX);
    for (int64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && room[end].key == room[i].key;) end++;
        if (end + AHEAD < count) __builtin_prefetch(room[end + AHEAD].entry);
        SortRun run = {room + i, room + count + i, end - i, {0}};
        left += choose_alike(first, run, entries + left);
    }
    return left;
}

static int64_t choose(const FirstRows *first, const SbEntry **entries, SbSortItem *room,
                      int64_t count) {
    const SbWindow *window = first->what->window;
    bool parted = window && window->partition;
    int64_t left = parted && wants_one(first) ? choose_ones(first, entries, room, count) : -1;
    if (left >= 0) return left;
    if (parted) return choose_by_hash(first, entries, room, count);
    sb_sort_serial(entries, room, count, first->by);
    return first_rows_choose(first, entries, count);
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
        int64_t left = choose(first, entries, room, count);
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
