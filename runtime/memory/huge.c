#include "runtime/memory/huge.h"

#include <stdatomic.h>
#include <time.h>

enum : int64_t { SMALL_FOR_MIN = 16 << 20, SMALL_FOR_MAX = 256 << 20 };

int64_t huge_slow_nanos = 1'500'000;

static _Atomic int64_t small_left;   // Bytes that are taken in small pages before the next try.
static _Atomic int64_t small_for = SMALL_FOR_MIN;  // After the next slow one.

// Of this thread: another one that the processor turned to makes no page slow.
static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

bool huge_begin(int64_t bytes, int64_t *clock) {
    if (atomic_load(&small_left) > 0 && atomic_fetch_sub(&small_left, bytes) > 0) return false;
    *clock = now();
    return true;
}

bool huge_end(int64_t clock) {
    bool slow = now() - clock > huge_slow_nanos;
    int64_t bytes = slow ? atomic_load(&small_for) : SMALL_FOR_MIN;
    if (slow) atomic_store(&small_left, bytes);
    atomic_store(&small_for, !slow ? bytes : bytes < SMALL_FOR_MAX ? 2 * bytes : SMALL_FOR_MAX);
    return !slow;
}
