#include "runtime/memory/scratch.h"

#include <stdlib.h>

typedef struct Block {
    struct Block *next;
    char         *end;
    alignas(16) char bytes[];
} Block;

struct SbScratch {
    Block    *blocks;   // Newest first; the last one is the first block.
    SbMemory *memory;   // Or null: nothing is charged.
    int64_t   charged;
    bool      denied;
};

static Block *block_new(int64_t bytes, Block *next) {
    Block *block = malloc(sizeof *block + (size_t)bytes + SB_SLACK + 16);
    if (!block) return nullptr;
    block->next = next;
    block->end = block->bytes + bytes + SB_SLACK + 16;
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
    int64_t size = bytes > least ? bytes : least;
    if (scratch->memory && !sb_memory_charge(scratch->memory, size)) {
        scratch->denied = true;
        return nullptr;
    }
    Block *block = block_new(size, scratch->blocks);
    if (!block) {
        if (scratch->memory) sb_memory_release(scratch->memory, size);
        return nullptr;
    }
    if (scratch->memory) scratch->charged += size;
    scratch->blocks = block;
    call->end = block->end;
    call->at = block->bytes + ((bytes + 15) & ~INT64_C(15));
    return block->bytes;
}

void *sb_take(SbCall *call, int64_t bytes) { return sb_alloc(call, bytes); }

void sb_scratch_rewind(SbCall *call) {
    Block *block = call->scratch->blocks;
    while (block->next) {
        Block *next = block->next;
        free(block);
        block = next;
    }
    call->scratch->blocks = block;
    call->at = call->begin;
    call->end = block->end;
    if (!call->scratch->charged) return;
    sb_memory_release(call->scratch->memory, call->scratch->charged);
    call->scratch->charged = 0;
}

void sb_scratch_charge(SbCall *call, SbMemory *memory) { call->scratch->memory = memory; }

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
