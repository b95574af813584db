// Peer: one connection: what waits to be written, and what was read of a frame that is not whole.
// It knows nothing of the loop, which runtime/worker/links.c has.
#ifndef SBC_RUNTIME_WORKER_PEER_H
#define SBC_RUNTIME_WORKER_PEER_H

#include "runtime/worker/link.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum PeerState : uint8_t {
    PEER_FREE,
    PEER_TAKEN,    // Who has taken the place fills it in.
    PEER_CONNECTING,
    PEER_SHAKING,  // Connected: the channel proves the key.
    PEER_OPEN,
    PEER_BROKEN,   // It takes no more bytes. What came before is still read.
    PEER_ENDING,   // `why` is set; the loop closes it.
    PEER_GONE,     // Closed; the loop still holds its handle.
} PeerState;

// Bytes from `head` to `tail` wait.
typedef struct PeerQueue {
    char   *ptr;
    int64_t head, tail, room;
    bool    stuck;  // The system took no more of them: the loop writes them once it does.
} PeerQueue;

// The start of a frame: `len` bytes of it are there, and it is looked at again when `need` are.
typedef struct PeerPart {
    char   *ptr;
    int64_t len, need, room;
} PeerPart;

typedef struct Peer {
    pthread_mutex_t    lock;       // Of all but the part and the id.
    _Atomic PeerState  state;      // Changes under the lock.
    PeerId             id;
    int                fd;
    const LinkChannel *channel;
    void              *session;
    ChecksumState     *checksum;
    PeerQueue          queue;
    LinkWhy            why;
    PeerPart           part;       // The loop's.
} Peer;

bool peer_init(Peer *peer, uint32_t i);  // False: no memory.
void peer_destroy(Peer *peer);

// Under the lock. The first reason counts.
void peer_fails(Peer *peer, PeerState state, const LinkWhy *why);

typedef enum PeerSent {
    PEER_SENT_NOT,  // It is not open, or there is no such frame.
    PEER_SENT,
    PEER_SENT_LATER, // It waits for the next frame that does not, or for peer_flush.
    PEER_SENT_LOOK, // The loop has to look at it: something waits.
    PEER_SENT_ENDS, // The loop has to look at it: it is over.
} PeerSent;

// Under the lock. `may_wait`: other frames may come first, and one write takes all of them.
PeerSent peer_send(Peer *peer, const FramePieces *pieces, bool may_wait, int64_t queue_bytes_max);

// Writes what waits, as far as the system takes it. Is there more?
bool peer_flush(Peer *peer);

// What reads: room that all peers share, and who gets the frames.
typedef struct PeerReader {
    char   *room;  // At a multiple of FRAME_ALIGN.
    int64_t bytes;
    void  (*frame)(void *self, PeerId peer, const Frame *frame);
    void   *self;
} PeerReader;

typedef enum PeerGot { PEER_GOT_ALL, PEER_GOT_MORE, PEER_GOT_END } PeerGot;

// Reads what is there and hands frames on. PEER_GOT_MORE: it was much, and others wait.
// PEER_GOT_END: `why` says it.
PeerGot peer_read(Peer *peer, const PeerReader *reader);

// Closes the socket and frees what it has. Not under the lock.
void peer_close(Peer *peer);

#endif
