// Files: the paths that a source names, and the text of a file, decompressed.
#include "codegen/reference/job.h"

#include "stdlib/text.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <iconv.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

// ---- paths ------------------------------------------------------------------------------------

typedef struct Paths {
    Arena *arena;
    Text  *items;
    size_t count, cap;
} Paths;

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

static Text joined(Arena *arena, Text folder, const char *name) {
    if (!folder.len) return text_of(text_c(arena, text_of(name)));
    const char *slash = folder.at[folder.len - 1] == '/' ? "" : "/";
    return text_format(arena, "%.*s%s%s", TEXT_ARG(folder), slash, name);
}

// Everything in `folder` that matches the rest of a pattern, part by part; `**` is any number of
// folders.
static void match(Paths *paths, Text folder, Text pattern) {
    const char *slash = memchr(pattern.at, '/', pattern.len);
    Text part = {pattern.at, slash ? (size_t)(slash - pattern.at) : pattern.len};
    Text rest = slash ? (Text){slash + 1, pattern.len - part.len - 1} : (Text){0};
    bool any_depth = text_is(part, "**");
    if (any_depth && slash) match(paths, folder, rest);
    const char *name = folder.len ? text_c(paths->arena, folder) : ".";
    const char *part_c = text_c(paths->arena, part);
    DIR *dir = opendir(name);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        bool hidden = entry->d_name[0] == '.';
        Text path = joined(paths->arena, folder, entry->d_name);
        const char *path_c = text_c(paths->arena, path);
        if (any_depth && slash) {
            if (!hidden && is_folder(path_c)) match(paths, path, pattern);
            continue;
        }
        if (fnmatch(any_depth ? "*" : part_c, entry->d_name, FNM_PERIOD) != 0) continue;
        if (slash && is_folder(path_c)) match(paths, path, rest);
        if (!slash && is_file(path_c))
            arena_push(paths->arena, paths->items, paths->count, paths->cap, path);
    }
    if (dir) closedir(dir);
}

static bool is_glob(Text path) {
    for (size_t i = 0; i < path.len; i++) {
        if (strchr("*?[", path.at[i])) return true;
    }
    return false;
}

static bool add_paths(Job *job, Paths *paths, Text path) {
    const char *name = text_c(job->arena, path);
    size_t before = paths->count;
    if (text_is(path, "-") || is_file(name)) {
        arena_push(paths->arena, paths->items, paths->count, paths->cap, path);
    } else if (is_folder(name)) {
        match(paths, path, TEXT("*"));
    } else if (is_glob(path)) {
        bool root = path.len && path.at[0] == '/';
        match(paths, root ? TEXT("/") : (Text){0}, (Text){path.at + root, path.len - root});
    }
    if (paths->count == before && text_is_url(path))
        job_fail(job, JOB_URL, "URLs are not in this version: '%s'", name);
    else if (paths->count == before && is_folder(name))
        job_fail(job, JOB_NO_MATCH, "the folder '%s' holds no files", name);
    else if (paths->count == before && !is_glob(path))
        job_fail(job, JOB_NO_MATCH, "cannot open '%s': %s", name, strerror(ENOENT));
    else if (paths->count == before) job_fail(job, JOB_NO_MATCH, "no file matches '%s'", name);
    return paths->count > before;
}

static int by_bytes(const void *a, const void *b) {
    return text_cmp(*(const Text *)a, *(const Text *)b);
}

bool paths_find(Job *job, const Type *type, const Value *value, Text **paths, size_t *count) {
    Paths found = {.arena = job->arena};
    bool list = type->kind == TYPE_LIST;
    for (uint32_t i = 0; i < (list ? value->item_count : 1); i++) {
        if (!add_paths(job, &found, list ? value->items[i].text : value->text)) return false;
    }
    if (found.count) qsort(found.items, found.count, sizeof *found.items, by_bytes);
    size_t kept = found.count > 0;
    for (size_t i = 1; i < found.count; i++) {
        if (!text_eq(found.items[i], found.items[kept - 1])) found.items[kept++] = found.items[i];
    }
    *paths = found.items;
    *count = kept;
    return true;
}

// ---- texts ------------------------------------------------------------------------------------

typedef struct Bytes {
    char  *at;
    size_t len, cap;
} Bytes;

// Room for `more` bytes after the end.
static char *bytes_room(Bytes *bytes, size_t more) {
    if (bytes->len + more > bytes->cap) {
        bytes->cap = (bytes->len + more) * 2;
        bytes->at = realloc(bytes->at, bytes->cap);
        if (!bytes->at) abort();
    }
    return bytes->at + bytes->len;
}

enum { CHUNK_BYTES = 1 << 16 };

static bool read_all(Job *job, Text path, Bytes *out) {
    bool is_stdin = text_is(path, "-");
    FILE *file = is_stdin ? stdin : fopen(text_c(job->arena, path), "rb");
    if (!file) {
        job_fail(job, JOB_OPEN_SOURCE, "cannot open '%.*s': %s", TEXT_ARG(path), strerror(errno));
        return false;
    }
    for (size_t got; (got = fread(bytes_room(out, CHUNK_BYTES), 1, CHUNK_BYTES, file)) > 0;)
        out->len += got;
    bool failed = ferror(file);
    int error = errno;
    if (!is_stdin) fclose(file);
    if (failed)
        job_fail(job, JOB_READ_SOURCE, "cannot read '%.*s': %s", TEXT_ARG(path), strerror(error));
    return !failed;
}

// Each returns how many input bytes were good; all of them when the stream is whole.
static size_t inflate_all(const Bytes *in, Bytes *out) {
    z_stream stream = {.next_in = (Bytef *)in->at, .avail_in = (uInt)in->len};
    int status = inflateInit2(&stream, 16 + MAX_WBITS);
    bool ended = in->len == 0;
    while (status == Z_OK || (status == Z_STREAM_END && stream.avail_in)) {
        if (status == Z_STREAM_END) inflateReset(&stream);  // Members follow each other.
        stream.next_out = (Bytef *)bytes_room(out, CHUNK_BYTES);
        stream.avail_out = CHUNK_BYTES;
        status = inflate(&stream, Z_NO_FLUSH);
        out->len += CHUNK_BYTES - stream.avail_out;
        ended = status == Z_STREAM_END;
        if (status == Z_BUF_ERROR) break;
    }
    size_t good = in->len - stream.avail_in;
    inflateEnd(&stream);
    return ended ? in->len : good == in->len && good ? good - 1 : good;
}

static size_t unzstd_all(const Bytes *in, Bytes *out) {
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer input = {in->at, in->len, 0};
    size_t left = 0;
    while (input.pos < input.size || left) {
        ZSTD_outBuffer output = {bytes_room(out, CHUNK_BYTES), CHUNK_BYTES, 0};
        size_t before = input.pos;
        left = ZSTD_decompressStream(stream, &output, &input);
        out->len += output.pos;
        if (ZSTD_isError(left) || (input.pos == before && !output.pos)) break;
    }
    ZSTD_freeDStream(stream);
    bool whole = input.pos == input.size && left == 0;
    return whole ? in->len : input.pos == in->len ? in->len - 1 : input.pos;
}

static size_t unlz4_all(const Bytes *in, Bytes *out) {
    LZ4F_dctx *context = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) return 0;
    size_t pos = 0, left = 0;
    while (pos < in->len || left) {
        size_t taken = in->len - pos, made = CHUNK_BYTES;
        char *room = bytes_room(out, CHUNK_BYTES);
        left = LZ4F_decompress(context, room, &made, in->at + pos, &taken, nullptr);
        if (LZ4F_isError(left)) break;
        pos += taken;
        out->len += made;
        if (!taken && !made) break;
    }
    LZ4F_freeDecompressionContext(context);
    bool whole = pos == in->len && left == 0;
    return whole ? in->len : pos == in->len ? in->len - 1 : pos;
}

bool file_ends(Text path, const char *suffix) {
    size_t len = strlen(suffix);
    return path.len >= len && memcmp(path.at + path.len - len, suffix, len) == 0;
}

bool file_is_packed(Text path) {
    return file_ends(path, ".gz") || file_ends(path, ".zst") || file_ends(path, ".lz4");
}

// Decoded by the C library: what it does not know is the byte FF, which no UTF-8 has.
static void decode_all(Job *job, SbStr encoding, const Bytes *in, Bytes *out) {
    const char *name = encoding.ptr;
    bool big = in->len >= 2 && memcmp(in->at, "\xfe\xff", 2) == 0;
    if (strcmp(name, "utf-16") == 0) name = big ? "UTF-16BE" : "UTF-16LE";
    iconv_t with = iconv_open("UTF-8", name);
    if (with == (iconv_t)-1) {
        job_fail(job, JOB_COMPRESSED, "the C library has no encoding '%s'", name);
        return;
    }
    size_t unit = strncasecmp(name, "utf-16", 6) == 0 ? 2 : 1, left = in->len;
    for (char *at = in->at; left;) {
        char *room = bytes_room(out, CHUNK_BYTES), *to = room;
        size_t free_bytes = CHUNK_BYTES - 8;
        size_t done = iconv(with, &at, &left, &to, &free_bytes);
        out->len += (size_t)(to - room);
        if (done != (size_t)-1 || errno == E2BIG) continue;
        if (left < unit) unit = left;
        *to = '\xff';
        out->len++;
        at += unit;
        left -= unit;
    }
    iconv_close(with);
}

bool file_bytes(Job *job, Text path, Text *bytes) {
    Bytes raw = {0};
    bool good = read_all(job, path, &raw);
    char *copy = arena_alloc(job->arena, raw.len + 1, 1);
    if (raw.len) memcpy(copy, raw.at, raw.len);
    *bytes = (Text){copy, raw.len};
    free(raw.at);
    return good;
}

bool file_load(Job *job, Text path, Text encoding, Text *text) {
    Bytes raw = {0}, plain = {0};
    if (!read_all(job, path, &raw)) return false;
    size_t good = raw.len;
    bool packed = file_is_packed(path);
    if (file_ends(path, ".gz")) good = inflate_all(&raw, &plain);
    if (file_ends(path, ".zst")) good = unzstd_all(&raw, &plain);
    if (file_ends(path, ".lz4")) good = unlz4_all(&raw, &plain);
    if (good < raw.len)
        job_fail(job, JOB_COMPRESSED, "'%.*s' is cut short or damaged at byte %zu",
                 TEXT_ARG(path), good);
    Bytes decoded = {0};
    const Bytes *bytes = packed ? &plain : &raw;
    SbEncoding from = encoding.len ? sb_encoding_of((SbStr){encoding.at, (int64_t)encoding.len})
                                   : SB_ENCODING_UTF8;
    if (from != SB_ENCODING_UTF8) {
        decode_all(job, sb_encoding_name(from), bytes, &decoded);
        bytes = &decoded;
    }
    // Strings may be read beyond their end.
    char *copy = arena_alloc(job->arena, bytes->len + SB_SLACK, 1);
    if (bytes->len) memcpy(copy, bytes->at, bytes->len);
    *text = (Text){copy, bytes->len};
    free(raw.at);
    free(plain.at);
    free(decoded.at);
    return good == raw.len;
}
