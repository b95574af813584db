// Foreign memory: what C functions of the user take by the malloc family, counted like all else.
//
// sbc turns their calls into those of sb_foreign_NAME (runtime/abi/foreign.h). Beyond
// --memory they get null and ENOMEM, as from malloc. What libraries take on their behalf, as in
// strdup, is not counted.
#ifndef SBC_RUNTIME_FOREIGN_H
#define SBC_RUNTIME_FOREIGN_H

#include "runtime/memory/memory.h"

// One call of foreign code, on the calling thread. What it takes beyond `limit` is denied.
typedef struct ForeignCall {
    int64_t limit;   // Bytes; 0: no limit of its own.
    int64_t used;    // Taken and not given back, by the thread of the call.
    bool    denied;  // It asked for more than there is.
} ForeignCall;

// The call is the thread's from now on, until its end.
void foreign_begin(ForeignCall *call);
void foreign_end(void);

// From now on, until it is closed, allocations are charged to `memory`. One at a time in a process.
void foreign_open(SbMemory *memory);
void foreign_close(void);

#endif
