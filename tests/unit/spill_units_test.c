// Rows of a sort that come back from disk: whatever the units are, and in whatever order they are
// read, they are the rows of one merge.
#include "runtime/input/spill_units.h"
#include "runtime/disk/entries.h"
#include "stdlib/aggregate/held.h"
#include "tests/unit/random.h"
#include "tests/unit/spill_root.h"

#include <stdlib.h>
#include <string.h>

typedef struct Row {
    SbEntry  entry;
    uint64_t key, more;
    SbStr    text;       // Its length and bytes come from the order.
} Row;

enum { ROW_BYTES = (sizeof(Row) + 15) / 16 * 16, UNITS_MAX = 4096, TASKS = 3 };
enum : int64_t { LIMIT = 64 << 20, MOST = 4 << 20 };

static uint64_t key_of(const SbEntry *entry) { return ((const Row *)entry)->key; }
static uint64_t more_of(const SbEntry *entry) { return ((const Row *)entry)->more; }

static const SbType str_type = {.kind = SB_STR, .size = sizeof(SbStr), .align = 8};
static const SbHeld held = {offsetof(Row, text), &str_type, sb_held_value};
static const SbBreaker sort = {.kind = SB_BREAK_SORT, .entry_bytes = ROW_BYTES, .held = &held,
                               .held_count = 1, .narrow = true, .prefix = key_of,
                               .prefix_more = more_of};

typedef struct Case {
    int64_t rows, run_rows;
    uint64_t keys, mores;   // As many different ones; 0: all ascend with the order.
    int64_t  longest;       // Of the text; but for one row in a thousand it is a tenth.
} Case;

typedef struct Job {
    char    *root;
    SbMemory memory;
    Spill    spill;
    SbBreakerState *breaker;
    int64_t  rows;
    uint64_t *orders;       // Of the rows as one merge gives them.
} Job;

static int64_t length_of(const Case *of, uint64_t order) {
    int64_t most = order % 1000 == 7 ? of->longest : of->longest / 10;
    return (int64_t)(order * 7919 % (uint64_t)(most + 1));
}

static char byte_of(uint64_t order) { return (char)('a' + order % 26); }

static bool add(const Case *of, SbRows *part, uint64_t order, char *room) {
    int64_t len = length_of(of, order);
    memset(room, byte_of(order), (size_t)len);
    Row row = {.entry = {order * 31, order}, .key = order, .text = {room, len}};
    if (of->keys) row.key = random_u64() % of->keys;
    if (of->mores) row.more = random_u64() % of->mores;
    return spill_copy(part, &sort, &row.entry);
}

static bool is_row(const Case *of, const SbEntry *entry) {
    const Row *row = (const Row *)entry;
    int64_t len = length_of(of, entry->order);
    bool same = entry->hash == entry->order * 31 && row->text.len == len;
    for (int64_t i = 0; same && i < len; i++) same = row->text.ptr[i] == byte_of(entry->order);
    return same;
}

static void list_rows(const Case *of, Job *job) {
    SpillOrder order = sb_breaker_on_disk(job->breaker);
    SpillMerge *merge = spill_merge_open(order.runs, order.what, order.by);
    int64_t held_bytes, seen = 0;
    const Row *row;
    Row last = {0};
    for (; (row = (const Row *)spill_merge_first(merge, &held_bytes)); seen++) {
        bool above = row->key != last.key     ? row->key > last.key
                     : row->more != last.more ? row->more > last.more
                                              : row->entry.order > last.entry.order;
        CHECK(seen < of->rows && (seen == 0 || above) && is_row(of, &row->entry));
        CHECK(spill_merge_row(merge) == seen);
        job->orders[seen] = row->entry.order;
        last = *row;
        spill_merge_pass(merge);
    }
    CHECK_SAYS(seen == of->rows, "%ld", seen);
    spill_merge_close(merge);
}

static void job_open(Job *job, const Case *of) {
    char *room = malloc((size_t)of->longest + 1);
    *job = (Job){.root = root_open(), .rows = of->rows,
                 .orders = calloc((size_t)of->rows + 1, sizeof *job->orders)};
    sb_memory_open(&job->memory, LIMIT);
    CHECK(spill_open(&job->spill, job->root, THREADS, &job->memory));
    job->breaker = sb_breaker_open(&sort, THREADS, &job->memory, &job->spill);
    for (int64_t i = 0; i < of->rows; i++) {
        CHECK(add(of, sb_breaker_part(job->breaker, 0), (uint64_t)i, room));
        if (i % of->run_rows == of->run_rows - 1) sb_breaker_relieve(job->breaker, 0);
    }
    CHECK_SAYS(sb_breaker_finish(job->breaker, &in_turn) == SB_OK, "%s", job->spill.trouble.text);
    free(room);
    list_rows(of, job);
}

static void job_close(Job *job) {
    sb_breaker_close(job->breaker);
    spill_close(&job->spill);
    CHECK_SAYS(job->memory.used == 0, "%ld", (long)job->memory.used);
    CHECK(job->spill.indexed == 0);
    root_close(job->root);
    free(job->orders);
}

// ---- reading ------------------------------------------------------------------------------------

typedef struct Read {
    SpillUnits *units;
    Unit    taken[UNITS_MAX];
    int     count;          // Of them,
    int     ranges;         // of which so many are ranges.
    int64_t longest;        // Rows of a unit.
} Read;

static void read_open(Read *read, const Job *job, int64_t bytes, int64_t first) {
    *read = (Read){.units = spill_units_open(&(SpillUnitsSetup){
                       .breaker = job->breaker, .bytes = bytes, .rows = INT64_MAX, .most = MOST,
                       .tasks = TASKS, .first = first})};
    CHECK(read->units);
}

static UnitTake take(Read *read, bool must) {
    Trouble trouble = {0};
    Unit *unit = &read->taken[read->count];
    *unit = (Unit){.ordinal = (uint64_t)read->count};
    UnitTake taken = spill_units_take(read->units, unit, must, &trouble);
    read->count += taken == UNIT_TAKEN;
    read->ranges += taken == UNIT_TAKEN && spill_units_reads(unit);
    CHECK(read->count < UNITS_MAX);
    return taken;
}

static bool prepare(Read *read, int unit) {
    Trouble trouble = {0};
    return spill_units_prepare(read->units, &read->taken[unit], &trouble);
}

static void release(Read *read, int from) {
    for (int i = from; i < read->count; i++) batch_release(read->taken[i].slices[0].batch);
    read->count = from;
}

// The units' rows stand side by side, from the first that is wanted to the last.
static void check_rows(const Case *of, const Job *job, Read *read, int64_t first) {
    int64_t row = first;
    for (int u = 0; u < read->count; u++) {
        const Unit *unit = &read->taken[u];
        CHECK_SAYS(unit->range_begin == row && unit->range_end == row + unit->end - unit->begin,
                   "unit %d: %ld, %ld to %ld", u, row, unit->range_begin, unit->range_end);
        if (unit->end > read->longest) read->longest = unit->end;
        for (int64_t i = unit->begin; i < unit->end && row < job->rows; i++, row++)
            CHECK(unit->entries[i]->order == job->orders[row] && is_row(of, unit->entries[i]));
    }
    CHECK_SAYS(row == job->rows, "%ld of %ld", row, job->rows);
}

// A unit that was read is found by its range of numbers, and is the same rows.
static void check_found(const Case *of, const Read *read, int u) {
    Trouble trouble = {0};
    const Unit *was = &read->taken[u];
    Unit unit = {.range_begin = was->range_begin, .range_end = was->range_end};
    CHECK(spill_units_find(read->units, &unit, true, &trouble) == UNIT_TAKEN);
    CHECK(unit.end - unit.begin == was->end - was->begin);
    for (int64_t i = 0; i < unit.end; i++)
        CHECK(unit.entries[i]->order == was->entries[was->begin + i]->order &&
              is_row(of, unit.entries[i]));
    if (unit.slices[0].batch) batch_release(unit.slices[0].batch);
}

// Takes a few units at a time and prepares the last of them first. Returns how many were ranges.
static int check_read(const Case *of, const Job *job, int64_t bytes, int64_t first) {
    static Read read;
    enum { AT_ONCE = 5 };
    read_open(&read, job, bytes, first);
    for (UnitTake taken = UNIT_TAKEN; taken == UNIT_TAKEN;) {
        int from = read.count;
        while (read.count < from + AT_ONCE && (taken = take(&read, true)) == UNIT_TAKEN) {}
        for (int u = read.count; u-- > from;) CHECK(prepare(&read, u));
        CHECK(taken == UNIT_TAKEN || taken == UNIT_NONE);
    }
    CHECK(!job->spill.failed);
    check_rows(of, job, &read, first);
    for (int u = read.count - 1; u >= 0; u -= 1 + read.count / 3) check_found(of, &read, u);
    release(&read, 0);
    spill_units_close(read.units);
    return read.ranges;
}

// ---- tests --------------------------------------------------------------------------------------

static void units_are_those_of_one_merge(void) {
    static const Case cases[] = {
        {90000, 14000, 1 << 30, 0, 2000},   // Runs of all keys,
        {90000, 14000, 0, 0, 2000},         // of keys that follow each other,
        {90000, 80000, 900, 0, 2000},      // of keys that many rows have,
        {90000, 14000, 1, 1 << 30, 2000},   // of which the second half decides,
        {90000, 14000, 3, 3, 2000},         // both halves,
        {400, 70, 50, 0, 300000},         // and of rows that are long.
        {1, 1, 1, 0, 20},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Job job;
        job_open(&job, &cases[c]);
        for (int64_t bytes = MOST / 8; bytes <= MOST / 2; bytes *= 2) {
            int ranges = check_read(&cases[c], &job, bytes, 0);
            CHECK_SAYS(c >= 4 || ranges > 2, "case %zu: %d ranges", c, ranges);
        }
        job_close(&job);
    }
}

static void rows_before_the_first_are_passed(void) {
    const Case of = {50000, 9000, 2000, 0, 2000}, hot = {50000, 9000, 2, 0, 2000};
    Job job;
    job_open(&job, &of);
    for (int64_t first = 0; first <= of.rows; first += 4999) check_read(&of, &job, MOST / 8, first);
    check_read(&of, &job, MOST / 8, of.rows);
    job_close(&job);
    job_open(&job, &hot);
    for (int64_t first = 0; first <= hot.rows; first += 9999)
        check_read(&hot, &job, MOST / 8, first);
    job_close(&job);
}

// Rows of one key are no range, as they may be longer than a unit: one merge has them, and units
// stay short.
static void a_hot_key_is_no_range(void) {
    const Case of = {90000, 14000, 2, 0, 2000};
    static Read read;
    Job job;
    job_open(&job, &of);
    read_open(&read, &job, MOST / 8, 0);
    while (take(&read, true) == UNIT_TAKEN) CHECK(prepare(&read, read.count - 1));
    check_rows(&of, &job, &read, 0);
    CHECK_SAYS(read.ranges < read.count && read.longest < of.rows / 4, "%ld", read.longest);
    release(&read, 0);
    spill_units_close(read.units);
    job_close(&job);
}

// Where there is no memory for a range, it is waited for; when nobody has any to give back, what is
// left is read as it can be.
static void without_memory_there_is_one_merge(void) {
    const Case of = {90000, 14000, 1 << 30, 0, 2000};
    static Read read;
    Job job;
    job_open(&job, &of);
    read_open(&read, &job, MOST / 4, 0);
    CHECK(take(&read, false) == UNIT_TAKEN && prepare(&read, 0));
    // One block of each run, and a few rows.
    int64_t left = spill_cut_waste(sb_breaker_on_disk(job.breaker).runs) * 3 / 2;
    int64_t taken = job.memory.limit - job.memory.used - left;
    CHECK(sb_memory_charge(&job.memory, taken));
    CHECK(take(&read, false) == UNIT_LATER && take(&read, false) == UNIT_LATER);
    for (int i = 0; i < 3; i++) {
        CHECK(take(&read, true) == UNIT_TAKEN && !spill_units_reads(&read.taken[read.count - 1]));
        CHECK(read.taken[read.count - 1].end > 0);
        if (i == 0) sb_memory_release(&job.memory, taken);
    }
    int before = read.ranges;
    while (take(&read, false) == UNIT_TAKEN) CHECK(prepare(&read, read.count - 1));
    CHECK(read.ranges > before);
    check_rows(&of, &job, &read, 0);
    release(&read, 0);
    spill_units_close(read.units);
    job_close(&job);
}

static void units_that_nobody_reads_are_given_back(void) {
    const Case of = {90000, 14000, 1 << 30, 0, 2000};
    static Read read;
    Job job;
    job_open(&job, &of);
    int64_t used = job.memory.used;
    read_open(&read, &job, MOST / 4, 0);
    for (int i = 0; i < 4; i++) CHECK(take(&read, false) == UNIT_TAKEN);
    CHECK(prepare(&read, 2) && read.taken[2].range_begin > 0);
    CHECK(job.memory.used > used);
    release(&read, 0);
    spill_units_close(read.units);
    CHECK(job.memory.used == used);
    job_close(&job);
}

// A run of which nobody knows where its blocks begin, as there was no memory for that.
static void without_an_index_there_is_one_merge(void) {
    const Case of = {90000, 14000, 1 << 30, 0, 2000};
    Job job;
    job_open(&job, &of);
    SpillRun *run = &sb_breaker_on_disk(job.breaker).runs->items[1];
    CHECK(check_read(&of, &job, MOST / 8, 0) > 0);
    spill_index_close(run->index);
    run->index = nullptr;
    CHECK(check_read(&of, &job, MOST / 8, 0) == 0);
    CHECK(check_read(&of, &job, MOST / 8, of.rows / 2) == 0);
    job_close(&job);
}

static void damage_is_found(void) {
    const Case of = {20000, 5000, 1 << 30, 0, 200};
    static Read read;
    Job job;
    job_open(&job, &of);
    read_open(&read, &job, MOST, 0);
    CHECK(take(&read, true) == UNIT_TAKEN);
    // Marks that say that the blocks begin elsewhere.
    const SpillRuns *runs = sb_breaker_on_disk(job.breaker).runs;
    SpillRange *range = read.taken[0].slices[0].batch->range;
    for (uint32_t r = 0; r < runs->count; r++) range->cut.spans[r].begin += 8;
    CHECK(!prepare(&read, 0));
    CHECK(job.spill.failed && job.spill.trouble.kind == TROUBLE_SPILL_READ);
    release(&read, 0);
    spill_units_close(read.units);
    job_close(&job);
}

static const UnitTest tests[] = {
    {"units_are_those_of_one_merge", units_are_those_of_one_merge},
    {"rows_before_the_first_are_passed", rows_before_the_first_are_passed},
    {"a_hot_key_is_no_range", a_hot_key_is_no_range},
    {"without_memory_there_is_one_merge", without_memory_there_is_one_merge},
    {"without_an_index_there_is_one_merge", without_an_index_there_is_one_merge},
    {"units_that_nobody_reads_are_given_back", units_that_nobody_reads_are_given_back},
    {"damage_is_found", damage_is_found},
};

UNIT_MAIN("spill_units", tests)
