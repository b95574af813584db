// Job: what all stages of a run share, and a stage while it runs.
//
//   job          the parts of a job: ask, machine, io, breakers, rejects, figures, stop
//   stage        what the tasks of a stage share, and what they made so far
//   worker_figures  what worker processes do and have done
//   flow_job     the plan of this job for the cores      memory_plan  how --memory is shared out
//   exchange     who fills breakers and who reads them
//   filters      left sides say which right rows joins keep
//
// A function takes the parts that it uses, as these do:
//
//   bool memory_plan_over(const Options *options, Trouble *trouble);
//   void job_summary_count(const JobAsk *ask, const JobBreakers *breakers, const Sink *sinks,
//                          int64_t *counts);
//
// Called by all rooms above. What belongs to a higher room is an opaque pointer here: the watch,
// the state of resume.
#ifndef SBC_RUNTIME_ROOM_JOB_H
#define SBC_RUNTIME_ROOM_JOB_H

#include "runtime/job/exchange.h"
#include "runtime/job/filters.h"
#include "runtime/job/flow_job.h"
#include "runtime/job/job.h"
#include "runtime/job/memory_plan.h"
#include "runtime/job/stage.h"
#include "runtime/job/worker_figures.h"

#endif
