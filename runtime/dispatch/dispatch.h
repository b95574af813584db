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
#ifndef SBC_RUNTIME_DISPATCH_H
#define SBC_RUNTIME_DISPATCH_H

#include "runtime/core/policy.h"
#include "runtime/job/stage.h"

typedef struct Dispatch Dispatch;

// nullptr: job->trouble says why.
Dispatch *dispatch_open(Job *job, StageRun *runs);
void dispatch_close(Dispatch *d);
// Runs all stages, which are prepared. False: job->trouble, job->failing or job->over_limit says
// why.
bool dispatch_run(Dispatch *d);
// Has it look at job->cancel and job->drain. For other threads.
void dispatch_wake(Dispatch *d);

// ---- engine.c -----------------------------------------------------------------------------------

// Runs all stages. False: job->trouble, job->failing or job->over_limit says why.
bool engine_run(Job *job);

// Lets it look at job->cancel and job->drain at once. For other threads than its own.
void engine_wake(Job *job);

#endif
