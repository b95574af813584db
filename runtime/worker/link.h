// Link: what a make of connections is, and how bytes go over a connected socket. Only the files of
// this room include it.
//
// A make is a line of LinksSetup.makes, and a file link_*.c. It knows its addresses and sockets. A
// channel moves bytes over a socket that is connected: as they are, or encrypted.
#ifndef SBC_RUNTIME_WORKER_LINK_H
#define SBC_RUNTIME_WORKER_LINK_H

#include "runtime/worker/links.h"

#include <sys/socket.h>

// Why a connection ends, or cannot be.
typedef struct LinkWhy {
    LinkEnd end;
    char    text[LINK_TEXT_MAX];
} LinkWhy;

bool link_fails(LinkWhy *why, LinkEnd end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));  // False.
// A call of the system failed on a connection with this errno. False.
bool link_breaks(LinkWhy *why, int error);

enum : int64_t { LINK_LATER = -1, LINK_FAILED = -2 };  // LINK_FAILED: `why` says it.

typedef enum LinkShake {
    LINK_SHAKEN,
    LINK_WANTS_READ,
    LINK_WANTS_WRITE,
    LINK_SHAKE_FAILED,
} LinkShake;

// The functions of one session are called by one thread at a time. None of them blocks.
typedef struct LinkChannel {
    bool      is_shared;  // Reading and writing may happen at the same time.
    // A session over a connected socket, which stays the caller's. nullptr: it failed.
    void     *(*open)(const LinkKey *key, int fd, bool accepts, LinkWhy *why);
    LinkShake (*shake)(void *session, LinkWhy *why);
    // As readv and sendmsg: what was moved; reading, 0: the other side has closed it.
    int64_t   (*read)(void *session, const struct iovec *into, int count, LinkWhy *why);
    int64_t   (*write)(void *session, const struct iovec *from, int count, LinkWhy *why);
    void      (*close)(void *session);
} LinkChannel;

extern const LinkChannel link_plain, link_tls;

// Where an address leads. A name may stand for several.
enum { LINK_TARGETS_MAX = 8 };
typedef struct LinkTarget {
    struct sockaddr_storage address;
    socklen_t               len;
} LinkTarget;
typedef struct LinkTargets {
    LinkTarget targets[LINK_TARGETS_MAX];
    uint32_t   count, next;
} LinkTargets;

struct LinkMake {
    const char        *name, *form;  // "unix", "unix:PATH".
    const char        *fix;          // What helps when it cannot listen or connect.
    const LinkChannel *secure;       // With a key. nullptr: a key changes nothing.
    // The targets of what stands after "NAME:". False: `why` says what is wrong with it.
    bool (*find)(const char *rest, bool listens, LinkTargets *targets, LinkWhy *why);
    // Does what is sent there stay on this machine? Then it needs no key.
    bool (*is_inside)(const LinkTarget *target);
    // Before bind: makes room for it. After: the socket is the caller's alone.
    void (*before_bind)(int fd, const LinkTarget *target);
    void (*after_bind)(const LinkTarget *target);
    // Sets the options of a socket before it connects, or once it was accepted. False: it is not to
    // be trusted.
    bool (*ready)(int fd, int64_t timeout_ns, bool accepted, LinkWhy *why);
    // Does anything that was written wait for an acknowledgement? `acked` counts the bytes that
    // have one. nullptr: there are none.
    bool (*waits)(int fd, uint64_t *acked);
    // The address that a socket is bound to, after "NAME:".
    void (*name_of)(const LinkTarget *bound, char *into, size_t room);
    // A listener is closed.
    void (*left)(const LinkTarget *bound);
};

// What an address names.
typedef struct LinkFound {
    const LinkMake *make;
    LinkTargets     targets;
} LinkFound;

// Sockets do not block, and are closed where another program begins.
bool link_find(const LinksSetup *setup, const char *address, bool listens, LinkFound *found,
               Trouble *trouble);
// A socket that listens at the first target that can be had; -1: the trouble says why. `bound` and
// `name` say where.
int  link_listen(LinkFound *found, const char *address, LinkTarget *bound, LinkAddress *name,
                 Trouble *trouble);
// A socket that connects to the next target that takes it, and may not be done; -1: `why` says why.
int  link_connect(LinkFound *found, int64_t timeout_ns, LinkWhy *why);

#endif
