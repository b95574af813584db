// reads: which columns count as read, by names alone; nothing later may change the answer.
#include "ir/pass.h"
#include "ir/walk.h"

static void say_columns(Remarks *remarks, const Op *op) {
    RemarkNames unread = {0};
    for (uint32_t c = 0; c < op->source.column_count; c++)
        if (!op->source.columns[c].read) remark_name(&unread, op->source.columns[c].name);
    if (unread.count)
        remark(remarks, op->span, "never parsed: %.*s", (int)unread.text.len, unread.text.at);
    text_buf_free(&unread.text);
}

// The path of a file decides by itself.
static void say_paths(Remarks *remarks, const Graph *graph, const Op *op) {
    PathConditions by_path = source_path_conditions(graph, &op->source);
    for (uint32_t i = 0; i < by_path.count; i++)
        remark(remarks, graph_at(graph, by_path.items[i])->span,
               "decided by the path: files that it refuses are not opened");
}

static void say_filter(Remarks *remarks, const Graph *graph, const Op *op,
                       const PreFilter *filter) {
    RemarkNames parsed = {0};
    Walk walk = walk_make(graph);
    walk_start(&walk);
    walk_add(&walk, filter->pred);
    for (ExprId id; walk_next(&walk, &id);) {
        const Expr *node = graph_at(graph, id);
        if (node->op == EXPR_COLUMN) remark_name(&parsed, op->source.columns[node->index].name);
    }
    remark(remarks, graph->steps[filter->step.i].span,
           "runs in the reader, before other columns are parsed; it parses %.*s",
           (int)(parsed.count ? parsed.text.len : 7), parsed.count ? parsed.text.at : "nothing");
    text_buf_free(&parsed.text);
}

// Until it is known, nothing is read but what sinks, predicates and keys ask for.
static void mark_all_unread(Graph *graph) {
    for (size_t i = 0; i < graph->op_count; i++)
        for (uint32_t c = 0; c < graph->ops[i].column_count; c++)
            graph->ops[i].columns[c].unread = true;
}

void pass_reads(PassContext *context) {
    Graph *graph = context->graph;
    mark_all_unread(graph);
    Usage usage = graph_usage(graph);
    Walk walk = walk_make(graph);
    for (size_t i = 0; i < graph->op_count; i++) {
        Op *op = &graph->ops[i];
        for (uint32_t c = 0; c < op->column_count; c++)
            op->columns[c].unread = op->kind != OP_SOURCE && !usage.columns[i][c];
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
        say_columns(context->remarks, op);
        if (context->remarks) say_paths(context->remarks, graph, op);
        for (uint32_t f = 0; context->remarks && f < op->source.filter_count; f++)
            say_filter(context->remarks, graph, op, &op->source.filters[f]);
    }
}
