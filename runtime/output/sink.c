#define _GNU_SOURCE
#include "runtime/output/sink.h"

#include "runtime/compression.h"
#include "runtime/host.h"
#include "runtime/input.h"
#include "runtime/output/append.h"
#include "runtime/output/manifest.h"
#include "runtime/output/names.h"
#include "runtime/output/sink_mark.h"
#include "runtime/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- opening --------------------------------------------------------------------------------

static bool no_memory(const Sink *sink, Trouble *trouble) {
    return trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory to write '%s'", sink->path);
}

// The temporary file beside it has a longer name; so has the manifest of a job with a journal.
static bool check_name(const Sink *sink, const char *path, Trouble *trouble) {
    enum { SHOWN_MAX = 40 };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int64_t len = (int64_t)strlen(name), most = NAME_MAX - 2 - DURABLE_TAG;
    if (sink->journaled) most -= (int64_t)strlen(MANIFEST_ENDING);
    if (len <= most) return true;
    trouble_set(trouble, TROUBLE_OUTPUT_PATH, "the name '%.*s...' of an output has %lld bytes",
                (int)sb_text_cut(name, len, SHOWN_MAX), name, (long long)len);
    trouble_fix(trouble, "give a name of at most %lld bytes", (long long)most);
    return false;
}

// The name that the part will have; from malloc.
static char *part_path(const Sink *sink, const SinkPart *part) {
    char *path = nullptr;
    const char *front = sink->front ? sink->front : sink->path, *key = part->key ? part->key : "";
    int len = sink->folder ? asprintf(&path, "%s%spart-%05u.%s", front, key, part->number,
                                      sink->what->writer->extension)
                           : asprintf(&path, "%s%s", front, key);
    return len < 0 ? nullptr : path;
}

static SinkPart *last_part(const Sink *sink) {
    return sink->part_count ? sink->parts[sink->part_count - 1] : nullptr;
}

static bool has_key(const SinkPart *part, SbStr key) {
    if (!part->key) return true;
    return strlen(part->key) == (size_t)key.len && memcmp(part->key, key.ptr, (size_t)key.len) == 0;
}

static SinkPart *new_part(Sink *sink, SbStr key) {
    if (sink->part_count == sink->part_cap) {
        uint32_t cap = sink->part_cap ? 2 * sink->part_cap : 4;
        SinkPart **parts = realloc(sink->parts, cap * sizeof(SinkPart *));
        if (!parts) return nullptr;
        sink->parts = parts;
        sink->part_cap = cap;
    }
    SinkPart *part = calloc(1, sizeof *part);
    if (!part) return nullptr;
    part->file.fd = -1;
    atomic_init(&part->pending, 1);
    part->key = sink->front ? strndup(key.ptr, (size_t)key.len) : nullptr;
    if (sink->front && !part->key) {
        free(part);
        return nullptr;
    }
    const SinkPart *before = last_part(sink);
    part->number = before && has_key(before, key) ? before->number + 1 : 0;
    sink->parts[sink->part_count++] = part;
    sink->offset = 0;
    return part;
}

static bool check_key_name(const Sink *sink, const char *path, Trouble *trouble) {
    if (!sink->replace && !sink->append && durable_is_there(path))
        return trouble_set(trouble, TROUBLE_OUTPUT_EXISTS, "'%s' exists", path);
    return check_name(sink, path, trouble) &&
           durable_check_name(path, sink->replace || sink->append, trouble);
}

bool sink_add_part(Sink *sink, SbStr key, bool makes, Trouble *trouble) {
    if (sink->front && sink->part_count >= sink->files_max)
        return trouble_set(trouble, TROUBLE_TOO_MANY_FILES, "'%s' makes more than %lld files: "
                           "'%s%.*s' is one more", sink->path, (long long)sink->files_max,
                           sink->front, (int)key.len, key.ptr);
    SinkPart *part = new_part(sink, key);
    char *path = part ? part_path(sink, part) : nullptr;
    if (!path) return no_memory(sink, trouble);
    DurableSetup setup = {.path = path, .replace = sink->replace, .tag = sink->tag};
    bool good = !sink->front || check_key_name(sink, path, trouble);
    good = good && (!sink->names || names_take(sink->names, path, sink, trouble));
    good = good && (makes ? durable_create(&part->file, &setup, trouble)
                          : durable_name(&part->file, &setup, trouble));
    free(path);
    if (!good || !makes || !sink->append) return good;
    return append_begin(sink, part, trouble) && (!sink->log || sink_log_base(sink, trouble));
}

// Is there a file in the folder that is not hidden?
static bool folder_holds_files(const char *path) {
    DIR *dir = opendir(path);
    bool found = false;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
        found = entry->d_name[0] != '.';
    if (dir) closedir(dir);
    return found;
}

static bool use_stream(Sink *sink) {
    struct stat is;
    bool known = fstat(sink->fd, &is) == 0;
    sink->waits = known && (S_ISFIFO(is.st_mode) || S_ISSOCK(is.st_mode) || isatty(sink->fd));
    return sink->to_stream = true;
}

// Is one of the folders on the way to it something else?
static bool check_way(const Sink *sink, Trouble *trouble) {
    struct stat is;
    char *way = strdup(sink->path);
    if (!way) return no_memory(sink, trouble);
    bool good = true;
    for (char *slash = way; good && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (stat(way, &is) == 0 && !S_ISDIR(is.st_mode))
            good = trouble_set(trouble, TROUBLE_OUTPUT_PATH, "'%s' is no folder", way);
        *slash = '/';
    }
    free(way);
    return good;
}

static bool check_place(Sink *sink, Trouble *trouble) {
    struct stat about;
    if (sink->front || stat(sink->path, &about) != 0) {
        if (!glob_is_url(sink->path)) return check_way(sink, trouble);
        return trouble_set(trouble, TROUBLE_URL, "URLs are not in this version: '%s'", sink->path);
    }
    bool is_folder = S_ISDIR(about.st_mode);
    if (sink->folder ? !is_folder : is_folder) {
        trouble_set(trouble, TROUBLE_OUTPUT_PATH, "'%s' is %s", sink->path,
                    is_folder ? "a folder" : "no folder");
        if (is_folder) trouble_fix(trouble, "end the path in / to write a folder of parts");
        return false;
    }
    if (!is_folder && !S_ISREG(about.st_mode)) {
        sink->fd = open(sink->path, O_WRONLY | O_CLOEXEC);
        if (sink->fd >= 0) return use_stream(sink);
        return trouble_set(trouble, TROUBLE_OUTPUT_PATH, "cannot open '%s': %s", sink->path,
                           strerror(errno));
    }
    if (sink->append) return append_check(sink, sink->path, trouble);
    if (sink->replace || (is_folder && !folder_holds_files(sink->path))) return true;
    return trouble_set(trouble, TROUBLE_OUTPUT_EXISTS,
                       is_folder ? "the folder '%s' is not empty" : "'%s' exists", sink->path);
}

// A header that is written last wants a file whose front can be written then.
static bool check_header(const Sink *sink, Trouble *trouble) {
    if (!writer_header_bytes(sink->what) || (!sink->to_stream && !sink->compression)) return true;
    return trouble_set(trouble, TROUBLE_OUTPUT_HEADER,
                       "'%s' is %s: %.*s has the number of rows in its header, which is known "
                       "after them", sink->path, sink->to_stream ? "a stream" : "compressed",
                       (int)sink->what->label.len, sink->what->label.ptr);
}

// The path, and what is in front of the key.
static bool take_path(Sink *sink, const SinkSetup *setup, Trouble *trouble) {
    SbStr shape = setup->what->shape;
    int len = (int)setup->path.len;
    const char *path = setup->path.ptr ? setup->path.ptr : "";
    if (asprintf(&sink->path, "%.*s%.*s", len, path, (int)shape.len,
                 shape.ptr ? shape.ptr : "") < 0) {
        sink->path = nullptr;
    }
    if (shape.len > 0) sink->front = strndup(path, (size_t)len);
    return (sink->path && (sink->front || shape.len == 0)) ||
           trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory for a path");
}

bool sink_check(Sink *sink, const SinkSetup *setup, Trouble *trouble) {
    *sink = (Sink){.what = setup->what, .append = setup->what->append,
                   .replace = setup->replace && !setup->what->append, .fd = -1,
                   .part_bytes = INT64_MAX, .files_max = setup->files_max,
                   .tag = setup->tag, .journaled = setup->journaled};
    if (!take_path(sink, setup, trouble)) return false;
    size_t len = strlen(sink->path);
    if (len == 0)
        return trouble_set(trouble, TROUBLE_OUTPUT_PATH, "the path of an output is empty");
    if (strcmp(sink->path, "-") == 0) {
        sink->fd = STDOUT_FILENO;
        return use_stream(sink) && check_header(sink, trouble);
    }
    sink->folder = sink->path[len - 1] == '/';
    sink->compression = compression_of(sink->path);
    if (sink->folder) sink->part_bytes = setup->part_bytes > 0 ? setup->part_bytes : 256 << 20;
    return append_check_folder(sink, trouble) &&
           (sink->front || check_name(sink, sink->path, trouble)) && check_place(sink, trouble) &&
           check_header(sink, trouble) &&
           (sink->to_stream || !sink->journaled || manifest_check(sink, trouble));
}

// The tag of a job that has only begun its journal was not known when the sink was checked.
bool sink_open(Sink *sink, const SinkSetup *setup, Trouble *trouble) {
    sink->tag = setup->tag;
    sink->names = setup->names;
    if (sink->compression != COMPRESSION_NONE &&
        !(sink->chunk = malloc(COMPRESS_CHUNK_BYTES)))
        return no_memory(sink, trouble);
    if (sink->to_stream) return true;
    if (setup->tag) return sink_log_open(sink, setup, trouble);
    return sink->front || sink_add_part(sink, (SbStr){0}, true, trouble);
}

// ---- writing --------------------------------------------------------------------------------

// So many of the bytes a pipe takes at once, whatever its reader does: it is empty, or a piece of
// it is free.
static int64_t room_of(const Sink *sink) {
    int held = 0, size = fcntl(sink->fd, F_GETPIPE_SZ);
    bool empty = size > 0 && ioctl(sink->fd, FIONREAD, &held) == 0 && held == 0;
    return empty ? size : PIPE_BUF;
}

static int64_t rows_within(const Sink *sink, SbStr rows, int64_t room) {
    return sink->what->writer->rows_within(sink->what, rows, room);
}

static int64_t row_end(const Sink *sink, SbStr rows, int64_t from) {
    return sink->what->writer->row_end(sink->what, rows, from);
}

// What the next call writes. A pipe is given whole rows, and no more than it takes without waiting:
// so a job that is to end while nobody reads stops after a row. *row_left: of a row that is longer
// than a pipe takes at once, what is to come. False: the job is to end.
static bool next_step(const Sink *sink, SbStr rest, int64_t *row_left, int64_t *step) {
    *step = rest.len;
    if (!sink->waits) return true;
    if (!retry_writable(sink->fd, *row_left > 0)) return false;
    int64_t room = room_of(sink);
    *step = *row_left > 0 ? 0 : rows_within(sink, rest, room);
    if (*step > 0) return true;
    if (*row_left == 0) *row_left = row_end(sink, rest, 1);
    *step = *row_left < room ? *row_left : room;
    return true;
}

static bool stop_stream(const Sink *sink, bool within_row, Trouble *trouble) {
    if (!within_row) return retry_fail(trouble, errno, TROUBLE_WRITE, "write", sink->path);
    return trouble_set(trouble, TROUBLE_INTERRUPTED,
                       "interrupted: '%s' ends within a row, of which its reader takes no more",
                       sink->path);
}

static bool write_stream(Sink *sink, const char *bytes, int64_t len, Trouble *trouble) {
    Retry retry = {.path = sink->path};
    int64_t row_left = 0, step;
    while (len > 0 && !sink->done) {
        if (!next_step(sink, (SbStr){bytes, len}, &row_left, &step))
            return stop_stream(sink, row_left > 0, trouble);
        ssize_t put = failpoint_fails("stream-write") ? -1 : write(sink->fd, bytes, (size_t)step);
        if (put < 0 && (errno == EAGAIN || retry_again(&retry))) continue;
        retry_done(&retry);
        if (put < 0 && errno == EPIPE) {
            sink->done = true;
            return true;
        }
        if (put < 0) {
            return retry_fail(trouble, errno, TROUBLE_WRITE, "write", sink->path);
        }
        if (row_left > 0) row_left -= put;
        else if (put < step) row_left = row_end(sink, (SbStr){bytes, len}, put) - put;
        sink->put += put;
        bytes += put;
        len -= put;
    }
    return true;
}

static bool add_extent(Sink *sink, const char *bytes, int64_t len, ExtentList *extents,
                       Trouble *trouble) {
    if (len == 0) return true;
    if (extents->count == extents->cap) {
        size_t cap = extents->cap ? 2 * extents->cap : 16;
        Extent *items = realloc(extents->items, cap * sizeof *items);
        if (!items) return no_memory(sink, trouble);
        extents->items = items;
        extents->cap = cap;
    }
    SinkPart *part = last_part(sink);
    atomic_fetch_add(&part->pending, 1);
    Extent *extent = &extents->items[extents->count++];
    *extent = (Extent){.part = part, .offset = sink->offset, .bytes = bytes, .len = len,
                       .sink = sink};
    if (sink->log) extent->number = sink_log_extent(sink);
    if (sink->log && bytes != part->header) sink_log_bytes(sink, bytes, len);
    sink->offset += len;
    return true;
}

// Compresses what waits in the chunk as one member and writes it.
static bool flush_chunk(Sink *sink, Trouble *trouble) {
    char *packed = nullptr;
    int64_t len = compress_member(sink->compression, sink->chunk, sink->chunk_len, &packed);
    if (len < 0) return no_memory(sink, trouble);
    sink->chunk_len = 0;
    if (sink->log) sink_log_bytes(sink, packed, len);
    bool good = sink->to_stream ? write_stream(sink, packed, len, trouble)
                                : durable_write(&last_part(sink)->file, packed,
                                                len, sink->offset, trouble);
    sink->offset += len;
    free(packed);
    return good;
}

static bool put(Sink *sink, const char *bytes, int64_t len, ExtentList *extents, Trouble *trouble) {
    if (sink->compression == COMPRESSION_NONE) {
        return sink->to_stream ? write_stream(sink, bytes, len, trouble)
                               : add_extent(sink, bytes, len, extents, trouble);
    }
    while (len > 0) {
        int64_t some = COMPRESS_CHUNK_BYTES - sink->chunk_len;
        if (some > len) some = len;
        memcpy(sink->chunk + sink->chunk_len, bytes, (size_t)some);
        sink->chunk_len += some;
        bytes += some;
        len -= some;
        if (sink->chunk_len == COMPRESS_CHUNK_BYTES && !flush_chunk(sink, trouble)) return false;
    }
    return true;
}

bool sink_part_release(SinkPart *part, Trouble *trouble) {
    if (atomic_fetch_sub(&part->pending, 1) > 1) return true;
    return durable_sync(&part->file, trouble);
}

// Nothing more comes to the last part.
static bool fill_part(Sink *sink, Trouble *trouble) {
    if (sink->log) sink_log_filled(sink);
    return sink_part_release(last_part(sink), trouble);
}

// The header of a part that is known now. Rows of the part may still be on their way to the disk.
static bool seal_part(Sink *sink, ExtentList *extents, Trouble *trouble) {
    int64_t offset = sink->offset, bytes = writer_header_bytes(sink->what);
    if (!bytes) return true;
    SinkPart *part = last_part(sink);
    part->header = malloc((size_t)bytes);
    if (!part->header) return no_memory(sink, trouble);
    sink->what->writer->finish(sink->what, offset - bytes, part->header);
    sink->offset = 0;
    bool good = add_extent(sink, part->header, bytes, extents, trouble);
    sink->offset = offset;
    return good;
}

static bool begin_part(Sink *sink, ExtentList *extents, Trouble *trouble) {
    sink->part_has_rows = false;
    if (sink->bytes > 0 && !sink->folder && !sink->front) return true;
    if (!sink->to_stream && last_part(sink)->has_text) return true;
    SbStr header = sink->what->header;
    int64_t last = writer_header_bytes(sink->what);
    __atomic_store_n(&sink->bytes, sink->bytes + header.len + last, __ATOMIC_RELAXED);
    sink->offset += last;
    return put(sink, header.ptr, header.len, extents, trouble);
}

bool sink_write(const Extent *extent, Trouble *trouble) {
    if (!durable_write(&extent->part->file, extent->bytes, extent->len, extent->offset, trouble) ||
        !sink_part_release(extent->part, trouble)) {
        return false;
    }
    extent->sink->put += extent->len;
    if (extent->sink->log) sink_log_written(extent->sink, extent->number);
    return true;
}

static bool write_all(ExtentList *extents, Trouble *trouble) {
    bool good = true;
    for (size_t i = 0; good && i < extents->count; i++)
        good = sink_write(&extents->items[i], trouble);
    extents->count = 0;
    return good;
}

static bool put_footer(Sink *sink, ExtentList *extents, Trouble *trouble) {
    SbStr footer = sink->what->writer->footer;
    __atomic_store_n(&sink->bytes, sink->bytes + footer.len, __ATOMIC_RELAXED);
    return footer.len == 0 || put(sink, footer.ptr, footer.len, extents, trouble);
}

// Text that waits for compression becomes a member. An output without any has an empty one.
static bool end_chunk(Sink *sink, Trouble *trouble) {
    bool any = sink->chunk_len > 0 || sink->offset == 0;
    return sink->compression == COMPRESSION_NONE || !any || flush_chunk(sink, trouble);
}

// The last part has all its rows. A part stays open until its last extent is written: of many small
// ones some are written here, so that few are open at once.
static bool end_part(Sink *sink, ExtentList *extents, Trouble *trouble) {
    enum { OPEN_MAX = 8 };
    return put_footer(sink, extents, trouble) && end_chunk(sink, trouble) &&
           seal_part(sink, extents, trouble) && fill_part(sink, trouble) &&
           (extents->count < OPEN_MAX || write_all(extents, trouble));
}

static bool next_part(Sink *sink, SbStr key, ExtentList *extents, Trouble *trouble) {
    return (!last_part(sink) || end_part(sink, extents, trouble)) &&
           sink_add_part(sink, key, true, trouble) && begin_part(sink, extents, trouble);
}

static bool not_one_row(const Sink *sink, const char *gets, Trouble *trouble) {
    const SinkPart *part = last_part(sink);
    return trouble_set(trouble, TROUBLE_ONE_ROW, "'%s' gets %s",
                       part ? part->file.path : sink->path, gets);
}

// Does a file of one row, which gets these, have one?
static bool fits_apart(const Sink *sink, SbStr rows, Trouble *trouble) {
    bool one = !sink->part_has_rows && row_end(sink, rows, 1) == rows.len;
    return !sink->what->apart || one || not_one_row(sink, "more than one row", trouble);
}

bool sink_take(Sink *sink, SinkRows rows, ExtentList *extents, Trouble *trouble) {
    const char *bytes = rows.bytes.ptr;
    int64_t len = rows.bytes.len;
    if (sink->bytes == 0 && !sink->front && !begin_part(sink, extents, trouble)) return false;
    sink->rows += rows.count;
    if (sink->log && !sink_log_rows(sink, &bytes, &len, trouble)) return false;
    while (len > 0) {
        const SinkPart *part = last_part(sink);
        bool full = sink->offset >= sink->part_bytes && sink->part_has_rows;
        bool other = sink->front && !(part && has_key(part, rows.key));
        if ((full || other) && !next_part(sink, rows.key, extents, trouble)) return false;
        if (!sink->part_has_rows) {
            bytes += sink->what->writer->between;
            len -= sink->what->writer->between;
        }
        int64_t room = sink->offset < sink->part_bytes ? sink->part_bytes - sink->offset : 1;
        int64_t some = room >= len ? len : row_end(sink, (SbStr){bytes, len}, room);
        if (!fits_apart(sink, (SbStr){bytes, some}, trouble) ||
            !put(sink, bytes, some, extents, trouble))
            return false;
        sink->part_has_rows = true;
        __atomic_store_n(&sink->bytes, sink->bytes + some, __ATOMIC_RELAXED);
        bytes += some;
        len -= some;
    }
    return true;
}

// ---- ending ---------------------------------------------------------------------------------

bool sink_finish(Sink *sink, Trouble *trouble) {
    ExtentList rest = {0};
    bool good = !sink->log || sink_log_whole(sink, trouble);
    bool none = sink->front && sink->part_count == 0;
    if (good && sink->what->apart && !none && !sink->part_has_rows)
        good = not_one_row(sink, "no row", trouble);
    good = good && (sink->bytes > 0 || none || begin_part(sink, &rest, trouble));
    if (good && sink->to_stream)
        good = put_footer(sink, &rest, trouble) && end_chunk(sink, trouble);
    else if (good && !none) good = end_part(sink, &rest, trouble);
    good = good && write_all(&rest, trouble);
    free(rest.items);
    sink->files = sink->part_count;
    bool rewritten = sink->log && writer_header_bytes(sink->what);
    return good && (!rewritten || sink_log_seal(sink, trouble));
}

int64_t sink_part_number(const char *name, const char *extension) {
    unsigned number;
    int end = 0;
    if (sscanf(name, "part-%5u%n", &number, &end) != 1 || end != 10) return -1;
    return name[end] == '.' && strcmp(name + end + 1, extension) == 0 ? (int64_t)number : -1;
}

void sink_remove_parts(const char *path, const char *extension, uint32_t count) {
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (sink_part_number(entry->d_name, extension) < count) continue;
        char *name = nullptr;
        if (asprintf(&name, "%s%s", path, entry->d_name) >= 0) {
            durable_remove(name);
            free(name);
        }
    }
    if (dir) closedir(dir);
}

bool sink_check_names(const Sink *sink, Trouble *trouble) {
    if (sink->to_stream) return true;
    for (uint32_t i = 0; i < sink->part_count; i++) {
        const DurableFile *file = &sink->parts[i]->file;
        if (file->base.appends ? !durable_check_base(file->path, &file->base, trouble)
                               : !durable_check_name(file->path, sink->replace, trouble))
            return false;
    }
    return !sink->journaled || manifest_check(sink, trouble);
}

bool sink_same_folder(const char *a, const char *b) {
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
    size_t first = x ? (size_t)(x - a) : 0, second = y ? (size_t)(y - b) : 0;
    return !x == !y && first == second && memcmp(a, b, first) == 0;
}

uint32_t sink_folder_end(const Sink *sink, uint32_t from) {
    uint32_t end = from + 1;
    while (end < sink->part_count &&
           sink_same_folder(sink->parts[from]->file.path, sink->parts[end]->file.path)) {
        end++;
    }
    return end;
}

bool sink_sync_folders(const Sink *sink, Trouble *trouble) {
    for (uint32_t i = 0; i < sink->part_count; i = sink_folder_end(sink, i))
        if (!durable_sync_folder_of(sink->parts[i]->file.path, trouble)) return false;
    return true;
}

// Those with higher numbers than the parts of their folder.
static bool remove_old_parts(const Sink *sink, Trouble *trouble) {
    for (uint32_t i = 0, end; i < sink->part_count; i = end) {
        end = sink_folder_end(sink, i);
        const char *path = sink->parts[i]->file.path;
        char *folder = strndup(path, (size_t)(strrchr(path, '/') + 1 - path));
        if (!folder) return no_memory(sink, trouble);
        sink_remove_parts(folder, sink->what->writer->extension, end - i);
        free(folder);
    }
    return true;
}

bool sink_publish(Sink *sink, Trouble *trouble) {
    if (sink->to_stream) return true;
    for (uint32_t i = 0; i < sink->part_count; i++) {
        if (!durable_publish(&sink->parts[i]->file, trouble)) return false;
    }
    if (sink->folder && sink->replace && !remove_old_parts(sink, trouble)) return false;
    return sink_sync_folders(sink, trouble);
}

void sink_forget(Sink *sink) {
    for (uint32_t i = 0; i < sink->part_count; i++) sink->parts[i]->file.keep = false;
}

void sink_close(Sink *sink) {
    sink_log_close(sink);
    for (uint32_t i = 0; i < sink->part_count; i++) {
        durable_close(&sink->parts[i]->file);
        free(sink->parts[i]->header);
        free(sink->parts[i]->key);
        free(sink->parts[i]);
    }
    if (sink->fd > STDERR_FILENO) close(sink->fd);
    free(sink->parts);
    free(sink->chunk);
    free(sink->path);
    free(sink->front);
    *sink = (Sink){.fd = -1};
}
