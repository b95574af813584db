// The passes in their order, and the loop that runs them.
#include "ir/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool known(const char *name) {
    for (size_t i = 0; i < pass_count; i++)
        if (strcmp(passes[i].name, name) == 0) return true;
    return false;
}

bool passes_run(PassContext *context, const char *after) {
    if (after && !known(after)) return false;
    verify(context->graph, "lowering");
    for (size_t i = 0; i < pass_count; i++) {
        if (context->remarks) context->remarks->pass = passes[i].name;
        passes[i].run(context);
        verify(context->graph, passes[i].name);
        if (after && strcmp(passes[i].name, after) == 0) break;
    }
    return true;
}
