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

// `count` of the rows from the number `first` on.
typedef struct SomeRows {
    const SbRows *rows;
    int64_t       first, count;
} SomeRows;

bool spill_sort_write(const SpillSort *sort, uint32_t thread, const SbEntry **entries,
                      int64_t count, SpillRun *run) {
    Spill *spill = sort->runs->spill;
    SbSortItem *room = malloc((size_t)count * 2 * sizeof *room);
    if (!room)
        return spill_fail(spill, TROUBLE_NO_MEMORY, "no memory to sort rows that are spilled");
    sb_sort_serial(entries, room, count, sort->by);
    free(room);
    int64_t wanted = sort->first ? first_rows_choose(sort->first, entries, count) : count;
    count = wanted ? wanted : 1;  // Where none is wanted at all one does not matter.
    SpillIndex *index = spill_runs_index(sort->runs);
    const SpillPut put = {spill, thread, sort->what, sort->by, index};
    if (spill_runs_begin(sort->runs, thread) && spill_put_all(&put, entries, count))
        return spill_index_end(index, spill, thread, run);
    spill_index_close(index);
    return false;
}

// Sorts them and writes them as a run. The memory that this takes was charged with the rows.
static bool write_sorted(const SpillSort *sort, uint32_t thread, SomeRows some, SpillRun *run) {
    const SbEntry **entries = malloc((size_t)some.count * sizeof *entries);
    if (!entries)
        return spill_fail(sort->runs->spill, TROUBLE_NO_MEMORY,
                          "no memory to sort rows that are spilled");
    int64_t count = sb_rows_list_some(some.rows, some.first, some.count, entries);
    bool good = spill_sort_write(sort, thread, entries, count, run);
    free(entries);
    return good;
}

static bool write_run(RowsRelief *self, SbRows *rows, int64_t rows_count, bool for_good) {
    SpillSortPart *part = (SpillSortPart *)(void *)self;
    SpillSort *sort = part->sort;
    SpillRun run;
    if (!write_sorted(sort, part->thread, (SomeRows){rows, 0, rows_count}, &run)) return false;
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
    SomeRows some = {rest->rows, begin, end - begin};
    SpillRun run;
    if (write_sorted(rest->sort, thread, some, &run))
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

bool spill_sort_take(SpillSort *sort, const SbRows *rows, uint32_t thread) {
    enum : int64_t { ROW_BYTES = sizeof(SbEntry *) + 2 * sizeof(SbSortItem), SHARE = 64 };
    enum : int64_t { ROWS_MIN = 1024 };
    // Nobody has charged what sorting takes: it is little.
    int64_t most = sort->runs->spill->memory->limit / SHARE / sort->threads / ROW_BYTES;
    if (most < ROWS_MIN) most = ROWS_MIN;
    for (int64_t at = 0; at < rows->count; at += most) {
        SomeRows some = {rows, at, rows->count - at < most ? rows->count - at : most};
        SpillRun run;
        if (!write_sorted(sort, thread, some, &run) || !spill_runs_add(sort->runs, &run))
            return false;
    }
    return true;
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
