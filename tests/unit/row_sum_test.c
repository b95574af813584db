// Row sum: it is the same wherever rows lie and whatever lies between their columns; each bit that
// a row says counts; and rows that are no rows any more crash nobody. Run alone:
// zig-out/test/row_sum_test
#include "runtime/rows.h"
#include "runtime/wire.h"
#include "stdlib/aggregate/held.h"

#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct Option {
    int32_t value;
    uint8_t valid;
} Option;

typedef struct Inner {
    int16_t small;
    SbStr   text;
} Inner;

typedef struct Row {
    SbEntry entry;
    int64_t number;
    uint8_t flag;
    Option  option;
    SbStr   text;
    SbList  list;    // Of Inner.
    SbList  numbers; // Of int32_t.
    uint64_t identity;
    SbPlace place;
} Row;

static const SbType i64_type = {.kind = SB_I64, .size = 8, .align = 8};
static const SbType bool_type = {.kind = SB_BOOL, .size = 1, .align = 1};
static const SbType i32_type = {.kind = SB_I32, .size = 4, .align = 4};
static const SbType option_type = {.kind = SB_I32, .nullable = true, .size = sizeof(Option),
                                   .align = 4, .valid_offset = offsetof(Option, valid)};
static const SbType i16_type = {.kind = SB_I16, .size = 2, .align = 2};
static const SbType text_type = {.kind = SB_STR, .size = sizeof(SbStr), .align = 8};
static const SbField inner_fields[] = {{.type = &i16_type, .offset = offsetof(Inner, small)},
                                       {.type = &text_type, .offset = offsetof(Inner, text)}};
static const SbType inner_type = {.kind = SB_STRUCT, .size = sizeof(Inner), .align = 8,
                                  .fields = inner_fields, .field_count = 2};
static const SbType list_type = {.kind = SB_LIST, .size = sizeof(SbList), .align = 8,
                                 .elem = &inner_type};
static const SbType numbers_type = {.kind = SB_TENSOR, .size = sizeof(SbList), .align = 8,
                                    .elem = &i32_type};
static const SbField fields[] = {
    {.type = &i64_type, .offset = offsetof(Row, number)},
    {.type = &bool_type, .offset = offsetof(Row, flag)},
    {.type = &option_type, .offset = offsetof(Row, option)},
    {.type = &text_type, .offset = offsetof(Row, text)},
    {.type = &list_type, .offset = offsetof(Row, list)},
    {.type = &numbers_type, .offset = offsetof(Row, numbers)},
};
static const SbType row_type = {.kind = SB_STRUCT, .fields = fields, .field_count = 6};
static const SbBreaker edge = {.entry_bytes = sizeof(Row), .row = &row_type,
                               .identity_offset = offsetof(Row, identity),
                               .place_offset = offsetof(Row, place)};

enum { ROWS = 60, ITEMS = 3, ROOM = 1 << 20 };

// ---- rows ---------------------------------------------------------------------------------------

typedef struct Pile {
    char   *at;     // Where the next piece goes.
    int     noise;  // What lies between columns.
    const SbEntry **entries;
} Pile;

static void *put(Pile *pile, int64_t bytes) {
    void *at = pile->at;
    memset(at, pile->noise, (size_t)bytes);
    pile->at += (bytes + 15) / 16 * 16;
    return at;
}

static SbStr text_of(Pile *pile, uint32_t *seed, int64_t most) {
    int64_t len = (*seed = *seed * 1664525 + 1013904223) % (most + 1);
    char *bytes = put(pile, len);
    for (int64_t i = 0; i < len; i++) bytes[i] = (char)(*seed >> (i % 24));
    return (SbStr){bytes, len};
}

static void fill_row(Pile *pile, Row *row, uint32_t *seed) {
    row->entry = (SbEntry){*seed, *seed / 3};
    row->number = (int64_t)*seed * 77;
    row->flag = *seed % 2;
    row->option.valid = *seed % 3 != 0;
    row->option.value = row->option.valid ? (int32_t)*seed : (int32_t)pile->noise;
    row->text = text_of(pile, seed, *seed % 50 ? 70 : 20'000);
    row->list.len = *seed % (ITEMS + 1);
    Inner *items = put(pile, row->list.len * (int64_t)sizeof *items);
    row->list.ptr = items;
    for (int64_t i = 0; i < row->list.len; i++) {
        items[i].small = (int16_t)(*seed + i);
        items[i].text = text_of(pile, seed, 9);
    }
    row->numbers.len = *seed % 40;
    int32_t *numbers = put(pile, row->numbers.len * (int64_t)sizeof *numbers);
    for (int64_t i = 0; i < row->numbers.len; i++) numbers[i] = (int32_t)(*seed * i);
    row->numbers.ptr = numbers;
    row->identity = *seed * UINT64_C(99);
    // A place without text is none.
    do row->place.raw = text_of(pile, seed, 30);
    while (row->place.raw.len == 0);
    row->place.offset = row->place.line = *seed;
    row->place.row = 5, row->place.source = 1, row->place.file = 2;
}

// The same rows for the same seed, from `at` on.
static const SbEntry *const *make(void *at, int noise, uint32_t seed) {
    Pile pile = {.at = at, .noise = noise};
    pile.entries = put(&pile, ROWS * (int64_t)sizeof *pile.entries);
    for (int i = 0; i < ROWS; i++) {
        Row *row = put(&pile, sizeof *row);
        fill_row(&pile, row, &seed);
        pile.entries[i] = &row->entry;
    }
    CHECK(pile.at - (char *)at < ROOM);
    return pile.entries;
}

// ---- what holds ---------------------------------------------------------------------------------

static void sums_are_of_what_rows_say(const RowForm *form, const ArenaSpace *space) {
    char *here = arena_space_of(space, 0), *there = arena_space_of(space, 1) + 4096;
    for (uint32_t seed = 1; seed < 30; seed++) {
        RowSum sum = row_sum(form, make(here, 0, seed), ROWS);
        const SbEntry *const *rows = make(there, 0xa5, seed);
        CHECK(row_sum_same(sum, row_sum(form, rows, ROWS)));
        CHECK(row_sum_holds(sum, form, space, rows, ROWS));
        CHECK(!row_sum_holds(sum, form, space, rows, ROWS - 1));
        CHECK(!row_sum_same(sum, row_sum(form, make(here, 0, seed + 1000), ROWS)));
    }
}

// Flips a bit, and back.
static bool notices(const RowForm *form, const ArenaSpace *space, RowSum sum,
                    const SbEntry *const *rows, char *at, int bit) {
    *at ^= (char)(1 << bit);
    bool holds = row_sum_holds(sum, form, space, rows, ROWS);
    *at ^= (char)(1 << bit);
    return !holds;
}

static void each_bit_counts(const RowForm *form, const ArenaSpace *space) {
    static const struct { size_t offset, bytes; } said[] = {
        {offsetof(Row, entry), sizeof(SbEntry)}, {offsetof(Row, number), 8},
        {offsetof(Row, flag), 1}, {offsetof(Row, text) + 8, 8}, {offsetof(Row, list) + 8, 8},
        {offsetof(Row, numbers) + 8, 8}, {offsetof(Row, identity), 8},
        {offsetof(Row, place) + 8, sizeof(SbPlace) - 8},
    };
    const SbEntry *const *rows = make(arena_space_of(space, 0), 1, 7);
    RowSum sum = row_sum(form, rows, ROWS);
    for (int turn = 0; turn < 2000; turn++) {
        Row *row = (Row *)(uintptr_t)rows[random_below(ROWS)];
        size_t which = random_below(sizeof said / sizeof *said), bits = 8;
        char *at = (char *)row + said[which].offset + random_below((uint32_t)said[which].bytes);
        CHECK(notices(form, space, sum, rows, at, (int)random_below((uint32_t)bits)));
        char *text = (char *)(uintptr_t)row->text.ptr;
        if (row->text.len > 0)
            CHECK(notices(form, space, sum, rows, text + random_below((uint32_t)row->text.len), 3));
        // The high bits of an address lead out of all arenas.
        CHECK(row->text.len == 0 || notices(form, space, sum, rows, (char *)&row->text.ptr + 5, 6));
        CHECK(notices(form, space, sum, rows, (char *)(uintptr_t)&rows[turn % ROWS] + 5, 6));
    }
    CHECK(row_sum_holds(sum, form, space, rows, ROWS));
}

// Whatever lies there: the answer is yes or no.
static void nothing_crashes(const RowForm *form, const ArenaSpace *space) {
    char *base = arena_space_of(space, 0);
    int held = 0;
    for (int turn = 0; turn < 3000; turn++) {
        const SbEntry *const *rows = make(base, 1, (uint32_t)turn);
        RowSum sum = row_sum(form, rows, ROWS);
        int64_t used = (char *)rows[ROWS - 1] - base + (int64_t)sizeof(Row);
        for (uint32_t k = 0, words = 1 + random_below(5); k < words; k++) {
            uint64_t *word = (uint64_t *)(void *)base + random_below((uint32_t)(used / 8));
            *word = random_below(2) ? *word ^ UINT64_C(1) << random_below(64)
                                    : (uint64_t)(uintptr_t)base + random_below(1 << 24);
        }
        held += row_sum_holds(sum, form, space, rows, ROWS);
    }
    CHECK(held < 3000);
    CHECK(!row_sum_holds((RowSum){0}, form, space, nullptr, 1));
    CHECK(!row_sum_holds((RowSum){0}, form, space, (const SbEntry *const *)(void *)base, -1));
}

// The numbers of rows made again are others, and that is all.
static void other_numbers_are_no_other_rows(const RowForm *form, const ArenaSpace *space) {
    const SbEntry *const *rows = make(arena_space_of(space, 0), 1, 7);
    RowSum sum = row_sum(form, rows, ROWS);
    ((Row *)(uintptr_t)rows[3])->entry.order += 100;
    ((Row *)(uintptr_t)rows[4])->place.line = -1;
    RowSum again = row_sum(form, rows, ROWS);
    CHECK(again.sum == sum.sum && again.numbers != sum.numbers);
    CHECK(!row_sum_holds(sum, form, space, rows, ROWS));
}

// Rows of numbers alone, side by side and apart.
static void flat_rows_are_the_same_apart(const RowForm *, const ArenaSpace *space) {
    typedef struct Flat {
        SbEntry entry;
        int64_t a, b;
    } Flat;
    enum { MANY = 5000 };
    static const SbField flat_fields[] = {{.type = &i64_type, .offset = offsetof(Flat, a)},
                                          {.type = &i64_type, .offset = offsetof(Flat, b)}};
    static const SbType type = {.kind = SB_STRUCT, .fields = flat_fields, .field_count = 2};
    const SbBreaker what = {.entry_bytes = sizeof(Flat), .row = &type,
                            .identity_offset = UINT32_MAX, .place_offset = UINT32_MAX};
    RowForm form;
    CHECK(row_form_open(&form, &what));
    char *base = arena_space_of(space, 0), *other = arena_space_of(space, 1);
    const SbEntry **beside = (const SbEntry **)(void *)base;
    const SbEntry **apart = (const SbEntry **)(void *)other;
    for (int i = 0; i < MANY; i++) {
        Flat *one = (Flat *)(void *)(base + (1 << 20)) + i;
        Flat *two = (Flat *)(void *)(other + (1 << 20)) + 2 * i + i % 100 / 99;
        *one = *two = (Flat){{1, (uint64_t)i}, i * 3, i * 5};
        beside[i] = &one->entry, apart[i] = &two->entry;
    }
    RowSum sum = row_sum(&form, beside, MANY);
    CHECK(row_sum_same(sum, row_sum(&form, apart, MANY)));
    CHECK(row_sum_holds(sum, &form, space, apart, MANY));
    ((Flat *)(uintptr_t)apart[MANY / 2])->b++;
    CHECK(!row_sum_holds(sum, &form, space, apart, MANY));
    row_form_close(&form);
}

// Rows that are sent are looked through with the bytes of their sum as the most that one of them
// points to: few rows, with many items that say less than they take.
static void sums_bound_what_rows_point_to(const RowForm *form, const ArenaSpace *space) {
    enum { MANY = 100 };
    static const SbHeld held[] = {{offsetof(Row, text), &text_type, sb_held_value},
                                  {offsetof(Row, list), &list_type, sb_held_value},
                                  {offsetof(Row, numbers), &numbers_type, sb_held_value},
                                  {offsetof(Row, place), nullptr, sb_held_place}};
    SbBreaker what = edge;
    what.held = held, what.held_count = sizeof held / sizeof *held;
    Row *row = (Row *)(void *)arena_space_of(space, 0);
    const SbEntry **entries = (const SbEntry **)(void *)arena_space_of(space, 1);
    Inner *items = (Inner *)(void *)((char *)entries + 4096);
    for (int64_t len = 0; len <= MANY; len += MANY) {
        memset(row, 0, sizeof *row);
        memset(items, 0, MANY * sizeof *items);
        row->list = (SbList){.ptr = items, .len = len};
        entries[0] = &row->entry;
        RowSum sum = row_sum(form, entries, 1);
        RowRanges ranges = {.space = space, .most = sum.bytes};
        row_ranges_add_rows(&ranges, &what, entries, 1);
        CHECK(!ranges.astray && !ranges.failed && ranges.count == (len > 0 ? 3 : 2));
        CHECK(row_sum_holds(sum, form, space, entries, 1));
        row_ranges_close(&ranges);
        row->list.len = len + (1 << 20);
        ranges = (RowRanges){.space = space, .most = sum.bytes};
        row_ranges_add_rows(&ranges, &what, entries, 1);
        CHECK(ranges.astray && !row_sum_holds(sum, form, space, entries, 1));
        row_ranges_close(&ranges);
    }
}

// ---- with two arenas ----------------------------------------------------------------------------

static void with_arenas(void (*check)(const RowForm *form, const ArenaSpace *space)) {
    enum : int64_t { SPAN = 16 << 20 };
    ArenaSpace space;
    RowForm form;
    CHECK(arena_space_open(&space, 2, SPAN));
    CHECK(row_form_open(&form, &edge));
    check(&form, &space);
    row_form_close(&form);
    arena_space_close(&space);
}

static void what_rows_say(void) { with_arenas(sums_are_of_what_rows_say); }
static void each_bit(void) { with_arenas(each_bit_counts); }
static void no_crash(void) { with_arenas(nothing_crashes); }
static void other_numbers(void) { with_arenas(other_numbers_are_no_other_rows); }
static void bounds(void) { with_arenas(sums_bound_what_rows_point_to); }
static void flat_rows(void) { with_arenas(flat_rows_are_the_same_apart); }

int main(int argc, char **argv) {
    static const UnitTest tests[] = {{"what_rows_say", what_rows_say},
                                     {"each_bit", each_bit},
                                     {"no_crash", no_crash},
                                     {"other_numbers", other_numbers},
                                     {"bounds", bounds},
                                     {"flat_rows", flat_rows}};
    return unit_main("row_sum", tests, sizeof tests / sizeof *tests, argc, argv);
}
