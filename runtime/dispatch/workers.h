// Workers: the processes in which tasks run, from their start to their end.
//
//   process_start ─▶ HELLO ─▶ WELCOME, EVENT_NODE_UP ─▶ tasks ─▶ STOP
//        ▲                                                │
//        │                                    silent, closed, or dead: EVENT_NODE_LOST
//        └──── reaped ◀──── killed ◀──────────────────────┘
//
// What a worker made before it was lost stays where it is: its arena is the coordinator's. The next
// life of the worker is told which blocks are in use.
#ifndef SBC_RUNTIME_WORKERS_H
#define SBC_RUNTIME_WORKERS_H

#include "runtime/dispatch/flow.h"
#include "runtime/wire.h"

typedef struct Workers Workers;

// Starts as many as the job wants. False: the trouble of the job says why not.
bool workers_open(Dispatch *d, Workers **workers);
// Tells all of them to end. What they say from now on is not heard: what they have to do with is
// being let go. The lock of the dispatch is held.
void workers_end(Workers *workers);
// Ends all of them, whatever they do, and waits for that.
void workers_close(Workers *workers);

// Before time begins: the schedule has no worker that has not said a word. The lock is held.
void workers_await(Workers *workers);

// ---- the lock of the dispatch is held -----------------------------------------------------------

// Says something to a worker, which may be lost. The text is closed.
void workers_say(Workers *workers, NodeId node, WireKind kind, Text *text);
// The same to all.
void workers_say_all(Workers *workers, WireKind kind, const Text *text);
// To those of this machine, which read the arena of the coordinator.
void workers_say_near(Workers *workers, WireKind kind, const Text *text);
// What the message speaks of is no memory of the worker, or none of the job: the worker is lost.
void workers_distrust(Workers *workers, NodeId node, const char *what);
// Rows that the worker made, in these blocks, which the rows own from now on; held once. nullptr:
// no memory.
FarRows *workers_rows(Workers *workers, NodeId node, WireBlocks *blocks);
// A message of the worker speaks of blocks. False: what lies in them has not come.
bool workers_own(Workers *workers, NodeId node, const WireBlocks *blocks);
// Is it a place for a worker of another machine?
bool workers_is_place(const Workers *workers, NodeId node);
const ArenaSpace *workers_space(const Workers *workers);
// A thread begins, or ends, to work at an answer of the worker: until it ends, the worker is not
// lost.
void workers_hold(Workers *workers, NodeId node, bool begins);
// A worker has been asked for a partition of the flow. Who watches the threads of the job sees that
// as work of one of its threads, once one is idle.
void workers_show(Workers *workers, Flow *flow);
// It has answered: a flow that nobody has seen until now will not be seen.
void workers_heard(Workers *workers, Flow *flow);
// The answer is taken, or will never come. What waits for its thread is seen there next.
void workers_showed(Workers *workers, Flow *flow);
// The worker has made a partition, and holds so many bytes of memory; it was made before, by
// another attempt.
void workers_made(Workers *workers, NodeId node, int64_t memory);
void workers_made_again(Workers *workers, NodeId node);

// ---- fleet.c: how many there are; the same lock -------------------------------------------------

// The worker has nothing left to do.
void workers_idle(Workers *workers, NodeId node);
// The worker leaves in good order, and nobody takes its place. False: *trouble.
bool workers_drain(Workers *workers, int64_t number, Trouble *trouble);
// So many workers are to be there. False: *trouble.
bool workers_set_count(Workers *workers, int64_t count, Trouble *trouble);
// The account of each worker has another limit.
void workers_set_limit(Workers *workers, NodeId node, int64_t limit);

#endif
