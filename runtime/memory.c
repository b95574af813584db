#include "runtime/memory.h"

#include <assert.h>
#include <stdatomic.h>

void sb_memory_open(SbMemory *memory, int64_t limit) {
    memory->limit = limit;
    atomic_init(&memory->used, 0);
    atomic_init(&memory->peak, 0);
}

bool sb_memory_charge(SbMemory *memory, int64_t bytes) {
    assert(bytes >= 0);
    int64_t used = atomic_fetch_add_explicit(&memory->used, bytes, memory_order_relaxed) + bytes;
    if (used > memory->limit) {
        atomic_fetch_sub_explicit(&memory->used, bytes, memory_order_relaxed);
        return false;
    }
    int64_t peak = atomic_load_explicit(&memory->peak, memory_order_relaxed);
    while (used > peak &&
           !atomic_compare_exchange_weak_explicit(&memory->peak, &peak, used, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    return true;
}

void sb_memory_release(SbMemory *memory, int64_t bytes) {
    int64_t before = atomic_fetch_sub_explicit(&memory->used, bytes, memory_order_relaxed);
    assert(before >= bytes);
}
