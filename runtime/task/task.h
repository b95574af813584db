// Task: one stage on one unit, from its first row to its last, in as many calls as it takes.
#ifndef SBC_RUNTIME_TASK_H
#define SBC_RUNTIME_TASK_H

#include "runtime/memory.h"
#include "runtime/task/candidates.h"
#include "runtime/task/guard.h"
#include "runtime/task/partition.h"
#include "runtime/task/probe.h"

// What a task has judged of the partition that it is making. The task alone writes it.
typedef struct TaskLive {
    _Atomic int64_t rows, bytes;
} TaskLive;

// Inputs of a task in their order, whose rows are entries in memory.
enum { KERNEL_AHEAD_MAX = 64 };

typedef struct KernelPiece {
    const SbEntry *const *entries;
    int64_t   begin, end;
    int64_t   offset;           // Of a launch: rows of it that stand before these.
} KernelPiece;

typedef struct KernelAhead {
    KernelPiece items[KERNEL_AHEAD_MAX];
    uint32_t    at, count;      // The first one that is left; the end of all.
} KernelAhead;

// A task: lives as long as its unit, and runs on one thread after the other.
struct SbTaskState {
    struct SbTaskState *next;   // In the list of those without a unit.
    const TaskSetup *setup;
    SbTask      task;
    UnitBuffer  buffer;
    SbIndex     index;
    void      **terminals;
    int64_t    *handed;         // By terminal: rows of the unit so far after its last whole batch.
    SbBreakerState **aside;     // By terminal: where a partition made once more puts what breakers
                                // already have; nullptr: they have it not yet.
    Unit        unit;
    bool        again;          // The task makes a partition once more, of the same rows.
    Partition  *into;
    TaskLive  *live;           // Where the task says how far it is; nullptr: not wanted.
    Trouble     trouble;        // Why the partition is the last one of the job.
    Probe       probe;
    Candidates *candidates;     // By breaker; nullptr: no row has listed any yet.
    int64_t     granted;        // Bytes that the stage asked for, charged until the unit ends.
    uint64_t    records;        // Rejects of the unit so far.
    SbHold      held;           // What was counted for hold() when the partition began.
    uint32_t    lane;           // Of breakers, the part that the partition fills.
    bool        marked;         // The parts have marks where the partition begins.
    int64_t     lined_at, lined_lines;       // Line ends of the unit before a place.
    int64_t     stopped_at;                  // Where the row begins that ended it; -1: none.
    SbCall      files;          // Memory of whole files and their entries.
    SbCall      results;        // Memory of task.batch, where the stage calls for batches.
    struct GpuLaunch *launch;   // Memory of task.kernel, of a stage with kernels; or nullptr.
    KernelAhead ahead;          // Inputs that the task comes to after this one.
    KernelAhead launched;       // Those of which task.kernel has rows.
    SbGuard     guard;          // Watches calls of foreign code.
    const int64_t *long_files;  // Of the unit, over row_max.
    int64_t     long_file_count;
};

bool task_open(SbTaskState *state, const TaskSetup *setup, Trouble *trouble);
void task_close(SbTaskState *state);
// Puts the task at the beginning of a unit whose rows are fixed.
bool task_begin(SbTaskState *state, const Unit *unit, Trouble *trouble);
// The same for a unit of the same launch: batches of rows that have begun go on.
bool task_go_on(SbTaskState *state, const Unit *unit, Trouble *trouble);
// Puts it where the partition begins, so that the same rows come again.
bool task_again(SbTaskState *state, const Partition *partition, Trouble *trouble);
// Runs the stage on `thread` until it is done or the partition is full; `into` is empty, and its
// quotas are set. SB_STAGE_FULL: more is to come. Where the partition lacks memory the next call is
// task_back, if the stage goes back, or task_keep.
int32_t task_run(SbTaskState *state, Partition *into, uint32_t thread);
// Puts it back to where the partition began: breakers have nothing of it.
void task_back(SbTaskState *state, const Partition *partition);
// The partition stands as it is.
void task_keep(SbTaskState *state);
// Fills what the place's site says and stores the record. Nonzero: the unit must stop.
int32_t task_reject(SbTaskState *state, RejectFacts *facts);

// Lets go of what a GPU gave (kernel.c).
void kernel_end(SbTaskState *state);
// The same where the task has come to its next input, unless rows of that have been launched.
void kernel_next(SbTaskState *state);
// Has the launch rows of an input that the task comes to later?
bool kernel_goes_on(const SbTaskState *state);
// Can a launch take rows of several inputs?
bool kernel_takes_more(const TaskSetup *setup);
// Do others wait for the slot of a task whose rows go on? They are launched for again then.
bool kernel_is_awaited(const SbTaskState *state);

// An output has got more memory, not used yet: sets task->full when the partition is large enough.
void task_grew(SbTask *task);
// A piece of a reader's batch ends with the row that is being put together, which is the `rows`th
// for an edge. The next piece ends with row `next`. Sets task->full if the partition has no room
// for that.
void task_piece(SbTask *task, int64_t rows, int64_t next);

#endif
