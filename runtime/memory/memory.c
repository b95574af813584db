#include "runtime/memory/memory.h"

#include "runtime/memory/arena.h"
#include "runtime/memory/huge.h"

#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

void sb_memory_begin(void) {
    enum { MAPPED_BYTES = 1 << 20 };
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    mallopt(M_TRIM_THRESHOLD, MAPPED_BYTES);
}

void sb_memory_open(SbMemory *memory, int64_t limit) {
    enum : int64_t { BLOCKS = 256, BLOCK_MIN = 16 * 1024, BLOCK_HUGE = 2 * 1024 * 1024 };
    *memory = (SbMemory){
        .limit = limit, .short_at = limit / 4 * 3, .block_max = BLOCK_HUGE};
    while (memory->block_max > BLOCK_MIN && memory->block_max * BLOCKS > limit)
        memory->block_max /= 2;
}

void sb_memory_limit(SbMemory *memory, int64_t limit) {
    int64_t left = memory->limit - memory->short_at;  // For rows on their way.
    int64_t at = limit - left;
    memory->short_at = at < limit / 2 ? limit / 2 : at;
    memory->limit = limit;
}

int64_t sb_memory_rest(int64_t whole) {
    enum : int64_t { REST_MIN = 32 << 20, REST_SHARE = 20 };
    int64_t rest = whole / REST_SHARE;
    return rest < REST_MIN ? REST_MIN : rest;
}

void sb_memory_reserve(SbMemory *memory, int64_t bytes) {
    int64_t at = memory->short_at - bytes;
    memory->short_at = at < memory->limit / 2 ? memory->limit / 2 : at;
}

// Two figures that change one after the other: a peak may miss, or count too much of, what threads
// charge in that moment.
int64_t sb_memory_held(const SbMemory *memory) { return memory->used - memory->idle; }

static void note_peak(SbMemory *memory) {
    int64_t held = sb_memory_held(memory);
    int64_t peak = atomic_load_explicit(&memory->peak, memory_order_relaxed);
    while (held > peak &&
           !atomic_compare_exchange_weak_explicit(&memory->peak, &peak, held, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

static void add_idle(SbMemory *memory, int64_t bytes) { atomic_fetch_add(&memory->idle, bytes); }

// ---- blocks that are kept -------------------------------------------------------------------

enum : int64_t { KEEP_MIN = 64 << 10, KEEP_MAX = 512 << 20, KEEP_SHARE = 4 };
enum { SIZES = 64, LOOKS_MAX = 16, SLACK_SHARE = 8 };

typedef struct Kept {
    struct Kept *next;
    int64_t      bytes;
} Kept;

typedef struct SbBlocks {
    pthread_mutex_t lock;
    int64_t         most;        // Bytes.
    Kept           *of[SIZES];   // By the power of two below their bytes; last one first.
} SbBlocks;

static int size_of(int64_t bytes) { return 63 - __builtin_clzll((uint64_t)bytes); }

void sb_memory_keep(SbMemory *memory) {
    SbBlocks *blocks = calloc(1, sizeof *blocks);
    if (!blocks) return;
    pthread_mutex_init(&blocks->lock, nullptr);
    int64_t share = memory->limit / KEEP_SHARE;
    blocks->most = share < KEEP_MAX ? share : KEEP_MAX;
    memory->blocks = blocks;
}

static void drop_first(SbMemory *memory, int size) {
    Kept *block = memory->blocks->of[size];
    int64_t bytes = block->bytes;
    memory->blocks->of[size] = block->next;
    free(block);
    memory->kept -= bytes;
}

// Lets go of blocks until no more are kept than so many bytes.
static void keep_at_most(SbMemory *memory, int64_t bytes) {
    SbBlocks *blocks = memory->blocks;
    pthread_mutex_lock(&blocks->lock);
    for (int size = SIZES - 1; size >= 0; size--) {
        while (blocks->of[size] && memory->kept > bytes) drop_first(memory, size);
    }
    pthread_mutex_unlock(&blocks->lock);
}

// What is kept and what is held are within the limit: nothing lies in what is idle.
static void make_way(SbMemory *memory) {
    int64_t left = memory->limit - sb_memory_held(memory);
    if (left < memory->kept && memory->blocks) keep_at_most(memory, left > 0 ? left : 0);
}

void sb_memory_keep_none(SbMemory *memory) {
    if (!memory->blocks) return;
    keep_at_most(memory, 0);
    pthread_mutex_destroy(&memory->blocks->lock);
    free(memory->blocks);
    memory->blocks = nullptr;
}

// One of at least so many bytes, and of a little more at most, since all of it is charged; nullptr:
// there is none.
static Kept *find_kept(SbMemory *memory, int64_t bytes) {
    SbBlocks *blocks = memory->blocks;
    if (!blocks || bytes < KEEP_MIN || memory->kept < bytes) return nullptr;
    Kept *found = nullptr;
    int64_t most = bytes + bytes / SLACK_SHARE;
    pthread_mutex_lock(&blocks->lock);
    for (int size = size_of(bytes); !found && size <= size_of(most); size++) {
        Kept **at = &blocks->of[size];
        for (int i = 0; *at && i < LOOKS_MAX && !found; i++) {
            if ((*at)->bytes >= bytes && (*at)->bytes <= most) {
                found = *at;
                *at = found->next;
            } else {
                at = &(*at)->next;
            }
        }
    }
    if (found) memory->kept -= found->bytes;
    pthread_mutex_unlock(&blocks->lock);
    return found;
}

// Who charges changes what is held before he looks at `kept`, and this adds to `kept` before it
// looks at what is held: one of both sees that there is too much.
static void keep(SbMemory *memory, Kept *block) {
    SbBlocks *blocks = memory->blocks;
    int64_t bytes = block->bytes;
    if (sb_memory_held(memory) + memory->kept > memory->limit) {
        free(block);
        memory->kept -= bytes;
        return;
    }
    pthread_mutex_lock(&blocks->lock);
    block->next = blocks->of[size_of(bytes)];
    blocks->of[size_of(bytes)] = block;
    pthread_mutex_unlock(&blocks->lock);
}

// Lets go of blocks of other sizes, so that those that are wanted now find room. False: all that
// are kept are of this size.
static bool replace_others(SbMemory *memory, int64_t bytes) {
    SbBlocks *blocks = memory->blocks;
    pthread_mutex_lock(&blocks->lock);
    for (int size = SIZES - 1; size >= 0; size--) {
        while (size != size_of(bytes) && blocks->of[size] && memory->kept + bytes > blocks->most)
            drop_first(memory, size);
    }
    pthread_mutex_unlock(&blocks->lock);
    return memory->kept + bytes <= blocks->most;
}

// `pages` begin at a huge page and are not touched yet.
static void ask_for_huge(char *pages, int64_t bytes) {
    int64_t clock;
    if (!huge_begin(bytes, &clock)) return;
    madvise(pages, (size_t)HUGE_PAGE, MADV_HUGEPAGE);
    *(volatile char *)pages = 0;
    if (huge_end(clock) && bytes > HUGE_PAGE)
        madvise(pages + HUGE_PAGE, (size_t)(bytes - HUGE_PAGE), MADV_HUGEPAGE);
}

static SbMemory *whole_of(SbMemory *memory) { return memory->whole ? memory->whole : memory; }

void *sb_memory_take_block(SbMemory *memory, int64_t *bytes) {
    Kept *kept = find_kept(whole_of(memory), *bytes);
    if (kept && sb_memory_charge(memory, kept->bytes)) {
        *bytes = kept->bytes;
        return kept;
    }
    free(kept);
    if (!sb_memory_charge(memory, *bytes)) return nullptr;
    size_t pages = ((size_t)*bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
    bool huge = *bytes >= HUGE_PAGE;
    void *block = huge ? aligned_alloc(HUGE_PAGE, pages) : malloc((size_t)*bytes);
    if (!block) sb_memory_release(memory, *bytes);
    else if (huge) ask_for_huge(block, *bytes);
    return block;
}

void sb_memory_give_block(SbMemory *memory, void *block, int64_t bytes) {
    SbMemory *whole = whole_of(memory);
    bool keeps = whole->blocks && bytes >= KEEP_MIN && bytes <= whole->blocks->most;
    if (!keeps || (whole->kept + bytes > whole->blocks->most && !replace_others(whole, bytes))) {
        free(block);
        sb_memory_release(memory, bytes);
        return;
    }
    ((Kept *)block)->bytes = bytes;
    whole->kept += bytes;
    sb_memory_release(memory, bytes);
    keep(whole, block);
}

// ---- blocks that other processes read -----------------------------------------------------------

static void *resize(struct Arena *arena, void *block, int64_t bytes, int64_t more, int64_t used) {
    if (!arena) return realloc(block, (size_t)more);
    return block ? arena_resize(arena, block, bytes, more, used) : arena_take(arena, more);
}

void *sb_memory_resize_shared(SbMemory *memory, void *block, int64_t bytes, int64_t more,
                              int64_t used) {
    if (more > bytes && !sb_memory_charge(memory, more - bytes)) return nullptr;
    void *other = resize(whole_of(memory)->arena, block, bytes, more, used);
    int64_t over = other ? bytes - more : more - bytes;
    if (over > 0) sb_memory_release(memory, over);
    return other;
}

void sb_memory_give_shared(SbMemory *memory, void *block, int64_t bytes) {
    struct Arena *arena = whole_of(memory)->arena;
    if (arena) arena_give(arena, block, bytes);
    else free(block);
    sb_memory_release(memory, bytes);
}

void sb_memory_seal_shared(SbMemory *memory, void *block, int64_t bytes) {
    struct Arena *arena = whole_of(memory)->arena;
    if (arena) arena_seal(arena, block, bytes);
}

// ---- the account ----------------------------------------------------------------------------

// Of `bytes` that were just taken back.
static void note_lacked(SbMemory *memory, int64_t bytes) {
    SbMemory *whole = whole_of(memory);
    int64_t left = whole->limit - whole->used;
    if (memory != whole) left += memory->limit - memory->used;
    atomic_store_explicit(&whole->lacked, bytes - left, memory_order_relaxed);
}

bool sb_memory_charge(SbMemory *memory, int64_t bytes) {
    assert(bytes >= 0);
    int64_t used = atomic_fetch_add(&memory->used, bytes) + bytes;
    if (used > memory->limit && !(memory->more && memory->more(memory, 0))) {
        atomic_fetch_sub_explicit(&memory->used, bytes, memory_order_relaxed);
        note_lacked(memory, bytes);
        return false;
    }
    if (memory->whole) add_idle(memory->whole, -bytes);
    make_way(whole_of(memory));
    note_peak(whole_of(memory));
    return true;
}

void sb_memory_release(SbMemory *memory, int64_t bytes) {
    if (bytes == 0) return;
    int64_t before = atomic_fetch_sub_explicit(&memory->used, bytes, memory_order_relaxed);
    assert(before >= bytes);
    if (memory->whole) add_idle(memory->whole, bytes);
}

bool sb_memory_promise(SbMemory *memory, int64_t bytes) {
    add_idle(memory, bytes);
    if (sb_memory_charge(memory, bytes)) return true;
    add_idle(memory, -bytes);
    return false;
}

void sb_memory_recall(SbMemory *memory, int64_t bytes) {
    // In this order: never does less seem to be held than is.
    add_idle(memory, -bytes);
    sb_memory_release(memory, bytes);
}

static int64_t head_of(const SbMemory *memory) {
    int64_t quarter = memory->limit / 4;
    return quarter < memory->head_max ? quarter : memory->head_max;
}

// Once denied it is not asked for again before something went to disk.
bool sb_memory_is_denied(SbMemory *memory) {
    enum { DENIED = -1 };
    if (memory->short_at == DENIED) return true;
    bool denied = !memory->more(memory, head_of(memory));
    if (denied) memory->short_at = DENIED;
    return denied;
}

void sb_memory_calm(SbMemory *memory) {
    if (memory->more) memory->short_at = memory->limit - head_of(memory);
}

bool sb_memory_has(SbMemory *memory, int64_t bytes) {
    // Nothing is charged meanwhile, for which others would find less.
    if (memory->used + bytes <= memory->limit) return true;
    return memory->more && memory->more(memory, bytes);
}

void *sb_memory_pages(SbMemory *memory, int64_t bytes) {
    if (!sb_memory_charge(memory, bytes)) return nullptr;
    char *pages = calloc(1, (size_t)(bytes ? bytes : 1));
    if (!pages) {
        sb_memory_release(memory, bytes);
        return nullptr;
    }
    int64_t before = -(int64_t)(intptr_t)pages & (HUGE_PAGE - 1);
    int64_t whole = (bytes - before) & -HUGE_PAGE;
    if (whole > 0) ask_for_huge(pages + before, whole);
    return pages;
}

void sb_memory_free(SbMemory *memory, void *pages, int64_t bytes) {
    if (!pages) return;
    free(pages);
    sb_memory_release(memory, bytes);
}
