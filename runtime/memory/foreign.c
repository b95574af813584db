#define _GNU_SOURCE  // reallocarray
#include "runtime/memory/foreign.h"

#include "runtime/abi/foreign.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { HEAD_BYTES = 8 };  // What malloc keeps in front of a block.

static _Atomic(SbMemory *) account;
static _Atomic int64_t     charged;
// nullptr: foreign code of no row.
static thread_local ForeignCall *calling __attribute__((tls_model("initial-exec")));

void foreign_open(SbMemory *memory) {
    charged = 0;
    account = memory;
}

// What was never freed is the process's until it ends.
void foreign_close(void) { account = nullptr; }

static int64_t bytes_of(void *block) {
    return block ? (int64_t)malloc_usable_size(block) + HEAD_BYTES : 0;
}

void foreign_begin(ForeignCall *call) { calling = call; }

void foreign_end(void) { calling = nullptr; }

// What the step gives to one call.
static bool is_within(int64_t bytes) {
    if (!calling || calling->limit == 0 || bytes <= calling->limit - calling->used) return true;
    calling->denied = true;
    errno = ENOMEM;
    return false;
}

static bool charge(int64_t bytes) {
    SbMemory *memory = account;
    if (!is_within(bytes)) return false;
    if (memory && !sb_memory_charge(memory, bytes)) {
        errno = ENOMEM;
        return false;
    }
    if (memory) atomic_fetch_add_explicit(&charged, bytes, memory_order_relaxed);
    if (calling) calling->used += bytes;
    return true;
}

// Blocks that nobody charged, as those of strdup, are freed too: no more goes back than was taken.
static void release(int64_t bytes) {
    SbMemory *memory = account;
    if (calling) calling->used -= bytes;
    int64_t there = atomic_load_explicit(&charged, memory_order_relaxed), back;
    do {
        back = bytes < there ? bytes : there;
    } while (!atomic_compare_exchange_weak_explicit(&charged, &there, there - back,
                                                    memory_order_relaxed, memory_order_relaxed));
    if (memory && back > 0) sb_memory_release(memory, back);
}

// Pages of a large block cost nothing before they are touched: it may be there uncharged.
static void *counted(void *block) {
    if (!block || charge(bytes_of(block))) return block;
    free(block);
    return nullptr;
}

void *sb_foreign_malloc(size_t bytes) { return counted(malloc(bytes)); }

void *sb_foreign_calloc(size_t count, size_t bytes) { return counted(calloc(count, bytes)); }

void *sb_foreign_aligned_alloc(size_t align, size_t bytes) {
    return counted(aligned_alloc(align, bytes));
}

void *sb_foreign_memalign(size_t align, size_t bytes) { return counted(memalign(align, bytes)); }

int sb_foreign_posix_memalign(void **block, size_t align, size_t bytes) {
    int status = posix_memalign(block, align, bytes);
    if (status) return status;
    *block = counted(*block);
    return *block ? 0 : ENOMEM;
}

void *sb_foreign_realloc(void *block, size_t bytes) {
    int64_t before = bytes_of(block), more = (int64_t)bytes - before;
    if (more > 0 && !charge(more)) return nullptr;
    void *moved = realloc(block, bytes);
    bool refused = !moved && bytes > 0;
    int64_t now = refused ? before : bytes_of(moved), paid = before + (more > 0 ? more : 0);
    if (now < paid) release(paid - now);
    else charge(now - paid);
    return moved;
}

void *sb_foreign_reallocarray(void *block, size_t count, size_t bytes) {
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return nullptr;
    }
    return sb_foreign_realloc(block, all);
}

void sb_foreign_free(void *block) {
    release(bytes_of(block));
    free(block);
}
