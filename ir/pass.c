// The passes in their order, and the loop that runs them.
#include "ir/pass.h"

#include <stdio.h>
#include <stdlib.h>

const Pass passes[] = {
    {"reads",  "which source columns count as read", pass_reads},
    {"spell",  "carry spellings from text sources to text sinks", pass_spell},
    {"span",   "join the spellings of columns that a sink copies side by side", pass_span},
    {"fold",   "constants, identities and branches that are decided", pass_fold},
    {"cse",    "one node for equal work within an operator", pass_cse},
    {"prune",  "drop columns and operators that nobody reads", pass_prune},
    {"ranges", "prove ranges; a proven range drops the overflow check", pass_ranges},
};

const size_t pass_count = countof(passes);

#ifdef NDEBUG
static void verify(const Graph *graph, const char *after) { (void)graph, (void)after; }
#else
static void verify(const Graph *graph, const char *after) {
    TextBuf errors = {0};
    if (!graph_verify(graph, &errors)) {
        fprintf(stderr, "sbc: the graph is broken after %s:\n%.*s", after, (int)errors.len,
                errors.at);
        abort();
    }
    text_buf_free(&errors);
}
#endif

uint32_t pass_find(Text name) {
    for (uint32_t i = 0; i < pass_count; i++)
        if (text_is(name, passes[i].name)) return i + 1;
    return 0;
}

bool passes_run(PassContext *context, const char *after) {
    Graph *graph = context->graph;
    uint32_t last = after ? pass_find(text_of(after)) : (uint32_t)pass_count;
    if (last == 0) return false;
    verify(graph, "lowering");
    while (graph->passed < last) {
        const Pass *pass = &passes[graph->passed++];
        if (context->remarks) context->remarks->pass = pass->name;
        pass->run(context);
        verify(graph, pass->name);
    }
    return true;
}
