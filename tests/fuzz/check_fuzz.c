// Fuzzes everything between a program's text and its graph behind all passes: whatever the text
// says, mistakes are diagnosed and a graph without mistakes keeps the rules of the verifier.
//
//     ONLY=check tests/fuzz/run.sh [SECONDS]
#include "frontend/check.h"
#include "ir/pass.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PROGRAMS_MAX = 64 };

// Reading the library's declarations takes longer than most programs: PROGRAMS_MAX of them share
// an arena, whose types and declarations stay valid as long as it does.
typedef struct Library {
    Arena     *arena;
    TypeTable *types;
    DeclTable *decls;
    uint32_t   uses;
} Library;

static void library_open(Library *library) {
    *library = (Library){.arena = arena_new()};
    library->types = type_table_new(library->arena);
    Diags *diags = diags_new(library->arena, source_set_new(library->arena));
    library->decls = declare_stdlib(library->arena, library->types, diags);
    if (diags->errors) abort();
}

static Program *check_text(const Library *library, Text text, bool with_tests) {
    SourceSet *sources = source_set_new(library->arena);
    Diags *diags = diags_new(library->arena, sources);
    CheckInput input = {.arena = library->arena, .types = library->types, .sources = sources,
                        .diags = diags, .decls = library->decls, .want_tests = with_tests,
                        .table_sink = !with_tests};
    Program *program = check_program(&input, source_add(sources, TEXT("fuzz.sbd"), text));
    TextBuf buf = {0};
    diags_print(&buf, diags, true);
    diags_print_json(&buf, diags);
    text_buf_free(&buf);
    if (!program->graph && !diags->errors) abort();
    return program;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Library library;
    if (library.uses == 0) library_open(&library);
    Text text = {(const char *)data, size};
    Program *program = check_text(&library, text, size % 2 == 0);
    PassContext context = {.graph = program->graph, .remarks = remarks_new(library.arena)};
    if (program->graph && !passes_run(&context, nullptr)) abort();
    if (++library.uses == PROGRAMS_MAX) {
        arena_free(library.arena);
        library.uses = 0;
    }
    return 0;
}
