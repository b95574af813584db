#include "driver/peek.h"

#include "runtime/abi.h"

#include <errno.h>
#include <glob.h>
#include <lz4frame.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

// ---- paths --------------------------------------------------------------------------------------

static bool is_plain(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

// The smaller of `best` and the first plain file that matches.
static Text first_match(Arena *arena, Text pattern, Text best) {
    glob_t found = {0};
    if (glob(text_c(arena, pattern), 0, nullptr, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            Text path = text_of(found.gl_pathv[i]);
            if (!is_plain(found.gl_pathv[i]) || (best.len && text_cmp(best, path) <= 0)) continue;
            best = text_of(text_c(arena, path));
        }
    }
    globfree(&found);
    return best;
}

enum { FOLDERS_DEEP_MAX = 16 };

Text peek_path(Arena *arena, Text pattern) {
    struct stat st;
    const char *name = text_c(arena, pattern);
    if (stat(name, &st) == 0 && !S_ISDIR(st.st_mode)) return pattern;
    if (stat(name, &st) == 0) {
        bool slash = pattern.len && pattern.at[pattern.len - 1] == '/';
        return first_match(arena, text_format(arena, slash ? "%s*" : "%s/*", name), (Text){0});
    }
    const char *stars = strstr(name, "**/");
    if (!stars) return first_match(arena, pattern, (Text){0});
    TextBuf folders = {0};  // `**/` is any number of folders: none, */, */*/, ...
    Text best = {0};
    for (int depth = 0; depth <= FOLDERS_DEEP_MAX; depth++) {
        Text deep = text_format(arena, "%.*s%.*s%s", (int)(stars - name), name, (int)folders.len,
                                folders.len ? folders.at : "", stars + 3);
        best = first_match(arena, deep, best);
        text_buf_add(&folders, TEXT("*/"));
    }
    text_buf_free(&folders);
    return best;
}

// ---- bytes --------------------------------------------------------------------------------------

Text peek_plain_name(Text path) {
    static const char *const suffixes[] = {".gz", ".zst", ".lz4"};
    for (size_t i = 0; i < countof(suffixes); i++)
        if (text_ends(path, suffixes[i])) return (Text){path.at, path.len - strlen(suffixes[i])};
    return path;
}

// Each reads up to `room` bytes; returns how many, or -1 for a damaged file.
static int64_t read_gzip(const char *path, char *into, size_t room) {
    gzFile file = gzopen(path, "rb");
    if (!file) return -1;
    int got = gzread(file, into, (unsigned)room);
    gzclose(file);
    return got;
}

static int64_t read_zstd(FILE *file, char *into, size_t room) {
    char bytes[1 << 14];
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {bytes, 0, 0};
    ZSTD_outBuffer out = {into, room, 0};
    bool good = stream != nullptr;
    while (good && out.pos < out.size) {
        if (in.pos == in.size) in = (ZSTD_inBuffer){bytes, fread(bytes, 1, sizeof bytes, file), 0};
        if (!in.size) break;
        good = !ZSTD_isError(ZSTD_decompressStream(stream, &out, &in));
    }
    ZSTD_freeDStream(stream);
    return good ? (int64_t)out.pos : -1;
}

static int64_t read_lz4(FILE *file, char *into, size_t room) {
    char bytes[1 << 14];
    LZ4F_dctx *context = nullptr;
    bool good = !LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION));
    size_t made = 0, at = 0, len = 0;
    while (good && made < room) {
        if (at == len) at = 0, len = fread(bytes, 1, sizeof bytes, file);
        if (!len) break;
        size_t taken = len - at, some = room - made;
        good = !LZ4F_isError(LZ4F_decompress(context, into + made, &some, bytes + at, &taken,
                                             nullptr));
        at += taken;
        made += some;
    }
    LZ4F_freeDecompressionContext(context);
    return good ? (int64_t)made : -1;
}

// All of it but a character that is cut off.
static char *decode(Arena *arena, SbEncoding encoding, const char *bytes, int64_t *len) {
    int64_t room = *len * 4 + SB_SLACK, used;
    char *text = arena_alloc(arena, (size_t)room, 16);
    SbDecoder decoder = {.encoding = encoding};
    *len = sb_decode(&decoder, (SbStr){bytes, *len}, *len < PEEK_BYTES, text, room, &used);
    return text;
}

bool peek_file(Arena *arena, Text path, SbEncoding encoding, Text *text, TextBuf *error) {
    const char *name = text_c(arena, path);
    char *bytes = arena_alloc(arena, PEEK_BYTES + SB_SLACK, 16);
    FILE *file = fopen(name, "rb");
    if (!file) {
        text_buf_format(error, "%s cannot be read: %s", name, strerror(errno));
        return false;
    }
    errno = 0;
    int64_t len = text_ends(path, ".gz")    ? read_gzip(name, bytes, PEEK_BYTES)
                  : text_ends(path, ".zst") ? read_zstd(file, bytes, PEEK_BYTES)
                  : text_ends(path, ".lz4") ? read_lz4(file, bytes, PEEK_BYTES)
                                            : (int64_t)fread(bytes, 1, PEEK_BYTES, file);
    bool good = len >= 0 && !ferror(file);
    if (!good)
        text_buf_format(error, "%s cannot be read: %s", name,
                        errno ? strerror(errno) : "it is damaged");
    fclose(file);
    bool more = len == PEEK_BYTES;
    if (good && encoding != SB_ENCODING_UTF8) bytes = decode(arena, encoding, bytes, &len);
    *text = (Text){bytes, good ? (size_t)len : 0};
    if (more && memchr(bytes, '\n', text->len))  // Else it is one line, as an array of JSON may be.
        while (bytes[text->len - 1] != '\n') text->len--;
    return good;
}
