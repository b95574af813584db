// Flow plan of a job: what the cores know of a job with its options and inputs.
#ifndef SBC_RUNTIME_FLOW_JOB_H
#define SBC_RUNTIME_FLOW_JOB_H

#include "runtime/job/job.h"
#include "runtime/plan.h"

// What the plan takes from the memory.
typedef struct FlowSizes {
    int64_t  ledger, partition;
    int64_t  block_bytes;  // Of memory for rows, at most.
    int64_t  spill_bytes;  // Buffers of one who writes rows to disk.
    uint32_t threads;
} FlowSizes;

// Parts of a breaker: one for each thread, and for tasks that keep one while they wait; with a
// journal as many again.
uint32_t job_lanes(const SbJob *what, const Options *options, uint32_t threads);
// How the job is scheduled.
PolicyId job_policy(const SbJob *what, const Options *options);
// The parts of a job that its plan is made of, as they are now.
typedef struct FlowParts {
    const JobAsk     *ask;
    const JobMachine *machine;
    const JobIo      *io;
    const Edge       *edges;      // By breaker.
    RejectLimits      limits;
    bool              journaled;  // It has a journal.
    bool              resumed;    // It goes on from a journal.
    Trouble          *trouble;    // Says why there is no plan.
} FlowParts;
FlowParts flow_parts(Job *job);
// Fills in the plan, whatever it has that the schedule cannot run yet; FLOW_TOO_WIDE: not at all.
// What is not known before sources are open changes nothing that takes memory.
FlowFault flow_job_make(const FlowParts *of, const FlowSizes *sizes, FlowPlan *plan);

// Are there limits, and units that perhaps cannot be read again once these have judged their rows?
// Such units stay in memory or go to disk (doubt_keep.c). Text may be that of a stream: that is not
// known before sources are open.
bool flow_job_keeps(const JobAsk *ask, const Edge *edges);

// In how many worker processes tasks of the job run; none: no stage of it may. Rows that a limit
// may turn down are counted, and made again, by the process of the job. So are those of standard
// output, whose reader may leave; only foreign code with a time limit runs in a worker all the
// same.
WorkerPlan flow_job_workers(const JobAsk *ask);
// Why no worker of another machine has anything to do for the job; nullptr: it has.
const char *flow_job_why_alone(const JobAsk *ask, const Edge *edges);
// Has foreign code of some stage a time limit?
bool flow_job_has_timeouts(const SbJob *what);

// Of a task: bytes of records of rejects that it may have beyond its cut; 0: a record ends the job.
int64_t flow_job_record_bytes(const RejectLimits *limits);

#endif
