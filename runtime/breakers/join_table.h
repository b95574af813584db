// Join table: the slots of a join's build side, filled by all threads.
#ifndef SBC_RUNTIME_JOIN_TABLE_H
#define SBC_RUNTIME_JOIN_TABLE_H

#include "runtime/breakers/breaker.h"

#include <string.h>

typedef struct SbJoinBuild {
    const SbBreaker *what;
    const SbEntry *const *entries;  // In right order.
    int64_t     count;
    uint64_t   *slots;              // All zero; as many as sb_join_table_plan says.
    SbTable     table;              // The table as sb_join_table_plan made it.
    const SbEntry **lists;          // Room for all entries; means nothing afterwards.
} SbJoinBuild;

// Decides on the form of the table and fills `build->table` but for its slots; returns their
// number. Needs what, entries and count.
int64_t sb_join_table_plan(SbJoinBuild *build, SbParallel *parallel);

// The entry knows of no other one to jump to. Does nothing where entries have no SbJump.
void sb_join_jump_nowhere(const SbBreaker *what, const SbEntry *entry);

static inline SbJump *join_jump_of(const SbBreaker *what, const SbEntry *entry) {
    return (SbJump *)(void *)((char *)(uintptr_t)entry + what->jump_offset);
}

// The one after it in its chain.
static inline const SbEntry *join_next_of(const SbBreaker *what, const SbEntry *entry) {
    const SbEntry *next;
    memcpy(&next, (const char *)entry + what->next_offset, sizeof next);
    return next;
}

// Puts the entries whose key is not null; those of one key are chained in right order.
// SB_FAULT_TOO_LARGE: out of memory.
int32_t sb_join_table_build(SbJoinBuild *build, SbParallel *parallel);

// How many slots the table has.
static inline int64_t sb_join_table_slots(const SbTable *table) {
    return (int64_t)(table->span ? table->span : table->mask + 1);
}

#endif
