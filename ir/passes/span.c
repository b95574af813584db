// span: what a sink copies side by side from neighbours in a source travels as one spelling.
//
//   source a, b, c ─▶ sort ─▶ sink b, c, a      "b,c" is one hidden column, as the file has it
//
// Only through operators of one input that pass the columns on; runs of two columns and more.
#include "ir/pass.h"
#include "ir/passes/carry.h"

// The column of a source whose spelling this is; `source` is OP_NONE where there is no such one.
typedef struct Origin {
    OpId     source;
    uint32_t column;
} Origin;

static Origin find_origin(const Graph *graph, OpId id, uint32_t column) {
    for (;;) {
        const Op *op = graph_op_at(graph, id);
        const Expr *item = nullptr;
        switch (op->kind) {
        case OP_SOURCE:
            if (column < op->source.column_count) return (Origin){OP_NONE, 0};
            RawSpan raw = op->source.raw_of[column - op->source.column_count];
            return (Origin){raw.first == raw.last ? id : OP_NONE, raw.first};
        case OP_PROJECT:
            item = graph_at(graph, op->project.items[column].expr);
            if (item->op != EXPR_COLUMN) return (Origin){OP_NONE, 0};
            column = item->index;
            break;
        case OP_FILTER: case OP_EXPLODE: case OP_SORT: case OP_LIMIT: case OP_DISTINCT:
        case OP_SHUFFLE: case OP_SAMPLE: case OP_HINT:
            break;
        case OP_GROUP: case OP_JOIN: case OP_UNION: case OP_ZIP: case OP_SINK: case OP_WINDOW:
            return (Origin){OP_NONE, 0};
        }
        id = op->inputs[0];
    }
}

// Takes the bytes of `raw` from their source to operator `id`. Gives the column that has them
// there.
static uint32_t carry(Graph *graph, OpId id, RawSpan raw) {
    Op *op = graph_op_at(graph, id);
    if (op->kind == OP_SOURCE) return carry_source(graph, op, raw);
    uint32_t from = carry(graph, op->inputs[0], raw);
    return op->kind == OP_PROJECT ? carry_project(graph, op, from) : carry_same(graph, op, from);
}

// Does the source read one word alone as null, and is that what the sink writes?
static bool nulls_alike(const CsvOptions *from, const CsvOptions *to) {
    if (from->null_count > 1 || (from->strict_nulls && !from->null_count)) return false;
    Text read = from->null_count ? from->nulls[0] : TEXT("");
    Text written = to->null_count ? to->nulls[0] : TEXT("");
    return text_eq(read, written);
}

// Nulls that are spelled otherwise, with spaces around, are set right where a source joins them.
static Origin sink_origin(const Graph *graph, const Op *op, uint32_t i) {
    const SinkColumn *column = &op->sink.columns[i];
    const Origin none = {OP_NONE, 0};
    const Expr *spelling = column->verbatim ? graph_at(graph, column->spelling) : nullptr;
    if (!spelling || spelling->op != EXPR_COLUMN) return none;
    Origin origin = find_origin(graph, op->inputs[0], spelling->index);
    if (origin.source.i == OP_NONE.i) return none;
    const SourceOp *source = &graph_op_at(graph, origin.source)->source;
    if (source->options.csv.missing_null) return none;  // It may have no bytes at all.
    bool nullable = graph_at(graph, column->value)->type->nullable;
    if (nullable && !nulls_alike(&source->options.csv, &op->sink.options.csv)) return none;
    return origin;
}

// How many columns of the sink from `first` on are neighbours in one source.
static uint32_t run_length(const Graph *graph, const Op *op, uint32_t first, Origin origin) {
    uint32_t count = 1;
    for (; first + count < op->sink.column_count; count++) {
        Origin next = sink_origin(graph, op, first + count);
        if (next.source.i != origin.source.i || next.column != origin.column + count) break;
    }
    return count;
}

static void join_run(Graph *graph, Op *op, uint32_t first, RawSpan raw) {
    uint32_t hidden = carry(graph, op->inputs[0], raw);
    const Type *type = graph_op_at(graph, op->inputs[0])->columns[hidden].type;
    ExprId bytes = graph_column(graph, 0, hidden, type, (Span){.file = SPAN_NONE});
    for (uint32_t i = 0; i <= raw.last - raw.first; i++) {
        SinkColumn *column = &op->sink.columns[first + i];
        column->value = column->spelling = bytes;
        column->within = i > 0;
    }
}

void pass_span(PassContext *context) {
    Graph *graph = context->graph;
    for (size_t i = 0; i < graph->op_count; i++) {
        Op *op = &graph->ops[i];
        if (op->kind != OP_SINK) continue;
        for (uint32_t c = 0, count; c < op->sink.column_count; c += count) {
            Origin origin = sink_origin(graph, op, c);
            count = origin.source.i == OP_NONE.i ? 1 : run_length(graph, op, c, origin);
            if (count == 1) continue;
            join_run(graph, op, c, (RawSpan){origin.column, origin.column + count - 1});
            remark(context->remarks, op->span, "copied in one run: %.*s to %.*s",
                   TEXT_ARG(op->sink.columns[c].name),
                   TEXT_ARG(op->sink.columns[c + count - 1].name));
        }
    }
}
