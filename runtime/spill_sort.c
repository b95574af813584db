#include "runtime/spill_sort.h"

#include "runtime/spill_rows.h"

#include <stdlib.h>

enum { PART_SHARE = 32 };  // A run has at least as small a part of what is each thread's.

// The memory that this takes was charged with the rows.
static bool write_run(RowsRelief *self, SbRows *rows) {
    SpillSortPart *part = (SpillSortPart *)(void *)self;
    SpillSort *sort = part->sort;
    Spill *spill = sort->runs->spill;
    int64_t count = 0;
    const SbEntry **entries = malloc((size_t)rows->count * sizeof *entries);
    SbSortItem *room = malloc((size_t)rows->count * 2 * sizeof *room);
    bool good = entries && room;
    if (!good) spill_fail(spill, TROUBLE_MEMORY, "no memory to sort rows that are spilled");
    RowSpan span = {0};
    while (good && sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++) entries[count++] = span_entry(&span, i);
    if (good) sb_sort_serial(entries, room, count, sort->by);
    free(room);
    good = good && spill_begin(spill, part->thread);
    for (int64_t i = 0; i < count && good; i++)
        good = spill_put(spill, part->thread, sort->what, entries[i]);
    free(entries);
    SpillRun run;
    return good && spill_end(spill, part->thread, &run) && spill_runs_add(sort->runs, &run);
}

bool spill_sort_open(SpillSort *sort, const SbBreaker *what, const SbSortBy *by, SpillRuns *runs) {
    *sort = (SpillSort){.what = what, .by = by, .runs = runs};
    sort->parts = calloc(runs->spill->threads, sizeof *sort->parts);
    return sort->parts;
}

void spill_sort_close(SpillSort *sort) {
    free(sort->parts);
    *sort = (SpillSort){0};
}

bool spill_sort_watch(SpillSort *sort, uint32_t thread, SbRows *rows) {
    Spill *spill = sort->runs->spill;
    SpillSortPart *part = &sort->parts[thread];
    *part = (SpillSortPart){.sort = sort, .thread = thread};
    part->relief = (RowsRelief){
        .write = write_run,
        .bytes_min = spill->memory->limit / PART_SHARE / spill->threads,
        .cover = sizeof(SbEntry *) + 2 * sizeof(SbSortItem),
    };
    rows->state->relief = &part->relief;
    return spill_ready(spill, thread);
}
