// Spill merge: runs on disk become one sequence in order, by a tree of losers; and when there are
// more runs than buffers fit into memory, first fewer runs.
#ifndef SBC_RUNTIME_SPILL_MERGE_H
#define SBC_RUNTIME_SPILL_MERGE_H

#include "runtime/abi/program.h"
#include "runtime/disk/index.h"
#include "runtime/rows.h"

// The runs of a breaker.
typedef struct SpillRuns {
    Spill    *spill;
    SbMemory *memory;       // The account that reading the runs takes from.
    SpillRun *items;
    uint32_t  count, cap;
    int64_t   rows;
    int64_t   block_bytes;  // Of runs that are written for them, at most; 0: as usual.
    bool      indexed;      // Who reads them looks for rows in their midst.
    bool      apart;        // No two rows have the same SpillKey.
    pthread_mutex_t lock;   // Of adding.
} SpillRuns;

bool spill_runs_open(SpillRuns *runs, Spill *spill, SbMemory *memory);
// Gives the disk back too.
void spill_runs_close(SpillRuns *runs);
// `to` becomes what `from` is; `from` is closed.
void spill_runs_move(SpillRuns *to, SpillRuns *from);
// Only the runs go over, to one that has none.
void spill_runs_take(SpillRuns *to, SpillRuns *from);
// Gives up the runs that are there.
void spill_runs_drop(SpillRuns *runs);
bool spill_runs_add(SpillRuns *runs, const SpillRun *run);
// Begins a run that is to be one of them.
bool spill_runs_begin(const SpillRuns *runs, uint32_t thread);
// The one that has the longest row; nullptr: there is none.
const SpillRun *spill_runs_longest(const SpillRuns *runs);
// The index of a run that is to be written for them; nullptr: it needs none, or finds no memory.
SpillIndex *spill_runs_index(const SpillRuns *runs);
// How many merges of all runs side by side leave room for who reads and writes beside them; at
// least one.
uint32_t spill_merges_most(const SpillRuns *runs);
// How many runs so many merges side by side can read, of blocks as long as those of `runs`; at
// least two, and no more than there are.
uint32_t spill_runs_most(const SpillRuns *runs, int64_t merges);
// How long blocks of so many runs may be for one merge to read them all.
int64_t spill_block_for(const Spill *spill, uint32_t runs);
// Merges runs until one merge can read all that are left.
bool spill_runs_reduce(SpillRuns *runs, const SbBreaker *what, const SbSortBy *by,
                       SbParallel *parallel);
// The same, and until no more than `to` are left: two or more.
bool spill_runs_reduce_to(SpillRuns *runs, uint32_t to, const SbBreaker *what, const SbSortBy *by,
                          SbParallel *parallel);

// Runs, and the order that they have in common.
typedef struct SpillOrder {
    const SpillRuns *runs;
    const SbBreaker *what;
    const SbSortBy  *by;
} SpillOrder;

// Of one run: where rows of a cut may lie.
typedef struct SpillSpan {
    int64_t begin, end;   // In the file.
    int64_t row;          // The number of its first row in the run.
    int64_t bytes;        // Unpacked, at most.
} SpillSpan;

// Some of the merged sequence: rows whose key is not below `from`, and below `to`. No row with the
// key of another one is in another cut.
typedef struct SpillCut {
    SpillSpan *spans;     // By run.
    SpillKey   from, to;
    bool       ends;      // False: there is no `to`.
} SpillCut;

// One merge, by one thread.
typedef struct SpillMerge SpillMerge;

// The runs must stay. nullptr: no memory, which is no trouble yet.
SpillMerge *spill_merge_open(const SpillRuns *runs, const SbBreaker *what, const SbSortBy *by);

// What is merged, of which all below must stay.
typedef struct SpillMergeOf {
    SpillOrder        order;
    const SpillCut   *cut;    // nullptr: all rows.
    // Rows of the cut stay where they are read: room for all bytes of its spans and SB_SLACK,
    // aligned to 16, and for a packed block. Or nullptr.
    char *room, *packed;
} SpillMergeOf;

// The same.
SpillMerge *spill_merge_open_of(const SpillMergeOf *of);
// Says that it is. False.
bool spill_no_merge(const SpillRuns *runs);
void spill_merge_close(SpillMerge *merge);
// The first entry in order that was not passed, and the bytes of what it holds, which lie after
// it. nullptr: there is none, or trouble.
const SbEntry *spill_merge_first(SpillMerge *merge, int64_t *held_bytes);
// Passes it.
void spill_merge_pass(SpillMerge *merge);
// The number of the first entry, of all rows of the runs; once it was asked for.
int64_t spill_merge_row(const SpillMerge *merge);

// Of runs with indexes: how many rows are before the key, at least; and a key before
// which no more than `row` rows are, nearly as many.
int64_t spill_runs_before(const SpillRuns *runs, SpillKey key);
SpillKey spill_runs_place(const SpillRuns *runs, int64_t row);

// Both need a merge of all rows, into buffers of its own. Whose rows have the same key are gone to
// at the first of them. False: spill->failed.
// Passes the rows before the key; rows after it were not shown yet. Blocks that an index says are
// not needed are not read.
bool spill_merge_go_to(SpillMerge *merge, SpillKey key);
// Goes to the first row that is not before the key, from anywhere. All runs have an index. `apart`:
// no two rows have the same key, so that a block at the key begins with the row.
bool spill_merge_seek(SpillMerge *merge, SpillKey key, bool apart);

#endif
