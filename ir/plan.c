// The driver of planning: which operator's rows are pushed on, and where a border stands.
//
//   graph -> steps for GPUs (plan_devices.c)
//         -> stages of fused operators (plan.c over plan_stages.c) -> first rows (plan_first.c)
//         -> joins that ask first (plan_askers.c) -> layouts (plan_layout.c)
//         -> counts (plan_counts.c) -> column loops (plan_columns.c) -> kernels (plan_kernels.c)
//         -> memory (plan_layout.c)
#include "ir/plan_stages.h"

static const char because_group[] = "grouping needs every row before its first result";
static const char because_distinct[] = "the first row of each key is known only at the end";
static const char because_sort[] = "sorting needs every row before its first result";
static const char because_window[] = "a window needs every row of a partition, in order";
static const char because_join[] = "the right side of a join is kept as a table";
static const char because_limit[] = "rows are counted in order";
static const char because_union[] = "the rows of one flow come before those of the other";
static const char because_zip[] = "rows are paired by position";
static const char because_resources[] = "its steps ask for other resources";
static const char because_device[] = "its steps are for another kind of processor";
static const char because_timeout[] =
    "its foreign code has a time limit, and runs in a worker process";
static const char because_partition[] = "its partitions have another size";
static const char because_fork[] =
    "a limit may end this branch before the others, which share no step with it then";
static const char because_batch[] = "its function takes rows batch by batch";
static const char because_off[] = "fusion is off";
static const char because_wait[] =
    "the join waits for a table that the same rows fill, so they wait, on disk if need be";
static const char because_order[] = "the same rows are wanted at two places of one order";

// Does a breaker keep the rows of `op` as they are?
static bool is_kept(const Planner *planner, OpId op) {
    const Maker *maker = &planner->makers[op.i];
    const Stage *reader = &planner->plan->stages[maker->stages[0]];
    return maker->count == 1 && reader->kind == STAGE_ROWS && reader->root.i == op.i;
}

// Puts a border after `op`: its rows wait in an edge, from which a new stage goes on. Or, `kept`,
// they are read once more from the breaker that keeps them.
static void cut_at(Planner *planner, OpId op, OpId consumer, const char *reason, bool kept) {
    Maker *maker = &planner->makers[op.i];
    Stage reader = planner->plan->stages[maker->stages[0]];
    if (!kept && planner->edges[op.i] == BREAKER_NONE) {
        Breaker edge = {.kind = BREAK_EDGE, .op = op, .keeps_op = true};
        planner->edges[op.i] = stages_breaker(planner, edge);
        stages_feed(planner, op, op, 0, planner->edges[op.i]);
    }
    Stage stage = {
        .kind = STAGE_ROWS, .breaker = planner->edges[op.i], .zip_breaker = BREAKER_NONE};
    if (kept) stage.breaker = reader.breaker, stage.zip_breaker = reader.zip_breaker;
    *maker = (Maker){0};
    uint32_t made = stages_make(planner, op, stage);
    if (stage.zip_breaker != BREAKER_NONE) stages_need(planner, made, stage.zip_breaker);
    stages_remark(planner, op, consumer, reason);
}

static void cut(Planner *planner, OpId op, OpId consumer, const char *reason) {
    cut_at(planner, op, consumer, reason, is_kept(planner, op));
}

// Has the stage nothing to do yet but to hand on finished rows?
static bool is_fresh(const Stage *stage) {
    return stage->kind != STAGE_SCAN && stage->op_count == 1 && stage->terminal_count == 0;
}

// Does the operator push its rows on without a border of its own?
static bool streams(OpKind kind) {
    switch (kind) {
    case OP_SOURCE: case OP_FILTER: case OP_PROJECT: case OP_EXPLODE: case OP_SAMPLE:
    case OP_HINT: case OP_JOIN:
        return true;
    case OP_GROUP: case OP_SORT: case OP_LIMIT: case OP_DISTINCT: case OP_UNION: case OP_ZIP:
    case OP_SHUFFLE: case OP_SINK: case OP_WINDOW:
        return false;
    }
    return false;
}

// Do rows of the operator come to a limit without waiting in a breaker?
static bool leads_to_limit(const Graph *graph, OpId id) {
    for (uint32_t i = id.i + 1; i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        for (uint32_t k = 0; k < op->input_count; k++) {
            bool table = op->kind == OP_JOIN && k == 1;
            bool passes = streams(op->kind) || op->kind == OP_UNION || op->kind == OP_ZIP;
            if (op->inputs[k].i != id.i || table) continue;
            if (op->kind == OP_LIMIT || (passes && leads_to_limit(graph, op->id))) return true;
        }
    }
    return false;
}

static uint32_t count_consumers(const Plan *plan, OpId id) {
    uint32_t consumers = 0;
    for (uint32_t i = id.i + 1; i < plan->graph->op_count; i++) {
        const Op *op = &plan->graph->ops[i];
        for (uint32_t k = 0; plan->usage.ops[i] && k < op->input_count; k++)
            consumers += op->inputs[k].i == id.i;
    }
    return consumers;
}

// Of several consumers of the same rows, does this one lead to a limit by steps of its own?
static bool is_limited_branch(const Plan *plan, const Op *op) {
    return count_consumers(plan, op->inputs[0]) > 1 && streams(op->kind) &&
           leads_to_limit(plan->graph, op->id);
}

// Does the operator begin what is meant for another kind of processor?
static bool changes_device(const Graph *graph, const Op *op) {
    const Op *before = graph_op_at(graph, op->inputs[0]);
    return resources_for_gpu(&graph->resources[op->resources.i]) !=
           resources_for_gpu(&graph->resources[before->resources.i]);
}

// The steps before may be work of a block's tasks as well, but they are no part of this block.
static bool enters_block(const Graph *graph, const Op *op) {
    return resources_for_gpu(&graph->resources[op->resources.i]) && changes_device(graph, op);
}

// Does the stage begin with rows of an edge, and of one?
static bool is_between_edges(const Plan *plan, const Stage *stage) {
    return stage->kind == STAGE_ROWS && stage->zip_breaker == BREAKER_NONE &&
           plan->breakers[stage->breaker].kind == BREAK_EDGE;
}

// Do tasks that launch kernels go on with the operator themselves? Foreign code has stages of its
// own.
static bool follows_block(const Plan *plan, const Stage *stage, const Op *op) {
    return resources_join_block(&plan->graph->resources[stage->resources.i],
                                &plan->graph->resources[op->resources.i]) &&
           !is_fresh(stage) && stage->timeout == 0 && !op_is_foreign(plan->graph, op);
}

// Do tasks that launch kernels read the rows themselves? Where a source has columns, and the block
// takes as many rows as there are.
static bool begins_block(const Plan *plan, const Stage *stage, const Op *op) {
    const Resources *block = &plan->graph->resources[op->resources.i];
    return stage->kind == STAGE_SCAN && stage->op_count == 1 && !stage->terminal_count &&
           stage->root.i == op->inputs[0].i && count_consumers(plan, stage->root) == 1 &&
           plan_lays_columns(plan->graph, stage->root) &&
           resources_join_block(block, &plan->graph->resources[stage->resources.i]) &&
           !block->batch;
}

// The makers of the operator's first input must hold what the operator asks for.
static void border(Planner *planner, const Op *op) {
    Plan *plan = planner->plan;
    const Resources *wanted = &plan->graph->resources[op->resources.i];
    const Maker *maker = &planner->makers[op->inputs[0].i];
    bool other = false, apart = false;
    int64_t timeout = op_is_foreign(plan->graph, op) ? wanted->timeout : 0;
    for (uint32_t i = 0; i < maker->count; i++) {
        Stage *stage = &plan->stages[maker->stages[i]];
        bool one = maker->count == 1;
        if (one && follows_block(plan, stage, op)) continue;
        bool fresh = is_fresh(stage) || (one && begins_block(plan, stage, op));
        other |= !fresh && enters_block(plan->graph, op);
        if (fresh) stage->resources = op->resources;
        // Between two edges a stage may run in any process, whatever its rows come from.
        if (fresh && is_between_edges(plan, stage)) stage->timeout = timeout;
        other |= !resources_same_slots(&plan->graph->resources[stage->resources.i], wanted);
        apart |= stage->timeout != timeout && op->kind != OP_SINK;
    }
    if (!other && !apart) return;
    const char *because = apart                            ? because_timeout
                          : changes_device(plan->graph, op) ? because_device
                                                            : because_resources;
    // What reads a group, sort or join runs in the job itself, so rows of it are handed on first.
    cut_at(planner, op->inputs[0], op->id, because, !apart && is_kept(planner, op->inputs[0]));
    Stage *made = &plan->stages[maker->stages[0]];
    made->resources = op->resources;
    made->timeout = timeout;
}

// A function over batches takes its arguments from the entries of an edge.
static void gather(Planner *planner, const Op *op) {
    const Plan *plan = planner->plan;
    const Maker *maker = &planner->makers[op->inputs[0].i];
    const Stage *stage = &plan->stages[maker->stages[0]];
    bool gathered = maker->count == 1 && is_fresh(stage) && stage->kind == STAGE_ROWS &&
                    stage->root.i == op->inputs[0].i && stage->zip_breaker == BREAKER_NONE &&
                    plan->breakers[stage->breaker].kind == BREAK_EDGE;
    if (gathered) return;
    int64_t timeout = stage->timeout;
    cut(planner, op->inputs[0], op->id, because_batch);
    plan->stages[maker->stages[0]].resources = op->resources;
    plan->stages[maker->stages[0]].timeout = timeout;
}

// Does the stage begin with rows that can be taken in any number?
static bool takes_rows(const Plan *plan, const Stage *stage) {
    const Op *root = graph_op_at(plan->graph, stage->root);
    return is_fresh(stage) ||
           (stage->kind == STAGE_SCAN && root->source.kind != SOURCE_FILES &&
            stage->op_count == 1 && !stage->terminal_count);
}

// The stages that make the rows of `stage`, or itself where it makes them, cut what they hand over.
static void cut_output(Plan *plan, uint32_t index, ExprId bytes) {
    Stage *stage = &plan->stages[index];
    if (!is_fresh(stage)) stage->cut_bytes = bytes;
    for (size_t i = 0; is_fresh(stage) && i < plan->stage_count; i++)
        if (stages_feeds(&plan->stages[i], stage->breaker)) plan->stages[i].cut_bytes = bytes;
}

// `repartition`: the stages after take so many rows at a time, or those before cut their output
// at so many bytes.
static void partition(Planner *planner, const Op *op) {
    Plan *plan = planner->plan;
    const Maker *maker = &planner->makers[op->inputs[0].i];
    bool rows = !expr_is_none(op->hint.rows), bytes = !expr_is_none(op->hint.bytes), begins = true;
    if (!rows && !bytes) return;
    for (uint32_t i = 0; i < maker->count; i++) {
        const Stage *stage = &plan->stages[maker->stages[i]];
        begins &= rows ? takes_rows(plan, stage) : is_fresh(stage);
        if (bytes) cut_output(plan, maker->stages[i], op->hint.bytes);
    }
    if (!begins) {
        cut(planner, op->inputs[0], op->id, because_partition);
        plan->stages[maker->stages[0]].resources = op->resources;
    }
    for (uint32_t i = 0; rows && i < maker->count; i++)
        plan->stages[maker->stages[i]].unit_rows = op->hint.rows;
}

static void make_reader(Planner *planner, const Op *op, StageInputKind kind, uint32_t breaker) {
    Stage stage = {.kind = kind, .breaker = breaker, .zip_breaker = BREAKER_NONE,
                   .counts_root = true};
    stages_make(planner, op->id, stage);
}

// A breaker that takes all rows of the operator's first input and from which a stage goes on.
static void break_at(Planner *planner, const Op *op, BreakerKind kind, const char *reason) {
    Breaker breaker = {.kind = kind, .op = op->id, .limited = op->kind == OP_LIMIT,
                       .first = OP_NONE};
    uint32_t index = stages_breaker(planner, breaker);
    stages_feed(planner, op->inputs[0], op->id, 0, index);
    make_reader(planner, op, STAGE_ROWS, index);
    stages_remark(planner, op->inputs[0], op->id, reason);
}

static void plan_union(Planner *planner, const Op *op) {
    uint32_t index = stages_breaker(planner, (Breaker){.kind = BREAK_EDGE, .op = op->id});
    stages_feed(planner, op->inputs[0], op->id, 0, index);
    Maker *right = &planner->makers[op->inputs[1].i];
    Maker left = planner->makers[op->inputs[0].i], shared = *right;
    if (!stages_order(planner, &left, right)) {
        cut(planner, op->inputs[1], op->id, because_order);
        stages_order(planner, &left, right);
    }
    stages_feed(planner, op->inputs[1], op->id, 1, index);
    *right = shared;
    make_reader(planner, op, STAGE_ROWS, index);
    for (uint32_t i = 0; i < 2; i++) stages_remark(planner, op->inputs[i], op->id, because_union);
}

static void plan_zip(Planner *planner, const Op *op) {
    uint32_t edges[2];
    for (uint32_t i = 0; i < 2; i++) {
        Breaker edge = {.kind = BREAK_EDGE, .op = op->id, .input = i};
        // Each side is one stage: what pairs the rows knows one order of them.
        if (planner->makers[op->inputs[i].i].count > 1)
            cut(planner, op->inputs[i], op->id, because_zip);
        edges[i] = stages_breaker(planner, edge);
        stages_feed(planner, op->inputs[i], op->id, i, edges[i]);
        stages_remark(planner, op->inputs[i], op->id, because_zip);
    }
    Stage stage = {.kind = STAGE_ROWS, .breaker = edges[0], .zip_breaker = edges[1],
                   .counts_root = true};
    uint32_t made = stages_make(planner, op->id, stage);
    stages_need(planner, made, edges[1]);
}

// Where a condition says which rows match, what it is judged for.
static void say_pairs(const Planner *planner, const Op *op) {
    const Graph *graph = planner->plan->graph;
    if (expr_is_none(op->join.where) && !join_is_nearest(op)) return;
    JoinBound bounds[JOIN_BOUNDS_MAX];
    uint32_t bound_count = plan_join_bounds(graph, op, bounds);
    bool keyed = false;
    for (uint32_t k = 0; k < op->join.key_count; k++)
        keyed |= graph_at(graph, op->join.left[k])->op != EXPR_CONST ||
                 graph_at(graph, op->join.right[k])->op != EXPR_CONST;
    const char *rows = keyed ? "right rows with the keys of the left row" : "all right rows";
    if (join_is_nearest(op))
        remark(planner->plan->remarks, op->span,
               "it seeks the nearest of %s, in steps of the order of the logarithm", rows);
    else if (bound_count)
        remark(planner->plan->remarks, op->span,
               "its condition is judged for %s; rows side by side that are all too low or too high "
               "are passed over%s", rows,
               plan_join_indexed(op, bound_count)
                   ? ", and where right rows come in no order an index finds those to judge" : "");
    else
        remark(planner->plan->remarks, op->span, "its condition is judged for %s", rows);
}

static void plan_join(Planner *planner, const Op *op) {
    say_pairs(planner, op);
    Breaker table = {.kind = BREAK_JOIN, .op = op->id, .input = 1};
    uint32_t index = stages_breaker(planner, table);
    stages_feed(planner, op->inputs[1], op->id, 1, index);
    stages_remark(planner, op->inputs[1], op->id, because_join);
    if (stages_would_wait(planner, op->inputs[0], index))
        cut(planner, op->inputs[0], op->id, because_wait);
    stages_extend(planner, op->inputs[0], op->id);
    const Maker *probing = &planner->makers[op->id.i];
    for (uint32_t i = 0; i < probing->count; i++) stages_need(planner, probing->stages[i], index);
    if (op->join.kind == JOIN_RIGHT || op->join.kind == JOIN_FULL)
        make_reader(planner, op, STAGE_UNMATCHED, index);
}

static void plan_source(Planner *planner, const Op *op) {
    Plan *plan = planner->plan;
    uint32_t index = (uint32_t)plan->source_count;
    arena_push(planner->arena, plan->sources, plan->source_count, plan->source_cap, op->id);
    Stage stage = {.kind = STAGE_SCAN, .source = index, .zip_breaker = BREAKER_NONE,
                   .counts_root = true};
    stages_make(planner, op->id, stage);
}

static void plan_sink(Planner *planner, const Op *op) {
    Plan *plan = planner->plan;
    uint32_t index = (uint32_t)plan->sink_count;
    arena_push(planner->arena, plan->sinks, plan->sink_count, plan->sink_cap, op->id);
    if (!expr_is_none(op->sink.key))
        remark(plan->remarks, op->span, "its rows are sorted by their path: one file is open at a "
               "time");
    stages_feed_sink(planner, op->inputs[0], op->id, index);
}

// Operators that work on the rows of their first input in the stages that make these.
static void plan_work(Planner *planner, const Op *op) {
    const Plan *plan = planner->plan;
    Maker *maker = &planner->makers[op->inputs[0].i], shared = *maker;
    border(planner, op);
    if (is_limited_branch(plan, op)) cut(planner, op->inputs[0], op->id, because_fork);
    switch (op->kind) {
    case OP_HINT: partition(planner, op); stages_extend(planner, op->inputs[0], op->id); break;
    case OP_PROJECT:
        if (op_batch_call(plan->graph, op, plan->usage.columns[op->id.i])) gather(planner, op);
        stages_extend(planner, op->inputs[0], op->id);
        break;
    case OP_FILTER: case OP_EXPLODE: case OP_SAMPLE:
        stages_extend(planner, op->inputs[0], op->id);
        break;
    case OP_GROUP: break_at(planner, op, BREAK_GROUP, because_group); break;
    case OP_DISTINCT: break_at(planner, op, BREAK_GROUP, because_distinct); break;
    case OP_SORT: case OP_SHUFFLE: break_at(planner, op, BREAK_SORT, because_sort); break;
    case OP_WINDOW: break_at(planner, op, BREAK_SORT, because_window); break;
    case OP_JOIN: plan_join(planner, op); break;
    case OP_SINK: plan_sink(planner, op); break;
    case OP_SOURCE: case OP_LIMIT: case OP_UNION: case OP_ZIP: break;
    }
    *maker = shared;
}

static void plan_op(Planner *planner, const Op *op) {
    switch (op->kind) {
    case OP_SOURCE: plan_source(planner, op); break;
    case OP_LIMIT: break_at(planner, op, BREAK_EDGE, because_limit); break;
    case OP_UNION: plan_union(planner, op); break;
    case OP_ZIP: plan_zip(planner, op); break;
    case OP_FILTER: case OP_PROJECT: case OP_EXPLODE: case OP_SAMPLE: case OP_HINT: case OP_GROUP:
    case OP_DISTINCT: case OP_SORT: case OP_SHUFFLE: case OP_JOIN: case OP_SINK: case OP_WINDOW:
        plan_work(planner, op);
        break;
    }
}

static bool *find_fails(const Graph *graph) {
    bool *fails = arena_new_array(graph->arena, bool, graph->op_count);
    for (size_t i = graph->op_count; i-- > 0;) {
        const Op *op = &graph->ops[i];
        for (uint32_t k = 0; k < op->input_count; k++)
            if (op->kind == OP_ZIP || fails[i]) fails[op->inputs[k].i] = true;
    }
    return fails;
}

void plan_fuse(Plan *plan, PlanOptions options) {
    enum { APART_MAX = 40 };  // Of stages; a job has not many more.
    const Graph *graph = plan->graph;
    Planner planner = stages_begin(plan);
    for (size_t i = 0; i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        if (!plan->usage.ops[i]) continue;
        plan_op(&planner, op);
        bool apart = options.no_fuse && streams(op->kind) && !leads_to_limit(graph, op->id) &&
                     plan->stage_count < APART_MAX;
        if (apart) cut(&planner, op->id, op->id, because_off);
    }
    stages_finish(&planner);
}

// ---- the passes ----

const PlanPass plan_passes[] = {
    {"devices", plan_devices,
     .doc = "steps that no block names and that a GPU would compute faster go there"},
    {"fuse", plan_fuse,
     .gives = FACT_STAGES,
     .doc = "operators into stages; a border where rows must wait"},
    {"first", plan_first,
     .needs = FACT_STAGES,
     .doc = "sorts of which a limit or a window takes the first rows"},
    {"askers", plan_askers,
     .needs = FACT_STAGES,
     .doc = "joins whose left rows say first which keys they look up"},
    {"layout", plan_layout,
     .needs = FACT_STAGES, .gives = FACT_ENTRIES,
     .doc = "what breakers and edges keep of a row, and where"},
    {"counts", plan_counts,
     .needs = FACT_STAGES, .gives = FACT_COUNTED,
     .doc = "steps that must count the rows that come in"},
    // An aggregate without a state adds up no column.
    {"columns", plan_columns,
     .needs = FACT_STAGES | FACT_ENTRIES, .gives = FACT_LOOPS,
     .doc = "the leading steps that run as loops over columns"},
    {"kernels", plan_kernels,
     .needs = FACT_STAGES, .gives = FACT_KERNELS,
     .doc = "the leading steps of a stage for a GPU that kernels compute"},
    {"exchange", plan_exchange,
     .needs = FACT_STAGES | FACT_ENTRIES, .gives = FACT_PLACED,
     .doc = "which stages workers may run, and how rows of breakers are shared out"},
    {"memory", plan_memory,
     .needs = FACT_STAGES, .gives = FACT_SIZED,
     .doc = "widths of rows, and what the job needs at least"},
};

const size_t plan_pass_count = countof(plan_passes);

uint32_t plan_pass_find(Text name) {
    for (uint32_t i = 0; i < plan_pass_count; i++)
        if (text_is(name, plan_passes[i].name)) return i + 1;
    return 0;
}

static void verify(const Plan *plan, const char *pass) {
    TextBuf errors = {0};
    bool good = !PASSES_CHECKED || plan_verify(plan, &errors);
    pass_must(good, &errors, "the plan is broken after", pass);
}

bool plan_pass_run(Plan *plan, const PlanPass *pass, PlanOptions options, TextBuf *errors) {
    if (!facts_meet(plan->facts, pass->needs, pass->name, errors)) return false;
    if (plan->remarks) plan->remarks->pass = pass->name;
    pass->run(plan, options);
    plan->facts |= pass->gives;
    verify(plan, pass->name);
    return true;
}

Plan *plan_make(Graph *graph, PlanOptions options) {
    Plan *plan = arena_new_of(graph->arena, Plan);
    *plan = (Plan){.graph = graph, .usage = graph_usage(graph), .fails = find_fails(graph),
                   .remarks = options.remarks};
    size_t last = options.last ? options.last : plan_pass_count;
    while (plan->passed < last) {
        const PlanPass *pass = &plan_passes[plan->passed++];
        TextBuf errors = {0};
        bool good = plan_pass_run(plan, pass, options, &errors);
        pass_must(good, &errors, "the order is wrong before", pass->name);
    }
    return plan;
}
