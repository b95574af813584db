#include "runtime/input/spill_units.h"

#include "runtime/breakers.h"
#include "runtime/disk.h"
#include "runtime/report.h"

#include <stdlib.h>

enum { ROWS_A_UNIT = 1 << 15, MERGE_SHARE = 4, APART_SHARE = 2, TIMES = 2, RUNS_OF_TESTS = 64 };

// Blocks that are read twice are no more than others, but for tests, whose runs are of a few rows;
// those of all tasks take at most the part of the memory that a merge may take. Groups are cut
// where most runs begin a block, so that a unit is a block of each run and nothing is read twice.
static bool wants_ranges(SpillUnits *units) {
    const SpillUnitsSetup *what = &units->what;
    const SpillRuns *runs = units->on_disk.runs;
    const SbMemory *memory = runs->spill->memory;
    if (what->tasks < 2 || what->rows < INT64_MAX || !spill_runs_can_cut(runs)) return false;
    int64_t waste = spill_cut_waste(runs);
    bool short_ones = memory->eager && runs->count <= RUNS_OF_TESTS;
    bool longer = waste > what->bytes && !short_ones && !runs->apart;
    units->bytes = longer ? waste : what->bytes;
    units->most = TIMES * (units->bytes + waste) - waste * !runs->apart;
    int share = runs->apart ? APART_SHARE : MERGE_SHARE;
    return waste * what->tasks <= memory->limit / share && units->bytes <= what->most;
}

SpillUnits *spill_units_open(const SpillUnitsSetup *what) {
    SpillUnits *units = calloc(1, sizeof *units);
    if (!units) return nullptr;
    *units = (SpillUnits){.what = *what, .on_disk = sb_breaker_on_disk(what->breaker)};
    const SpillRuns *runs = units->on_disk.runs;
    if (!wants_ranges(units) || spill_cutter_open(&units->cutter, runs, units->bytes)) return units;
    spill_units_close(units);
    return nullptr;
}

void spill_units_close(SpillUnits *units) {
    if (!units) return;
    spill_merge_close(units->merge);
    sb_rows_close(units->read);
    spill_cutter_close(&units->cutter);
    free(units);
}

// Finds the next cut whose rows, or some of them, are wanted. False: there is none.
static bool next_cut(SpillUnits *units) {
    bool first = !units->begun;
    units->begun = true;
    if (!units->cutter.next) return units->pending = first;
    do {
        units->pending = spill_cutter_next(&units->cutter, &units->cut, &units->size);
    } while (units->pending && units->cut.ends && units->size.rows_before <= units->what.first);
    return units->pending;
}

// Says how long the longest row is, and of which group.
static UnitTake lacks_room(const SpillUnits *units, bool must, Trouble *trouble) {
    if (!must) return UNIT_LATER;
    const SpillRuns *runs = units->on_disk.runs;
    const SbBreaker *what = units->on_disk.what;
    const SpillRun *longest = spill_runs_longest(runs);
    Text keys = {0};
    char size[SIZE_TEXT];
    bool group = longest && what->kind == SB_BREAK_GROUP;
    SbEntry *row = group ? spill_longest_row(runs->spill, what, longest) : nullptr;
    if (row) spill_groups_keys(&keys, what, row);
    size_say(longest ? longest->block_max : 0, size);
    trouble_set(trouble, TROUBLE_MEMORY, "reading spilled rows, of which one takes %s, needs more "
                "than --memory leaves%s%.*s", size, keys.len > 0 ? ", at the group " : "",
                (int)keys.len, keys.ptr ? keys.ptr : "");
    sb_text_close(&keys);
    free(row);
    return UNIT_TROUBLE;
}

// ---- one merge ----------------------------------------------------------------------------------

static UnitTake open_merge(SpillUnits *units, bool must, Trouble *trouble) {
    const SpillOrder *order = &units->on_disk;
    const SpillCut *cut = units->cutter.next ? &units->cut : nullptr;
    int64_t held;
    units->merge = spill_merge_open_of(&(SpillMergeOf){*order, cut, nullptr});
    if (!units->merge) return lacks_room(units, must, trouble);
    while (spill_merge_first(units->merge, &held) &&
           spill_merge_row(units->merge) < units->what.first)
        spill_merge_pass(units->merge);
    return UNIT_NONE;
}

// The next rows of the merge. UNIT_NONE: the cut has no others.
static UnitTake take_batch(SpillUnits *units, Unit *unit, bool must, Trouble *trouble) {
    int64_t rows = units->what.rows < ROWS_A_UNIT ? units->what.rows : ROWS_A_UNIT;
    bool refused = false;
    if (!units->read) {
        units->row = spill_merge_row(units->merge);
        units->read = sb_breaker_next(units->what.breaker, units->merge, units->what.bytes, rows,
                                      &refused);
    }
    if (spill_trouble(units->on_disk.runs->spill, trouble)) return UNIT_TROUBLE;
    if (!units->read) return refused ? lacks_room(units, must, trouble) : UNIT_NONE;
    Batch *batch = batch_open(units->read);
    if (!batch) return lacks_room(units, must, trouble);
    units->read = nullptr;
    unit->entries = batch->entries;
    unit->end = batch->count;
    unit->range_begin = units->row;
    unit->range_end = units->row + batch->count;
    unit->slices[0] = (Slice){batch, batch->entries, batch->count};
    return UNIT_TAKEN;
}

// ---- ranges -------------------------------------------------------------------------------------

// The cut as a unit. UNIT_NONE: it is too long for one. UNIT_LATER: there is no memory now.
static UnitTake take_range(const SpillUnits *units, Unit *unit) {
    if (!units->cutter.next || units->size.bytes > units->most) return UNIT_NONE;
    SpillRange *range = spill_range_open(units->on_disk.runs, &units->cut, &units->size);
    Batch *batch = range ? batch_open_range(range) : nullptr;
    if (!batch) {
        spill_range_close(range);
        return UNIT_LATER;
    }
    unit->slices[0] = (Slice){.batch = batch};
    return UNIT_TAKEN;
}

bool spill_units_reads(const Unit *unit) {
    const Batch *batch = unit->slices[0].batch;
    return batch && batch->range && !batch->entries;
}

bool spill_units_prepare(const SpillUnits *units, Unit *unit, Trouble *trouble) {
    if (!spill_units_reads(unit)) return true;
    Batch *batch = unit->slices[0].batch;
    SpillRange *range = batch->range;
    const SpillOrder *order = &units->on_disk;
    if (!spill_range_read(range, order))
        return !spill_trouble(order->runs->spill, trouble) &&
               trouble_no_memory(trouble, "to merge spilled rows");
    int64_t passed = units->what.first - range->row;
    if (passed < 0) passed = 0;
    unit->range_begin = range->row + passed;
    if (passed > range->count) passed = range->count;
    batch->entries = range->entries + passed;
    batch->count = range->count - passed;
    unit->range_end = unit->range_begin + batch->count;
    unit->entries = batch->entries;
    unit->end = batch->count;
    unit->slices[0] = (Slice){batch, batch->entries, batch->count};
    return true;
}

// ---- once more ----------------------------------------------------------------------------------

// The next cut that may have rows from number `row` on.
static bool seek(SpillCutter *cutter, SpillCut *cut, int64_t row) {
    SpillCutSize size;
    do {
        if (!spill_cutter_next(cutter, cut, &size)) return false;
    } while (cut->ends && size.rows_before <= row);
    return true;
}

// Adds rows of the merge from number `from` on, until there are so many. False: no memory.
static bool add_rows(const SpillUnits *units, SpillMerge *merge, int64_t from, int64_t rows,
                     SbRows *read) {
    int64_t held;
    bool good = true;
    for (const SbEntry *entry; good && read->count < rows;) {
        entry = spill_merge_first(merge, &held);
        if (!entry) break;
        bool wanted = spill_merge_row(merge) >= from;
        good = !wanted || spill_keep(read, units->on_disk.what, entry, held);
        if (good) spill_merge_pass(merge);
    }
    return good;
}

// The rows of the unit, by cuts as far as the runs can be cut. nullptr: there is no memory, or
// trouble (spill->failed).
static SbRows *read_again(const SpillUnits *units, const Unit *unit) {
    const SpillOrder *order = &units->on_disk;
    int64_t rows = unit->range_end - unit->range_begin;
    int64_t bytes = units->bytes > 0 ? units->bytes : units->what.bytes;
    SbRows *read = sb_rows_open(order->runs->spill->memory, order->what->entry_bytes,
                                units->what.bytes);
    SpillCutter cutter = {0};
    SpillCut cut;
    bool cuts = spill_runs_can_cut(order->runs);
    bool good = read && (!cuts || spill_cutter_open(&cutter, order->runs, bytes)), more = true;
    while (good && more && read->count < rows) {
        more = cuts && seek(&cutter, &cut, unit->range_begin);
        if (cuts && !more) break;
        SpillMerge *merge =
            spill_merge_open_of(&(SpillMergeOf){*order, cuts ? &cut : nullptr, nullptr});
        good = merge && add_rows(units, merge, unit->range_begin, rows, read);
        spill_merge_close(merge);
    }
    spill_cutter_close(&cutter);
    if (good && read->count == rows && !order->runs->spill->failed) return read;
    sb_rows_close(read);
    return nullptr;
}

// Its rows are somewhere in the merged sequence. Where no index says where blocks begin, all rows
// before them are passed over.
UnitTake spill_units_find(const SpillUnits *units, Unit *unit, bool must, Trouble *trouble) {
    if (unit->range_begin == unit->range_end) return UNIT_TAKEN;
    SbRows *read = read_again(units, unit);
    Batch *batch = read ? batch_open(read) : nullptr;
    if (!batch) sb_rows_close(read);
    if (spill_trouble(units->on_disk.runs->spill, trouble)) return UNIT_TROUBLE;
    if (!batch) return lacks_room(units, must, trouble);
    unit->entries = batch->entries;
    unit->end = batch->count;
    unit->slices[0] = (Slice){batch, batch->entries, batch->count};
    return UNIT_TAKEN;
}

// ---- taking -------------------------------------------------------------------------------------

UnitTake spill_units_take(SpillUnits *units, Unit *unit, bool must, Trouble *trouble) {
    for (UnitTake taken;;) {
        if (units->merge) {
            taken = take_batch(units, unit, must, trouble);
            if (taken != UNIT_NONE) return taken;
            spill_merge_close(units->merge);
            units->merge = nullptr;
            units->pending = false;
        }
        if (!units->pending && !next_cut(units)) return UNIT_NONE;
        taken = take_range(units, unit);
        units->pending = taken != UNIT_TAKEN;
        if (taken == UNIT_TAKEN || (taken == UNIT_LATER && !must)) return taken;
        taken = open_merge(units, must, trouble);
        if (taken != UNIT_NONE) return taken;
    }
}
