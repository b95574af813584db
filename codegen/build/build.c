#include "codegen/build/build.h"

#include "codegen/build/link.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OBJECTS_MAX = 32 };

// .../bin/sbc -> .../lib/NAME
static const char *beside(Arena *arena, const char *name) {
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len < 0) return nullptr;
    path[len] = '\0';
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(path, '/');
        if (slash) *slash = '\0';
    }
    const char *found = text_c(arena, text_format(arena, "%s/lib/%s", path, name));
    return access(found, R_OK) == 0 ? found : nullptr;
}

bool installation_find(Arena *arena, Installation *out, TextBuf *error) {
    *out = (Installation){beside(arena, "libsbc-codegen.so"), beside(arena, "libsbrt.a")};
    if (out->codegen && out->runtime) return true;
    text_buf_format(error, "%s is not beside sbc: run zig build, or install all of it",
                    out->codegen ? "lib/libsbrt.a" : "lib/libsbc-codegen.so");
    return false;
}

static CodegenFn *load_codegen(const Installation *installation, TextBuf *error) {
    void *library = dlopen(installation->codegen, RTLD_NOW | RTLD_LOCAL);
    CodegenFn *run = library ? (CodegenFn *)dlsym(library, "codegen_run") : nullptr;
    if (!run) text_buf_add(error, text_of(dlerror()));
    return run;
}

bool build_text(Arena *arena, const Plan *plan, const CodegenOptions *options, TextBuf *out,
                TextBuf *error) {
    Installation installation;
    CodegenOutput output = {.bytes = *out};
    if (!installation_find(arena, &installation, error)) return false;
    CodegenFn *run = load_codegen(&installation, error);
    bool good = run && run(plan, options, &output, error);
    *out = output.bytes;
    return good;
}

static bool write_file(const char *path, Text bytes, TextBuf *error) {
    FILE *file = fopen(path, "wb");
    bool written = file && fwrite(bytes.at, 1, bytes.len, file) == bytes.len;
    if (file) written = fclose(file) == 0 && written;
    if (!written) text_buf_format(error, "%s cannot be written: %s", path, strerror(errno));
    return written;
}

typedef struct Objects {
    const char *folder;
    const char *paths[OBJECTS_MAX + 1];
    unsigned    made, count;   // The first `made` are ours to remove.
} Objects;

static bool write_objects(Arena *arena, Objects *objects, const CodegenOutput *code,
                          TextBuf *error) {
    size_t at = 0;
    for (int i = 0; i < CODEGEN_OBJECTS_MAX; i++) {
        if (!code->lengths[i]) continue;
        const char *path = text_c(arena, text_format(arena, "%s/%d.o", objects->folder, i));
        if (!write_file(path, (Text){code->bytes.at + at, code->lengths[i]}, error)) return false;
        objects->paths[objects->count++] = path;
        objects->made++;
        at += code->lengths[i];
    }
    return true;
}

// Linkers write beside their output, by names that begin with its own, and may be ended at it.
static void remove_begun(Arena *arena, const char *temporary) {
    const char *slash = strrchr(temporary, '/'), *name = slash ? slash + 1 : temporary;
    Text folder = slash ? (Text){temporary, (size_t)(name - temporary)} : TEXT("./");
    DIR *open = opendir(text_c(arena, folder));
    for (const struct dirent *found; open && (found = readdir(open));)
        if (strncmp(found->d_name, name, strlen(name)) == 0)
            unlinkat(dirfd(open), found->d_name, 0);
    if (open) closedir(open);
}

static bool link_to(Arena *arena, const Objects *objects, const Installation *installation,
                    const char *output, TextBuf *error) {
    const char *temporary = text_c(arena, text_format(arena, "%s.%ld.tmp", output, (long)getpid()));
    LinkInput input = {objects->paths, installation->runtime, temporary};
    bool linked = link_run(arena, &input, error);
    if (linked && rename(temporary, output) == 0) return true;
    if (linked) text_buf_format(error, "%s cannot be written: %s", output, strerror(errno));
    remove_begun(arena, temporary);
    return false;
}

static void remove_objects(const Objects *objects) {
    for (unsigned i = 0; i < objects->made; i++) unlink(objects->paths[i]);
    rmdir(objects->folder);
}

bool build_folder(Arena *arena, const char **folder, TextBuf *error) {
    const char *place = getenv("TMPDIR");
    Text name = text_format(arena, "%s/sbc-XXXXXX", place && *place ? place : "/tmp");
    char *made = arena_copy(arena, text_c(arena, name), name.len + 1, 1);
    *folder = mkdtemp(made);
    if (!*folder)
        text_buf_format(error, "no folder for objects can be made in %s: %s",
                        place && *place ? place : "/tmp", strerror(errno));
    return *folder != nullptr;
}

static bool add_objects(Objects *objects, const char *const *more, TextBuf *error) {
    for (; more && *more; more++) {
        if (objects->count == OBJECTS_MAX) {
            text_buf_format(error, "more than %d C files", OBJECTS_MAX - CODEGEN_OBJECTS_MAX);
            return false;
        }
        objects->paths[objects->count++] = *more;
    }
    return true;
}

bool build_job(Arena *arena, const Plan *plan, const CodegenOptions *options, JobFile file,
               TextBuf *error) {
    Installation installation;
    if (!installation_find(arena, &installation, error)) return false;
    CodegenFn *run = load_codegen(&installation, error);
    if (!run) return false;
    CodegenOutput code = {0};
    Objects objects = {0};
    bool ok = run(plan, options, &code, error) && build_folder(arena, &objects.folder, error);
    if (ok) {
        ok = write_objects(arena, &objects, &code, error) &&
             add_objects(&objects, file.objects, error) &&
             link_to(arena, &objects, &installation, file.path, error);
        remove_objects(&objects);
    }
    text_buf_free(&code.bytes);
    return ok;
}
