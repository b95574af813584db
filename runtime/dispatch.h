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
// Circle: batch, dispatch, live, memory, need, sink, spool, task, zip: work ends in an event, and
// what the schedule answers is work again.
#ifndef SBC_RUNTIME_DISPATCH_H
#define SBC_RUNTIME_DISPATCH_H

#include "runtime/dispatch/observer.h"
#include "runtime/plan.h"

typedef struct DispatchOwn DispatchOwn;

// What observers see of it. The lock guards all that changes.
struct Dispatch {
    Job       *job;
    StageRun  *runs;           // By number of the stage.
    FlowPlan  *plan;
    Schedule  *schedule;
    Observers  observers;
    Verdict    verdict;
    int64_t    now;            // When somebody looked at the clock last.
    bool       stop;           // The job gives up,
    bool       draining;       // or takes no more input.
    pthread_mutex_t lock;
    pthread_cond_t  changed;   // There is work, or it is over.
    DispatchOwn *own;          // What its own files share (state.h).
};

// nullptr: job->trouble says why.
Dispatch *dispatch_open(Job *job, StageRun *runs, const Observers *observers);
void dispatch_close(Dispatch *d);
// Runs all stages, which are prepared. False: job->trouble, job->failing or job->over_limit says
// why.
bool dispatch_run(Dispatch *d);
// Has it look at job->cancel and job->drain. For other threads.
void dispatch_wake(Dispatch *d);

// ---- for observers; the lock is held ------------------------------------------------------------

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
// Does a thread beside the one that asks do anything, or is there anything for one to do?
bool dispatch_moves(const Dispatch *d);

// ---- engine.c -----------------------------------------------------------------------------------

// Runs all stages. False: job->trouble, job->failing or job->over_limit says why.
bool engine_run(Job *job, const Observers *observers);

// Lets it look at job->cancel and job->drain at once. For other threads than its own.
void engine_wake(Job *job);

#endif
