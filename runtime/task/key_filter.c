#include "runtime/task/key_filter.h"

#include "runtime/task/asking.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    KEY_BITS = 16,         // Of the filter for each hash: one of some 180 others passes.
    FILTER_WORD = 64,
    HASHES_SHARE = 8,      // Hashes take at most as small a part of the memory.
    ROOM_MIN = 1024,
    RIGHT_TIMES = 8,       // The right side has so many times the bytes of the left one, or more.
};
// Eight million hashes; a filter of more would not stay in a cache.
enum : int64_t { RIGHT_MIN = 4 << 20, LEFT_SMALL = 1 << 20, HASHES_MAX = 64 << 20 };

// The hashes that one thread was told.
typedef struct Hashes {
    uint64_t *items;
    int64_t   count, room;
} Hashes;

typedef struct Filling {
    SbMemory *memory;
    Hashes   *hashes;   // By thread.
    uint32_t  threads;
    int64_t   most;     // Bytes of all hashes,
    _Atomic int64_t taken;  // of which threads have taken so many.
} Filling;

bool key_filter_pays(int64_t left, int64_t right) {
    if (left < 0) return false;
    if (right < 0) return left <= LEFT_SMALL;
    return right >= RIGHT_MIN && left <= right / RIGHT_TIMES;
}

// ---- what left rows look up ---------------------------------------------------------------------

static int64_t hash_bytes(int64_t count) { return count * (int64_t)sizeof(uint64_t); }

static void forget(const Filling *all, Hashes *hashes) {
    if (hashes->items) sb_memory_give_shared(all->memory, hashes->items, hash_bytes(hashes->room));
    *hashes = (Hashes){0};
}

static bool make_room(Filling *all, Hashes *hashes, int64_t more) {
    int64_t room = hashes->room ? hashes->room : ROOM_MIN;
    while (room < hashes->count + more) room *= 2;
    if (room == hashes->room) return true;
    int64_t bytes = hash_bytes(room - hashes->room);
    if (atomic_fetch_add(&all->taken, bytes) + bytes > all->most) return false;
    uint64_t *moved = sb_memory_resize_shared(all->memory, hashes->items, hash_bytes(hashes->room),
                                              hash_bytes(room), hash_bytes(hashes->count));
    if (!moved) return false;
    hashes->items = moved;
    hashes->room = room;
    return true;
}

static bool note_hashes(void *self, uint32_t thread, const Unit *unit, const uint64_t *asks,
                        int64_t count) {
    (void)unit;
    Filling *all = self;
    Hashes *hashes = &all->hashes[thread];
    if (!make_room(all, hashes, count)) return false;
    if (count > 0) memcpy(hashes->items + hashes->count, asks, (size_t)hash_bytes(count));
    hashes->count += count;
    return true;
}

static const AskingFns hashes_fns = {.told = note_hashes};

// ---- the filter ---------------------------------------------------------------------------------

static KeyFilter *build(const Filling *all) {
    int64_t count = 0;
    for (uint32_t t = 0; t < all->threads; t++) count += all->hashes[t].count;
    int64_t words = (count * KEY_BITS + FILTER_WORD - 1) / FILTER_WORD + 1;
    KeyFilter *made = calloc(1, sizeof *made);
    uint64_t *bits = made ? sb_memory_pages_shared(all->memory, hash_bytes(words)) : nullptr;
    if (!bits) {
        free(made);
        return nullptr;
    }
    *made = (KeyFilter){{bits, (uint64_t)words}, all->memory};
    if (sb_memory_shares(all->memory)) memset(bits, 0, (size_t)hash_bytes(words));
    for (uint32_t t = 0; t < all->threads; t++)
        for (int64_t i = 0; i < all->hashes[t].count; i++) {
            uint64_t hash = all->hashes[t].items[i];
            bits[sb_filter_word(&made->filter, hash)] |= sb_filter_bits(hash);
        }
    return made;
}

KeyFilter *key_filter_open(const KeyFilterSetup *what, SbParallel *parallel) {
    int64_t share = what->setup->memory->limit / HASHES_SHARE;
    Filling all = {what->memory, calloc(what->threads, sizeof(Hashes)), what->threads,
                   share < HASHES_MAX ? share : HASHES_MAX};
    AskingSetup asking = {.setup = what->setup, .units = what->units, .cancel = what->cancel,
                          .fns = &hashes_fns, .self = &all, .first = what->breaker};
    KeyFilter *made = all.hashes && asking_run(&asking, parallel) ? build(&all) : nullptr;
    for (uint32_t t = 0; all.hashes && t < all.threads; t++) forget(&all, &all.hashes[t]);
    free(all.hashes);
    return made;
}

void key_filter_close(KeyFilter *filter) {
    if (!filter) return;
    sb_memory_free_shared(filter->memory, (void *)filter->filter.words,
                          hash_bytes((int64_t)filter->filter.count));
    free(filter);
}
