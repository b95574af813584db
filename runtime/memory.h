// Memory: the account that all large allocations are charged to, and the ways to take from it.
//
//   SbMemory   the account of --memory, and accounts of breakers below it
//   SbSlab     blocks that die together: entries and texts of a breaker
//   scratch    what a function call or a setup allocates, wound back after each row or batch
//   arena      what all processes of a job see at the same addresses
//   foreign    what C functions of the user take by the malloc family
//
// Called by all rooms that keep rows or text, and by generated code through SbCall
// (abi/call.h). Nothing here knows of rows, files or tasks.
//
// Worked example: a breaker takes a block of 64 KiB.
//
//   if (!sb_memory_charge(memory, bytes)) return SB_FAULT_TOO_LARGE;   // The caller spills.
//   ...
//   sb_memory_release(memory, bytes);
#ifndef SBC_RUNTIME_ROOM_MEMORY_H
#define SBC_RUNTIME_ROOM_MEMORY_H

#include "runtime/memory/arena.h"
#include "runtime/memory/foreign.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/scratch.h"
#include "runtime/memory/slab.h"

#endif
