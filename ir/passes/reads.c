// reads: which source columns count as read, by names alone; nothing later may change the answer.
#include "ir/pass.h"
#include "ir/walk.h"

void pass_reads(PassContext *context) {
    Graph *graph = context->graph;
    Usage usage = graph_usage(graph);
    Walk walk = walk_make(graph);
    for (size_t i = 0; i < graph->op_count; i++) {
        Op *op = &graph->ops[i];
        if (op->kind != OP_SOURCE) continue;
        for (uint32_t c = 0; c < op->source.column_count; c++)
            op->source.columns[c].read = usage.columns[i][c];
        if (!usage.ops[i]) continue;
        walk_start(&walk);
        for (uint32_t f = 0; f < op->source.filter_count; f++)
            walk_add(&walk, op->source.filters[f].pred);
        for (ExprId id; walk_next(&walk, &id);) {
            const Expr *node = graph_at(graph, id);
            if (node->op == EXPR_COLUMN) op->source.columns[node->index].read = true;
        }
    }
}
