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
#include "runtime/stage.h"

typedef struct Dispatch Dispatch;

// Parts of a breaker: one for each thread, and for tasks that keep one while they wait; with a
// journal as many again.
uint32_t dispatch_lanes(const Job *job, uint32_t threads);
// How the job is scheduled.
PolicyId dispatch_policy(const Job *job);
// nullptr: job->trouble says why.
Dispatch *dispatch_open(Job *job, StageRun *runs);
void dispatch_close(Dispatch *d);
// Runs all stages, which are prepared. False: job->trouble, job->failing or job->over_limit says
// why.
bool dispatch_run(Dispatch *d);
// Has it look at job->cancel and job->drain. For other threads.
void dispatch_wake(Dispatch *d);

#endif
