#define _GNU_SOURCE
#include "runtime/output/names.h"

#include "runtime/host.h"

#include <stdlib.h>
#include <string.h>

typedef struct NamedFile {
    char       *path;   // Real; nullptr: the place is free.
    const Sink *sink;   // nullptr: it is read.
} NamedFile;

struct SinkNames {
    pthread_mutex_t lock;
    NamedFile *files;   // A hash table by path.
    size_t     count, cap;
};

SinkNames *names_open(void) {
    SinkNames *names = calloc(1, sizeof *names);
    if (names) pthread_mutex_init(&names->lock, nullptr);
    return names;
}

void names_close(SinkNames *names) {
    if (!names) return;
    for (size_t i = 0; i < names->cap; i++) free(names->files[i].path);
    free(names->files);
    pthread_mutex_destroy(&names->lock);
    free(names);
}

static NamedFile *place_of(const SinkNames *names, const char *path) {
    Checksum sum = checksum_of(path, (int64_t)strlen(path));
    size_t mask = names->cap - 1, at = (size_t)sum.low & mask;
    while (names->files[at].path && strcmp(names->files[at].path, path) != 0) at = (at + 1) & mask;
    return &names->files[at];
}

static bool make_room(SinkNames *names) {
    enum { FIRST = 64 };
    if (2 * (names->count + 1) <= names->cap) return true;
    SinkNames old = *names;
    size_t cap = old.cap ? 2 * old.cap : FIRST;
    NamedFile *files = calloc(cap, sizeof *files);
    if (!files) return false;
    names->files = files;
    names->cap = cap;
    for (size_t i = 0; i < old.cap; i++)
        if (old.files[i].path) *place_of(names, old.files[i].path) = old.files[i];
    free(old.files);
    return true;
}

// Notes the file, whose real path is taken over. False: it has another use, or there is no memory.
static bool note(SinkNames *names, char *real, const char *path, const Sink *sink,
                 Trouble *trouble) {
    if (!real || !make_room(names)) {
        free(real);
        return trouble_no_memory(trouble, "for a path");
    }
    NamedFile *place = place_of(names, real);
    if (!place->path) {
        *place = (NamedFile){real, sink};
        names->count++;
        return true;
    }
    bool same = place->sink == sink;
    if (!same && place->sink)
        trouble_set(trouble, TROUBLE_SAME_PATH, "two outputs go to '%s': '%s' and '%s'", path,
                    place->sink->path, sink->path);
    else if (!same)
        trouble_set(trouble, TROUBLE_SAME_PATH, "'%s' is read, and written by '%s'", path,
                    sink->path);
    free(real);
    return same;
}

// The folder as it is, whatever links lead there, and the file's own name.
static char *real_path(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *whole = folder ? realpath(folder, nullptr) : nullptr, *real = nullptr;
    free(folder);
    if (!whole) return strdup(path);
    if (asprintf(&real, "%s/%s", strcmp(whole, "/") == 0 ? "" : whole, name) < 0) real = nullptr;
    free(whole);
    return real;
}

bool names_read(SinkNames *names, const char *path, Trouble *trouble) {
    char *real = realpath(path, nullptr);
    return !real || note(names, real, path, nullptr, trouble);
}

bool names_take(SinkNames *names, const char *path, const Sink *sink, Trouble *trouble) {
    const char *slash = strrchr(path, '/');
    char *folder = slash && slash > path ? strndup(path, (size_t)(slash - path)) : nullptr;
    bool good = !folder || durable_make_folder(folder, trouble);
    free(folder);
    if (!good) return false;
    char *real = real_path(path);
    pthread_mutex_lock(&names->lock);
    good = note(names, real, path, sink, trouble);
    pthread_mutex_unlock(&names->lock);
    return good;
}
