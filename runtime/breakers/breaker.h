// Breaker: where rows are kept until all of them are there: groups, sorts, the build side of
// joins; and the row batches that pass a stage border.
//
// Life of a breaker:
//
//   open ─▶ filled, a part for each thread ─▶ finished, once ─▶ read, merged or probed ─▶ closed
//
// A part (sb_breaker_part) is the terminal of tasks. A breaker is finished when all its producers
// are done. Then its rows stand in order (sb_breaker_entries), come in order from disk
// (sb_breaker_on_disk) or can be probed (sb_breaker_table).
// An edge has no part for a thread: each task gets its own batch (sb_rows_open).
#ifndef SBC_RUNTIME_BREAKER_H
#define SBC_RUNTIME_BREAKER_H

#include "runtime/abi/program.h"
#include "runtime/disk.h"
#include "runtime/host.h"
#include "runtime/memory.h"
#include "runtime/rows.h"

typedef struct SbBreakerState SbBreakerState;
typedef struct SpillMerge SpillMerge;
typedef struct SpillOrder SpillOrder;
typedef struct SpillJoin SpillJoin;

// `spill` is nullptr, or has as many threads: what the memory does not hold goes there. nullptr:
// over the limit. `what` must outlive the breaker.
SbBreakerState *sb_breaker_open(const SbBreaker *what, uint32_t threads, SbMemory *memory,
                                Spill *spill);
void sb_breaker_close(SbBreakerState *breaker);

// Of a sort, before rows come: only the first `most` rows of each partition are wanted, or the last
// one, as SbWindow.keeps says. Without a window all rows are one partition. INT64_MAX: all rows are
// wanted. False: no memory.
bool sb_breaker_want_first(SbBreakerState *breaker, int64_t most);

// Of a join: from now on right rows are left out whose keys the filter has not; nullptr: none are.
// The filter must outlive that. Returns how many were left out before.
int64_t sb_breaker_leave_out(SbBreakerState *breaker, const SbKeyFilter *filter);
// How many the part has left out since this was asked last.
int64_t sb_breaker_take_left_out(SbBreakerState *breaker, uint32_t thread);

// What tasks of `thread` put into SbTask.terminals: SbGroups * for a group, SbRows * else.
void *sb_breaker_part(SbBreakerState *breaker, uint32_t thread);

// What the part of `thread`, of no group, is given from now on is taken back, or kept, as the next
// call says. False: spill->failed.
void sb_breaker_mark(SbBreakerState *breaker, uint32_t thread);
void sb_breaker_back(SbBreakerState *breaker, uint32_t thread);
bool sb_breaker_keep(SbBreakerState *breaker, uint32_t thread);

// Puts what the part of `thread`, which fills it no more or not now, keeps on disk. True: there was
// something.
bool sb_breaker_relieve(SbBreakerState *breaker, uint32_t thread);

// The runs that the parts from `from` to `to` have written since they were last asked; from malloc.
// nullptr: no memory.
SpillRun *sb_breaker_take_runs(SbBreakerState *breaker, uint32_t from, uint32_t to,
                               uint32_t *count);
// Adds a run that another job wrote. False: no memory, or nothing of the breaker is on disk.
bool sb_breaker_add_run(SbBreakerState *breaker, const SpillRun *run);

// Merges the parts and brings the rows into order. SB_OK, SB_FAULT_TOO_LARGE when the account is
// exhausted or spilling failed (spill->failed), or a fault of an aggregate's merge.
int32_t sb_breaker_finish(SbBreakerState *breaker, SbParallel *parallel);

// After finish: the rows in output order. A group without keys has exactly one. nullptr with a
// count: they are on disk.
const SbEntry *const *sb_breaker_entries(const SbBreakerState *breaker, int64_t *count);
// Rows that are on disk, and their output order. Any number of readers may merge them.
SpillOrder sb_breaker_on_disk(const SbBreakerState *breaker);
// Of the rows on disk, bytes of the longest at most; 0: there are none.
int64_t sb_breaker_row_max(const SbBreakerState *breaker);
// The next rows: about `bytes` of them, at most `rows`. nullptr: there are none, or trouble
// (spill->failed), or `refused`: there is no memory now.
SbRows *sb_breaker_next(const SbBreakerState *breaker, SpillMerge *from, int64_t bytes,
                        int64_t rows, bool *refused);
// After finish of SB_BREAK_JOIN. Of rows that are on disk the table is empty: sb_breaker_join.
const SbTable *sb_breaker_table(const SbBreakerState *breaker);
// The rows of a join's build side that are on disk; nullptr: they are in memory.
SpillJoin *sb_breaker_join(const SbBreakerState *breaker);
// Of a join whose unmatched rows come out, after finish: the rows that probes have matched so far,
// a bit for each row that came in. Rows are numbered in the order of (hash, right order), so that a
// number means the same row in memory, on disk, and in another run of the job. A bit may be copied
// while probes set others.
int64_t sb_breaker_marks_bytes(const SbBreakerState *breaker);
void sb_breaker_copy_marks(const SbBreakerState *breaker, uint64_t *marks);
// Before any probe.
void sb_breaker_set_marks(SbBreakerState *breaker, const uint64_t *marks);
// After all probes: from now on the rows that come out (sb_breaker_entries,
// sb_breaker_on_disk) are those that none matched, where they are on disk. False: spill->failed.
bool sb_breaker_rest(SbBreakerState *breaker, SbParallel *parallel);
// After finish: rows that came in.
int64_t sb_breaker_rows_in(const SbBreakerState *breaker);

#endif
