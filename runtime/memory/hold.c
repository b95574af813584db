// Where emulated work (stdlib/time/hold.h) waits for its deadline.
#include "runtime/abi/call.h"

#include <errno.h>
#include <time.h>

enum : int64_t { SECOND = 1000000000, SLICE = 50000000, STEP = 1000000, LATE_MAX = 100000 };

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

void sb_hold_begin(SbCall *call, const int32_t *cancel) {
    SbHold *hold = &call->hold;
    hold->from = now_ns();
    hold->sum = 0;
    hold->next = STEP;
    hold->cancel = cancel;
}

// Sleeps until about then. A thread wakes later than it wants to, mostly by as much as the last
// times: so it asks for less, and whoever waits for a deadline looks at the clock for the rest.
static void sleep_until(int64_t at) {
    enum { WEIGHT = 8 };
    // Jobs are executables: it is found without asking the loader, which they would need for that.
    static thread_local int64_t late __attribute__((tls_model("initial-exec")));
    int64_t asked = at - late;
    const struct timespec until = {asked / SECOND, asked % SECOND};
    if (asked <= now_ns()) return;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {}
    int64_t over = now_ns() - asked;
    late += ((over < LATE_MAX ? over : LATE_MAX) - late) / WEIGHT;
}

// In slices, so that a task that is cancelled does not sleep on.
void sb_hold_wait(SbCall *call) {
    SbHold *hold = &call->hold;
    if (hold->sum == 0) return;
    hold->next = hold->sum + STEP;
    int64_t deadline = hold->from + hold->sum;
    while (!hold->cancel || !__atomic_load_n(hold->cancel, __ATOMIC_RELAXED)) {
        int64_t left = deadline - now_ns();
        if (left <= 0) return;
        sleep_until(left > SLICE ? deadline - left + SLICE : deadline);
    }
}
