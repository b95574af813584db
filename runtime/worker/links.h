// Links: connections to other processes, on a thread of their own.
//
// Frames are read on that thread, which makes all calls. Any thread writes. A frame is written at
// once where the system takes it. What the system does not take waits in a bounded queue. Frames
// from one thread arrive in the order in which they were sent, or not at all.
//
// A write takes some microseconds, and wakes the other side. So frames that are sent in calls are
// written together, once nothing more is to be read. So are those that may wait (Frame.may_wait):
// they go with the next frame to that peer, or when the loop turns the next time. A tick is such a
// turn.
//
// A connection delivers each frame once or ends. Across connections that is not so:
// runtime/core/membership.h says which of the messages count.
#ifndef SBC_RUNTIME_WORKER_LINKS_H
#define SBC_RUNTIME_WORKER_LINKS_H

#include "runtime/worker/frame.h"

typedef struct Links Links;

// `i` is below peers_max and used again; the two together are not.
typedef struct PeerId {
    uint32_t i, life;
} PeerId;

static inline bool peer_same(PeerId a, PeerId b) { return a.i == b.i && a.life == b.life; }

typedef enum LinkEnd {
    LINK_END_CLOSED,   // Either side closed it, or its process is gone.
    LINK_END_ERROR,    // The system says that it is broken, or nothing was acknowledged in time.
    LINK_END_NO_FRAME, // What came is no frame.
    LINK_END_VERSION,  // Frames of another version came.
    LINK_END_BEHIND,   // The other side reads too slowly: the queue passed its limit.
    LINK_END_KEY,      // The other side has another key, or none.
    LINK_ENDS,
} LinkEnd;

enum { LINK_TEXT_MAX = 256, LINK_ADDRESS_MAX = 160, LINK_LISTENERS_MAX = 4 };

typedef struct LinkAddress {
    char text[LINK_ADDRESS_MAX];
} LinkAddress;

// What both ends of a connection know. It has to come from where nobody can guess it.
enum { LINK_KEY_BYTES = 32 };
typedef struct LinkKey {
    uint8_t bytes[LINK_KEY_BYTES];
} LinkKey;

// "tcp:HOST:PORT" of what a user writes, with or without "tcp:".
void link_tcp_address(const char *text, LinkAddress *address);
// A digest of the bytes of a key file. False: *trouble, there is no OpenSSL.
bool link_key_of(const char *bytes, int64_t len, LinkKey *key, Trouble *trouble);
// The key of a file of 32 to 4096 bytes that nobody but its user may read. False: *trouble.
bool link_key_read(const char *path, LinkKey *key, Trouble *trouble);

// All are made on the thread of the links, and none may block. They may call links_send, links_end,
// links_adopt and, without a name to look up, links_connect. Each may be nullptr.
typedef struct LinksCalls {
    // A listener accepted it, or links_connect succeeded. Not called for links_adopt.
    void (*opened)(void *self, PeerId peer);
    // Its bytes live until the call returns, and begin at a multiple of FRAME_ALIGN.
    void (*frame)(void *self, PeerId peer, const Frame *frame);
    // Once for each peer but those that links_close ends, and the last call for it. `text` is a
    // sentence without its end, and lives until the call returns.
    void (*closed)(void *self, PeerId peer, LinkEnd why, const char *text);
    void (*tick)(void *self, int64_t now_ns);  // CLOCK_MONOTONIC.
    // A listener turned a connection away before it was up; no peer was made of it.
    void (*refused)(void *self, LinkEnd why, const char *text);
} LinksCalls;

// How connections are made: one file link_*.c each. A job carries the code of those that it names:
// link_tcp brings OpenSSL with it.
typedef struct LinkMake LinkMake;
extern const LinkMake link_unix;  // unix:PATH. Only processes of the same user.
extern const LinkMake link_tcp;   // tcp:HOST:PORT, tcp:[V6]:PORT. TLS 1.3 where there is a key.

typedef struct LinksSetup {
    LinksCalls             calls;
    void                  *self;             // Of the calls.
    const LinkMake *const *makes;            // nullptr stands after the last; nullptr: none.
    const LinkKey         *key;              // Copied. nullptr: none, so nothing off loopback.
    int64_t                tick_ns;          // Between ticks; 0: none.
    // A connection ends that is not up by then, or on which nothing is acknowledged for so long.
    int64_t                timeout_ns;
    // A peer for which so much waits gets no more frames (LINK_END_BEHIND). So what waits is less
    // than this and one frame.
    int64_t                queue_bytes_max;
    uint32_t               peers_max;        // Of all of them, those not yet up included.
} LinksSetup;

// Starts the thread. nullptr: the trouble says why.
Links *links_open(const LinksSetup *setup, Trouble *trouble);

// A connected unix stream socket, which belongs to the links from now on, also when they refuse it.
// `*peer` is set before the first call for it is made.
bool links_adopt(Links *links, int fd, PeerId *peer, Trouble *trouble);

// Accepts connections at the address. `bound` is the address that others reach it by, with the port
// that the system has chosen for port 0.
bool links_listen(Links *links, const char *address, LinkAddress *bound, Trouble *trouble);

// opened() or closed() follows. `*peer` is set before that. May wait until a name is looked up.
bool links_connect(Links *links, const char *address, PeerId *peer, Trouble *trouble);

// The bytes of the frame are frame->bytes, then those of the `count` pieces of `more`; they are the
// caller's again when it returns. False: the peer is not open, or the frame has more than
// FRAME_BYTES_MAX bytes or FRAME_PIECES_MAX pieces. True says nothing of its arrival.
bool links_send(Links *links, PeerId peer, const Frame *frame, const struct iovec *more,
                int count);

// Bytes that wait to be written to it.
int64_t links_queued(Links *links, PeerId peer);

// Closes it. What waits in its queue is dropped. closed() follows; no more frames of it do when it
// is called on the thread of the links.
void links_end(Links *links, PeerId peer);

// Ends all connections without a call of closed(), and the thread. No call is made once it returns.
// Not on the thread of the links, and no other call may be under way. Takes nullptr.
void links_close(Links *links);

// A coded trouble of why a connection ended; `text` is that of closed(). False.
bool links_trouble(LinkEnd why, const char *text, Trouble *trouble);

#endif
