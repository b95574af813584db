// Far breaker: breakers that tasks in workers fill. The lock of the dispatch is held.
//
// What a worker has put into breakers is lost with it until it has handed that over, and made again
// (again.c). Then the rows are those of the coordinator's breaker, wherever they lie.
//
//   ACTION_FLUSH ─▶ no task of the stage begins there ─▶ those within a unit end it ─▶ FLUSH
//   FLUSHED ─▶ parts and runs are the breaker's ─▶ EVENT_FLUSHED ─▶ what was held begins
//
// So all that has ended there is in what is handed over, and nothing else.
#ifndef SBC_RUNTIME_FAR_BREAKER_H
#define SBC_RUNTIME_FAR_BREAKER_H

#include "runtime/dispatch/flow.h"

// Before workers start. False: the job's trouble.
bool far_fills_open(Dispatch *d);
void far_fills_close(Dispatch *d);
// What the worker is told of them.
void far_fills_welcome(const Dispatch *d, NodeId node, Welcome *welcome);

// The flow is to be asked for a partition. False: it is held until the worker has handed over.
bool far_fill_begins(Dispatch *d, Flow *flow);
// Its unit has come to its end, or has not begun after all.
void far_fill_ends(Dispatch *d, Flow *flow);
// It is not held any more, if it was.
void far_fill_wake(Dispatch *d, Flow *flow);
void far_flush(Dispatch *d, const Action *action);
// False: it is no message of this job.
bool far_hear_flushed(Dispatch *d, NodeId node, Unpack *from);
// The worker is lost: what it has not handed over is made again elsewhere.
void far_fills_lose(Dispatch *d, NodeId node);

// Calls of the stage with a time limit run in this process.
void far_warn_untimed(Job *job, const SbStage *stage);
// If a table that is finished lies on disk, or is too large for workers of other machines (`!far`),
// stages that look rows up in it run in this process. None has begun. False: they may run anywhere.
bool far_bring_home(Dispatch *d, BreakerId breaker, bool far);

#endif
