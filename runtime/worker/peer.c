#define _GNU_SOURCE
#include "runtime/worker/peer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum : int64_t { QUEUE_LEAST = 64 << 10, PART_LEAST = 256 << 10 };
enum { READS_MAX = 8 };  // Of one peer before others are looked at.

// ---- beginning ----------------------------------------------------------------------------------

bool peer_init(Peer *peer, uint32_t i) {
    *peer = (Peer){.id.i = i, .fd = -1, .checksum = checksum_open()};
    if (!peer->checksum) return false;
    pthread_mutex_init(&peer->lock, nullptr);
    return true;
}

void peer_destroy(Peer *peer) {
    if (!peer->checksum) return;
    checksum_close(peer->checksum);
    pthread_mutex_destroy(&peer->lock);
}

void peer_fails(Peer *peer, PeerState state, const LinkWhy *why) {
    if (peer->state >= PEER_ENDING) return;
    if (peer->state != PEER_BROKEN) peer->why = *why;
    peer->state = state;
}

// ---- writing ------------------------------------------------------------------------------------

static bool queue_room(PeerQueue *queue, int64_t len) {
    int64_t waits = queue->tail - queue->head;
    if (len <= queue->room - queue->tail) return true;
    int64_t room = queue->room > QUEUE_LEAST ? queue->room : QUEUE_LEAST;
    while (room < 2 * waits || room - waits < len) room *= 2;
    char *ptr = room == queue->room ? queue->ptr : malloc((size_t)room);
    if (!ptr) return false;
    if (waits > 0) memmove(ptr, queue->ptr + queue->head, (size_t)waits);
    if (ptr != queue->ptr) free(queue->ptr);
    *queue = (PeerQueue){.ptr = ptr, .tail = waits, .room = room, .stuck = queue->stuck};
    return true;
}

// All of the pieces but their first `skip` bytes.
static bool queue_add(PeerQueue *queue, const FramePieces *pieces, int64_t skip) {
    if (!queue_room(queue, pieces->size - skip)) return false;
    for (int i = 0; i < pieces->count; i++) {
        int64_t len = (int64_t)pieces->pieces[i].iov_len, from = skip < len ? skip : len;
        skip -= from;
        if (from == len) continue;
        memcpy(queue->ptr + queue->tail, (const char *)pieces->pieces[i].iov_base + from,
               (size_t)(len - from));
        queue->tail += len - from;
    }
    return true;
}

static void queue_close(PeerQueue *queue) {
    free(queue->ptr);
    *queue = (PeerQueue){0};
}

// Nothing waits any more. What frames commonly take is kept for the next ones.
static void queue_empty(PeerQueue *queue) {
    queue->head = queue->tail = 0;
    queue->stuck = false;
    if (queue->room > QUEUE_LEAST) queue_close(queue);
}

// Writes what waits, as far as the system takes it. Under the lock. False: the peer has failed.
static bool write_queue(Peer *peer) {
    PeerQueue *queue = &peer->queue;
    LinkWhy why;
    int64_t written = 1;
    while (queue->head < queue->tail && written > 0) {
        struct iovec rest = {queue->ptr + queue->head, (size_t)(queue->tail - queue->head)};
        written = peer->channel->write(peer->session, &rest, 1, &why);
        if (written > 0) queue->head += written;
    }
    if (queue->head == queue->tail) queue_empty(queue);
    else queue->stuck = true;
    if (written == LINK_FAILED) peer_fails(peer, PEER_BROKEN, &why);
    return written != LINK_FAILED;
}

static PeerSent over(Peer *peer, PeerState state, const LinkWhy *why) {
    peer_fails(peer, state, why);
    return PEER_SENT_ENDS;
}

// All of the pieces but their first `skip` bytes wait from now on.
static PeerSent add(Peer *peer, const FramePieces *pieces, int64_t skip, PeerSent sent) {
    LinkWhy why;
    int64_t waits = peer->queue.tail - peer->queue.head;
    if (queue_add(&peer->queue, pieces, skip)) return sent;
    link_fails(&why, LINK_END_ERROR, "no memory for %lld bytes that wait to be sent",
               (long long)(waits + pieces->size));
    return over(peer, PEER_ENDING, &why);
}

// Nothing waits: the pieces go as they lie.
static PeerSent write_pieces(Peer *peer, const FramePieces *pieces) {
    LinkWhy why;
    int64_t written = peer->channel->write(peer->session, pieces->pieces, pieces->count, &why);
    if (written == LINK_FAILED) return over(peer, PEER_BROKEN, &why);
    if (written == LINK_LATER) written = 0;
    if (written == pieces->size) return PEER_SENT;
    peer->queue.stuck = true;
    return add(peer, pieces, written, PEER_SENT_LOOK);
}

PeerSent peer_send(Peer *peer, const FramePieces *pieces, bool may_wait, int64_t queue_bytes_max) {
    PeerQueue *queue = &peer->queue;
    LinkWhy why;
    if (peer->state != PEER_OPEN) return PEER_SENT_NOT;
    int64_t waits = queue->tail - queue->head;
    bool full = waits > 0 && waits >= queue_bytes_max;
    if (full && !queue->stuck && !write_queue(peer)) return PEER_SENT_ENDS;
    waits = queue->tail - queue->head;
    if (waits > 0 && waits >= queue_bytes_max) {
        link_fails(&why, LINK_END_BEHIND, "the other side reads too slowly: %lld bytes wait for it",
                   (long long)waits);
        return over(peer, PEER_ENDING, &why);
    }
    if (queue->stuck) return add(peer, pieces, 0, PEER_SENT_LOOK);
    if (may_wait) return add(peer, pieces, 0, PEER_SENT_LATER);
    if (waits == 0) return write_pieces(peer, pieces);
    PeerSent sent = add(peer, pieces, 0, PEER_SENT);
    if (sent != PEER_SENT) return sent;
    if (!write_queue(peer)) return PEER_SENT_ENDS;
    return queue->stuck ? PEER_SENT_LOOK : PEER_SENT;
}

bool peer_flush(Peer *peer) {
    pthread_mutex_lock(&peer->lock);
    if (peer->state == PEER_OPEN) write_queue(peer);
    bool more = peer->state == PEER_OPEN && peer->queue.head < peer->queue.tail;
    pthread_mutex_unlock(&peer->lock);
    return more;
}

// ---- reading ------------------------------------------------------------------------------------

static bool reading_fails(Peer *peer, LinkEnd end, const char *text) {
    LinkWhy why;
    link_fails(&why, end, "%s", text);
    pthread_mutex_lock(&peer->lock);
    peer_fails(peer, PEER_ENDING, &why);
    pthread_mutex_unlock(&peer->lock);
    return false;
}

static bool refuse(Peer *peer, FrameRead read, const FrameFound *found) {
    LinkEnd end = read == FRAME_OTHER_VERSION ? LINK_END_VERSION : LINK_END_NO_FRAME;
    return reading_fails(peer, end, found->why);
}

static void part_close(PeerPart *part) {
    free(part->ptr);
    *part = (PeerPart){0};
}

// Room for bytes of the part beyond those that it has: at least one.
static bool part_grow(Peer *peer) {
    PeerPart *part = &peer->part;
    if (part->len < part->room) return true;
    int64_t room = part->room * 2 > PART_LEAST ? part->room * 2 : PART_LEAST;
    if (room > part->need) room = part->need;
    char *ptr = realloc(part->ptr, (size_t)room);
    if (!ptr) return reading_fails(peer, LINK_END_ERROR, "no memory for a frame that comes");
    part->ptr = ptr;
    part->room = room;
    return true;
}

// The part has more bytes: hands its frame on, or finds out what it needs. A head is looked at with
// each byte, since what is no frame may never get as long.
static bool part_look(Peer *peer, const PeerReader *reader) {
    PeerPart *part = &peer->part;
    FrameFound found;
    if (part->len > FRAME_HEAD && part->len < part->need) return true;
    FrameRead read = frame_read(part->ptr, part->len, &found);
    if (read == FRAME_SHORT) part->need = found.size;
    if (read == FRAME_SHORT) return true;
    if (read != FRAME_WHOLE) return refuse(peer, read, &found);
    reader->frame(reader->self, peer->id, &found.frame);
    part_close(part);
    return peer->state == PEER_OPEN || peer->state == PEER_BROKEN;
}

// Takes bytes that belong to the part; returns how many, -1: it is over.
static int64_t part_add(Peer *peer, const PeerReader *reader, const char *bytes, int64_t len) {
    PeerPart *part = &peer->part;
    if (!part_grow(peer)) return -1;
    int64_t take = part->room - part->len;
    if (take > len) take = len;
    memcpy(part->ptr + part->len, bytes, (size_t)take);
    part->len += take;
    return part_look(peer, reader) ? take : -1;
}

// The frames of bytes that lie in the shared room. False: it is over.
static bool take(Peer *peer, const PeerReader *reader, const char *bytes, int64_t len) {
    FrameFound found;
    while (len > 0) {
        int64_t taken;
        if (peer->part.need > 0) {
            taken = part_add(peer, reader, bytes, len);
            if (taken < 0) return false;
        } else {
            FrameRead read = frame_read(bytes, len, &found);
            taken = found.size;
            if (read == FRAME_SHORT) peer->part.need = taken, taken = 0;
            else if (read != FRAME_WHOLE) return refuse(peer, read, &found);
            else reader->frame(reader->self, peer->id, &found.frame);
            if (peer->state != PEER_OPEN && peer->state != PEER_BROKEN) return false;
        }
        bytes += taken;
        len -= taken;
    }
    return true;
}

// The bytes that the part wants, then those of the shared room.
static int where_to(Peer *peer, const PeerReader *reader, struct iovec into[static 2]) {
    PeerPart *part = &peer->part;
    int count = 0;
    if (part->need > 0) into[count++] = (struct iovec){part->ptr + part->len,
                                                       (size_t)(part->room - part->len)};
    // What lies beyond a part that is not to be filled whole would be in the wrong place.
    if (part->need == 0 || part->room == part->need)
        into[count++] = (struct iovec){reader->room, (size_t)reader->bytes};
    return count;
}

static int64_t read_some(Peer *peer, const struct iovec *into, int count, LinkWhy *why) {
    if (peer->channel->is_shared) return peer->channel->read(peer->session, into, count, why);
    pthread_mutex_lock(&peer->lock);
    int64_t got = peer->channel->read(peer->session, into, count, why);
    pthread_mutex_unlock(&peer->lock);
    return got;
}

// The first bytes are those of the part. False: it is over.
static bool took(Peer *peer, const PeerReader *reader, int64_t got) {
    PeerPart *part = &peer->part;
    if (part->need == 0) return take(peer, reader, reader->room, got);
    int64_t room = part->room - part->len, here = got < room ? got : room;
    part->len += here;
    if (!part_look(peer, reader)) return false;
    return take(peer, reader, reader->room, got - here);
}

static PeerGot ended(Peer *peer, const LinkWhy *why) {
    reading_fails(peer, why->end, why->text);
    return PEER_GOT_END;
}

PeerGot peer_read(Peer *peer, const PeerReader *reader) {
    for (int i = 0; i < READS_MAX; i++) {
        struct iovec into[2];
        LinkWhy why = {.text = "the other side has closed the connection"};
        if (peer->part.need > 0 && !part_grow(peer)) return PEER_GOT_END;
        int count = where_to(peer, reader, into);
        int64_t asked = 0;
        for (int k = 0; k < count; k++) asked += (int64_t)into[k].iov_len;
        int64_t got = read_some(peer, into, count, &why);
        // A socket that takes no more bytes and has none left is at its end.
        if (got == LINK_LATER && peer->state != PEER_BROKEN) return PEER_GOT_ALL;
        if (got == 0 && peer->part.need > 0)
            link_fails(&why, LINK_END_CLOSED, "the other side has closed the connection in the "
                       "middle of a frame");
        if (got <= 0) return ended(peer, &why);
        if (!took(peer, reader, got)) return PEER_GOT_END;
        if (got < asked && peer->channel->is_shared) return PEER_GOT_ALL;
    }
    return PEER_GOT_MORE;
}

// ---- ending -------------------------------------------------------------------------------------

void peer_close(Peer *peer) {
    pthread_mutex_lock(&peer->lock);
    if (peer->session) peer->channel->close(peer->session);
    peer->session = nullptr;
    close(peer->fd);
    peer->fd = -1;
    queue_close(&peer->queue);
    pthread_mutex_unlock(&peer->lock);
    part_close(&peer->part);
}
