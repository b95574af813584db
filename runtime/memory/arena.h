// Arena: memory that all processes of a job see at the same addresses. One process takes and gives
// blocks of it; the others read what they are told of.
//
// The coordinator makes a space: one arena for each process, side by side, each a file in memory
// (memfd_create(2)). A worker joins the space: it may write to its own arena and reads the others.
// The coordinator may write to all: states of groups that a worker has handed over merge where they
// lie.
// An address in an arena is the same place in every process. So what points from one block to
// another needs no translation.
//
//   space  ├─ arena 0: coordinator ─┼─ arena 1: worker 1 ─┼─ arena 2: worker 2 ─┤
//
// An arena outlives the process that fills it. Its next life is told which blocks are still in use
// (arena_claim), and takes others.
#ifndef SBC_RUNTIME_MEMORY_ARENA_H
#define SBC_RUNTIME_MEMORY_ARENA_H

#include "runtime/memory/huge.h"

#include <stddef.h>
#include <stdint.h>

enum { ARENAS_MAX = 65 };           // Of a space.
enum : int64_t {
    ARENA_UNIT = 64 << 10,
    ARENA_HUGE = HUGE_PAGE,  // A huge page. Spans of arenas are multiples of it.
};

typedef struct ArenaSpace {
    char    *base;   // nullptr: there is none.
    int64_t  span;   // Bytes of each arena.
    uint32_t count;
    int      fds[ARENAS_MAX];
} ArenaSpace;

// Makes a space of `count` arenas, `span` bytes each, which is rounded up. The files are inherited
// by programs that this process starts. False, with errno: there are no such addresses or files.
bool arena_space_open(ArenaSpace *space, uint32_t count, int64_t span);
// Maps a space that another process made, as its figures say: `own` to write, all others to read.
// False, with errno: something else lies at these addresses, or a file is not there.
bool arena_space_join(const ArenaSpace *space, uint32_t own);
// Maps a space of another machine at the same addresses, as files of its own, which are empty: all
// of it may be written. Of `space` the figures are set. False, with errno.
bool arena_space_copy(ArenaSpace *space);
// Bytes of the space are not needed any more: from a multiple of ARENA_UNIT on, whole units, all of
// one arena. They are zeroes from now on.
void arena_space_drop(const ArenaSpace *space, char *at, int64_t bytes);
// The arena in which all these bytes lie; space->count: none.
uint32_t arena_space_find(const ArenaSpace *space, const void *at, int64_t bytes);
// Unmaps it, and closes its files.
void arena_space_close(ArenaSpace *space);
static inline char *arena_space_of(const ArenaSpace *space, uint32_t arena) {
    return space->base + arena * space->span;
}

// Blocks of one arena. Any thread of the process that owns it may take and give.
typedef struct Arena Arena;

// nullptr: no memory.
Arena *arena_open(const ArenaSpace *space, uint32_t own);
void   arena_close(Arena *arena);
// So many bytes of blocks that were given back stay in memory, for those who take some next.
void   arena_keep(Arena *arena, int64_t bytes);
// How many that is in a process with so much memory. Its account has the rest.
int64_t arena_kept(int64_t memory);
// A block of at least `bytes`, not zeroed, aligned to 1 KiB and from 64 KiB on to that. From a huge
// page on it is aligned to one, unless the arena is nearly full. nullptr: the arena is full.
void  *arena_take(Arena *arena, int64_t bytes);
// `bytes`: as when it was taken.
void   arena_give(Arena *arena, void *block, int64_t bytes);
// Another bytes for the block, whose first `used` bytes stay. nullptr: the arena is full, and the
// block is as it was.
void  *arena_resize(Arena *arena, void *block, int64_t bytes, int64_t more, int64_t used);
// Maps all pages of a block at once, to write: a fault for each takes some times as long. Of blocks
// below 64 KiB nothing happens.
void   arena_populate(void *block, int64_t bytes);
// From now on this process only reads the block, until it gives it back: a write is a fault of the
// memory. Other processes may write to it. Of blocks below a page, and where too many are
// sealed, nothing happens.
void   arena_seal(Arena *arena, void *block, int64_t bytes);
// A block that an earlier life took and that is still in use. False: it is none of the arena, or is
// taken already.
bool   arena_claim(Arena *arena, void *block, int64_t bytes);
// Bytes of blocks that are taken, as they were asked for and rounded up.
int64_t arena_taken(const Arena *arena);

#endif
