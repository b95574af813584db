// Batch: rows of a partition on their way from the stage that made them to those that read them.
//
// It belongs to the partition. Who else holds it lets go of it in his turn. Every function here
// needs the lock of the dispatch, but for a batch that nobody else knows yet.
#ifndef SBC_RUNTIME_BATCH_H
#define SBC_RUNTIME_BATCH_H

#include "runtime/disk.h"
#include "runtime/rows.h"

typedef struct SpillRange SpillRange;

// The piece of work that made rows, for those who draw what came of what.
typedef struct MadeBy {
    uint32_t thread;
    int64_t  at_ns;    // Its end; 0: nothing is known.
} MadeBy;

typedef struct Batch {
    SbRows  *rows;       // nullptr: they are on disk, or those of `range`.
    SpillRun *run;       // On disk; nullptr: they are not. Its bytes there are not the batch's.
    SpillRange *range;   // Or nullptr.
    const SbEntry *const *entries;
    int64_t  count, bytes;
    int64_t  used;       // Of the bytes; as Partition.used counts them.
    uint32_t holders;    // Partitions, and pieces of zips that are in doubt.
    MadeBy from;
} Batch;

// Rows of a batch, for one unit.
typedef struct Slice {
    Batch   *batch;                 // That the unit holds; or nullptr.
    const SbEntry *const *entries;  // Of its first row.
    int64_t  count;
} Slice;

// A batch of `rows`, which it owns from now on; nullptr: no memory.
Batch *batch_open(SbRows *rows);
// The same of rows that are read from disk, which have no entries yet.
Batch *batch_open_range(SpillRange *range);
void   batch_release(Batch *batch);
// The rows of a batch that nobody else holds, empty, for the next one.
SbRows *batch_empty(Batch *batch);

#endif
