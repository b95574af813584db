// Groups: the hash table of one thread's groups.
#ifndef SBC_RUNTIME_GROUPS_H
#define SBC_RUNTIME_GROUPS_H

#include "runtime/abi.h"
#include "runtime/memory.h"
#include "runtime/slab.h"

struct SbGroupsState {
    SbSlab    slab;        // Entries and long key texts.
    SbCall    call;        // Memory of aggregate states.
    SbEntry **entries;     // In the order of insertion.
    int64_t   entries_max;
    int64_t   entry_bytes;
    int64_t   charged;     // Slots and the entries array.
};

// Nonzero: over the limit; nothing is left behind.
int32_t sb_groups_open(SbGroups *groups, int64_t entry_bytes, SbMemory *memory);
void    sb_groups_close(SbGroups *groups);

#endif
