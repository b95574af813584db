#include "runtime/input/source.h"

#include "runtime/host.h"
#include "runtime/report.h"
#include "stdlib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_BYTES = 64 * 1024, LINES_BYTES = 1 << 20 };

// ---- header ---------------------------------------------------------------------------------

bool source_header_whole(const Source *source, SbStr front) {
    const SbReader *reader = source->what->reader;
    return !reader->header_whole || reader->header_whole(source, front);
}

bool source_not_text(const SourceFile *file, const SbNotText *is, Trouble *trouble) {
    trouble_set(trouble, TROUBLE_NOT_TEXT, "'%s' is no text that can be read: %s", file->path,
                is->what);
    trouble_fix(trouble, "%s", is->fix);
    return false;
}

bool source_file_fields(SourceFile *file, uint32_t len, Trouble *trouble) {
    free(file->fields);  // A file that is read twice has its header read twice.
    file->fields = calloc(len + 1, sizeof *file->fields);
    file->fields_len = len;
    return file->fields || trouble_no_memory(trouble, "for a header");
}

bool source_header(Source *source, SourceFile *file, SbStr front, Trouble *trouble) {
    const SbReader *reader = source->what->reader;
    const SbNotText *is = reader->lines ? sb_never_text(front.ptr, front.len) : nullptr;
    file->opened = true;
    if (is) return source_not_text(file, is, trouble);
    file->begin = file->begin_lines = 0;
    return reader->header(source, file, front, trouble);
}

int64_t source_mark_bytes(SbStr front) {
    return front.len >= 3 && memcmp(front.ptr, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

// ---- files ----------------------------------------------------------------------------------

static void open_once(SourceFile *file) {
    if (file->fd < 0)
        file->fd = failpoint_fails("source-open") ? -1 : open(file->path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_once(const SourceFile *file, char *to, int64_t len, int64_t offset) {
    return failpoint_fails("header-read") ? -1 : pread(file->fd, to, (size_t)len, offset);
}

ssize_t source_read_once(SourceFile *file, char *to, int64_t len, int64_t offset) {
    open_once(file);
    return file->fd < 0 ? -1 : read_once(file, to, len, offset);
}

ssize_t source_read(const SourceFile *file, char *to, int64_t len, int64_t offset) {
    Retry retry = {.path = file->path};
    ssize_t got;
    do got = read_once(file, to, len, offset);
    while (got < 0 && retry_again(&retry));
    return got;
}

static bool is_whole(const Source *source, const SourceFile *file, Trouble *trouble) {
    const SbReader *reader = source->what->reader;
    return !reader->ends || reader->ends(source, file, file->size, trouble);
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
            bool whole = got < want || source_header_whole(source, (SbStr){text, got});
            again = !whole && want < source->row_max;
            if (!again)
                good = source_header(source, file, (SbStr){text, got}, trouble) &&
                       is_whole(source, file, trouble);
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
                   compression_of(path) != COMPRESSION_NONE ||
                   source->what->encoding != SB_ENCODING_UTF8;
    file->size = file->stream ? 0 : file->about.st_size;
    if (!source->is_text || (file->stream && standard)) return true;
    if (!file->stream) return read_header(source, file, trouble);
    if (access(path, R_OK) == 0) return true;
    return trouble_set(trouble, TROUBLE_OPEN_SOURCE, "cannot open '%s': %s", path, strerror(errno));
}

// Do the keys in the path fit, and may rows of the file pass the filters?
static bool judge_path(const Source *source, const SourceSetup *setup, const char *path,
                       bool *opens, Trouble *trouble) {
    SbSetup *ask = setup->ask;
    const SbSource *what = source->what;
    ask->asked = (int32_t)source->number;
    ask->asked_path = (SbStr){path, (int64_t)strlen(path)};
    ask->verdict = SB_PATH_BAD;
    setup->job->setup(ask);
    ask->asked = -1;
    *opens = ask->verdict != SB_PATH_REFUSED;
    if (ask->verdict != SB_PATH_BAD) return true;
    SbStr key = what->keys[ask->asked_key].name, detail = ask->call->detail;
    return trouble_set(trouble, TROUBLE_PATH_KEY, "'%s': the key '%.*s' does not fit its type: "
                       "'%.*s'", path, (int)key.len, key.ptr, (int)detail.len,
                       detail.ptr ? detail.ptr : "");
}

// Leaves out files whose keys the filters refuse.
static bool judge_paths(Source *source, const SourceSetup *setup, Trouble *trouble) {
    PathList *list = &source->paths;
    uint32_t kept = 0, count = list->count;
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        bool opens = true;
        good = good && judge_path(source, setup, list->paths[i], &opens, trouble);
        if (opens) list->paths[kept++] = list->paths[i];
        else free(list->paths[i]);
    }
    list->count = kept;
    return good;
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

void source_set(Source *source, const SbSource *what, const SourceSetup *setup) {
    source->what = what;
    source->row_max = setup->row_max > 0 ? setup->row_max : 16 << 20;
    source->range_count = setup->count;
    source->cancel_fd = setup->cancel_fd;
    // A row over row_max then always crosses the end of its range: see unit.c.
    source->unit_bytes = setup->partition < source->row_max ? setup->partition : source->row_max;
    source->is_text = what->reader && what->reader->row_end;
    source->dialect = (SbCsvDialect){
        .delimiter = what->delimiter,
        .quote = what->quote,
        .blank_rows = true,
        .comment = what->comment,
    };
}

bool source_open(Source *source, const SbSource *what, const SourceSetup *setup, Trouble *trouble) {
    source_set(source, what, setup);
    if (!what->reader) return true;
    if (!list_files(source, setup->paths, trouble)) return false;
    if (what->key_count > 0 && !judge_paths(source, setup, trouble)) return false;
    source->files = calloc((size_t)source->paths.count + 1, sizeof *source->files);
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
    do open_once(file);
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

// Reads what is after the bytes that are there.
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
