// fold: computes constants, and takes branches that are decided before the run.
//
// Only what is exact and keeps every fault: `x * 0` stays, `false and x` goes, since x would not
// have been judged.
#include "ir/pass.h"
#include "ir/rewrite.h"

static bool is_const(const Graph *graph, ExprId id) {
    return graph_at(graph, id)->op == EXPR_CONST;
}

static bool is_bool(const Graph *graph, ExprId id, bool value) {
    const Expr *node = graph_at(graph, id);
    return node->op == EXPR_CONST && node->type->kind == TYPE_BOOL && !node->value.is_null &&
           (node->value.i != 0) == value;
}

static bool is_null_const(const Graph *graph, ExprId id) {
    const Expr *node = graph_at(graph, id);
    return node->op == EXPR_CONST && node->value.is_null;
}

static ExprId make_bool(Graph *graph, bool value, Span span) {
    return graph_const(graph, type_of(graph->types, TYPE_BOOL), (Const){.i = value}, span);
}

// The node that stands for `node`, decided by what ir/ itself knows; EXPR_NONE: undecided.
static ExprId decide(Graph *graph, const Expr *node) {
    const ExprId *args = node->args;
    const Expr *first = node->arg_count ? graph_at(graph, args[0]) : nullptr;
    if (node->op == EXPR_AND || node->op == EXPR_OR) {
        bool neutral = node->op == EXPR_AND;
        if (is_bool(graph, args[0], neutral)) return args[1];
        if (is_bool(graph, args[0], !neutral) || is_bool(graph, args[1], neutral)) return args[0];
    }
    if (node->op == EXPR_IF && is_bool(graph, args[0], true)) return args[1];
    if (node->op == EXPR_IF && is_bool(graph, args[0], false)) return args[2];
    if (node->op == EXPR_IF && expr_same(args[1], args[2]) && !first->faults) return args[1];
    if (node->op == EXPR_NOT && first->op == EXPR_NOT) return first->args[0];
    if (node->op == EXPR_NOT && is_const(graph, args[0]))
        return make_bool(graph, is_bool(graph, args[0], false), node->span);
    if (node->op == EXPR_IS_NULL && first->op == EXPR_SOME && !first->faults)
        return make_bool(graph, false, node->span);
    if (node->op == EXPR_IS_NULL && is_const(graph, args[0]))
        return make_bool(graph, is_null_const(graph, args[0]), node->span);
    if (node->op == EXPR_COALESCE && is_null_const(graph, args[0])) return args[1];
    if (node->op == EXPR_COALESCE && first->op == EXPR_SOME)
        return node->type->nullable ? args[0] : first->args[0];
    if (node->op == EXPR_ELSE && !first->faults) return args[0];
    return EXPR_NONE;
}

// What a constant of the node's type may be computed from. Handlers, places and random numbers
// depend on the run.
static bool can_evaluate(const Graph *graph, const Expr *node) {
    if (!node->arg_count || node->op == EXPR_ELSE) return false;
    if (node->op == EXPR_CALL && (node->fn->traits & (FN_IMPURE | FN_RANDOM | FN_EXTERN)))
        return false;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        ExprOp op = graph_at(graph, node->args[i])->op;
        if (op != EXPR_CONST && op != EXPR_REGEX && op != EXPR_ZONE) return false;
    }
    return true;
}

// A decided node may be of T where T? is asked for, and the other way round never.
static ExprId fold_node(void *self, Graph *graph, ExprId id, const ExprId *args) {
    const PassContext *context = self;
    ExprId made = rewrite_same(graph, id, args);
    Expr node = *graph_at(graph, made);
    ExprId decided = decide(graph, &node);
    if (!expr_is_none(decided) && graph_at(graph, decided)->type == node.type) return decided;
    Const value = {0};
    if (!context->eval || !can_evaluate(graph, &node)) return made;
    if (!context->eval(context->eval_self, graph, made, &value)) return made;
    return graph_const(graph, node.type, value, node.span);
}

void pass_fold(PassContext *context) { rewrite_graph(context->graph, fold_node, context); }
