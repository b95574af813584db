// Partition: what a task hands over when it returns, the unit of commit and of memory accounting.
//
// This is what the task fills. Where the rows are on disk, only a LivePartition (dispatch/state.h)
// is left of it.
#ifndef SBC_RUNTIME_PARTITION_H
#define SBC_RUNTIME_PARTITION_H

#include "runtime/breakers.h"
#include "runtime/input.h"
#include "runtime/rejects.h"
#include "runtime/task/marks.h"

typedef struct SbOutState {
    char     *begin;
    int64_t   cap;      // Charged.
    int64_t   wanted;   // Bytes up to which it doubles.
    int64_t   first;    // Bytes that it begins with: as many as the last one had. 0: a few.
    SbMemory *memory;
} SbOutState;

typedef struct SbTaskState SbTaskState;
typedef struct Guards Guards;
typedef struct TaskSetup TaskSetup;
typedef struct ProbeAhead ProbeAhead;

// The rows for each terminal that keeps an order, the
// counts and the rejects of the rows that were judged since the task was last called. Partitions
// of a stage are taken over in the order of (unit, ordinal): the lists that hold them keep it.
typedef struct Partition {
    struct Partition *next;     // In the list of empty partitions.
    struct StageRun *run;       // Of the stage that makes it.
    Unit        unit;           // All that it takes to make the partition once more.
    SbTaskState *keeps;         // Holds the unit's text, which cannot be read again; else nullptr.
    bool        last;           // Of its unit.
    int64_t     begin, end;     // Cursors.
    uint64_t    order;          // Order key of its first row.
    uint64_t    records;        // Rejects of the unit before it.
    uint32_t    insides;        // As in SbTask: it begins inside a row.
    SbInside    inside[SB_INSIDE_MAX];
    int64_t     made;           // Rows of the source that were judged.
    int32_t     status;         // SbStageStatus
    bool        stopped;        // No terminal wants more.
    bool        starved;        // Values that a row computes found no memory.
    bool        lacks;          // The partition ended because there was no memory for its rows.
    bool        over;           // A record of it passes the limit of rejects.
    SbFailure   failure;
    int64_t    *counts;         // [step][SbCount]
    SbOut      *outs;           // By terminal; sinks only.
    SbOutState *out_states;
    SbRows    **batches;        // By terminal; edges only.
    Batch     **handed;         // By terminal: batches that their readers may have.
    SbRows    **spare;          // By terminal: empty batches for the rows that come next.
    int64_t    *rows;           // By terminal: rows in it.
    RowSum     *sums;           // By terminal: of rows and bytes for sinks and edges, where another
                                // process may read them (stage_sum).
    int64_t    *quota;          // By terminal: rows that it could take.
    int64_t    *left;           // By terminal: what is left of the quota.
    int64_t     weight;         // Rejects that it could record: the last one ends it.
    RejectList  rejects;
    MarkList   *marks;          // What another process has to make; nullptr: nothing.
    int64_t     bytes;          // Charged for outs and batches.
    int64_t     used;           // Of the bytes charged, those that rows fill.
    FarRows    *far;            // Another process made what `outs` hold; or nullptr.
    MadeBy from;
} Partition;

// What all tasks of a stage share.
struct TaskSetup {
    const SbJob   *job;
    const SbStage *stage;
    const SbSource *source;        // nullptr for a breaker's rows.
    Source        *files;          // The source's files, opened.
    const Source  *sources;        // All of the job.
    const SbType  *row;            // Of a breaker's rows, of a range and of inline tables.
    const void *const *params;
    const SbTable *const *tables;
    SbBreakerState **breakers;     // By number.
    SbMemory      *memory;
    struct Gpu    *gpu;            // Runs kernels; nullptr: the CPU does all.
    bool           needs_gpu;      // The job must not go on without it.
    int64_t        partition_bytes;  // A partition is full when it holds as many.
    bool           goes_back;      // What breakers get of a partition can be taken back.
    bool           tells_marks;    // Another process makes the marks of right rows.
    bool           wants_rows;     // Rejects need the number of their row.
    Guards        *guards;         // What is known of rows that ended foreign code.
    Units         *units;
    const ProbeAhead *ahead;       // What they look up in joins on disk; or nullptr.
    const BufferRelief *relief;    // Of buffers of text.
};

Partition *partition_open(const TaskSetup *setup);
void partition_close(Partition *partition, const TaskSetup *setup);
// Lets go of the memory for rows that is kept for partitions that come next.
void partition_close_spares(Partition *partition, const TaskSetup *setup);
// Lets go of rows for edges that nobody took.
void partition_close_batches(Partition *partition, const TaskSetup *setup);
// Lets go of rows for edges, and keeps the memory of those that have been read.
void partition_empty_batches(Partition *partition, const TaskSetup *setup);
// Lets go of bytes for sinks.
void partition_close_outs(Partition *partition, const TaskSetup *setup);
// Gives back what sinks had room for, but have no bytes in, where that is much.
void partition_trim_outs(Partition *partition, const TaskSetup *setup);
// Gives up the memory of what it hands over: each block is said once. They stay charged.
void partition_give_up(Partition *partition, const TaskSetup *setup, SbBlockFn *fn, void *arg);
// Lets go of what another process made, if that is what it holds.
void partition_let_far_go(Partition *partition, const TaskSetup *setup);
// Makes it ready to be filled.
void partition_reset(Partition *partition, const TaskSetup *setup);

#endif
