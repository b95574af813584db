// Memory: the account that every large allocation of a job is charged to, against --memory.
#ifndef SBC_RUNTIME_MEMORY_H
#define SBC_RUNTIME_MEMORY_H

#include <stdint.h>

typedef struct SbMemory {
    _Atomic int64_t  limit;          // Bytes.
    _Atomic int64_t  short_at;       // When as many are used, breakers begin to spill. What is left
                                     // is for rows on their way, and for reading back what spilled.
    int64_t          block_max;      // Of slabs: small where the limit is.
    bool             eager;          // Breakers spill every few rows: for tests.
    _Atomic int64_t  used;
    _Atomic int64_t  idle;           // Of `used`: what accounts within it were given and do not
                                     // use.
    _Atomic int64_t  peak;           // The most that was used and not idle.
    _Atomic int64_t  lacked;         // What was not there of a charge that was refused; the last.
    // Blocks that nobody uses now, and their bytes, which nobody is charged for; or nullptr.
    struct SbBlocks *blocks;
    _Atomic int64_t  kept;
    // Of an account within another; else nullptr.
    struct SbMemory *whole;
    // Is the limit so high, or can it be raised, that `ahead` bytes more than are used fit?
    bool           (*more)(struct SbMemory *self, int64_t ahead);
    void           (*less)(struct SbMemory *self);  // Gives back what is not used.
    struct Arena    *arena;          // Where blocks lie that other processes read; nullptr: nobody
                                     // else does. Accounts within another one use that one's.
    int64_t          head_max;       // So much, or a quarter of the limit, is left for what cannot
                                     // wait until something is on disk.
} SbMemory;

// At the start of the process: large blocks go back to the system when they are freed. Else malloc
// learns from them to keep as much for itself, which nobody counts.
void sb_memory_begin(void);

void sb_memory_open(SbMemory *memory, int64_t limit);

// Of the `whole` memory of a job: what no account counts, as the program, stacks, small blocks and
// what lies between blocks.
int64_t sb_memory_rest(int64_t whole);

// Takes `bytes` from the account. False, and nothing taken, when they are not there.
bool sb_memory_charge(SbMemory *memory, int64_t bytes);
void sb_memory_release(SbMemory *memory, int64_t bytes);
// Another limit from now on; what is held beyond it comes back as it does.
void sb_memory_limit(SbMemory *memory, int64_t limit);
// Could that many be taken now?
bool sb_memory_has(SbMemory *memory, int64_t bytes);
// What is in use: `used` without what is idle.
int64_t sb_memory_held(const SbMemory *memory);

// Charges and releases what accounts within this one may use: it is idle until they do.
bool sb_memory_promise(SbMemory *memory, int64_t bytes);
void sb_memory_recall(SbMemory *memory, int64_t bytes);

// Breakers leave `bytes` more to others: at most half of the memory in all.
void sb_memory_reserve(SbMemory *memory, int64_t bytes);

// Of an account within another: is there no more to be had?
bool sb_memory_is_denied(SbMemory *memory);
// The same account: something went to disk, or the limit is another.
void sb_memory_calm(SbMemory *memory);

static inline bool sb_memory_is_short(SbMemory *memory) {
    if (memory->used <= memory->short_at && !memory->eager) return false;
    return memory->eager || !memory->more || sb_memory_is_denied(memory);
}

// `bytes` of zeroes, charged, for long arrays. They are huge pages where there can be some.
// Such arrays are touched in random order, and each small page would be a fault. Null: over the
// limit, and nothing is charged.
void *sb_memory_pages(SbMemory *memory, int64_t bytes);
// Gives them back: free() and release. Null is nothing.
void sb_memory_free(SbMemory *memory, void *pages, int64_t bytes);

// ---- blocks that other processes read -----------------------------------------------------------

// Makes a block of `bytes` one of `more`, whose first `used` bytes stay; charged, not zeroed. No
// block has no bytes. The block lies in the arena of the account, if there is one. nullptr: over
// the limit, and all is as it was.
void *sb_memory_resize_shared(SbMemory *memory, void *block, int64_t bytes, int64_t more,
                              int64_t used);
static inline void *sb_memory_take_shared(SbMemory *memory, int64_t bytes) {
    return sb_memory_resize_shared(memory, nullptr, 0, bytes, 0);
}
void sb_memory_give_shared(SbMemory *memory, void *block, int64_t bytes);
// The block is only read here from now on, until it is given back (arena_seal).
void sb_memory_seal_shared(SbMemory *memory, void *block, int64_t bytes);
// Has the account an arena?
static inline bool sb_memory_shares(const SbMemory *memory) {
    return memory->whole ? memory->whole->arena : memory->arena;
}

// Pages that other processes may read, of the arena of the account if there is one: then they are
// not zeroed.
static inline void *sb_memory_pages_shared(SbMemory *memory, int64_t bytes) {
    return sb_memory_shares(memory) ? sb_memory_take_shared(memory, bytes)
                                    : sb_memory_pages(memory, bytes);
}
static inline void sb_memory_free_shared(SbMemory *memory, void *pages, int64_t bytes) {
    if (pages && sb_memory_shares(memory)) sb_memory_give_shared(memory, pages, bytes);
    else sb_memory_free(memory, pages, bytes);
}

// ---- blocks ---------------------------------------------------------------------------------

// From now on the account keeps some blocks that are given back, so that who takes them next gets
// pages that the system need not clear once more. They make way for what is charged: what is held
// and what is kept are within the limit.
void sb_memory_keep(SbMemory *memory);
// Lets go of them.
void sb_memory_keep_none(SbMemory *memory);

// A block of *bytes or some more, which *bytes says then; charged, not zeroed. nullptr: the account
// does not hold it.
void *sb_memory_take_block(SbMemory *memory, int64_t *bytes);
void sb_memory_give_block(SbMemory *memory, void *block, int64_t bytes);

#endif
