// Batch: rows of a partition on their way from the stage that made them to those that read them.
//
// A batch belongs to its partition. Whoever else holds the batch lets go of it in his turn. Every
// function here needs the lock of the dispatch, but for a batch that nobody else knows yet.
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
    SpillRun *run;       // The run on disk; nullptr: the rows are not there. Bytes on disk are not
                         // the batch's.
    SpillRange *range;   // Or nullptr.
    FarRows *far;        // Where the rows of `entries` lie; nullptr: they are those of `rows`.
    const SbEntry *const *entries;
    int64_t  count, bytes;
    int64_t  used;       // Bytes in use, counted as in Partition.used.
    bool     summed;     // `sum` is that of its rows, wherever they are.
    RowSum   sum;
    uint32_t holders;    // Partitions, and pieces of zips that are in doubt.
    MadeBy from;
} Batch;

// Rows of a batch, for one unit.
typedef struct Slice {
    Batch   *batch;                 // The batch that the unit holds; or nullptr.
    const SbEntry *const *entries;  // Entries from the first row of the slice on.
    int64_t  count;
} Slice;

// A batch of `rows`, which the batch owns from now on; nullptr: no memory.
Batch *batch_open(SbRows *rows);
// A batch of rows that are read from disk, which have no entries yet.
Batch *batch_open_range(SpillRange *range);
// A batch of rows that another process made; nullptr: no memory.
Batch *batch_open_far(FarRows *far, const SbEntry *const *entries, int64_t count);
void   batch_release(Batch *batch);
// The rows of a batch that nobody else holds, empty, for the next one.
SbRows *batch_empty(Batch *batch);

#endif
