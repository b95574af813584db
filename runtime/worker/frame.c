#include "runtime/worker/frame.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

// The head on its way. `head_sum` is that of what stands after it in the head, `bytes_sum` that of
// the bytes.
typedef struct FrameHead {
    uint32_t magic, version;
    uint64_t head_sum, bytes_sum;
    uint64_t len;
    uint32_t kind, epoch, number, ack;
} FrameHead;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
static_assert(sizeof(FrameHead) == FRAME_HEAD && FRAME_HEAD % FRAME_ALIGN == 0);
static_assert(offsetof(FrameHead, version) == 4 && offsetof(FrameHead, head_sum) == 8);
static_assert(offsetof(FrameHead, bytes_sum) == 16 && offsetof(FrameHead, len) == 24);
static_assert(offsetof(FrameHead, kind) == 32 && offsetof(FrameHead, epoch) == 36);
static_assert(offsetof(FrameHead, number) == 40 && offsetof(FrameHead, ack) == 44);

enum { SUMMED = offsetof(FrameHead, bytes_sum), MAGIC_BYTES = 4, VERSIONED = 8 };

static const char zeroes[FRAME_ALIGN];

static uint64_t sum_of(const void *bytes, int64_t len) { return checksum_of(bytes, len).low; }

static uint64_t head_sum(const FrameHead *head) {
    return sum_of((const char *)head + SUMMED, FRAME_HEAD - SUMMED);
}

// ---- writing ------------------------------------------------------------------------------------

static void add_piece(FramePieces *pieces, const void *bytes, int64_t len) {
    if (len == 0) return;
    pieces->pieces[pieces->count++] = (struct iovec){(void *)bytes, (size_t)len};
    pieces->size += len;
}

// Of all pieces but the head.
static uint64_t bytes_sum(const FramePieces *pieces, ChecksumState *state) {
    if (pieces->count == 1) return sum_of("", 0);
    if (pieces->count == 2) {
        const struct iovec *only = &pieces->pieces[1];
        return sum_of(only->iov_base, (int64_t)only->iov_len);
    }
    checksum_begin(state);
    for (int i = 1; i < pieces->count; i++)
        checksum_add(state, pieces->pieces[i].iov_base, (int64_t)pieces->pieces[i].iov_len);
    return checksum_value(state).low;
}

bool frame_pack(FramePieces *pieces, const Frame *frame, const struct iovec *more, int count,
                ChecksumState *state) {
    if (count > FRAME_PIECES_MAX || frame->len < 0 || frame->len > FRAME_BYTES_MAX) return false;
    pieces->count = 0;
    pieces->size = 0;
    add_piece(pieces, pieces->head, FRAME_HEAD);
    add_piece(pieces, frame->bytes, frame->len);
    for (int i = 0; i < count; i++) {
        if (more[i].iov_len > (size_t)FRAME_BYTES_MAX) return false;
        add_piece(pieces, more[i].iov_base, (int64_t)more[i].iov_len);
    }
    int64_t len = pieces->size - FRAME_HEAD;
    if (len > FRAME_BYTES_MAX) return false;
    FrameHead head = {.magic = FRAME_MAGIC, .version = FRAME_VERSION, .len = (uint64_t)len,
                      .bytes_sum = bytes_sum(pieces, state), .kind = frame->kind,
                      .epoch = frame->epoch, .number = frame->number, .ack = frame->ack};
    head.head_sum = head_sum(&head);
    memcpy(pieces->head, &head, sizeof head);
    add_piece(pieces, zeroes, frame_size(len) - pieces->size);
    return true;
}

// ---- reading ------------------------------------------------------------------------------------

// What else listens and connects, by how it begins.
static const struct Stranger {
    char        begins[MAGIC_BYTES];
    int         len;
    const char *is;
} strangers[] = {
    {{0x16, 0x03}, 2, ": the other side speaks TLS, and this side does not"},
    {{0x15, 0x03}, 2, ": the other side speaks TLS, and this side does not"},
    {{'G', 'E', 'T', ' '}, 4, ": the other side speaks HTTP"},
    {{'H', 'T', 'T', 'P'}, 4, ": the other side speaks HTTP"},
    {{'S', 'S', 'H', '-'}, 4, ": the other side speaks SSH"},
};

static FrameRead not_magic(const char *bytes, int64_t len, FrameFound *found) {
    const char *is = "";
    unsigned char first[MAGIC_BYTES] = {0};
    memcpy(first, bytes, (size_t)(len < MAGIC_BYTES ? len : MAGIC_BYTES));
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (memcmp(first, strangers[i].begins, (size_t)strangers[i].len) == 0)
            is = strangers[i].is;
    snprintf(found->why, sizeof found->why,
             "what came is no frame, it begins with %02x %02x %02x %02x%s", first[0], first[1],
             first[2], first[3], is);
    return FRAME_NONE;
}

static FrameRead refuse(FrameFound *found, FrameRead as, const char *what, uint64_t number) {
    snprintf(found->why, sizeof found->why, what, (unsigned long long)number);
    return as;
}

static FrameRead refuse_damaged(FrameFound *found, const char *what) {
    snprintf(found->why, sizeof found->why, "a frame came damaged: the checksum of its %s differs",
             what);
    return FRAME_NONE;
}

// What is wrong with the head; FRAME_WHOLE: nothing.
static FrameRead judge_head(const FrameHead *head, FrameFound *found) {
    if (head->head_sum != head_sum(head)) return refuse_damaged(found, "head");
    if (head->len > (uint64_t)FRAME_BYTES_MAX)
        return refuse(found, FRAME_NONE, "a frame of %llu bytes came, and 64 MiB are the most",
                      head->len);
    if (head->kind > UINT16_MAX)
        return refuse(found, FRAME_NONE, "a frame of the kind %llu came, which is none",
                      head->kind);
    return FRAME_WHOLE;
}

FrameRead frame_read(const char *bytes, int64_t len, FrameFound *found) {
    static const uint32_t magic = FRAME_MAGIC;
    FrameHead head = {0};
    memcpy(&head, bytes, (size_t)(len < FRAME_HEAD ? len : FRAME_HEAD));
    if (memcmp(&head, &magic, (size_t)(len < MAGIC_BYTES ? len : MAGIC_BYTES)) != 0)
        return not_magic(bytes, len, found);
    if (len >= VERSIONED && head.version != FRAME_VERSION) {
        snprintf(found->why, sizeof found->why,
                 "the other side speaks version %u of frames, and this side version %u",
                 head.version, (unsigned)FRAME_VERSION);
        return FRAME_OTHER_VERSION;
    }
    found->size = FRAME_HEAD;
    if (len < FRAME_HEAD) return FRAME_SHORT;
    FrameRead judged = judge_head(&head, found);
    if (judged != FRAME_WHOLE) return judged;
    int64_t bytes_len = (int64_t)head.len;
    found->size = frame_size(bytes_len);
    if (len < found->size) return FRAME_SHORT;
    if (sum_of(bytes + FRAME_HEAD, bytes_len) != head.bytes_sum)
        return refuse_damaged(found, "bytes");
    const char *end = bytes + FRAME_HEAD + bytes_len;
    if (memcmp(end, zeroes, (size_t)(bytes + found->size - end)) != 0)
        return refuse_damaged(found, "padding");
    found->frame = (Frame){.kind = (uint16_t)head.kind, .epoch = head.epoch, .number = head.number,
                           .ack = head.ack, .bytes = bytes + FRAME_HEAD, .len = bytes_len};
    return FRAME_WHOLE;
}
