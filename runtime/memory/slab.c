#include "runtime/memory/slab.h"

#include "runtime/abi/value.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct SbSlabBlock {
    struct SbSlabBlock *next;
    int64_t             bytes;   // All of it.
    char               *filled;  // How far, once another block was begun.
    alignas(16) char    room[];
} SbSlabBlock;

// Small at first: a batch of a few rows may wait in an edge for long.
enum : int64_t {
    BLOCK_BYTES_FIRST = 1 << 10,
    BLOCK_BYTES_MIN = 4 << 10,
    BLOCK_BYTES_MANY = 256 << 10,
};

void sb_slab_open(SbSlab *slab, SbMemory *memory) {
    *slab = (SbSlab){.memory = memory, .wanted = INT64_MAX};
}

static bool is_shared(const SbSlab *slab) {
    return slab->shared && sb_memory_shares(slab->memory);
}

// A spare block of at least `least` bytes, and not many more than `size`; nullptr: there is none.
static SbSlabBlock *take_spare(SbSlab *slab, int64_t least, int64_t size) {
    for (SbSlabBlock **at = &slab->spare; *at; at = &(*at)->next) {
        SbSlabBlock *block = *at;
        if (block->bytes < least || block->bytes > 2 * size) continue;
        *at = block->next;
        return block;
    }
    return nullptr;
}

static void use_block(SbSlab *slab, SbSlabBlock *block) {
    if (slab->at) slab->blocks->filled = slab->at;
    block->next = slab->blocks;
    slab->blocks = block;
    slab->at = block->room;
    slab->end = (char *)block + block->bytes - SB_SLACK;
    slab->bytes += block->bytes;
}

// Large blocks grow less: the last one is all charged, however much of it is used.
static int64_t next_size(const SbSlabBlock *last) {
    if (!last) return BLOCK_BYTES_FIRST;
    return last->bytes < BLOCK_BYTES_MANY ? 4 * last->bytes : 2 * last->bytes;
}

bool sb_slab_grow(SbSlab *slab, int64_t bytes) {
    int64_t size = next_size(slab->blocks);
    if (size > slab->memory->block_max) size = slab->memory->block_max;
    if (size > slab->wanted - slab->bytes) size = slab->wanted - slab->bytes;
    int64_t smallest = slab->blocks ? BLOCK_BYTES_MIN : BLOCK_BYTES_FIRST;
    if (size < smallest) size = smallest;
    int64_t least = bytes + (int64_t)sizeof(SbSlabBlock) + SB_SLACK;
    if (size < least) size = (least + BLOCK_BYTES_MIN - 1) & -BLOCK_BYTES_MIN;
    SbSlabBlock *spare = take_spare(slab, least, size);
    if (spare) return use_block(slab, spare), true;
    SbSlabBlock *block = is_shared(slab) ? sb_memory_take_shared(slab->memory, size)
                                         : sb_memory_take_block(slab->memory, &size);
    if (!block) return false;
    block->bytes = size;
    use_block(slab, block);
    return true;
}

// The block and those after it in its list; returns their bytes.
static int64_t free_list(const SbSlab *slab, SbSlabBlock *block) {
    int64_t bytes = 0;
    for (SbSlabBlock *next; block; block = next) {
        next = block->next;
        bytes += block->bytes;
        if (is_shared(slab)) sb_memory_give_shared(slab->memory, block, block->bytes);
        else sb_memory_give_block(slab->memory, block, block->bytes);
    }
    return bytes;
}

// The block and those older than it.
static void free_blocks(SbSlab *slab, SbSlabBlock *block) {
    slab->bytes -= free_list(slab, block);
}

void sb_slab_reset(SbSlab *slab) {
    SbSlabBlock **end = &slab->blocks;
    while (*end) end = &(*end)->next;
    *end = slab->spare;
    slab->spare = slab->blocks;
    slab->blocks = nullptr;
    slab->at = slab->end = nullptr;
    slab->bytes = 0;
}

void sb_slab_close(SbSlab *slab) {
    free_list(slab, slab->spare);
    free_blocks(slab, slab->blocks);
    *slab = (SbSlab){.memory = slab->memory, .wanted = slab->wanted, .shared = slab->shared};
}

void sb_slab_give_up(SbSlab *slab, SbBlockFn *fn, void *arg) {
    SbSlabBlock *lists[] = {slab->blocks, slab->spare};
    for (int i = 0; i < 2; i++) {
        for (SbSlabBlock *block = lists[i], *next; block; block = next) {
            next = block->next;
            fn(arg, block, block->bytes);
        }
    }
    *slab = (SbSlab){.memory = slab->memory, .wanted = slab->wanted, .shared = slab->shared};
}

void sb_slab_drop_newest(SbSlab *slab) {
    SbSlabBlock *block = slab->blocks;
    slab->blocks = block->next;
    slab->at = slab->end = nullptr;
    block->next = nullptr;
    free_blocks(slab, block);
}

void sb_slab_back(SbSlab *slab, const SbSlabMark *mark) {
    while (slab->blocks != mark->block) sb_slab_drop_newest(slab);
    slab->at = mark->at;
    slab->end = mark->end;
}

void sb_slab_drop_older(SbSlab *slab, SbSlabBlock *block) {
    free_blocks(slab, block->next);
    block->next = nullptr;
}

static bool took_since(const SbSlab *slab, const SbSlabMark *mark) {
    // After sb_slab_drop_newest nothing is taken of the block below it.
    if (!mark->at) return false;
    return (mark->block == slab->blocks ? slab->at : mark->block->filled) != mark->at;
}

void sb_slab_drop_before(SbSlab *slab, SbSlabMark *mark) {
    if (!mark->block) return;
    sb_slab_drop_older(slab, mark->block);
    if (took_since(slab, mark)) return;
    if (slab->blocks == mark->block) {
        sb_slab_drop_newest(slab);
    } else {
        SbSlabBlock *above = slab->blocks;
        while (above->next != mark->block) above = above->next;
        sb_slab_drop_older(slab, above);
    }
    *mark = (SbSlabMark){0};
}

static int32_t list_copy(SbSlab *slab, const SbType *type, SbList *list) {
    const SbType *elem = type->elem;
    int64_t lead = sb_lead_bytes(type), bytes = lead + list->len * (int64_t)elem->size;
    char *copy = sb_slab_alloc(slab, bytes);
    if (!copy) return SB_FAULT_TOO_LARGE;
    if (bytes) memcpy(copy, (const char *)list->ptr - lead, (size_t)bytes);
    list->ptr = copy += lead;
    for (int64_t i = 0; i < list->len && !sb_is_flat(elem); i++) {
        int32_t status = sb_slab_nested(slab, elem, copy + i * (int64_t)elem->size);
        if (status) return status;
    }
    return SB_OK;
}

// Recursion follows the type, whose depth the compiler limits.
int32_t sb_slab_nested(SbSlab *slab, const SbType *type, void *memory) {
    char *value = memory;
    if (type->nullable && !value[type->valid_offset]) return SB_OK;
    if (sb_is_sequence(type)) return list_copy(slab, type, (SbList *)(void *)value);
    if (sb_is_text(type)) {
        SbStr *text = (SbStr *)(void *)value;
        char *copy = sb_slab_text(slab, text->len);
        if (!copy) return SB_FAULT_TOO_LARGE;
        if (text->len) memcpy(copy, text->ptr, (size_t)text->len);
        text->ptr = copy;
        return SB_OK;
    }
    for (uint32_t i = 0; type->kind == SB_STRUCT && i < type->field_count; i++) {
        int32_t status = sb_slab_nested(slab, type->fields[i].type, value + type->fields[i].offset);
        if (status) return status;
    }
    return SB_OK;
}
