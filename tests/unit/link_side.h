// link_side.h: one side of connections for tests: it counts what its links tell it, and waits.
#ifndef SBC_TESTS_UNIT_LINK_SIDE_H
#define SBC_TESTS_UNIT_LINK_SIDE_H

#include "runtime/worker.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SIDE_PEERS = 80, SIDE_WAIT_S = 60 };
enum : int64_t { SIDE_QUEUE = 8 << 20, SECOND_NS = 1000000000 };

typedef struct Side {
    Links          *links;
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    _Atomic int64_t opened, frames, bytes, ended, ticks, refused;
    PeerId          last;         // That was opened.
    LinkEnd         why;          // Of the last that ended, or was refused.
    char            text[LINK_TEXT_MAX];
    bool            echoes;       // Sends each frame back.
    // On the thread of the links, without the lock. nullptr: frames are counted only.
    void          (*on_frame)(struct Side *side, PeerId peer, const Frame *frame);
    void           *arg;
} Side;

static int64_t side_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static void side_opened(void *self, PeerId peer) {
    Side *side = self;
    pthread_mutex_lock(&side->lock);
    side->opened++;
    side->last = peer;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static void side_frame(void *self, PeerId peer, const Frame *frame) {
    Side *side = self;
    if (side->echoes) links_send(side->links, peer, frame, nullptr, 0);
    if (side->on_frame) side->on_frame(side, peer, frame);
    pthread_mutex_lock(&side->lock);
    side->frames++;
    side->bytes += frame->len;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static void side_ended(Side *side, _Atomic int64_t *count, LinkEnd why, const char *text) {
    pthread_mutex_lock(&side->lock);
    side->why = why;
    snprintf(side->text, sizeof side->text, "%s", text);
    ++*count;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static void side_closed(void *self, PeerId peer, LinkEnd why, const char *text) {
    Side *side = self;
    (void)peer;
    side_ended(side, &side->ended, why, text);
}

static void side_refused(void *self, LinkEnd why, const char *text) {
    Side *side = self;
    side_ended(side, &side->refused, why, text);
}

static void side_tick(void *self, int64_t now) {
    Side *side = self;
    (void)now;
    pthread_mutex_lock(&side->lock);
    side->ticks++;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

// What most tests take; they may change it before side_open.
static LinksSetup side_setup(const LinkMake *const *makes, const LinkKey *key) {
    return (LinksSetup){.calls = {side_opened, side_frame, side_closed, side_tick, side_refused},
                        .makes = makes, .key = key, .timeout_ns = 10 * SECOND_NS,
                        .queue_bytes_max = SIDE_QUEUE, .peers_max = SIDE_PEERS};
}

static bool side_open(Side *side, LinksSetup setup) {
    Trouble trouble = {0};
    pthread_mutex_init(&side->lock, nullptr);
    pthread_cond_init(&side->changed, nullptr);
    setup.self = side;
    side->links = links_open(&setup, &trouble);
    CHECK_SAYS(side->links, "%s", trouble.text);
    return side->links;
}

static void side_close(Side *side) {
    links_close(side->links);
    pthread_mutex_destroy(&side->lock);
    pthread_cond_destroy(&side->changed);
}

// Waits until one of the counts is at least `least`.
static inline bool side_wait(Side *side, const _Atomic int64_t *count, int64_t least) {
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SIDE_WAIT_S;
    pthread_mutex_lock(&side->lock);
    while (*count < least && error == 0)
        error = pthread_cond_timedwait(&side->changed, &side->lock, &until);
    bool good = *count >= least;
    pthread_mutex_unlock(&side->lock);
    return good;
}

static inline void side_says(Side *side, LinkEnd why, const char *words) {
    CHECK_SAYS(side->why == why, "%d: %s", (int)side->why, side->text);
    CHECK_SAYS(strstr(side->text, words), "'%s' is not in: %s", words, side->text);
}

// The one connection ends for this reason, with these words in its text.
static inline void side_ends(Side *side, LinkEnd why, const char *words) {
    CHECK_SAYS(side_wait(side, &side->ended, 1), "it has not ended");
    side_says(side, why, words);
}

// As side_ends, of one that was turned away.
static inline void side_refuses(Side *side, LinkEnd why, const char *words) {
    CHECK_SAYS(side_wait(side, &side->refused, 1), "it was not refused");
    side_says(side, why, words);
}

// A socket of the test alone, whose other end the side has taken.
static inline int side_socket(Side *side, PeerId *peer) {
    int ends[2];
    Trouble trouble = {0};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK_SAYS(links_adopt(side->links, ends[0], peer, &trouble), "%s", trouble.text);
    return ends[1];
}

// The bytes of a frame as they go over a socket, malloc'ed.
static inline char *side_bytes(const Frame *frame, int64_t *size) {
    FramePieces pieces;
    ChecksumState *state = checksum_open();
    CHECK(frame_pack(&pieces, frame, nullptr, 0, state));
    checksum_close(state);
    char *bytes = malloc((size_t)pieces.size);
    *size = 0;
    for (int i = 0; i < pieces.count; i++) {
        memcpy(bytes + *size, pieces.pieces[i].iov_base, pieces.pieces[i].iov_len);
        *size += (int64_t)pieces.pieces[i].iov_len;
    }
    CHECK(*size == pieces.size);
    return bytes;
}

// Writes all of it, or as far as the other side takes it.
static inline void side_write(int fd, const char *bytes, int64_t len) {
    for (int64_t at = 0; at < len;) {
        ssize_t wrote = send(fd, bytes + at, (size_t)(len - at), MSG_NOSIGNAL);
        if (wrote <= 0) return;
        at += wrote;
    }
}

#endif
