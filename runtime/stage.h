// Stage run: one stage while it runs: its units in flight, and what they made on its way out.
//
//   units ─▶ flights: tasks that run or are parked ─▶ made ─▶ offered ─▶ settled
//
// made      partitions of a flight, in its order
// offered   in the order of the units: rows are handed to the terminals
// settled   everybody behind has judged the rows: counts and rejects are final
#ifndef SBC_RUNTIME_STAGE_H
#define SBC_RUNTIME_STAGE_H

#include "runtime/edge.h"
#include "runtime/job.h"
#include "runtime/probe_ahead.h"
#include "runtime/task.h"

typedef enum FlightState {
    FLIGHT_FREE,
    FLIGHT_RUNNING,
    FLIGHT_PARKED,  // The task returned FULL or NEED: may_resume in policy.c says when it goes on.
    FLIGHT_DONE,
} FlightState;

typedef struct PartitionList {
    Partition *first, *last;
} PartitionList;

typedef struct Flight {
    FlightState   state;
    bool          needs;   // It was parked for want of memory.
    Unit          unit;
    int64_t       bytes;   // Of the batches that it reads.
    SbTaskState  *task;
    uint32_t      thread;  // That works on it, where the stage groups.
    PartitionList made;
} Flight;

typedef enum RunState {
    RUN_WAITING,
    RUN_OPENING,
    RUN_OPEN,
    RUN_OUT,     // All that it makes is offered.
    RUN_ENDED,   // And settled.
} RunState;

enum { SIDE_NONE = UINT32_MAX };

// One end of an edge.
typedef struct EdgeEnd {
    uint32_t edge;  // SIDE_NONE: none.
    uint32_t at;    // Reader, or lane.
} EdgeEnd;

typedef struct StageRun {
    Job           *job;
    const SbStage *stage;
    uint32_t       index;
    uint32_t       turn;        // Its place in the order in which the sinks ask for rows.
    EdgeEnd        inputs[2];   // What it reads; the second of a zip.
    EdgeEnd       *outputs;     // By terminal.
    Batch        **batches;     // By terminal: on their way into an edge, while it is offering.
    SbType         source_row;  // What setup.row points to when rows come from a source.
    const SbEntry **unmatched;  // Rows of a join's right side.
    TaskSetup      setup;
    ProbeAhead     ahead;       // What its units look up in joins that are on disk.
    Units          units;
    bool           repeats;     // The input can be read again.
    int64_t       *unit_rows;   // By unit: rows of the source, where a share limits the rejects.
    uint64_t       unit_room;
    BufferRelief   relief;
    int64_t        buffer_max;  // The largest buffer of text of a unit so far.
    Flight        *flights;     // Unit k is in slot k % window.
    uint32_t       window;

    // The engine's lock guards all below.
    RunState       state;
    bool           active;      // It may run: see policy.h.
    bool           exhausted;   // No more units.
    bool           asked;       // It has asked ahead, or need not,
    bool           asking;      // or a thread does so now.
    bool           later;       // There was no memory for the next one.
    bool           stopped;     // Nothing more is to be offered.
    bool           broke;       // A fault was offered...
    bool           faulted;     // ...and is settled: it ends the job.
    bool           over;        // By the limit of rejects.
    bool           dropped;     // The job failed before it came to this stage.
    bool           alone;       // Its rows go nowhere: only its rejects count.
    bool           taking, offering, settling;
    uint64_t       launched, offered;   // Units.
    uint32_t       running;
    int64_t        bytes;       // Of flights: read from edges, and made and not offered.
    PartitionList  out;         // Offered and not settled.
    PartitionList  writing;     // Settled; bytes wait to be written.
    Partition     *spare;
    uint32_t       spare_count;
    SbTaskState   *spare_tasks;
    int64_t       *sink_left;   // By terminal: rows that a sink still takes; others INT64_MAX.
    int64_t        weight;      // Rejects of the partitions offered...
    int64_t        made;        // ...and rows of the source that these judged.

    // What is settled; the settling thread's.
    int64_t       *counts;      // [step][SbCount]
    RejectList     rejects;
    RejectList     failing;     // The record that ended it, if a record did.
    int64_t        rows;        // Of its source, or of a join's unmatched ones.
    uint32_t       unit_files;  // `files`: of the unit, judged so far.
} StageRun;

void partition_push(PartitionList *list, Partition *partition);
Partition *partition_pop(PartitionList *list);

// Makes everything ready that a run holds from the start of the job.
bool stage_prepare(StageRun *run, Job *job, uint32_t index);
// Opens a breaker, unless it is open or an edge. False: job->trouble is set.
bool stage_open_breaker(Job *job, uint32_t breaker);
// Opens the breakers that it fills, unless another stage has. The lock is held.
bool stage_open_breakers(StageRun *run);
// Opens what it reads.
bool stage_open(StageRun *run, Trouble *trouble);
// Lets all its units say what they look up in joins on disk. Changes nothing but time. Wanted: only
// then is it worth to have threads for it.
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

// How many rows terminal `t` still takes behind what is offered; INT64_MAX.
int64_t stage_wants(const StageRun *run, uint32_t t);
bool stage_nobody_wants(const StageRun *run);
// Brings sink_left up to date.
void stage_sink_left(StageRun *run, uint32_t t);

// ---- commit.c -------------------------------------------------------------------------------

// The lock is held; those that take it let it go while they work.

// Hands the rows of the lowest unit's first partition to the terminals.
void stage_offer(StageRun *run, pthread_mutex_t *lock, ExtentList *writes);
// Can the first partition that is offered be settled?
bool stage_can_settle(const StageRun *run);
// Makes counts and rejects of the first partition that is offered final.
void stage_settle(StageRun *run, pthread_mutex_t *lock);
// Gives up the units that are not offered; no task of them runs.
void stage_discard(StageRun *run);
// Gives up what is offered and not settled.
void stage_abandon(StageRun *run);
// Lets go of the rows of edges that a unit holds.
void stage_untake(StageRun *run, const Unit *unit);
// A fault that is no record, of memory or of an aggregate, becomes the partition's trouble. True:
// there is none.
bool stage_take_failure(const StageRun *run, Partition *partition);
// The partition's bytes are all written.
void stage_written(Partition *partition);

#endif
