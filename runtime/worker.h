// Worker: who runs the threads that the dispatch gives tasks to, and how processes of a job talk.
//
//   worker  threads that tasks run on        frame  what goes over a connection in one piece
//   links   connections to other processes, on a thread of their own
//   link_*  the makes of connections, one file each: unix, tcp, and the encryption of tcp
//
// Called by runtime/dispatch. There is one worker today: the process itself, whose threads share
// the memory and the lock of the dispatch (worker_of_threads).
//
// The life of a worker in another process is that of a member in runtime/core/membership.h:
//
//   hello ─▶ WELCOME, with an epoch ─▶ live ─▶ silent: suspected, no new work ─▶ lost ─▶ reaped
//                                        ▲                  │
//                                        └──── heard of ────┘
//
// What belongs to an earlier life is dropped by its epoch. The tasks of a lost worker are given to
// others at once (EVENT_NODE_LOST); its memory and its names are used again once it is reaped.
// A worker that loses the dispatch ends. Links only say that a connection is closed; who is silent
// is found by the caller's own heartbeats.
//
// Worked example: all threads of a worker look for work until the job is over.
//
//   Worker worker = worker_of_threads(&pool->parallel);
//   worker.run(&worker, dispatch_thread, dispatch);
//
// Worked example: a process says hello over a socket that it was started with.
//
//   Links *links = links_open(&(LinksSetup){.calls = {.frame = on_frame, .closed = on_closed},
//                                           .self = job, .timeout_ns = 10000000000,
//                                           .queue_bytes_max = 64 << 20, .peers_max = 1}, trouble);
//   if (links && links_adopt(links, fd, &job->dispatch, trouble))
//       links_send(links, job->dispatch, &(Frame){.kind = HELLO}, nullptr, 0);
#ifndef SBC_RUNTIME_ROOM_WORKER_H
#define SBC_RUNTIME_ROOM_WORKER_H

#include "runtime/worker/frame.h"
#include "runtime/worker/links.h"
#include "runtime/worker/process.h"
#include "runtime/worker/worker.h"

#endif
