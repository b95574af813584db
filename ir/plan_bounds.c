// Bounds of a join: comparisons of its condition that a right row alone can fail, whatever the
// left row is but for one value. Chains of right rows have the greatest bits of each over blocks of
// rows, so that blocks which cannot match are passed over (runtime/breakers/join_table.c).
#include "ir/plan.h"

#include "ir/walk.h"

typedef struct Bounding {
    const Graph *graph;
    JoinBound   *bounds;
    uint32_t     count;
} Bounding;

// Does the value need no column of that side?
static bool is_without(const Graph *graph, ExprId id, uint32_t side) {
    Walk walk = walk_make(graph);
    walk_start(&walk);
    walk_add(&walk, id);
    bool without = true;
    for (ExprId at; walk_next(&walk, &at);) {
        const Expr *node = graph_at(graph, at);
        bool column = node->op == EXPR_COLUMN || node->op == EXPR_RAW;
        without &= node->op != EXPR_PLACE && !(column && node->input == side);
    }
    return without;
}

// Has the value bits that order as it does, 64 of them?
static bool has_bits(const Type *base) {
    bool whole = type_is_integer(base) || type_is_float(base) || base->kind == TYPE_DATE ||
                 base->kind == TYPE_TIMESTAMP || base->kind == TYPE_DURATION;
    return whole && type_size(base) <= 8;
}

// `column` of the right rows is to be at most `value`, or at least.
static void add_bound(Bounding *to, ExprId column, ExprId value, bool at_most) {
    const Expr *right = graph_at(to->graph, column);
    if (to->count == JOIN_BOUNDS_MAX || right->op != EXPR_COLUMN || right->input != 1) return;
    const Type *left = type_base(graph_at(to->graph, value)->type);
    if (type_base(right->type) != left || !has_bits(left)) return;
    if (!is_without(to->graph, value, 1)) return;
    to->bounds[to->count++] = (JoinBound){value, right->index, at_most};
}

static void add_condition(Bounding *to, ExprId id) {
    const Expr *node = graph_at(to->graph, id);
    switch (node->op) {
    case EXPR_AND:
        add_condition(to, node->args[0]);
        add_condition(to, node->args[1]);
        return;
    case EXPR_LT: case EXPR_LE:
        add_bound(to, node->args[0], node->args[1], true);
        add_bound(to, node->args[1], node->args[0], false);
        return;
    case EXPR_GT: case EXPR_GE:
        add_bound(to, node->args[0], node->args[1], false);
        add_bound(to, node->args[1], node->args[0], true);
        return;
    default: return;
    }
}

uint32_t plan_join_bounds(const Graph *graph, const Op *op, JoinBound *bounds) {
    Bounding to = {graph, bounds, 0};
    bool judged = expr_is_none(op->join.where) || join_is_nearest(op) ||
                  graph_faults(graph, op->join.where);  // A pair that is passed over cannot fault.
    if (!judged) add_condition(&to, op->join.where);
    return to.count;
}

bool plan_join_indexed(const Op *op, uint32_t bound_count) {
    return bound_count > 1 || (bound_count == 1 && !join_is_one(op));
}
