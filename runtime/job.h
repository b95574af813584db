// Job: what all stages of a run share, and a stage while it runs.
//
//   job          program, options, memory, inputs, outputs, breakers, figures, why it ends
//   stage        what the tasks of a stage share, and what they made so far
//   flow_job     the plan of this job for the cores      memory_plan  how --memory is shared out
//
// Called by all rooms above. What belongs to a higher room is an opaque pointer here: the watch,
// the state of resume.
#ifndef SBC_RUNTIME_ROOM_JOB_H
#define SBC_RUNTIME_ROOM_JOB_H

#include "runtime/job/flow_job.h"
#include "runtime/job/job.h"
#include "runtime/job/memory_plan.h"
#include "runtime/job/stage.h"

#endif
