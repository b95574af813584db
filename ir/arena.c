#include "ir/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES_MIN = 64 * 1024 };

typedef struct Chunk {
    struct Chunk *next;
    size_t        used, capacity;
    alignas(max_align_t) unsigned char bytes[];
} Chunk;

struct Arena {
    Chunk *chunk;  // The one that is being filled; full ones hang after it.
};

static void *must(void *memory) {
    if (memory) return memory;
    fputs("sbc: out of memory\n", stderr);
    abort();
}

static Chunk *chunk_new(size_t capacity, Chunk *next) {
    Chunk *chunk = must(calloc(1, sizeof *chunk + capacity));
    chunk->capacity = capacity;
    chunk->next = next;
    return chunk;
}

Arena *arena_new(void) {
    Arena *arena = must(calloc(1, sizeof *arena));
    arena->chunk = chunk_new(CHUNK_BYTES_MIN, nullptr);
    return arena;
}

void arena_free(Arena *arena) {
    if (!arena) return;
    for (Chunk *chunk = arena->chunk, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(arena);
}

void *arena_alloc(Arena *arena, size_t size, size_t align) {
    assert(align && (align & (align - 1)) == 0 && align <= alignof(max_align_t));
    Chunk *chunk = arena->chunk;
    size_t start = align_up(chunk->used, align);
    if (start > chunk->capacity || size > chunk->capacity - start) {
        size_t doubled = chunk->capacity < ((size_t)1 << 24) ? chunk->capacity * 2
                                                             : chunk->capacity;
        arena->chunk = chunk = chunk_new(size > doubled ? size : doubled, chunk);
        start = 0;
    }
    chunk->used = start + size;
    return chunk->bytes + start;
}

void *arena_copy(Arena *arena, const void *bytes, size_t size, size_t align) {
    void *copy = arena_alloc(arena, size, align);
    if (size) memcpy(copy, bytes, size);
    return copy;
}

void *arena_grow(Arena *arena, void *items, size_t size, size_t align, size_t *cap, size_t want) {
    if (want <= *cap) return items;
    size_t cap_new = *cap ? *cap : 4;
    while (cap_new < want) cap_new *= 2;
    void *moved = arena_alloc(arena, size * cap_new, align);
    if (items) memcpy(moved, items, size * *cap);
    *cap = cap_new;
    return moved;
}
