// The passes in their order, and the loop that runs them.
#include "ir/pass.h"

const Pass passes[] = {
    {"reads", pass_reads,
     .needs = FACT_WRITTEN, .gives = FACT_READS,
     .doc = "which source columns count as read"},
    // A spelling takes away a use of the value, and only what no pass simplified is spelled.
    {"spell", pass_spell,
     .needs = FACT_WRITTEN | FACT_READS, .gives = FACT_SPELLED, .breaks = FACT_WRITTEN,
     .doc = "carry spellings from text sources to text sinks"},
    {"span", pass_span,
     .needs = FACT_SPELLED, .gives = FACT_JOINED, .breaks = FACT_WRITTEN | FACT_LIVE,
     .doc = "join the spellings of columns that a sink copies side by side"},
    {"fold", pass_fold,
     .needs = FACT_READS, .gives = FACT_FOLDED,
     .breaks = FACT_WRITTEN | FACT_LIVE | FACT_MERGED | FACT_PROVEN,
     .doc = "constants, identities and branches that are decided"},
    // Equal work is found where it is written alike. Two branches may have become the same.
    {"cse", pass_cse,
     .needs = FACT_READS | FACT_FOLDED, .gives = FACT_MERGED,
     .breaks = FACT_WRITTEN | FACT_LIVE | FACT_FOLDED,
     .doc = "one node for equal work within an operator"},
    {"prune", pass_prune,
     .needs = FACT_READS, .gives = FACT_LIVE, .breaks = FACT_WRITTEN,
     .doc = "drop columns and operators that nobody reads"},
    // What cannot fault any more may need no `else`, and may be dropped where nobody reads it.
    {"ranges", pass_ranges,
     .needs = FACT_LIVE, .gives = FACT_PROVEN, .breaks = FACT_FOLDED | FACT_LIVE,
     .doc = "prove ranges; a proven range drops the overflow check"},
};

const size_t pass_count = countof(passes);

uint32_t pass_find(Text name) {
    for (uint32_t i = 0; i < pass_count; i++)
        if (text_is(name, passes[i].name)) return i + 1;
    return 0;
}

Facts pass_facts(uint32_t passed) {
    Facts facts = FACT_WRITTEN;
    for (uint32_t i = 0; i < passed; i++)
        facts = facts_after(facts, passes[i].gives, passes[i].breaks);
    return facts;
}

static void verify(const Graph *graph, const char *pass) {
    TextBuf errors = {0};
    bool good = !PASSES_CHECKED || graph_verify(graph, &errors);
    pass_must(good, &errors, "the graph is broken after", pass);
}

bool pass_run(PassContext *context, const Pass *pass, TextBuf *errors) {
    Graph *graph = context->graph;
    if (!facts_meet(graph->facts, pass->needs, pass->name, errors)) return false;
    if (context->remarks) context->remarks->pass = pass->name;
    pass->run(context);
    graph->facts = facts_after(graph->facts, pass->gives, pass->breaks);
    verify(graph, pass->name);
    return true;
}

bool passes_run(PassContext *context, const char *after) {
    Graph *graph = context->graph;
    uint32_t last = after ? pass_find(text_of(after)) : (uint32_t)pass_count;
    if (last == 0) return false;
    verify(graph, "lowering");
    while (graph->passed < last) {
        const Pass *pass = &passes[graph->passed++];
        TextBuf errors = {0};
        bool good = pass_run(context, pass, &errors);
        pass_must(good, &errors, "the order is wrong before", pass->name);
    }
    return true;
}
