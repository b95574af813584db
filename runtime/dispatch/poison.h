// Poison: rows on which foreign code ends its worker, and the verdicts about them.
//
//   a worker dies, or a call in it takes too long, and it is ended
//        └─ notes of its threads ─▶ suspects ─ impure ───────────────────────────▶ verdict
//                                      │                                              ▲
//                                      └─ TRY: a fresh worker, that row alone ── dies ┘
//                                                                    └─ comes back ─▶ free
//
// Everybody who comes to a suspect row waits for its verdict. A row with a verdict is rejected
// wherever it comes. Of a batch the trial calls for halves, until the rows are found.
//
// A worker that dies or hangs in NAME_init or NAME_close does so without a row: the job ends.
#ifndef SBC_RUNTIME_POISON_H
#define SBC_RUNTIME_POISON_H

#include "runtime/dispatch/workers.h"

typedef struct Poison Poison;

// nullptr: no memory. `threads` of each of `count` workers, the coordinator among them.
Poison *poison_open(Dispatch *d, Workers *workers, uint32_t count, uint32_t threads);
void    poison_close(Poison *poison);

// ---- the lock of the dispatch is held -----------------------------------------------------------

// The worker is about to be given up; its flows are still there.
void poison_note(Poison *poison, NodeId node);
// Its process is gone, with the status of waitpid. True: its end counts as none.
bool poison_died(Poison *poison, NodeId node, int status);
// The worker was told to end, as the job does. Has it to be waited for, as it closes states?
bool poison_closes(Poison *poison, NodeId node);
// It is gone, and foreign code may have ended it.
void poison_closed(Poison *poison, NodeId node, int status);
// A fresh life has been welcomed: it hears of all cases, and of its next trial. True: it is at one.
bool poison_begin(Poison *poison, NodeId node);
bool poison_try(Poison *poison, NodeId node);
bool poison_has_trial(const Poison *poison, NodeId node);
// A trial has ended without the end of its worker. False: the worker has been at none. *acquits: no
// row was found that the end of the last life can be laid to.
bool poison_tried(Poison *poison, NodeId node, Unpack *from, bool *acquits);
// A tick of the job, before workers are asked about.
void poison_tick(Poison *poison);
// Has foreign code of the worker run longer than its step gives?
bool poison_overdue(Poison *poison, NodeId node);

#endif
