// Slab: charged blocks of memory that die together; entries and texts of a breaker are cut from
// them.
#ifndef SBC_RUNTIME_SLAB_H
#define SBC_RUNTIME_SLAB_H

#include "runtime/abi/value.h"
#include "runtime/memory/memory.h"

typedef struct SbSlab {
    SbMemory *memory;
    struct SbSlabBlock *blocks;  // Newest first.
    struct SbSlabBlock *spare;   // Charged, and in no use: kept by sb_slab_reset.
    char    *at, *end;           // Free room in the newest block.
    int64_t  bytes;              // Charged, of the blocks in use.
    int64_t  wanted;             // Bytes up to which blocks grow; after it they are small.
    bool     shared;             // Other processes may read the blocks.
} SbSlab;

void sb_slab_open(SbSlab *slab, SbMemory *memory);
void sb_slab_close(SbSlab *slab);

// Empties the slab and keeps its blocks for what comes next.
void sb_slab_reset(SbSlab *slab);

// Begins a new block with room for at least `bytes`; blocks grow from 1 KiB to 2 MiB (huge pages),
// or less where the limit is low. False: the account does not hold it.
bool sb_slab_grow(SbSlab *slab, int64_t bytes);

// `bytes` of text, not zeroed, with SB_SLACK readable bytes after. nullptr: over the limit.
static inline char *sb_slab_text(SbSlab *slab, int64_t bytes) {
    // >=: no bytes of a slab without a block have an address too.
    if (bytes >= slab->end - slab->at && !sb_slab_grow(slab, bytes)) return nullptr;
    char *at = slab->at;
    slab->at += bytes ? bytes : 1;  // No bytes keep their block, too.
    return at;
}

// The same, aligned to 16.
static inline void *sb_slab_alloc(SbSlab *slab, int64_t bytes) {
    slab->at += -(intptr_t)slab->at & 15;
    if (slab->at > slab->end) slab->at = slab->end;
    return sb_slab_text(slab, (bytes + 15) & ~INT64_C(15));
}

// How far it is filled.
typedef struct SbSlabMark {
    struct SbSlabBlock *block;
    char *at, *end;
} SbSlabMark;

static inline SbSlabMark sb_slab_mark(const SbSlab *slab) {
    return (SbSlabMark){slab->blocks, slab->at, slab->end};
}
// Gives back all that was taken since; the mark's block is one of the slab's.
void sb_slab_back(SbSlab *slab, const SbSlabMark *mark);

// Gives back the newest block, of which nothing was taken.
void sb_slab_drop_newest(SbSlab *slab);
// Gives back the blocks that are older than `block`, one of the slab's.
void sb_slab_drop_older(SbSlab *slab, struct SbSlabBlock *block);
// Gives back the blocks of which nothing was taken since the mark, which is of the slab. Afterwards
// the mark stands where all that is left begins.
void sb_slab_drop_before(SbSlab *slab, SbSlabMark *mark);

// Copies into the slab what a nested value (of memory layout, at `value`) points to. A status.
int32_t sb_slab_nested(SbSlab *slab, const SbType *type, void *value);

// Whose blocks somebody else owns from now on: each is said once.
typedef void SbBlockFn(void *arg, void *block, int64_t bytes);
// Gives all blocks up, spare ones too, and empties the slab. They stay charged.
void sb_slab_give_up(SbSlab *slab, SbBlockFn *fn, void *arg);

#endif
