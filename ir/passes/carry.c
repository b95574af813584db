#include "ir/passes/carry.h"

uint32_t carry_column(Graph *graph, Op *op, const Type *type) {
    size_t cap = op->column_count;
    Column hidden = {.name = TEXT("spelling"), .type = type, .hidden = true};
    arena_push(graph->arena, op->columns, op->column_count, cap, hidden);
    return op->column_count - 1;
}

uint32_t carry_source(Graph *graph, Op *op, RawSpan raw) {
    SourceOp *source = &op->source;
    size_t count = op->column_count - source->column_count, cap = count;
    for (uint32_t i = 0; i < count; i++)
        if (source->raw_of[i].first == raw.first && source->raw_of[i].last == raw.last)
            return source->column_count + i;
    arena_push(graph->arena, source->raw_of, count, cap, raw);
    return carry_column(graph, op, type_of(graph->types, TYPE_STR));
}

uint32_t carry_same(Graph *graph, Op *op, uint32_t wanted) {
    const Op *input = graph_op_at(graph, op->inputs[0]);
    while (op->column_count <= wanted)
        carry_column(graph, op, input->columns[op->column_count].type);
    return wanted;
}

uint32_t carry_project(Graph *graph, Op *op, uint32_t wanted) {
    const Type *type = graph_op_at(graph, op->inputs[0])->columns[wanted].type;
    ExprId value = graph_column(graph, 0, wanted, type, (Span){.file = SPAN_NONE});
    for (uint32_t i = 0; i < op->project.count; i++)
        if (op->project.items[i].hidden && op->project.items[i].expr.i == value.i) return i;
    NamedExpr item = {.name = TEXT("spelling"), .expr = value, .hidden = true};
    size_t cap = op->project.count;
    arena_push(graph->arena, op->project.items, op->project.count, cap, item);
    return carry_column(graph, op, type);
}
