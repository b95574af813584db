#include "runtime/groups.h"

#include "runtime/scratch.h"

#include <stdlib.h>
#include <string.h>

enum : int64_t { SLOTS_MIN = 1024, STATE_BLOCK_BYTES = 4096 };

static int64_t slots_bytes(uint64_t slots) { return (int64_t)(slots * sizeof(uint64_t)); }

int32_t sb_groups_open(SbGroups *groups, int64_t entry_bytes, SbMemory *memory) {
    *groups = (SbGroups){0};
    struct SbGroupsState *state = calloc(1, sizeof *state);
    if (!state) return SB_FAULT_TOO_LARGE;
    sb_slab_open(&state->slab, memory);
    state->entry_bytes = entry_bytes;
    groups->state = state;
    groups->slots = calloc(SLOTS_MIN, sizeof(uint64_t));
    if (!groups->slots || sb_scratch_open(&state->call, STATE_BLOCK_BYTES)) goto fail;
    if (!sb_memory_charge(memory, slots_bytes(SLOTS_MIN))) goto fail;
    state->charged = slots_bytes(SLOTS_MIN);
    groups->mask = SLOTS_MIN - 1;
    groups->count_max = SLOTS_MIN / 2;
    return SB_OK;
fail:
    sb_groups_close(groups);
    return SB_FAULT_TOO_LARGE;
}

void sb_groups_close(SbGroups *groups) {
    struct SbGroupsState *state = groups->state;
    if (!state) return;
    sb_memory_release(state->slab.memory, state->charged);
    sb_scratch_close(&state->call);
    sb_slab_close(&state->slab);
    free(state->entries);
    free(groups->slots);
    free(state);
    *groups = (SbGroups){0};
}

SbCall *sb_groups_call(SbGroups *groups) { return &groups->state->call; }

static uint64_t slot_of(const SbEntry *entry) {
    return (uint64_t)(uintptr_t)entry | (entry->hash & ~((UINT64_C(1) << 48) - 1));
}

static void put(SbGroups *groups, SbEntry *entry) {
    uint64_t at = entry->hash & groups->mask;
    while (groups->slots[at]) at = (at + 1) & groups->mask;
    groups->slots[at] = slot_of(entry);
}

// Doubles the slots (fourfold while small) and puts every entry again.
static bool grow(SbGroups *groups) {
    struct SbGroupsState *state = groups->state;
    uint64_t slots = (groups->mask + 1) * (groups->mask < 65536 ? 4 : 2);
    if (!sb_memory_charge(state->slab.memory, slots_bytes(slots))) return false;
    uint64_t *moved = calloc(slots, sizeof *moved);
    if (!moved) {
        sb_memory_release(state->slab.memory, slots_bytes(slots));
        return false;
    }
    int64_t before = slots_bytes(groups->mask + 1);
    free(groups->slots);
    sb_memory_release(state->slab.memory, before);
    state->charged += slots_bytes(slots) - before;
    groups->slots = moved;
    groups->mask = slots - 1;
    groups->count_max = (int64_t)(slots / 2);
    for (int64_t i = 0; i < groups->count; i++) put(groups, state->entries[i]);
    return true;
}

static bool grow_entries(struct SbGroupsState *state) {
    int64_t max = state->entries_max ? state->entries_max * 2 : SLOTS_MIN / 2;
    int64_t more = (max - state->entries_max) * (int64_t)sizeof *state->entries;
    if (!sb_memory_charge(state->slab.memory, more)) return false;
    SbEntry **moved = realloc(state->entries, (size_t)max * sizeof *moved);
    if (!moved) {
        sb_memory_release(state->slab.memory, more);
        return false;
    }
    state->charged += more;
    state->entries = moved;
    state->entries_max = max;
    return true;
}

int32_t sb_groups_adopt(SbGroups *groups, SbEntry *entry) {
    struct SbGroupsState *state = groups->state;
    if (groups->count >= groups->count_max && !grow(groups)) return SB_FAULT_TOO_LARGE;
    if (groups->count >= state->entries_max && !grow_entries(state)) return SB_FAULT_TOO_LARGE;
    state->entries[groups->count++] = entry;
    put(groups, entry);
    return SB_OK;
}

SbEntry *sb_groups_insert(SbCall *call, SbGroups *groups, uint64_t hash, uint64_t order) {
    (void)call;
    struct SbGroupsState *state = groups->state;
    SbEntry *entry = sb_slab_alloc(&state->slab, state->entry_bytes);
    if (!entry) return nullptr;
    memset(entry, 0, (size_t)state->entry_bytes);
    entry->hash = hash;
    entry->order = order;
    return sb_groups_adopt(groups, entry) ? nullptr : entry;
}

int32_t sb_groups_key(SbGroups *groups, SbKeyStr *key, const char *ptr, int64_t len) {
    *key = (SbKeyStr){.len = len};
    if (len <= SB_KEY_INLINE) {
        memcpy(key->bytes, ptr, (size_t)len);
        return SB_OK;
    }
    char *copy = sb_slab_alloc(&groups->state->slab, len);
    if (!copy) return SB_FAULT_TOO_LARGE;
    memcpy(copy, ptr, (size_t)len);
    memcpy(&key->far.head, ptr, sizeof key->far.head);
    key->far.ptr = copy;
    return SB_OK;
}

int32_t sb_groups_nested(SbGroups *groups, const SbType *type, void *value) {
    return sb_slab_nested(&groups->state->slab, type, value);
}
