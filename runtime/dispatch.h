// Dispatch: runs the stages of a job as the schedule (runtime/core) says.
//
// Every thread takes work from one queue: a task that is launched or resumed, a partition for a
// sink, a breaker to finish. What comes of it is an event; the thread hands it to the schedule and
// puts what the schedule wants done into the queue. One lock guards all of it; work happens without
// the lock.
//
//   LAUNCH ─▶ queue ─▶ a thread: units_take, units_prepare, task_run ─▶ OUTPUT, DONE ─▶ schedule
//                                                                            │
//   GO_ON ◀───── the same thread goes on ◀───────────────────────────────────┤
//   PAUSE ◀───── the task waits ─▶ RESUME ─▶ queue                           ▼
//                                                        LAUNCH, FREE, FINISH, CLOSE, ...
//
// Circle: again, attempt, batch, corrupt, dispatch, far, far_breaker, far_rows, far_tables, fleet,
// joins, live, manage, memory, need, poison, sink, spool, task, workers, zip: work answers
// events, and ends in them.
//
// The way of a partition. One at a time has it; who that is changes under the lock only.
//
//   who has it    what is done
//   the task      stage_partition: a spare one, or a new one
//                 task_run, make_batches: rows and rejects come into it, without the lock
//                 take_over: counts and rejects are final, or kept back (the way of a reject:
//                 runtime/rejects.h)
//                 hand_over: nobody reads it ─▶ stage_spare
//                    │
//                    ▼ live_open, EVENT_OUTPUT
//   the schedule  a LivePartition, until its last reader is done
//                    ├─ LAUNCH, ADD, PIECE: flow_find_rows, flow_take_rows; tasks read batches
//                    ├─ LAUNCH of a sink: sink_work takes its bytes in order and writes them
//                    └─ SPILL: spool_work writes its batches, live_stored lets go of the rows;
//                       flow_load brings them back for the task that reads them
//                    │
//                    ▼ FREE, once all readers are done
//   the stage     live_free: stage_spare keeps it for the next task; partition_close, where the
//                 stage is over
//
// A batch outlives its partition where a unit in doubt needs its rows: Batch.holders counts who has
// it, and the last batch_release lets go of the rows.
#ifndef SBC_RUNTIME_DISPATCH_H
#define SBC_RUNTIME_DISPATCH_H

#include "runtime/dispatch/observer.h"
#include "runtime/plan.h"

typedef struct DispatchOwn DispatchOwn;

// What observers see of it. The lock guards all that changes.
struct Dispatch {
    const SbJob *what;
    StageRun  *runs;           // By number of the stage.
    FlowPlan  *plan;
    Schedule  *schedule;
    Observers  observers;
    Verdict    verdict;
    int64_t    now;            // When somebody looked at the clock last.
    bool       stop;           // The job gives up.
    bool       draining;       // The job takes no more input.
    pthread_mutex_t lock;
    pthread_cond_t  changed;   // There is work, or it is over.
    DispatchOwn *own;          // What its own files share (state.h).
};

// nullptr: job->trouble says why.
Dispatch *dispatch_open(Job *job, StageRun *runs, const Observers *observers);
void dispatch_close(Dispatch *d);
// Runs all stages, which are prepared. False: job->trouble says why, or job->rejects has a record
// that ends the job, or too many.
bool dispatch_run(Dispatch *d);
// Has it look at job->stop.cancel and job->stop.drain. For other threads.
void dispatch_wake(Dispatch *d);

// ---- for observers; the lock is held ------------------------------------------------------------

// Opens a breaker, unless it is open. False: the trouble of the job says why.
bool dispatch_open_breaker(Dispatch *d, uint32_t breaker);
// Tells the schedule what happened and does what follows.
void dispatch_tell(Dispatch *d, Event event);
// Tells the schedule what nobody wants any more, because a record ends the job before it.
void dispatch_tell_bounds(Dispatch *d);
void dispatch_stop(Dispatch *d);
// The job ends, for this reason; where nobody has said one, of this kind. A job that ends already
// needs none.
void dispatch_trouble(Dispatch *d, TroubleKind kind, const Trouble *trouble);
// Looks at the clock: what is told from now on happens now. For who comes back to the lock.
void dispatch_clock(Dispatch *d);
// What follows from an event beside its actions: some figures are final, some memory is free.
void dispatch_settle(Dispatch *d);
// Has what workers have put into breakers for the stage handed over, on disk.
void dispatch_flush(Dispatch *d, uint32_t stage);
// Is all there that the stage puts into breakers of the root's units before `unit`?
bool dispatch_is_safe(const Dispatch *d, uint32_t stage, uint32_t root, uint64_t unit);
// Files from..to-1 have the runs of a set of lanes: this process's for index 0, then each worker's.
// False: there is none of that index. Without the lock, too.
bool dispatch_set_files(const Dispatch *d, uint32_t set, uint32_t index, uint32_t *from,
                        uint32_t *to);
// Does a thread beside the one that asks do anything, or is there anything for one to do?
bool dispatch_moves(const Dispatch *d);
// Does a thread wait for something to do?
bool dispatch_idles(const Dispatch *d);

// As engine_manage. Without the lock.
bool dispatch_manage(Dispatch *d, const Command *command, Text *answer, Trouble *trouble);

// ---- engine.c -----------------------------------------------------------------------------------

// Runs all stages. False: as dispatch_run.
bool engine_run(Job *job, const Observers *observers);

// Does what somebody tells the job while it runs (manage.c). For other threads than its own.
// `answer`: what is to be said to who asked. False: *trouble says why nothing was done.
bool engine_manage(Job *job, const Command *command, Text *answer, Trouble *trouble);

// Lets it look at job->stop.cancel and job->stop.drain at once. For other threads than its own.
void engine_wake(Job *job);

#endif
