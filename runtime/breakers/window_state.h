// Window states: what sum, mean, min, max and count of a window have added up.
#ifndef SBC_RUNTIME_BREAKERS_WINDOW_STATE_H
#define SBC_RUNTIME_BREAKERS_WINDOW_STATE_H

#include "runtime/abi/program.h"
#include "runtime/abi/call.h"

enum { WINDOW_STATE_BYTES = 64 };  // Of a state, aligned to 16. All zero: nothing was added.

// A status. `value` is of fn->type and not null; null: a row counts.
int32_t window_add(const SbWindowFn *fn, SbCall *call, void *state, const void *value);
int32_t window_merge(const SbWindowFn *fn, SbCall *call, void *into, const void *from);
// Puts the result at `out`: a status.
int32_t window_end(const SbWindowFn *fn, SbCall *call, const void *state, void *out);

// Of MIN and MAX: where the value lies, in the row that has it; null: there was none.
const void *window_best(const void *state);
void window_set_best(void *state, const void *value);

#endif
