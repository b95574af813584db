#include "runtime/memory/scratch.h"

#include <stdlib.h>

typedef struct Block {
    struct Block *next;
    char         *end;
    int64_t       given;    // Bytes that the account gave; 0: it is from malloc.
    alignas(16) char bytes[];
} Block;

struct SbScratch {
    Block    *blocks;   // Newest first; the last one is the first block.
    SbMemory *memory;   // Or null: nothing is charged.
    int64_t   charged;
    bool      denied;
    bool      shared;
};

enum : int64_t { HEAD_BYTES = sizeof(Block) + SB_SLACK + 16 };  // Beside what a block is asked for.

static Block *block_new(int64_t bytes, Block *next) {
    Block *block = malloc((size_t)(bytes + HEAD_BYTES));
    if (!block) return nullptr;
    *block = (Block){.next = next};
    block->end = (char *)block + bytes + HEAD_BYTES;
    return block;
}

static Block *block_shared(struct SbScratch *scratch, int64_t size) {
    Block *block = sb_memory_take_shared(scratch->memory, size);
    if (!block) return nullptr;
    *block = (Block){.next = scratch->blocks, .given = size};
    block->end = (char *)block + size;
    return block;
}

static Block *block_charged(struct SbScratch *scratch, int64_t size) {
    SbMemory *memory = scratch->memory;
    if (memory && !sb_memory_charge(memory, size)) return nullptr;
    Block *block = block_new(size, scratch->blocks);
    if (memory && !block) sb_memory_release(memory, size);
    return block;
}

int32_t sb_scratch_open(SbCall *call, int64_t bytes) {
    *call = (SbCall){.scratch = calloc(1, sizeof(struct SbScratch))};
    if (!call->scratch) return SB_FAULT_TOO_LARGE;
    Block *block = block_new(bytes, nullptr);
    if (!block) {
        free(call->scratch);
        return SB_FAULT_TOO_LARGE;
    }
    call->scratch->blocks = block;
    call->at = call->begin = block->bytes;
    call->end = block->end;
    return SB_OK;
}

void *sb_alloc_slow(SbCall *call, int64_t bytes) {
    enum : int64_t { BLOCK_BYTES_MIN = 256 * 1024 };
    struct SbScratch *scratch = call->scratch;
    if (bytes < 0 || bytes > INT64_C(1) << 40) return nullptr;
    int64_t least = BLOCK_BYTES_MIN;
    if (scratch->memory && scratch->memory->block_max < least) least = scratch->memory->block_max;
    // Of an arena a block takes whole units, with its head.
    int64_t whole = scratch->shared ? bytes + HEAD_BYTES : bytes;
    int64_t size = whole > least ? whole : least;
    Block *block = scratch->shared ? block_shared(scratch, size) : block_charged(scratch, size);
    scratch->denied |= !block && scratch->memory;
    if (!block) return nullptr;
    if (scratch->memory) scratch->charged += size;
    scratch->blocks = block;
    call->end = block->end;
    call->at = block->bytes + ((bytes + 15) & ~INT64_C(15));
    return block->bytes;
}

void *sb_take(SbCall *call, int64_t bytes) { return sb_alloc(call, bytes); }

void sb_scratch_rewind(SbCall *call) {
    struct SbScratch *scratch = call->scratch;
    Block *block = scratch->blocks;
    while (block->next) {
        Block *next = block->next;
        if (block->given) {
            scratch->charged -= block->given;
            sb_memory_give_shared(scratch->memory, block, block->given);
        } else {
            free(block);
        }
        block = next;
    }
    scratch->blocks = block;
    call->at = call->begin;
    call->end = block->end;
    if (!scratch->charged) return;
    sb_memory_release(scratch->memory, scratch->charged);
    scratch->charged = 0;
}

void sb_scratch_charge(SbCall *call, SbMemory *memory) { call->scratch->memory = memory; }

void sb_scratch_share(SbCall *call, SbMemory *memory) {
    call->scratch->memory = memory;
    call->scratch->shared = sb_memory_shares(memory);
}

bool sb_scratch_take_denied(SbCall *call) {
    bool denied = call->scratch->denied;
    call->scratch->denied = false;
    return denied;
}

int64_t sb_scratch_charged(const SbCall *call) { return call->scratch->charged; }

void sb_scratch_close(SbCall *call) {
    if (!call->scratch) return;
    sb_scratch_rewind(call);
    free(call->scratch->blocks);
    free(call->scratch);
    *call = (SbCall){0};
}
