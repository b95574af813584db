// Rewrite: new expressions from old ones, arguments first, each node once.
#include "ir/rewrite.h"

#include <stdlib.h>

Rewrite rewrite_make(Graph *graph, RewriteNode *node, void *self) {
    return (Rewrite){
        .graph = graph, .node = node, .self = self, .round = 1};
}

void rewrite_forget(Rewrite *rewrite) { rewrite->round++; }

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void reserve(Rewrite *rewrite) {
    Graph *graph = rewrite->graph;
    size_t cap = rewrite->cap;
    rewrite->memo = arena_grow(graph->arena, rewrite->memo, sizeof *rewrite->memo,
                               alignof(ExprId), &cap, graph->expr_count);
    rewrite->known = arena_grow(graph->arena, rewrite->known, sizeof *rewrite->known,
                                alignof(uint32_t), &rewrite->cap, graph->expr_count);
}

ExprId rewrite_same(Graph *graph, ExprId id, const ExprId *args) {
    const Expr *node = graph_at(graph, id);
    bool same = true;
    for (uint32_t i = 0; i < node->arg_count; i++) same &= expr_same(args[i], node->args[i]);
    return same ? id : graph_expr(graph, *node, args, node->arg_count);
}

static void rewrite_node(Rewrite *rewrite, ExprId id) {
    Graph *graph = rewrite->graph;
    const Expr *node = graph_at(graph, id);
    ExprId *args = arena_new_array(graph->arena, ExprId, node->arg_count);
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = rewrite->memo[node->args[i].i];
    rewrite->memo[id.i] = rewrite->node(rewrite->self, graph, id, args);
}

// Adds the node to `below`, unless this round has it already.
static void want(Rewrite *rewrite, ExprId id, size_t *count) {
    if (rewrite->known[id.i] == rewrite->round) return;
    rewrite->known[id.i] = rewrite->round;
    arena_push(rewrite->graph->arena, rewrite->below, *count, rewrite->below_cap, id.i);
}

// Numbers grow from arguments to nodes, so their order is a good one.
ExprId rewrite_expr(Rewrite *rewrite, ExprId root) {
    const Graph *graph = rewrite->graph;
    if (expr_is_none(root)) return root;
    reserve(rewrite);
    size_t count = 0;
    want(rewrite, root, &count);
    for (size_t i = 0; i < count; i++) {
        const Expr *node = graph_at(graph, (ExprId){rewrite->below[i]});
        for (uint32_t k = 0; k < node->arg_count; k++) want(rewrite, node->args[k], &count);
    }
    if (count > 1) qsort(rewrite->below, count, sizeof *rewrite->below, compare);
    for (size_t i = 0; i < count; i++) rewrite_node(rewrite, (ExprId){rewrite->below[i]});
    return rewrite->memo[root.i];
}

static size_t columns_named(const Graph *graph, ExprId root) {
    size_t count = 0;
    Walk walk = walk_make(graph);
    walk_start(&walk);
    walk_add(&walk, root);
    for (ExprId id; walk_next(&walk, &id);) count += graph_at(graph, id)->op == EXPR_COLUMN;
    return count;
}

// A filter of the reader parses the columns that it asks for, and what it finds there rejects the
// row: it goes on asking for all of them.
static void rewrite_slot(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)wanted;
    const Graph *graph = ((const Rewrite *)self)->graph;
    ExprId made = rewrite_expr(self, *slot);
    bool keeps = scope != SCOPE_OWN || columns_named(graph, made) == columns_named(graph, *slot);
    if (keeps) *slot = made;
}

void rewrite_graph(Graph *graph, RewriteNode *node, void *self) {
    Rewrite rewrite = rewrite_make(graph, node, self);
    graph_each_expr(graph, &rewrite, rewrite_slot);
    for (size_t i = 0; i < graph->op_count; i++)
        op_each_expr(&graph->ops[i], &rewrite, rewrite_slot);
}
