#include "runtime/scratch.h"

#include <stdlib.h>

typedef struct Block {
    struct Block *next;
    char         *end;
    alignas(16) char bytes[];
} Block;

struct SbScratch {
    Block *blocks;  // Newest first; the last one is the first block.
};

static Block *block_new(int64_t bytes, Block *next) {
    Block *block = malloc(sizeof *block + (size_t)bytes + SB_SLACK + 16);
    if (!block) return nullptr;
    block->next = next;
    block->end = block->bytes + bytes + SB_SLACK + 16;
    return block;
}

int32_t sb_scratch_open(SbCall *call, int64_t bytes) {
    *call = (SbCall){.scratch = malloc(sizeof(struct SbScratch))};
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
    enum { BLOCK_BYTES_MIN = 256 * 1024 };
    if (bytes < 0 || bytes > INT64_C(1) << 40) return nullptr;
    Block *block = block_new(bytes > BLOCK_BYTES_MIN ? bytes : BLOCK_BYTES_MIN,
                             call->scratch->blocks);
    if (!block) return nullptr;
    call->scratch->blocks = block;
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
}

void sb_scratch_close(SbCall *call) {
    if (!call->scratch) return;
    sb_scratch_rewind(call);
    free(call->scratch->blocks);
    free(call->scratch);
    *call = (SbCall){0};
}
