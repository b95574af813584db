// Joins whose left rows can be asked first which keys they look up: all of them are read once more
// before the right side is filled. Where they are few, right rows with other keys need not be kept
// (runtime/task/key_filter.h).
#include "ir/plan.h"
#include "ir/walk.h"

// The stage that probes the table of the join. STAGE_NONE: several do.
static uint32_t prober_of(const Plan *plan, OpId join) {
    uint32_t found = STAGE_NONE;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const Stage *stage = &plan->stages[s];
        for (uint32_t i = 1; i < stage->op_count; i++) {
            if (stage->ops[i].i != join.i) continue;
            if (found != STAGE_NONE) return STAGE_NONE;
            found = s;
        }
    }
    return found;
}

// What is called for a row is called once, and a foreign call takes what time it likes.
static bool may_come_twice(const Graph *graph, const Op *op) {
    return !op_has_effects(graph, op) && !op_is_foreign(graph, op);
}

// Do the rows that the join looks up with come from a source, past no other table?
static bool comes_of_source(const Plan *plan, const Stage *stage, const Op *join) {
    if (stage->kind != STAGE_SCAN || !may_come_twice(plan->graph, join)) return false;
    const Op *op = graph_op_at(plan->graph, join->inputs[0]);
    for (; op->id.i != stage->root.i; op = graph_op_at(plan->graph, op->inputs[0]))
        if (op->kind == OP_JOIN || !may_come_twice(plan->graph, op)) return false;
    return may_come_twice(plan->graph, op);
}

// Rows that no left row looks up come out of other joins.
static bool wants_matches_only(const Op *join) {
    return join->join.kind != JOIN_RIGHT && join->join.kind != JOIN_FULL;
}

void plan_askers(Plan *plan, PlanOptions options) {
    (void)options;
    for (uint32_t b = 0; b < plan->breaker_count; b++) {
        Breaker *breaker = &plan->breakers[b];
        const Op *join = graph_op_at(plan->graph, breaker->op);
        if (breaker->kind != BREAK_JOIN || !join->join.key_count) continue;
        uint32_t prober = prober_of(plan, join->id);
        if (prober == STAGE_NONE || !wants_matches_only(join)) continue;
        if (!comes_of_source(plan, &plan->stages[prober], join)) continue;
        breaker->asker = prober;
        remark(plan->remarks, join->span,
               "right rows whose key no left row has are left out, where the left side is small");
    }
}
