// libFuzzer target: frames that come in any pieces, whole, damaged, or bytes that are none. What a
// peer makes of pieces is what frame_read makes of all bytes at once, and ends where that does.
//
//     ONLY=frame tests/fuzz/run.sh [SECONDS]
#include "runtime/worker/peer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STREAM_MAX = 1 << 20, FRAMES_MAX = 256, ROOM = 4096, LEN_STEP = 37 };

// The bytes of a connection, and the sizes in which they come.
typedef struct Stream {
    char          *bytes;
    int64_t        len, at;
    const uint8_t *steps;
    size_t         step_count, step;
} Stream;

// What was read: a sum of all frames in their order.
typedef struct Seen {
    int64_t  frames;
    uint64_t sum;
} Seen;

static void see(Seen *seen, const Frame *frame) {
    uint64_t own = checksum_of(frame->bytes, frame->len).low ^ frame->kind ^
                   (uint64_t)frame->epoch << 16 ^ (uint64_t)frame->number << 24 ^ frame->ack;
    seen->frames++;
    seen->sum = seen->sum * 31 + own + (uint64_t)frame->len;
}

static void on_frame(void *self, PeerId peer, const Frame *frame) {
    (void)peer;
    if ((uintptr_t)frame->bytes % FRAME_ALIGN != 0) abort();
    see(self, frame);
}

// ---- the stream ---------------------------------------------------------------------------------

static void add(Stream *stream, const void *bytes, size_t len) {
    if (len > (size_t)(STREAM_MAX - stream->len)) return;
    memcpy(stream->bytes + stream->len, bytes, len);
    stream->len += (int64_t)len;
}

static void add_frame(Stream *stream, const uint8_t *of, size_t left, ChecksumState *state) {
    static char bytes[255 * 255];
    FramePieces pieces;
    int64_t len = of[0] * (of[1] % LEN_STEP);
    memset(bytes, of[1], (size_t)len);
    struct iovec more = {(void *)of, left < 9 ? left : 9};
    Frame frame = {.kind = of[0], .epoch = of[1], .number = (uint32_t)stream->len, .ack = of[0],
                   .bytes = bytes, .len = len};
    if (!frame_pack(&pieces, &frame, &more, of[1] % 2, state)) abort();
    for (int i = 0; i < pieces.count; i++)
        add(stream, pieces.pieces[i].iov_base, pieces.pieces[i].iov_len);
}

// Each command has three bytes: what it does, and two numbers.
static void make(Stream *stream, const uint8_t *data, size_t size, ChecksumState *state) {
    for (size_t i = 0; i + 3 <= size && i < 3 * FRAMES_MAX; i += 3) {
        const uint8_t *of = data + i + 1;
        int64_t place = stream->len ? (of[0] * 256 + of[1]) % stream->len : 0;
        switch (data[i] % 8) {
        case 0: add(stream, of, 2); break;
        case 1: if (stream->len) stream->bytes[stream->len - 1 - place] ^= (char)data[i]; break;
        case 2: if (of[0] == 0) stream->len -= place; break;
        default: add_frame(stream, of, size - i - 1, state);
        }
    }
}

// ---- reading ------------------------------------------------------------------------------------

static int64_t read_stream(void *session, const struct iovec *into, int count, LinkWhy *why) {
    Stream *stream = session;
    int64_t step = stream->step_count ? 1 + stream->steps[stream->step++ % stream->step_count] : 1;
    int64_t got = 0;
    (void)why;
    if (step > 200) step *= 64;
    for (int i = 0; i < count && got < step; i++) {
        int64_t part = (int64_t)into[i].iov_len;
        if (part > step - got) part = step - got;
        if (part > stream->len - stream->at) part = stream->len - stream->at;
        memcpy(into[i].iov_base, stream->bytes + stream->at, (size_t)part);
        stream->at += part;
        got += part;
    }
    return got;
}

static void close_stream(void *session) { (void)session; }

static const LinkChannel channel = {.read = read_stream, .close = close_stream};

static LinkEnd read_pieces(Stream *stream, Seen *seen) {
    alignas(FRAME_ALIGN) static char room[ROOM];
    PeerReader reader = {.room = room, .bytes = ROOM, .frame = on_frame, .self = seen};
    Peer peer;
    if (!peer_init(&peer, 0)) abort();
    peer.channel = &channel;
    peer.session = stream;
    peer.state = PEER_OPEN;
    while (peer_read(&peer, &reader) != PEER_GOT_END) {}
    LinkEnd end = peer.why.end;
    peer_close(&peer);
    peer_destroy(&peer);
    return end;
}

static LinkEnd read_whole(const Stream *stream, Seen *seen) {
    FrameFound found;
    for (int64_t at = 0; at < stream->len; at += found.size) {
        switch (frame_read(stream->bytes + at, stream->len - at, &found)) {
        case FRAME_WHOLE: see(seen, &found.frame); break;
        case FRAME_SHORT: return LINK_END_CLOSED;
        case FRAME_NONE: return LINK_END_NO_FRAME;
        case FRAME_OTHER_VERSION: return LINK_END_VERSION;
        }
    }
    return LINK_END_CLOSED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ChecksumState *state;
    Seen pieces = {0}, whole = {0};
    // A block of its own size, so that what is read beyond it is found.
    static char room[STREAM_MAX];
    Stream stream = {.bytes = room, .steps = data, .step_count = size};
    if (!state) state = checksum_open();
    make(&stream, data, size, state);
    stream.bytes = malloc((size_t)stream.len + 1);
    memcpy(stream.bytes, room, (size_t)stream.len);
    LinkEnd a = read_pieces(&stream, &pieces), b = read_whole(&stream, &whole);
    if (a != b || pieces.frames != whole.frames || pieces.sum != whole.sum) abort();
    free(stream.bytes);
    return 0;
}
