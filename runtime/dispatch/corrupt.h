// Corrupt: rows of other processes are compared with the sums of their makers. The lock of the
// dispatch is held, unless said otherwise.
#ifndef SBC_RUNTIME_CORRUPT_H
#define SBC_RUNTIME_CORRUPT_H

#include "runtime/dispatch/flow.h"

// Before the first task: whose rows have sums.
void corrupt_open(Dispatch *d);
// Of a partition that a worker has made, what this process is to read: is it what was made? The
// lock is given back in between.
bool corrupt_takes(Dispatch *d, const Flow *flow);
// The worker made rows that are corrupt: it is lost. 0: it is known to nobody who did.
void corrupt_blame(Dispatch *d, NodeId maker);
// What the schedule compares of two attempts.
uint64_t corrupt_checksum(const Partition *made);
// The worker compares what the flow is to read, if another process made it.
void corrupt_ask(const Dispatch *d, const Flow *flow, Ask *ask);
// Is what the flow reads other than what was made?
bool corrupt_is(const Dispatch *d, const Flow *flow);
// It is. The flow ends, to be begun again once that is made again.
void corrupt_fail(Dispatch *d, Flow *flow);
// The same of rows that are to go to disk; corrupt_spools without the lock.
bool corrupt_spools(const Dispatch *d, const LivePartition *live);
void corrupt_spooled(Dispatch *d, const LivePartition *live);

#endif
