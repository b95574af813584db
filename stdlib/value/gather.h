// Gather: parts of a tensor in the order that a list of places gives.
#ifndef SBC_STDLIB_GATHER_H
#define SBC_STDLIB_GATHER_H

#include "runtime/abi/value.h"

// Copies part places[i] of each of the `outer` pieces of `tensor` to `out`, one after the other.
// `places` are i64. SB_FAULT_OUT_OF_BOUNDS: there is no such part.
int32_t sb_gather(const SbGather *sizes, const void *tensor, SbList places, void *out);

#endif
