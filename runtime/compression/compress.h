// Compress: one member (gzip), frame (zstd, lz4) at a time; members one after the other are a
// file.
#ifndef SBC_RUNTIME_COMPRESS_H
#define SBC_RUNTIME_COMPRESS_H

#include "runtime/compression/stream.h"

enum { COMPRESS_CHUNK_BYTES = 4 << 20 };

// Compresses `len` bytes into memory from malloc; returns its length, -1 when memory is out.
int64_t compress_member(Compression compression, const char *bytes, int64_t len, char **packed);

#endif
