// Which steps that no block names go to a GPU. A chain of `where`, `derive` and `select` that
// kernels can compute goes there where an estimate (plan_cost.h) says that it is faster by far.
//
// It becomes steps of an `on gpu` block in all but the name: its operators ask for a GPU, so that
// borders appear before and after. Everything after this pass knows only that.
#include "ir/plan_cost.h"
#include "ir/plan_stages.h"

typedef struct Places {
    Plan       *plan;
    PlanPlacing placing;
    OpId       *readers;   // By operator: who reads its rows; OP_NONE: several do, or nobody.
    bool        asked, there;
    const char *why;       // Where it is not there.
} Places;

static void find_readers(Places *places) {
    const Graph *graph = places->plan->graph;
    uint32_t *counts = arena_new_array(graph->arena, uint32_t, graph->op_count + 1);
    places->readers = arena_new_array(graph->arena, OpId, graph->op_count + 1);
    for (size_t i = 0; i < graph->op_count; i++) places->readers[i] = OP_NONE;
    for (size_t i = 0; i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        for (uint32_t k = 0; places->plan->usage.ops[i] && k < op->input_count; k++) {
            uint32_t from = op->inputs[k].i;
            places->readers[from] = counts[from]++ ? OP_NONE : op->id;
        }
    }
}

static bool may_move(const Places *places, const Op *op) {
    const Graph *graph = places->plan->graph;
    return (op->kind == OP_FILTER || op->kind == OP_PROJECT) && places->plan->usage.ops[op->id.i] &&
           graph->resources[op->resources.i].on == ON_ANY;
}

// The rows that the first one takes, then the steps: as the members of a stage would be.
static Stage chain_from(const Places *places, const Op *first) {
    const Graph *graph = places->plan->graph;
    Stage chain = {.kind = STAGE_ROWS, .root = first->inputs[0]};
    chain.ops = arena_new_array(graph->arena, OpId, graph->op_count + 1);
    chain.ops[chain.op_count++] = first->inputs[0];
    for (OpId at = first->id; !op_is_none(at); at = places->readers[at.i]) {
        const Op *op = graph_op_at(graph, at);
        if (!may_move(places, op) || op->resources.i != first->resources.i) break;
        chain.ops[chain.op_count++] = at;
    }
    return chain;
}

// Rows of an edge or a sort wait before the chain anyway. After it they have to.
static uint32_t borders_of(const Plan *plan, const Stage *chain) {
    switch (graph_op_at(plan->graph, chain->ops[0])->kind) {
    case OP_LIMIT: case OP_UNION: case OP_SORT: case OP_SHUFFLE: return 1;
    default: return 2;
    }
}

// Asked once at most, and only where it matters.
static bool is_there(Places *places) {
    if (!places->asked && places->placing.there)
        places->there = places->placing.there(places->placing.self);
    places->asked = true;
    return places->there;
}

static void move(const Places *places, const Stage *chain, uint32_t count) {
    Graph *graph = places->plan->graph;
    Resources there = graph->resources[graph_op_at(graph, chain->ops[1])->resources.i];
    there.on = ON_PLACED;
    ResourcesId resources = graph_resources(graph, there);
    for (uint32_t m = 1; m < count; m++) graph->ops[chain->ops[m].i].resources = resources;
}

static void place(Places *places, const Stage *chain, const KernelPart *part) {
    const Plan *plan = places->plan;
    PlanCost cost = plan_cost(plan, chain, part, borders_of(plan, chain));
    bool pays = cost_pays(&cost), wanted = places->placing.there;
    if (!pays && !wanted) return;
    bool moves = pays && wanted && is_there(places);
    const char *said = moves               ? "goes to a GPU"
                       : !pays             ? "stays on the CPU"
                       : places->asked     ? "stays on the CPU, as there is no NVRTC"
                                           : "`on gpu`, or `gpus` of --target, would be faster";
    remark(plan->remarks, graph_op_at(plan->graph, chain->ops[1])->span,
           "%s: a row takes %.2f ns of %d cores; with a GPU %.2f: borders and columns %.2f, bus "
           "%.2f, kernels %.2f", said, cost_on_cpu(&cost), COST_CORES, cost_on_gpu(&cost),
           cost.host_ns / COST_CORES, cost.bus_ns, cost.kernel_ns);
    if (moves) move(places, chain, part->op_count);
}

void plan_devices(Plan *plan, PlanOptions options) {
    const Graph *graph = plan->graph;
    Places places = {.plan = plan, .placing = options.placing};
    bool *seen = arena_new_array(graph->arena, bool, graph->op_count + 1);
    find_readers(&places);
    for (size_t i = 0; i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        if (seen[i] || !may_move(&places, op)) continue;
        Stage chain = chain_from(&places, op);
        KernelPart part = plan_kernel_part(plan, &chain);
        for (uint32_t m = 1; m < part.op_count; m++) seen[chain.ops[m].i] = true;
        if (part.op_count) place(&places, &chain, &part);
    }
}
