#include "runtime/spill_sort.h"

#include "runtime/spill_rows.h"

#include <stdlib.h>

enum { PART_SHARE = 32 };  // A run has at least as small a part of what is each thread's.

static bool add_open(SpillSortPart *part, const SpillRun *run) {
    if (part->open_count == part->open_cap) {
        uint32_t cap = part->open_cap + part->open_cap / 4 + 4;
        SpillRun *open = realloc(part->open, cap * sizeof *open);
        if (!open)
            return spill_fail(part->sort->runs->spill, TROUBLE_MEMORY,
                              "no memory for the list of runs");
        part->open = open;
        part->open_cap = cap;
    }
    part->open[part->open_count++] = *run;
    return true;
}

static bool settle(RowsRelief *self, bool keep) {
    SpillSortPart *part = (SpillSortPart *)(void *)self;
    SpillRuns *runs = part->sort->runs;
    bool good = true;
    for (uint32_t i = 0; i < part->open_count; i++) {
        if (keep) good = spill_runs_add(runs, &part->open[i]) && good;
        else spill_forget(runs->spill, &part->open[i]);
    }
    part->open_count = 0;
    return good;
}

// The memory that this takes was charged with the rows.
static bool write_run(RowsRelief *self, SbRows *rows, int64_t rows_count, bool for_good) {
    SpillSortPart *part = (SpillSortPart *)(void *)self;
    SpillSort *sort = part->sort;
    Spill *spill = sort->runs->spill;
    int64_t count = 0;
    const SbEntry **entries = malloc((size_t)rows_count * sizeof *entries);
    SbSortItem *room = malloc((size_t)rows_count * 2 * sizeof *room);
    bool good = entries && room;
    if (!good) spill_fail(spill, TROUBLE_MEMORY, "no memory to sort rows that are spilled");
    RowSpan span = {0};
    while (good && sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count && count < rows_count; i++)
            entries[count++] = span_entry(&span, i);
    if (good) sb_sort_serial(entries, room, count, sort->by);
    free(room);
    good = good && spill_begin(spill, part->thread);
    for (int64_t i = 0; i < count && good; i++)
        good = spill_put(spill, part->thread, sort->what, entries[i]);
    free(entries);
    SpillRun run;
    if (!good || !spill_end(spill, part->thread, &run)) return false;
    return for_good ? spill_runs_add(sort->runs, &run) : add_open(part, &run);
}

bool spill_sort_open(SpillSort *sort, const SbBreaker *what, const SbSortBy *by, SpillRuns *runs) {
    *sort = (SpillSort){.what = what, .by = by, .runs = runs, .threads = runs->spill->threads};
    sort->parts = calloc(sort->threads, sizeof *sort->parts);
    return sort->parts;
}

void spill_sort_close(SpillSort *sort) {
    for (uint32_t i = 0; sort->parts && i < sort->threads; i++) free(sort->parts[i].open);
    free(sort->parts);
    *sort = (SpillSort){0};
}

bool spill_sort_watch(SpillSort *sort, uint32_t thread, SbRows *rows) {
    Spill *spill = sort->runs->spill;
    SpillSortPart *part = &sort->parts[thread];
    *part = (SpillSortPart){.sort = sort, .thread = thread};
    part->relief = (RowsRelief){
        .write = write_run,
        .settle = settle,
        .bytes_min = spill->memory->limit / PART_SHARE / spill->threads,
        .cover = sizeof(SbEntry *) + 2 * sizeof(SbSortItem),
    };
    rows->state->relief = &part->relief;
    return spill_ready(spill, thread);
}
