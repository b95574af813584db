#include "runtime/compression/compress.h"

#include <lz4frame.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

static int64_t compress_gz(const char *bytes, int64_t len, char **packed) {
    z_stream gz = {0};
    if (deflateInit2(&gz, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return -1;
    uLong bound = deflateBound(&gz, (uLong)len);
    int64_t made = -1;
    if ((*packed = malloc(bound))) {
        gz.next_in = (unsigned char *)bytes;
        gz.avail_in = (unsigned)len;
        gz.next_out = (unsigned char *)*packed;
        gz.avail_out = (unsigned)bound;
        if (deflate(&gz, Z_FINISH) == Z_STREAM_END) made = (int64_t)gz.total_out;
    }
    deflateEnd(&gz);
    return made;
}

static int64_t compress_zst(const char *bytes, int64_t len, char **packed) {
    size_t bound = ZSTD_compressBound((size_t)len);
    if (!(*packed = malloc(bound))) return -1;
    size_t made = ZSTD_compress(*packed, bound, bytes, (size_t)len, 3);
    return ZSTD_isError(made) ? -1 : (int64_t)made;
}

static int64_t compress_lz4(const char *bytes, int64_t len, char **packed) {
    size_t bound = LZ4F_compressFrameBound((size_t)len, nullptr);
    if (!(*packed = malloc(bound))) return -1;
    size_t made = LZ4F_compressFrame(*packed, bound, bytes, (size_t)len, nullptr);
    return LZ4F_isError(made) ? -1 : (int64_t)made;
}

int64_t compress_member(Compression compression, const char *bytes, int64_t len, char **packed) {
    switch (compression) {
    case COMPRESSION_NONE: break;
    case COMPRESSION_GZ: return compress_gz(bytes, len, packed);
    case COMPRESSION_ZST: return compress_zst(bytes, len, packed);
    case COMPRESSION_LZ4: return compress_lz4(bytes, len, packed);
    }
    return -1;
}
