#define _GNU_SOURCE
#include "runtime/abi/calls.h"
#include "runtime/breakers/breaker.h"
#include "runtime/disk/merge.h"
#include "runtime/disk/entries.h"
#include "runtime/input/spool.h"
#include "stdlib/aggregate/aggregate.h"
#include "stdlib/hash/digest.h"
#include "stdlib/aggregate/held.h"
#include "stdlib/hash/key.h"
#include "tests/unit/spill_root.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- rows ---------------------------------------------------------------------------------------

typedef struct Pair {   // {str, [str?]}
    SbStr  text;
    SbList words;
} Pair;

typedef struct Word {
    SbStr   text;
    uint8_t valid;
} Word;

typedef struct Row {
    SbEntry  entry;
    int64_t  key;
    SbKeyStr name;
    Pair     pair;
    SbStr    note;        // str?
    uint8_t  note_valid;
} Row;

enum { ROW_BYTES = (sizeof(Row) + 15) / 16 * 16 };

static const SbType str_type = {.kind = SB_STR, .size = sizeof(SbStr), .align = 8};
static const SbType note_type = {.kind = SB_STR, .nullable = 1, .size = sizeof(Word), .align = 8,
                                 .valid_offset = sizeof(SbStr)};
static const SbType words_type = {.kind = SB_LIST, .size = sizeof(SbList), .align = 8,
                                  .elem = &note_type};
static const SbField pair_fields[] = {{SB_LITERAL("text"), &str_type, offsetof(Pair, text)},
                                      {SB_LITERAL("words"), &words_type, offsetof(Pair, words)}};
static const SbType pair_type = {.kind = SB_STRUCT, .size = sizeof(Pair), .align = 8,
                                 .fields = pair_fields, .field_count = 2};
static const SbHeld held[] = {{offsetof(Row, name), nullptr, sb_held_key},
                              {offsetof(Row, pair), &pair_type, sb_held_value},
                              {offsetof(Row, note), &note_type, sb_held_value}};

static uint64_t key_of(const SbEntry *entry) { return (uint64_t)((const Row *)entry)->key; }

static const SbBreaker sort = {.kind = SB_BREAK_SORT, .entry_bytes = ROW_BYTES, .held = held,
                               .held_count = 3, .prefix = key_of};
static const SbSortBy by_key = {.prefix = key_of};

// Texts of a number, of any length.
static SbStr text_of(char *room, uint64_t number, int64_t max) {
    int64_t len = (int64_t)(number * 7919 % (uint64_t)max);
    for (int64_t i = 0; i < len; i++) room[i] = (char)('a' + (number + (uint64_t)i) % 26);
    return (SbStr){room, len};
}

enum { TEXT_MAX = 90, WORDS = 3 };

// The row of a number, whose texts lie in `room`.
static void make(Row *row, uint64_t number, char (*room)[TEXT_MAX], Word words[WORDS]) {
    *row = (Row){.entry = {number * 31, number}, .key = (int64_t)(number * 7919 % 1000)};
    SbStr name = text_of(room[0], number, 40);
    row->name.len = name.len;
    if (name.len <= SB_KEY_INLINE) memcpy(row->name.bytes, name.ptr, (size_t)name.len);
    else row->name.far.ptr = name.ptr;
    for (int i = 0; i < WORDS; i++)
        words[i] = (Word){text_of(room[1 + i], number + (uint64_t)i, 20), number % 5 != 0};
    row->pair = (Pair){text_of(room[4], number + 1, TEXT_MAX),
                       {words, (int64_t)(number % (WORDS + 1))}};
    row->note = text_of(room[5], number + 2, TEXT_MAX);
    row->note_valid = number % 3 != 0;
}

static bool is_row(const SbEntry *entry, uint64_t number) {
    char room[6][TEXT_MAX];
    Word words[WORDS];
    Row want;
    make(&want, number, room, words);
    const Row *row = (const Row *)entry;
    bool same = row->entry.hash == want.entry.hash && row->key == want.key &&
                row->name.len == want.name.len && row->note_valid == want.note_valid &&
                row->pair.words.len == want.pair.words.len &&
                same_text(row->pair.text, want.pair.text) &&
                (!row->note_valid || same_text(row->note, want.note));
    if (row->name.len <= SB_KEY_INLINE)
        same = same && memcmp(row->name.bytes, want.name.bytes, (size_t)row->name.len) == 0;
    else
        same = same && memcmp(row->name.far.ptr, want.name.far.ptr, (size_t)row->name.len) == 0;
    for (int64_t i = 0; i < row->pair.words.len && same; i++) {
        const Word *word = (const Word *)row->pair.words.ptr + i;
        same = word->valid == words[i].valid &&
               (!word->valid || same_text(word->text, words[i].text));
    }
    return same;
}

static SbEntry *take(SbRows *part) {
    char *at = part->at;
    if (at == part->end) return sb_rows_grow(nullptr, part, ROW_BYTES);
    part->at += ROW_BYTES;
    return (SbEntry *)(void *)at;
}

// As generated code does: the entry is taken, then texts are copied, then the row counts.
static bool keep(SbRows *part, uint64_t number) {
    char room[6][TEXT_MAX];
    Word words[WORDS];
    Row made, *row = (Row *)take(part);
    if (!row) return false;
    make(&made, number, room, words);
    *row = made;
    if (made.name.len > SB_KEY_INLINE) {
        row->name.far.ptr = sb_rows_text(nullptr, part, made.name.far.ptr, made.name.len);
        if (!row->name.far.ptr) return false;
    }
    if (sb_rows_nested(nullptr, part, &pair_type, &row->pair) != SB_OK) return false;
    row->note.ptr = sb_rows_text(nullptr, part, made.note.ptr, made.note.len);
    if (!row->note.ptr) return false;
    part->count++;
    return true;
}

// Memory ends at an entry, at a text or within a list: of the row for which there was none nothing
// is listed, and nothing is written behind the list.
static void rows_without_memory_are_in_no_list(void) {
    enum { LIST_MAX = 1000, LIMIT_MIN = 4 << 10, LIMIT_MAX = 80 << 10, LIMIT_STEP = 509 };
    static const SbEntry *list[LIST_MAX + 1];
    int64_t most = 0, begun = 0;
    for (int64_t limit = LIMIT_MIN; limit < LIMIT_MAX; limit += LIMIT_STEP) {
        SbMemory memory;
        sb_memory_open(&memory, limit);
        SbRows *rows = sb_rows_open(&memory, ROW_BYTES, INT64_MAX);
        int64_t count = 0;
        while (count < LIST_MAX && keep(rows, (uint64_t)count)) count++;
        RowSpan span = {0};
        while (sb_rows_next_span(rows, &span)) {}
        begun += rows->at != span.begin + span.count * ROW_BYTES;
        CHECK(count < LIST_MAX && rows->count == count);
        list[count] = nullptr;
        sb_rows_list(rows, list);
        for (int64_t i = 0; i < count; i++) CHECK(is_row(list[i], (uint64_t)i));
        CHECK(!list[count]);
        if (count > most) most = count;
        sb_rows_close(rows);
        CHECK(memory.used == 0);
    }
    CHECK_SAYS(most > 100 && begun > 10, "%ld %ld", (long)most, (long)begun);
}

static void check_sort(int64_t rows, int64_t limit, bool eager, bool spills) {
    char *root = root_open();
    SbMemory memory;
    Spill spill;
    sb_memory_open(&memory, limit);
    memory.eager = eager;
    CHECK(spill_open(&spill, root, THREADS, &memory));
    SbBreakerState *breaker = sb_breaker_open(&sort, THREADS, &memory, &spill);
    bool good = breaker;
    for (int64_t i = 0; i < rows && good; i++)
        good = keep(sb_breaker_part(breaker, (uint32_t)(i / 50 % THREADS)), (uint64_t)i);
    CHECK_SAYS(good, "%s", spill.trouble.text);
    CHECK_SAYS(sb_breaker_finish(breaker, &in_turn) == SB_OK, "%s", spill.trouble.text);
    int64_t count, seen = 0, before = -1;
    uint64_t order = 0;
    CHECK((sb_breaker_entries(breaker, &count) == nullptr) == spills);
    CHECK_SAYS(count == rows && sb_breaker_rows_in(breaker) == rows, "%ld", count);
    CHECK((count_items(root) > 0) == spills);
    SpillMerge *merge = spills ? read_sorted(breaker) : nullptr;
    for (SbRows *batch; merge && (batch = next_batch(breaker, merge));) {
        const SbEntry *const *entries = sb_rows_entries(batch);
        for (int64_t i = 0; i < batch->count; i++, seen++) {
            const Row *row = (const Row *)entries[i];
            CHECK(is_row(entries[i], row->entry.order));
            CHECK(row->key > before || (row->key == before && row->entry.order > order));
            before = row->key;
            order = row->entry.order;
        }
        sb_rows_close(batch);
    }
    spill_merge_close(merge);
    CHECK_SAYS(seen == (spills ? rows : 0) && !spill.failed, "%ld %s", seen, spill.trouble.text);
    CHECK_SAYS(memory.peak <= limit, "%ld", (long)memory.peak);
    sb_breaker_close(breaker);
    spill_close(&spill);
    CHECK(memory.used == 0);
    root_close(root);
}

static void sorts_spill_and_merge(void) {
    check_sort(2000, 1 << 26, false, false);
    check_sort(2000, 1 << 26, true, true);
    check_sort(60000, 4 << 20, false, true);
    check_sort(100000, 1 << 20, false, true);   // More runs than one merge reads.
    check_sort(1, 1 << 26, true, false);
    check_sort(2, 1 << 26, true, true);
}

// ---- runs ---------------------------------------------------------------------------------------

typedef struct Job {
    char    *root;
    SbMemory memory;
    Spill    spill;
    SpillRuns runs;
} Job;

static void job_open_with(Job *job, int64_t limit) {
    job->root = root_open();
    sb_memory_open(&job->memory, limit);
    CHECK(spill_open(&job->spill, job->root, THREADS, &job->memory));
    CHECK(spill_runs_open(&job->runs, &job->spill, job->spill.memory));
}

static void job_open(Job *job) { job_open_with(job, 64 << 20); }

static void job_close(Job *job) {
    spill_runs_close(&job->runs);
    spill_close(&job->spill);
    CHECK(job->memory.used == 0);
    root_close(job->root);
}

// A run of the rows `from`, `from + step`, ...: numbers whose keys ascend.
static void write_run(Job *job, uint64_t from, uint64_t step, int count) {
    char room[6][TEXT_MAX];
    Word words[WORDS];
    _Alignas(16) char bytes[ROW_BYTES] = {0};
    CHECK(spill_begin(&job->spill, 1));
    for (int i = 0; i < count; i++) {
        make((Row *)(void *)bytes, from + step * (uint64_t)i, room, words);
        ((Row *)(void *)bytes)->key = i;
        CHECK(spill_put(&job->spill, 1, &sort, (SbEntry *)(void *)bytes));
    }
    SpillRun run;
    CHECK(spill_end(&job->spill, 1, &run) && run.rows == count);
    CHECK(spill_runs_add(&job->runs, &run));
}

// Reads all; how many rows came.
static int read_all(Job *job) {
    SpillMerge *merge = spill_merge_open(&job->runs, &sort, &by_key);
    CHECK(merge);
    int rows = 0;
    int64_t bytes;
    while (merge && spill_merge_first(merge, &bytes)) {
        rows++;
        spill_merge_pass(merge);
    }
    spill_merge_close(merge);
    return rows;
}

static void change_file(const Job *job, bool cut) {
    char path[300];
    snprintf(path, sizeof path, "%s/1", job->spill.path);
    int file = open(path, O_RDWR);
    struct stat is;
    char byte;
    CHECK(file >= 0 && fstat(file, &is) == 0);
    if (cut) {
        CHECK(ftruncate(file, is.st_size - 1) == 0);
    } else {
        CHECK(pread(file, &byte, 1, is.st_size / 2) == 1);
        byte ^= 4;
        CHECK(pwrite(file, &byte, 1, is.st_size / 2) == 1);
    }
    close(file);
}

static int64_t disk_bytes(const Job *job) {
    char path[300];
    struct stat file;
    snprintf(path, sizeof path, "%s/1", job->spill.path);
    CHECK(stat(path, &file) == 0);
    return (int64_t)file.st_blocks * 512;
}

enum { RUNS = 128, STRIDE = 37 };  // Which have no divisor in common.

// Forgets one run in `step` from `from` on, in no order; what stays moves together.
static void forget_some(Job *job, uint32_t from, uint32_t step) {
    SpillRuns *runs = &job->runs;
    bool gone[RUNS] = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < RUNS; i++) {
        uint32_t r = i * STRIDE % RUNS;
        gone[r] = r < runs->count && r >= from && (r - from) % step == 0;
        if (gone[r]) spill_forget(&job->spill, &runs->items[r]);
    }
    for (uint32_t r = 0; r < runs->count; r++)
        if (!gone[r]) runs->items[count++] = runs->items[r];
    runs->count = count;
}

static void forgotten_runs_leave_the_disk(void) {
    enum { ROWS = 2000, SLACK = 2 << 20 };
    Job job;
    job_open(&job);
    for (uint64_t r = 0; r < RUNS; r++) write_run(&job, r * ROWS, 1, ROWS);
    int64_t all = disk_bytes(&job);
    CHECK_SAYS(all > 4 * SLACK, "%ld", (long)all);
    forget_some(&job, 0, 2);
    CHECK(read_all(&job) == RUNS / 2 * ROWS);
    forget_some(&job, 16, 1);   // Of 64, of which each stood alone.
    CHECK(read_all(&job) == 16 * ROWS);
    CHECK_SAYS(disk_bytes(&job) < all / 4 + SLACK, "%ld of %ld", (long)disk_bytes(&job), (long)all);
    forget_some(&job, 0, 1);
    CHECK_SAYS(disk_bytes(&job) < SLACK, "%ld of %ld", (long)disk_bytes(&job), (long)all);
    job_close(&job);
}

static void check_damage(bool cut) {
    Job job;
    job_open(&job);
    write_run(&job, 0, 3, 5000);
    CHECK(read_all(&job) == 5000);
    change_file(&job, cut);
    CHECK(read_all(&job) < 5000);
    CHECK(job.spill.failed && job.spill.trouble.kind == TROUBLE_SPILL_READ);
    char says[300];
    snprintf(says, sizeof says, "'%s/1' is damaged at byte ", job.spill.path);
    CHECK_SAYS(strncmp(job.spill.trouble.text, says, strlen(says)) == 0, "%s",
               job.spill.trouble.text);
    CHECK(!spill_begin(&job.spill, 0));   // What failed once fails on.
    job_close(&job);
}

static void damage_is_found(void) {
    check_damage(false);
    check_damage(true);
}

// A job that goes on with less memory takes the runs of the one before, whose blocks are larger
// than those that its writers have room for, among its own.
static void blocks_of_a_job_with_more_memory(void) {
    Job before, after;
    job_open_with(&before, 64 << 20);
    job_open_with(&after, 2 << 20);
    write_run(&before, 0, 3, 5000);
    write_run(&after, 1, 3, 5000);
    SpillRun like = before.runs.items[0], run;
    CHECK(like.block_max > 2 * after.spill.block_bytes);
    int64_t len = like.end - like.begin;
    char *bytes = malloc((size_t)len);
    CHECK(spill_copy_out(&before.spill, &like, 0, bytes, len));
    CHECK(spill_begin(&after.spill, 1) && spill_copy_in(&after.spill, 1, bytes, len));
    CHECK(spill_end_like(&after.spill, 1, &like, &run) && spill_runs_add(&after.runs, &run));
    write_run(&after, 2, 3, 5000);
    CHECK(after.runs.items[2].block_max <= after.spill.block_bytes);
    CHECK(read_all(&after) == 15000);
    char *row = spill_longest(&after.spill, &run, &len);
    CHECK(row && len == like.block_max);
    free(row);
    free(bytes);
    job_close(&before);
    job_close(&after);
}

// Where a row lies in memory makes its bytes on disk no other ones.
static void addresses_stay_in_memory(void) {
    enum { ROWS = 100 };
    static char room[2][WORDS][TEXT_MAX];
    static Word words[2][WORDS];
    static const SbHeld list = {sizeof(SbEntry), &words_type, sb_held_value};
    static const SbBreaker what = {.entry_bytes = 32, .held = &list, .held_count = 1};
    typedef struct Listed {
        SbEntry entry;
        SbList  words;
    } Listed;
    char *bytes[2];
    int64_t len[2];
    Job job;
    job_open(&job);
    for (int side = 0; side < 2; side++) {
        CHECK(spill_begin(&job.spill, 1));
        for (uint64_t i = 0; i < ROWS; i++) {
            for (int w = 0; w < WORDS; w++) {
                words[side][w].text = text_of(room[side][w], i + (uint64_t)w, 20);
                words[side][w].valid = true;
            }
            Listed row = {{0, i}, {words[side], WORDS}};
            CHECK(spill_put(&job.spill, 1, &what, &row.entry));
        }
        SpillRun run;
        CHECK(spill_end(&job.spill, 1, &run));
        len[side] = run.end - run.begin;
        bytes[side] = malloc((size_t)len[side]);
        CHECK(spill_copy_out(&job.spill, &run, 0, bytes[side], len[side]));
    }
    CHECK(len[0] == len[1] && memcmp(bytes[0], bytes[1], (size_t)len[0]) == 0);
    free(bytes[0]);
    free(bytes[1]);
    job_close(&job);
}

// By a null pointer states of aggregates tell that nothing was seen, when they come back too.
static void empty_states_stay_empty(void) {
    enum { ROWS = 100 };
    typedef struct Group {
        SbEntry      entry;
        SbExtremeStr most;
        SbKept       kept;
    } Group;
    static const SbHeld states[] = {{offsetof(Group, most), nullptr, sb_held_extreme_str},
                                    {offsetof(Group, kept), &str_type, sb_held_kept}};
    static const SbBreaker what = {.entry_bytes = sizeof(Group), .held = states, .held_count = 2};
    Job job;
    job_open(&job);
    CHECK(spill_begin(&job.spill, 1));
    char room[TEXT_MAX];
    for (uint64_t i = 0; i < ROWS; i++) {
        SbStr text = text_of(room, i, TEXT_MAX);
        Group group = {{0, i}, {0}, {0}};
        if (i % 2 == 0) group.most = (SbExtremeStr){room, text.len, TEXT_MAX};
        if (i % 3 == 0) group.kept.value = &text;
        CHECK(spill_put(&job.spill, 1, &what, &group.entry));
    }
    SpillRun run;
    CHECK(spill_end(&job.spill, 1, &run) && spill_runs_add(&job.runs, &run));
    SpillMerge *merge = spill_merge_open(&job.runs, &what, &(SbSortBy){0});
    int64_t held_bytes;
    for (uint64_t i = 0; i < ROWS; i++) {
        SbStr text = text_of(room, i, TEXT_MAX);
        const Group *group = (const Group *)spill_merge_first(merge, &held_bytes);
        CHECK(group && (group->most.ptr != nullptr) == (i % 2 == 0));
        CHECK(i % 2 || same_text((SbStr){group->most.ptr, group->most.len}, text));
        CHECK((group->kept.value != nullptr) == (i % 3 == 0));
        CHECK(i % 3 || same_text(*(const SbStr *)group->kept.value, text));
        spill_merge_pass(merge);
    }
    spill_merge_close(merge);
    job_close(&job);
}

static void a_long_row_is_a_block(void) {
    enum { BYTES = 10 << 20 };
    static const SbHeld text = {sizeof(SbEntry), &str_type, sb_held_value};
    static const SbBreaker what = {.entry_bytes = 32, .held = &text, .held_count = 1};
    typedef struct Long {
        SbEntry entry;
        SbStr   text;
    } Long;
    Job job;
    job_open(&job);
    char *bytes = malloc(BYTES);
    for (int i = 0; i < BYTES; i++) bytes[i] = (char)rand();
    CHECK(spill_begin(&job.spill, 1));
    for (uint64_t i = 0; i < 5; i++) {
        Long row = {{0, i}, {bytes + i, i % 2 ? BYTES - 5 : 3}};
        CHECK(spill_put(&job.spill, 1, &what, &row.entry));
    }
    SpillRun run;
    CHECK(spill_end(&job.spill, 1, &run) && spill_runs_add(&job.runs, &run));
    CHECK(job.memory.used < 1 << 20);     // The wide buffers are given back.
    SpillMerge *merge = spill_merge_open(&job.runs, &what, &(SbSortBy){0});
    int64_t held_bytes;
    for (uint64_t i = 0; i < 5; i++) {
        const Long *row = (const Long *)spill_merge_first(merge, &held_bytes);
        CHECK(row && row->text.len == (i % 2 ? BYTES - 5 : 3));
        CHECK(memcmp(row->text.ptr, bytes + i, (size_t)row->text.len) == 0);
        spill_merge_pass(merge);
    }
    CHECK(!spill_merge_first(merge, &held_bytes));
    spill_merge_close(merge);
    free(bytes);
    job_close(&job);
}

typedef struct Named {  // Its size is no multiple of 16.
    SbEntry entry;
    SbStr   text;
    int64_t number;
} Named;

static SpillRun write_named(Job *job, const SbBreaker *what, int64_t block_bytes, int64_t rows) {
    char room[TEXT_MAX];
    CHECK(spill_begin_short(&job->spill, 1, block_bytes));
    for (uint64_t i = 0; i < (uint64_t)rows; i++) {
        Named row = {{0, i}, text_of(room, i, TEXT_MAX), (int64_t)i};
        CHECK(spill_put(&job->spill, 1, what, &row.entry));
    }
    SpillRun run;
    CHECK(spill_end(&job->spill, 1, &run) && spill_runs_add(&job->runs, &run));
    return run;
}

// Rows of numbers and texts are multiples of 8, and blocks are as short as they are wanted.
static void narrow_rows_and_short_blocks(void) {
    enum { ROWS = 5000, SHORT = 20000, LEAST = 16 << 10 };
    static const SbHeld text = {offsetof(Named, text), &str_type, sb_held_value};
    static const SbBreaker what = {.entry_bytes = sizeof(Named), .held = &text, .held_count = 1,
                                   .narrow = true};
    int64_t bytes = 0, held_bytes;
    char room[TEXT_MAX];
    Job job;
    job_open(&job);
    for (uint64_t i = 0; i < ROWS; i++)
        bytes += (int64_t)sizeof(Named) + (text_of(room, i, TEXT_MAX).len + 7) / 8 * 8;
    SpillRun whole = write_named(&job, &what, INT64_MAX, ROWS);
    SpillRun some = write_named(&job, &what, SHORT, ROWS);
    SpillRun least = write_named(&job, &what, 1, ROWS);
    CHECK(whole.bytes == bytes && some.bytes == bytes && least.bytes == bytes);
    CHECK(whole.block_max > SHORT && whole.block_max <= job.spill.block_bytes);
    CHECK(some.block_max <= SHORT && some.block_max > LEAST && least.block_max <= LEAST);
    static const SbSortBy by_order = {.prefix = sb_entry_order};
    SpillMerge *merge = spill_merge_open(&job.runs, &what, &by_order);
    for (uint64_t i = 0; i < 3 * ROWS; i++) {
        const Named *row = (const Named *)spill_merge_first(merge, &held_bytes);
        CHECK(row && row->number == (int64_t)(i / 3) && (uintptr_t)row % 8 == 0);
        CHECK(same_text(row->text, text_of(room, i / 3, TEXT_MAX)));
        spill_merge_pass(merge);
    }
    CHECK(!spill_merge_first(merge, &held_bytes));
    spill_merge_close(merge);
    job_close(&job);
}

// ---- rows of edges ------------------------------------------------------------------------------

typedef struct Waiting {  // {[i64]}, with its place: the size is no multiple of 16.
    SbEntry entry;
    SbList  numbers;
    SbPlace place;
    int64_t number;
} Waiting;

enum { WAITING_ROWS = 3000, NUMBERS_MAX = 5 };

static const SbType number_type = {.kind = SB_I64, .size = 8, .align = 8};
static const SbType numbers_type = {.kind = SB_LIST, .size = sizeof(SbList), .align = 8,
                                    .elem = &number_type};
static const SbHeld waiting_held[] = {{offsetof(Waiting, numbers), &numbers_type, sb_held_value},
                                      {offsetof(Waiting, place), nullptr, sb_held_place}};
static const SbBreaker edge = {.kind = SB_BREAK_EDGE, .entry_bytes = sizeof(Waiting),
                               .held = waiting_held, .held_count = 2};

// Row 7 was longer than what is kept of it.
static int64_t raw_bytes(int64_t row) { return row == 7 ? SB_PLACE_RAW + 1000 : row % 50; }

static bool is_waiting(const SbEntry *entry, int64_t number, const char *text) {
    const Waiting *row = (const Waiting *)entry;
    const int64_t *numbers = row->numbers.ptr;
    int64_t kept = raw_bytes(number) < SB_PLACE_RAW ? raw_bytes(number) : SB_PLACE_RAW;
    bool good = row->number == number && (uintptr_t)entry % 16 == 0 &&
                row->numbers.len == number % NUMBERS_MAX && row->place.offset == number &&
                row->place.raw.len == raw_bytes(number) &&
                memcmp(row->place.raw.ptr, text + number, (size_t)kept) == 0;
    if (good && row->numbers.len > 0) good = (uintptr_t)numbers % 16 == 0;
    for (int64_t i = 0; i < row->numbers.len && good; i++) good = numbers[i] == number + i;
    return good;
}

static void rows_of_edges_come_back(void) {
    Job job;
    job_open(&job);
    Waiting *rows = calloc(WAITING_ROWS, sizeof *rows);
    const SbEntry **entries = calloc(WAITING_ROWS, sizeof *entries);
    int64_t *numbers = calloc(WAITING_ROWS + NUMBERS_MAX, sizeof *numbers);
    char *text = malloc(SB_PLACE_RAW + WAITING_ROWS);
    for (int64_t i = 0; i < SB_PLACE_RAW + WAITING_ROWS; i++) text[i] = (char)(i * i % 251);
    for (int64_t i = 0; i < WAITING_ROWS + NUMBERS_MAX; i++) numbers[i] = i;
    for (int64_t i = 0; i < WAITING_ROWS; i++) {
        rows[i] = (Waiting){.number = i, .numbers = {&numbers[i], i % NUMBERS_MAX},
                            .place = {.raw = {text + i, raw_bytes(i)}, .offset = i}};
        entries[i] = &rows[i].entry;
    }
    const Batch batch = {.entries = entries, .count = WAITING_ROWS};
    SpillRun run;
    SpoolRows back;
    Trouble trouble = {0};
    const SpoolPlace from = {.spill = &job.spill, .edge = &edge, .run = &run};
    CHECK(spool_write(&job.spill, 1, &edge, &batch, &run));
    int64_t used = job.memory.used;
    CHECK_SAYS(spool_read(&back, &from, &trouble), "%s", trouble.text);
    CHECK(job.memory.used - used == spool_bytes(&run));
    int64_t good = 0;
    for (int64_t i = 0; i < WAITING_ROWS; i++) good += is_waiting(back.entries[i], i, text);
    CHECK_SAYS(good == WAITING_ROWS, "%ld", (long)good);
    spool_close(&back, &job.memory);
    CHECK(job.memory.used == used);
    int64_t limit = job.memory.limit;
    job.memory.limit = used;
    CHECK(!spool_read(&back, &from, &trouble));
    CHECK(trouble.kind == TROUBLE_MEMORY && job.memory.used == used);
    job.memory.limit = limit;
    change_file(&job, true);
    trouble.kind = TROUBLE_NONE;
    CHECK(!spool_read(&back, &from, &trouble));
    CHECK(trouble.kind == TROUBLE_SPILL_READ && job.memory.used == used);
    free(rows);
    free(entries);
    free(numbers);
    free(text);
    job_close(&job);
}

// ---- folders ------------------------------------------------------------------------------------

static void left_over(const char *root, const char *name) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", root, name);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/%s/0", root, name);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(file >= 0);
    close(file);
}

static void what_killed_jobs_left_is_swept(void) {
    Job job, other;
    job_open(&job);
    left_over(job.root, "sbc-spill-killed");
    left_over(job.root, "of-somebody-else");
    CHECK(spill_make(&job.spill));
    CHECK(count_items(job.root) == 2);
    // Another job at the same time: its folder stays, and so does the first one's.
    other = job;
    CHECK(spill_open(&other.spill, job.root, THREADS, &job.memory) && spill_make(&other.spill));
    CHECK(count_items(job.root) == 3 && strcmp(job.spill.path, other.spill.path) != 0);
    write_run(&job, 0, 3, 100);
    spill_close(&other.spill);
    CHECK(count_items(job.root) == 2 && read_all(&job) == 100);
    char path[300];
    snprintf(path, sizeof path, "%s/of-somebody-else/0", job.root);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    job_close(&job);
}

static void check_root(const char *root, const char *says) {
    SbMemory memory;
    Spill spill;
    Trouble trouble = {0};
    sb_memory_open(&memory, 64 << 20);
    CHECK(spill_open(&spill, root, THREADS, &memory));
    CHECK(!spill_make(&spill) && !spill_begin(&spill, 0) && spill_trouble(&spill, &trouble));
    CHECK(trouble.kind == TROUBLE_SPILL_FOLDER);
    CHECK_SAYS(strstr(trouble.text, says) && strstr(trouble.text, root), "%s", trouble.text);
    spill_close(&spill);
}

static void folders_that_cannot_be_used(void) {
    check_root("/tmp/no such folder", "No such file");
    check_root("/dev/null", "Not a directory");
}

static const UnitTest tests[] = {
    {"rows_without_memory_are_in_no_list", rows_without_memory_are_in_no_list},
    {"sorts_spill_and_merge", sorts_spill_and_merge},
    {"forgotten_runs_leave_the_disk", forgotten_runs_leave_the_disk},
    {"damage_is_found", damage_is_found},
    {"blocks_of_a_job_with_more_memory", blocks_of_a_job_with_more_memory},
    {"addresses_stay_in_memory", addresses_stay_in_memory},
    {"empty_states_stay_empty", empty_states_stay_empty},
    {"a_long_row_is_a_block", a_long_row_is_a_block},
    {"narrow_rows_and_short_blocks", narrow_rows_and_short_blocks},
    {"rows_of_edges_come_back", rows_of_edges_come_back},
    {"what_killed_jobs_left_is_swept", what_killed_jobs_left_is_swept},
    {"folders_that_cannot_be_used", folders_that_cannot_be_used},
};

UNIT_MAIN("spill", tests)
