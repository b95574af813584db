// Scratch: the blocks of an SbCall. A task winds back to the first block once a row or a batch.
#ifndef SBC_RUNTIME_SCRATCH_H
#define SBC_RUNTIME_SCRATCH_H

#include "runtime/abi/call.h"
#include "runtime/memory/memory.h"

// Makes `call` ready with a first block of `bytes`. Nonzero: out of memory.
int32_t sb_scratch_open(SbCall *call, int64_t bytes);

void sb_scratch_close(SbCall *call);

// From now on new blocks are charged to `memory`; over the limit there are none.
void    sb_scratch_charge(SbCall *call, SbMemory *memory);
// The same, and other processes may read what lies in new blocks, if the account has an arena. A
// first block of no bytes has nothing.
void    sb_scratch_share(SbCall *call, SbMemory *memory);
int64_t sb_scratch_charged(const SbCall *call);
// Was there none since it was asked last?
bool    sb_scratch_take_denied(SbCall *call);

#endif
