// Stages under construction, what they wait for and the order of their rows.
#include "ir/plan_stages.h"

#include <assert.h>

Planner stages_begin(Plan *plan) {
    Arena *arena = plan->graph->arena;
    size_t count = plan->graph->op_count;
    Planner planner = {.plan = plan, .arena = arena, .makers = arena_new_array(arena, Maker, count),
                       .edges = arena_new_array(arena, uint32_t, count)};
    for (size_t i = 0; i < count; i++) planner.edges[i] = BREAKER_NONE;
    return planner;
}

static Text op_label(const Graph *graph, OpId id) {
    const Op *op = graph_op_at(graph, id);
    return op->step.i < graph->step_count ? graph->steps[op->step.i].label
                                          : text_of(op_kind_name(op->kind));
}

static void add_member(Planner *planner, uint32_t stage, OpId op) {
    Stage *to = &planner->plan->stages[stage];
    size_t cap = to->op_count;
    to->ops = arena_grow(planner->arena, to->ops, sizeof *to->ops, alignof(OpId), &cap,
                         to->op_count + 1);
    to->ops[to->op_count++] = op;
}

uint32_t stages_make(Planner *planner, OpId root, Stage stage) {
    Plan *plan = planner->plan;
    uint32_t index = (uint32_t)plan->stage_count;
    stage.root = root;
    stage.resources = graph_op_at(plan->graph, root)->resources;
    stage.unit_rows = stage.cut_bytes = EXPR_NONE;
    if (stage.kind == STAGE_SCAN) stage.breaker = BREAKER_NONE;
    arena_push(planner->arena, plan->stages, plan->stage_count, plan->stage_cap, stage);
    add_member(planner, index, root);
    Maker *maker = &planner->makers[root.i];
    if (maker->count) {
        Order order = {maker->stages[maker->count - 1], index};
        arena_push(planner->arena, planner->orders, planner->order_count, planner->order_cap,
                   order);
    }
    arena_push(planner->arena, maker->stages, maker->count, maker->cap, index);
    return index;
}

uint32_t stages_breaker(Planner *planner, Breaker breaker) {
    Plan *plan = planner->plan;
    breaker.label = op_label(plan->graph, breaker.op);
    breaker.asker = STAGE_NONE;
    arena_push(planner->arena, plan->breakers, plan->breaker_count, plan->breaker_cap, breaker);
    return (uint32_t)plan->breaker_count - 1;
}

void stages_extend(Planner *planner, OpId from, OpId op) {
    const Maker *maker = &planner->makers[from.i];
    Maker *made = &planner->makers[op.i];
    for (uint32_t i = 0; i < maker->count; i++) {
        add_member(planner, maker->stages[i], op);
        arena_push(planner->arena, made->stages, made->count, made->cap, maker->stages[i]);
    }
}

static void add_terminal(Planner *planner, uint32_t stage, Terminal terminal) {
    Stage *to = &planner->plan->stages[stage];
    size_t cap = to->terminal_count;
    to->terminals = arena_grow(planner->arena, to->terminals, sizeof *to->terminals,
                               alignof(Terminal), &cap, to->terminal_count + 1);
    to->terminals[to->terminal_count++] = terminal;
}

void stages_feed(Planner *planner, OpId from, OpId consumer, uint32_t input, uint32_t breaker) {
    Terminal terminal = {.index = breaker, .op = from, .consumer = consumer, .input = input};
    const Maker *maker = &planner->makers[from.i];
    for (uint32_t i = 0; i < maker->count; i++) add_terminal(planner, maker->stages[i], terminal);
    planner->plan->breakers[breaker].producers += (uint32_t)maker->count;
}

void stages_feed_sink(Planner *planner, OpId from, OpId sink, uint32_t index) {
    Terminal terminal = {.is_sink = true, .index = index, .op = from, .consumer = sink};
    const Maker *maker = &planner->makers[from.i];
    for (uint32_t i = 0; i < maker->count; i++) add_terminal(planner, maker->stages[i], terminal);
}

void stages_need(Planner *planner, uint32_t stage, uint32_t breaker) {
    Stage *to = &planner->plan->stages[stage];
    size_t cap = to->need_count;
    to->needs = arena_grow(planner->arena, to->needs, sizeof *to->needs, alignof(uint32_t), &cap,
                           to->need_count + 1);
    to->needs[to->need_count++] = breaker;
}

void stages_remark(Planner *planner, OpId producer, OpId consumer, const char *reason) {
    const Plan *plan = planner->plan;
    bool kept = producer.i == consumer.i;  // The border is after it, whoever reads its rows.
    remark(plan->remarks, graph_op_at(plan->graph, consumer)->span, "%s: %s",
           kept ? "a stage ends after it" : "a stage ends before it", reason);
}

// ---- waiting ----

bool stages_feeds(const Stage *stage, uint32_t breaker) {
    for (uint32_t i = 0; i < stage->terminal_count; i++)
        if (!stage->terminals[i].is_sink && stage->terminals[i].index == breaker) return true;
    return false;
}

static bool needs(const Stage *stage, uint32_t breaker) {
    for (uint32_t i = 0; i < stage->need_count; i++)
        if (stage->needs[i] == breaker) return true;
    return false;
}

// Does `stage` start only when `other` is done?
static bool waits_for(const Stage *stage, const Stage *other) {
    if (stage->kind != STAGE_SCAN && stages_feeds(other, stage->breaker)) return true;
    for (uint32_t i = 0; i < stage->need_count; i++)
        if (stages_feeds(other, stage->needs[i])) return true;
    return stage->kind == STAGE_UNMATCHED && needs(other, stage->breaker);
}

// Marks all stages that must be done before those marked already.
static void mark_waited(const Plan *plan, bool *marked) {
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < plan->stage_count; i++) {
            if (!marked[i]) continue;
            for (size_t j = 0; j < plan->stage_count; j++) {
                if (marked[j] || !waits_for(&plan->stages[i], &plan->stages[j])) continue;
                marked[j] = more = true;
            }
        }
    }
}

bool stages_would_wait(const Planner *planner, OpId from, uint32_t breaker) {
    const Plan *plan = planner->plan;
    bool *marked = arena_new_array(planner->arena, bool, plan->stage_count);
    for (size_t i = 0; i < plan->stage_count; i++)
        marked[i] = stages_feeds(&plan->stages[i], breaker);
    mark_waited(plan, marked);
    const Maker *maker = &planner->makers[from.i];
    for (uint32_t i = 0; i < maker->count; i++)
        if (marked[maker->stages[i]]) return true;
    return false;
}

// ---- order ----

// Is there a chain of orders from stage `first` to stage `second`? A stage is before itself.
static bool before(const Planner *planner, uint32_t first, uint32_t second) {
    bool *marked = arena_new_array(planner->arena, bool, planner->plan->stage_count);
    marked[first] = true;
    for (bool more = true; more && !marked[second];) {
        more = false;
        for (size_t i = 0; i < planner->order_count; i++) {
            Order order = planner->orders[i];
            if (!marked[order.first] || marked[order.second]) continue;
            marked[order.second] = more = true;
        }
    }
    return marked[second];
}

bool stages_order(Planner *planner, const Maker *left, const Maker *right) {
    for (uint32_t i = 0; i < left->count; i++)
        for (uint32_t j = 0; j < right->count; j++)
            if (before(planner, right->stages[j], left->stages[i])) return false;
    Order order = {left->stages[left->count - 1], right->stages[0]};
    arena_push(planner->arena, planner->orders, planner->order_count, planner->order_cap, order);
    return true;
}

static void number_ranks(Planner *planner) {
    Stage *stages = planner->plan->stages;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < planner->order_count; i++) {
            Order order = planner->orders[i];
            if (stages[order.second].rank > stages[order.first].rank) continue;
            stages[order.second].rank = stages[order.first].rank + 1;
            more = true;
        }
    }
}

// ---- the finished order of everything ----

typedef struct Sorter {
    Planner *planner;
    Stage   *from;     // As it was built.
    Stage    to;       // In push order.
} Sorter;

static bool has_member(const Stage *stage, OpId op) {
    for (uint32_t i = 0; i < stage->op_count; i++)
        if (stage->ops[i].i == op.i) return true;
    return false;
}

// Appends `op` and, depth first, the terminals and members that take its rows.
static void push_order(Sorter *sorter, OpId op) {
    const Graph *graph = sorter->planner->plan->graph;
    sorter->to.ops[sorter->to.op_count++] = op;
    for (uint32_t i = 0; i < sorter->from->terminal_count; i++)
        if (sorter->from->terminals[i].op.i == op.i)
            sorter->to.terminals[sorter->to.terminal_count++] = sorter->from->terminals[i];
    for (uint32_t i = 0; i < sorter->from->op_count; i++) {
        const Op *member = graph_op_at(graph, sorter->from->ops[i]);
        bool takes = member->input_count && member->inputs[0].i == op.i;
        if (takes && member->id.i != sorter->from->root.i) push_order(sorter, member->id);
    }
}

static void sort_members(Planner *planner, Stage *stage) {
    assert(has_member(stage, stage->root));
    Sorter sorter = {planner, stage, *stage};
    sorter.to.ops = arena_new_array(planner->arena, OpId, stage->op_count);
    sorter.to.terminals = arena_new_array(planner->arena, Terminal, stage->terminal_count);
    sorter.to.op_count = sorter.to.terminal_count = 0;
    push_order(&sorter, stage->root);
    assert(sorter.to.op_count == stage->op_count);
    assert(sorter.to.terminal_count == stage->terminal_count);
    *stage = sorter.to;
}

// Stable: a stage comes as early as what it waits for allows.
static void sort_stages(Planner *planner) {
    Plan *plan = planner->plan;
    Stage *sorted = arena_new_array(planner->arena, Stage, plan->stage_count);
    bool *done = arena_new_array(planner->arena, bool, plan->stage_count);
    for (size_t count = 0; count < plan->stage_count; count++) {
        size_t next = SIZE_MAX;
        for (size_t i = 0; i < plan->stage_count && next == SIZE_MAX; i++) {
            bool ready = !done[i];
            for (size_t j = 0; ready && j < plan->stage_count; j++)
                ready = done[j] || !waits_for(&plan->stages[i], &plan->stages[j]);
            if (ready) next = i;
        }
        assert(next != SIZE_MAX);
        sorted[count] = plan->stages[next];
        done[next] = true;
    }
    plan->stages = sorted;
}

static void number_fused(Plan *plan) {
    plan->fused = arena_new_array(plan->graph->arena, uint32_t, plan->graph->op_count);
    for (size_t i = 0; i < plan->graph->op_count; i++) plan->fused[i] = STAGE_NONE;
    for (size_t i = plan->stage_count; i-- > 0;) {
        const Stage *stage = &plan->stages[i];
        for (uint32_t k = 0; k < stage->op_count; k++) plan->fused[stage->ops[k].i] = (uint32_t)i;
        for (uint32_t k = 0; k < stage->terminal_count; k++)
            if (stage->terminals[k].is_sink)
                plan->fused[stage->terminals[k].consumer.i] = (uint32_t)i;
    }
}

// The resources of the run that stages hold, each once.
static void list_resources(Plan *plan, const Stage *stage) {
    const Graph *graph = plan->graph;
    const Resources *all = &graph->resources[stage->resources.i];
    for (uint32_t i = 0; i < all->custom_count; i++) {
        size_t at = 0;
        while (at < plan->resource_count && !text_eq(plan->resources[at], all->customs[i].name))
            at++;
        if (at < plan->resource_count) continue;
        arena_push(graph->arena, plan->resources, plan->resource_count, plan->resource_cap,
                   all->customs[i].name);
    }
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// What a stage demands of that of which several members may have their share.
static void find_most(const Graph *graph, Stage *stage) {
    // Rows of a breaker were made elsewhere.
    for (uint32_t i = stage->kind != STAGE_SCAN; i < stage->op_count; i++) {
        const Op *op = graph_op_at(graph, stage->ops[i]);
        const Resources *resources = &graph->resources[op->resources.i];
        stage->memory = most(stage->memory, resources->memory);
        stage->batch = most(stage->batch, resources->batch);
    }
}

// A breaker that is read by others instead has a reader whose rows go nowhere.
static void drop_idle(Plan *plan) {
    size_t kept = 0;
    for (size_t i = 0; i < plan->stage_count; i++) {
        Stage *stage = &plan->stages[i];
        if (stage->terminal_count > 0) {
            plan->stages[kept++] = *stage;
            continue;
        }
        for (size_t other = i + 1; stage->counts_root && other < plan->stage_count; other++) {
            Stage *reader = &plan->stages[other];
            if (reader->root.i != stage->root.i || reader->breaker != stage->breaker) continue;
            reader->counts_root = true;
            break;
        }
    }
    plan->stage_count = kept;
}

static bool is_for_gpu(const Graph *graph, const Op *op) {
    return resources_for_gpu(&graph->resources[op->resources.i]);
}

// What the stage is called: the first that it does itself, or that a GPU is for. The rows of an
// edge were made elsewhere.
static OpId named_for(const Graph *graph, const Stage *stage) {
    for (uint32_t i = !stage->counts_root; i < stage->op_count; i++) {
        const Op *op = graph_op_at(graph, stage->ops[i]);
        if (op->kind != OP_HINT && is_for_gpu(graph, op)) return op->id;
    }
    if (stage->counts_root) return stage->root;
    for (uint32_t i = 1; i < stage->op_count; i++)
        if (graph_op_at(graph, stage->ops[i])->kind != OP_HINT) return stage->ops[i];
    return stage->terminal_count ? stage->terminals[0].consumer : stage->root;
}

void stages_finish(Planner *planner) {
    Plan *plan = planner->plan;
    number_ranks(planner);
    drop_idle(plan);
    for (size_t i = 0; i < plan->stage_count; i++) sort_members(planner, &plan->stages[i]);
    for (size_t i = 0; i < plan->stage_count; i++) {
        Stage *stage = &plan->stages[i];
        stage->label = op_label(plan->graph, named_for(plan->graph, stage));
        find_most(plan->graph, stage);
        list_resources(plan, stage);
    }
    sort_stages(planner);
    number_fused(planner->plan);
}
