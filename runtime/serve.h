// Serve: a worker process of a job. It makes partitions of the tasks that the coordinator asks for.
//
//   coordinator                                     worker
//   spawned ───────────────────────────────────▶ serve_run: program and parameters are read
//           ◀───────────────────────────── HELLO    which program it is
//   WELCOME ───────────────────────────────────▶    inputs, share of memory; stages are opened
//   ASK ───────────────────────────────────────▶ queue ─▶ a thread: prepare, task_run
//           ◀────────────────────────────── MADE    a partition in this worker's arena
//   FREE ──────────────────────────────────────▶    its blocks are used again
//   STOP, or the connection ends ──────────────▶ exit
//
// A worker decides nothing. It knows no schedule, no other task and no other worker. What it keeps
// between two messages is the tasks that have begun and not ended.
//
// Called by runtime/main, in place of a whole job, where the process is a worker.
//
// Worked example:
//
//   Inherited inherited;
//   if (process_inherited(&inherited, &trouble)) return serve_run(job, &inherited);
//
// Circle: breakers, copies, inputs, join, serve, signals, trial, work: threads of the worker do
// what messages say, and say what came of it.
#ifndef SBC_RUNTIME_ROOM_SERVE_H
#define SBC_RUNTIME_ROOM_SERVE_H

#include "runtime/serve/serve.h"

#endif
