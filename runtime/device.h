// Device: which processors a job may use, how many of each, and how much memory.
//
//   devices.def  the kinds, one line each     device  a kind, by number or by its resource
//   cpu          what the system says: affinity, quotas and limits of control groups, GPUs
//
// Called by runtime/main and runtime/job, which share out the memory of the CPU, and by
// runtime/plan. A plan has as many slots of a resource as there are devices of its name.
//
// Tasks run on the CPU today. A stage that runs on a GPU belongs here: a folder for its driver,
// found by its line in devices.def. What it owes the rooms above:
//
//   count     devices that the process may use, after what the environment hides
//   memory    bytes that the ledger (runtime/core) may give to tasks of one device
//   a fault   a device that fails is lost like a worker (runtime/worker.h), and its tasks run again
//
// Worked example: how many tasks with (gpus = 1) run at once.
//
//   const Device *device = device_named(name);            // nullptr: --resource has to say it.
//   if (device) slots->supply[i] = device->count() * WHOLE;
#ifndef SBC_RUNTIME_ROOM_DEVICE_H
#define SBC_RUNTIME_ROOM_DEVICE_H

#include "runtime/device/device.h"

#endif
