#define _GNU_SOURCE
#include "runtime/abi/calls.h"
#include "runtime/breakers/spill_join.h"
#include "runtime/disk/range.h"
#include "runtime/disk/entries.h"
#include "runtime/breakers/spill_sort.h"
#include "stdlib/aggregate/held.h"
#include "tests/unit/spill_root.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// Right rows number 0, 1, ...: some keys have many, some hashes two keys, some texts many blocks.
enum { KEYS = 300, HOT_KEY = 7, HOT_EVERY = 5, TWINS = 2, NULL_EVERY = 11, LONG_EVERY = 997 };
enum { NULL_KEY = 2, LONG_BYTES = 50000 };
enum { THIN_ROWS = 100000, THIN_LIMIT = 500 << 10 };  // More blocks than are kept.

typedef struct Right {
    SbEntry        entry;
    int64_t        key;
    SbStr          text;
    const SbEntry *next;
    SbJump         jump;    // In some tests.
    uint8_t        matched;
} Right;

enum { RIGHT_BYTES = (sizeof(Right) + 15) / 16 * 16 };

static int64_t key_of(int64_t number) {
    return number % HOT_EVERY == 0 ? HOT_KEY : number * 7919 % KEYS;
}

static bool has_null(int64_t number) { return number % NULL_EVERY == 0; }

// Two keys side by side have one hash.
static uint64_t hash_of(int64_t key) {
    return (uint64_t)(key / TWINS) * UINT64_C(0x9e3779b97f4a7c15);
}

static int64_t text_len(int64_t number) {
    return number % LONG_EVERY == 1 ? LONG_BYTES : number % 60;
}

static int32_t equal(const SbEntry *a, const SbEntry *b) {
    return ((const Right *)a)->key == ((const Right *)b)->key;
}

static const SbType str_type = {.kind = SB_STR, .size = sizeof(SbStr), .align = 8};
static const SbHeld held[] = {{offsetof(Right, text), &str_type, sb_held_value}};

static SbBreaker join_that_wants(SbJoinWants wants) {
    return (SbBreaker){.kind = SB_BREAK_JOIN, .wants = wants, .entry_bytes = RIGHT_BYTES,
                       .next_offset = offsetof(Right, next),
                       .matched_offset = offsetof(Right, matched),
                       .identity_offset = UINT32_MAX, .held = held, .held_count = 1,
                       .equal = equal};
}

typedef struct Job {
    char           *root;
    SbMemory        memory;
    Spill           spill;
    SbBreaker       what;
    SbBreakerState *breaker;
    SpillJoin      *join;
    int64_t         rows;
} Job;

static SbEntry *take_entry(SbRows *part) {
    char *at = part->at;
    if (at == part->end) return sb_rows_grow(nullptr, part, RIGHT_BYTES);
    part->at += RIGHT_BYTES;
    return (SbEntry *)(void *)at;
}

// As generated code does: the entry is taken, then texts are copied, then the row counts.
static bool keep(SbRows *part, int64_t number) {
    SbStr text = {calloc(1, LONG_BYTES + SB_SLACK), text_len(number)};
    memset((char *)(uintptr_t)text.ptr, (int)('a' + number % 26), (size_t)text.len);
    Right *row = (Right *)take_entry(part);
    if (row) {
        *row = (Right){.entry = {hash_of(key_of(number)), (uint64_t)number},
                       .key = key_of(number), .matched = has_null(number) ? NULL_KEY : 0};
        row->text = (SbStr){sb_rows_text(nullptr, part, text.ptr, text.len), text.len};
        part->count++;
    }
    free((void *)(uintptr_t)text.ptr);
    return row && row->text.ptr;
}

// Eager: each few rows are a run.
static void job_open_with(Job *job, int64_t rows, int64_t limit, SbJoinWants wants, bool eager) {
    *job = (Job){.root = root_open(), .what = join_that_wants(wants), .rows = rows};
    sb_memory_open(&job->memory, limit);
    job->memory.eager = eager;
    CHECK(spill_open(&job->spill, job->root, THREADS, &job->memory));
    job->breaker = sb_breaker_open(&job->what, THREADS, &job->memory, &job->spill);
    bool good = job->breaker;
    for (int64_t i = 0; i < rows && good; i++)
        good = keep(sb_breaker_part(job->breaker, (uint32_t)(i / 50 % THREADS)), i);
    CHECK_SAYS(good, "%s", job->spill.trouble.text);
    job->memory.eager = false;
    CHECK_SAYS(sb_breaker_finish(job->breaker, &in_turn) == SB_OK, "%s", job->spill.trouble.text);
    job->join = sb_breaker_join(job->breaker);
    CHECK(job->join && sb_breaker_rows_in(job->breaker) == rows);
}

static void job_open(Job *job, int64_t rows, int64_t limit, SbJoinWants wants) {
    job_open_with(job, rows, limit, wants, true);
}

static void job_close(Job *job) {
    CHECK_SAYS(job->memory.peak <= job->memory.limit, "%ld", (long)job->memory.peak);
    sb_breaker_close(job->breaker);
    spill_close(&job->spill);
    CHECK_SAYS(job->memory.used == 0, "%ld", (long)job->memory.used);
    root_close(job->root);
}

typedef struct Taker {
    SpillJoinCursor cursor;
    SpillJoinRows   rows;
    SpillJoinTake   take;
} Taker;

static void taker_open(Taker *taker, const SpillJoin *join, int64_t rows_max, int64_t key_max) {
    *taker = (Taker){0};
    CHECK(spill_join_cursor(&taker->cursor, join) && spill_join_rows_open(&taker->rows, join));
    taker->take = (SpillJoinTake){&taker->cursor, &taker->rows, rows_max, key_max};
}

static void taker_close(Taker *taker) {
    spill_join_rows_close(&taker->rows);
    spill_join_cursor_close(&taker->cursor);
}

static bool is_row(const SbEntry *entry, int64_t number) {
    const Right *row = (const Right *)entry;
    bool same = row->key == key_of(number) && row->text.len == text_len(number) &&
                entry->hash == hash_of(row->key);
    for (int64_t i = 0; i < row->text.len && same; i++)
        same = row->text.ptr[i] == 'a' + number % 26;
    return same;
}

// The next row of a key from number `from` on; -1: there is none.
static int64_t next_of_key(const Job *job, int64_t key, int64_t from) {
    for (int64_t i = from; i < job->rows; i++)
        if (key_of(i) == key && !has_null(i)) return i;
    return -1;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The hashes of all keys that `step` divides, ascending, each once.
static int64_t hashes_of(uint64_t *hashes, int64_t step) {
    int64_t count = 0, once = 0;
    for (int64_t key = 0; key < KEYS; key += step) hashes[count++] = hash_of(key);
    qsort(hashes, (size_t)count, sizeof *hashes, by_value);
    for (int64_t i = 0; i < count; i++)
        if (once == 0 || hashes[once - 1] != hashes[i]) hashes[once++] = hashes[i];
    return once;
}

// ---- rows of hashes -----------------------------------------------------------------------------

// The rows are whole, and of each key all of them come, in right order.
static void check_taken(const Job *job, const SpillJoinRows *rows, const uint64_t *hashes,
                        int64_t count) {
    int64_t at[KEYS] = {0}, seen = 0;
    for (int64_t i = 0; i < rows->rows.count; i++) {
        const Right *row = (const Right *)rows->entries[i];
        int64_t number = next_of_key(job, row->key, at[row->key]);
        CHECK(number >= 0 && is_row(&row->entry, number) && !row->next);
        CHECK(bsearch(&row->entry.hash, hashes, (size_t)count, sizeof *hashes, by_value));
        at[row->key] = number + 1;
    }
    for (int64_t i = 0; i < job->rows; i++) {
        uint64_t hash = hash_of(key_of(i));
        seen += !has_null(i) &&
                bsearch(&hash, hashes, (size_t)count, sizeof *hashes, by_value) != nullptr;
    }
    CHECK_SAYS(rows->rows.count == seen, "%ld of %ld", (long)rows->rows.count, (long)seen);
}

static void check_hashes(int64_t rows, int64_t limit, int64_t step) {
    Job job;
    Taker taker;
    uint64_t hashes[KEYS];
    int64_t count = hashes_of(hashes, step);
    job_open(&job, rows, limit, SB_JOIN_MATCHES);
    taker_open(&taker, job.join, INT64_MAX, INT64_MAX);
    CHECK(spill_join_take(&taker.take, hashes, count) == JOIN_TAKEN);
    check_taken(&job, &taker.rows, hashes, count);
    taker_close(&taker);
    // One after the other, from where the cursor is.
    taker_open(&taker, job.join, INT64_MAX, INT64_MAX);
    for (int64_t i = 0; i < count; i++)
        CHECK(spill_join_take_next(&taker.take, hashes[i]) == JOIN_TAKEN);
    check_taken(&job, &taker.rows, hashes, count);
    taker_close(&taker);
    job_close(&job);
}

static void hashes_find_their_rows(void) {
    check_hashes(6000, 16 << 20, 1);
    check_hashes(6000, 16 << 20, 37);
    check_hashes(6000, 16 << 20, KEYS - 1);
    check_hashes(30, 16 << 20, 1);
    check_hashes(4, 16 << 20, 1);
}

// However little memory there is, all blocks are known, as the index lies on disk.
static void all_blocks_are_known(void) {
    Job job;
    check_hashes(THIN_ROWS, THIN_LIMIT, KEYS - 1);
    job_open(&job, THIN_ROWS, THIN_LIMIT, SB_JOIN_MATCHES);
    const SpillRuns *runs = spill_join_runs(job.join);
    int64_t blocks = 0;
    for (uint32_t r = 0; r < runs->count; r++) {
        const SpillIndex *index = runs->items[r].index;
        CHECK(index->every == 1 && index->charged == 0);
        for (int64_t i = 1; i < index->count; i++)
            CHECK(index->marks[i - 1].row < index->marks[i].row);
        blocks += index->count;
    }
    CHECK_SAYS(runs->count > 0 && blocks > 500, "%ld blocks", (long)blocks);
    CHECK(job.spill.indexed == 0);
    job_close(&job);
}

// Of an index in memory only some are, then.
static void marks_are_thinned_out(void) {
    enum { LIMIT = 64 << 10, MARKS = 1000 };
    Spill spill;
    SbMemory memory;
    sb_memory_open(&memory, LIMIT);
    CHECK(spill_open(&spill, "/tmp", THREADS, &memory));
    SpillIndex *index = spill_index_open(&spill);
    for (int64_t i = 0; i < MARKS; i++)
        CHECK(spill_index_add(index, &(SpillMark){.at = i, .row = i, .key = {(uint64_t)i}}));
    CHECK_SAYS(index->every > 1 && index->charged <= LIMIT / 32, "%ld", (long)index->charged);
    CHECK(index->count == (MARKS + index->every - 1) / index->every);
    for (int64_t i = 0; i < index->count; i++) CHECK(index->marks[i].row == i * index->every);
    CHECK(spill_index_of_row(index, index->every - 1) == 0);
    CHECK(spill_index_before(index, (SpillKey){.key = 1}) == 1);
    spill_index_close(index);
    CHECK(memory.used == 0);
    spill_close(&spill);
}

static void more_than_there_is_room_for(void) {
    Job job;
    Taker taker;
    uint64_t hashes[KEYS];
    int64_t count = hashes_of(hashes, 1);
    job_open(&job, 3000, 16 << 20, SB_JOIN_MATCHES);
    taker_open(&taker, job.join, 2000, INT64_MAX);
    CHECK(spill_join_take(&taker.take, hashes, count) == JOIN_NO_ROOM);
    taker_close(&taker);
    // Of one hash all rows come.
    taker_open(&taker, job.join, 2000, INT64_MAX);
    CHECK(spill_join_take(&taker.take, &(uint64_t){hash_of(HOT_KEY)}, 1) == JOIN_TAKEN);
    CHECK(taker.rows.rows.count > 500);
    taker_close(&taker);
    CHECK(!job.spill.failed);
    job_close(&job);
}

static void one_row_of_a_key_is_enough(void) {
    Job job;
    Taker taker;
    uint64_t hashes[KEYS];
    int64_t count = hashes_of(hashes, 1);
    job_open(&job, 3000, 16 << 20, SB_JOIN_ONE);
    taker_open(&taker, job.join, INT64_MAX, 0);
    CHECK(spill_join_take(&taker.take, hashes, count) == JOIN_TAKEN);
    bool seen[KEYS] = {0};
    for (int64_t i = 0; i < taker.rows.rows.count; i++) {
        const Right *row = (const Right *)taker.rows.entries[i];
        CHECK(!seen[row->key] && !row->next);
        seen[row->key] = true;
    }
    for (int64_t key = 0; key < KEYS; key++) CHECK(seen[key] == (next_of_key(&job, key, 0) >= 0));
    taker_close(&taker);
    job_close(&job);
}

// ---- chains that are cut ------------------------------------------------------------------------

// Goes along the chain of a key whose rows in memory end with `entry`, row number `at`.
static void walk_cut(const Job *job, const SbEntry *entry, int64_t at, int64_t key_max) {
    SpillJoinRows rows[2] = {0};
    SpillJoinCursor cursor;
    const int64_t key = ((const Right *)entry)->key;
    uint32_t turn = 0;
    CHECK(spill_join_cursor(&cursor, job->join));
    while (entry) {
        CHECK(is_row(entry, at));
        const SbEntry *next = ((const Right *)entry)->next;
        if ((uintptr_t)next == SB_CUT) {
            turn ^= 1;
            spill_join_rows_close(&rows[turn]);
            CHECK(spill_join_rows_open(&rows[turn], job->join));
            SpillJoinTake take = {&cursor, &rows[turn], INT64_MAX, key_max};
            CHECK(spill_join_more(&take, entry, (int64_t)entry->order + 1) == JOIN_TAKEN);
            next = rows[turn].rows.count ? rows[turn].entries[0] : nullptr;
        }
        at = next_of_key(job, key, at + 1);
        CHECK((at < 0) == !next);
        entry = at < 0 ? nullptr : next;
    }
    spill_join_rows_close(&rows[0]);
    spill_join_rows_close(&rows[1]);
    spill_join_cursor_close(&cursor);
}

static void check_cut(int64_t key_max) {
    Job job;
    Taker taker;
    uint64_t hashes[KEYS];
    int64_t count = hashes_of(hashes, 1), keys = 0;
    job_open(&job, 5000, 16 << 20, SB_JOIN_MATCHES);
    taker_open(&taker, job.join, INT64_MAX, key_max);
    CHECK(spill_join_take(&taker.take, hashes, count) == JOIN_TAKEN);
    const SbEntry *last[KEYS] = {0};
    int64_t at[KEYS] = {0};
    for (int64_t i = 0; i < taker.rows.rows.count; i++) {
        const Right *row = (const Right *)taker.rows.entries[i];
        last[row->key] = &row->entry;
        at[row->key] = next_of_key(&job, row->key, at[row->key]) + 1;
    }
    CHECK((uintptr_t)((const Right *)last[HOT_KEY])->next == SB_CUT);
    for (int64_t key = 0; key < KEYS; key++) {
        if (!last[key]) continue;
        walk_cut(&job, last[key], at[key] - 1, key_max);
        keys++;
    }
    CHECK_SAYS(keys > KEYS / 2, "%ld", (long)keys);
    taker_close(&taker);
    job_close(&job);
}

static void cut_chains_are_read_on(void) {
    check_cut(0);
    check_cut(1000);
    check_cut(20000);
}

// ---- the rest -----------------------------------------------------------------------------------

static void what_nothing_matched_comes_in_right_order(void) {
    enum { EVERY = 3 };
    Job job;
    Taker taker;
    uint64_t hashes[KEYS];
    int64_t count = hashes_of(hashes, 1), seen = 0, at = 0, unmatched = 0;
    static bool matched[3000];
    job_open(&job, 3000, 16 << 20, SB_JOIN_REST);
    taker_open(&taker, job.join, INT64_MAX, INT64_MAX);
    CHECK(spill_join_take(&taker.take, hashes, count) == JOIN_TAKEN);
    int64_t last[KEYS] = {0};
    for (int64_t i = 0; i < taker.rows.rows.count; i++) {
        Right *row = (Right *)(uintptr_t)taker.rows.entries[i];
        int64_t number = next_of_key(&job, row->key, last[row->key]);
        last[row->key] = number + 1;
        matched[number] = row->matched = row->key % EVERY == 0;
    }
    spill_join_mark(job.join, &taker.rows.rows);
    taker_close(&taker);
    for (int64_t i = 0; i < job.rows; i++) unmatched += !matched[i];
    CHECK(sb_breaker_rest(job.breaker, &in_turn));
    CHECK(!sb_breaker_entries(job.breaker, &count) && count == unmatched);
    SpillOrder order = sb_breaker_on_disk(job.breaker);
    SpillMerge *merge = spill_merge_open(order.runs, order.what, order.by);
    int64_t bytes;
    for (const SbEntry *entry; (entry = spill_merge_first(merge, &bytes)); seen++) {
        while (at < job.rows && matched[at]) at++;
        CHECK((int64_t)entry->order == at && is_row(entry, at));
        at++;
        spill_merge_pass(merge);
    }
    CHECK_SAYS(seen == unmatched && seen < job.rows, "%ld", (long)seen);
    spill_merge_close(merge);
    job_close(&job);
}

// ---- answers ------------------------------------------------------------------------------------

enum { UNITS = 40 };

static bool asks(int64_t unit, int64_t key) { return (unit * 31 + key * 17) % 23 < unit % 5; }

// Each unit asks for some keys, several of them twice.
static void write_asks(Job *job, SpillRuns *runs) {
    SpillSort sort;
    SbRows rows;
    CHECK(spill_sort_open(&sort, &spill_join_ask, &spill_join_by, runs));
    CHECK(sb_rows_init(&rows, &job->memory, spill_join_ask.entry_bytes) == SB_OK);
    CHECK(spill_sort_watch(&sort, 0, &rows));
    for (int64_t unit = 0; unit < UNITS; unit++)
        for (int64_t i = 0; i < 2 * KEYS; i++) {
            if (!asks(unit, i % KEYS)) continue;
            SbEntry *ask = sb_rows_add(&rows);
            CHECK(ask);
            if (ask) *ask = (SbEntry){hash_of(i % KEYS), (uint64_t)unit};
        }
    CHECK(sb_rows_relieve(&rows) && runs->rows > 0);
    sb_rows_fini(&rows);
    spill_sort_close(&sort);
}

// Merges side by side leave memory to who reads and writes beside them.
static void pieces_take_a_share_of_the_memory(void) {
    enum { LIMIT = 8 << 20, RUNS = 8, ASKS = 20000, MOST = 64 };
    SbMemory memory;
    Spill spill;
    SpillRuns runs;
    SpillPieces pieces;
    char *root = root_open();
    sb_memory_open(&memory, LIMIT);
    CHECK(spill_open(&spill, root, THREADS, &memory));
    CHECK(spill_runs_open(&runs, &spill, &memory));
    runs.indexed = true;
    for (uint64_t r = 0; r < RUNS; r++) {
        SpillRun run;
        const SpillPut put = {&spill, 0, &spill_join_ask, &spill_join_by, spill_runs_index(&runs)};
        CHECK(put.index && spill_begin(&spill, 0));
        for (uint64_t i = 0; i < ASKS; i++)
            CHECK(spill_put_noted(&put, &(SbEntry){i * RUNS + r, r}));
        CHECK(spill_index_end(put.index, &spill, 0, &run) && spill_runs_add(&runs, &run));
    }
    memory.eager = true;
    int64_t before = memory.used;
    const SpillOrder order = {&runs, &spill_join_ask, &spill_join_by};
    CHECK(spill_pieces_open(&pieces, &order, MOST, false));
    CHECK_SAYS(pieces.count > 1 && pieces.count < MOST, "%u pieces", pieces.count);
    int64_t taken = memory.used - before;
    CHECK_SAYS(taken > 0 && taken <= LIMIT / 4, "%ld bytes", (long)taken);
    CHECK(spill.pieces == 1);
    spill_pieces_close(&pieces);
    CHECK(spill.pieces == 0);
    spill_runs_drop(&runs);
    CHECK(spill_pieces_open(&pieces, &order, MOST, false) && pieces.count == 1);
    spill_pieces_close(&pieces);
    spill_runs_close(&runs);
    spill_close(&spill);
    root_close(root);
}

// What the unit is told is what it would have taken itself.
static void check_unit(const Job *job, const SpillJoin *answers, int64_t unit, int64_t step) {
    Taker told, taken;
    uint64_t hashes[KEYS];
    int64_t count = 0, some = 0;
    for (int64_t key = 0; key < KEYS; key++)
        if (asks(unit, key)) hashes[count++] = hash_of(key);
    qsort(hashes, (size_t)count, sizeof *hashes, by_value);
    for (int64_t i = 0; i < count; i += step)
        if (some == 0 || hashes[some - 1] != hashes[i]) hashes[some++] = hashes[i];
    taker_open(&told, answers, INT64_MAX, 0);
    taker_open(&taken, job->join, INT64_MAX, INT64_MAX);
    CHECK(spill_join_take(&taken.take, hashes, some) == JOIN_TAKEN);
    CHECK(spill_join_take_answers(&told.take, (uint64_t)unit, step > 1 ? hashes : nullptr, some) ==
          JOIN_TAKEN);
    CHECK_SAYS(told.rows.rows.count == taken.rows.rows.count, "%ld %ld",
               (long)told.rows.rows.count, (long)taken.rows.rows.count);
    for (int64_t i = 0; i < told.rows.rows.count && i < taken.rows.rows.count; i++) {
        const Right *a = (const Right *)told.rows.entries[i],
                    *b = (const Right *)taken.rows.entries[i];
        CHECK(a->entry.hash == b->entry.hash && a->entry.order == b->entry.order);
        CHECK(a->key == b->key && a->next == b->next && a->matched == b->matched);
        CHECK(a->text.len == b->text.len &&
              memcmp(a->text.ptr, b->text.ptr, (size_t)a->text.len) == 0);
    }
    taker_close(&told);
    taker_close(&taken);
}

// What the unit is told of the key with many rows goes on in the right rows.
static void check_told_cut(const Job *job, const SpillJoin *answers, int64_t unit) {
    Taker told;
    const SbEntry *last = nullptr;
    int64_t at = 0, count = 0;
    taker_open(&told, answers, INT64_MAX, 0);
    CHECK(spill_join_take_answers(&told.take, (uint64_t)unit, nullptr, 0) == JOIN_TAKEN);
    for (int64_t i = 0; i < told.rows.rows.count; i++) {
        if (((const Right *)told.rows.entries[i])->key != HOT_KEY) continue;
        last = told.rows.entries[i];
        count++;
        at = next_of_key(job, HOT_KEY, at) + 1;
    }
    CHECK(last && (uintptr_t)((const Right *)last)->next == SB_CUT);
    if (last) walk_cut(job, last, at - 1, 1000);
    CHECK_SAYS((count == 1) == (job->what.jump_offset > 0), "%ld rows", (long)count);
    taker_close(&told);
}

static void check_told(int64_t limit, bool cuts, bool sought) {
    Job job;
    SpillRuns runs;
    int64_t checked = 0;
    job_open(&job, 3000, limit, SB_JOIN_MATCHES);
    if (sought) job.what.jump_offset = offsetof(Right, jump);
    CHECK(spill_runs_open(&runs, &job.spill, job.spill.memory));
    write_asks(&job, &runs);
    SpillJoin *answers = spill_join_answer(job.join, &runs, UNITS, &in_turn);
    CHECK_SAYS(answers, "%s", job.spill.trouble.text);
    for (int64_t unit = 0; answers && unit < UNITS; unit++) {
        if (cuts && !asks(unit, HOT_KEY)) continue;
        if (cuts) check_told_cut(&job, answers, unit);
        else check_unit(&job, answers, unit, 1), check_unit(&job, answers, unit, 3);
        checked++;
    }
    CHECK_SAYS(checked > 3, "%ld", (long)checked);
    spill_join_close(answers);
    spill_runs_close(&runs);
    job_close(&job);
}

static void units_are_told_what_they_ask_for(void) {
    check_told(256 << 20, false, false);
    check_told(16 << 20, true, false);
}

// Of a chain that is cut and sought by numbers, units are told the first row.
static void a_sought_chain_is_told_by_one_row(void) { check_told(16 << 20, true, true); }

// Answers that fill the memory are written before the right rows of the next hash need room: for
// some of these sizes, those of the hot key come when the rest is too little for them.
static void answers_make_room(void) {
    enum { LIMIT = 64 << 20, LEAST = 1900000, STEP = 6000 };
    SbParallel alone = {each_in_turn, 1};
    Job job;
    job_open(&job, 20000, LIMIT, SB_JOIN_MATCHES);
    CHECK(spill_join_unite(job.join, &in_turn));
    for (int64_t left = LEAST; left < 9 << 18; left += STEP) {
        SpillRuns runs;
        int64_t others = LIMIT - job.memory.used - left;
        CHECK(spill_runs_open(&runs, &job.spill, job.spill.memory));
        write_asks(&job, &runs);
        CHECK(sb_memory_charge(&job.memory, others));
        SpillJoin *answers = spill_join_answer(job.join, &runs, UNITS, &alone);
        CHECK_SAYS(answers, "%ld bytes: %s", (long)left, job.spill.trouble.text);
        sb_memory_release(&job.memory, others);
        spill_join_close(answers);
        spill_runs_close(&runs);
    }
    job_close(&job);
}

// ---- damage -------------------------------------------------------------------------------------

static void change_byte(const Job *job, const SpillRun *run) {
    char path[300];
    snprintf(path, sizeof path, "%s/%u", job->spill.path, run->file);
    int file = open(path, O_RDWR);
    int64_t at = (run->begin + run->end) / 2;
    char byte;
    CHECK(file >= 0 && pread(file, &byte, 1, at) == 1);
    byte ^= 4;
    CHECK(pwrite(file, &byte, 1, at) == 1);
    close(file);
}

static void check_damage(uint32_t run, bool unites) {
    Job job;
    Taker taker;
    uint64_t hashes[KEYS];
    int64_t count = hashes_of(hashes, 1);
    job_open(&job, 20000, 64 << 20, SB_JOIN_MATCHES);
    if (unites) CHECK(spill_join_unite(job.join, &in_turn));
    const SpillRuns *runs = spill_join_runs(job.join);
    CHECK_SAYS((runs->count == THREADS) == unites, "%u runs", runs->count);
    change_byte(&job, &runs->items[run]);
    taker_open(&taker, job.join, INT64_MAX, INT64_MAX);
    CHECK(spill_join_take(&taker.take, hashes, count) == JOIN_TROUBLE);
    CHECK(job.spill.failed && job.spill.trouble.kind == TROUBLE_SPILL_READ);
    CHECK_SAYS(strstr(job.spill.trouble.text, "is damaged at byte"), "%s", job.spill.trouble.text);
    taker_close(&taker);
    job_close(&job);
}

static void damage_is_found(void) {
    for (uint32_t run = 0; run < THREADS; run++) check_damage(run, true);
    check_damage(THREADS, false);
}

// ---- runs that are united -----------------------------------------------------------------------

static void check_same(const Job *job, SpillJoinRows *before, SpillJoinRows *after) {
    CHECK(before->rows.count > 0 && before->rows.count == after->rows.count);
    for (int64_t i = 0; i < before->rows.count && i < after->rows.count; i++)
        CHECK(before->entries[i]->order == after->entries[i]->order &&
              before->entries[i]->hash == after->entries[i]->hash &&
              job->what.equal(before->entries[i], after->entries[i]));
}

// Rows that are read from many runs side by side have the numbers that they have in a few.
static void numbers_stay_the_same(void) {
    Job job;
    Taker before, after;
    uint64_t hashes[KEYS];
    int64_t count = hashes_of(hashes, 1);
    job_open(&job, 6000, 64 << 20, SB_JOIN_MATCHES);
    CHECK(spill_join_runs(job.join)->count > THREADS);
    taker_open(&before, job.join, INT64_MAX, INT64_MAX);
    CHECK(spill_join_take(&before.take, hashes, count) == JOIN_TAKEN);
    CHECK(spill_join_unite(job.join, &in_turn));
    CHECK(spill_join_runs(job.join)->count <= THREADS);
    taker_open(&after, job.join, INT64_MAX, INT64_MAX);
    CHECK(spill_join_take(&after.take, hashes, count) == JOIN_TAKEN);
    check_same(&job, &before.rows, &after.rows);
    taker_close(&before);
    taker_close(&after);
    job_close(&job);
}

// A row's number leads to a place in front of it, and not far.
static void numbers_have_places(void) {
    Job job;
    job_open(&job, THIN_ROWS, 64 << 20, SB_JOIN_MATCHES);
    const SpillRuns *runs = spill_join_runs(job.join);
    SpillMerge *merge = spill_merge_open(runs, &job.what, &spill_join_by);
    CHECK(merge && runs->count > 0);
    for (int64_t row = 0; merge && row < THIN_ROWS; row += THIN_ROWS / 7) {
        CHECK(spill_merge_seek(merge, spill_runs_place(runs, row), false));
        int64_t at = spill_merge_row(merge);
        CHECK_SAYS(at <= row && row - at <= THIN_ROWS / 50, "%ld of %ld", (long)at, (long)row);
    }
    spill_merge_close(merge);
    job_close(&job);
}

// ---- seeking ------------------------------------------------------------------------------------

static SpillKey *keys_of_rows(const Job *job, const SpillRuns *runs) {
    SpillKey *keys = calloc((size_t)job->rows + 1, sizeof *keys);
    SpillMerge *merge = spill_merge_open(runs, &job->what, &spill_join_by);
    int64_t held, count = 0;
    for (const SbEntry *entry; merge && (entry = spill_merge_first(merge, &held)); count++) {
        keys[count] = spill_key_of(&spill_join_by, entry);
        spill_merge_pass(merge);
    }
    CHECK(count == job->rows);
    keys[count] = (SpillKey){UINT64_MAX, UINT64_MAX};
    spill_merge_close(merge);
    return keys;
}

// Goes to the row by its key, or by the least one for which it is the first.
static void check_seek(SpillMerge *merge, const SpillKey *keys, int64_t row, int way) {
    SpillKey least = row > 0 ? keys[row - 1] : (SpillKey){0};
    least.more += row > 0;
    CHECK(spill_merge_seek(merge, way == 0 ? least : keys[row], way == 1));
    int64_t held;
    const SbEntry *entry = spill_merge_first(merge, &held);
    CHECK_SAYS(spill_merge_row(merge) == row, "%ld, not %ld", (long)spill_merge_row(merge),
               (long)row);
    CHECK(entry && spill_key_of(&spill_join_by, entry).key == keys[row].key &&
          spill_key_of(&spill_join_by, entry).more == keys[row].more);
}

static void check_seeks(int64_t limit, bool unites) {
    enum { PRIME = 7919, WAYS = 3, STAYS = 40, PASSES = 7 };
    Job job;
    job_open(&job, 20000, limit, SB_JOIN_MATCHES);
    if (unites) CHECK(spill_join_unite(job.join, &in_turn));
    const SpillRuns *runs = spill_join_runs(job.join);
    SpillKey *keys = keys_of_rows(&job, runs);
    SpillMerge *merge = spill_merge_open(runs, &job.what, &spill_join_by);
    for (int64_t i = 0; merge && i < 20000; i++) {
        int64_t near = i / STAYS * PRIME + i * i % 97 * 5;
        check_seek(merge, keys, (i % STAYS ? near : i * PRIME) % job.rows, (int)(i % WAYS));
        for (int64_t p = 0; i % 11 == 0 && p < i % PASSES; p++) spill_merge_pass(merge);
        if (i % 101 == 0) check_seek(merge, keys, job.rows - 1, 0);
    }
    spill_merge_close(merge);
    free(keys);
    job_close(&job);
}

static void rows_are_sought_to_and_fro(void) {
    check_seeks(64 << 20, true);
    check_seeks(64 << 20, false);
    check_seeks(THIN_LIMIT, true);
}

static void lose_files(const Job *job) {
    char path[300];
    for (uint32_t file = 0; file < THREADS; file++) {
        snprintf(path, sizeof path, "%s/%u", job->spill.path, file);
        CHECK(truncate(path, 0) == 0);
    }
}

// Where a row was found, rows of its block are found without the disk, the first one too.
static void a_block_is_read_once(void) {
    Job job;
    job_open(&job, 20000, 64 << 20, SB_JOIN_MATCHES);
    CHECK(spill_join_unite(job.join, &in_turn));
    const SpillRuns *runs = spill_join_runs(job.join);
    uint32_t run = runs->count - 1;
    const SpillIndex *index = runs->items[run].index;
    SpillKey *keys = keys_of_rows(&job, runs);
    SpillMerge *merge = spill_merge_open(runs, &job.what, &spill_join_by);
    CHECK_SAYS(merge && index->count > 3, "%ld marks", (long)index->count);
    int64_t before = job.rows - runs->items[run].rows;
    int64_t first = before + index->marks[1].row, end = before + index->marks[2].row;
    check_seek(merge, keys, (first + end) / 2, 1);
    lose_files(&job);
    for (int64_t row = first; row < end; row++) {
        check_seek(merge, keys, row, 1);
        check_seek(merge, keys, end - 1 - (row - first), 1);
    }
    spill_merge_close(merge);
    free(keys);
    job_close(&job);
}

// What threads write side by side follows one after the other.
static void united_runs_are_one_sequence(void) {
    enum { ROWS = 4 * THIN_ROWS };
    Job job;
    job_open_with(&job, ROWS, 8 << 20, SB_JOIN_MATCHES, false);
    CHECK(spill_join_runs(job.join)->count > THREADS);
    CHECK(spill_join_unite(job.join, &in_turn));
    const SpillRuns *runs = spill_join_runs(job.join);
    SpillKey last = {0};
    int64_t rows = 0;
    CHECK_SAYS(runs->count == THREADS, "%u runs", runs->count);
    for (uint32_t r = 0; r < runs->count; r++) {
        const SpillRun *run = &runs->items[r];
        CHECK(run->index->marks[0].row == 0 && run->index->marks[0].at == run->begin);
        for (int64_t i = 0; i < run->index->count; i++) {
            CHECK(!spill_key_less(run->index->marks[i].key, last));
            last = run->index->marks[i].key;
        }
        rows += run->rows;
        CHECK_SAYS(run->rows > ROWS / THREADS / 2, "%ld rows", (long)run->rows);
    }
    CHECK(rows == ROWS && job.join->rows == rows);
    job_close(&job);
}

static const UnitTest tests[] = {
    {"hashes_find_their_rows", hashes_find_their_rows},
    {"all_blocks_are_known", all_blocks_are_known},
    {"marks_are_thinned_out", marks_are_thinned_out},
    {"more_than_there_is_room_for", more_than_there_is_room_for},
    {"one_row_of_a_key_is_enough", one_row_of_a_key_is_enough},
    {"cut_chains_are_read_on", cut_chains_are_read_on},
    {"what_nothing_matched_comes_in_right_order", what_nothing_matched_comes_in_right_order},
    {"units_are_told_what_they_ask_for", units_are_told_what_they_ask_for},
    {"a_sought_chain_is_told_by_one_row", a_sought_chain_is_told_by_one_row},
    {"answers_make_room", answers_make_room},
    {"pieces_take_a_share_of_the_memory", pieces_take_a_share_of_the_memory},
    {"numbers_stay_the_same", numbers_stay_the_same},
    {"numbers_have_places", numbers_have_places},
    {"rows_are_sought_to_and_fro", rows_are_sought_to_and_fro},
    {"a_block_is_read_once", a_block_is_read_once},
    {"united_runs_are_one_sequence", united_runs_are_one_sequence},
    {"damage_is_found", damage_is_found},
};

UNIT_MAIN("spill_join", tests)
