// Sorts of which the first rows are enough: memory then holds little more than these, whatever
// comes in (runtime/breakers/first_rows.h). They are those of `top` and `distinct ... keep`, and
// sorts whose rows go to one limit and to nothing else.
#include "ir/plan.h"

// Does each row come out again, and nothing else?
static bool passes_all(const Plan *plan, const Op *op) {
    if (op->kind != OP_PROJECT) return false;
    for (uint32_t i = 0; i < op->project.count; i++)
        if (graph_faults(plan->graph, op->project.items[i].expr)) return false;
    return true;
}

// The limit that takes all rows of the stage. OP_NONE: there is none.
static OpId limit_after(const Plan *plan, const Stage *stage) {
    if (stage->terminal_count != 1 || stage->terminals[0].is_sink) return OP_NONE;
    const Terminal *to = &stage->terminals[0];
    for (uint32_t i = 1; i < stage->op_count; i++)
        if (!passes_all(plan, graph_op_at(plan->graph, stage->ops[i]))) return OP_NONE;
    return plan->breakers[to->index].limited ? plan->breakers[to->index].op : OP_NONE;
}

static OpId first_of(const Plan *plan, uint32_t index) {
    const Breaker *breaker = &plan->breakers[index];
    const Op *op = graph_op_at(plan->graph, breaker->op);
    if (breaker->kind != BREAK_SORT) return OP_NONE;
    if (op->kind == OP_WINDOW) return op->window.keeps ? op->id : OP_NONE;
    const Stage *reader = nullptr;
    for (size_t s = 0; s < plan->stage_count; s++) {
        const Stage *stage = &plan->stages[s];
        if (stage->kind != STAGE_ROWS || stage->breaker != index) continue;
        if (reader) return OP_NONE;
        reader = stage;
    }
    return reader ? limit_after(plan, reader) : OP_NONE;
}

void plan_first(Plan *plan, PlanOptions options) {
    (void)options;
    for (uint32_t b = 0; b < plan->breaker_count; b++) {
        Breaker *breaker = &plan->breakers[b];
        breaker->first = first_of(plan, b);
        if (breaker->first.i == OP_NONE.i) continue;
        remark(plan->remarks, graph_op_at(plan->graph, breaker->op)->span,
               "rows that cannot be among the first ones go as they come");
    }
}
