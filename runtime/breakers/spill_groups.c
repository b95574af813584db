#include "runtime/breakers/spill_groups.h"

#include "runtime/disk.h"
#include "runtime/report.h"
#include "stdlib/aggregate.h"
#include "stdlib/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    RANGE_BITS_MIN = 4,
    RANGE_BITS_MAX = 8,
    HASH_BITS = 32,      // Of a hash that groups are shared out by, some at each level...
    HASH_SHIFT = 50,     // ...from there down. Slots use the lowest ones.
    PART_BYTES = 4096,   // Ranges of a table are longer, or fewer.
    TABLE_SHARE = 32,    // A table that is written has at least as small a part of each thread's.
    SPLIT_SHARE = 4,     // One that is shared out is as small a part of each thread's.
    FILL_SHARE = 2,      // Ranges that are merged together fill as small a part of each thread's.
};
static_assert(SPILL_RANGES == 1 << RANGE_BITS_MAX && HASH_SHIFT >= HASH_BITS);

// The tables of a level.
static bool open_tables(SpillTables *tables, const SpillGroups *groups, uint32_t level) {
    *tables = (SpillTables){.what = groups->what, .ranges = 1u << groups->bits,
                            .shift = HASH_SHIFT - groups->bits * (level + 1)};
    return spill_tables_open(tables, groups->spill, groups->memory);
}

// ---- writing ------------------------------------------------------------------------------------

static bool write_table(GroupsRelief *self, SbGroups *table) {
    SpillGroupsPart *part = (SpillGroupsPart *)(void *)self;
    SpillGroups *groups = part->groups;
    const SbEntry **list = sb_groups_list(table);
    groups->used = true;
    if (!list) return spill_fail(groups->spill, TROUBLE_MEMORY, "no memory to write groups");
    return spill_tables_add(&groups->tables, part->thread, &table->state->rows, list);
}

// Runs that a journal has are those of all jobs that go on with it; those that several processes
// write are of one job.
static uint32_t range_bits(const Spill *spill) {
    int64_t table = spill->memory->limit / SPLIT_SHARE / spill->threads;
    uint32_t bits = RANGE_BITS_MAX;
    bool fixed = spill->journaled || spill->shared;
    while (!fixed && bits > RANGE_BITS_MIN && table >> bits < PART_BYTES) bits--;
    return bits;
}

SpillGroups *spill_groups_open(Spill *spill, const SbBreaker *what, SpillRuns *results) {
    SpillGroups *groups = calloc(1, sizeof *groups);
    if (!groups) return nullptr;
    groups->spill = spill;
    groups->what = what;
    groups->results = results;
    results->apart = true;  // No two groups have the same first row.
    groups->memory = results->memory;
    groups->bits = range_bits(spill);
    groups->parts = calloc(spill->threads, sizeof *groups->parts);
    pthread_mutex_init(&groups->bounding, nullptr);
    if (open_tables(&groups->tables, groups, 0) && groups->parts) return groups;
    spill_groups_close(groups);
    return nullptr;
}

void spill_groups_close(SpillGroups *groups) {
    if (!groups) return;
    spill_tables_close(&groups->tables);
    pthread_mutex_destroy(&groups->bounding);
    free(groups->bounds.keys);
    free(groups->parts);
    free(groups);
}

bool spill_groups_watch(SpillGroups *groups, uint32_t thread, SbGroups *table) {
    SpillGroupsPart *part = &groups->parts[thread];
    *part = (SpillGroupsPart){.groups = groups, .thread = thread};
    part->relief = (GroupsRelief){
        .write = write_table,
        .bytes_min = groups->spill->memory->limit / TABLE_SHARE / groups->spill->threads,
        .threads = groups->spill->threads};
    table->state->relief = &part->relief;
    return spill_ready(groups->spill, thread);
}

bool spill_groups_write(SpillGroups *groups, const SbRows *rows, uint32_t thread) {
    int64_t bytes = rows->count * (int64_t)sizeof(SbEntry *);
    // What the breaker is denied is taken from what the job leaves.
    SbMemory *memory = groups->memory;
    const SbEntry **list = sb_memory_pages(memory, bytes);
    if (!list) list = sb_memory_pages(memory = groups->spill->memory, bytes);
    groups->used = true;
    bool good = list && spill_tables_add(&groups->tables, thread, rows, list);
    sb_memory_free(memory, list, bytes);
    return good || spill_fail(groups->spill, TROUBLE_MEMORY, "no memory to write groups");
}

// ---- merging a range ----------------------------------------------------------------------------

// Some ranges of hashes that stand side by side, and what becomes of them.
typedef enum RangeState {
    RANGE_WAITS,
    RANGE_DONE,
    RANGE_SPLITS,   // Alone it does not fit the memory either.
} RangeState;

typedef struct Range {
    SpillGroups *groups;
    const SpillTables *tables;
    uint32_t     from, to;   // The ranges from..to-1.
    RangeState   state;
    uint32_t     level, thread;
    SbGroups     table;
    SbEntry     *last;       // The group that was added last.
    uint64_t     hash;       // Of the first group...
    bool         several;    // ...and there is another one.
    int64_t      share;      // Bytes of it in all tables.
    int64_t      bytes;      // Of its groups as they are written, about.
    SpillTables  parts;      // Of a range that splits.
} Range;

// Reads all rows of the range, a table after the other.
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

static int32_t read_rows(Range *range, TakeFn *take, void *arg) {
    const SpillTables *tables = range->tables;
    int32_t status = SB_OK;
    SpillRun run, next;
    uint32_t count = tables->runs.count;
    bool good = spill_tables_run(tables, 0, range->from, range->to, &next);
    for (uint32_t t = 0; good && t < count && !status; t++) {
        run = next;
        if (t + 1 < count) good = spill_tables_run(tables, t + 1, range->from, range->to, &next);
        if (good && t + 1 < count) spill_ask(range->groups->spill, &next);
        if (good && run.rows > 0) status = read_run(range, &run, take, arg);
    }
    return good ? status : SB_FAULT_TOO_LARGE;
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
    else table->count++, range->bytes += spill_entry_bytes(range->groups->what) + held;
    return SB_OK;
}

// The first result says where all of them begin a block: hashes share groups out, so that first
// rows of all results lie about alike. In the largest one, too, few blocks are full before a bound.
static const SpillBounds *find_bounds(const Range *range, const SbEntry *const *list,
                                      int64_t count) {
    enum { FILL = 3, FILL_OF = 4, BOUNDS_MOST = 1 << 14 };
    SpillGroups *groups = range->groups;
    pthread_mutex_lock(&groups->bounding);
    SpillBounds *bounds = &groups->bounds;
    double larger = range->share > 0 ? (double)groups->share_most / (double)range->share : 1;
    double most = larger * (double)range->bytes * FILL_OF / FILL;
    int64_t blocks = (int64_t)(most / (double)(groups->block_bytes + 1));
    if (blocks > BOUNDS_MOST) blocks = BOUNDS_MOST;
    if (blocks > count / 2) blocks = count / 2;
    if (!groups->bounded) bounds->keys = calloc((size_t)blocks + 1, sizeof *bounds->keys);
    for (int64_t b = 0; bounds->keys && !groups->bounded && b < blocks; b++)
        bounds->keys[bounds->count++] = list[count * (b + 1) / (blocks + 1)]->order;
    groups->bounded = true;
    pthread_mutex_unlock(&groups->bounding);
    return bounds->keys ? bounds : nullptr;
}

// Writes the groups of the table in the order of their first rows. Nobody asks for their hashes
// again, in which LZ4 finds nothing.
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
            if (!sb_group_is_merged(span_entry(&span, i))) {
                SbEntry *entry = span_entry(&span, i);
                entry->hash = 0;
                list[count++] = entry;
            }
    static const SbSortBy by_order = {.prefix = sb_entry_order};
    sb_sort_serial(list, room, count, &by_order);
    SpillIndex *index = spill_runs_index(groups->results);
    const SpillBounds *bounds = index ? find_bounds(range, list, count) : nullptr;
    if (bounds) spill_index_bound(index, bounds);
    const SpillPut put = {groups->spill, range->thread, groups->what, &by_order, index};
    bool good = spill_begin_short(groups->spill, range->thread, groups->block_bytes) &&
                spill_put_all(&put, list, count);
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
    range->bytes = 0;
    int32_t status = read_rows(range, add_group, nullptr);
    if (!status) status = write_result(range);
    if (!status) range->state = RANGE_DONE;
    else if (status != SB_FAULT_TOO_LARGE) groups->status = status;
    return status;
}

// ---- sharing out a range ------------------------------------------------------------------------

static bool write_split(Range *range, SbRows *rows) {
    Spill *spill = range->groups->spill;
    int64_t bytes = rows->count * (int64_t)sizeof(SbEntry *);
    // Without this the rows stay: what the breaker is denied is taken from what the job leaves.
    SbMemory *memory = range->groups->memory;
    const SbEntry **list = sb_memory_pages(memory, bytes);
    if (!list) list = sb_memory_pages(memory = spill->memory, bytes);
    bool good = list && spill_tables_add(&range->parts, range->thread, rows, list);
    sb_memory_free(memory, list, bytes);
    sb_rows_clear(rows);
    return good || spill_fail(spill, TROUBLE_MEMORY, "no memory to share out spilled groups");
}

static int32_t split_row(Range *range, void *arg, const SbEntry *entry, int64_t held) {
    SbRows *rows = arg;
    const SbBreaker *what = range->groups->what;
    const SbMemory *memory = range->groups->spill->memory;
    int64_t most = memory->limit / SPLIT_SHARE / range->groups->spill->threads;
    bool full = rows->count > 0 && sb_rows_bytes(rows) > most;
    if (full && !write_split(range, rows)) return SB_FAULT_TOO_LARGE;
    if (spill_keep(rows, what, entry, held)) return SB_OK;
    bool wrote = rows->count > 0 && write_split(range, rows);
    return wrote && spill_keep(rows, what, entry, held) ? SB_OK : SB_FAULT_TOO_LARGE;
}

// Rows of the range go to tables of their own.
static void split_range(Range *range) {
    Spill *spill = range->groups->spill;
    SbRows rows = {0};
    bool good = open_tables(&range->parts, range->groups, range->level + 1) &&
                !sb_rows_init(&rows, range->groups->memory, range->groups->what->entry_bytes) &&
                !read_rows(range, split_row, &rows) &&
                (rows.count == 0 || write_split(range, &rows));
    sb_rows_fini(&rows);
    if (!good) spill_fail(spill, TROUBLE_MEMORY, "no memory to share out spilled groups");
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

// The run that has the longest row of the range. False: trouble.
static bool find_longest(const Range *range, SpillRun *longest) {
    SpillRun run;
    *longest = (SpillRun){0};
    for (uint32_t t = 0; t < range->tables->runs.count; t++) {
        if (!spill_tables_run(range->tables, t, range->from, range->to, &run)) return false;
        if (run.block_max > longest->block_max) *longest = run;
    }
    return true;
}

// The longest row of the range: its keys come before all else that it holds. The caller frees it.
static SbEntry *longest_row(const Range *range, int64_t *bytes) {
    SpillRun longest;
    *bytes = 0;
    if (!find_longest(range, &longest)) return nullptr;
    *bytes = longest.block_max;
    return spill_longest_row(range->groups->spill, range->groups->what, &longest);
}

static void too_large(Range *range) {
    Text keys = {0};
    char size[SIZE_TEXT];
    int64_t bytes, table = sb_groups_bytes(&range->table);
    SbEntry *longest = longest_row(range, &bytes);
    const SbEntry *group = range->last ? range->last : longest;
    if (group) spill_groups_keys(&keys, range->groups->what, group);
    size_say(table > bytes ? table : bytes, size);
    spill_fail(range->groups->spill, TROUBLE_MEMORY,
               "one group takes more than %s, which --memory does not leave: %.*s", size,
               (int)keys.len, keys.ptr ? keys.ptr : "");
    sb_text_close(&keys);
    free(longest);
}

// Ranges of one level.
typedef struct Work {
    SpillGroups *groups;
    Range       *ranges;
    uint32_t     count, level;
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
        bool ends = !range->several || range->level + 1 == HASH_BITS / range->groups->bits;
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
static int64_t merged_bytes(const SpillShare *share) {
    enum : int64_t { SLOTS = 2 * sizeof(SbEntry *),
                     LISTED = sizeof(SbEntry *) + 2 * sizeof(SbSortItem) };
    return share->rows * (SLOTS + LISTED) + share->bytes;
}

// Ranges that stand side by side are merged together while they fill no more than a part of what is
// a thread's. The work has room for them.
static void add_work(Work *work, const SpillTables *tables, const SpillShare *shares) {
    const Spill *spill = work->groups->spill;
    int64_t most = spill->memory->limit / FILL_SHARE / spill->threads, filled = 0;
    for (uint32_t r = 0; r < tables->ranges; r++) {
        int64_t bytes = merged_bytes(&shares[r]);
        if (shares[r].rows == 0) continue;
        bool first = filled == 0 || filled + bytes > most;
        filled = first ? bytes : filled + bytes;
        if (first)
            work->ranges[work->count++] = (Range){.groups = work->groups, .tables = tables,
                                                  .from = r, .level = work->level};
        Range *range = &work->ranges[work->count - 1];
        range->to = r + 1;
        range->share += shares[r].bytes;
        if (range->share > work->groups->share_most) work->groups->share_most = range->share;
    }
}

static void merge_tables(SpillGroups *groups, const SpillTables *tables, uint32_t level,
                         SbParallel *parallel);

// Ranges that do not fit are shared out, as many at a time as there are threads, and what comes of
// them is merged before the next ones are: so neither memory nor disk holds it of all.
static void merge_work(Work *work, SbParallel *parallel) {
    SpillGroups *groups = work->groups;
    parallel->each(parallel, work->count, try_range, work);
    parallel->each(parallel, 1, try_alone, work);
    for (uint32_t i = 0, some; i < work->count; i += some) {
        some = work->count - i < parallel->threads ? work->count - i : parallel->threads;
        Work these = {groups, work->ranges + i, some, work->level};
        parallel->each(parallel, some, try_split, &these);
        for (uint32_t r = i; r < i + some; r++) {
            SpillTables *parts = &work->ranges[r].parts;
            if (parts->runs.count > 0) merge_tables(groups, parts, work->level + 1, parallel);
            spill_tables_close(parts);
        }
    }
}

static void merge_tables(SpillGroups *groups, const SpillTables *tables, uint32_t level,
                         SbParallel *parallel) {
    SpillShare shares[SPILL_RANGES];
    if (has_failed(groups) || !spill_tables_shares(tables, shares)) return;
    Work work = {.groups = groups, .level = level,
                 .ranges = calloc(tables->ranges, sizeof *work.ranges)};
    if (!work.ranges) {
        spill_fail(groups->spill, TROUBLE_NO_MEMORY, "no memory for spilled groups");
        return;
    }
    add_work(&work, tables, shares);
    if (level == 0) groups->block_bytes = spill_block_for(groups->spill, work.count);
    merge_work(&work, parallel);
    free(work.ranges);
}

int32_t spill_groups_finish(SpillGroups *groups, SbParallel *parallel) {
    merge_tables(groups, &groups->tables, 0, parallel);
    spill_runs_drop(&groups->tables.runs);
    return groups->spill->failed ? SB_FAULT_TOO_LARGE : groups->status;
}
