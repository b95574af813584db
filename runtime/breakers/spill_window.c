#include "runtime/breakers/spill_window.h"

#include "runtime/breakers/spill_first.h"
#include "runtime/breakers/window.h"
#include "runtime/breakers/window_walk.h"

#include <stdlib.h>

// Rows take three quarters of what the merges leave. Their runs are as many as that makes them, or
// a third more.
enum : int64_t { PARTS = 4, USED = 3, MORE_RUNS = 4, FEWER_RUNS = 3 };
// Runs are merged until so many threads can read them, unless they are to be very few for that.
enum : uint32_t { PIECES = 2, RUNS_MIN = 16 };

typedef struct Work {
    SpillOrder   from;
    WindowCrew   crew;
    SpillPieces  cut;
    WindowPiece *pieces;
    int32_t     *status;   // By piece.
    uint32_t     count;
    _Atomic uint32_t next; // The piece that is begun next.
    SbRows       borders;  // The first row of each piece but the first one.
} Work;

// ---- pieces -------------------------------------------------------------------------------------

// The piece of merge `i`, unless no row comes there. False: no memory.
static bool add_piece(Work *work, uint32_t i) {
    const SbWindow *what = work->from.what->window;
    WindowPiece *before = work->count > 0 ? &work->pieces[work->count - 1] : nullptr;
    int64_t held;
    const SbEntry *first = before ? spill_merge_first(work->cut.merges[i], &held) : nullptr;
    if (before && !first) return true;
    SbEntry *here = first ? spill_keep(&work->borders, work->from.what, first, held) : nullptr;
    if (first && !here) return false;
    // Where both begin in one partition, no other one begins in the piece before.
    bool empty = before && before->skip && window_same_partition(what, before->skip, here);
    if (empty) spill_merge_close(before->merge);
    else if (before) before->last = here;
    work->count += !empty;
    work->pieces[work->count - 1] = (WindowPiece){.merge = work->cut.merges[i], .skip = here};
    work->cut.merges[i] = nullptr;
    return true;
}

// Without partitions there is one piece.
static bool open_pieces(Work *work, uint32_t most) {
    const SbBreaker *bare = work->from.what;
    SbMemory *memory = work->from.runs->spill->memory;
    if (!bare->window->partition) most = 1;
    work->pieces = calloc(most, sizeof *work->pieces);
    work->status = calloc(most, sizeof *work->status);
    enum : int64_t { WIDE = 16 };
    int64_t entry_bytes = ((int64_t)bare->entry_bytes + WIDE - 1) & -WIDE;
    bool good = work->pieces && work->status &&
                !sb_rows_init(&work->borders, memory, entry_bytes) &&
                spill_pieces_open(&work->cut, &work->from, most, true);
    for (uint32_t i = 0; good && i < work->cut.count; i++) good = add_piece(work, i);
    return good;
}

static void close_pieces(Work *work) {
    for (uint32_t i = 0; i < work->count; i++) spill_merge_close(work->pieces[i].merge);
    free(work->pieces);
    free(work->status);
    spill_pieces_close(&work->cut);
    if (work->borders.state) sb_rows_fini(&work->borders);
}

// ---- threads ------------------------------------------------------------------------------------

static void run_thread(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Work *work = arg;
    for (uint32_t i; (i = work->next++) < work->count;) {
        work->status[i] = window_walk(&work->pieces[i], &work->from, &work->crew, thread);
        window_crew_end(&work->crew);
    }
    window_crew_help(&work->crew, thread);
}

// Of faults that of the first rows counts, whoever meets one first.
static int32_t status_of(const Work *work) {
    for (uint32_t i = 0; i < work->count; i++)
        if (work->status[i]) return work->status[i];
    return SB_OK;
}

// The memory that the rows of each piece may take, and how long the blocks of their runs are: so
// that one merge reads all runs.
static void share(Work *work, uint32_t threads) {
    const SpillRuns *rows = work->from.runs;
    const Spill *spill = rows->spill;
    uint32_t shares = work->count == 1 && threads > 1 ? 2 : work->count;
    int64_t free_bytes = spill->memory->limit - sb_memory_held(spill->memory);
    int64_t budget = (free_bytes > 0 ? free_bytes : 0) / PARTS * USED / shares + 1;
    for (uint32_t i = 0; i < work->count; i++) work->pieces[i].budget = budget;
    int64_t bytes = window_run_bytes(rows, work->from.what, work->crew.sort.what);
    int64_t runs = bytes / budget * MORE_RUNS / FEWER_RUNS + shares;
    work->crew.sort.runs->block_bytes = spill_block_for(spill, (uint32_t)runs);
}

// By so many threads at most. *again: there was no memory for more than one.
static int32_t run(const SpillOrder *from, const SpillSort *to, uint32_t most,
                   SbParallel *parallel, bool *again) {
    Work work = {.from = *from};
    const Spill *spill = from->runs->spill;
    int32_t status = SB_FAULT_TOO_LARGE;
    bool good = open_pieces(&work, most) && window_crew_open(&work.crew, to, work.count);
    *again = work.count > 1 || !good;
    if (good) {
        share(&work, parallel->threads);
        parallel->each(parallel, parallel->threads, run_thread, &work);
        status = status_of(&work);
        window_crew_close(&work.crew);
    }
    close_pieces(&work);
    return spill->failed ? SB_FAULT_TOO_LARGE : status;
}

// ---- all ----------------------------------------------------------------------------------------

static int32_t add_results(const SpillRuns *rows, SpillRuns *to, const SpillWindow *window,
                           SbParallel *parallel) {
    const SpillOrder from = {rows, window->bare, window->order};
    const SpillSort sort = {.what = window->what, .by = window->by, .runs = to};
    bool again;
    int32_t status = run(&from, &sort, parallel->threads, parallel, &again);
    if (status != SB_FAULT_TOO_LARGE || to->spill->failed) return status;
    if (again) {
        spill_runs_drop(to);
        status = run(&from, &sort, 1, parallel, &again);
    }
    if (status == SB_FAULT_TOO_LARGE)
        spill_fail(to->spill, TROUBLE_MEMORY, "no memory for the rows that a window looks at");
    return status;
}

static bool merge_some(SpillRuns *rows, const SpillWindow *window, SbParallel *parallel) {
    uint32_t most = parallel->threads > 1 ? spill_runs_most(rows, PIECES) : UINT32_MAX;
    if (most < RUNS_MIN || window->first) most = UINT32_MAX;
    return spill_runs_reduce_to(rows, most, window->bare, window->order, parallel);
}

int32_t spill_window(SpillRuns *rows, const SpillWindow *window, SbParallel *parallel) {
    SpillRuns to;
    if (!merge_some(rows, window, parallel) || !spill_runs_open(&to, rows->spill, rows->memory))
        return SB_FAULT_TOO_LARGE;
    to.indexed = true;
    int32_t status = window->first
                         ? spill_first_rows(window->first, rows, &to, window->by, parallel)
                         : add_results(rows, &to, window, parallel);
    if (!status) {
        spill_runs_close(rows);
        spill_runs_move(rows, &to);
    } else {
        spill_runs_close(&to);
    }
    return status;
}
