#include "runtime/input/source.h"

#include "runtime/host.h"
#include "runtime/report.h"
#include "stdlib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { HEADER_BYTES = 64 * 1024, LINES_BYTES = 1 << 20 };

// ---- header ---------------------------------------------------------------------------------

typedef struct Header {
    SbStr   *names;   // Unquoted.
    uint32_t count;
    char    *text;    // What the names point into.
} Header;

static void header_close(Header *header) {
    free(header->names);
    free(header->text);
}

// What is wrong with a header's row; SB_OK: nothing.
static int32_t header_fault(const SbCsvDialect *dialect, const char *text, int64_t len) {
    const char quote = dialect->quote;
    for (int64_t at = 0; quote != 0 && at < len; at++) {
        bool open = text[at] == quote;
        for (at += open; open && at < len; at++) {
            if (text[at] != quote) continue;
            open = at + 1 < len && text[at + 1] == quote;
            at += open;
            if (!open && at + 1 < len && text[at + 1] != dialect->delimiter)
                return SB_FAULT_BAD_QUOTE;
        }
        if (open) return SB_FAULT_OPEN_QUOTE;
        while (at < len && text[at] != dialect->delimiter) at++;
    }
    return sb_utf8_valid(text, len) ? SB_OK : SB_FAULT_BAD_UTF8;
}

// Splits one row into names.
static bool header_split(Header *header, const SbCsvDialect *dialect, const char *text,
                         int64_t len) {
    header->text = malloc((size_t)len + 1);
    header->names = malloc(((size_t)len + 1) * sizeof *header->names);
    if (!header->text || !header->names) return false;
    char *out = header->text;
    for (int64_t at = 0;; at++) {
        char *begin = out;
        if (at < len && dialect->quote != 0 && text[at] == dialect->quote) {
            for (at++; at < len; *out++ = text[at++]) {
                if (text[at] != dialect->quote) continue;
                if (++at >= len || text[at] != dialect->quote) break;
            }
        }
        for (; at < len && text[at] != dialect->delimiter; at++) *out++ = text[at];
        header->names[header->count++] = (SbStr){begin, out - begin};
        if (at >= len) return true;
    }
}

static SbStr header_name(const void *self, uint32_t index) {
    return ((const Header *)self)->names[index];
}

// What to do about a column that the header lacks: the name that was meant, a delimiter, or else
// the names that are there.
static void fix_header(const Header *header, SbStr name, Trouble *trouble) {
    enum { NAMES_BYTES = 160 };
    SbStr near = nearest_name(name, header_name, header, header->count);
    for (uint32_t i = 0; i < header->count; i++) {
        SbStr other = header->names[i];
        bool same_letters = other.len == name.len &&
                            strncasecmp(other.ptr, name.ptr, (size_t)name.len) == 0;
        if (same_letters) near = other;
    }
    SbStr first = header->names[0];
    char found = 0;
    for (const char *d = ";\t|,"; header->count == 1 && !found && *d; d++)
        if (memchr(first.ptr, *d, (size_t)first.len)) found = *d;
    if (found) {
        trouble_fix(trouble, "the header is one field: give its delimiter = \"%s%c\"",
                    found == '\t' ? "\\" : "", found == '\t' ? 't' : found);
    } else if (near.len > 0) {
        trouble_fix(trouble, "did you mean '%.*s'? Names of columns must be the same",
                    (int)near.len, near.ptr);
    } else {
        Text names = {0};
        for (uint32_t i = 0; i < header->count; i++) {
            sb_text_str(&names, i ? ", " : "");
            sb_text_add(&names, header->names[i].ptr, header->names[i].len);
        }
        Text shown = {0};
        sb_text_add_short(&shown, names.ptr, names.len, NAMES_BYTES);
        trouble_fix(trouble, "take a name of the header: %.*s", (int)shown.len, shown.ptr);
        sb_text_close(&names);
        sb_text_close(&shown);
    }
}

static bool same(SbStr a, SbStr b) {
    return a.len == b.len && memcmp(a.ptr, b.ptr, (size_t)a.len) == 0;
}

static bool header_map(const Source *source, SourceFile *file, const Header *header,
                       Trouble *trouble) {
    const SbSource *what = source->what;
    for (uint32_t c = 0; c < what->column_count; c++) {
        SbStr name = what->columns[c].name;
        uint32_t found = UINT32_MAX;
        for (uint32_t f = 0; f < header->count; f++) {
            if (!same(header->names[f], name)) continue;
            if (found != UINT32_MAX) {
                trouble_set(trouble, TROUBLE_HEADER, "'%s' has two columns '%.*s'", file->path,
                            (int)name.len, name.ptr);
                trouble_fix(trouble, "rename one of them in the file's header");
                return false;
            }
            found = f;
        }
        if (found == UINT32_MAX) {
            trouble_set(trouble, TROUBLE_HEADER, "'%s' has no column '%.*s'", file->path,
                        (int)name.len, name.ptr);
            fix_header(header, name, trouble);
            return false;
        }
        file->fields[c] = found;
    }
    file->field_count = header->count;
    return true;
}

// The first row: blank and comment lines are skipped. -1: the text ends first.
static int64_t first_row(const Source *source, const char *text, int64_t at, int64_t len) {
    SbStr comment = source->what->comment;
    while (at < len) {
        bool blank = text[at] == '\n' || (text[at] == '\r' && at + 1 < len && text[at + 1] == '\n');
        bool skip = comment.len > 0 && at + comment.len <= len &&
                    memcmp(text + at, comment.ptr, (size_t)comment.len) == 0;
        if (!blank && !skip) return at;
        const char *end = memchr(text + at, '\n', (size_t)(len - at));
        at = end ? end + 1 - text : len;
    }
    return -1;
}

bool source_header_whole(const Source *source, const char *text, int64_t len) {
    if (source->what->format != SB_CSV || !source->what->header) return true;
    int64_t at = first_row(source, text, 0, len);
    return at >= 0 && sb_csv_row_end(text, at, at + 1, len, &source->dialect) >= 0;
}

static bool not_text(const SourceFile *file, const SbNotText *is, Trouble *trouble) {
    trouble_set(trouble, TROUBLE_NOT_TEXT, "'%s' is no text that can be read: %s", file->path,
                is->what);
    trouble_fix(trouble, "%s", is->fix);
    return false;
}

// What is wrong with the row, whose file ends with it when `last`.
static bool judge_header(const Source *source, const SourceFile *file, SbStr row, bool last,
                         Trouble *trouble) {
    int32_t fault = row.len > source->row_max ? SB_FAULT_ROW_TOO_LONG
                                              : header_fault(&source->dialect, row.ptr, row.len);
    const SbNotText *is = fault ? sb_not_text(row.ptr, row.len)
                          : last ? sb_cr_lines(row.ptr, row.len)
                                 : nullptr;
    if (is) return not_text(file, is, trouble);
    if (!fault) return true;
    trouble_set(trouble, TROUBLE_HEADER, "the header of '%s' is damaged: %s", file->path,
                fault_info(fault)->message);
    trouble_fix(trouble, "%s", fault == SB_FAULT_BAD_UTF8 ? fault_info(fault)->fix
                                                          : "correct the first row of the file");
    return false;
}

static bool read_names(const Source *source, SourceFile *file, SbStr row, Trouble *trouble) {
    Header header = {0};
    bool good = header_split(&header, &source->dialect, row.ptr, row.len);
    if (!good) trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory to read '%s'", file->path);
    good = good && header_map(source, file, &header, trouble);
    header_close(&header);
    const SbNotText *is = good ? nullptr : sb_cr_lines(row.ptr, row.len);
    if (is && trouble->kind == TROUBLE_HEADER) {
        *trouble = (Trouble){0};
        not_text(file, is, trouble);
    }
    return good;
}

bool source_header(Source *source, SourceFile *file, const char *text, int64_t len,
                   Trouble *trouble) {
    const SbSource *what = source->what;
    const SbNotText *is = sb_never_text(text, len);
    file->opened = true;
    if (is) return not_text(file, is, trouble);
    int64_t at = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    file->begin = at;
    if (what->format != SB_CSV) return true;
    free(file->fields);  // A file that is read twice has its header read twice.
    file->fields = calloc(what->column_count + 1, sizeof *file->fields);
    if (!file->fields)
        return trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory to read '%s'", file->path);
    if (!what->header) {
        for (uint32_t c = 0; c < what->column_count; c++) file->fields[c] = c;
        file->field_count = what->column_count;
        return true;
    }
    at = first_row(source, text, at, len);
    if (at < 0) {
        trouble_set(trouble, TROUBLE_HEADER, "'%s' is empty: it has no header", file->path);
        return trouble_fix(trouble, "give a file with a header, or leave this one out"), false;
    }
    int64_t next = sb_csv_row_end(text, at, at + 1, len, &source->dialect);
    int64_t end = next < 0 ? len : next;
    file->begin = end;
    file->begin_lines = sb_lines_count(text, end);
    if (end > at && text[end - 1] == '\n') end--;
    if (end > at && text[end - 1] == '\r') end--;
    SbStr row = {text + at, end - at};
    return judge_header(source, file, row, next < 0, trouble) &&
           read_names(source, file, row, trouble);
}

// ---- files ----------------------------------------------------------------------------------

ssize_t source_read(const SourceFile *file, char *to, int64_t len, int64_t offset) {
    Retry retry = {.path = file->path};
    ssize_t got;
    do got = failpoint_fails("header-read") ? -1 : pread(file->fd, to, (size_t)len, offset);
    while (got < 0 && retry_again(&retry));
    return got;
}

// Reads the front of a plain file until its header is whole, at most row_max bytes.
static bool read_header(Source *source, SourceFile *file, Trouble *trouble) {
    if (!source_file_open(file, trouble)) return false;
    int64_t want = HEADER_BYTES;
    bool good = false, again = true;
    while (again) {
        again = false;
        char *text = calloc(1, (size_t)want + SB_SLACK);
        ssize_t got = text ? source_read(file, text, want, 0) : 0;
        if (!text) {
            trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory to read '%s'", file->path);
        } else if (got < 0) {
            retry_fail(trouble, errno, TROUBLE_READ_SOURCE, "read", file->path);
        } else {
            bool whole = got < want || source_header_whole(source, text, got);
            again = !whole && want < source->row_max;
            if (!again) good = source_header(source, file, text, got, trouble);
            want *= 8;
        }
        free(text);
    }
    source_file_shut(file);
    return good;
}

static bool add_file(Source *source, SourceFile *file, const char *path, Trouble *trouble) {
    *file = (SourceFile){.path = path, .fd = -1};
    bool standard = strcmp(path, "-") == 0;
    if (!standard && stat(path, &file->about) != 0) {
        return trouble_set(trouble, TROUBLE_OPEN_SOURCE, "cannot open '%s': %s", path,
                           strerror(errno));
    }
    if (S_ISDIR(file->about.st_mode)) {
        return trouble_set(trouble, TROUBLE_OPEN_SOURCE, "'%s' is a folder", path);
    }
    file->stream = standard || !S_ISREG(file->about.st_mode) ||
                   compression_of(path) != COMPRESSION_NONE;
    file->size = file->stream ? 0 : file->about.st_size;
    if (!source->is_text || (file->stream && standard)) return true;
    if (!file->stream) return read_header(source, file, trouble);
    if (access(path, R_OK) == 0) return true;
    return trouble_set(trouble, TROUBLE_OPEN_SOURCE, "cannot open '%s': %s", path, strerror(errno));
}

static bool list_files(Source *source, SbList paths, Trouble *trouble) {
    const SbStr *texts = paths.ptr;
    for (int64_t i = 0; i < paths.len; i++) {
        char *path = strndup(texts[i].ptr, (size_t)texts[i].len);
        if (!path) return trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory for a path");
        bool good = glob_add(&source->paths, path, trouble);
        free(path);
        if (!good) return false;
    }
    if (paths.len == 0) {
        return trouble_set(trouble, TROUBLE_NO_MATCH, "%.*s: the list of paths is empty",
                           (int)source->what->label.len, source->what->label.ptr);
    }
    glob_sort(&source->paths);
    return true;
}

bool source_open(Source *source, const SbSource *what, const SourceSetup *setup, Trouble *trouble) {
    source->what = what;
    source->row_max = setup->row_max > 0 ? setup->row_max : 16 << 20;
    source->range_count = setup->count;
    source->cancel_fd = setup->cancel_fd;
    // A row over row_max then always crosses the end of its range: see unit.c.
    source->unit_bytes = setup->partition < source->row_max ? setup->partition : source->row_max;
    source->is_text = what->format == SB_CSV || what->format == SB_JSONL || what->format == SB_TEXT;
    source->dialect = (SbCsvDialect){
        .delimiter = what->delimiter,
        .quote = what->quote,
        .blank_rows = true,
        .comment = what->comment,
    };
    if (what->format == SB_RANGE || what->format == SB_INLINE) return true;
    if (!list_files(source, setup->paths, trouble)) return false;
    source->files = calloc(source->paths.count, sizeof *source->files);
    if (!source->files)
        return trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory for the list of files");
    for (uint32_t i = 0; i < source->paths.count; i++) {
        source->file_count++;
        if (!add_file(source, &source->files[i], source->paths.paths[i], trouble)) return false;
    }
    return true;
}

void source_close(Source *source) {
    for (uint32_t i = 0; i < source->file_count; i++) {
        free(source->files[i].fields);
        if (source->files[i].fd >= 0) close(source->files[i].fd);
    }
    free(source->files);
    glob_close(&source->paths);
}

bool source_file_open(SourceFile *file, Trouble *trouble) {
    if (file->fd >= 0) return true;
    Retry retry = {.path = file->path};
    do file->fd = failpoint_fails("source-open") ? -1 : open(file->path, O_RDONLY | O_CLOEXEC);
    while (file->fd < 0 && retry_again(&retry));
    if (file->fd >= 0) return true;
    return trouble_set(trouble, TROUBLE_OPEN_SOURCE, "cannot open '%s': %s", file->path,
                       strerror(errno));
}

void source_file_shut(SourceFile *file) {
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
}

bool source_reads_again(const Source *source) {
    for (uint32_t i = 0; i < source->file_count; i++)
        if (strcmp(source->files[i].path, "-") == 0 || !S_ISREG(source->files[i].about.st_mode))
            return false;
    return true;
}

bool source_file_check(const SourceFile *file, Trouble *trouble) {
    if (strcmp(file->path, "-") == 0 || !S_ISREG(file->about.st_mode)) return true;
    struct stat now;
    if (stat(file->path, &now) == 0 && now.st_size == file->about.st_size &&
        now.st_ino == file->about.st_ino && now.st_mtim.tv_sec == file->about.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == file->about.st_mtim.tv_nsec) {
        return true;
    }
    return trouble_set(trouble, TROUBLE_SOURCE_CHANGED, "'%s' changed while the job read it",
                       file->path);
}

// Reads what is behind the bytes that are there.
static bool read_on(SourceLines *lines, Trouble *trouble) {
    const SourceFile *file = lines->file;
    if (!lines->bytes) lines->bytes = malloc(LINES_BYTES);
    if (!lines->bytes)
        return trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory to read '%s'", file->path);
    lines->begin += lines->len;
    lines->len = source_read(file, lines->bytes, LINES_BYTES, lines->begin);
    if (lines->len > 0) return true;
    lines->len = 0;
    return trouble_set(trouble, TROUBLE_SOURCE_CHANGED, "'%s' changed while the job read it",
                       file->path);
}

bool source_lines(SourceLines *lines, SourceFile *file, int64_t offset, int64_t *count,
                  Trouble *trouble) {
    if (lines->file && lines->file != file) source_file_shut(lines->file);
    if (!source_file_open(file, trouble)) return false;
    if (lines->file != file || lines->counted > offset) {
        lines->file = file;
        lines->begin = lines->len = lines->counted = lines->count = 0;
    }
    while (lines->counted < offset) {
        int64_t end = lines->begin + lines->len;
        if (lines->counted == end && !read_on(lines, trouble)) return false;
        end = lines->begin + lines->len;
        int64_t to = offset < end ? offset : end;
        lines->count += sb_lines_count(lines->bytes + (lines->counted - lines->begin),
                                       to - lines->counted);
        lines->counted = to;
    }
    *count = lines->count;
    return true;
}

void source_lines_close(SourceLines *lines) {
    if (lines->file) source_file_shut(lines->file);
    free(lines->bytes);
    *lines = (SourceLines){0};
}
