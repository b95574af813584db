// Which steps do not get every row of the step before, so that what comes in has to be counted.
#include "ir/plan.h"

typedef struct Counting {
    Plan        *plan;
    const Stage *stage;
} Counting;

static bool takes_from(const Plan *plan, OpId member, OpId from) {
    const Op *op = graph_op_at(plan->graph, member);
    return op->input_count && op->inputs[0].i == from.i;
}

bool plan_feeds_edge(const Plan *plan, const Terminal *terminal) {
    return !terminal->is_sink && plan->breakers[terminal->index].kind == BREAK_EDGE;
}

bool plan_is_limited(const Plan *plan, const Terminal *terminal) {
    return terminal->is_sink || plan_feeds_edge(plan, terminal);
}

bool plan_only_limited(const Plan *plan, const Stage *stage, OpId from) {
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        const Terminal *terminal = &stage->terminals[t];
        if (terminal->op.i == from.i && !plan_is_limited(plan, terminal)) return false;
    }
    for (uint32_t i = 1; i < stage->op_count; i++) {
        if (!takes_from(plan, stage->ops[i], from)) continue;
        if (!plan_only_limited(plan, stage, stage->ops[i])) return false;
    }
    return true;
}

// Does the stage read an edge beside others? The rows of the step before are those that any takes.
static bool shares_edge(const Plan *plan, const Stage *stage) {
    if (stage->kind != STAGE_ROWS) return false;
    const Breaker *breaker = &plan->breakers[stage->breaker];
    uint32_t readers = 0;
    for (size_t s = 0; s < plan->stage_count; s++) {
        const Stage *other = &plan->stages[s];
        readers += other->kind == STAGE_ROWS && other->breaker == stage->breaker;
    }
    return breaker->keeps_op || (breaker->kind == BREAK_EDGE && readers > 1);
}

static StepId step_of(const Plan *plan, OpId op) { return graph_op_at(plan->graph, op)->step; }

// Does the stage begin with the rows of that operator: its root, or what else the root's step does?
static bool begins_with(const Plan *plan, const Stage *stage, OpId op) {
    StepId step = step_of(plan, op);
    return op.i == stage->root.i ||
           (step.i != STEP_NONE.i && step.i == step_of(plan, stage->root).i);
}

// Does the operator, or one of its step before it, make several rows of one?
static bool multiplies(const Plan *plan, OpId id) {
    for (;;) {
        const Op *op = graph_op_at(plan->graph, id);
        if (op_multiplies(op->kind)) return true;
        if (!op->input_count || step_of(plan, op->inputs[0]).i != op->step.i) return false;
        id = op->inputs[0];
    }
}

// The consumers of one operator within a stage. A fork lets go of a branch that leads to edges and
// sinks only when these are full, and finished rows are not taken to their end by a stage that
// does; and who reads an edge may stop before its end.
static void mark_consumers(const Counting *counting, OpId from) {
    const Stage *stage = counting->stage;
    Plan *plan = counting->plan;
    bool rows = stage->kind == STAGE_ROWS && begins_with(plan, stage, from);
    bool shared = rows && shares_edge(plan, stage);
    bool finished = rows && plan->breakers[stage->breaker].kind != BREAK_EDGE;
    uint32_t count = 0;
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        count += stage->terminals[t].op.i == from.i;
    for (uint32_t i = 1; i < stage->op_count; i++)
        count += takes_from(plan, stage->ops[i], from);
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        const Terminal *terminal = &stage->terminals[t];
        StepId step = step_of(plan, terminal->consumer);
        bool edge = plan_feeds_edge(plan, terminal);
        if (terminal->op.i == from.i && shared && !edge && step.i != STEP_NONE.i)
            plan->counts_in[step.i] = true;
    }
    for (uint32_t i = 1; i < stage->op_count; i++) {
        if (!takes_from(plan, stage->ops[i], from)) continue;
        StepId step = step_of(plan, stage->ops[i]);
        if (step.i == step_of(plan, from).i) continue;  // Nothing comes in there.
        bool leaves = finished || count > 1 || multiplies(plan, from);
        bool partial = shared || (leaves && plan_only_limited(plan, stage, stage->ops[i]));
        if (partial && step.i != STEP_NONE.i) plan->counts_in[step.i] = true;
    }
}

void plan_counts(Plan *plan, PlanOptions options) {
    (void)options;
    plan->counts_in = arena_new_array(plan->graph->arena, bool, plan->graph->step_count + 1);
    for (size_t s = 0; s < plan->stage_count; s++) {
        Counting counting = {plan, &plan->stages[s]};
        for (uint32_t i = 0; i < plan->stages[s].op_count; i++)
            mark_consumers(&counting, plan->stages[s].ops[i]);
    }
}
