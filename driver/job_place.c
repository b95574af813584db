#include "driver/job_place.h"

#include "codegen/build/job_mark.h"
#include "driver/read_graph.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// FILE without .sbd or .ir, in the working folder.
static const char *default_output(Arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    Text name = text_of(slash ? slash + 1 : path);
    if (name.len > 4 && memcmp(name.at + name.len - 4, ".sbd", 4) == 0) name.len -= 4;
    else if (is_graph_text(path)) name.len -= 3;
    else name = text_format(arena, "%.*s.job", TEXT_ARG(name));
    return text_c(arena, name);
}

static bool folder_is_there(const Options *options, const char *output) {
    const char *slash = strrchr(output, '/');
    Text folder = slash ? (Text){output, (size_t)(slash - output) + (slash == output)} : TEXT(".");
    struct stat at;
    if (stat(text_c(options->arena, folder), &at) == 0 && S_ISDIR(at.st_mode)) return true;
    Text fix = text_format(options->arena, "make it first: mkdir -p %.*s", TEXT_ARG(folder));
    complain(options, DIAG_FILE_UNWRITABLE, text_c(options->arena, fix),
             "there is no folder '%.*s' for '%s'", TEXT_ARG(folder), output);
    return false;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// A plain file with bytes in it.
static bool may_replace(const Options *options, const char *program, const char *output,
                        const struct stat *there) {
    struct stat source;
    if (stat(program, &source) == 0 && same_file(&source, there)) {
        complain(options, DIAG_OUTPUT_TAKEN, "give the job another name by -o",
                 "the job would replace its program '%s'", output);
        return false;
    }
    if (options->overwrite || job_mark_found(output)) return true;
    complain(options, DIAG_OUTPUT_TAKEN,
             "give the job another name by -o, or replace the file by --overwrite",
             "'%s' is there already, and is no job", output);
    return false;
}

bool job_place_find(const Options *options, const char *program, JobPlace *out) {
    const char *output = options->output ? options->output
                                         : default_output(options->arena, program);
    char real[PATH_MAX];
    struct stat there, nothing;
    *out = (JobPlace){.path = output};
    if (stat(output, &there) != 0) return folder_is_there(options, output);
    if (S_ISDIR(there.st_mode)) {
        Text fix = text_format(options->arena, "name a file in it: -o %s/job", output);
        complain(options, DIAG_FILE_UNWRITABLE, text_c(options->arena, fix), "'%s' is a folder",
                 output);
        return false;
    }
    out->discard = S_ISCHR(there.st_mode) && stat("/dev/null", &nothing) == 0 &&
                   there.st_rdev == nothing.st_rdev;
    if (out->discard) return true;
    if (!S_ISREG(there.st_mode)) {
        complain(options, DIAG_FILE_UNWRITABLE, "name a plain file, or /dev/null to keep nothing",
                 "'%s' is a device, a pipe or a socket", output);
        return false;
    }
    if (there.st_size && !may_replace(options, program, output, &there)) return false;
    // What is renamed to a link would take the place of the link.
    if (realpath(output, real)) out->path = text_c(options->arena, text_of(real));
    return true;
}
