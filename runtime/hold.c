// Where emulated work (stdlib/hold.h) waits for its deadline.
#include "runtime/abi.h"

#include <errno.h>
#include <time.h>

enum : int64_t { SECOND = 1000000000, SLICE = 50000000, STEP = 1000000 };

void sb_hold_begin(SbCall *call, const int32_t *cancel) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    SbHold *hold = &call->hold;
    hold->from = now.tv_sec * SECOND + now.tv_nsec;
    hold->sum = 0;
    hold->next = STEP;
    hold->cancel = cancel;
}

// In slices, so that a task that is cancelled does not sleep on.
void sb_hold_wait(SbCall *call) {
    SbHold *hold = &call->hold;
    if (hold->sum == 0) return;
    hold->next = hold->sum + STEP;
    int64_t deadline = hold->from + hold->sum;
    while (!hold->cancel || !__atomic_load_n(hold->cancel, __ATOMIC_RELAXED)) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t at = now.tv_sec * SECOND + now.tv_nsec;
        if (at >= deadline) return;
        at = deadline - at > SLICE ? at + SLICE : deadline;
        const struct timespec until = {at / SECOND, at % SECOND};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {}
    }
}
