#include "runtime/spill_groups.h"

#include "runtime/options.h"
#include "runtime/spill_rows.h"
#include "stdlib/held.h"
#include "stdlib/key.h"

#include <stdlib.h>
#include <string.h>

enum {
    RANGE_BITS = 8,
    RANGE_SHIFT = 42,    // Slots use the lowest bits of a hash, and its highest 16 as tags.
    LEVELS = 4,          // How often the groups of a range are shared out anew.
    PART_SHARE = 32,     // A table that is written has at least as small a part of each thread's.
    SPLIT_SHARE = 4,
    FILL_SHARE = 2,      // Ranges that are merged together fill as small a part of each thread's.
};
static_assert(SPILL_RANGES == 1 << RANGE_BITS && RANGE_SHIFT >= RANGE_BITS * LEVELS);

static uint32_t range_of(const SbEntry *entry, uint32_t level) {
    return (uint32_t)(entry->hash >> (RANGE_SHIFT - RANGE_BITS * level)) & (SPILL_RANGES - 1);
}

static void close_ranges(SpillRuns *ranges) {
    for (uint32_t r = 0; ranges && r < SPILL_RANGES; r++) spill_runs_close(&ranges[r]);
    free(ranges);
}

static SpillRuns *open_ranges(Spill *spill, SbMemory *memory) {
    SpillRuns *ranges = calloc(SPILL_RANGES, sizeof *ranges);
    for (uint32_t r = 0; ranges && r < SPILL_RANGES; r++) {
        if (spill_runs_open(&ranges[r], spill, memory)) continue;
        ranges[r].spill = nullptr;
        close_ranges(ranges);
        return nullptr;
    }
    return ranges;
}

// ---- writing ------------------------------------------------------------------------------------

// Writes the rows by range; `list` has room for all of them.
static bool write_ranges(Spill *spill, uint32_t thread, const SbBreaker *what, const SbRows *rows,
                         const SbEntry **list, SpillRuns *ranges, uint32_t level) {
    int64_t ends[SPILL_RANGES] = {0}, at = 0;
    RowSpan span = {0};
    while (sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++) ends[range_of(span_entry(&span, i), level)]++;
    for (uint32_t r = 0; r < SPILL_RANGES; r++) {
        int64_t count = ends[r];
        ends[r] = at;
        at += count;
    }
    span = (RowSpan){0};
    while (sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++)
            list[ends[range_of(span_entry(&span, i), level)]++] = span_entry(&span, i);
    at = 0;
    for (uint32_t r = 0; r < SPILL_RANGES; r++) {
        SpillRun run;
        if (at == ends[r]) continue;
        if (!spill_begin(spill, thread)) return false;
        for (; at < ends[r]; at++)
            if (!spill_put(spill, thread, what, list[at])) return false;
        if (!spill_end(spill, thread, &run) || !spill_runs_add(&ranges[r], &run)) return false;
    }
    return true;
}

// The slots, of which there are more than entries, are the list.
static bool write_table(GroupsRelief *self, SbGroups *table) {
    SpillGroupsPart *part = (SpillGroupsPart *)(void *)self;
    SpillGroups *groups = part->groups;
    groups->used = true;
    return write_ranges(groups->spill, part->thread, groups->what, &table->state->rows,
                        (const SbEntry **)(void *)table->slots, groups->ranges, 0);
}

SpillGroups *spill_groups_open(Spill *spill, const SbBreaker *what, SpillRuns *results) {
    SpillGroups *groups = calloc(1, sizeof *groups);
    if (!groups) return nullptr;
    groups->spill = spill;
    groups->what = what;
    groups->results = results;
    groups->memory = results->memory;
    groups->ranges = open_ranges(spill, groups->memory);
    groups->parts = calloc(spill->threads, sizeof *groups->parts);
    if (groups->ranges && groups->parts) return groups;
    spill_groups_close(groups);
    return nullptr;
}

void spill_groups_close(SpillGroups *groups) {
    if (!groups) return;
    close_ranges(groups->ranges);
    free(groups->parts);
    free(groups);
}

bool spill_groups_watch(SpillGroups *groups, uint32_t thread, SbGroups *table) {
    SpillGroupsPart *part = &groups->parts[thread];
    *part = (SpillGroupsPart){.groups = groups, .thread = thread};
    part->relief = (GroupsRelief){
        .write = write_table,
        .bytes_min = groups->spill->memory->limit / PART_SHARE / groups->spill->threads,
        .threads = groups->spill->threads};
    table->state->relief = &part->relief;
    return spill_ready(groups->spill, thread);
}

// ---- merging a range ----------------------------------------------------------------------------

// The runs of some ranges of hashes that stand side by side, and what becomes of them.
typedef enum RangeState {
    RANGE_WAITS,
    RANGE_DONE,
    RANGE_SPLITS,   // Alone it does not fit the memory either.
} RangeState;

typedef struct Range {
    SpillGroups *groups;
    SpillRuns    runs;
    RangeState   state;
    uint32_t     level, thread;
    SbGroups     table;
    SbEntry     *last;       // The group that was added last.
    uint64_t     hash;       // Of the first group...
    bool         several;    // ...and there is another one.
    SpillRuns   *parts;      // Of a range that splits.
} Range;

// Reads all rows of the range's runs, one after the other.
typedef int32_t TakeFn(Range *range, void *arg, const SbEntry *entry, int64_t held);

static int32_t read_run(Range *range, const SpillRun *run, TakeFn *take, void *arg) {
    static const SbSortBy as_they_come = {0};
    const SpillRuns one = {.spill = range->groups->spill, .memory = range->groups->memory,
                           .items = (SpillRun *)(uintptr_t)run,
                           .count = 1};
    SpillMerge *merge = spill_merge_open(&one, range->groups->what, &as_they_come);
    int32_t status = merge ? SB_OK : SB_FAULT_TOO_LARGE;
    int64_t held;
    for (const SbEntry *entry; !status && (entry = spill_merge_first(merge, &held));) {
        status = take(range, arg, entry, held);
        spill_merge_pass(merge);
    }
    spill_merge_close(merge);
    return range->groups->spill->failed ? SB_FAULT_TOO_LARGE : status;
}

static int32_t read_runs(Range *range, TakeFn *take, void *arg) {
    int32_t status = SB_OK;
    for (uint32_t i = 0; i < range->runs.count && !status; i++)
        status = read_run(range, &range->runs.items[i], take, arg);
    return status;
}

// Takes back the copy that was just made: its group has another entry.
static void drop_copy(SbRows *rows, const struct SbSlabBlock *texts, char *at) {
    struct SbRowsState *state = rows->state;
    rows->count--;
    rows->at -= state->entry_bytes;
    if (state->texts.blocks == texts) state->texts.at = at;
    else sb_slab_drop_newest(&state->texts);
}

static int32_t add_group(Range *range, void *arg, const SbEntry *entry, int64_t held) {
    (void)arg;
    SbGroups *table = &range->table;
    SbRows *rows = &table->state->rows;
    if (rows->count == 0) range->hash = entry->hash;
    range->several |= entry->hash != range->hash;
    if (!sb_groups_reserve(table)) return SB_FAULT_TOO_LARGE;
    const struct SbSlabBlock *texts = rows->state->texts.blocks;
    char *at = rows->state->texts.at;
    SbEntry *copy = spill_keep(rows, range->groups->what, entry, held);
    if (!copy) return SB_FAULT_TOO_LARGE;
    range->last = copy;
    int32_t status = range->groups->what->merge(sb_groups_call(table), table, copy);
    if (status) return status;
    if (sb_group_is_merged(copy)) drop_copy(rows, texts, at);
    else table->count++;
    return SB_OK;
}

// Writes the groups of the table in the order of their first rows.
static int32_t write_result(Range *range) {
    SpillGroups *groups = range->groups;
    SbRows *rows = &range->table.state->rows;
    int64_t count = 0, bytes = rows->count * (int64_t)(sizeof(SbEntry *) + 2 * sizeof(SbSortItem));
    SbSortItem *room = sb_memory_pages(groups->memory, bytes);
    if (!room) return SB_FAULT_TOO_LARGE;
    const SbEntry **list = (const SbEntry **)(void *)(room + 2 * rows->count);
    RowSpan span = {0};
    while (sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++)
            if (!sb_group_is_merged(span_entry(&span, i))) list[count++] = span_entry(&span, i);
    static const SbSortBy by_order = {.prefix = sb_entry_order};
    sb_sort_serial(list, room, count, &by_order);
    SpillIndex *index = spill_runs_index(groups->results);
    const SpillPut put = {groups->spill, range->thread, groups->what, &by_order, index};
    bool good = spill_begin(groups->spill, range->thread) && spill_put_all(&put, list, count);
    sb_memory_free(groups->memory, room, bytes);
    SpillRun run;
    if (good) good = spill_index_end(index, groups->spill, range->thread, &run) &&
                     spill_runs_add(groups->results, &run);
    else spill_index_close(index);
    return good ? SB_OK : SB_FAULT_TOO_LARGE;
}

// Merges the range in memory. SB_FAULT_TOO_LARGE: it does not fit, or spilling failed.
static int32_t merge_range(Range *range) {
    SpillGroups *groups = range->groups;
    if (sb_groups_open(&range->table, groups->what->entry_bytes, groups->memory))
        return SB_FAULT_TOO_LARGE;
    range->last = nullptr;
    int32_t status = read_runs(range, add_group, nullptr);
    if (!status) status = write_result(range);
    if (!status) range->state = RANGE_DONE;
    else if (status != SB_FAULT_TOO_LARGE) groups->status = status;
    return status;
}

// ---- sharing out a range ------------------------------------------------------------------------

typedef struct Split {
    SbRows     rows;
    SpillRuns *ranges;
} Split;

static bool write_split(Range *range, Split *split) {
    Spill *spill = range->groups->spill;
    int64_t bytes = split->rows.count * (int64_t)sizeof(SbEntry *);
    // Without this the rows stay: what the breaker is denied is taken from what the job leaves.
    SbMemory *memory = range->groups->memory;
    const SbEntry **list = sb_memory_pages(memory, bytes);
    if (!list) list = sb_memory_pages(memory = spill->memory, bytes);
    bool good = list && write_ranges(spill, range->thread, range->groups->what, &split->rows, list,
                                     split->ranges, range->level + 1);
    sb_memory_free(memory, list, bytes);
    sb_rows_clear(&split->rows);
    return good || spill_fail(spill, TROUBLE_MEMORY, "no memory to share out spilled groups");
}

static int32_t split_row(Range *range, void *arg, const SbEntry *entry, int64_t held) {
    Split *split = arg;
    const SbBreaker *what = range->groups->what;
    const SbMemory *memory = range->groups->spill->memory;
    int64_t most = memory->limit / SPLIT_SHARE / range->groups->spill->threads;
    bool full = split->rows.count > 0 && sb_rows_bytes(&split->rows) > most;
    if (full && !write_split(range, split)) return SB_FAULT_TOO_LARGE;
    if (spill_keep(&split->rows, what, entry, held)) return SB_OK;
    bool wrote = split->rows.count > 0 && write_split(range, split);
    return wrote && spill_keep(&split->rows, what, entry, held) ? SB_OK : SB_FAULT_TOO_LARGE;
}

// Rows of the range go to ranges of their own.
static void split_range(Range *range) {
    Spill *spill = range->groups->spill;
    SbMemory *memory = range->groups->memory;
    Split split = {.ranges = open_ranges(spill, memory)};
    bool good = split.ranges &&
                !sb_rows_init(&split.rows, memory, range->groups->what->entry_bytes) &&
                !read_runs(range, split_row, &split) &&
                (split.rows.count == 0 || write_split(range, &split));
    sb_rows_fini(&split.rows);
    if (!good) spill_fail(spill, TROUBLE_MEMORY, "no memory to share out spilled groups");
    range->parts = split.ranges;
}

// ---- all ranges ---------------------------------------------------------------------------------

typedef struct KeyText {  // A str? in memory.
    SbStr   text;
    uint8_t valid;
} KeyText;

static bool is_key_text(const SbBreaker *what, const SbField *field) {
    for (uint32_t i = 0; i < what->held_count; i++)
        if (what->held[i].offset == field->offset) return what->held[i].hold == sb_held_key;
    return false;
}

// A row of the keys, whose texts are laid out as in other rows.
void spill_groups_keys(Text *text, const SbBreaker *what, const SbEntry *entry) {
    SbField *fields = calloc(what->key_count, sizeof *fields);
    KeyText *texts = calloc(what->key_count, sizeof *texts);
    for (uint32_t k = 0; fields && texts && k < what->key_count; k++) {
        fields[k] = what->row->fields[k];
        if (!is_key_text(what, &fields[k])) continue;
        const char *at = (const char *)entry + fields[k].offset;
        texts[k].text = sb_key_text((const SbKeyStr *)(const void *)at);
        texts[k].valid = fields[k].type->nullable ? (uint8_t)at[sizeof(SbKeyStr)] : 1;
        fields[k].offset = (const char *)&texts[k] - (const char *)entry;
    }
    const SbType row = {.kind = SB_STRUCT, .fields = fields, .field_count = what->key_count};
    if (fields && texts) sb_text_add_row(text, &row, entry);
    free(fields);
    free(texts);
}

// The longest row of the range: its keys come before all else that it holds. The caller frees it.
static SbEntry *longest_row(const Range *range, int64_t *bytes) {
    Spill *spill = range->groups->spill;
    const SpillRun *longest = &range->runs.items[0];
    const int64_t fixed = spill_entry_bytes(range->groups->what);
    int64_t len;
    for (uint32_t i = 1; i < range->runs.count; i++)
        if (range->runs.items[i].block_max > longest->block_max) longest = &range->runs.items[i];
    *bytes = longest->block_max;
    char *row = spill_longest(spill, longest, &len);
    SbEntry *entry = (SbEntry *)(void *)row;
    if (row) spill_link(range->groups->what, entry, row + fixed, len - fixed);
    return entry;
}

static void too_large(Range *range) {
    Text keys = {0};
    char size[SIZE_TEXT];
    int64_t bytes, table = sb_groups_bytes(&range->table);
    SbEntry *longest = longest_row(range, &bytes);
    const SbEntry *group = range->last ? range->last : longest;
    if (group) spill_groups_keys(&keys, range->groups->what, group);
    options_size_say(table > bytes ? table : bytes, size);
    spill_fail(range->groups->spill, TROUBLE_MEMORY,
               "one group takes more than %s, which --memory does not leave: %.*s", size,
               (int)keys.len, keys.ptr ? keys.ptr : "");
    sb_text_close(&keys);
    free(longest);
}

typedef struct Work {
    SpillGroups *groups;
    Range       *ranges;
    uint32_t     count;
} Work;

static bool has_failed(const SpillGroups *groups) {
    return groups->spill->failed || groups->status != SB_OK;
}

// All threads at once: who finds no memory lets go of what it has, and its range waits.
static void try_range(void *arg, uint32_t index, uint32_t thread) {
    Range *range = &((Work *)arg)->ranges[index];
    if (has_failed(range->groups)) return;
    range->thread = thread;
    merge_range(range);
    sb_groups_close(&range->table);
}

// Ranges that wait, one after the other, each with all the memory there is.
static void try_alone(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Work *work = arg;
    for (uint32_t i = 0; i < work->count && !has_failed(work->groups); i++) {
        Range *range = &work->ranges[i];
        if (range->state != RANGE_WAITS) continue;
        range->thread = thread;
        bool fits = merge_range(range) != SB_FAULT_TOO_LARGE;
        bool ends = !range->several || range->level + 1 == LEVELS;
        if (!fits && ends) too_large(range);
        if (!fits) range->state = RANGE_SPLITS;
        sb_groups_close(&range->table);
    }
}

static void try_split(void *arg, uint32_t index, uint32_t thread) {
    Range *range = &((Work *)arg)->ranges[index];
    if (range->state != RANGE_SPLITS || has_failed(range->groups)) return;
    range->thread = thread;
    split_range(range);
}

// What the groups take at most when they are merged: rows, slots, and the list that is sorted.
static int64_t merged_bytes(const SpillRuns *runs) {
    enum : int64_t { SLOTS = 2 * sizeof(SbEntry *),
                     LISTED = sizeof(SbEntry *) + 2 * sizeof(SbSortItem) };
    int64_t bytes = runs->rows * (SLOTS + LISTED);
    for (uint32_t i = 0; i < runs->count; i++) bytes += runs->items[i].bytes;
    return bytes;
}

// Ranges that stand side by side are merged together while they fill no more than a part of what is
// a thread's. Is this one the first of some? `filled` is what those before it fill, 0 at first.
static bool is_first(const Spill *spill, const SpillRuns *range, int64_t *filled) {
    int64_t most = spill->memory->limit / FILL_SHARE / spill->threads, bytes = merged_bytes(range);
    if (range->count == 0) return false;
    bool first = *filled == 0 || *filled + bytes > most;
    *filled = first ? bytes : *filled + bytes;
    return first;
}

static uint32_t count_work(const Spill *spill, const SpillRuns *ranges) {
    int64_t filled = 0;
    uint32_t count = 0;
    for (uint32_t r = 0; ranges && r < SPILL_RANGES; r++)
        count += is_first(spill, &ranges[r], &filled);
    return count;
}

// Gives `from` away.
static void join_runs(SpillRuns *to, SpillRuns *from) {
    for (uint32_t i = 0; i < from->count; i++) spill_runs_add(to, &from->items[i]);
    from->count = 0;
    from->rows = 0;
}

// The work has room for it.
static void add_work(Work *work, SpillRuns *ranges, uint32_t level) {
    int64_t filled = 0;
    for (uint32_t r = 0; ranges && r < SPILL_RANGES; r++) {
        bool first = is_first(work->groups->spill, &ranges[r], &filled);
        if (ranges[r].count == 0) continue;
        if (!first) {
            join_runs(&work->ranges[work->count - 1].runs, &ranges[r]);
            continue;
        }
        Range *range = &work->ranges[work->count++];
        *range = (Range){.groups = work->groups, .level = level};
        spill_runs_move(&range->runs, &ranges[r]);
    }
}

static bool make_room(Work *work, uint32_t count) {
    if (count == 0) return true;
    work->ranges = calloc(count, sizeof *work->ranges);
    return work->ranges ||
           spill_fail(work->groups->spill, TROUBLE_NO_MEMORY, "no memory for spilled groups");
}

// Gives the work's runs back; what was split is the next work.
static Work next_work(Work *work) {
    Work next = {.groups = work->groups};
    uint32_t count = 0;
    for (uint32_t i = 0; i < work->count; i++)
        count += count_work(work->groups->spill, work->ranges[i].parts);
    bool room = make_room(&next, count);
    for (uint32_t i = 0; i < work->count; i++) {
        Range *range = &work->ranges[i];
        if (room) add_work(&next, range->parts, range->level + 1);
        close_ranges(range->parts);
        spill_runs_close(&range->runs);
    }
    free(work->ranges);
    return next;
}

int32_t spill_groups_finish(SpillGroups *groups, SbParallel *parallel) {
    Work work = {.groups = groups};
    if (!make_room(&work, count_work(groups->spill, groups->ranges))) return SB_FAULT_TOO_LARGE;
    add_work(&work, groups->ranges, 0);
    while (work.count > 0) {
        parallel->each(parallel, work.count, try_range, &work);
        parallel->each(parallel, 1, try_alone, &work);
        parallel->each(parallel, work.count, try_split, &work);
        work = next_work(&work);
    }
    return groups->spill->failed ? SB_FAULT_TOO_LARGE : groups->status;
}
