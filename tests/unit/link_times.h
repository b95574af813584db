// link_times.h: what frames take between two processes. Figures are printed and nothing is
// asserted: the machine may be busy.
#ifndef SBC_TESTS_UNIT_LINK_TIMES_H
#define SBC_TESTS_UNIT_LINK_TIMES_H

#include "tests/unit/link_side.h"

#include <sys/wait.h>

enum { TIMED = 20000, TIMED_LEN = 200, TIMED_AHEAD = 1000 };  // Frames, and their bytes.
enum { TIMED_LARGE = 40, TIMED_LARGE_LEN = 8 << 20 };

typedef struct LinkTimer {
    int64_t  sent_ns, taken[TIMED];
    uint32_t count;
    char     bytes[TIMED_LEN];
} LinkTimer;

static int link_times_order(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// The frame is back: the next one goes from the thread of the links, as an answer does.
static void link_times_frame(Side *side, PeerId peer, const Frame *frame) {
    LinkTimer *timer = side->arg;
    int64_t now = side_now();
    (void)frame;
    if (timer->count == TIMED) return;
    timer->taken[timer->count++] = now - timer->sent_ns;
    timer->sent_ns = side_now();
    links_send(side->links, peer, &(Frame){.bytes = timer->bytes, .len = TIMED_LEN}, nullptr, 0);
}

static void link_times_row(const char *what, Side *side, PeerId peer, const char *bytes) {
    int64_t begin = side_now(), before = side->frames;
    for (int i = 0; i < TIMED; i++) {
        links_send(side->links, peer, &(Frame){.bytes = bytes, .len = TIMED_LEN}, nullptr, 0);
        if ((i + 1) % TIMED_AHEAD == 0)
            CHECK(side_wait(side, &side->frames, before + i + 1 - TIMED_AHEAD));
    }
    CHECK(side_wait(side, &side->frames, before + TIMED));
    printf("%s: %d frames in a row: %.2f us each, there and back\n", what, TIMED,
           (double)((side_now() - begin) / TIMED) / 1e3);
}

static void link_times_large(const char *what, Side *side, PeerId peer) {
    char *bytes = calloc(1, TIMED_LARGE_LEN);
    int64_t begin = side_now(), before = side->frames;
    for (int i = 0; i < TIMED_LARGE; i++) {
        links_send(side->links, peer, &(Frame){.bytes = bytes, .len = TIMED_LARGE_LEN}, nullptr, 0);
        CHECK(side_wait(side, &side->frames, before + i + 1));
    }
    double seconds = (double)(side_now() - begin) / 1e9;
    int64_t moved = 2 * (int64_t)TIMED_LARGE * TIMED_LARGE_LEN;
    printf("%s: frames of 8 MiB: %.2f GB/s there and back\n", what,
           (double)moved / seconds / 1e9);
    free(bytes);
}

// The other side of the peer is a process that sends frames back.
static void link_times(const char *what, Side *side, PeerId peer) {
    static LinkTimer timer;
    timer.count = 0;
    int64_t before = side->frames;
    side->arg = &timer;
    side->on_frame = link_times_frame;
    timer.sent_ns = side_now();
    links_send(side->links, peer, &(Frame){.bytes = timer.bytes, .len = TIMED_LEN}, nullptr, 0);
    CHECK(side_wait(side, &side->frames, before + TIMED));
    qsort(timer.taken, TIMED, sizeof *timer.taken, link_times_order);
    printf("%s: there and back, %d bytes: least %.1f us, median %.1f us, 99 of 100 %.1f us\n", what,
           TIMED_LEN, (double)timer.taken[0] / 1e3, (double)timer.taken[TIMED / 2] / 1e3,
           (double)timer.taken[TIMED / 100 * 99] / 1e3);
    link_times_row(what, side, peer, timer.bytes);
    link_times_large(what, side, peer);
}

static void link_times_end(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
