#include "driver/read_graph.h"

#include "ir/pass.h"

#include <string.h>

bool is_graph_text(const char *name) {
    size_t len = strlen(name);
    return len > 3 && strcmp(name + len - 3, ".ir") == 0;
}

// The files by their numbers in the graph, empty where they are no more; then the text itself, on
// which a job depends too.
static SourceSet *sources_of(const Session *s, const Graph *graph) {
    SourceSet *sources = source_set_new(s->arena);
    for (size_t i = 0; i < graph->file_count; i++) {
        uint32_t file;
        if (!source_load(sources, graph->files[i], &file))
            source_add(sources, graph->files[i], TEXT(""));
    }
    source_add(sources, s->sources->files[s->file].path, s->sources->files[s->file].text);
    return sources;
}

static void refuse(const Session *s, const GraphFault *fault, size_t end, const char *fix) {
    Span span = {(uint32_t)fault->place, (uint32_t)end, s->file};
    Diag *diag = diag_add(s->diags, DIAG_GRAPH_TEXT, span, "%.*s", (int)fault->message.len,
                          fault->message.at);
    diag_fix(s->diags, diag, "%s", fix);
}

Program *read_graph(Session *s) {
    Program *program = arena_new_of(s->arena, Program);
    *program = (Program){.table = OP_NONE};
    Text text = s->sources->files[s->file].text;
    GraphFault fault = {0};
    Graph *graph = graph_read(s->arena, s->types, text, &fault);
    if (!graph) {
        refuse(s, &fault, fault.place + 1, "docs/ir.md specifies the form");
    } else if (!graph_verify(graph, &fault.message)) {
        while (fault.message.len && fault.message.at[fault.message.len - 1] == '\n')
            fault.message.len--;
        fault.place = 0;
        refuse(s, &fault, strcspn(text_c(s->arena, text), "\n"),
               "the graph reads well and breaks a rule of docs/ir.md");
    } else {
        program->graph = graph;
        s->sources = sources_of(s, graph);
    }
    text_buf_free(&fault.message);
    return program;
}
