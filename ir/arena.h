// Arena: bump allocation for data that dies together; the compiler frees nothing one by one.
#ifndef SBC_IR_ARENA_H
#define SBC_IR_ARENA_H

#include <stddef.h>

typedef struct Arena Arena;

// Makes an empty arena. It grows in chunks; memory is zeroed. Running out of memory ends the
// program with a message: the compiler cannot do anything better.
Arena *arena_new(void);
void   arena_free(Arena *arena);

// `size` zeroed bytes aligned to `align`, a power of two. Never null.
void *arena_alloc(Arena *arena, size_t size, size_t align);

// A copy of `size` bytes.
void *arena_copy(Arena *arena, const void *bytes, size_t size, size_t align);

// Room for `want` elements of `size` bytes in an arena array that holds `*cap`: returns `items`
// or a moved, doubled copy (the old one stays valid).
void *arena_grow(Arena *arena, void *items, size_t size, size_t align, size_t *cap, size_t want);

#define arena_new_of(arena, T)            ((T *)arena_alloc((arena), sizeof(T), alignof(T)))
#define arena_new_array(arena, T, count)                                                           \
    ((T *)arena_alloc((arena), sizeof(T) * (count), alignof(T)))

// Appends `value` to the arena array `items` with `count` used and `cap` there (all lvalues).
#define arena_push(arena, items, count, cap, value)                                              \
    do {                                                                                         \
        (items) = arena_grow((arena), (items), sizeof *(items), alignof(typeof(*(items))),       \
                             &(cap), (size_t)(count) + 1);                                       \
        (items)[(count)++] = (value);                                                            \
    } while (0)

#define countof(array) (sizeof(array) / sizeof *(array))

// The first offset from `offset` on that has the alignment, a power of two.
static inline size_t align_up(size_t offset, size_t align) {
    return (offset + align - 1) & ~(align - 1);
}

#endif
