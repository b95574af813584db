#include "runtime/breakers/spill_sort.h"

#include "runtime/disk.h"

#include <stdlib.h>

enum { PART_SHARE = 32 };  // A run has at least as small a part of what is each thread's.

static bool add_open(SpillSortPart *part, const SpillRun *run) {
    if (part->open_count == part->open_cap) {
        uint32_t cap = part->open_cap + part->open_cap / 4 + 4;
        SpillRun *open = realloc(part->open, cap * sizeof *open);
        if (!open)
            return spill_fail(part->sort->runs->spill, TROUBLE_NO_MEMORY,
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

// Sorts `count` rows from the number `first` on and writes them as a run. The memory that this
// takes was charged with the rows.
static bool write_sorted(const SpillSort *sort, uint32_t thread, const SbRows *rows, int64_t first,
                         int64_t count, SpillRun *run) {
    Spill *spill = sort->runs->spill;
    const SbEntry **entries = malloc((size_t)count * sizeof *entries);
    SbSortItem *room = malloc((size_t)count * 2 * sizeof *room);
    bool good = entries && room;
    if (!good) spill_fail(spill, TROUBLE_NO_MEMORY, "no memory to sort rows that are spilled");
    if (good) {
        count = sb_rows_list_some(rows, first, count, entries);
        sb_sort_serial(entries, room, count, sort->by);
    }
    free(room);
    SpillIndex *index = spill_runs_index(sort->runs);
    const SpillPut put = {spill, thread, sort->what, sort->by, index};
    good = good && spill_begin(spill, thread) && spill_put_all(&put, entries, count);
    free(entries);
    if (good) return spill_index_end(index, spill, thread, run);
    spill_index_close(index);
    return false;
}

static bool write_run(RowsRelief *self, SbRows *rows, int64_t rows_count, bool for_good) {
    SpillSortPart *part = (SpillSortPart *)(void *)self;
    SpillSort *sort = part->sort;
    SpillRun run;
    if (!write_sorted(sort, part->thread, rows, 0, rows_count, &run)) return false;
    return for_good ? spill_runs_add(sort->runs, &run) : add_open(part, &run);
}

// ---- the end ------------------------------------------------------------------------------------

typedef struct Rest {
    SpillSort *sort;
    SbRows    *rows;    // Of one part:
    uint32_t   pieces;  // so many runs of them.
} Rest;

static void write_piece(void *arg, uint32_t piece, uint32_t thread) {
    Rest *rest = arg;
    int64_t begin = rest->rows->count * piece / rest->pieces;
    int64_t end = rest->rows->count * (piece + 1) / rest->pieces;
    SpillRun run;
    if (write_sorted(rest->sort, thread, rest->rows, begin, end - begin, &run))
        spill_runs_add(rest->sort->runs, &run);
}

void spill_sort_rest(SpillSort *sort, SbRows *rows, SbParallel *parallel) {
    if (rows->count == 0) return;
    int64_t worth = sb_rows_bytes(rows) / (rows->state->relief->bytes_min + 1);
    Rest rest = {sort, rows, worth < 1 ? 1 : parallel->threads};
    if (worth < rest.pieces) rest.pieces = (uint32_t)(worth < 1 ? 1 : worth);
    if (rows->count < rest.pieces) rest.pieces = (uint32_t)rows->count;
    parallel->each(parallel, rest.pieces, write_piece, &rest);
    sb_rows_clear(rows);
}

bool spill_sort_open(SpillSort *sort, const SbBreaker *what, const SbSortBy *by, SpillRuns *runs) {
    *sort = (SpillSort){.what = what, .by = by, .runs = runs, .threads = runs->spill->threads};
    sort->parts = calloc(sort->threads, sizeof *sort->parts);
    return sort->parts;
}

void spill_sort_close(SpillSort *sort) {
    for (uint32_t i = 0; sort->parts && i < sort->threads; i++) {
        SpillSortPart *part = &sort->parts[i];
        for (uint32_t r = 0; r < part->open_count; r++)
            spill_forget(sort->runs->spill, &part->open[r]);
        free(part->open);
    }
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
