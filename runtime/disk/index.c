#include "runtime/disk/index.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum : int64_t { MARKS_MIN = 16 };
// All marks take at most as small a part of the memory; the last quarter of it is for the first
// ones of runs to come: a single run without any ends all ranges.
enum { SHARE = 16, QUARTERS = 4 };
// Of marks at bounds whose number is known.
enum { SHARE_BOUNDED = 8 };

SpillKey spill_key_of(const SbSortBy *by, const SbEntry *entry) {
    return (SpillKey){by->prefix ? by->prefix(entry) : 0,
                      by->prefix_more ? by->prefix_more(entry) : 0};
}

static int64_t room_bytes(const SpillIndex *index) {
    return index->cap * (int64_t)sizeof *index->marks;
}

SpillIndex *spill_index_open(Spill *spill) {
    SpillIndex *index = calloc(1, sizeof *index);
    if (index) *index = (SpillIndex){.spill = spill, .every = 1, .block = -1};
    return index;
}

SpillIndex *spill_index_open_whole(Spill *spill, int64_t bytes) {
    SpillIndex *index = spill_index_open(spill);
    if (!index) return nullptr;
    // A block and the next one hold more than one that is full.
    index->cap = 2 * bytes / spill->block_bytes + 2;
    index->mapped = true;
    index->marks = spill_map(spill, room_bytes(index));
    if (index->marks) return index;
    free(index);
    return nullptr;
}

void spill_index_close(SpillIndex *index) {
    if (!index) return;
    atomic_fetch_sub(&index->spill->indexed, index->charged);
    sb_memory_release(index->spill->memory, index->charged);
    if (index->mapped) munmap(index->marks, (size_t)room_bytes(index));
    else free(index->marks);
    free(index);
}

static bool more_marks(SpillIndex *index, int64_t cap, int64_t most) {
    Spill *spill = index->spill;
    SbMemory *memory = spill->memory;
    int64_t more = (cap - index->cap) * (int64_t)sizeof *index->marks;
    if (index->mapped || spill->indexed + more > most) return false;
    if (!sb_memory_charge(memory, more)) return false;
    SpillMark *moved = realloc(index->marks, (size_t)cap * sizeof *moved);
    if (!moved) {
        sb_memory_release(memory, more);
        return false;
    }
    atomic_fetch_add(&spill->indexed, more);
    index->charged += more;
    index->marks = moved;
    index->cap = cap;
    return true;
}

static bool double_marks(SpillIndex *index) {
    int64_t most = index->spill->memory->limit / SHARE;
    if (index->cap == 0) return more_marks(index, MARKS_MIN, most);
    return more_marks(index, 2 * index->cap, most / QUARTERS * (QUARTERS - 1));
}

void spill_index_bound(SpillIndex *index, const SpillBounds *bounds) {
    enum { ROOM = 17, ROOM_OF = 16 };  // Some blocks are full before a bound.
    int64_t most = index->spill->memory->limit / SHARE_BOUNDED;
    index->bounds = bounds;
    more_marks(index, (bounds->count + 2) * ROOM / ROOM_OF, most);
}

// Keeps every second: who looks for a row reads twice as many blocks.
static void thin_out(SpillIndex *index) {
    index->count /= 2;
    index->every *= 2;
    for (int64_t i = 0; i < index->count; i++) index->marks[i] = index->marks[2 * i];
}

static bool is_next_kept(const SpillIndex *index) { return index->passed % index->every == 0; }

bool spill_index_add(SpillIndex *index, const SpillMark *mark) {
    bool keeps = is_next_kept(index);
    index->passed++;
    if (!keeps) return true;
    if (index->count == index->cap && !double_marks(index)) {
        if (index->cap == 0) return !(index->lost = true);
        thin_out(index);
    }
    index->marks[index->count++] = *mark;
    return true;
}

const uint64_t *spill_index_cross(SpillIndex *index, const SbSortBy *by, const SbEntry *entry) {
    const SpillBounds *bounds = index->bounds;
    int64_t before = index->bound;
    if (!bounds || before == bounds->count) return nullptr;
    uint64_t key = spill_key_of(by, entry).key;
    while (index->bound < bounds->count && bounds->keys[index->bound] <= key) index->bound++;
    return index->bound > before ? &bounds->keys[index->bound - 1] : nullptr;
}

bool spill_index_note(SpillIndex *index, uint32_t thread, const SbSortBy *by,
                      const SbEntry *entry, const uint64_t *bound) {
    int64_t at = spill_row_at(index->spill, thread), row = index->rows++;
    if (at == index->block || index->lost) return !index->lost;
    index->block = at;
    SpillMark mark = {.at = at, .row = row};
    if (bound) mark.key.key = *bound;
    else if (is_next_kept(index)) mark.key = spill_key_of(by, entry);
    return spill_index_add(index, &mark);
}

bool spill_index_end(SpillIndex *index, Spill *spill, uint32_t thread, SpillRun *run) {
    bool good = spill_end(spill, thread, run), keeps = good && index && !index->lost;
    run->index = keeps ? index : nullptr;
    if (!keeps) spill_index_close(index);
    return good;
}

int64_t spill_index_before(const SpillIndex *index, SpillKey key) {
    int64_t low = 0, high = index->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (spill_key_less(index->marks[middle].key, key)) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool spill_index_has(const SpillIndex *index, int64_t mark, SpillKey key) {
    if (mark >= index->count) return false;
    SpillKey at = index->marks[mark].key;
    return at.key == key.key && at.more == key.more;
}

int64_t spill_index_of_row(const SpillIndex *index, int64_t row) {
    int64_t low = 0, high = index->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (index->marks[middle].row <= row) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}
