#include "runtime/breakers/join_ranges.h"

#include "stdlib/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MIN = 32,       // Of a key with fewer rows all are judged as soon.
    RUNS_MAX = 8,        // So few ascents or descents: jumps along the chain are as quick.
    WIDTH_BITS = 4,      // A word stands for 16 of the level below.
    LEVELS_MAX = 12,     // More than 48 bits of addresses leave room for.
    PARTS_PER_THREAD = 4,
};

typedef struct RangeChain {
    const SbEntry  *first;     // Of the chain.
    SbSortItem *rows;          // By the bits of the first bound, descending. A key is those bits,
                               // inverted.
    uint64_t *most;            // By further bound, by level: the bits of rows, then the greatest of
                               // each 16 of the level below.
    int64_t   count;           // 0: there was no memory to sort them.
    int64_t   most_words;      // Of one bound.
    uint32_t  bound_count, levels;
    int64_t   begins[LEVELS_MAX];  // Of a level in the words of a bound.
} RangeChain;

// The chains, their places by hash and their words lie after it, in one block.
struct SbJoinRanges {
    int64_t     bytes;
    uint64_t    mask;
    RangeChain *chains;
    uint32_t   *places;        // A number of a chain and 1; 0 is empty.
};

// ---- which chains -------------------------------------------------------------------------------

// What a thread sorts with.
typedef struct Room {
    SbSortItem *spare;
    int64_t     count;
} Room;

typedef struct Ranging {
    const SbJoinBuild *build;
    SbMemory       *memory;
    uint32_t        parts;
    const SbEntry **firsts;        // Of the chains that gain by an index.
    _Atomic int64_t chain_count;
    SbJoinRanges   *made;
    Room           *rooms;         // By thread.
} Ranging;

// How often the bits of a bound are greater than those of the row before, and less.
typedef struct Course {
    uint64_t before[SB_BOUNDS_MAX];
    int64_t  rises[SB_BOUNDS_MAX], falls[SB_BOUNDS_MAX];
} Course;

static uint32_t pass_row(const SbBreaker *what, Course *course, const SbEntry *entry) {
    uint64_t bits[SB_BOUNDS_MAX];
    uint32_t mixed = 0;
    what->bounds(entry, bits);
    for (uint32_t i = 0; i < what->bound_count; i++) {
        course->rises[i] += bits[i] > course->before[i];
        course->falls[i] += bits[i] < course->before[i];
        course->before[i] = bits[i];
        mixed += course->rises[i] > RUNS_MAX && course->falls[i] > RUNS_MAX;
    }
    return mixed;
}

// The next row to look at: of a long chain some are left out.
static const SbEntry *look_on(const SbBreaker *what, const SbEntry *entry, bool sparse) {
    enum { OUT_MAX = 15 };
    const SbJump *jump = join_jump_of(what, entry);
    uint64_t rows = jump->rest - join_jump_of(what, jump->to)->rest;
    return sparse && rows > 0 && rows <= OUT_MAX ? jump->to : join_next_of(what, entry);
}

// Where rows come in order by one bound, jumps along the chain pass over all that cannot match.
static bool gains(const SbBreaker *what, const SbEntry *first) {
    enum { SPARSE_MIN = 4096 };
    Course course = {0};
    uint32_t mixed = 0;
    bool sparse = join_jump_of(what, first)->rest >= SPARSE_MIN;
    what->bounds(first, course.before);
    for (const SbEntry *at = first; at && mixed < what->bound_count;
         at = look_on(what, at, sparse))
        mixed = pass_row(what, &course, at);
    bool ordered = false;
    for (uint32_t i = 0; i < what->bound_count; i++)
        ordered |= (course.rises[i] > RUNS_MAX) != (course.falls[i] > RUNS_MAX);
    return mixed > 0 && !ordered;
}

static void find_chains(void *arg, uint32_t part, uint32_t thread) {
    (void)thread;
    Ranging *is = arg;
    const SbTable *table = &is->build->table;
    uint64_t slots = table->span ? table->span : table->mask + 1;
    uint64_t end = slots / is->parts * (part + 1);
    if (part + 1 == is->parts) end = slots;
    for (uint64_t i = slots / is->parts * part; i < end; i++) {
        const SbEntry *first = sb_slot_entry(is->build->slots[i]);
        bool long_one = first && join_jump_of(is->build->what, first)->rest + 1 >= ROWS_MIN;
        if (long_one && gains(is->build->what, first)) is->firsts[is->chain_count++] = first;
    }
}

// ---- room ---------------------------------------------------------------------------------------

static void lay_levels(RangeChain *chain) {
    for (int64_t words = chain->count;;) {
        chain->begins[chain->levels++] = chain->most_words;
        chain->most_words += words;
        if (words <= 1 << WIDTH_BITS || chain->levels == LEVELS_MAX) return;
        words = (words + (1 << WIDTH_BITS) - 1) >> WIDTH_BITS;
    }
}

static RangeChain chain_of(const SbBreaker *what, const SbEntry *first) {
    RangeChain chain = {.first = first, .bound_count = what->bound_count,
                        .count = (int64_t)join_jump_of(what, first)->rest + 1};
    lay_levels(&chain);
    return chain;
}

static int64_t words_of(const RangeChain *chain) {
    return 2 * chain->count + (chain->bound_count - 1) * chain->most_words;
}

static uint64_t home_of(const SbJoinRanges *ranges, const SbEntry *first) {
    return sb_hash_word(0, (uintptr_t)first) & ranges->mask;
}

static void note_chain(SbJoinRanges *ranges, uint32_t number) {
    uint64_t at = home_of(ranges, ranges->chains[number].first);
    while (ranges->places[at]) at = (at + 1) & ranges->mask;
    ranges->places[at] = number + 1;
}

// Takes a block for all chains and lays them out. False: no memory.
static bool lay_out(Ranging *is) {
    int64_t count = is->chain_count, places = 2, words = 0, longest = 0;
    while (places < 2 * count) places *= 2;
    for (int64_t i = 0; i < count; i++) {
        RangeChain chain = chain_of(is->build->what, is->firsts[i]);
        words += words_of(&chain);
        if (chain.count > longest) longest = chain.count;
    }
    int64_t bytes = (int64_t)sizeof *is->made + count * (int64_t)sizeof(RangeChain) +
                    words * (int64_t)sizeof(uint64_t) + places * (int64_t)sizeof(uint32_t);
    bool fits = sb_memory_has(is->memory, bytes + longest * (int64_t)sizeof(SbSortItem));
    SbJoinRanges *made = fits ? sb_memory_pages_shared(is->memory, bytes) : nullptr;
    if (!made) return false;
    *made = (SbJoinRanges){bytes, (uint64_t)places - 1, (RangeChain *)(made + 1), nullptr};
    uint64_t *at = (uint64_t *)(made->chains + count);
    made->places = (uint32_t *)(at + words);
    memset(made->places, 0, (size_t)places * sizeof *made->places);
    for (int64_t i = 0; i < count; i++) {
        RangeChain *chain = &made->chains[i];
        *chain = chain_of(is->build->what, is->firsts[i]);
        chain->rows = (SbSortItem *)at;
        chain->most = at + 2 * chain->count;
        at += words_of(chain);
        note_chain(made, (uint32_t)i);
    }
    is->made = made;
    return true;
}

static void close_room(const Ranging *is, Room *room) {
    sb_memory_free(is->memory, room->spare, room->count * (int64_t)sizeof *room->spare);
    *room = (Room){0};
}

// Room of the thread for so many items. nullptr: no memory.
static SbSortItem *room_for(const Ranging *is, uint32_t thread, int64_t count) {
    Room *room = &is->rooms[thread];
    if (room->count >= count) return room->spare;
    close_room(is, room);
    room->spare = sb_memory_pages(is->memory, count * (int64_t)sizeof *room->spare);
    room->count = room->spare ? count : 0;
    return room->spare;
}

// ---- filling ------------------------------------------------------------------------------------

static void sort_rows(const RangeChain *chain, const SbBreaker *what, SbSortItem *spare) {
    uint64_t bits[SB_BOUNDS_MAX];
    int64_t count = 0;
    for (const SbEntry *at = chain->first; at; at = join_next_of(what, at)) {
        what->bounds(at, bits);
        chain->rows[count++] = (SbSortItem){~bits[0], at};
    }
    sort_by_word(chain->rows, spare, count, UINT64_MAX);
}

static void fill_level(const RangeChain *chain, uint64_t *most, uint32_t level) {
    const uint64_t *below = most + chain->begins[level - 1];
    int64_t count = chain->begins[level] - chain->begins[level - 1];
    uint64_t *to = most + chain->begins[level];
    for (int64_t i = 0; i < count; i++) {
        bool begins = i % (1 << WIDTH_BITS) == 0;
        to += i && begins;
        if (begins || below[i] > *to) *to = below[i];
    }
}

static void fill_chain(void *arg, uint32_t number, uint32_t thread) {
    const Ranging *is = arg;
    const SbBreaker *what = is->build->what;
    RangeChain *chain = &is->made->chains[number];
    SbSortItem *spare = room_for(is, thread, chain->count);
    if (!spare) {
        chain->count = 0;
        return;
    }
    sort_rows(chain, what, spare);
    if (chain->bound_count == 1) return;
    for (int64_t i = 0; i < chain->count; i++) {
        uint64_t bits[SB_BOUNDS_MAX];
        what->bounds(chain->rows[i].entry, bits);
        for (uint32_t b = 1; b < chain->bound_count; b++)
            chain->most[(b - 1) * chain->most_words + i] = bits[b];
    }
    for (uint32_t b = 1; b < chain->bound_count; b++)
        for (uint32_t level = 1; level < chain->levels; level++)
            fill_level(chain, chain->most + (b - 1) * chain->most_words, level);
}

SbJoinRanges *sb_join_ranges_make(const SbJoinBuild *build, SbMemory *memory,
                                  SbParallel *parallel) {
    Ranging is = {.build = build, .memory = memory,
                  .parts = parallel->threads * PARTS_PER_THREAD};
    if (!build->what->indexed || build->count < ROWS_MIN) return nullptr;
    is.firsts = calloc((size_t)(build->count / ROWS_MIN), sizeof *is.firsts);
    is.rooms = calloc(parallel->threads, sizeof *is.rooms);
    if (is.firsts && is.rooms) parallel->each(parallel, is.parts, find_chains, &is);
    if (is.chain_count > 0 && is.chain_count < UINT32_MAX && lay_out(&is))
        parallel->each(parallel, (uint32_t)is.chain_count, fill_chain, &is);
    for (uint32_t t = 0; t < parallel->threads && is.rooms; t++) close_room(&is, &is.rooms[t]);
    free(is.rooms);
    free(is.firsts);
    return is.made;
}

void sb_join_ranges_close(SbJoinRanges *ranges, SbMemory *memory) {
    if (ranges) sb_memory_free_shared(memory, ranges, ranges->bytes);
}

int64_t sb_join_ranges_bytes(const SbJoinRanges *ranges) { return ranges->bytes; }

// ---- searching ----------------------------------------------------------------------------------

static const RangeChain *find_chain(const SbJoinRanges *ranges, const SbEntry *first) {
    uint64_t at = home_of(ranges, first);
    for (; ranges->places[at]; at = (at + 1) & ranges->mask) {
        const RangeChain *chain = &ranges->chains[ranges->places[at] - 1];
        if (chain->first == first) return chain->count > 0 ? chain : nullptr;
    }
    return nullptr;
}

bool sb_range_search(const SbTable *table, const SbEntry *first, const uint64_t *bits,
                     SbRangeSearch *search) {
    const RangeChain *chain = search->chain = find_chain(table->ranges, first);
    if (!chain) return false;
    memcpy(search->bits, bits, chain->bound_count * sizeof *bits);
    int64_t low = 0, high = chain->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (chain->rows[middle].key <= ~bits[0]) low = middle + 1;
        else high = middle;
    }
    search->at = 0;
    search->end = low;
    return true;
}

int64_t sb_range_rows(const SbRangeSearch *search) { return search->chain->count; }

// May a row pass that the word stands for?
static bool passes(const SbRangeSearch *search, uint32_t level, int64_t word) {
    const RangeChain *chain = search->chain;
    const uint64_t *most = chain->most + chain->begins[level] + word;
    bool all = true;
    for (uint32_t b = 1; b < chain->bound_count; b++, most += chain->most_words)
        all &= *most >= search->bits[b];
    return all;
}

// The first row from `at` on, before the end, that passes; the end: there is none.
static int64_t next_row(const SbRangeSearch *search, int64_t at) {
    const int64_t width = 1 << WIDTH_BITS;
    uint32_t level = 0, top = search->chain->levels - 1;
    while (at < search->end) {
        int64_t word = at >> (WIDTH_BITS * level);
        while (level < top && word % width == 0) {
            level++;
            word >>= WIDTH_BITS;
        }
        while (passes(search, level, word)) {
            if (level == 0) return at;
            level--;
            word <<= WIDTH_BITS;
        }
        at = (word + 1) << (WIDTH_BITS * level);
    }
    return search->end;
}

int64_t sb_range_guess(const SbRangeSearch *search) {
    enum { LOOKS = 64 };
    int64_t rows = search->end - search->at, passed = 0;
    if (search->chain->bound_count == 1 || rows == 0) return rows;
    for (int64_t i = 0; i < LOOKS; i++) passed += passes(search, 0, search->at + rows * i / LOOKS);
    return rows * passed / LOOKS;
}

int64_t sb_range_next(SbRangeSearch *search, SbSortItem *items, int64_t most) {
    const RangeChain *chain = search->chain;
    int64_t count = 0;
    while (count < most && (search->at = next_row(search, search->at)) < search->end)
        items[count++].entry = chain->rows[search->at++].entry;
    return count;
}
