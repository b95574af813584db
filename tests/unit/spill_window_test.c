// Windows over rows that are on disk: partitions cut into pieces for threads, rows that are handed
// over to be written, little memory.
#include "runtime/abi/calls.h"
#include "runtime/breakers/breaker.h"
#include "runtime/disk.h"
#include "stdlib/aggregate/held.h"
#include "tests/unit/spill_root.h"

#include <pthread.h>

enum { TEXT_BYTES = 24, LAG = 2 };

typedef struct Row {   // Of `window by key sort place { number, all, before, sum }`.
    SbEntry entry;
    int64_t key, place;
    SbStr   text;
    int64_t number, all;
    SbStr   before;
    char    before_valid;
    int64_t sum;
} Row;

enum { ROW_BYTES = (sizeof(Row) + 15) / 16 * 16 };

static const SbType i64_type = {.kind = SB_I64, .size = 8, .align = 8};
static const SbType str_type = {.kind = SB_STR, .size = sizeof(SbStr), .align = 8};
static const SbType before_type = {.kind = SB_STR, .size = sizeof(SbStr) + 8, .align = 8,
                                   .nullable = true, .valid_offset = sizeof(SbStr)};

static int32_t compare_numbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int32_t compare_keys(const SbEntry *a, const SbEntry *b) {
    return compare_numbers(((const Row *)a)->key, ((const Row *)b)->key);
}

static int32_t compare_places(const SbEntry *a, const SbEntry *b) {
    return compare_numbers(((const Row *)a)->place, ((const Row *)b)->place);
}

static int32_t compare_rows(const SbEntry *a, const SbEntry *b) {
    int32_t by_key = compare_keys(a, b);
    return by_key ? by_key : compare_places(a, b);
}

static uint64_t key_bits(const SbEntry *entry) { return (uint64_t)((const Row *)entry)->key; }
static uint64_t place_bits(const SbEntry *entry) { return (uint64_t)((const Row *)entry)->place; }

static const SbWindowFn fns[] = {
    {.kind = SB_WINDOW_ROW_NUMBER, .result = &i64_type, .result_offset = offsetof(Row, number)},
    {.kind = SB_WINDOW_COUNT, .result = &i64_type, .result_offset = offsetof(Row, all),
     .back = SB_FRAME_ALL, .ahead = SB_FRAME_ALL},
    {.kind = SB_WINDOW_LAG, .type = &str_type, .result = &before_type, .n = LAG,
     .value_offset = offsetof(Row, text), .result_offset = offsetof(Row, before)},
    {.kind = SB_WINDOW_SUM, .type = &i64_type, .result = &i64_type, .back = SB_FRAME_ALL,
     .value_offset = offsetof(Row, place), .result_offset = offsetof(Row, sum)},
};
static const SbHeld held[] = {{offsetof(Row, text), &str_type, sb_held_value},
                              {offsetof(Row, before), &before_type, sb_held_value}};

// ---- threads ------------------------------------------------------------------------------------

typedef struct Each {
    SbEachFn *fn;
    void     *arg;
    uint32_t  count, threads, thread;
    _Atomic uint32_t *next;
} Each;

static void *run_each(void *arg) {
    Each *each = arg;
    for (uint32_t i; (i = (*each->next)++) < each->count;) each->fn(each->arg, i, each->thread);
    return nullptr;
}

static void each_beside(SbParallel *self, uint32_t count, SbEachFn *fn, void *arg) {
    pthread_t threads[THREADS];
    Each each[THREADS];
    _Atomic uint32_t next = 0;
    for (uint32_t i = 0; i < self->threads; i++) {
        each[i] = (Each){fn, arg, count, self->threads, i, &next};
        pthread_create(&threads[i], nullptr, run_each, &each[i]);
    }
    for (uint32_t i = 0; i < self->threads; i++) pthread_join(threads[i], nullptr);
}

static SbParallel beside = {each_beside, THREADS};

// ---- rows ---------------------------------------------------------------------------------------

typedef struct WindowCase {
    int64_t rows, partitions, hot;   // Of `hot` of 10 rows the key is 1.
    int64_t limit;
    bool    eager, one;              // `one`: all rows are one partition.
    bool    memory;                  // Nothing goes to disk.
    int64_t in_order;                // So many rows come in the order of the window.
    SbParallel *parallel;
} WindowCase;

static int64_t key_of(const WindowCase *of, int64_t i) {
    if (i < of->in_order) return i * of->partitions / of->rows;
    return i % 10 < of->hot ? 1 : i * 7919 % of->partitions;
}

// Each place is there twice.
static int64_t place_of(const WindowCase *of, int64_t i) {
    return (i < of->in_order ? i : i * 104729 % of->rows) / 2;
}

static int text_of(int64_t i, char *room) {
    return i % 5 == 0 ? 0 : snprintf(room, TEXT_BYTES, "row %ld", (long)i);
}

static bool add_row(const WindowCase *of, SbRows *part, int64_t i) {
    char room[TEXT_BYTES];
    int len = text_of(i, room);
    Row *row = (Row *)(void *)part->at;
    if (part->at == part->end) row = (Row *)sb_rows_grow(nullptr, part, ROW_BYTES);
    else part->at += ROW_BYTES;
    if (!row) return false;
    memset(row, 0xff, ROW_BYTES);  // Nobody has given results anything.
    row->entry = (SbEntry){0, (uint64_t)i};
    row->key = key_of(of, i);
    row->place = place_of(of, i);
    row->text = (SbStr){sb_rows_text(nullptr, part, room, len), len};
    part->count++;  // A row without its text is no row yet.
    return row->text.ptr;
}

// ---- what is wanted -----------------------------------------------------------------------------

static const WindowCase *sorting;

static int by_window(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    int32_t by_key = sorting->one ? 0 : compare_numbers(key_of(sorting, x), key_of(sorting, y));
    int32_t by_place = compare_numbers(place_of(sorting, x), place_of(sorting, y));
    return by_key ? by_key : by_place ? by_place : compare_numbers(x, y);
}

typedef struct Wanted {
    int64_t number, all, before, sum;   // before: the row; -1: none.
} Wanted;

static Wanted *wanted_of(const WindowCase *of) {
    int64_t *order = malloc((size_t)of->rows * sizeof *order);
    Wanted *wanted = calloc((size_t)of->rows, sizeof *wanted);
    for (int64_t i = 0; i < of->rows; i++) order[i] = i;
    sorting = of;
    qsort(order, (size_t)of->rows, sizeof *order, by_window);
    for (int64_t begin = 0, end; begin < of->rows; begin = end) {
        int64_t sum = 0;
        for (end = begin + 1; end < of->rows; end++)
            if (!of->one && key_of(of, order[end]) != key_of(of, order[begin])) break;
        for (int64_t i = begin; i < end; i++) {
            sum += place_of(of, order[i]);
            wanted[order[i]] = (Wanted){i - begin + 1, end - begin,
                                        i - begin < LAG ? -1 : order[i - LAG], sum};
        }
    }
    free(order);
    return wanted;
}

static bool is_wanted(const Row *row, const Wanted *wanted) {
    char room[TEXT_BYTES];
    bool before = wanted->before >= 0;
    SbStr text = {room, before ? text_of(wanted->before, room) : 0};
    return row->number == wanted->number && row->all == wanted->all && row->sum == wanted->sum &&
           (bool)row->before_valid == before && (!before || same_text(row->before, text));
}

static bool is_next(const SbEntry *entry, const Wanted *wanted, int64_t seen) {
    return entry->order == (uint64_t)seen && is_wanted((const Row *)entry, &wanted[seen]);
}

static void check_results(const WindowCase *of, const SbBreakerState *breaker) {
    Wanted *wanted = wanted_of(of);
    int64_t seen = 0, wrong = 0, count;
    const SbEntry *const *kept = sb_breaker_entries(breaker, &count);
    for (; kept && seen < count; seen++) wrong += !is_next(kept[seen], wanted, seen);
    SpillMerge *merge = kept ? nullptr : read_sorted(breaker);
    for (SbRows *batch; merge && (batch = next_batch(breaker, merge));) {
        const SbEntry *const *entries = sb_rows_entries(batch);
        for (int64_t i = 0; i < batch->count; i++, seen++)
            wrong += !is_next(entries[i], wanted, seen);
        sb_rows_close(batch);
    }
    spill_merge_close(merge);
    CHECK_SAYS(seen == of->rows && wrong == 0, "%ld rows, %ld wrong", (long)seen, (long)wrong);
    free(wanted);
}

// The most memory that it took.
static int64_t check_window(const WindowCase *of) {
    char *root = root_open();
    SbMemory memory;
    Spill spill;
    const SbWindow window = {.partition = of->one ? nullptr : compare_keys,
                             .peers = compare_places, .fns = fns, .fn_count = 4};
    const SbBreaker what = {.kind = SB_BREAK_SORT, .entry_bytes = ROW_BYTES, .held = held,
                            .held_count = 2, .narrow = true, .window = &window,
                            .identity_offset = UINT32_MAX,
                            .prefix = of->one ? place_bits : key_bits,
                            .prefix_more = of->one ? nullptr : place_bits,
                            .compare = of->one ? compare_places : compare_rows};
    sb_memory_open(&memory, of->limit);
    memory.eager = of->eager;
    CHECK(spill_open(&spill, root, THREADS, &memory));
    Spill *to = of->memory ? nullptr : &spill;
    SbBreakerState *breaker = sb_breaker_open(&what, THREADS, &memory, to);
    bool good = breaker;
    for (int64_t i = 0; i < of->rows && good; i++)
        good = add_row(of, sb_breaker_part(breaker, (uint32_t)(i / 50 % THREADS)), i);
    for (uint32_t i = 0; i < THREADS && good; i++) sb_breaker_relieve(breaker, i);
    CHECK_SAYS(good, "%s", spill.trouble.text);
    CHECK_SAYS(sb_breaker_finish(breaker, of->parallel) == SB_OK, "%s", spill.trouble.text);
    check_results(of, breaker);
    CHECK_SAYS(memory.peak <= of->limit, "%ld", (long)memory.peak);
    sb_breaker_close(breaker);
    spill_close(&spill);
    CHECK_SAYS(memory.used == 0, "%ld", (long)memory.used);
    root_close(root);
    return memory.peak;
}

static void check_threads(WindowCase of) {
    of.parallel = &in_turn;
    check_window(&of);
    of.parallel = &beside;
    check_window(&of);
}

static void partitions_are_cut_into_pieces(void) {
    check_threads((WindowCase){.rows = 100000, .partitions = 1000, .limit = 16 << 20});
    check_threads((WindowCase){.rows = 100000, .partitions = 3, .limit = 16 << 20});
    check_threads((WindowCase){.rows = 700, .partitions = 60, .limit = 16 << 20, .eager = true});
}

static void one_partition_has_nearly_all(void) {
    check_threads((WindowCase){.rows = 100000, .partitions = 900, .hot = 9, .limit = 8 << 20});
    check_threads((WindowCase){.rows = 100000, .partitions = 1, .limit = 8 << 20, .one = true});
    check_threads((WindowCase){.rows = 500, .partitions = 90, .hot = 9, .limit = 8 << 20,
                               .eager = true});
    check_threads((WindowCase){.rows = 300, .partitions = 1, .limit = 8 << 20, .eager = true,
                               .one = true});
}

static void little_memory_will_do(void) {
    check_threads((WindowCase){.rows = 60000, .partitions = 700, .limit = 1 << 20});
    check_threads((WindowCase){.rows = 60000, .partitions = 700, .hot = 9, .limit = 1 << 20});
}

static void rows_that_come_in_order_stay(void) {
    check_threads((WindowCase){.rows = 90000, .partitions = 700, .limit = 64 << 20, .memory = true,
                               .in_order = 90000});
    check_threads((WindowCase){.rows = 90000, .partitions = 1, .limit = 64 << 20, .memory = true,
                               .in_order = 90000, .one = true});
    // Up to the last rows; and in each part, which does not tell of all.
    check_threads((WindowCase){.rows = 90000, .partitions = 700, .limit = 64 << 20, .memory = true,
                               .in_order = 89000});
    check_threads((WindowCase){.rows = 90000, .partitions = 700, .limit = 64 << 20,
                               .memory = true});
    check_threads((WindowCase){.rows = 90000, .partitions = 700, .limit = 4 << 20,
                               .in_order = 90000});
}

// Looking is all that such a window does beside its functions: sorting would take more.
static void rows_in_order_take_no_sort(void) {
    enum : int64_t { ROWS = 200000, LIST_BYTES = 2 * sizeof(SbEntry *), SORT_BYTES = 25 };
    const WindowCase all = {.rows = ROWS, .partitions = 700, .in_order = ROWS, .memory = true,
                            .limit = 64 << 20, .parallel = &in_turn};
    WindowCase most = all;
    most.in_order--;
    int64_t sorted = check_window(&most), kept = check_window(&all);
    CHECK_SAYS(sorted - kept > ROWS * (SORT_BYTES - LIST_BYTES) / 2, "%ld, %ld", (long)sorted,
               (long)kept);
}

static const UnitTest tests[] = {
    {"rows_that_come_in_order_stay", rows_that_come_in_order_stay},
    {"rows_in_order_take_no_sort", rows_in_order_take_no_sort},
    {"partitions_are_cut_into_pieces", partitions_are_cut_into_pieces},
    {"one_partition_has_nearly_all", one_partition_has_nearly_all},
    {"little_memory_will_do", little_memory_will_do},
};

UNIT_MAIN("spill_window", tests)
