#include "runtime/output/append.h"

#include "runtime/compression.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool append_check_folder(const Sink *sink, Trouble *trouble) {
    if (!sink->append || !sink->folder) return true;
    trouble_set(trouble, TROUBLE_APPEND_PATH, "'%s' is a folder of parts, to which nothing is "
                "appended", sink->path);
    trouble_fix(trouble, "name a file, or give each run a folder of its own");
    return false;
}

// ---- the text of a base -------------------------------------------------------------------------

enum { BLOCK_BYTES = 1 << 18, SHOWN_MAX = 200 };

typedef struct BaseText {
    char   *front;      // Its first bytes; from malloc.
    int64_t len, room;  // Of these, and of those that are wanted.
    bool    whole;      // A compressed file is read to its end.
    bool    any;        // There is text.
    char    last;       // The last byte that was read.
} BaseText;

static void take_text(BaseText *text, const char *bytes, int64_t len) {
    int64_t some = text->room - text->len < len ? text->room - text->len : len;
    memcpy(text->front + text->len, bytes, (size_t)some);
    text->len += some;
    text->any = true;
    text->last = bytes[len - 1];
}

static bool read_packed(BaseText *text, const char *path, Trouble *trouble) {
    char *block = malloc(BLOCK_BYTES);
    if (!block) return trouble_no_memory(trouble, "to read '%s'", path);
    Stream *stream = stream_open(path, SB_ENCODING_UTF8, -1, trouble);
    int64_t got = stream ? 1 : -1;
    while (got > 0 && (text->whole || text->len < text->room)) {
        got = stream_read(stream, block, BLOCK_BYTES, trouble);
        if (got > 0) take_text(text, block, got);
    }
    if (stream) stream_close(stream);
    free(block);
    return got >= 0;
}

static bool read_plain(BaseText *text, const char *path, Trouble *trouble) {
    text->len = durable_front(path, text->front, text->room);
    text->any = text->len > 0;
    return text->len >= 0 || trouble_set(trouble, TROUBLE_OUTPUT_PATH, "cannot read '%s': %s",
                                         path, strerror(errno));
}

// ---- its header ---------------------------------------------------------------------------------

static int64_t line_len(const char *bytes, int64_t len) {
    const char *end = len > 0 ? memchr(bytes, '\n', (size_t)len) : nullptr;
    if (!end) return len;
    return end > bytes && end[-1] == '\r' ? end - 1 - bytes : end - bytes;
}

// Of a longer line no more is shown than the front.
static bool other_header(const char *path, SbStr has, SbStr wants, Trouble *trouble) {
    return trouble_set(trouble, TROUBLE_APPEND_HEADER,
                       "'%s' begins with '%.*s', and the job writes rows of '%.*s'", path,
                       (int)line_len(has.ptr, has.len), has.ptr,
                       (int)line_len(wants.ptr, wants.len), wants.ptr);
}

// Does the text begin with the header? Its line may have another end, or none.
static bool has_header(SbStr text, SbStr header) {
    int64_t len = header.len - 1, rest = text.len - len;
    if (rest < 0 || memcmp(text.ptr, header.ptr, (size_t)len) != 0) return false;
    const char *end = text.ptr + len;
    return rest == 0 || *end == '\n' || (rest > 1 && memcmp(end, "\r\n", 2) == 0);
}

// A mark of UTF-8 may stand before it.
static bool check_header(const Sink *sink, const char *path, const BaseText *text,
                         Trouble *trouble) {
    static const char mark[] = "\xEF\xBB\xBF";
    enum { MARK = sizeof mark - 1 };
    SbStr header = sink->what->header;
    if (header.len == 0 || !text->any) return true;
    int skip = text->len >= MARK && memcmp(text->front, mark, MARK) == 0 ? MARK : 0;
    SbStr has = {text->front + skip, text->len - skip};
    return has_header(has, header) || other_header(path, has, header, trouble);
}

// Reads the file and looks at its header.
static bool look_at(const Sink *sink, const char *path, BaseText *text, Trouble *trouble) {
    text->room = sink->what->header.len + SHOWN_MAX;
    text->front = malloc((size_t)text->room);
    if (!text->front) return trouble_no_memory(trouble, "to read '%s'", path);
    bool good = sink->compression == COMPRESSION_NONE ? read_plain(text, path, trouble)
                                                      : read_packed(text, path, trouble);
    good = good && check_header(sink, path, text, trouble);
    free(text->front);
    return good;
}

// Is it a plain file, or none?
static bool check_kind(const char *path, bool *is, Trouble *trouble) {
    struct stat about;
    *is = lstat(path, &about) == 0;
    if (!*is || S_ISREG(about.st_mode)) return true;
    bool link = S_ISLNK(about.st_mode);
    trouble_set(trouble, TROUBLE_APPEND_PATH, "'%s' is %s", path,
                link ? "a link, which the job would replace by a file" : "no file");
    if (link) trouble_fix(trouble, "give the path of the file that the link leads to");
    return false;
}

bool append_check(const Sink *sink, const char *path, Trouble *trouble) {
    BaseText text = {0};
    bool is;
    return check_kind(path, &is, trouble) && (!is || look_at(sink, path, &text, trouble));
}

// ---- beginning with it --------------------------------------------------------------------------

// Ends the last line of the base, if it has no end.
static bool end_line(Sink *sink, const SinkPart *part, char last, Trouble *trouble) {
    if (last == '\n') return true;
    if (sink->compression == COMPRESSION_NONE)
        return durable_write(&part->file, "\n", 1, sink->offset++, trouble);
    sink->chunk[sink->chunk_len++] = '\n';
    return true;
}

bool append_begin(Sink *sink, SinkPart *part, Trouble *trouble) {
    BaseText text = {.whole = true};
    const char *path = part->file.path;
    bool is;
    if (!check_kind(path, &is, trouble) || !durable_copy_base(&part->file, trouble)) return false;
    failpoint("base-copied");
    int64_t size = part->file.base.size;
    if (size == 0) return true;
    // A file that changes after the copy was made is refused in the end.
    if (!look_at(sink, path, &text, trouble)) return false;
    bool plain = sink->compression == COMPRESSION_NONE;
    if (plain && durable_read(&part->file, &text.last, 1, size - 1, trouble) < 0) return false;
    sink->offset = size;
    part->has_text = text.any;
    return !text.any || end_line(sink, part, text.last, trouble);
}
