// Spill merge: runs on disk become one sequence in order, by a tree of losers; and when there are
// more runs than buffers fit into memory, first fewer runs.
#ifndef SBC_RUNTIME_SPILL_MERGE_H
#define SBC_RUNTIME_SPILL_MERGE_H

#include "runtime/sort.h"
#include "runtime/spill.h"

// The runs of a breaker.
typedef struct SpillRuns {
    Spill    *spill;
    SbMemory *memory;       // That reading them takes from.
    SpillRun *items;
    uint32_t  count, cap;
    int64_t   rows;
    pthread_mutex_t lock;   // Of adding.
} SpillRuns;

bool spill_runs_open(SpillRuns *runs, Spill *spill, SbMemory *memory);
// Gives the disk back too.
void spill_runs_close(SpillRuns *runs);
// `to` becomes what `from` is; `from` is closed.
void spill_runs_move(SpillRuns *to, SpillRuns *from);
// Gives up the runs that are there.
void spill_runs_drop(SpillRuns *runs);
bool spill_runs_add(SpillRuns *runs, const SpillRun *run);
// Merges runs until one merge can read all that are left.
bool spill_runs_reduce(SpillRuns *runs, const SbBreaker *what, const SbSortBy *by,
                       SbParallel *parallel);

// One merge, by one thread.
typedef struct SpillMerge SpillMerge;

// The runs must stay. nullptr: no memory, which is no trouble yet.
SpillMerge *spill_merge_open(const SpillRuns *runs, const SbBreaker *what, const SbSortBy *by);
// Says that it is. False.
bool spill_no_merge(const SpillRuns *runs);
void spill_merge_close(SpillMerge *merge);
// The first entry in order that was not passed, and the bytes of what it holds, which lie behind
// it. nullptr: there is none, or trouble.
const SbEntry *spill_merge_first(SpillMerge *merge, int64_t *held_bytes);
// Passes it.
void spill_merge_pass(SpillMerge *merge);

#endif
