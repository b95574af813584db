// Source: loads the texts of a program and finds lines and columns in them.
#include "frontend/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

SourceSet *source_set_new(Arena *arena) {
    SourceSet *set = arena_new_of(arena, SourceSet);
    set->arena = arena;
    return set;
}

static void add_line(Arena *arena, SourceFile *file, size_t *cap, size_t begin) {
    file->lines = arena_grow(arena, file->lines, sizeof *file->lines, alignof(uint32_t), cap,
                             file->line_count + 1);
    file->lines[file->line_count++] = (uint32_t)begin;
}

// Lines end at "\n"; a "\r" before it belongs to the line end and is cut off by source_line.
static void index_lines(Arena *arena, SourceFile *file) {
    const char *at = file->text.at, *end = at + file->text.len;
    size_t cap = 0;
    add_line(arena, file, &cap, 0);
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))))
        add_line(arena, file, &cap, (size_t)(++at - file->text.at));
}

uint32_t source_add(SourceSet *set, Text path, Text text) {
    SourceFile file = {text_copy(set->arena, path), text_copy(set->arena, text), nullptr, 0};
    index_lines(set->arena, &file);
    arena_push(set->arena, set->files, set->file_count, set->file_cap, file);
    return (uint32_t)(set->file_count - 1);
}

// Reads until the end or until there is more than a source may hold. False: errno says why.
static bool read_all(int fd, TextBuf *buf) {
    char chunk[64 * 1024];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) return true;
        text_buf_add(buf, (Text){chunk, (size_t)got});
        if (buf->len > SOURCE_BYTES_MAX) {
            errno = EFBIG;
            return false;
        }
    }
}

bool source_load(SourceSet *set, Text path, uint32_t *file) {
    bool standard_input = text_is(path, "-");
    int fd = standard_input ? STDIN_FILENO : open(text_c(set->arena, path), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    TextBuf buf = {0};
    bool done = read_all(fd, &buf);
    int why = errno;
    if (!standard_input) close(fd);
    if (done) *file = source_add(set, standard_input ? TEXT("<stdin>") : path, text_buf_view(&buf));
    text_buf_free(&buf);
    errno = why;
    return done;
}

// The last line that begins at or before `offset`, from 0.
static uint32_t line_of(const SourceFile *file, uint32_t offset) {
    uint32_t low = 0, high = file->line_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (file->lines[middle] <= offset) low = middle;
        else high = middle;
    }
    return low;
}

Position source_position(const SourceSet *set, uint32_t file, uint32_t offset) {
    const SourceFile *source = &set->files[file];
    uint32_t line = line_of(source, offset), column = 1;
    uint32_t start = source->lines[line];
    // A byte order mark is no character of the program.
    if (start == 0 && text_starts(source->text, TEXT("\xef\xbb\xbf"))) start = 3;
    for (uint32_t i = start; i < offset && i < source->text.len; i++) {
        column += ((unsigned char)source->text.at[i] & 0xc0) != 0x80;
    }
    return (Position){line + 1, column};
}

Text source_line(const SourceSet *set, uint32_t file, uint32_t line) {
    const SourceFile *source = &set->files[file];
    uint32_t start = source->lines[line - 1];
    uint32_t end = line < source->line_count ? source->lines[line] - 1 : (uint32_t)source->text.len;
    if (end > start && source->text.at[end - 1] == '\r') end--;
    return (Text){source->text.at + start, end - start};
}
