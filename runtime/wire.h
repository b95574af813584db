// Wire: what the coordinator of a job and its workers say to each other, as bytes of frames.
//
//   kinds.def   the kinds of messages, one line each: who says it, and what it means
//   ask         what a worker is to do: the rows of a task, and how far it may go
//   made        what came of it: a partition, or why there is none
//   flushed     what a worker has put into breakers
//   welcome     what a worker is told of the job before its first task
//   rows        bytes of arenas, to a worker of another machine and from it
//
// Called by runtime/dispatch, which runs tasks in workers, and by runtime/serve, which is the
// worker. Frames travel by runtime/worker.
//
// What a partition holds does not travel. It lies in the arena of the process that made it
// (memory/arena.h), and a message says at which addresses. The layout of rows there is that of the
// plan (ir/plan_layout.c): entries with their columns, texts and lists where their pointers say.
// All processes map an arena at the same addresses, so that an address is an offset from a base
// that is the same everywhere. Who takes such addresses from a message checks that they lie in the
// blocks that the message names (wire_check).
//
// Worked example: a worker is asked for a partition.
//
//   Text text = {0};
//   wire_put_ask(&text, stage, &ask);                // In the coordinator.
//   ...
//   Unpack from = {bytes, bytes + len, false};
//   if (!wire_get_ask(&from, stages, count, &ask)) ...   // In the worker: no message of this job.
#ifndef SBC_RUNTIME_ROOM_WIRE_H
#define SBC_RUNTIME_ROOM_WIRE_H

#include "runtime/wire/flushed.h"
#include "runtime/wire/made.h"
#include "runtime/wire/rows.h"
#include "runtime/wire/trial.h"
#include "runtime/wire/welcome.h"

#endif
