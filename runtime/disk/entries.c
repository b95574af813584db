#include "runtime/disk/entries.h"

#include "stdlib/aggregate.h"

#include <string.h>

enum { WIDE = 16 };  // The alignment of elements of lists, and of states.
enum { CACHE_LINE = 64, HELD_LINES = 2, ENTRIES_AHEAD = 16, HELD_AHEAD = 8 };

typedef enum Way { WAY_MEASURE, WAY_PUT, WAY_PACK, WAY_LINK, WAY_COPY } Way;

// Goes along what an entry points to.
typedef struct Walk {
    SbHolder holder;  // First: it is found by it.
    Way      way;
    int64_t  at;      // Bytes passed.
    Spill   *spill;   // When writing,
    uint32_t thread;  // by this one.
    char    *base;    // When packing or copying: where to. When linking: what is there...
    int64_t  end;     // ...how much of it...
    bool     bad;     // ...and that it ends too early.
} Walk;

static const char zeroes[15];

// Stands for every address on disk, since LZ4 finds nothing in those that rows had in memory. Not
// null, by which some states tell that they hold nothing.
static char *const some_address = (char *)1;

static void align(Walk *walk, int64_t to) {
    int64_t gap = -walk->at & (to - 1);
    if (walk->way == WAY_PUT) spill_add(walk->spill, walk->thread, zeroes, gap);
    if (walk->way == WAY_PACK) memset(walk->base + walk->at, 0, (size_t)gap);
    walk->at += gap;
}

static void *hold(SbHolder *self, void *field, int64_t bytes, bool aligned) {
    Walk *walk = (Walk *)(void *)self;
    char *here;
    if (aligned) align(walk, WIDE);
    memcpy(&here, field, sizeof here);
    switch (walk->way) {
    case WAY_MEASURE: break;
    case WAY_PUT: spill_add(walk->spill, walk->thread, here, bytes); break;
    case WAY_PACK:
    case WAY_COPY:
        if (bytes > 0) memcpy(walk->base + walk->at, here, (size_t)bytes);
        here = walk->base + walk->at;
        memcpy(field, walk->way == WAY_PACK ? &some_address : &here, sizeof here);
        break;
    case WAY_LINK:
        walk->bad |= bytes < 0 || bytes > walk->end - walk->at;
        if (walk->bad) return nullptr;
        here = walk->base + walk->at;
        memcpy(field, &here, sizeof here);
        break;
    }
    walk->at += bytes;
    return here;
}

// How many bytes the entry's values take; -1: more than there are.
static int64_t walk_entry(Walk *walk, const SbBreaker *what, const SbEntry *entry) {
    walk->holder.bytes = hold;
    for (uint32_t i = 0; i < what->held_count; i++) {
        const SbHeld *held = &what->held[i];
        held->hold(&walk->holder, held->type, (char *)(uintptr_t)entry + held->offset);
    }
    align(walk, spill_row_align(what));
    return walk->bad ? -1 : walk->at;
}

// `fixed` bytes of the entry and what it holds after them, all at `room`.
static void pack(char *room, const SbBreaker *what, const SbEntry *entry, int64_t fixed) {
    Walk walk = {.way = WAY_PACK, .base = room + fixed};
    memcpy(room, entry, what->entry_bytes);
    memset(room + what->entry_bytes, 0, (size_t)fixed - what->entry_bytes);
    walk_entry(&walk, what, (SbEntry *)(void *)room);
}

bool spill_put(Spill *spill, uint32_t thread, const SbBreaker *what, const SbEntry *entry) {
    Walk measure = {.way = WAY_MEASURE};
    int64_t held = walk_entry(&measure, what, entry), fixed = spill_entry_bytes(what);
    if (!spill_row(spill, thread, fixed + held)) return false;
    char *room = spill_room(spill, thread, fixed + held);
    if (room) {
        pack(room, what, entry, fixed);
        return true;
    }
    spill_add(spill, thread, (const char *)entry, what->entry_bytes);
    spill_add(spill, thread, zeroes, fixed - what->entry_bytes);
    Walk put = {.way = WAY_PUT, .spill = spill, .thread = thread};
    walk_entry(&put, what, entry);
    return !spill->failed;
}

static void prefetch_entry(const SbBreaker *what, const SbEntry *entry) {
    for (uint64_t at = 0; at < what->entry_bytes; at += CACHE_LINE)
        __builtin_prefetch((const char *)entry + at);
}

// The beginnings of what the entry points to. A field that begins with no pointer costs a hint.
static void prefetch_held(const SbBreaker *what, const SbEntry *entry) {
    for (uint32_t i = 0; i < what->held_count; i++) {
        uintptr_t here;
        memcpy(&here, (const char *)entry + what->held[i].offset, sizeof here);
        for (uintptr_t line = 0; line < HELD_LINES; line++)
            __builtin_prefetch((const void *)(here + line * CACHE_LINE));
    }
}

bool spill_put_noted(const SpillPut *put, const SbEntry *entry) {
    SpillIndex *index = put->index;
    const uint64_t *bound = index ? spill_index_cross(index, put->by, entry) : nullptr;
    if (bound && !spill_break(put->spill, put->thread)) return false;
    if (!spill_put(put->spill, put->thread, put->what, entry)) return false;
    if (index) spill_index_note(index, put->thread, put->by, entry, bound);
    return true;
}

// Rows in order lie anywhere: without hints each would wait for memory twice.
bool spill_put_all(const SpillPut *put, const SbEntry *const *entries, int64_t count) {
    bool good = true;
    for (int64_t i = 0; i < count && good; i++) {
        if (i + ENTRIES_AHEAD < count) prefetch_entry(put->what, entries[i + ENTRIES_AHEAD]);
        if (i + HELD_AHEAD < count) prefetch_held(put->what, entries[i + HELD_AHEAD]);
        good = spill_put_noted(put, entries[i]);
    }
    return good;
}

int64_t spill_link(const SbBreaker *what, SbEntry *entry, char *held, int64_t len) {
    Walk link = {.way = WAY_LINK, .base = held, .end = len};
    return walk_entry(&link, what, entry);
}

SbEntry *spill_longest_row(Spill *spill, const SbBreaker *what, const SpillRun *run) {
    const int64_t fixed = spill_entry_bytes(what);
    int64_t len;
    char *row = spill_longest(spill, run, &len);
    SbEntry *entry = (SbEntry *)(void *)row;
    if (row) spill_link(what, entry, row + fixed, len - fixed);
    return entry;
}

// A copy of the entry, and room for what it holds, at *held: empty texts have an address that can
// be read, too.
static SbEntry *add_copy(SbRows *rows, const SbBreaker *what, const SbEntry *entry,
                         int64_t held_bytes, char **held) {
    SbEntry *copy = sb_rows_add(rows);
    if (!copy) return nullptr;
    memcpy(copy, entry, what->entry_bytes);
    *held = held_bytes ? sb_slab_alloc(&rows->state->texts, held_bytes) : (char *)copy;
    if (*held) return copy;
    rows->count--;
    rows->at -= rows->state->entry_bytes;
    return nullptr;
}

SbEntry *spill_keep(SbRows *rows, const SbBreaker *what, const SbEntry *entry,
                    int64_t held_bytes) {
    char *held = nullptr;
    SbEntry *copy = add_copy(rows, what, entry, held_bytes, &held);
    if (!copy) return nullptr;
    memcpy(held, (const char *)entry + spill_entry_bytes(what), (size_t)held_bytes);
    spill_link(what, copy, held, held_bytes);
    return copy;
}

SbEntry *spill_copy(SbRows *rows, const SbBreaker *what, const SbEntry *entry) {
    Walk measure = {.way = WAY_MEASURE};
    Walk to = {.way = WAY_COPY};
    SbEntry *copy = add_copy(rows, what, entry, walk_entry(&measure, what, entry), &to.base);
    if (copy) walk_entry(&to, what, copy);
    return copy;
}
