// Task: one stage on one unit, and the partitions that come of it.
//
//   task       begins, runs, goes back           partition    what it hands over when it returns
//   grow       room for what a stage makes       probe        right rows that are on disk
//   files      whole files as rows               asking       what all units look up, asked before
//   key_filter right rows that nobody looks up   probe_ahead  and the answers, of rows on disk
//
// Called by the dispatch (through runtime/job) and by limits, which run a unit once more.
//
// Worked example: a unit in as many calls as it takes.
//
//   task_begin(task, &unit, trouble);
//   do {
//       partition_reset(partition, setup);
//       status = task_run(task, partition, lane);     // SB_STAGE_FULL: more is to come.
//   } while (status == SB_STAGE_FULL);
//
// Circle: files, task: rows of files are made where a task begins, and those that are too long are
// rejected.
#ifndef SBC_RUNTIME_ROOM_TASK_H
#define SBC_RUNTIME_ROOM_TASK_H

#include "runtime/task/guard.h"
#include "runtime/task/key_filter.h"
#include "runtime/task/probe_ahead.h"
#include "runtime/task/states.h"
#include "runtime/task/task.h"

#endif
