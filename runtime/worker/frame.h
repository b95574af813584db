// Frame: what goes over a connection in one piece, and how its bytes lie.
//
// A head of FRAME_HEAD bytes, the bytes, and zeroes up to a multiple of FRAME_ALIGN. All numbers
// are little endian. runtime/worker/README.md shows the head as a table.
#ifndef SBC_RUNTIME_WORKER_FRAME_H
#define SBC_RUNTIME_WORKER_FRAME_H

#include "runtime/host.h"

#include <sys/uio.h>

typedef struct Frame {
    uint16_t    kind;         // The caller's.
    uint32_t    epoch;        // The life of the worker that it belongs to.
    uint32_t    number, ack;  // As in a Message of runtime/core/membership.h.
    const char *bytes;
    int64_t     len;          // At most FRAME_BYTES_MAX.
    bool        may_wait;     // Who sends it needs no answer soon (links_send).
} Frame;

enum : int64_t { FRAME_BYTES_MAX = 64 << 20 };
enum { FRAME_MAGIC = 0x4b4c4253, FRAME_VERSION = 1, FRAME_HEAD = 48, FRAME_ALIGN = 16 };
enum { FRAME_PIECES_MAX = 16 };   // Pieces of memory that the bytes of one frame come from.
enum { FRAME_TEXT_MAX = 160 };

// The bytes that a frame of `len` takes on its way.
static inline int64_t frame_size(int64_t len) {
    return FRAME_HEAD + (len + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
}

// A frame ready to be written: its head, its pieces and its padding, one after the other.
typedef struct FramePieces {
    struct iovec pieces[FRAME_PIECES_MAX + 3];
    int          count;
    int64_t      size;  // Of all of them: frame_size.
    char         head[FRAME_HEAD];
} FramePieces;

// The bytes of the frame and then those of `more`, which has `count` pieces. They stay the caller's
// and are needed as long as the pieces are. False: there are too many pieces or bytes.
bool frame_pack(FramePieces *pieces, const Frame *frame, const struct iovec *more, int count,
                ChecksumState *state);

typedef enum FrameRead {
    FRAME_WHOLE,
    FRAME_SHORT,         // More bytes are needed.
    FRAME_NONE,          // What came is no frame.
    FRAME_OTHER_VERSION,
} FrameRead;

typedef struct FrameFound {
    Frame   frame;       // FRAME_WHOLE: its bytes lie in what was read.
    int64_t size;        // FRAME_WHOLE, FRAME_SHORT: of all of it, or of its head.
    char    why[FRAME_TEXT_MAX];  // FRAME_NONE, FRAME_OTHER_VERSION: what is wrong.
} FrameFound;

// Looks for a frame at the start of `len` bytes, without a copy.
FrameRead frame_read(const char *bytes, int64_t len, FrameFound *found);

#endif
