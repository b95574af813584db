// cse: one node for equal work within an operator.
//
// Equal nodes are one already unless they can fault: those keep apart by their places in the
// program, and here the second takes the first one's. The row's verdict stays the same, since
// equal work faults equally.
#include "ir/pass.h"
#include "ir/rewrite.h"

typedef struct Merger {
    ExprId *seen;      // Nodes of the operator that can fault.
    size_t  count, cap;
    Remarks *remarks;
} Merger;

static bool same_work(const Graph *graph, ExprId id, const Expr *node) {
    const Expr *other = graph_at(graph, id);
    if (other->op != node->op || other->type != node->type || other->fn != node->fn ||
        other->handler != node->handler || other->proven != node->proven ||
        other->arg_count != node->arg_count)
        return false;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (!expr_same(other->args[i], node->args[i])) return false;
    return true;
}

static ExprId merge_node(void *self, Graph *graph, ExprId id, const ExprId *args) {
    enum { LOOK_BACK_MAX = 256 };  // Keeps an operator of thousands of expressions linear.
    Merger *merger = self;
    ExprId made = rewrite_same(graph, id, args);
    const Expr *node = graph_at(graph, made);
    bool impure = node->op == EXPR_CALL && (node->fn->traits & FN_IMPURE);
    if (!node->faults || impure || !node->arg_count) return made;
    size_t first = merger->count > LOOK_BACK_MAX ? merger->count - LOOK_BACK_MAX : 0;
    for (size_t i = first; i < merger->count; i++) {
        ExprId seen = merger->seen[i];
        if (node->op == EXPR_FIELD || !same_work(graph, seen, node)) continue;
        remark_as(merger->remarks, node->span, graph_at(graph, seen)->span,
                  "is computed once, with the same in");
        return seen;
    }
    arena_push(graph->arena, merger->seen, merger->count, merger->cap, made);
    return made;
}

static void merge_slot(void *self, ExprId *slot, Scope scope, TypeKind wanted) {
    (void)scope, (void)wanted;
    *slot = rewrite_expr(self, *slot);
}

void pass_cse(PassContext *context) {
    Graph *graph = context->graph;
    Merger merger = {.remarks = context->remarks};
    Rewrite rewrite = rewrite_make(graph, merge_node, &merger);
    for (size_t i = 0; i < graph->op_count; i++) {
        merger.count = 0;
        rewrite_forget(&rewrite);
        op_each_expr(&graph->ops[i], &rewrite, merge_slot);
    }
}
