// Filters: before a stage fills the right side of a join, the left side says which keys it looks up
// (runtime/task/key_filter.h).
#ifndef SBC_RUNTIME_JOB_FILTERS_H
#define SBC_RUNTIME_JOB_FILTERS_H

#include "runtime/job/stage.h"

// Does the stage fill right sides whose left sides are worth asking? `runs`: those of all stages.
bool filters_pay(const StageRun *runs, const StageRun *fills);
// Makes their filters, unless another stage has. Changes nothing but time.
void filters_open(const StageRun *runs, const StageRun *fills, SbParallel *parallel);
// Lets go of the filter of a breaker that is full.
void filters_close(Job *job, uint32_t breaker);

#endif
