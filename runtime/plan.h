// Plan: what the cores are told of a job: stages, edges, breakers, sizes, resources.
//
//   flow_plan    stages of the job to stages of the core's plan
//   memory_need  the bytes of a plan at one task at a time, and with all slots busy
//   slots        what tasks hold, and what there is
//
// Pure functions of the program, options and sizes. Called by runtime/job.
#ifndef SBC_RUNTIME_ROOM_PLAN_H
#define SBC_RUNTIME_ROOM_PLAN_H

#include "runtime/plan/flow_plan.h"
#include "runtime/plan/memory_need.h"
#include "runtime/plan/slots.h"

#endif
