// The index of right rows by the bounds of a join, against a look at each row.
#include "runtime/abi/calls.h"
#include "runtime/breakers.h"
#include "stdlib/hash.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { THREADS = 3, ROWS_MAX = 5000 };

typedef struct Row {
    SbEntry        entry;
    int64_t        key;
    const SbEntry *next;
    SbJump         jump;
    uint64_t       most[SB_BOUNDS_MAX];  // Of a block.
    uint64_t       bits[SB_BOUNDS_MAX];
    char           matched;
} Row;

static uint32_t bound_count;

static int32_t equal_rows(const SbEntry *a, const SbEntry *b) {
    return ((const Row *)a)->key == ((const Row *)b)->key;
}

static void bounds_of_row(const SbEntry *entry, uint64_t *bits) {
    memcpy(bits, ((const Row *)entry)->bits, bound_count * sizeof *bits);
}

static void each_in_turn(SbParallel *self, uint32_t count, SbEachFn *fn, void *arg) {
    for (uint32_t i = 0; i < count; i++) fn(arg, i, i % self->threads);
}

static SbParallel in_turn = {each_in_turn, THREADS};

// What is right: `rows` rows of `keys` keys, with bits below `below`. Of a million rows `steps` are
// out of order.
typedef struct Right {
    int64_t  rows, keys;
    uint32_t below, steps;
    SbBreaker       what;
    SbMemory        memory;
    SbBreakerState *breaker;
} Right;

static void fill_bits(const Right *right, Row *row, int64_t i) {
    for (uint32_t b = 0; b < bound_count; b++) {
        bool out = random_below(1'000'000) < right->steps;
        uint64_t bits = out ? random_below(right->below)
                            : (uint64_t)i * right->below / (uint64_t)right->rows;
        uint32_t edge = random_below(50);
        row->bits[b] = edge == 0 && out ? 0 : edge == 1 && out ? UINT64_MAX : bits;
    }
}

static void right_open(Right *right, int64_t limit) {
    sb_memory_open(&right->memory, limit);
    right->what = (SbBreaker){.kind = SB_BREAK_JOIN, .entry_bytes = sizeof(Row),
                              .equal = equal_rows, .bounds = bounds_of_row,
                              .bound_count = bound_count, .indexed = 1,
                              .next_offset = offsetof(Row, next),
                              .jump_offset = offsetof(Row, jump),
                              .matched_offset = offsetof(Row, matched)};
    right->breaker = sb_breaker_open(&right->what, THREADS, &right->memory, nullptr);
    for (int64_t i = 0; i < right->rows; i++) {
        SbRows *part = sb_breaker_part(right->breaker, (uint32_t)(i / 10 % THREADS));
        Row *row = (Row *)(void *)part->at;
        if (part->at == part->end) row = (Row *)sb_rows_grow(nullptr, part, sizeof *row);
        else part->at += sizeof *row;
        part->count++;
        int64_t key = random_below((uint32_t)right->keys);
        *row = (Row){.entry = {sb_hash_word(1, (uint64_t)key), (uint64_t)i}, .key = key};
        fill_bits(right, row, i);
    }
    CHECK(sb_breaker_finish(right->breaker, &in_turn) == SB_OK);
}

static void right_close(Right *right) {
    sb_breaker_close(right->breaker);
    CHECK(right->memory.used == 0);
}

// ---- one left row -------------------------------------------------------------------------------

static bool passes(const Row *row, const uint64_t *bits) {
    bool all = true;
    for (uint32_t b = 0; b < bound_count; b++) all &= row->bits[b] >= bits[b];
    return all;
}

// Counts the rows that pass, each of which is marked by `matched`.
static int64_t look_at_all(const SbEntry *first, const uint64_t *bits) {
    int64_t count = 0;
    for (const SbEntry *at = first; at; at = ((const Row *)at)->next) {
        Row *row = (Row *)(uintptr_t)at;
        row->matched = passes(row, bits);
        count += row->matched;
    }
    return count;
}

static void check_search(const SbTable *table, const SbEntry *first, uint32_t below) {
    enum { MOST = 40 };
    SbRangeSearch search;
    SbSortItem items[MOST];
    uint64_t bits[SB_BOUNDS_MAX];
    uint32_t mark = random_below(8);
    for (uint32_t b = 0; b < bound_count; b++)
        bits[b] = mark == 0 ? UINT64_MAX : mark == 1 ? 0 : random_below(below);
    int64_t left = look_at_all(first, bits), got, wanted;
    CHECK(sb_range_search(table, first, bits, &search));
    int64_t guess = sb_range_guess(&search);
    CHECK(bound_count == 1 || mark == 1 ? guess == left : guess == 0 || left > 0);
    do {
        wanted = 1 + random_below(MOST);
        got = sb_range_next(&search, items, wanted);
        for (int64_t i = 0; i < got; i++) {
            Row *row = (Row *)(uintptr_t)items[i].entry;
            CHECK(row->matched);  // It passes, and was not there before.
            row->matched = 0;
        }
        left -= got;
    } while (got == wanted);
    CHECK_SAYS(left == 0, "%ld", left);
}

// Searches in each chain; returns how many have an index.
static int64_t check_chains(const Right *right) {
    const SbTable *table = sb_breaker_table(right->breaker);
    int64_t indexed = 0;
    for (uint64_t at = 0; at <= table->mask; at++) {
        const SbEntry *first = sb_slot_entry(table->slots[at]);
        uint64_t zeroes[SB_BOUNDS_MAX] = {0};
        SbRangeSearch search;
        if (!first || !table->ranges || !sb_range_search(table, first, zeroes, &search)) continue;
        CHECK(sb_range_rows(&search) == look_at_all(first, zeroes));
        indexed++;
        for (int i = 0; i < 40; i++) check_search(table, first, right->below);
    }
    return indexed;
}

// ---- tests --------------------------------------------------------------------------------------

enum : int64_t { PLENTY = INT64_C(1) << 32 };

static void finds_what_passes(void) {
    for (bound_count = 1; bound_count <= SB_BOUNDS_MAX; bound_count++)
        for (int round = 0; round < 12; round++) {
            Right right = {.rows = 300 + random_below(ROWS_MAX), .keys = 1 + round % 3,
                           .below = round % 4 ? 1 << 20 : 40, .steps = 900'000};
            right_open(&right, PLENTY);
            int64_t indexed = check_chains(&right);
            CHECK_SAYS(indexed == right.keys, "%ld", indexed);
            right_close(&right);
        }
}

static void every_count_of_rows(void) {
    bound_count = 2;
    for (int64_t rows = 40; rows < 600; rows++) {
        Right right = {.rows = rows, .keys = 1, .below = 500, .steps = 1'000'000};
        right_open(&right, PLENTY);
        CHECK(check_chains(&right) == 1);
        right_close(&right);
    }
}

static void rows_in_order_have_none(void) {
    bound_count = 2;
    Right ordered = {.rows = ROWS_MAX, .keys = 1, .below = 1 << 20, .steps = 0};
    Right few = {.rows = ROWS_MAX, .keys = 1000, .below = 1 << 20, .steps = 1'000'000};
    right_open(&ordered, PLENTY);
    CHECK(!sb_breaker_table(ordered.breaker)->ranges);
    right_close(&ordered);
    right_open(&few, PLENTY);
    CHECK(!sb_breaker_table(few.breaker)->ranges);
    right_close(&few);
}

static void no_memory_no_index(void) {
    bound_count = 2;
    Right right = {.rows = ROWS_MAX, .keys = 1, .below = 1 << 20, .steps = 1'000'000};
    right_open(&right, PLENTY);
    const SbTable *table = sb_breaker_table(right.breaker);
    SbJoinBuild build = {.what = &right.what, .slots = (uint64_t *)(uintptr_t)table->slots,
                         .table = *table};
    sb_breaker_entries(right.breaker, &build.count);
    int made = 0, refused = 0;
    for (int64_t limit = 0; limit < 100 * ROWS_MAX; limit += ROWS_MAX) {
        SbMemory memory;
        sb_memory_open(&memory, limit);
        SbJoinRanges *ranges = sb_join_ranges_make(&build, &memory, &in_turn);
        made += ranges != nullptr;
        refused += !ranges;
        CHECK(memory.peak <= limit && (ranges || memory.used == 0));
        sb_join_ranges_close(ranges, &memory);
        CHECK(memory.used == 0);
    }
    // 24.5 bytes a row, and 16 while it is made.
    CHECK_SAYS(refused == 41 && made == 59, "%d %d", refused, made);
    right_close(&right);
}

static const UnitTest tests[] = {
    {"finds_what_passes", finds_what_passes},
    {"every_count_of_rows", every_count_of_rows},
    {"rows_in_order_have_none", rows_in_order_have_none},
    {"no_memory_no_index", no_memory_no_index},
};

int main(int argc, char **argv) {
    return unit_main("join_ranges_test", tests, sizeof tests / sizeof *tests, argc, argv);
}
