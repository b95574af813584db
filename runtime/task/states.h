// States of functions over batches: what NAME_init made, handed to one call after the other.
//
// As many calls run at once as threads, and each has a state to itself. So there are at most as
// many states as threads. A function that is `alone` has one call at a time.
#ifndef SBC_RUNTIME_STATES_H
#define SBC_RUNTIME_STATES_H

#include "runtime/abi/program.h"
#include "runtime/task/guard.h"

// Waits for the turn of the call, and finds or makes its state. False: NAME_init failed, as
// `words` say; nothing is taken then.
bool states_take(const SbBatchFn *fn, SbCall *call, void **state, SbStr *words);
void states_give(const SbBatchFn *fn, void *state);

// Ends the states of all functions that the job calls. `note`: of the thread; nullptr: no other
// process asks.
void states_close(const SbJob *job, GuardNote *note);

#endif
