// Far: parts of a breaker that another process has filled.
//
//   worker        a part of its breaker ── sb_breaker_leave ──▶ FarPart: where its rows lie
//   coordinator   FarPart ── sb_breaker_take_far ──▶ one part more of its breaker
//
// The rows stay where they are, in the arena of the process that made them. The coordinator maps
// that arena to write, so that states of groups merge there as those of its own parts do. What does
// not stay in memory the other process has written as runs (sb_breaker_add_run).
#ifndef SBC_RUNTIME_BREAKERS_FAR_H
#define SBC_RUNTIME_BREAKERS_FAR_H

#include "runtime/breakers/breaker.h"
#include "runtime/rows.h"

typedef struct FarPart {
    RowBlock *spans;    // Entries that lie side by side; from malloc.
    int64_t   span_count;
    int64_t   bytes;    // Of the memory that they and what they point to lie in.
} FarPart;

void far_part_close(FarPart *part);

// Takes all rows out of the part of `thread`: `far` says where they lie. The blocks that they lie
// in are told to `fn`, and belong to somebody else from now on. False: no memory, and the rows are
// where they were.
bool sb_breaker_leave(SbBreakerState *breaker, uint32_t thread, FarPart *far, SbBlockFn *fn,
                      void *arg);
// Has a part written a run?
bool sb_breaker_has_runs(const SbBreakerState *breaker);
// Takes the runs that parts have written out of the breaker, while nobody fills it. The indexes and
// the disk that they take are the caller's; the array is from malloc, or nullptr.
SpillRun *sb_breaker_leave_runs(SbBreakerState *breaker, uint32_t *count);

// Adds the part, which is closed. The breaker holds `far` until it is closed or has written the
// rows. `set`: of lanes, that its rows belong to. False: no memory. The lock of the dispatch is
// held.
bool sb_breaker_take_far(SbBreakerState *breaker, uint32_t set, FarPart *part, FarRows *far);
// Writes far parts of the set as runs, with the writer of `thread`. Parts of another set may come
// meanwhile. False: the spill has failed.
bool sb_breaker_relieve_far(SbBreakerState *breaker, uint32_t set, uint32_t thread);
// Lets go of far parts whose rows went to disk. The lock of the dispatch is held.
void sb_breaker_let_far_go(SbBreakerState *breaker);

// Lists where rows lie. False: no memory.
bool far_part_list(const SbRows *rows, FarPart *part);
// Do rows point to nothing but their own texts?
bool far_lies_together(const SbBreaker *what);

#endif
