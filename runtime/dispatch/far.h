// Far: flows whose tasks run in worker processes. The lock of the dispatch is held.
#ifndef SBC_RUNTIME_FAR_H
#define SBC_RUNTIME_FAR_H

#include "runtime/dispatch/flow.h"

static inline bool flow_is_far(const Flow *flow) { return flow->place.i > 0; }

// Asks the worker for the next partition of the flow. It answers later (far_take).
void far_ask(Dispatch *d, Flow *flow);
// far_rows.c: a worker of another machine gets what it is to read. Is there room for the rows of a
// flow that is to begin there? Else it is held until there is.
bool far_rows_begin(Dispatch *d, Flow *flow);
// False: they are corrupt.
bool far_send_rows(Dispatch *d, Flow *flow, const Ask *ask);
// Has the worker made what the flow reads, in this life?
bool far_rows_are_own(const Dispatch *d, const Flow *flow);
// The worker has answered, or never will.
void far_rows_answered(Dispatch *d, Flow *flow);
// The copies are given back.
void far_rows_leave(Dispatch *d, Flow *flow);
// It is not held any more, if it was; none of the node is.
void far_rows_wake(Dispatch *d, Flow *flow);
void far_rows_lose(Dispatch *d, NodeId node);
// far_tables.c: a table is finished, and nobody reads it yet; without the lock. False: workers of
// other machines do not get it.
bool far_table_finished(Dispatch *d, uint32_t breaker);
// A worker of another machine gets the tables that the flow looks rows up in, once.
void far_tables_send(Dispatch *d, const Flow *flow);
// The table is about to be closed.
void far_table_close(Dispatch *d, uint32_t breaker);
// The partition that the worker answered with, as if the flow had made it here; nullptr: there is
// none. Then the flow has to ask for memory (flow->need), or the job ends, or the worker is lost.
Partition *far_take(Dispatch *d, Flow *flow, int64_t *busy);
// Nobody wants the rows of the flow any more.
void far_cancel(Dispatch *d, Flow *flow);
// An ASK for the unit of the flow, from its first row, whatever stands in its partitions. The note
// may know where the unit begins.
void far_put_trial_ask(Dispatch *d, const Flow *flow, const GuardNote *note, Text *text);
// The flow is over: the worker gives back what its task holds.
void far_leave(Dispatch *d, Flow *flow);
void far_close_stage(Dispatch *d, uint32_t stage);
// Rows of the file may come to workers from now on.
void far_tell_header(Dispatch *d, const Source *source, uint32_t file);
// Which right rows of the joins that the stage fills are kept, in workers of this machine.
void far_tell_filters(Dispatch *d, const StageRun *run);

// Is its next step only to take over what a worker of this machine has made, to tell the schedule,
// and to ask for more? That neither blocks nor lets go of the lock.
bool far_is_quick(const Dispatch *d, const Flow *flow);

// ---- what workers say ---------------------------------------------------------------------------

// An answer for one of the flows. False: it is none.
bool flow_hear(Dispatch *d, NodeId node, Unpack *from);
// The rows of that unit of the stage begin there.
bool flow_chain(Dispatch *d, StageRun *run, uint64_t ordinal, UnitsChain start);
// What ran on the node is gone.
void flow_lose(Dispatch *d, NodeId node);

#endif
