#define _GNU_SOURCE  // memmem
#include "codegen/build/extern.h"

#include "codegen/build/cache.h"
#include "codegen/build/command.h"
#include "codegen/build/user_symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// In order of preference.
static const char *const compilers[] = {"clang-22", "clang", "gcc", "cc"};

ExternFiles extern_files(const Graph *graph) {
    ExternFiles files = {0};
    for (size_t i = 0; i < graph->expr_count; i++) {
        const Expr *expr = &graph->exprs[i];
        if (expr->op != EXPR_CALL || !(expr->fn->traits & FN_EXTERN)) continue;
        files.python |= (expr->fn->traits & FN_PYTHON) != 0;
        if (expr->fn->traits & FN_PYTHON) continue;
        bool known = false;
        for (size_t j = 0; j < files.count; j++) known |= text_eq(files.paths[j], expr->fn->file);
        if (!known)
            arena_push(graph->arena, files.paths, files.count, files.cap, expr->fn->file);
        known = false;
        for (size_t j = 0; j < files.fn_count; j++) known |= files.fns[j] == expr->fn;
        if (!known)
            arena_push(graph->arena, files.fns, files.fn_count, files.fn_cap, expr->fn);
    }
    return files;
}

// ---- what they are made of ----------------------------------------------------------------------

enum { INCLUDES_MAX = 256 };

static bool read_text(Arena *arena, Text path, Text *text) {
    FILE *file = fopen(text_c(arena, path), "rb");
    if (!file) return false;
    TextBuf buf = {0};
    char bytes[1 << 14];
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        text_buf_add(&buf, (Text){bytes, got});
    bool good = !ferror(file);
    fclose(file);
    *text = text_buf_take(&buf, arena);
    return good;
}

// Adds what `text`, read from `path`, includes by name. What a comment hides is added too: that
// costs at most a needless compilation.
static void add_includes(Arena *arena, ExternFiles *files, Text path, Text text) {
    static const char word[] = "#include \"";
    size_t folder = path.len;
    while (folder && path.at[folder - 1] != '/') folder--;
    for (const char *at = text.at, *end = text.at + text.len; at && at < end;) {
        at = memmem(at, (size_t)(end - at), word, sizeof word - 1);
        if (!at) return;
        at += sizeof word - 1;
        const char *close = memchr(at, '"', (size_t)(end - at));
        if (!close) return;
        Text name = text_format(arena, "%.*s%.*s", (int)folder, path.at, (int)(close - at), at);
        bool known = files->count >= INCLUDES_MAX;
        for (size_t i = 0; i < files->count; i++) known |= text_eq(files->paths[i], name);
        if (!known && access(text_c(arena, name), R_OK) == 0)
            arena_push(arena, files->paths, files->count, files->cap, name);
    }
}

static bool blame_unreadable(ExternFault *fault, Text path) {
    text_buf_format(&fault->message, "%.*s cannot be read: %s", TEXT_ARG(path), strerror(errno));
    fault->path = path;
    return false;
}

bool extern_key(Arena *arena, const ExternFiles *files, TextBuf *parts, ExternFault *fault) {
    ExternFiles all = {0};
    for (size_t i = 0; i < files->count; i++)
        arena_push(arena, all.paths, all.count, all.cap, files->paths[i]);
    // A job of Python functions has the folder of its modules in it.
    char folder[PATH_MAX];
    if (files->python)
        cache_key_add(parts, "folder", text_of(getcwd(folder, sizeof folder) ? folder : ""));
    for (size_t i = 0; i < all.count; i++) {
        Text text;
        if (!read_text(arena, all.paths[i], &text)) return blame_unreadable(fault, all.paths[i]);
        cache_key_add(parts, "extern", all.paths[i]);
        cache_key_add(parts, "text", text);
        add_includes(arena, &all, all.paths[i], text);
    }
    return true;
}

// ---- what is compiled ---------------------------------------------------------------------------

// A C file as the compiler gets it: its text, then the prototypes of the program's declarations. An
// own prototype there is an error where the file has another. They come last, so that the file
// may define macros that the system's headers heed.
static Text checked_text(Arena *arena, Text path, Text text, const ExternHeader *header) {
    TextBuf buf = {0};
    size_t lines = 1;
    for (size_t i = 0; i < text.len; i++) lines += text.at[i] == '\n';
    text_buf_add(&buf, TEXT("#line 1 "));
    text_buf_quoted(&buf, path);
    text_buf_char(&buf, '\n');
    text_buf_add(&buf, text);
    text_buf_add(&buf, TEXT("\n\n"));
    for (size_t i = 0; i < header->count; i++) {
        const ExternDecl *decl = &header->decls[i];
        if (!text_eq(decl->ref->file, path)) continue;
        text_buf_format(&buf, "#line %u ", decl->line);
        text_buf_quoted(&buf, decl->path);
        text_buf_format(&buf, "\n%.*s\n", TEXT_ARG(decl->prototype));
    }
    text_buf_format(&buf, "#line %zu ", lines);  // What is open at the end is the file's fault.
    text_buf_quoted(&buf, path);
    text_buf_char(&buf, '\n');
    return text_buf_take(&buf, arena);
}

static bool write_text(const char *path, Text text, TextBuf *error) {
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(text.at, 1, text.len, file) == text.len;
    if (file) good = fclose(file) == 0 && good;
    if (!good) text_buf_format(error, "%s cannot be written: %s", path, strerror(errno));
    return good;
}

// Does a line of what the compiler said begin with the place of the declaration, and name it?
static bool complains_of(Arena *arena, const TextBuf *said, const ExternDecl *decl) {
    Text place = text_format(arena, "%.*s:%u:", TEXT_ARG(decl->path), decl->line);
    Text symbol = decl->ref->symbol;
    for (const char *at = said->at, *end = at + said->len; at && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        Text line = {at, (size_t)((stop ? stop : end) - at)};
        // The name of the program may be that of the function.
        size_t lead = text_starts(line, place) ? place.len : line.len;
        if (memmem(line.at + lead, line.len - lead, symbol.at, symbol.len)) return true;
        at = stop ? stop + 1 : end;
    }
    return false;
}

static void find_differing(Arena *arena, Text path, const ExternHeader *header,
                           ExternFault *fault) {
    for (size_t i = 0; i < header->count; i++) {
        const ExternDecl *decl = &header->decls[i];
        if (text_eq(decl->ref->file, path) && complains_of(arena, &fault->said, decl))
            arena_push(arena, fault->differing, fault->differing_count, fault->differing_cap, decl);
    }
}

// ---- compiling ----------------------------------------------------------------------------------

static bool compile(Arena *arena, const char *folder, const char *const *what, const char *output,
                    ExternFault *fault) {
    for (size_t i = 0; i < countof(compilers); i++) {
        Command command = {0};
        TextBuf said = {0};
        command_add(&command, compilers[i]);
        command_add(&command, "-O2");
        command_add(&command, "-g1");
        command_add(&command, "-fPIC");
        command_add(&command, "-ffp-contract=off");  // The same digits on every CPU.
        command_add(&command, text_c(arena, text_format(arena, "-I%s", folder)));
        command_add(&command, "-o");
        command_add(&command, output);
        for (const char *const *word = what; *word; word++) command_add(&command, *word);
        CommandOutcome outcome = command_run(&command, &said);
        if (outcome == COMMAND_DONE && said.len) fprintf(stderr, "%.*s", (int)said.len, said.at);
        if (outcome == COMMAND_REFUSED) text_buf_add(&fault->said, text_buf_view(&said));
        text_buf_free(&said);
        if (outcome != COMMAND_NOT_THERE) return outcome == COMMAND_DONE;
    }
    text_buf_add(&fault->message,
                 TEXT("no C compiler was found for extern functions: install clang-22"));
    return false;
}

static bool open_folder(Arena *arena, Text header, const char **folder, TextBuf *error) {
    return build_folder(arena, folder, error) &&
           write_text(text_c(arena, text_format(arena, "%s/pipeline.h", *folder)), header, error);
}

static bool defines_all(Arena *arena, const ExternFiles *files, ExternFault *fault) {
    static const char *const endings[] = {"", "_init", "_close"};
    for (size_t i = 0; i < files->fn_count; i++) {
        size_t count = files->fns[i]->traits & FN_STATE ? countof(endings) : 1;
        for (size_t k = 0; k < count; k++) {
            FnRef *ref = arena_copy(arena, files->fns[i], sizeof *ref, alignof(FnRef));
            ref->symbol = text_format(arena, "%.*s%s", TEXT_ARG(ref->symbol), endings[k]);
            if (user_symbols_hold(&fault->defined, text_c(arena, ref->symbol))) continue;
            const FnRef *missing = ref;
            arena_push(arena, fault->missing, fault->missing_count, fault->missing_cap, missing);
        }
    }
    return !fault->missing_count;
}

static Text folder_of(Text path) {
    size_t len = path.len;
    while (len && path.at[len - 1] != '/') len--;
    return len ? (Text){path.at, len} : TEXT("./");
}

// The file `path` to `object`.
static bool compile_file(Arena *arena, Text path, const char *object, const ExternHeader *header,
                         ExternFault *fault) {
    Text text, folder = folder_of(text_of(object)), beside = folder_of(path);
    if (!read_text(arena, path, &text)) return blame_unreadable(fault, path);
    const char *copy = text_c(arena, text_format(arena, "%.*sextern.c", TEXT_ARG(folder)));
    const char *what[] = {
        "-c", copy, text_c(arena, text_format(arena, "-iquote%.*s", TEXT_ARG(beside))),
        // The folder has another name each time: two builds are the same bytes.
        text_c(arena, text_format(arena, "-fdebug-prefix-map=%.*s=", TEXT_ARG(folder))), nullptr};
    bool good = write_text(copy, checked_text(arena, path, text, header), &fault->message) &&
                compile(arena, text_c(arena, folder), what, object, fault);
    unlink(copy);
    if (!fault->said.len) return good;
    fault->path = path;
    find_differing(arena, path, header, fault);
    if (!fault->differing_count)
        text_buf_format(&fault->message, "the C compiler refused %.*s", TEXT_ARG(path));
    return false;
}

bool extern_compile(Arena *arena, const ExternFiles *files, const ExternHeader *header,
                    ExternBuild *out, ExternFault *fault) {
    *out = (ExternBuild){.objects = arena_new_array(arena, const char *, files->count + 2)};
    if (!files->count) return true;
    bool good = open_folder(arena, header->text, &out->folder, &fault->message);
    for (size_t i = 0; good && i < files->count; i++) {
        const char *object = text_c(arena, text_format(arena, "%s/%zu.o", out->folder, i));
        good = compile_file(arena, files->paths[i], object, header, fault);
        out->objects[out->count++] = object;
    }
    good = good && user_symbols_rename(arena, out->objects, out->count, &fault->defined,
                                       &fault->message);
    good = good && defines_all(arena, files, fault);
    if (!good) extern_remove(out);
    return good;
}

void extern_remove(const ExternBuild *build) {
    char path[4096];
    if (!build->folder) return;
    for (size_t i = 0; i < build->count; i++) unlink(build->objects[i]);
    snprintf(path, sizeof path, "%s/pipeline.h", build->folder);
    unlink(path);
    rmdir(build->folder);
}

bool extern_load(Arena *arena, const ExternFiles *files, const ExternHeader *header,
                 ExternFault *fault) {
    ExternBuild build;
    if (!files->count) return true;
    if (!extern_compile(arena, files, header, &build, fault)) return false;
    const char **what = arena_new_array(arena, const char *, build.count + 2);
    what[0] = "-shared";
    for (size_t i = 0; i < build.count; i++) what[i + 1] = build.objects[i];
    const char *library = text_c(arena, text_format(arena, "%s/extern.so", build.folder));
    bool good = compile(arena, build.folder, what, library, fault);
    if (fault->said.len) text_buf_add(&fault->message, TEXT("the C compiler refused to link"));
    build.objects[build.count++] = library;
    if (good && !dlopen(library, RTLD_NOW | RTLD_GLOBAL)) {
        text_buf_add(&fault->message, text_of(dlerror()));
        good = false;
    }
    extern_remove(&build);
    return good;
}
