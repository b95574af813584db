// Which steps that no block names go to a GPU. A chain of `where`, `derive` and `select` that
// kernels can compute goes there where an estimate (plan_cost.h) says that it is faster by far.
//
// It becomes steps of an `on gpu` block in all but the name: its operators ask for a GPU, so that
// borders appear before and after. Everything after this pass knows only that.
//
// Steps between two blocks join these, where kernels then compute as much of the second one as they
// would have alone. So both blocks are one launch: what the second one reads stays on the GPU.
//
//   on gpu {A} | C | on gpu {B}     columns of A ─▶ rows ─▶ C ─▶ rows ─▶ columns of B
//                                 ▶ columns of A and B ─▶ C on the CPU
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

// A sink that takes what the last operator gives.
static void add_sink(const Places *places, Stage *chain) {
    const Graph *graph = places->plan->graph;
    OpId last = chain->ops[chain->op_count - 1], reader = places->readers[last.i];
    if (op_is_none(reader) || graph_op_at(graph, reader)->kind != OP_SINK) return;
    chain->terminals = arena_new_of(graph->arena, Terminal);
    chain->terminals[0] = (Terminal){.op = last, .consumer = reader, .is_sink = true};
    chain->terminal_count = 1;
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
    add_sink(places, &chain);
    return chain;
}

// Rows of an edge or a sort wait before the chain anyway, and columns of a source need not. What
// comes after it goes on in the same task.
static uint32_t borders_of(const Plan *plan, const Stage *chain) {
    switch (graph_op_at(plan->graph, chain->ops[0])->kind) {
    case OP_LIMIT: case OP_UNION: case OP_SORT: case OP_SHUFFLE: return 0;
    default: return !plan_lays_columns(plan->graph, chain->ops[0]);
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

// ---- steps between two blocks -------------------------------------------------------------------

static const Resources *resources_of(const Places *places, OpId op) {
    const Graph *graph = places->plan->graph;
    return &graph->resources[graph_op_at(graph, op)->resources.i];
}

static bool is_row_by_row(const Places *places, OpId id) {
    const Op *op = graph_op_at(places->plan->graph, id);
    bool is = op->kind == OP_FILTER || op->kind == OP_PROJECT || op->kind == OP_HINT;
    return is && places->plan->usage.ops[id.i];
}

// Adds operators with these resources, from `at` on, and returns what comes after them.
static OpId add_block(const Places *places, Stage *chain, OpId at, ResourcesId resources) {
    while (!op_is_none(at) && is_row_by_row(places, at) &&
           graph_op_at(places->plan->graph, at)->resources.i == resources.i) {
        chain->ops[chain->op_count++] = at;
        at = places->readers[at.i];
    }
    return at;
}

// The first operator of the block that `last` ends.
static OpId first_of_block(const Places *places, OpId last) {
    const Graph *graph = places->plan->graph;
    ResourcesId resources = graph_op_at(graph, last)->resources;
    for (;;) {
        OpId before = graph_op_at(graph, last)->inputs[0];
        if (!is_row_by_row(places, before) || op_is_none(places->readers[before.i]) ||
            graph_op_at(graph, before)->resources.i != resources.i)
            return last;
        last = before;
    }
}

typedef struct Bridge {
    Stage    chain;           // The rows that come, both blocks and what is between them.
    uint32_t begin, end;      // What is between them, by member.
} Bridge;

// False: `first` is not the first of some steps between two blocks that ask for the same.
static bool find_bridge(const Places *places, OpId first, Bridge *to) {
    const Graph *graph = places->plan->graph;
    if (!is_row_by_row(places, first)) return false;
    OpId before = graph_op_at(graph, first)->inputs[0], at = first;
    if (!is_row_by_row(places, before) || resources_of(places, before)->on != ON_GPU ||
        op_is_none(places->readers[before.i]))
        return false;
    ResourcesId block = graph_op_at(graph, before)->resources;
    OpId begin = first_of_block(places, before);
    Stage *chain = &to->chain;
    *chain = (Stage){.kind = STAGE_ROWS, .root = graph_op_at(graph, begin)->inputs[0]};
    chain->ops = arena_new_array(graph->arena, OpId, graph->op_count + 1);
    chain->ops[chain->op_count++] = chain->root;
    add_block(places, chain, begin, block);
    to->begin = chain->op_count;
    while (!op_is_none(at) && is_row_by_row(places, at) &&
           resources_join_block(&graph->resources[block.i], resources_of(places, at))) {
        chain->ops[chain->op_count++] = at;
        at = places->readers[at.i];
    }
    to->end = chain->op_count;
    add_block(places, chain, at, block);
    return to->end > to->begin && chain->op_count > to->end;
}

// How many operators of the second block kernels compute if it stands alone.
static uint32_t computed_alone(const Places *places, const Bridge *bridge) {
    Stage second = bridge->chain;
    second.ops += bridge->end - 1;
    second.op_count -= bridge->end - 1;
    second.root = second.ops[0];
    KernelPart part = plan_kernel_part(places->plan, &second, second.op_count);
    return part.op_count ? part.op_count - 1 : 0;
}

static void join_blocks(const Places *places, OpId first) {
    Graph *graph = places->plan->graph;
    Bridge bridge;
    if (!find_bridge(places, first, &bridge)) return;
    uint32_t alone = computed_alone(places, &bridge);
    KernelPart part = plan_kernel_part(places->plan, &bridge.chain, bridge.chain.op_count);
    if (!alone || part.op_count < bridge.end + alone) return;
    ResourcesId block = graph_op_at(graph, bridge.chain.ops[bridge.begin - 1])->resources;
    for (uint32_t m = bridge.begin; m < bridge.end; m++)
        graph->ops[bridge.chain.ops[m].i].resources = block;
    remark(places->plan->remarks, graph_op_at(graph, first)->span,
           "joins the `on gpu` blocks before and after it: what the second one reads of the first "
           "stays on the GPU");
}

void plan_devices(Plan *plan, PlanOptions options) {
    const Graph *graph = plan->graph;
    Places places = {.plan = plan, .placing = options.placing};
    bool *seen = arena_new_array(graph->arena, bool, graph->op_count + 1);
    find_readers(&places);
    for (size_t i = 0; i < graph->op_count; i++) join_blocks(&places, graph->ops[i].id);
    for (size_t i = 0; i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        if (seen[i] || !may_move(&places, op)) continue;
        Stage chain = chain_from(&places, op);
        KernelPart part = plan_kernel_part(plan, &chain, chain.op_count);
        for (uint32_t m = 1; m < part.op_count; m++) seen[chain.ops[m].i] = true;
        if (part.op_count) place(&places, &chain, &part);
    }
}
