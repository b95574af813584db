// Sinks: their rows as text in memory, published as files when the whole job has succeeded.
#include "codegen/reference/format.h"

#include <dirent.h>
#include <errno.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { PART_BYTES = 256 << 20 };

// A file to be: a sink has one, or as many as its parts.
typedef struct Part {
    TextBuf text;
    int64_t lines;
} Part;

typedef struct Sink {
    Text   path;
    Part  *parts;
    size_t part_count, part_cap;
    int64_t part_bytes, rows;
} Sink;

static bool is_folder_path(Text path) { return path.len && path.at[path.len - 1] == '/'; }

static Sink *sink_of(Job *job, Node *node) {
    if (node->state) return node->state;
    const SinkOp *op = &node->op->sink;
    Sink *sink = node->state = arena_new_of(job->arena, Sink);
    Value value;
    sink->part_bytes = PART_BYTES;
    if (job_setting(job, op->path, &value)) sink->path = value.text;
    if (!expr_is_none(op->options.bytes) && job_setting(job, op->options.bytes, &value))
        sink->part_bytes = value.i;
    return sink;
}

static Part *part_new(Job *job, const Node *node, Sink *sink) {
    Part part = {0};
    const FormatReference *format = format_reference(node->op->sink.format);
    if (format->header) format->header(&part.text, node->op);
    arena_push(job->arena, sink->parts, sink->part_count, sink->part_cap, part);
    return &sink->parts[sink->part_count - 1];
}

// A part ends after a line: a text with line breaks is several of them, and may end up in two.
static void add_line(Job *job, const Node *node, Sink *sink, Text line) {
    Part *part = &sink->parts[sink->part_count - 1];
    size_t front = format_reference(node->op->sink.format)->finish_bytes;
    bool full = part->lines && (int64_t)(part->text.len + front) >= sink->part_bytes;
    if (full && is_folder_path(sink->path)) part = part_new(job, node, sink);
    text_buf_add(&part->text, line);
    part->lines++;
}

static void add_lines(Job *job, const Node *node, Sink *sink, Text lines) {
    const char *end = lines.at + lines.len;
    while (lines.at < end) {
        const char *brk = memchr(lines.at, '\n', (size_t)(end - lines.at));
        size_t len = (size_t)((brk ? brk + 1 : end) - lines.at);
        add_line(job, node, sink, (Text){lines.at, len});
        lines.at += len;
    }
}

void sink_run(Job *job, Node *node) {
    Sink *sink = sink_of(job, node);
    part_new(job, node, sink);
    for (Row *row; !job->exit_code && (row = node_take(job, node, 0));) {
        TextBuf line = {0};
        int32_t status;
        if (!line_print(job, node->op, row, &line, &status)) {
            reject_row(job, node, row, status);
            text_buf_free(&line);
            continue;
        }
        if (format_reference(node->op->sink.format)->cuts_rows)
            add_lines(job, node, sink, text_buf_view(&line));
        else add_line(job, node, sink, text_buf_view(&line));
        text_buf_free(&line);
        sink->rows++;
        node->counts.on++;
    }
}

// ---- before anything runs ---------------------------------------------------------------------

static bool folder_has_files(const char *path) {
    DIR *dir = opendir(path);
    bool found = false;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        found |= strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir) closedir(dir);
    return found;
}

static void check_path(Job *job, Text path) {
    const char *name = text_c(job->arena, path);
    struct stat st;
    bool there = stat(name, &st) == 0;
    if (!there && text_is_url(path))
        job_fail(job, JOB_URL, "URLs are not in this version: '%s'", name);
    if (text_is(path, "-") || job->options.overwrite || !there) return;
    if (!S_ISDIR(st.st_mode)) job_fail(job, JOB_OUTPUT_EXISTS, "'%s' exists", name);
    else if (folder_has_files(name))
        job_fail(job, JOB_OUTPUT_EXISTS, "the folder '%s' is not empty", name);
}

static bool is_packed(Text path) {
    return file_ends(path, ".gz") || file_ends(path, ".zst") || file_ends(path, ".lz4");
}

// A header that is written last wants a file whose front can be written then.
static void check_header(Job *job, const Op *op, Text path) {
    bool stream = text_is(path, "-");
    if (!format_reference(op->sink.format)->finish || (!stream && !is_packed(path))) return;
    Text step = job->graph->steps[op->step.i].label;
    job_fail(job, JOB_OUTPUT_HEADER,
             "'%.*s' is %s: %.*s has the number of rows in its header, which is known after them",
             TEXT_ARG(path), stream ? "a stream" : "compressed", TEXT_ARG(step));
}

// The path of the rejects file; at null: there is none.
static Text rejects_path(Job *job) {
    Value value = {0};
    if (job->options.rejects.at) return job->options.rejects;
    if (!job->graph->rejects.present || expr_is_none(job->graph->rejects.path)) return (Text){0};
    job_setting(job, job->graph->rejects.path, &value);
    return value.text;
}

void sinks_check(Job *job) {
    Text *paths = arena_new_array(job->arena, Text, job->graph->op_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < job->graph->op_count; i++) {
        Node *node = &job->nodes[i];
        if (node->op->kind != OP_SINK) continue;
        paths[count] = sink_of(job, node)->path;
        check_header(job, node->op, paths[count]);
        check_path(job, paths[count++]);
    }
    Text rejects = rejects_path(job);
    if (rejects.at) {
        paths[count] = rejects;
        check_path(job, paths[count++]);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (text_eq(paths[i], paths[k]))
                job_fail(job, JOB_SAME_PATH, "'%.*s' is written twice", TEXT_ARG(paths[i]));
        }
    }
}

// ---- publishing -------------------------------------------------------------------------------

static bool make_parents(Job *job, const char *path) {
    char *copy = strdup(path);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            job_fail(job, JOB_WRITE, "cannot make folder '%s': %s", copy, strerror(errno));
        *slash = '/';
    }
    free(copy);
    return !job->exit_code;
}

static void gzip(Text text, TextBuf *out) {
    z_stream stream = {.next_in = (Bytef *)text.at, .avail_in = (uInt)text.len};
    char room[1 << 14];
    deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    do {
        stream.next_out = (Bytef *)room;
        stream.avail_out = sizeof room;
        deflate(&stream, Z_FINISH);
        text_buf_add(out, (Text){room, sizeof room - stream.avail_out});
    } while (!stream.avail_out);
    deflateEnd(&stream);
}

// What goes into the file: packed as its name says.
static void pack(Text path, Text text, TextBuf *out) {
    bool zstd = file_ends(path, ".zst"), lz4 = file_ends(path, ".lz4");
    if (file_ends(path, ".gz")) {
        gzip(text, out);
        return;
    }
    if (!zstd && !lz4) {
        text_buf_add(out, text);
        return;
    }
    size_t bound = zstd ? ZSTD_compressBound(text.len) : LZ4F_compressFrameBound(text.len, nullptr);
    char *room = malloc(bound);
    if (!room) abort();
    size_t len = zstd ? ZSTD_compress(room, bound, text.at, text.len, 3)
                      : LZ4F_compressFrame(room, bound, text.at, text.len, nullptr);
    text_buf_add(out, (Text){room, len});
    free(room);
}

// Writes under another name first: the file appears whole or not at all.
static void write_file(Job *job, Text path, Text text) {
    TextBuf packed = {0};
    pack(path, text, &packed);
    if (text_is(path, "-")) {
        fwrite(packed.at, 1, packed.len, stdout);
        fflush(stdout);  // A reader that left has had enough.
        text_buf_free(&packed);
        return;
    }
    const char *name = text_c(job->arena, path);
    Text temporary = text_format(job->arena, "%s.%d.tmp", name, (int)getpid());
    if (!make_parents(job, name)) return;
    FILE *file = fopen(temporary.at, "wb");
    bool good = file && fwrite(packed.at, 1, packed.len, file) == packed.len;
    if (file) good = fclose(file) == 0 && good;
    text_buf_free(&packed);
    if (good && rename(temporary.at, name) == 0) return;
    job_fail(job, JOB_WRITE, "cannot write '%s': %s", name, strerror(errno));
    remove(temporary.at);
}

// A folder that is written again keeps nothing of before.
static void clear_folder(Job *job, Text folder) {
    DIR *dir = opendir(text_c(job->arena, folder));
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        remove(text_format(job->arena, "%.*s%s", TEXT_ARG(folder), entry->d_name).at);
    }
    if (dir) closedir(dir);
}

static void note_written(Job *job, Text path, int64_t rows, int64_t bytes) {
    FileWritten written = {path, rows, bytes};
    arena_push(job->arena, job->writes, job->write_count, job->write_cap, written);
}

// The header that is known when the rows are.
static void finish_part(Job *job, const Op *op, Part *part) {
    TextBuf whole = {0};
    format_reference(op->sink.format)->finish(job, op, text_buf_view(&part->text), &whole);
    text_buf_add(&whole, text_buf_view(&part->text));
    text_buf_free(&part->text);
    part->text = whole;
}

static void publish(Job *job, Node *node) {
    Sink *sink = node->state;
    int64_t bytes = 0;
    bool folder = is_folder_path(sink->path);
    const FormatReference *format = format_reference(node->op->sink.format);
    if (folder) clear_folder(job, sink->path);
    for (size_t i = 0; i < sink->part_count && !job->exit_code; i++) {
        Part *part = &sink->parts[i];
        Text path = sink->path;
        if (folder)
            path = text_format(job->arena, "%.*spart-%05zu.%s", TEXT_ARG(sink->path), i,
                               format->extension);
        if (format->finish) finish_part(job, node->op, part);
        write_file(job, path, text_buf_view(&part->text));
        bytes += (int64_t)part->text.len;
    }
    note_written(job, sink->path, sink->rows, bytes);
}

void sinks_publish(Job *job) {
    for (size_t i = 0; i < job->graph->op_count; i++) {
        Node *node = &job->nodes[i];
        if (node->op->kind != OP_SINK) continue;
        if (!job->exit_code) publish(job, node);
        Sink *sink = node->state;
        for (size_t k = 0; sink && k < sink->part_count; k++) text_buf_free(&sink->parts[k].text);
    }
}

// A failed job publishes its rejects too.
void rejects_publish(Job *job) {
    Text path = rejects_path(job);
    TextBuf text = {0};
    if (!path.at) return;
    bool csv = job->options.rejects.at ? file_ends(path, ".csv")
                                       : format_info(job->graph->rejects.format)->records ==
                                             FORMAT_RECORDS_CSV;
    rejects_print(job, &text, csv);
    int exit_code = job->exit_code;
    job->exit_code = 0;
    write_file(job, path, text_buf_view(&text));
    if (!job->exit_code) note_written(job, path, (int64_t)job->reject_count, (int64_t)text.len);
    if (exit_code) job->exit_code = exit_code;
    text_buf_free(&text);
}
