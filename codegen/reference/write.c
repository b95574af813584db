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

enum { PART_BYTES = 256 << 20, SHOWN_MAX = 200 };

// A file to be: a sink has one, or as many as its parts. By key it has those of each key.
typedef struct Part {
    Text    base;    // Appending: what the file has, which stands in front.
    bool    open;    // The last line of the base has no end.
    TextBuf text;
    int64_t lines;
    Text    path;
    Text    key;
    size_t  number;  // Among the parts of its key.
} Part;

typedef struct Sink {
    Text   path;     // By key as it is written, with braces.
    Text   front;    // By key: the path in front of the key.
    bool   by_key;
    Part  *parts;
    size_t part_count, part_cap;
    int64_t part_bytes, files_max, rows;
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
    sink->files_max = SINK_FILES_MAX;
    if (!expr_is_none(op->options.files) && job_setting(job, op->options.files, &value))
        sink->files_max = value.i;
    sink->by_key = !expr_is_none(op->key);
    sink->front = sink->path;
    sink->path = text_format(job->arena, "%.*s%.*s", TEXT_ARG(sink->path), TEXT_ARG(op->shape));
    return sink;
}

static Text part_path(Job *job, const Sink *sink, const Part *part, const char *extension) {
    Text path = text_format(job->arena, "%.*s%.*s", TEXT_ARG(sink->front), TEXT_ARG(part->key));
    if (!is_folder_path(sink->path)) return path;
    return text_format(job->arena, "%.*spart-%05zu.%s", TEXT_ARG(path), part->number, extension);
}

// ---- files that have rows already --------------------------------------------------------------

static Text without_mark(Text text) {
    bool marked = text_starts(text, TEXT("\xEF\xBB\xBF"));
    return marked ? (Text){text.at + 3, text.len - 3} : text;
}

static Text first_line(Text text) {
    size_t len = 0;
    while (len < text.len && text.at[len] != '\n') len++;
    if (len && len < text.len && text.at[len - 1] == '\r') len--;
    return (Text){text.at, len};
}

static bool begins_with(Text text, Text header) {
    Text bare = {header.at, header.len - 1}, crlf = {"\r\n", 2};
    if (!text_starts(text, bare)) return false;
    Text rest = {text.at + bare.len, text.len - bare.len};
    return !rest.len || rest.at[0] == '\n' || text_starts(rest, crlf);
}

// The text of the file that rows are appended to, and its bytes. False: there is none, or the job
// has failed.
static bool base_load(Job *job, Text path, Text header, Text *bytes, Text *text) {
    struct stat st;
    const char *name = text_c(job->arena, path);
    if (job->exit_code || text_is(path, "-") || lstat(name, &st) != 0) return false;
    if (!S_ISREG(st.st_mode)) job_fail(job, JOB_APPEND_PATH, "'%s' is no plain file", name);
    if (job->exit_code || !file_bytes(job, path, bytes) || !bytes->len) return false;
    if (!file_load(job, path, (Text){0}, text)) return false;
    size_t shown = text->len < header.len + SHOWN_MAX ? text->len : header.len + SHOWN_MAX;
    Text has = without_mark((Text){text->at, shown});
    if (header.len && text->len && !begins_with(without_mark(*text), header))
        job_fail(job, JOB_APPEND_HEADER,
                 "'%s' begins with '%.*s', and the job writes rows of '%.*s'", name,
                 TEXT_ARG(first_line(has)), TEXT_ARG(first_line(header)));
    return !job->exit_code;
}

static void base_check(Job *job, Text path, Text header) {
    Text bytes, text;
    if (!is_folder_path(path)) {
        base_load(job, path, header, &bytes, &text);
        return;
    }
    job_fail(job, JOB_APPEND_PATH, "'%.*s' is a folder of parts, to which nothing is appended",
             TEXT_ARG(path));
    job_fix(job, "name a file, or give each run a folder of its own");
}

// What the rows of a part stand after: the header, or the base.
static void part_begin(Job *job, Part *part, Text header, bool append) {
    Text text = {0};
    bool any = append && base_load(job, part->path, header, &part->base, &text) && text.len;
    part->open = any && text.at[text.len - 1] != '\n';
    if (!any) text_buf_add(&part->text, header);
}

static Text header_of(Job *job, const Op *op) {
    TextBuf header = {0};
    const FormatReference *format = format_reference(op->sink.format);
    if (format->header) format->header(&header, op);
    Text copy = {text_c(job->arena, text_buf_view(&header)), header.len};
    text_buf_free(&header);
    return copy;
}

// ---- rows ---------------------------------------------------------------------------------------

static Part *part_new(Job *job, const Node *node, Sink *sink, Text key) {
    Part part = {.key = key};
    const FormatReference *format = format_reference(node->op->sink.format);
    const Part *before = sink->part_count ? &sink->parts[sink->part_count - 1] : nullptr;
    if (before && text_eq(before->key, key)) part.number = before->number + 1;
    part.path = part_path(job, sink, &part, format->extension);
    struct stat st;
    if (sink->by_key && (int64_t)sink->part_count >= sink->files_max)
        job_fail(job, JOB_TOO_MANY_FILES, "'%.*s' makes more than %lld files: '%.*s%.*s' is one "
                 "more", TEXT_ARG(sink->path), (long long)sink->files_max, TEXT_ARG(sink->front),
                 TEXT_ARG(key));
    else if (sink->by_key && !job->options.overwrite && !node->op->sink.options.append &&
             stat(text_c(job->arena, part.path), &st) == 0)
        job_fail(job, JOB_OUTPUT_EXISTS, "'%.*s' exists", TEXT_ARG(part.path));
    part_begin(job, &part, header_of(job, node->op), node->op->sink.options.append);
    arena_push(job->arena, sink->parts, sink->part_count, sink->part_cap, part);
    return &sink->parts[sink->part_count - 1];
}

// Does the format write a header when the rows of a part are known?
static bool finishes(const Op *op) {
    return format_reference(op->sink.format)->finish && !op->sink.options.apart;
}

// A part ends after a line: a text with line breaks is several of them, and may end up in two.
static void add_line(Job *job, const Node *node, Sink *sink, Text line) {
    Part *part = &sink->parts[sink->part_count - 1];
    size_t front = finishes(node->op) ? format_reference(node->op->sink.format)->finish_bytes : 0;
    bool full = part->lines && (int64_t)(part->text.len + front) >= sink->part_bytes;
    if (full && is_folder_path(sink->path)) part = part_new(job, node, sink, part->key);
    const char *between = format_reference(node->op->sink.format)->between;
    if (between && part->lines) text_buf_add(&part->text, text_of(between));
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

// The key of the row that eval_row was told of. Rows come sorted by key.
static void turn_to_key(Job *job, const Node *node, Sink *sink) {
    Value key;
    if (!sink->by_key || eval_expr(&job->eval, node->op->sink.key, &key)) return;
    const Part *part = sink->part_count ? &sink->parts[sink->part_count - 1] : nullptr;
    if (!part || !text_eq(part->key, key.text)) part_new(job, node, sink, key.text);
}

void sink_run(Job *job, Node *node) {
    Sink *sink = sink_of(job, node);
    if (!sink->by_key) part_new(job, node, sink, TEXT(""));
    for (Row *row; !job->exit_code && (row = node_take(job, node, 0));) {
        TextBuf line = {0};
        int32_t status;
        if (!line_print(job, node->op, row, &line, &status)) {
            reject_row(job, node, row, status);
            text_buf_free(&line);
            continue;
        }
        turn_to_key(job, node, sink);
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

// A header that is written last wants a file whose front can be written then.
static void check_header(Job *job, const Op *op, Text path) {
    bool stream = text_is(path, "-");
    if (!finishes(op) || (!stream && !file_is_packed(path))) return;
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

static bool rejects_are_csv(const Job *job) {
    if (job->options.rejects.at) return file_ends(job->options.rejects, ".csv");
    return format_info(job->graph->rejects.format)->records == FORMAT_RECORDS_CSV;
}

static Text rejects_header(const Job *job) {
    return rejects_are_csv(job) ? TEXT("step,source,line,offset,length,code,message,raw\n")
                                : (Text){0};
}

void sinks_check(Job *job) {
    Text *paths = arena_new_array(job->arena, Text, job->graph->op_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < job->graph->op_count; i++) {
        Node *node = &job->nodes[i];
        if (node->op->kind != OP_SINK) continue;
        const Sink *sink = sink_of(job, node);
        paths[count] = sink->path;
        check_header(job, node->op, paths[count]);
        bool append = node->op->sink.options.append;
        if (append && (!sink->by_key || is_folder_path(paths[count])))
            base_check(job, paths[count], header_of(job, node->op));
        else if (!sink->by_key) check_path(job, paths[count]);
        count++;
    }
    Text rejects = rejects_path(job);
    if (rejects.at) {
        paths[count++] = rejects;
        if (job->graph->rejects.append) base_check(job, rejects, rejects_header(job));
        else check_path(job, rejects);
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
static void write_part(Job *job, Part *part) {
    TextBuf packed = {0}, whole = {0};
    Text path = part->path;
    if (part->open) text_buf_char(&whole, '\n');
    text_buf_add(&whole, text_buf_view(&part->text));
    text_buf_add(&packed, part->base);
    if (whole.len || !part->base.len) pack(path, text_buf_view(&whole), &packed);
    text_buf_free(&whole);
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
    for (size_t i = 0; i < sink->part_count && !job->exit_code; i++) {
        Part *part = &sink->parts[i];
        if (folder && part->number == 0)
            clear_folder(job, text_format(job->arena, "%.*s%.*s", TEXT_ARG(sink->front),
                                          TEXT_ARG(part->key)));
        const char *footer = format_reference(node->op->sink.format)->footer;
        if (footer) text_buf_add(&part->text, text_of(footer));
        if (finishes(node->op)) finish_part(job, node->op, part);
        write_part(job, part);
        bytes += (int64_t)part->text.len;
    }
    FileWritten written = {sink->path, sink->rows, bytes, (int64_t)sink->part_count};
    if (text_is(sink->path, "-")) written.files = 0;
    job->by_key |= sink->by_key;
    arena_push(job->arena, job->writes, job->write_count, job->write_cap, written);
}

// A file of one row has one.
static void check_rows(Job *job, const Sink *sink) {
    for (size_t i = 0; i < sink->part_count && !job->exit_code; i++) {
        const Part *part = &sink->parts[i];
        if (part->lines == 1) continue;
        job_fail(job, JOB_ONE_ROW, "'%.*s' gets %s", TEXT_ARG(part->path),
                 part->lines ? "more than one row" : "no row");
    }
}

// By key two outputs may meet in one file, or in one that is read.
static void check_parts(Job *job, const Sink *sink, const Part *part) {
    for (size_t i = 0; i < job->graph->op_count; i++) {
        const Sink *other = job->nodes[i].state;
        if (job->nodes[i].op->kind != OP_SINK || !other) continue;
        if (other == sink) break;
        for (size_t k = 0; k < other->part_count; k++)
            if (text_eq(other->parts[k].path, part->path))
                job_fail(job, JOB_SAME_PATH, "two outputs go to '%.*s': '%.*s' and '%.*s'",
                         TEXT_ARG(part->path), TEXT_ARG(other->path), TEXT_ARG(sink->path));
    }
    for (size_t r = 0; r < job->read_count; r++)
        if (text_eq(job->reads[r].path, part->path))
            job_fail(job, JOB_SAME_PATH, "'%.*s' is read, and written by '%.*s'",
                     TEXT_ARG(part->path), TEXT_ARG(sink->path));
}

void sinks_publish(Job *job) {
    for (size_t i = 0; i < job->graph->op_count; i++) {
        const Sink *sink = job->nodes[i].state;
        if (job->nodes[i].op->kind != OP_SINK || !sink) continue;
        if (job->nodes[i].op->sink.options.apart) check_rows(job, sink);
        if (!sink->by_key) continue;
        for (size_t k = 0; k < sink->part_count && !job->exit_code; k++)
            check_parts(job, sink, &sink->parts[k]);
    }
    for (size_t i = 0; i < job->graph->op_count; i++) {
        Node *node = &job->nodes[i];
        if (node->op->kind != OP_SINK) continue;
        if (!job->exit_code) publish(job, node);
        Sink *sink = node->state;
        for (size_t k = 0; sink && k < sink->part_count; k++) text_buf_free(&sink->parts[k].text);
    }
}

// A job that its rejects made fail publishes them too.
void rejects_publish(Job *job) {
    Part part = {.path = rejects_path(job)};
    if (!part.path.at || job->in_trouble) return;
    int exit_code = job->exit_code;
    job->exit_code = 0;
    part_begin(job, &part, rejects_header(job), job->graph->rejects.append);
    rejects_print(job, &part.text, rejects_are_csv(job));
    int64_t bytes = (int64_t)part.text.len;
    if (!job->exit_code) write_part(job, &part);
    FileWritten written = {part.path, (int64_t)job->reject_count, bytes, 1};
    if (!job->exit_code)
        arena_push(job->arena, job->writes, job->write_count, job->write_cap, written);
    if (exit_code) job->exit_code = exit_code;
    text_buf_free(&part.text);
}
