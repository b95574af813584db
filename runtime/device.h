// Device: which processors a job may use, how many of each, and how much memory.
//
//   devices.def  the kinds, one line each     device  a kind, by number or by its resource
//   gpu          launches of kernels, by the processes of GPUs
//   gpu_serve    such a process: the kernels of the job, a stream for each slot
//   gpu_layout   where columns lie in a slot  gpu_wire  what both sides say to each other
//   driver       calls of the CUDA driver     gpu_choose  which code a GPU runs
//   product      calls of cuBLASLt
//   gpu_lines    worker processes launch in slots of the job; gpu_far is their side
//   gpu_describe the answer of --devices      gpu_plan   memory of GPUs for --plan
//   busy_time    how long streams were at work at all
//   cpu          what the system says: affinity, quotas and limits of control groups, GPUs
//
// Called by runtime/main and runtime/job, which share out the memory of the CPU, and by
// runtime/plan. A plan has as many slots of a resource as there are devices of its name.
//
// Tasks run on the CPU. One with kernels for its leading steps puts columns into a slot, and goes
// on with what comes back (runtime/task/kernel.c).
//
// Worked example: how many tasks with (gpus = 1) run at once.
//
//   const Device *device = device_named(name);            // nullptr: --resource has to say it.
//   if (device) slots->supply[i] = device->count() * WHOLE;
//
// Circle: gpu, gpu_far, gpu_lines: a launch of a worker process is one of the job, which answers.
#ifndef SBC_RUNTIME_ROOM_DEVICE_H
#define SBC_RUNTIME_ROOM_DEVICE_H

#include "runtime/device/device.h"
#include "runtime/device/gpu.h"

#endif
