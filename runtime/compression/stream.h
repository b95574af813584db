// Stream: the bytes of one file in order, decompressed and decoded to UTF-8; for sources that
// cannot be read at any place.
#ifndef SBC_RUNTIME_STREAM_H
#define SBC_RUNTIME_STREAM_H

#include "runtime/report.h"
#include "stdlib/text.h"

typedef enum Compression {
    COMPRESSION_NONE,
    COMPRESSION_GZ,
    COMPRESSION_ZST,
    COMPRESSION_LZ4
} Compression;

Compression compression_of(const char *path);

typedef struct Stream Stream;

// `path` "-" is standard input. `cancel_fd` becomes readable when the job is interrupted; -1: none.
Stream *stream_open(const char *path, SbEncoding encoding, int cancel_fd, Trouble *trouble);
void    stream_close(Stream *stream);
// Up to `size` bytes, at least one unless the stream has ended (0). -1: trouble.
int64_t stream_read(Stream *stream, char *buffer, int64_t size, Trouble *trouble);

#endif
