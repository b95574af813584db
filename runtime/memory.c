#include "runtime/memory.h"

#include <assert.h>
#include <malloc.h>
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
int64_t sb_memory_held(const SbMemory *memory) {
    return atomic_load_explicit(&memory->used, memory_order_relaxed) -
           atomic_load_explicit(&memory->idle, memory_order_relaxed);
}

static void note_peak(SbMemory *memory) {
    int64_t held = sb_memory_held(memory);
    int64_t peak = atomic_load_explicit(&memory->peak, memory_order_relaxed);
    while (held > peak &&
           !atomic_compare_exchange_weak_explicit(&memory->peak, &peak, held, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

static void add_idle(SbMemory *memory, int64_t bytes) {
    atomic_fetch_add_explicit(&memory->idle, bytes, memory_order_relaxed);
}

bool sb_memory_charge(SbMemory *memory, int64_t bytes) {
    assert(bytes >= 0);
    int64_t used = atomic_fetch_add_explicit(&memory->used, bytes, memory_order_relaxed) + bytes;
    if (used > memory->limit && !(memory->more && memory->more(memory, 0))) {
        atomic_fetch_sub_explicit(&memory->used, bytes, memory_order_relaxed);
        return false;
    }
    if (memory->whole) add_idle(memory->whole, -bytes);
    note_peak(memory->whole ? memory->whole : memory);
    return true;
}

void sb_memory_release(SbMemory *memory, int64_t bytes) {
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
    sb_memory_release(memory, bytes);
    add_idle(memory, -bytes);
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
    enum : int64_t { HUGE_PAGE = 2 * 1024 * 1024 };
    if (!sb_memory_charge(memory, bytes)) return nullptr;
    char *pages = calloc(1, (size_t)(bytes ? bytes : 1));
    if (!pages) {
        sb_memory_release(memory, bytes);
        return nullptr;
    }
    int64_t before = -(int64_t)(intptr_t)pages & (HUGE_PAGE - 1);
    int64_t whole = (bytes - before) & -HUGE_PAGE;
    if (whole > 0) madvise(pages + before, (size_t)whole, MADV_HUGEPAGE);
    return pages;
}

void sb_memory_free(SbMemory *memory, void *pages, int64_t bytes) {
    if (!pages) return;
    free(pages);
    sb_memory_release(memory, bytes);
}
