// Memory plan: what --memory has to hold for the job to run at all and to run at full speed, and
// how it is shared out.
//
//   --memory = rest (what no account counts) + account (SbMemory)
//   account  = ledger (tasks, partitions, breakers) + buffers of those who read rows back, and rows
//              that nobody foresees
#ifndef SBC_RUNTIME_MEMORY_PLAN_H
#define SBC_RUNTIME_MEMORY_PLAN_H

#include "runtime/job/flow_job.h"
#include "runtime/job/job.h"
#include "runtime/plan.h"

// What each worker gets of --memory and of the threads, and what is left to this process. False:
// there is too little for so many; job->trouble says so.
bool memory_plan_share_out(Job *job);
// Sets the size of partitions, unless the user did, and the account. False: --memory is below the
// minimum; job->trouble says so.
bool memory_plan_set(Job *job, uint32_t threads);

// What the processes of a job would have of `whole` bytes.
typedef struct MemoryShares {
    int64_t whole, limit;  // This process, and its account.
    int64_t worker_limit;  // The account of each worker.
} MemoryShares;
MemoryShares memory_plan_reshare(const Job *job, int64_t whole);

// Of the account, what the scheduler's ledger may give.
int64_t memory_plan_ledger(const FlowParts *of);

// False: sets the trouble that `who`, a step or a stage, finds no memory while the job runs. Its
// fix says with how much the charge that was refused last would have been there.
bool memory_plan_lacks(const JobAsk *ask, const JobMachine *machine, SbStr who, Trouble *trouble);
// Is --memory more than there is? Then that is the trouble, which is a warning.
bool memory_plan_over(const Options *options, Trouble *trouble);

// What the rows of a job need in all its processes, one task at a time and at full speed. Zeros:
// the job is too wide for a plan.
typedef struct MemoryNeeds {
    int64_t least, full;
} MemoryNeeds;
MemoryNeeds memory_plan_needs(Job *job, uint32_t threads);

// What others need of --memory: Python processes, and columns of GPUs.
typedef struct MemoryOthers {
    MemoryNeeds python, gpu;
} MemoryOthers;

// Minimum and full speed, and what they are made of. Nothing where the job is too wide for a plan.
void memory_plan_print(Job *job, uint32_t threads, const MemoryOthers *others, Text *text);

// May rows have to wait on disk on their way from stage to stage?
bool memory_plan_spools(const FlowParts *of, uint32_t threads);

// Has the job rows that may go to disk? Its slots are known.
bool memory_plan_may_spill(const FlowParts *of);

// What the summary says of it: nothing, or that not all slots could be busy.
void memory_plan_say_cut(const JobMachine *machine, Text *text);

#endif
