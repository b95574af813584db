// The graphs of tests/ir/ in tests: their texts, and reading one.
#ifndef SBC_TESTS_UNIT_GRAPH_TEXTS_H
#define SBC_TESTS_UNIT_GRAPH_TEXTS_H

#include "ir/pass.h"
#include "tests/unit/unit.h"

#include <dirent.h>

static Text file_text(Arena *arena, const char *path) {
    FILE *file = fopen(path, "rb");
    TextBuf buf = {0};
    for (int c; file && (c = getc(file)) != EOF;) text_buf_char(&buf, (char)c);
    if (file) fclose(file);
    return text_buf_take(&buf, arena);
}

static Graph *read_text(Arena *arena, Text text) {
    GraphFault fault = {0};
    Graph *graph = graph_read(arena, type_table_new(arena), text, &fault);
    TextBuf *said = &fault.message;
    CHECK_SAYS(graph, "%.*s", (int)said->len, said->at);
    if (graph) CHECK_SAYS(graph_verify(graph, said), "%.*s", (int)said->len, said->at);
    text_buf_free(said);
    return graph;
}

static Text print_text(Arena *arena, const Graph *graph) {
    TextBuf buf = {0};
    graph_print(&buf, graph);
    return text_buf_take(&buf, arena);
}

// Calls `see` with each tests/ir/*.ir, and an arena that lives as long as the call.
typedef void SeeFile(void *self, const char *path, Arena *arena, Text text);
static void each_file(void *self, SeeFile *see) {
    static const char folder[] = "tests/ir";
    DIR *dir = opendir(folder);
    CHECK_SAYS(dir, "run it from the root of the repository\n");
    size_t seen = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t len = strlen(entry->d_name);
        if (len < 3 || strcmp(entry->d_name + len - 3, ".ir") != 0) continue;
        Arena *arena = arena_new();
        Text path = text_format(arena, "%s/%s", folder, entry->d_name);
        see(self, text_c(arena, path), arena, file_text(arena, text_c(arena, path)));
        arena_free(arena);
        seen++;
    }
    if (dir) closedir(dir);
    CHECK(seen > 0);
}

#endif
