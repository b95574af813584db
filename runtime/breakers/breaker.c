#include "runtime/breakers/breaker.h"

#include "runtime/abi/calls.h"
#include "runtime/breakers/groups.h"
#include "runtime/breakers/join_table.h"
#include "runtime/breakers/spill_groups.h"
#include "runtime/breakers/spill_join.h"
#include "runtime/breakers/spill_sort.h"
#include "runtime/disk.h"
#include "runtime/memory.h"
#include "runtime/rows.h"
#include "stdlib/hash.h"

#include <stdlib.h>
#include <string.h>

typedef union Part {
    SbGroups groups;
    SbRows   rows;
} Part;

struct SbBreakerState {
    const SbBreaker *what;
    SbMemory *memory;
    uint32_t  threads;
    Part     *parts;          // One a thread.
    const SbEntry **entries;  // After finish; allocated for `room`.
    int64_t   count, room;
    int64_t   charged;        // Lists of entries, slots.
    int64_t   rows_in;
    const SbEntry **by_number;  // Of a join whose marks a journal has: the entries, as
                                // sb_breaker_copy_marks numbers them.
    SbTable   table;
    SbRun    *runs;           // One a thread: its entries, while they are put in order.
    _Atomic bool disorder;    // A run does not ascend.
    SbSortBy  by;             // The order of the rows that come out...
    SbSortBy  on_disk_by;     // ...and of those on disk: of a join another.
    Spill    *spill;          // nullptr: no row goes to disk.
    SpillRuns on_disk;        // Its rows, in order.
    SpillSort sort;           // How they get there.
    SpillGroups *groups;
    SpillJoin *join;          // What they become.
};

static bool is_group(const SbBreakerState *breaker) {
    return breaker->what->kind == SB_BREAK_GROUP;
}

static bool is_join(const SbBreakerState *breaker) { return breaker->what->kind == SB_BREAK_JOIN; }

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

// Rows go to disk when the memory grows short. A single group only for a journal.
static bool watch(SbBreakerState *breaker, Spill *spill) {
    const SbBreaker *what = breaker->what;
    bool groups = is_group(breaker);
    if (!spill || (groups && what->key_count == 0 && !spill->journaled)) return true;
    if (!spill_runs_open(&breaker->on_disk, spill, breaker->memory)) return false;
    breaker->spill = spill;
    breaker->on_disk.indexed = true;
    if (groups) breaker->groups = spill_groups_open(spill, what, &breaker->on_disk);
    bool good = groups ? breaker->groups != nullptr
                       : spill_sort_open(&breaker->sort, what, &breaker->on_disk_by,
                                         &breaker->on_disk);
    for (uint32_t i = 0; i < breaker->threads && good; i++)
        good = groups ? spill_groups_watch(breaker->groups, i, &breaker->parts[i].groups)
                      : spill_sort_watch(&breaker->sort, i, &breaker->parts[i].rows);
    return good;
}

SbBreakerState *sb_breaker_open(const SbBreaker *what, uint32_t threads, SbMemory *memory,
                                Spill *spill) {
    SbBreakerState *breaker = calloc(1, sizeof *breaker);
    if (!breaker) return nullptr;
    bool sorts = what->kind == SB_BREAK_SORT;
    *breaker = (SbBreakerState){.what = what, .memory = memory, .threads = threads};
    breaker->by = sorts ? (SbSortBy){what->prefix, what->prefix_more, what->compare}
                        : (SbSortBy){.prefix = sb_entry_order};
    breaker->on_disk_by = is_join(breaker) ? spill_join_by : breaker->by;
    breaker->parts = calloc(threads, sizeof *breaker->parts);
    int32_t status = breaker->parts ? SB_OK : SB_FAULT_TOO_LARGE;
    for (uint32_t i = 0; i < threads && !status; i++)
        status = is_group(breaker)
                     ? sb_groups_open(&breaker->parts[i].groups, what->entry_bytes, memory)
                     : sb_rows_init(&breaker->parts[i].rows, memory, what->entry_bytes);
    if (status || !watch(breaker, spill)) {
        sb_breaker_close(breaker);
        return nullptr;
    }
    return breaker;
}

void sb_breaker_close(SbBreakerState *breaker) {
    if (!breaker) return;
    for (uint32_t i = 0; breaker->parts && i < breaker->threads; i++) {
        if (is_group(breaker)) sb_groups_close(&breaker->parts[i].groups);
        else sb_rows_fini(&breaker->parts[i].rows);
    }
    spill_sort_close(&breaker->sort);
    spill_groups_close(breaker->groups);
    spill_join_close(breaker->join);
    spill_runs_close(&breaker->on_disk);
    sb_memory_release(breaker->memory, breaker->charged);
    free(breaker->parts);
    free(breaker->runs);
    free(breaker->entries);
    free(breaker->by_number);
    free((void *)(uintptr_t)breaker->table.slots);
    free(breaker);
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
    const Part *p = &breaker->parts[part];
    return is_group(breaker) ? &p->groups.state->rows : &p->rows;
}

// ---- groups ------------------------------------------------------------------------------------

// The one group of an aggregation without keys exists even when no row came.
static int32_t ensure_one(SbBreakerState *breaker) {
    if (breaker->what->key_count) return SB_OK;
    for (uint32_t i = 0; i < breaker->threads; i++)
        if (breaker->parts[i].groups.count) return SB_OK;
    SbEntry *one = sb_groups_insert(nullptr, &breaker->parts[0].groups, 0, 0);
    if (!one) return SB_FAULT_TOO_LARGE;
    uint32_t identity = breaker->what->identity_offset;
    if (identity != UINT32_MAX) *(uint64_t *)(void *)((char *)one + identity) = SB_IDENTITY_SEED;
    return SB_OK;
}

static int32_t merge_groups(SbBreakerState *breaker, SbParallel *parallel) {
    uint32_t filled = 0;
    SbGroups **parts = calloc(breaker->threads, sizeof *parts);
    if (!parts) return SB_FAULT_TOO_LARGE;
    for (uint32_t i = 0; i < breaker->threads; i++) {
        parts[i] = &breaker->parts[i].groups;
        filled += parts[i]->count > 0;
        sb_groups_seal(parts[i]);
    }
    SbGroupsMerge merge = {breaker->what, breaker->memory, parts, breaker->threads,
                           breaker->entries};
    int32_t status = filled > 1 ? sb_groups_merge(&merge, parallel) : SB_OK;
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
    for (uint32_t i = 0; i < breaker->threads; i++) {
        const SbRun *run = &breaker->runs[i];
        memmove(out, run->entries, (size_t)run->count * sizeof *out);
        out += run->count;
    }
}

static int32_t merge_runs(SbBreakerState *breaker, SbParallel *parallel) {
    for (uint32_t i = 0; i < breaker->threads; i++)
        if (breaker->runs[i].count == breaker->count) return close_ranks(breaker), SB_OK;
    const SbEntry **merged = charged_alloc(breaker, breaker->count, sizeof *merged);
    if (!merged) return SB_FAULT_TOO_LARGE;
    int32_t status = sb_runs_merge(breaker->runs, breaker->threads, merged, parallel);
    charged_free(breaker, breaker->entries, breaker->room, sizeof *merged);
    breaker->entries = merged;
    breaker->room = breaker->count;
    return status;
}

static int32_t sort_entries(SbBreakerState *breaker, SbParallel *parallel) {
    close_ranks(breaker);
    return sb_sort(breaker->entries, breaker->count, &breaker->by, breaker->memory, parallel);
}

static int32_t put_in_order(SbBreakerState *breaker, SbParallel *parallel) {
    int64_t at = 0;
    for (uint32_t i = 0; i < breaker->threads; i++) {
        breaker->runs[i] = (SbRun){breaker->entries + at, 0};
        at += part_rows(breaker, i)->count;
    }
    bool sorts = breaker->what->kind == SB_BREAK_SORT;
    parallel->each(parallel, breaker->threads, sorts ? list_all : list_in_order, breaker);
    for (uint32_t i = 0; i < breaker->threads; i++) breaker->count += breaker->runs[i].count;
    if (sorts || breaker->disorder) return sort_entries(breaker, parallel);
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
    build.slots = charged_alloc(breaker, slots, sizeof *build.slots);
    int32_t status = build.slots && build.lists ? sb_join_table_build(&build, parallel)
                                                : SB_FAULT_TOO_LARGE;
    charged_free(breaker, build.lists, breaker->count, sizeof *build.lists);
    if (status) {
        charged_free(breaker, build.slots, slots, sizeof *build.slots);
        return status;
    }
    breaker->table = build.table;
    breaker->table.slots = build.slots;
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
    for (uint32_t i = 0; i < breaker->threads; i++) breaker->room += part_rows(breaker, i)->count;
    if (!is_group(breaker)) breaker->rows_in = breaker->room;
    breaker->runs = calloc(breaker->threads, sizeof *breaker->runs);
    breaker->entries = charged_alloc(breaker, breaker->room, sizeof *breaker->entries);
    if (!breaker->runs || !breaker->entries) return SB_FAULT_TOO_LARGE;
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
    enum { GROUP_BYTES = 24 };  // Lists of entries before and after, slots.
    int64_t bytes = 0;
    for (uint32_t i = 0; i < breaker->threads; i++) {
        const SbGroups *part = &breaker->parts[i].groups;
        bytes += part->count * GROUP_BYTES + 2 * sb_scratch_charged(&part->state->call);
    }
    return !breaker->memory->eager && sb_memory_has(breaker->memory, bytes);
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

static void relieve_parts(SbBreakerState *breaker, SbParallel *parallel) {
    if (is_group(breaker)) parallel->each(parallel, breaker->threads, relieve_groups, breaker);
    else
        for (uint32_t i = 0; i < breaker->threads; i++)
            spill_sort_rest(&breaker->sort, &breaker->parts[i].rows, parallel);
}

static void keep_right(SbBreakerState *breaker, SbParallel *parallel) {
    breaker->join = spill_join_open(&breaker->on_disk, breaker->what, parallel);
    if (breaker->join && breaker->what->wants == SB_JOIN_REST) spill_join_marks(breaker->join);
}

// All rows go to the runs that are there.
static int32_t finish_on_disk(SbBreakerState *breaker, SbParallel *parallel) {
    int32_t status = is_group(breaker) && !has_spilled(breaker) ? ensure_one(breaker) : SB_OK;
    if (status) return status;
    relieve_parts(breaker, parallel);
    if (breaker->memory->less) breaker->memory->less(breaker->memory);
    if (is_group(breaker)) status = spill_groups_finish(breaker->groups, parallel);
    else breaker->rows_in = breaker->on_disk.rows;
    breaker->count = breaker->on_disk.rows;
    if (breaker->spill->failed) return SB_FAULT_TOO_LARGE;
    if (status) return status;
    if (is_join(breaker)) keep_right(breaker, parallel);
    else spill_runs_reduce(&breaker->on_disk, breaker->what, &breaker->by, parallel);
    return breaker->spill->failed ? SB_FAULT_TOO_LARGE : SB_OK;
}

// As if no attempt had been made to put the rows in order.
static void forget_entries(SbBreakerState *breaker) {
    forget_numbers(breaker);
    charged_free(breaker, breaker->entries, breaker->room, sizeof *breaker->entries);
    free(breaker->runs);
    breaker->entries = nullptr;
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

const SpillJoin *sb_breaker_join(const SbBreakerState *breaker) { return breaker->join; }

const SbTable *sb_breaker_table(const SbBreakerState *breaker) { return &breaker->table; }

int64_t sb_breaker_rows_in(const SbBreakerState *breaker) { return breaker->rows_in; }

int64_t sb_breaker_bytes(const SbBreakerState *breaker) {
    int64_t bytes = breaker->charged;
    for (uint32_t i = 0; i < breaker->threads; i++) {
        if (is_group(breaker) && breaker->parts[i].groups.slots)
            bytes += breaker->parts[i].groups.state->slot_bytes;
        bytes += sb_rows_bytes(part_rows(breaker, i));
    }
    return bytes;
}
