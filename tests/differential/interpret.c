// interpret: runs a pipeline text in the reference interpreter, after all passes or up to one.
#include "codegen/build/extern.h"
#include "codegen/reference/reference.h"
#include "frontend/check.h"
#include "frontend/declare.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_WRONG_PROGRAM = 1, EXIT_WRONG_USAGE = 2 };

static Graph *graph_of(Arena *arena, const char *path) {
    SourceSet *sources = source_set_new(arena);
    Diags *diags = diags_new(arena, sources);
    TypeTable *types = type_table_new(arena);
    uint32_t file;
    if (!source_load(sources, text_of(path), &file)) {
        fprintf(stderr, "interpret: %s cannot be read\n", path);
        return nullptr;
    }
    CheckInput input = {.arena = arena, .types = types, .sources = sources, .diags = diags,
                        .decls = declare_stdlib(arena, types, diags)};
    Graph *graph = check_program(&input, file)->graph;
    if (graph) return graph;
    TextBuf buf = {0};
    diags_print(&buf, diags, false);
    fwrite(buf.at, 1, buf.len, stderr);
    text_buf_free(&buf);
    return nullptr;
}

// The C files that the program names, which include no header.
static bool load_externs(Arena *arena, const Graph *graph) {
    ExternFiles files = extern_files(graph);
    ExternFault fault = {0};
    if (extern_load(arena, &files, &(ExternHeader){0}, &fault)) return true;
    fprintf(stderr, "interpret: %.*s %.*s\n", (int)fault.message.len, fault.message.at,
            (int)fault.said.len, fault.said.at);
    return false;
}

// interpret [--after=PASS] FILE [JOB OPTIONS]
int main(int argc, char **argv) {
    const char *after = nullptr;
    int file = 1;
    if (argc > 1 && strncmp(argv[1], "--after=", strlen("--after=")) == 0) {
        after = argv[1] + strlen("--after=");
        file = 2;
    }
    if (file >= argc) {
        fputs("usage: interpret [--after=PASS] FILE [JOB OPTIONS]\n", stderr);
        return EXIT_WRONG_USAGE;
    }
    Arena *arena = arena_new();
    int status = EXIT_WRONG_PROGRAM;
    Graph *graph = graph_of(arena, argv[file]);
    PassContext context = {.graph = graph, .eval = reference_const_eval};
    if (graph && passes_run(&context, after) && load_externs(arena, graph)) {
        ReferenceRun run = {graph, (const char *const *)(argv + file + 1),
                            (size_t)(argc - file - 1)};
        status = reference_run(&run);
        reference_python_close();
    }
    arena_free(arena);
    return status;
}
