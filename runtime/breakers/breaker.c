#include "runtime/breakers/breaker.h"

#include "runtime/abi/calls.h"
#include "runtime/breakers/far.h"
#include "runtime/breakers/first_rows.h"
#include "runtime/breakers/groups.h"
#include "runtime/breakers/join_ranges.h"
#include "runtime/breakers/join_table.h"
#include "runtime/breakers/spill_first.h"
#include "runtime/breakers/spill_groups.h"
#include "runtime/breakers/spill_join.h"
#include "runtime/breakers/spill_sort.h"
#include "runtime/breakers/spill_window.h"
#include "runtime/breakers/window.h"
#include "runtime/disk.h"
#include "runtime/memory.h"
#include "runtime/rows.h"
#include "stdlib/aggregate.h"
#include "stdlib/hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef union Part {
    SbGroups groups;
    SbRows   rows;
} Part;

// A part that another process has filled.
typedef struct Far {
    Part     part;
    int64_t  bytes;
    FarRows *rows;            // Where they lie; nullptr: they went to disk.
    uint32_t set;             // Of lanes.
    bool     written;
} Far;

struct SbBreakerState {
    const SbBreaker *what;
    SbMemory *memory;
    uint32_t  threads;
    Part     *parts;          // One a thread.
    Far     **far;            // They count as parts after those of threads.
    uint32_t  far_count, far_room;
    pthread_mutex_t far_lock;  // Of that list, while there may be more.
    const SbEntry **entries;  // After finish; allocated for `room`.
    int64_t   count, room;
    int64_t   charged;        // Lists of entries, slots.
    int64_t   rows_in;
    const SbEntry **by_number;  // Of a join whose marks a journal has: the entries, as
                                // sb_breaker_copy_marks numbers them.
    SbTable   table;
    SbJoinRanges *ranges;     // Of the table; or nullptr.
    uint64_t *slots;          // Of the table.
    int64_t   slot_count;
    SbRun    *runs;           // One a part: its entries, while they are put in order.
    _Atomic bool disorder;    // A run does not ascend.
    SbSortBy  by;             // The order of the rows that come out...
    SbSortBy  on_disk_by;     // ...and in which they are put: of a join, those on disk, and of a
                              // window, another.
    Spill    *spill;          // nullptr: no row goes to disk.
    SpillRuns on_disk;        // Its rows, in order.
    SbBreaker bare;           // What they are there: of a window, without room for results.
    SbHeld   *bare_held;      // What these hold; nullptr: they are as in memory.
    SpillSort sort;           // How they get there.
    FirstRows *first;         // By thread: which rows are wanted; nullptr: all.
    SpillGroups *groups;
    SpillJoin *join;          // What they become.
};

static bool is_group(const SbBreakerState *breaker) {
    return breaker->what->kind == SB_BREAK_GROUP;
}

static bool is_join(const SbBreakerState *breaker) { return breaker->what->kind == SB_BREAK_JOIN; }

static uint32_t part_count(const SbBreakerState *breaker) {
    return breaker->threads + breaker->far_count;
}

static Part *part_of(const SbBreakerState *breaker, uint32_t part) {
    return part < breaker->threads ? &breaker->parts[part]
                                   : &breaker->far[part - breaker->threads]->part;
}

static void close_part(const SbBreakerState *breaker, Part *part) {
    if (is_group(breaker)) sb_groups_close(&part->groups);
    else sb_rows_fini(&part->rows);
}

static void *charged_alloc(SbBreakerState *breaker, int64_t count, size_t size) {
    int64_t bytes = count * (int64_t)size;
    void *memory = sb_memory_pages(breaker->memory, bytes);
    if (memory) breaker->charged += bytes;
    return memory;
}

static void charged_free(SbBreakerState *breaker, void *memory, int64_t count, size_t size) {
    if (!memory) return;
    sb_memory_free(breaker->memory, memory, count * (int64_t)size);
    breaker->charged -= count * (int64_t)size;
}

// Other processes may read it, where the account has an arena. nullptr: no memory.
static void *shared_alloc(SbBreakerState *breaker, int64_t bytes) {
    void *block = sb_memory_pages_shared(breaker->memory, bytes);
    breaker->charged += block ? bytes : 0;
    return block;
}

static void shared_free(SbBreakerState *breaker, void *block, int64_t bytes) {
    if (!block) return;
    sb_memory_free_shared(breaker->memory, block, bytes);
    breaker->charged -= bytes;
}

static bool open_entries(SbBreakerState *breaker, int64_t room) {
    breaker->room = room;
    breaker->entries = shared_alloc(breaker, room * (int64_t)sizeof *breaker->entries);
    return breaker->entries;
}

static void close_entries(SbBreakerState *breaker) {
    int64_t bytes = breaker->room * (int64_t)sizeof *breaker->entries;
    shared_free(breaker, breaker->entries, bytes);
    breaker->entries = nullptr;
}

// Of a join's table; all are empty. False: no memory.
static bool open_slots(SbBreakerState *breaker, int64_t count) {
    int64_t bytes = count * (int64_t)sizeof *breaker->slots;
    breaker->slot_count = count;
    breaker->slots = shared_alloc(breaker, bytes);
    // Blocks of an arena have been in use before.
    bool used = breaker->slots && sb_memory_shares(breaker->memory);
    if (used) memset(breaker->slots, 0, (size_t)bytes);
    return breaker->slots;
}

static void close_slots(SbBreakerState *breaker) {
    int64_t bytes = breaker->slot_count * (int64_t)sizeof *breaker->slots;
    shared_free(breaker, breaker->slots, bytes);
    breaker->slots = nullptr;
}

// Rows go to disk when the memory grows short. A single group only for a journal.
static bool watch(SbBreakerState *breaker, Spill *spill) {
    const SbBreaker *what = breaker->what;
    bool groups = is_group(breaker);
    if (!spill || (groups && what->key_count == 0 && !spill->journaled)) return true;
    if (!spill_runs_open(&breaker->on_disk, spill, breaker->memory)) return false;
    breaker->spill = spill;
    breaker->on_disk.indexed = true;
    breaker->bare = *what;
    if (what->window && !window_bare(what, &breaker->bare, &breaker->bare_held)) return false;
    if (groups) breaker->groups = spill_groups_open(spill, what, &breaker->on_disk);
    bool good = groups ? breaker->groups != nullptr
                       : spill_sort_open(&breaker->sort, &breaker->bare, &breaker->on_disk_by,
                                         &breaker->on_disk);
    for (uint32_t i = 0; i < breaker->threads && good; i++)
        good = groups ? spill_groups_watch(breaker->groups, i, &breaker->parts[i].groups)
                      : spill_sort_watch(&breaker->sort, i, &breaker->parts[i].rows);
    return good;
}

static void share(const SbBreakerState *breaker, uint32_t part) {
    Part *is = &breaker->parts[part];
    sb_rows_share(is_group(breaker) ? &is->groups.state->rows : &is->rows);
}

SbBreakerState *sb_breaker_open(const SbBreaker *what, uint32_t threads, SbMemory *memory,
                                Spill *spill) {
    SbBreakerState *breaker = calloc(1, sizeof *breaker);
    if (!breaker) return nullptr;
    const SbSortBy came = {.prefix = sb_entry_order};
    bool sorts = what->kind == SB_BREAK_SORT;
    *breaker = (SbBreakerState){.what = what, .memory = memory, .threads = threads};
    pthread_mutex_init(&breaker->far_lock, nullptr);
    breaker->on_disk_by = sorts ? (SbSortBy){what->prefix, what->prefix_more, what->compare,
                                             what->parts, what->part_count}
                                : is_join(breaker) ? spill_join_by : came;
    breaker->by = sorts && !what->window ? breaker->on_disk_by : came;
    breaker->parts = calloc(threads, sizeof *breaker->parts);
    int32_t status = breaker->parts ? SB_OK : SB_FAULT_TOO_LARGE;
    for (uint32_t i = 0; i < threads && !status; i++)
        status = is_group(breaker)
                     ? sb_groups_open(&breaker->parts[i].groups, what->entry_bytes, memory)
                     : sb_rows_init(&breaker->parts[i].rows, memory, what->entry_bytes);
    for (uint32_t i = 0; i < threads && !status; i++) share(breaker, i);
    if (status || !watch(breaker, spill)) {
        sb_breaker_close(breaker);
        return nullptr;
    }
    return breaker;
}

void sb_breaker_close(SbBreakerState *breaker) {
    if (!breaker) return;
    for (uint32_t i = 0; breaker->parts && i < part_count(breaker); i++)
        close_part(breaker, part_of(breaker, i));
    for (uint32_t i = 0; i < breaker->far_count; i++) {
        if (breaker->far[i]->rows) far_rows_release(breaker->far[i]->rows);
        free(breaker->far[i]);
    }
    free(breaker->far);
    pthread_mutex_destroy(&breaker->far_lock);
    spill_sort_close(&breaker->sort);
    spill_groups_close(breaker->groups);
    spill_join_close(breaker->join);
    spill_runs_close(&breaker->on_disk);
    close_entries(breaker);
    close_slots(breaker);
    sb_join_ranges_close(breaker->ranges, breaker->memory);
    sb_memory_release(breaker->memory, breaker->charged);
    free(breaker->parts);
    free(breaker->bare_held);
    free(breaker->runs);
    free(breaker->by_number);
    free(breaker->first);
    free(breaker);
}

int64_t sb_breaker_leave_out(SbBreakerState *breaker, const SbKeyFilter *filter) {
    int64_t left_out = 0;
    for (uint32_t i = 0; i < breaker->threads; i++) {
        left_out += breaker->parts[i].rows.left_out;
        __atomic_store_n(&breaker->parts[i].rows.filter, filter, __ATOMIC_RELEASE);
    }
    return left_out;
}

int64_t sb_breaker_take_left_out(SbBreakerState *breaker, uint32_t thread) {
    return __atomic_exchange_n(&breaker->parts[thread].rows.left_out, 0, __ATOMIC_RELAXED);
}

bool sb_breaker_want_first(SbBreakerState *breaker, int64_t most) {
    if (most == INT64_MAX) return true;
    FirstRows *first = breaker->first = calloc(breaker->threads, sizeof *first);
    for (uint32_t i = 0; first && i < breaker->threads; i++) {
        first_rows_open(&first[i], breaker->what, &breaker->on_disk_by, most);
        breaker->parts[i].rows.state->shrink = &first[i].shrink;
    }
    breaker->sort.first = first;
    return first;
}

void *sb_breaker_part(SbBreakerState *breaker, uint32_t thread) { return &breaker->parts[thread]; }

void sb_breaker_mark(SbBreakerState *breaker, uint32_t thread) {
    sb_rows_mark(&breaker->parts[thread].rows);
}

void sb_breaker_back(SbBreakerState *breaker, uint32_t thread) {
    sb_rows_back(&breaker->parts[thread].rows);
}

bool sb_breaker_keep(SbBreakerState *breaker, uint32_t thread) {
    return sb_rows_keep(&breaker->parts[thread].rows);
}

static const SbRows *part_rows(const SbBreakerState *breaker, uint32_t part) {
    const Part *p = part_of(breaker, part);
    return is_group(breaker) ? &p->groups.state->rows : &p->rows;
}

// ---- groups ------------------------------------------------------------------------------------

// The one group of an aggregation without keys exists even when no row came.
static int32_t ensure_one(SbBreakerState *breaker) {
    if (breaker->what->key_count) return SB_OK;
    for (uint32_t i = 0; i < part_count(breaker); i++)
        if (part_of(breaker, i)->groups.count) return SB_OK;
    SbEntry *one = sb_groups_insert(nullptr, &breaker->parts[0].groups, 0, 0);
    if (!one) return SB_FAULT_TOO_LARGE;
    uint32_t identity = breaker->what->identity_offset;
    if (identity != UINT32_MAX) *(uint64_t *)(void *)((char *)one + identity) = SB_IDENTITY_SEED;
    return SB_OK;
}

static int32_t merge_groups(SbBreakerState *breaker, SbParallel *parallel) {
    uint32_t filled = 0, count = part_count(breaker);
    bool repeats = false;
    SbGroups **parts = calloc(count, sizeof *parts);
    if (!parts) return SB_FAULT_TOO_LARGE;
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = &part_of(breaker, i)->groups;
        filled += parts[i]->count > 0;
        repeats |= parts[i]->state->repeats;
    }
    SbGroupsMerge merge = {breaker->what, breaker->memory, parts, count,
                           breaker->entries};
    int32_t status = filled > 1 || repeats ? sb_groups_merge(&merge, parallel) : SB_OK;
    free(parts);
    return status;
}

// ---- putting in order --------------------------------------------------------------------------

static void list_all(void *arg, uint32_t part, uint32_t thread) {
    (void)thread;
    SbBreakerState *breaker = arg;
    SbRun *run = &breaker->runs[part];
    sb_rows_list(part_rows(breaker, part), run->entries);
    run->count = part_rows(breaker, part)->count;
}

// Lists the entries of a part, without those that went on in others. A thread takes the units of a
// stage in their order, so that the order grows from entry to entry but for work done again.
static void list_in_order(void *arg, uint32_t part, uint32_t thread) {
    (void)thread;
    SbBreakerState *breaker = arg;
    SbRun *run = &breaker->runs[part];
    bool groups = is_group(breaker), ascends = true;
    uint64_t before = 0;
    RowSpan span = {0};
    while (sb_rows_next_span(part_rows(breaker, part), &span))
        for (int64_t i = 0; i < span.count; i++) {
            const SbEntry *entry = span_entry(&span, i);
            bool gone = groups && sb_group_is_merged(entry);
            run->entries[run->count] = entry;
            run->count += !gone;
            ascends &= gone || entry->order >= before;
            before = gone ? before : entry->order;
        }
    if (!ascends) breaker->disorder = true;
}

// Puts the runs side by side.
static void close_ranks(SbBreakerState *breaker) {
    const SbEntry **out = breaker->entries;
    for (uint32_t i = 0; i < part_count(breaker); i++) {
        const SbRun *run = &breaker->runs[i];
        memmove(out, run->entries, (size_t)run->count * sizeof *out);
        out += run->count;
    }
}

static int32_t merge_runs(SbBreakerState *breaker, SbParallel *parallel) {
    for (uint32_t i = 0; i < part_count(breaker); i++)
        if (breaker->runs[i].count == breaker->count) return close_ranks(breaker), SB_OK;
    SbBreakerState before = *breaker;
    if (!open_entries(breaker, breaker->count)) {
        breaker->entries = before.entries;
        breaker->room = before.room;
        return SB_FAULT_TOO_LARGE;
    }
    int32_t status = sb_runs_merge(breaker->runs, part_count(breaker), breaker->entries, parallel);
    before.charged = breaker->charged;
    close_entries(&before);
    breaker->charged = before.charged;
    return status;
}

static int32_t sort_entries(SbBreakerState *breaker, SbParallel *parallel) {
    const SbBreaker *what = breaker->what;
    const SbSortBy *by = what->window ? &breaker->on_disk_by : &breaker->by;
    int32_t status = sb_sort(breaker->entries, breaker->count, by, breaker->memory, parallel);
    if (!status && breaker->first)
        breaker->count = first_rows_choose(breaker->first, breaker->entries, breaker->count);
    if (status || !what->window) return status;
    status = window_all(what, breaker->entries, breaker->count, breaker->memory, parallel);
    if (status) return status;
    return sb_sort(breaker->entries, breaker->count, &breaker->by, breaker->memory, parallel);
}

// Rows that came in the order of the window: in each part, and in all. They stay as they are then.
static bool came_in_order(SbBreakerState *breaker, SbParallel *parallel, int32_t *status) {
    const SbSortBy *by = &breaker->on_disk_by;
    bool in_order = true;
    for (uint32_t i = 0; i < part_count(breaker) && in_order; i++) {
        const SbRun *run = &breaker->runs[i];
        in_order = sb_is_sorted(run->entries, run->count, by, parallel) &&
                   sb_is_sorted(run->entries, run->count, &breaker->by, parallel);
    }
    *status = in_order ? merge_runs(breaker, parallel) : SB_OK;
    if (!in_order) close_ranks(breaker);
    return in_order && !*status &&
           sb_is_sorted(breaker->entries, breaker->count, by, parallel);
}

static int32_t add_results(SbBreakerState *breaker, SbParallel *parallel) {
    int32_t status;
    if (!came_in_order(breaker, parallel, &status) && !status)
        return sort_entries(breaker, parallel);
    return status ? status : window_all(breaker->what, breaker->entries, breaker->count,
                                        breaker->memory, parallel);
}

static int32_t put_in_order(SbBreakerState *breaker, SbParallel *parallel) {
    int64_t at = 0;
    uint32_t parts = part_count(breaker);
    for (uint32_t i = 0; i < parts; i++) {
        breaker->runs[i] = (SbRun){breaker->entries + at, 0};
        at += part_rows(breaker, i)->count;
    }
    bool sorts = breaker->what->kind == SB_BREAK_SORT;
    bool results = breaker->what->window && !breaker->first;
    parallel->each(parallel, parts, sorts ? list_all : list_in_order, breaker);
    for (uint32_t i = 0; i < parts; i++) breaker->count += breaker->runs[i].count;
    if (results) return add_results(breaker, parallel);
    if (sorts || breaker->disorder) {
        close_ranks(breaker);
        return sort_entries(breaker, parallel);
    }
    return merge_runs(breaker, parallel);
}

// ---- join tables -------------------------------------------------------------------------------

static int32_t build_table(SbBreakerState *breaker, SbParallel *parallel) {
    SbJoinBuild build = {
        .what = breaker->what,
        .entries = breaker->entries,
        .count = breaker->count,
        .lists = charged_alloc(breaker, breaker->count, sizeof *build.lists),
    };
    int64_t slots = sb_join_table_plan(&build, parallel);
    bool good = build.lists && open_slots(breaker, slots);
    build.slots = breaker->slots;
    int32_t status = good ? sb_join_table_build(&build, parallel) : SB_FAULT_TOO_LARGE;
    charged_free(breaker, build.lists, breaker->count, sizeof *build.lists);
    if (status) {
        close_slots(breaker);
        return status;
    }
    breaker->table = build.table;
    breaker->table.slots = build.slots;
    breaker->ranges = sb_join_ranges_make(&build, breaker->memory, parallel);
    breaker->table.ranges = breaker->ranges;
    return SB_OK;
}

// ---- marks of a join ---------------------------------------------------------------------------

enum : uint8_t { MATCHED = 1 };  // SbBreaker.matched_offset

static bool wants_numbers(const SbBreakerState *breaker) {
    return is_join(breaker) && breaker->what->wants == SB_JOIN_REST && breaker->spill &&
           breaker->spill->journaled;
}

static int32_t number_entries(SbBreakerState *breaker, SbParallel *parallel) {
    breaker->by_number = charged_alloc(breaker, breaker->count, sizeof *breaker->by_number);
    if (!breaker->by_number) return SB_FAULT_TOO_LARGE;
    memcpy(breaker->by_number, breaker->entries,
           (size_t)breaker->count * sizeof *breaker->by_number);
    return sb_sort(breaker->by_number, breaker->count, &spill_join_by, breaker->memory, parallel);
}

static void forget_numbers(SbBreakerState *breaker) {
    charged_free(breaker, breaker->by_number, breaker->count, sizeof *breaker->by_number);
    breaker->by_number = nullptr;
}

static uint8_t *mark_of(const SbBreakerState *breaker, int64_t number) {
    char *entry = (char *)(uintptr_t)breaker->by_number[number];
    return (uint8_t *)entry + breaker->what->matched_offset;
}

int64_t sb_breaker_marks_bytes(const SbBreakerState *breaker) {
    return (breaker->rows_in + 63) / 64 * (int64_t)sizeof(uint64_t);
}

void sb_breaker_copy_marks(const SbBreakerState *breaker, uint64_t *marks) {
    memset(marks, 0, (size_t)sb_breaker_marks_bytes(breaker));
    if (breaker->join) spill_join_copy_marks(breaker->join, marks);
    for (int64_t i = 0; !breaker->join && i < breaker->rows_in; i++) {
        bool matched = __atomic_load_n(mark_of(breaker, i), __ATOMIC_RELAXED) == MATCHED;
        marks[i / 64] |= (uint64_t)matched << (i % 64);
    }
}

void sb_breaker_set_marks(SbBreakerState *breaker, const uint64_t *marks) {
    if (breaker->join) spill_join_set_marks(breaker->join, marks);
    for (int64_t i = 0; !breaker->join && i < breaker->rows_in; i++)
        if (marks[i / 64] >> (i % 64) & 1) *mark_of(breaker, i) = MATCHED;
}

// ---- finish ------------------------------------------------------------------------------------

static int32_t finish_in_memory(SbBreakerState *breaker, SbParallel *parallel) {
    int32_t status = is_group(breaker) ? ensure_one(breaker) : SB_OK;
    int64_t room = 0;
    for (uint32_t i = 0; i < part_count(breaker); i++) {
        if (is_group(breaker)) sb_groups_seal(&part_of(breaker, i)->groups);
        room += part_rows(breaker, i)->count;
    }
    if (!is_group(breaker)) breaker->rows_in = room;
    breaker->runs = calloc(part_count(breaker), sizeof *breaker->runs);
    if (!open_entries(breaker, room) || !breaker->runs) return SB_FAULT_TOO_LARGE;
    if (!status && is_group(breaker)) status = merge_groups(breaker, parallel);
    if (!status) status = put_in_order(breaker, parallel);
    if (!status && wants_numbers(breaker)) status = number_entries(breaker, parallel);
    if (!status && is_join(breaker)) status = build_table(breaker, parallel);
    return status;
}

// ---- on disk -----------------------------------------------------------------------------------

// Has anything gone to disk while rows came?
static bool has_spilled(const SbBreakerState *breaker) {
    return breaker->on_disk.count > 0 || (breaker->groups && breaker->groups->used);
}

// May groups be merged in memory? Once that has begun it must succeed.
static bool fits_in_memory(const SbBreakerState *breaker) {
    // Lists of entries before and after, slots; or a list and what sorts it.
    enum { GROUP_BYTES = 38 };
    int64_t bytes = 0;
    for (uint32_t i = 0; i < breaker->threads; i++) {
        const SbGroups *part = &breaker->parts[i].groups;
        bytes += part->count * GROUP_BYTES + 2 * sb_scratch_charged(&part->state->call);
        bytes -= sb_groups_look_bytes(part);  // They are given back first.
    }
    for (uint32_t i = 0; i < breaker->far_count; i++)
        bytes += breaker->far[i]->part.groups.count * GROUP_BYTES;
    return !breaker->memory->eager && sb_memory_has(breaker->memory, bytes > 0 ? bytes : 0);
}

bool sb_breaker_relieve(SbBreakerState *breaker, uint32_t thread) {
    Part *part = &breaker->parts[thread];
    bool any = breaker->spill && (is_group(breaker) ? part->groups.count : part->rows.count) > 0;
    if (any && is_group(breaker)) sb_groups_relieve(&part->groups);
    else if (any) sb_rows_relieve(&part->rows);
    return any && !breaker->spill->failed;
}

// What was written: tables of groups, or rows.
static SpillRuns *runs_of(SbBreakerState *breaker) {
    return breaker->groups ? &breaker->groups->tables.runs : &breaker->on_disk;
}

SpillRun *sb_breaker_take_runs(SbBreakerState *breaker, uint32_t from, uint32_t to,
                               uint32_t *count) {
    SpillRuns *runs = breaker->spill ? runs_of(breaker) : nullptr;
    *count = 0;
    if (!runs) return calloc(1, sizeof(SpillRun));
    pthread_mutex_lock(&runs->lock);
    SpillRun *taken = calloc(runs->count + 1, sizeof *taken);
    for (uint32_t i = 0; taken && i < runs->count; i++) {
        SpillRun *run = &runs->items[i];
        if (run->is_safe || run->file < from || run->file >= to) continue;
        run->is_safe = true;
        taken[(*count)++] = *run;
    }
    pthread_mutex_unlock(&runs->lock);
    return taken;
}

bool sb_breaker_add_run(SbBreakerState *breaker, const SpillRun *run) {
    if (!breaker->spill) return false;
    if (breaker->groups) breaker->groups->used = true;
    return spill_runs_add(runs_of(breaker), run);
}

static void relieve_groups(void *arg, uint32_t part, uint32_t thread) {
    SbBreakerState *breaker = arg;
    breaker->groups->parts[part].thread = thread;
    sb_groups_relieve(&breaker->parts[part].groups);
    sb_groups_seal(&breaker->parts[part].groups);
}

static void write_part(SbBreakerState *breaker, Far *far, uint32_t thread) {
    if (breaker->spill->failed || far->written) return;
    far->written = is_group(breaker)
                       ? spill_groups_write(breaker->groups, &far->part.groups.state->rows, thread)
                       : spill_sort_take(&breaker->sort, &far->part.rows, thread);
}

static void write_far(void *arg, uint32_t index, uint32_t thread) {
    SbBreakerState *breaker = arg;
    write_part(breaker, breaker->far[index], thread);
}

// The list may move; what it lists does not.
static Far *next_far(SbBreakerState *breaker, uint32_t *at, uint32_t set) {
    Far *found = nullptr;
    pthread_mutex_lock(&breaker->far_lock);
    for (; !found && *at < breaker->far_count; ++*at) {
        Far *far = breaker->far[*at];
        if (far->set == set && !far->written) found = far;
    }
    pthread_mutex_unlock(&breaker->far_lock);
    return found;
}

bool sb_breaker_relieve_far(SbBreakerState *breaker, uint32_t set, uint32_t thread) {
    uint32_t at = 0;
    if (!breaker->spill) return true;
    for (Far *far; !breaker->spill->failed && (far = next_far(breaker, &at, set));)
        write_part(breaker, far, thread);
    return !breaker->spill->failed;
}

static void relieve_parts(SbBreakerState *breaker, SbParallel *parallel) {
    parallel->each(parallel, breaker->far_count, write_far, breaker);
    if (is_group(breaker)) parallel->each(parallel, breaker->threads, relieve_groups, breaker);
    else
        for (uint32_t i = 0; i < breaker->threads; i++)
            spill_sort_rest(&breaker->sort, &breaker->parts[i].rows, parallel);
}

static void keep_right(SbBreakerState *breaker, SbParallel *parallel) {
    breaker->join = spill_join_open(&breaker->on_disk, breaker->what, 1, parallel);
    if (breaker->join && breaker->what->wants == SB_JOIN_REST) spill_join_marks(breaker->join);
}

static int32_t run_window(SbBreakerState *breaker, SbParallel *parallel) {
    const SpillWindow window = {breaker->what, &breaker->bare, &breaker->on_disk_by, &breaker->by,
                                breaker->first};
    return spill_window(&breaker->on_disk, &window, parallel);
}

// All rows go to the runs that are there.
static int32_t finish_on_disk(SbBreakerState *breaker, SbParallel *parallel) {
    int32_t status = is_group(breaker) && !has_spilled(breaker) ? ensure_one(breaker) : SB_OK;
    if (status) return status;
    relieve_parts(breaker, parallel);
    if (breaker->memory->less) breaker->memory->less(breaker->memory);
    if (is_group(breaker)) status = spill_groups_finish(breaker->groups, parallel);
    else breaker->rows_in = breaker->on_disk.rows;
    if (breaker->spill->failed) return SB_FAULT_TOO_LARGE;
    if (breaker->what->window && !status) status = run_window(breaker, parallel);
    breaker->count = breaker->on_disk.rows;
    if (status) return status;
    if (is_join(breaker)) keep_right(breaker, parallel);
    else spill_runs_reduce(&breaker->on_disk, breaker->what, &breaker->by, parallel);
    return breaker->spill->failed ? SB_FAULT_TOO_LARGE : SB_OK;
}

// As if no attempt had been made to put the rows in order.
static void forget_entries(SbBreakerState *breaker) {
    forget_numbers(breaker);
    close_entries(breaker);
    free(breaker->runs);
    breaker->runs = nullptr;
    breaker->room = breaker->count = 0;
}

int32_t sb_breaker_finish(SbBreakerState *breaker, SbParallel *parallel) {
    if (!breaker->spill) return finish_in_memory(breaker, parallel);
    if (has_spilled(breaker)) return finish_on_disk(breaker, parallel);
    if (is_group(breaker))
        return fits_in_memory(breaker) ? finish_in_memory(breaker, parallel)
                                       : finish_on_disk(breaker, parallel);
    for (uint32_t i = 0; i < breaker->threads; i++) sb_rows_uncover(&breaker->parts[i].rows);
    int32_t status = finish_in_memory(breaker, parallel);
    if (status != SB_FAULT_TOO_LARGE) return status;
    forget_entries(breaker);
    return finish_on_disk(breaker, parallel);
}

int64_t sb_breaker_row_max(const SbBreakerState *breaker) {
    const SpillRun *longest = spill_runs_longest(&breaker->on_disk);
    return longest ? longest->block_max : 0;
}

SpillOrder sb_breaker_on_disk(const SbBreakerState *breaker) {
    return (SpillOrder){&breaker->on_disk, breaker->what, &breaker->by};
}

SbRows *sb_breaker_next(const SbBreakerState *breaker, SpillMerge *from, int64_t bytes,
                        int64_t rows, bool *refused) {
    SbRows *batch = sb_rows_open(breaker->spill->memory, breaker->what->entry_bytes, bytes);
    int64_t held = 0;
    bool good = batch;
    for (const SbEntry *entry; good && (entry = spill_merge_first(from, &held));) {
        // Rows that are there make room for this one when they are done.
        if (!spill_keep(batch, breaker->what, entry, held)) good = false;
        else spill_merge_pass(from);
        if (batch->count == rows || sb_rows_bytes(batch) >= bytes) break;
    }
    *refused = !good && (!batch || batch->count == 0);
    if (!breaker->spill->failed && !*refused && batch->count > 0) return batch;
    sb_rows_close(batch);
    return nullptr;
}

const SbEntry *const *sb_breaker_entries(const SbBreakerState *breaker, int64_t *count) {
    *count = breaker->count;
    return breaker->entries;
}

bool sb_breaker_rest(SbBreakerState *breaker, SbParallel *parallel) {
    if (!breaker->join) return true;
    breaker->count = 0;
    if (!spill_join_rest(breaker->join, &breaker->by, &breaker->on_disk, parallel)) return false;
    breaker->count = breaker->on_disk.rows;
    return spill_runs_reduce(&breaker->on_disk, breaker->what, &breaker->by, parallel);
}

SpillJoin *sb_breaker_join(const SbBreakerState *breaker) { return breaker->join; }

const SbTable *sb_breaker_table(const SbBreakerState *breaker) { return &breaker->table; }

int64_t sb_breaker_rows_in(const SbBreakerState *breaker) { return breaker->rows_in; }

// ---- parts of other processes -------------------------------------------------------------------

static bool leave_copies(const SbBreakerState *breaker, const SbRows *from, FarPart *part,
                         SbBlockFn *fn, void *arg) {
    SbRows copies;
    if (sb_rows_init(&copies, breaker->memory, breaker->what->entry_bytes)) return false;
    sb_rows_share(&copies);
    bool good = true;
    RowSpan span = {0};
    while (good && sb_rows_next_span(from, &span))
        for (int64_t i = 0; good && i < span.count; i++)
            good = spill_copy(&copies, breaker->what, span_entry(&span, i));
    good = good && far_part_list(&copies, part);
    if (good) sb_rows_leave(&copies, fn, arg);
    sb_rows_fini(&copies);
    return good;
}

bool sb_breaker_has_runs(const SbBreakerState *breaker) { return has_spilled(breaker); }

SpillRun *sb_breaker_leave_runs(SbBreakerState *breaker, uint32_t *count) {
    SpillRuns *runs = breaker->spill ? runs_of(breaker) : nullptr;
    SpillRun *items = runs ? runs->items : nullptr;
    *count = runs ? runs->count : 0;
    if (!runs) return nullptr;
    runs->items = nullptr;
    runs->count = runs->cap = 0;
    runs->rows = 0;
    if (breaker->groups) breaker->groups->used = false;
    return items;
}

bool sb_breaker_leave(SbBreakerState *breaker, uint32_t thread, FarPart *part, SbBlockFn *fn,
                      void *arg) {
    SbGroups *groups = is_group(breaker) ? &breaker->parts[thread].groups : nullptr;
    SbRows *rows = groups ? &groups->state->rows : &breaker->parts[thread].rows;
    *part = (FarPart){0};
    bool good;
    if (far_lies_together(breaker->what)) {
        good = far_part_list(rows, part);
        if (good) sb_rows_leave(rows, fn, arg);
    } else {
        good = leave_copies(breaker, rows, part, fn, arg);
    }
    if (!good) far_part_close(part);
    else if (groups) sb_groups_clear(groups);
    return good;
}

// Room for one more.
static bool more_far(SbBreakerState *breaker) {
    if (breaker->far_count < breaker->far_room) return true;
    uint32_t room = breaker->far_room ? 2 * breaker->far_room : 8;
    Far **far = realloc(breaker->far, room * sizeof *far);
    if (!far) return false;
    breaker->far = far;
    breaker->far_room = room;
    return true;
}

static bool adopt(const SbBreakerState *breaker, Part *to, FarPart *part) {
    SbRows *rows = &to->rows;
    if (is_group(breaker)) {
        to->groups = (SbGroups){.state = calloc(1, sizeof *to->groups.state)};
        if (!to->groups.state) return false;
        rows = &to->groups.state->rows;
    }
    if (!sb_rows_adopt(rows, breaker->memory, breaker->what->entry_bytes, part->spans,
                       part->span_count)) {
        if (is_group(breaker)) free(to->groups.state);
        return false;
    }
    if (is_group(breaker)) to->groups.count = rows->count;
    part->spans = nullptr;
    return true;
}

bool sb_breaker_take_far(SbBreakerState *breaker, uint32_t set, FarPart *part, FarRows *rows) {
    Far *far = malloc(sizeof *far);
    if (far) *far = (Far){.bytes = part->bytes, .rows = rows, .set = set};
    pthread_mutex_lock(&breaker->far_lock);
    bool good = far && more_far(breaker) && adopt(breaker, &far->part, part);
    if (good) breaker->far[breaker->far_count++] = far;
    pthread_mutex_unlock(&breaker->far_lock);
    far_part_close(part);
    if (good) rows->holders++;
    else free(far);
    return good;
}

void sb_breaker_let_far_go(SbBreakerState *breaker) {
    for (uint32_t i = 0; i < breaker->far_count; i++) {
        Far *far = breaker->far[i];
        if (!far->written || !far->rows) continue;
        if (is_group(breaker)) far->part.groups.count = 0;
        sb_rows_clear(is_group(breaker) ? &far->part.groups.state->rows : &far->part.rows);
        far_rows_release(far->rows);
        far->rows = nullptr;
        far->bytes = 0;
    }
}
