// Fuzzes the lexer, the parser, the tree printer and the formatter: no text may crash them, and a
// text without mistakes keeps its meaning and its layout when it is formatted twice.
//
//     ONLY=parse tests/fuzz/run.sh [SECONDS]
#include "frontend/ast_print.h"
#include "frontend/format.h"
#include "frontend/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Text tree_of(Arena *arena, const AstFile *file) {
    TextBuf buf = {0};
    ast_print(&buf, file);
    return text_buf_take(&buf, arena);
}

// Parses and formats; false when the text has mistakes.
static bool format_text(Arena *arena, Text text, Text *tree, Text *formatted) {
    SourceSet *sources = source_set_new(arena);
    Diags *diags = diags_new(arena, sources);
    AstFile *file = parse_file(arena, sources, source_add(sources, TEXT("fuzz.sbd"), text), diags);
    *tree = tree_of(arena, file);
    TextBuf buf = {0};
    diags_print(&buf, diags, true);
    diags_print_json(&buf, diags);
    text_buf_free(&buf);
    if (diags->errors) return false;
    format_file(&buf, sources, file);
    *formatted = text_buf_take(&buf, arena);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena *arena = arena_new();
    Text text = {(const char *)data, size}, tree, formatted, tree_again, again;
    if (format_text(arena, text, &tree, &formatted)) {
        if (!format_text(arena, formatted, &tree_again, &again)) abort();
        if (!text_eq(tree, tree_again) || !text_eq(formatted, again)) abort();
    }
    arena_free(arena);
    return 0;
}
