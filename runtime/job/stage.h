// Stage run: one stage while it runs: what its tasks share, and what they made so far.
#ifndef SBC_RUNTIME_STAGE_H
#define SBC_RUNTIME_STAGE_H

#include "runtime/input.h"
#include "runtime/job/job.h"
#include "runtime/task.h"

typedef enum RunState {
    RUN_WAITING,
    RUN_OPEN,  // A task was launched: breakers that it fills are open.
} RunState;

// Where a unit begins, once that is known.
typedef struct UnitStart {
    bool       is;
    UnitsChain start;
} UnitStart;

enum : uint32_t { EDGE_NONE = UINT32_MAX };

typedef struct StageRun {
    Job           *job;
    const SbStage *stage;
    uint32_t       index;
    uint32_t      *edges;       // By terminal: the edge that it is, by its breaker; or EDGE_NONE.
    RowForm       *forms;       // By terminal, of edges; the last is that of the edge it reads.
    bool           sums;        // Another process may read what it makes.
    bool           compares;    // This process may read what workers make of it.
    bool           varies;      // Made again, its rows may say something else.
    SbType         source_row;  // What setup.row points to when rows come from a source.
    const SbEntry **unmatched;  // Rows of a join's right side.
    int64_t         unmatched_bytes;
    TaskSetup      setup;
    ProbeAhead     ahead;       // What its units look up in joins that are on disk.
    Units          units;
    bool           repeats;     // The input can be read again.
    int64_t       *unit_rows;   // By unit: rows of the source, where a share limits the rejects.
    uint64_t       unit_room;
    BufferRelief   relief;
    int64_t        buffer_max;  // The largest buffer of text of a unit so far.
    UnitsStart     start;       // Where its units begin: not at the start after a journal.
    bool           opened;      // Units can be taken.
    UnitStart     *starts;      // Of a stage whose tasks run in workers: where its units begin, by
    uint64_t       start_count; // number.
    bool           keeps_places; // Units may be taken once more, after their tasks have ended.
    UnitPlace     *places;      // By number of the unit, where that is so.
    uint64_t       place_count;

    // The dispatch's lock guards all below.
    RunState       state;
    bool           exhausted;   // No more units.
    uint32_t       taking;      // Threads that take a unit now, without the lock.
    bool           asked;       // It has asked ahead, or need not.
    bool           filtered;    // Joins that it fills have their filters, or need none.
    bool           asking;      // A thread asks now, ahead or for filters.
    uint64_t       launched;    // Units.
    uint32_t       running;
    Partition     *spare;
    uint32_t       spare_count;
    SbTaskState   *spare_tasks;

    // What is final.
    int64_t       *counts;      // [step][SbCount]
    int64_t        rows;        // Of a join's unmatched ones.
} StageRun;

// Can units be taken? Whoever may open it at the same time need hold no lock.
static inline bool stage_is_open(const StageRun *run) {
    return __atomic_load_n(&run->opened, __ATOMIC_ACQUIRE);
}

// Makes everything ready that a run holds from the start of the job.
bool stage_prepare(StageRun *run, Job *job, uint32_t index);
// Opens a breaker, unless it is open or an edge. False: job->trouble is set.
bool stage_open_breaker(Job *job, uint32_t breaker);
// Opens the breakers that it fills, unless another stage has. The lock is held.
bool stage_open_breakers(StageRun *run);
// Opens what it reads.
bool stage_open(StageRun *run, SbParallel *parallel, Trouble *trouble);
// Makes joins on disk ready: where it can, all its units say what they look up. Changes nothing but
// time. Wanted: only then is it worth to have threads for it.
bool stage_asks_ahead(const StageRun *run);
void stage_ask_ahead(StageRun *run, SbParallel *parallel);
// Gives back what an ended run does not need.
void stage_close(StageRun *run);
// The rest, at the end of the job.
void stage_finish(StageRun *run);

// A task without a unit, and an empty partition; nullptr: no memory. The lock is held.
SbTaskState *stage_task(StageRun *run);
Partition *stage_partition(StageRun *run);
void stage_spare(StageRun *run, Partition *partition);
void stage_spare_task(StageRun *run, SbTaskState *task);

// Breakers leave room for the buffers of all threads, and rows may be longer than was thought.
void stage_note_buffer(StageRun *run, int64_t bytes);
// A breaker was finished with that status: its rows are there. False: the job's trouble is set.
bool stage_breaker_finished(Job *job, uint32_t breaker, int32_t status);

// Are the rows of the stage numbered, for a share that limits the rejects?
bool stage_numbers_rows(const StageRun *run);
// A task numbers the rows of its partition. From now on they have the numbers of their unit, of
// which so many rows were judged before. For stages whose rows are numbered.
void stage_number_records(const StageRun *run, RejectList *list, int64_t before);
void stage_number_batch(const StageRun *run, uint32_t t, const Batch *batch, int64_t before);
// The sums of what the partition has for edges, once its batches are made; and for sinks, if
// `outs`.
void stage_sum(const StageRun *run, Partition *partition, bool outs);
// Readies the rows of a partition for those who read the edges. Trouble: there is no memory.
void stage_make_batches(const StageRun *run, Partition *partition, int64_t before,
                        Trouble *trouble);

// Rows that are made again, and that breakers have already, go to breakers of the task alone, for
// one partition. False: no memory. It is closed in any case.
bool stage_open_aside(const StageRun *run, SbTaskState *task);
void stage_close_aside(const StageRun *run, SbTaskState *task);

// Sets the trouble that there is no memory for the stage. False.
bool stage_no_memory(const StageRun *run, Trouble *trouble);
// A fault that is no record, of memory or of an aggregate, becomes the partition's trouble. True:
// there is none.
bool stage_take_failure(const StageRun *run, const SbTask *task, const Partition *partition,
                        Trouble *trouble);

#endif
