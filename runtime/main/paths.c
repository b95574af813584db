// Job paths: no file has two uses among what a job reads and writes.
#define _GNU_SOURCE
#include "runtime/main/main.h"
#include "runtime/observe.h"
#include "runtime/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- names --------------------------------------------------------------------------------------

static char *real_name(const char *path);

// The path as the real one of its folder and its own name, whatever a link of that name says.
static char *own_name(const char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') len--;
    size_t begin = len;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    const char *name = path + begin;
    int named = (int)(len - begin);
    char *above = begin > 0 ? strndup(path, begin) : strdup(".");
    char *folder = above ? real_name(above) : nullptr, *own = nullptr;
    free(above);
    if (!folder) return nullptr;
    if (named == 0 || (named == 1 && name[0] == '.')) return folder;
    if (named == 2 && memcmp(name, "..", 2) == 0) {
        char *slash = strrchr(folder, '/');
        if (slash) slash[slash == folder] = '\0';
        return folder;
    }
    if (asprintf(&own, "%s/%.*s", strcmp(folder, "/") == 0 ? "" : folder, named, name) < 0)
        own = nullptr;
    free(folder);
    return own;
}

// One name for all paths of a file, which need not be there, nor its folders.
static char *real_name(const char *path) {
    char *whole = realpath(path, nullptr);
    if (whole) return whole;
    return strcmp(path, ".") == 0 || strcmp(path, "/") == 0 ? strdup(path) : own_name(path);
}

// The name of what stands in the folder itself; nullptr: it does not. Both are real names.
static const char *name_within(const char *path, const char *folder) {
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    if (strncmp(path, folder, len) != 0 || path[len] != '/') return nullptr;
    return strchr(path + len + 1, '/') ? nullptr : path + len + 1;
}

// ---- outputs ------------------------------------------------------------------------------------

typedef struct Output {
    char       *path, *real;
    char       *manifest;   // nullptr: it has none.
    const char *extension;  // Of the parts of a folder; nullptr: it is a file.
} Output;

static void output_close(Output *output) {
    free(output->path);
    free(output->real);
    free(output->manifest);
}

static bool is_stream(const char *path) { return strcmp(path, "-") == 0; }

static bool output_open(Output *output, SbStr path, Trouble *trouble) {
    *output = (Output){.path = strndup(path.ptr ? path.ptr : "", (size_t)path.len)};
    if (output->path)
        output->real = is_stream(output->path) ? strdup("-") : real_name(output->path);
    return output->real || trouble_no_memory(trouble, "for a path");
}

// With the name of its manifest: what one of an earlier job says goes when the output is replaced.
static bool sink_output(const JobAsk *ask, uint32_t sink, Output *output, Trouble *trouble) {
    SinkSetup setup = job_sink_setup(ask, sink);
    SbStr path = setup.path, shape = setup.what->shape;
    Text whole = {0};
    sb_text_add(&whole, path.ptr, path.len);
    sb_text_add(&whole, shape.ptr, shape.len);
    bool good = !whole.failed && output_open(output, (SbStr){whole.ptr, whole.len}, trouble);
    sb_text_close(&whole);
    if (!good) return false;
    size_t len = strlen(output->path);
    if (len == 0 || is_stream(output->path)) return true;
    if (output->path[len - 1] == '/') output->extension = setup.what->writer->extension;
    char *named = manifest_name(path, shape);
    if (named) output->manifest = own_name(named);
    free(named);
    return output->manifest || trouble_no_memory(trouble, "for a path");
}

static bool holds_part(const Output *folder, const Output *file) {
    const char *name = folder->extension ? name_within(file->real, folder->real) : nullptr;
    return name && sink_part_number(name, folder->extension) >= 0;
}

static bool is_manifest(const Output *output, const char *real) {
    return output->manifest && strcmp(output->manifest, real) == 0;
}

static bool are_apart(const Output *a, const Output *b, Trouble *trouble) {
    if (strcmp(a->real, b->real) == 0)
        return trouble_set(trouble, TROUBLE_SAME_PATH, "two outputs go to '%s'", b->path);
    for (int turn = 0; turn < 2; turn++) {
        const Output *one = turn ? b : a, *other = turn ? a : b;
        if (holds_part(one, other))
            return trouble_set(trouble, TROUBLE_SAME_PATH,
                               "two outputs go to '%s': it is a part of '%s'", other->path,
                               one->path);
        if (is_manifest(one, other->real))
            return trouble_set(trouble, TROUBLE_SAME_PATH,
                               "the output '%s' has the name of the manifest of '%s'",
                               other->path, one->path);
    }
    return true;
}

// A folder of parts is read neither as it is nor by links that stand in it.
static bool reads_within(const Output *folder, const char *path, const char *real) {
    struct stat is;
    if (!folder->extension) return false;
    if (name_within(real, folder->real)) return true;
    if (lstat(path, &is) != 0 || !S_ISLNK(is.st_mode)) return false;
    char *own = own_name(path);
    bool within = own && name_within(own, folder->real);
    free(own);
    return within;
}

static bool is_not_read(const Output *output, const char *path, Trouble *trouble) {
    char *real = real_name(path);
    if (!real) return trouble_no_memory(trouble, "for a path");
    bool good = true;
    if (strcmp(real, output->real) == 0) {
        good = trouble_set(trouble, TROUBLE_SAME_PATH, "'%s' is read and written", output->path);
    } else if (reads_within(output, path, real)) {
        good = trouble_set(trouble, TROUBLE_SAME_PATH,
                           "'%s' is read, and stands in the output '%s'", path, output->path);
    } else if (is_manifest(output, real)) {
        good = trouble_set(trouble, TROUBLE_SAME_PATH,
                           "'%s' is read, and has the name of the manifest of '%s'", path,
                           output->path);
    }
    free(real);
    return good;
}

// From the first `sinks` sinks, and from all sources.
static bool is_apart(const JobAsk *ask, const Source *sources, const Output *output,
                     uint32_t sinks, Trouble *trouble) {
    for (uint32_t s = 0; s < sinks; s++) {
        Output other;
        bool good = sink_output(ask, s, &other, trouble) && are_apart(&other, output, trouble);
        output_close(&other);
        if (!good) return false;
    }
    for (uint32_t s = 0; s < ask->what->source_count; s++) {
        const Source *source = &sources[s];
        for (uint32_t f = 0; f < source->file_count; f++) {
            const char *path = source->files[f].path;
            if (!is_stream(path) && !is_not_read(output, path, trouble)) return false;
        }
    }
    return true;
}

bool job_check_paths(const JobAsk *ask, const Source *sources, uint32_t sink,
                     Trouble *trouble) {
    Output output;
    bool good = sink_output(ask, sink, &output, trouble) &&
                (output.path[0] == '\0' || is_apart(ask, sources, &output, sink, trouble));
    output_close(&output);
    return good;
}

// ---- the journal --------------------------------------------------------------------------------

static bool is_of_journal(const char *name) {
    return strcmp(name, "journal") == 0 || strcmp(name, "journal.new") == 0 ||
           strncmp(name, "runs.", 5) == 0;
}

static bool spares_journal(const Output *output, const char *folder, Trouble *trouble) {
    if (output->path[0] == '\0') return true;
    if (output->extension && strcmp(output->real, folder) == 0)
        return trouble_set(trouble, TROUBLE_SAME_PATH,
                           "the output '%s' is the folder of the journal", output->path);
    const char *name = name_within(output->real, folder);
    if (!name || !is_of_journal(name)) return true;
    return trouble_set(trouble, TROUBLE_SAME_PATH, "the output '%s' is a file of the journal",
                       output->path);
}

bool job_check_journal(const JobAsk *ask, Trouble *trouble) {
    const char *path = ask->options.resume;
    if (!path) return true;
    char *folder = real_name(path);
    bool good = folder || trouble_no_memory(trouble, "for a path");
    for (uint32_t s = 0; good && s <= ask->what->sink_count; s++) {
        Output output;
        good = sink_output(ask, s, &output, trouble) && spares_journal(&output, folder, trouble);
        output_close(&output);
    }
    free(folder);
    return good;
}

// ---- the trace ----------------------------------------------------------------------------------

// The same command goes on where a job with a journal ended: its trace may take the place of one.
bool job_check_trace(const JobAsk *ask, const JobIo *io, Trouble *trouble) {
    const char *path = ask->options.trace;
    struct stat is;
    if (!path) return true;
    Output output;
    uint32_t sinks = ask->what->sink_count + io->has_rejects_sink;
    bool good = output_open(&output, (SbStr){path, (int64_t)strlen(path)}, trouble) &&
                is_apart(ask, io->sources, &output, sinks, trouble);
    output_close(&output);
    if (!good) return false;
    bool replaces = stat(path, &is) == 0 && S_ISREG(is.st_mode);
    if (!replaces || ask->options.overwrite || (ask->options.resume && trace_is_one(path)))
        return true;
    trouble_set(trouble, TROUBLE_OUTPUT_EXISTS, "'%s' exists", path);
    trouble_fix(trouble, "give another path, or --overwrite to replace it: --trace=FILE");
    return false;
}
