// Bytes as they are: over sockets of this machine.
#define _GNU_SOURCE
#include "runtime/worker/link.h"

#include "runtime/host.h"

#include <errno.h>

// The session is the socket itself, counted from 1.
static int fd_of(void *session) { return (int)((intptr_t)session - 1); }

static void *open_plain(const LinkKey *key, int fd, bool accepts, LinkWhy *why) {
    (void)key, (void)accepts, (void)why;
    return (void *)((intptr_t)fd + 1);
}

static LinkShake shake(void *session, LinkWhy *why) {
    (void)session, (void)why;
    return LINK_SHAKEN;
}

static int64_t judge(int64_t moved, LinkWhy *why) {
    if (moved >= 0) return moved;
    if (errno == EAGAIN || errno == EINTR) return LINK_LATER;
    link_breaks(why, errno);
    return LINK_FAILED;
}

static int64_t read_plain(void *session, const struct iovec *into, int count, LinkWhy *why) {
    if (failpoint_fails("link-read")) return judge(-1, why);
    return judge(readv(fd_of(session), into, count), why);
}

static int64_t write_plain(void *session, const struct iovec *from, int count, LinkWhy *why) {
    struct msghdr message = {.msg_iov = (struct iovec *)from, .msg_iovlen = (size_t)count};
    if (failpoint_fails("link-write")) return judge(-1, why);
    return judge(sendmsg(fd_of(session), &message, MSG_NOSIGNAL | MSG_DONTWAIT), why);
}

static void close_plain(void *session) { (void)session; }

const LinkChannel link_plain = {.is_shared = true, .open = open_plain, .shake = shake,
                                .read = read_plain, .write = write_plain, .close = close_plain};
