// Rows that go elsewhere when memory grows short, that are marked and taken back: against a list of
// what was added, kept and taken back.
#include "runtime/abi/calls.h"
#include "runtime/breakers/breaker.h"
#include "runtime/rows/rows.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum : int64_t { LIMIT = 1 << 20, LONG = 200 << 10, SHORT = 40, TEXTS = 3 };

typedef struct Row {
    SbEntry entry;
    SbStr   texts[TEXTS];
} Row;

typedef struct World {
    RowsRelief relief;   // First: it is found by it.
    SbMemory   memory;
    SbRows     rows;
    uint64_t   random;
    uint64_t   next;     // The number of the row that comes next,
    uint64_t   mark;     // of the first behind the mark,
    uint64_t   written;  // and of the first that was not written.
    int64_t    settled;  // Marks of which something was written.
} World;

static uint64_t draw(World *world, uint64_t below) {
    world->random = world->random * 6364136223846793005u + 1442695040888963407u;
    return (world->random >> 33) % below;
}

static uint64_t mix(uint64_t number, uint64_t text) {
    uint64_t x = (number * TEXTS + text + 1) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

// No bytes, a few, or as many as fit a few times.
static int64_t len_of(uint64_t number, uint64_t text) {
    uint64_t x = mix(number, text);
    if (x % 5 == 0) return 0;
    return (int64_t)(x >> 8) % (x % 7 == 0 ? LONG : SHORT);
}

// Of some rows all texts are null.
static uint64_t texts_of(uint64_t number) { return mix(number, TEXTS) % 4 == 0 ? 0 : TEXTS; }

static char byte_of(uint64_t number, uint64_t text) { return (char)(mix(number, text) >> 50); }

static bool is_row(const Row *row, uint64_t number) {
    bool good = row->entry.order == number;
    for (uint64_t t = 0; t < texts_of(number) && good; t++) {
        const SbStr *text = &row->texts[t];
        good = text->len == len_of(number, t);
        // What lies behind a text can be read, too.
        char before = text->ptr[0], sum = 0;
        for (int i = 0; i < SB_SLACK; i++) sum ^= ((const volatile char *)text->ptr)[text->len + i];
        for (int64_t i = 0; i < text->len && good; i++) good = text->ptr[i] == byte_of(number, t);
        good = good && text->ptr[0] == before && (sum | 1);
    }
    return good;
}

static bool write_rows(RowsRelief *self, SbRows *rows, int64_t count, bool for_good) {
    World *world = (World *)(void *)self;
    int64_t seen = 0;
    RowSpan span = {0};
    CHECK(for_good == (!rows->state->mark.is || rows->state->mark.count == count));
    while (seen < count && sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count && seen < count; i++, seen++)
            CHECK(is_row((const Row *)span_entry(&span, i), world->written++));
    CHECK(seen == count);
    return true;
}

static bool settle_rows(RowsRelief *self, bool keep) {
    World *world = (World *)(void *)self;
    if (!keep) world->written = world->mark;
    world->settled++;
    return true;
}

// False: there was no memory for it, of which nothing counts then.
static bool add_row(World *world) {
    static char bytes[LONG];
    SbRows *rows = &world->rows;
    uint64_t number = world->next;
    Row row = {.entry.order = number};
    Row *entry = (Row *)sb_rows_grow(nullptr, rows, sizeof row);
    for (uint64_t t = 0; t < texts_of(number) && entry; t++) {
        int64_t len = row.texts[t].len = len_of(number, t);
        memset(bytes, byte_of(number, t), (size_t)len);
        row.texts[t].ptr = sb_rows_text(nullptr, rows, bytes, len);
        if (!row.texts[t].ptr) return false;
    }
    if (!entry) return false;
    *entry = row;
    rows->count++;
    world->next++;
    return true;
}

static void check_kept(const World *world) {
    uint64_t number = world->written;
    RowSpan span = {0};
    while (sb_rows_next_span(&world->rows, &span))
        for (int64_t i = 0; i < span.count; i++)
            CHECK(is_row((const Row *)span_entry(&span, i), number++));
    CHECK_SAYS(number == world->next, "%lu of %lu", (unsigned long)number,
               (unsigned long)world->next);
}

// As a task whose rows are kept, or taken back.
static void run_task(World *world) {
    SbRows *rows = &world->rows;
    bool good = true, back = draw(world, 4) == 0;
    world->mark = world->next;
    sb_rows_mark(rows);
    for (uint64_t i = draw(world, 12); i > 0 && good; i--) good = add_row(world);
    if (good && !back) {
        CHECK(sb_rows_keep(rows));
        return;
    }
    bool any = world->written < world->mark && !rows->state->mark.gone;
    sb_rows_back(rows);
    world->next = world->mark;
    // Nothing is held for rows that are not there: nobody else could make room of it.
    if (!any) CHECK_SAYS(sb_rows_bytes(rows) == 0, "%ld", (long)sb_rows_bytes(rows));
}

static void world_open(World *world, uint64_t seed) {
    enum { COVER = 8 };
    *world = (World){.random = seed};
    world->relief = (RowsRelief){.write = write_rows, .settle = settle_rows, .cover = COVER};
    sb_memory_open(&world->memory, LIMIT);
    CHECK(sb_rows_init(&world->rows, &world->memory, sizeof(Row)) == SB_OK);
    world->rows.state->relief = &world->relief;
}

static void world_close(World *world) {
    sb_rows_fini(&world->rows);
    CHECK(world->memory.used == 0);
}

// Others take memory meanwhile, and let others write what waits.
static void rows_are_kept_written_or_taken_back(void) {
    int64_t settled = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        World world;
        int64_t others = 0;
        world_open(&world, seed);
        for (int i = 0; i < 200; i++) {
            run_task(&world);
            check_kept(&world);
            if (draw(&world, 3) == 0) {
                CHECK(sb_rows_relieve(&world.rows));
                CHECK(world.written == world.next && sb_rows_bytes(&world.rows) == 0);
            }
            sb_memory_release(&world.memory, others);
            others = (int64_t)draw(&world, LIMIT);
            if (!sb_memory_charge(&world.memory, others)) others = 0;
        }
        sb_memory_release(&world.memory, others);
        settled += world.settled;
        world_close(&world);
    }
    CHECK_SAYS(settled > 100, "%ld", (long)settled);
}

// Of a long row before the mark nothing stays once it was written.
static void a_long_row_before_the_mark_goes(void) {
    World world;
    world_open(&world, 1);
    while (!texts_of(world.next) || len_of(world.next, TEXTS - 1) < LONG / 2) world.next++;
    world.written = world.next;
    CHECK(add_row(&world));
    world.mark = world.next;
    sb_rows_mark(&world.rows);
    CHECK(sb_rows_bytes(&world.rows) > LONG / 2);
    CHECK(sb_rows_relieve(&world.rows) && world.written == world.mark);
    CHECK(sb_rows_bytes(&world.rows) < LONG / 4);
    sb_rows_back(&world.rows);
    CHECK(sb_rows_bytes(&world.rows) == 0);
    world_close(&world);
}

static const UnitTest tests[] = {
    {"rows_are_kept_written_or_taken_back", rows_are_kept_written_or_taken_back},
    {"a_long_row_before_the_mark_goes", a_long_row_before_the_mark_goes},
};

UNIT_MAIN("rows", tests)
