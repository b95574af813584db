// Worker: who runs the threads that the dispatch gives tasks to.
//
// Called by runtime/dispatch. There is one worker today: the process itself, whose threads share
// the memory and the lock of the dispatch (worker_of_threads).
//
// A worker in another process gets a Transport, one file for each way to connect: a socket of this
// machine, TCP. Its life is that of a member in runtime/core/membership.h:
//
//   hello ─▶ WELCOME, with an epoch ─▶ live ─▶ silent: suspected, no new work ─▶ lost ─▶ reaped
//                                        ▲                  │
//                                        └──── heard of ────┘
//
// What belongs to an earlier life is dropped by its epoch. The tasks of a lost worker are given to
// others at once (EVENT_NODE_LOST); its memory and its names are used again once it is reaped.
// A worker that loses the dispatch ends.
//
// Worked example: all threads of a worker look for work until the job is over.
//
//   Worker worker = worker_of_threads(&pool->parallel);
//   worker.run(&worker, dispatch_thread, dispatch);
#ifndef SBC_RUNTIME_ROOM_WORKER_H
#define SBC_RUNTIME_ROOM_WORKER_H

#include "runtime/worker/worker.h"

#endif
