// Join table: the slots of a join's build side, filled by all threads.
#ifndef SBC_RUNTIME_JOIN_TABLE_H
#define SBC_RUNTIME_JOIN_TABLE_H

#include "runtime/breaker.h"

typedef struct SbJoinBuild {
    const SbBreaker *what;
    const SbEntry *const *entries;  // In right order.
    int64_t     count;
    uint64_t   *slots;              // All zero, at least two for each entry, a power of two.
    uint64_t    mask;
    const SbEntry **lists;          // Room for all entries; means nothing afterwards.
} SbJoinBuild;

// Puts the entries whose key is not null; those of one key are chained in right order.
// SB_FAULT_TOO_LARGE: out of memory.
int32_t sb_join_table_build(SbJoinBuild *build, SbParallel *parallel);

#endif
