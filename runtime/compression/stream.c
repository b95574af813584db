#include "runtime/compression/stream.h"

#include "runtime/host.h"
#include "stdlib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4frame.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { INPUT_BYTES = 256 * 1024, TEXT_BYTES = 256 * 1024 };

struct Stream {
    char       *path;
    int         fd, cancel_fd;
    Compression compression;
    z_stream    gz;
    ZSTD_DStream *zst;
    LZ4F_dctx  *lz4;
    bool        open;        // The decoder is inside a member: the file may not end here.
    bool        any;         // A member has begun.
    char       *input;
    size_t      at, len;     // Unread compressed bytes: input[at..len).
    int64_t     consumed;    // Compressed bytes before input[0].
    SbDecoder   decoder;
    char       *text;        // Of another encoding than UTF-8.
    int64_t     text_at, text_len;  // What is not decoded yet: text[text_at..text_len).
    bool        text_ended;  // Nothing comes after it.
};

Compression compression_of(const char *path) {
    const char *dot = strrchr(path, '.');
    if (!dot) return COMPRESSION_NONE;
    if (strcmp(dot, ".gz") == 0) return COMPRESSION_GZ;
    if (strcmp(dot, ".zst") == 0) return COMPRESSION_ZST;
    if (strcmp(dot, ".lz4") == 0) return COMPRESSION_LZ4;
    return COMPRESSION_NONE;
}

static bool open_decoder(Stream *stream) {
    switch (stream->compression) {
    case COMPRESSION_NONE: return true;
    case COMPRESSION_GZ: return inflateInit2(&stream->gz, 15 + 16) == Z_OK;
    case COMPRESSION_ZST: return (stream->zst = ZSTD_createDStream()) != nullptr;
    case COMPRESSION_LZ4:
        return !LZ4F_isError(LZ4F_createDecompressionContext(&stream->lz4, LZ4F_VERSION));
    }
    return false;
}

Stream *stream_open(const char *path, SbEncoding encoding, int cancel_fd, Trouble *trouble) {
    Stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        trouble_no_memory(trouble, "to read '%s'", path);
        return nullptr;
    }
    bool standard = strcmp(path, "-") == 0;
    // A pipe that nobody writes to yet must not hold up an interrupt: see read_raw.
    stream->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    stream->cancel_fd = cancel_fd;
    stream->compression = compression_of(path);
    stream->path = strdup(path);
    if (stream->fd < 0) {
        trouble_set(trouble, TROUBLE_OPEN_SOURCE, "cannot open '%s': %s", path, strerror(errno));
        goto fail;
    }
    stream->input = malloc(INPUT_BYTES);
    stream->decoder.encoding = encoding;
    bool decodes = encoding != SB_ENCODING_UTF8;
    if (decodes) stream->text = malloc(TEXT_BYTES);
    if (!stream->input || !stream->path || (decodes && !stream->text) || !open_decoder(stream)) {
        trouble_no_memory(trouble, "to read '%s'", path);
        goto fail;
    }
    return stream;
fail:
    stream_close(stream);
    return nullptr;
}

void stream_close(Stream *stream) {
    if (!stream) return;
    if (stream->compression == COMPRESSION_GZ) inflateEnd(&stream->gz);
    ZSTD_freeDStream(stream->zst);
    if (stream->lz4) LZ4F_freeDecompressionContext(stream->lz4);
    if (stream->fd > STDERR_FILENO) close(stream->fd);
    free(stream->text);
    free(stream->input);
    free(stream->path);
    free(stream);
}

// Bytes of the file as they are; 0 at its end.
static int64_t read_raw(Stream *stream, char *buffer, size_t size, Trouble *trouble) {
    Retry retry = {.path = stream->path};
    for (;;) {
        struct pollfd fds[2] = {{.fd = stream->fd, .events = POLLIN},
                                {.fd = stream->cancel_fd, .events = POLLIN}};
        // A signal ends the wait before it reaches the other descriptor: look again.
        if (poll(fds, stream->cancel_fd >= 0 ? 2 : 1, -1) < 0 && errno == EINTR) continue;
        if (fds[1].revents) {
            trouble_set(trouble, TROUBLE_INTERRUPTED, "interrupted");
            return -1;
        }
        ssize_t got = failpoint_fails("stream-read") ? -1 : read(stream->fd, buffer, size);
        if (got >= 0) return got;
        // Nothing is there yet: poll was wrong, or another reader was faster.
        if (errno == EAGAIN || retry_again(&retry)) continue;
        retry_fail(trouble, errno, TROUBLE_READ_SOURCE, "read", stream->path);
        return -1;
    }
}

// Frames that hold no data stand in front of zstd and LZ4, too: their first byte is any of 16.
static bool begins_so(const Stream *stream) {
    static const struct {
        const char *begin;
        bool        skips;
    } packings[] = {
        [COMPRESSION_NONE] = {"", false},
        [COMPRESSION_GZ] = {"\x1f\x8b", false},
        [COMPRESSION_ZST] = {"\x28\xb5\x2f\xfd", true},
        [COMPRESSION_LZ4] = {"\x04\x22\x4d\x18", true},
    };
    const char *begin = packings[stream->compression].begin;
    size_t len = strlen(begin) < stream->len ? strlen(begin) : stream->len;
    bool skips = stream->len >= 4 && memcmp(stream->input + 1, "\x2a\x4d\x18", 3) == 0;
    return memcmp(stream->input, begin, len) == 0 || (skips && packings[stream->compression].skips);
}

// The file was never packed as its name says.
static int64_t not_packed(const Stream *stream, Trouble *trouble) {
    const char *ending = strrchr(stream->path, '.');
    const SbNotText *is = sb_not_packed(stream->input, (int64_t)stream->len);
    trouble_set(trouble, TROUBLE_COMPRESSED, "'%s' is not packed as %s files are%s%s", stream->path,
                ending, is ? ": " : "", is ? is->what : "");
    if (is) trouble_fix(trouble, "%s", is->fix);
    else trouble_fix(trouble, "give a %s file, or another name to what is none", ending);
    return -1;
}

static int64_t damaged(const Stream *stream, const char *why, Trouble *trouble) {
    if (stream->consumed == 0 && !begins_so(stream)) return not_packed(stream, trouble);
    trouble_set(trouble, TROUBLE_COMPRESSED, "'%s' is damaged at byte %lld: %s", stream->path,
                (long long)(stream->consumed + (int64_t)stream->at), why);
    return -1;
}

// Each step decodes some of the input into `buffer`; returns bytes made, -1 for trouble.
static int64_t step_gz(Stream *stream, char *buffer, int64_t size, Trouble *trouble) {
    z_stream *gz = &stream->gz;
    if (!stream->open && inflateReset(gz) != Z_OK) return damaged(stream, "no gzip data", trouble);
    stream->open = true;
    gz->next_in = (unsigned char *)stream->input + stream->at;
    gz->avail_in = (unsigned)(stream->len - stream->at);
    gz->next_out = (unsigned char *)buffer;
    gz->avail_out = (unsigned)(size < INT32_MAX ? size : INT32_MAX);
    unsigned room = gz->avail_out;
    int status = inflate(gz, Z_NO_FLUSH);
    stream->at = stream->len - gz->avail_in;
    if (status == Z_STREAM_END) stream->open = false;
    else if (status != Z_OK && status != Z_BUF_ERROR) {
        return damaged(stream, gz->msg ? gz->msg : "no gzip data", trouble);
    }
    return room - gz->avail_out;
}

static int64_t step_zst(Stream *stream, char *buffer, int64_t size, Trouble *trouble) {
    ZSTD_inBuffer in = {stream->input, stream->len, stream->at};
    ZSTD_outBuffer out = {buffer, (size_t)size, 0};
    size_t status = ZSTD_decompressStream(stream->zst, &out, &in);
    stream->at = in.pos;
    if (ZSTD_isError(status)) return damaged(stream, ZSTD_getErrorName(status), trouble);
    stream->open = status != 0;
    return (int64_t)out.pos;
}

static int64_t step_lz4(Stream *stream, char *buffer, int64_t size, Trouble *trouble) {
    size_t in = stream->len - stream->at, out = (size_t)size;
    size_t status = LZ4F_decompress(stream->lz4, buffer, &out, stream->input + stream->at, &in,
                                    nullptr);
    stream->at += in;
    if (LZ4F_isError(status)) return damaged(stream, LZ4F_getErrorName(status), trouble);
    stream->open = status != 0;
    return (int64_t)out;
}

static int64_t step(Stream *stream, char *buffer, int64_t size, Trouble *trouble) {
    switch (stream->compression) {
    case COMPRESSION_NONE: break;
    case COMPRESSION_GZ: return step_gz(stream, buffer, size, trouble);
    case COMPRESSION_ZST: return step_zst(stream, buffer, size, trouble);
    case COMPRESSION_LZ4: return step_lz4(stream, buffer, size, trouble);
    }
    return -1;
}

// The bytes of the file, decompressed.
static int64_t read_plain(Stream *stream, char *buffer, int64_t size, Trouble *trouble) {
    if (stream->compression == COMPRESSION_NONE) {
        return read_raw(stream, buffer, (size_t)size, trouble);
    }
    bool drained = false;  // The decoder has been asked once since the last input.
    for (;;) {
        if (stream->at < stream->len || (stream->open && !drained)) {
            stream->any = true;
            drained = stream->at == stream->len;
            int64_t made = step(stream, buffer, size, trouble);
            if (made != 0) return made;
            if (stream->at < stream->len) continue;
        }
        stream->consumed += (int64_t)stream->len;
        stream->at = stream->len = 0;
        int64_t got = read_raw(stream, stream->input, INPUT_BYTES, trouble);
        if (got < 0) return -1;
        if (got == 0) {
            if (stream->open || !stream->any)
                return damaged(stream, "the file ends too early", trouble);
            return 0;
        }
        stream->len = (size_t)got;
        drained = false;
    }
}

int64_t stream_read(Stream *stream, char *buffer, int64_t size, Trouble *trouble) {
    if (!stream->text) return read_plain(stream, buffer, size, trouble);
    for (;;) {
        SbStr from = {stream->text + stream->text_at, stream->text_len - stream->text_at};
        int64_t used;
        int64_t made = sb_decode(&stream->decoder, from, stream->text_ended, buffer, size, &used);
        stream->text_at += used;
        if (made > 0 || stream->text_ended) return made;
        int64_t left = stream->text_len - stream->text_at;  // Less than a character.
        memmove(stream->text, stream->text + stream->text_at, (size_t)left);
        int64_t got = read_plain(stream, stream->text + left, TEXT_BYTES - left, trouble);
        if (got < 0) return -1;
        stream->text_at = 0;
        stream->text_len = left + got;
        stream->text_ended = got == 0;
    }
}
