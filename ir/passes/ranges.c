// ranges: proves what values integers may have, from source to sink, which drops checks of overflow
// and of divisors. What it goes by: types, constants, declared ranges of functions, filters, the
// conditions of `if`, `case`, `and` and `or`, inline tables and `range`.
#include "ir/passes/ranges.h"

#include "ir/walk.h"

typedef struct Ranges {
    Prover prover;
    Fact **columns;  // By operator, output column.
    Env    env;      // Of the operator at hand.
    Op    *op;
} Ranges;

static void infer_inputs(Ranges *ranges, const Op *op) {
    for (uint32_t i = 0; i < 2; i++)
        ranges->prover.columns[i] =
            i < op->input_count ? ranges->columns[op->inputs[i].i] : nullptr;
    prover_forget(&ranges->prover);
    ranges->env = prover_env(&ranges->prover);
}

// ---- sources ------------------------------------------------------------------------------------

static void infer_rows(const SourceOp *source, Fact *columns) {
    for (uint32_t c = 0; c < source->column_count; c++) {
        const Type *type = type_base(source->columns[c].type);
        Interval all = interval_unknown();
        bool some = false, known = type_is_integer(type);
        for (uint32_t r = 0; known && r < source->row_count; r++) {
            const Const *value = &source->rows[r].items[c];
            if (value->is_null) continue;
            Interval one = interval_of_const(type, value);
            all = some ? interval_either(all, one) : one;
            some = true;
        }
        if (some) columns[c].in = all;
    }
}

// The numbers from 0 on; a count of 0 makes no rows.
static void infer_range(Ranges *ranges, const SourceOp *source, Fact *columns) {
    Fact count = prover_prove(&ranges->prover, &ranges->env, source->path).fact;
    __int128 last = count.in.max - 1;
    columns[0].in = (Interval){0, last > 0 ? last : 0};
}

// ---- operators ----------------------------------------------------------------------------------

// What a row that passed the predicate says of columns.
static void narrow_columns(Ranges *ranges, ExprId pred, Fact *columns) {
    RefinedList refined = {0};
    prover_refine(&ranges->prover, &ranges->env, pred, true, &refined);
    for (size_t i = 0; i < refined.count; i++) {
        const Expr *node = graph_at(ranges->prover.graph, refined.items[i].id);
        if (node->op == EXPR_COLUMN)
            columns[node->index] = prover_narrow(columns[node->index], refined.items[i].fact);
    }
}

static void see(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)wanted;
    Ranges *ranges = self;
    ExprId before = *slot;
    if (scope == SCOPE_OWN) {  // A filter of the reader: the next one sees what it says.
        Fact *own = ranges->columns[ranges->op->id.i];
        ranges->prover.columns[0] = own;
        ranges->env = prover_env(&ranges->prover);
        *slot = prover_prove(&ranges->prover, &ranges->env, before).expr;
        narrow_columns(ranges, before, own);
        return;
    }
    *slot = prover_prove(&ranges->prover, &ranges->env, before).expr;
    if (ranges->op->kind == OP_FILTER)
        narrow_columns(ranges, before, ranges->columns[ranges->op->id.i]);
}

static Fact fact_of(Ranges *ranges, ExprId id) {
    return prover_prove(&ranges->prover, &ranges->env, id).fact;
}

static void infer_group(Ranges *ranges, const Op *op, Fact *columns) {
    static const ResultRange count = {RANGE_OF_BOUNDS, 0, INT64_MAX};
    for (uint32_t i = 0; i < op->group.key_count; i++)
        columns[i] = fact_of(ranges, op->group.keys[i].expr);
    for (uint32_t i = 0; i < op->group.agg_count; i++) {
        const Agg *agg = &op->group.aggs[i];
        Fact args[2];
        for (uint32_t a = 0; a < agg->arg_count; a++) args[a] = fact_of(ranges, agg->args[a]);
        columns[op->group.key_count + i] = prover_result(agg->fn ? &agg->fn->range : &count,
                                                         agg->type, args, agg->arg_count,
                                                         agg->span);
    }
}

static void infer_join(const Ranges *ranges, const Op *op, Fact *columns) {
    bool right = op->join.kind == JOIN_RIGHT || op->join.kind == JOIN_FULL;
    for (uint32_t i = 0; i < op->column_count; i++) {
        JoinColumn from = op->join.columns[i];
        columns[i] = ranges->prover.columns[from.side][from.index];
        if (from.merged && right)
            columns[i] = fact_either(columns[i], ranges->prover.columns[1][from.merged_index]);
    }
}

static void infer_pair(const Ranges *ranges, const Op *op, Fact *columns) {
    uint32_t left = graph_op_at(ranges->prover.graph, op->inputs[0])->column_count;
    const Fact *const *from = ranges->prover.columns;
    for (uint32_t i = 0; i < op->column_count; i++) {
        if (op->kind == OP_UNION)
            columns[i] = fact_either(from[0][i], from[1][op->union_.right_columns[i]]);
        else columns[i] = i < left ? from[0][i] : from[1][i - left];
    }
}

// What the operator's columns are before its own expressions say more.
static void infer_columns(Ranges *ranges, const Op *op) {
    Fact *columns = ranges->columns[op->id.i];
    for (uint32_t i = 0; i < op->column_count; i++) columns[i] = fact_of_type(op->columns[i].type);
    switch (op->kind) {
    case OP_SOURCE:
        if (op->source.kind == SOURCE_INLINE) infer_rows(&op->source, columns);
        if (op->source.kind == SOURCE_RANGE) infer_range(ranges, &op->source, columns);
        break;
    case OP_PROJECT:
        for (uint32_t i = 0; i < op->project.count; i++)
            columns[i] = fact_of(ranges, op->project.items[i].expr);
        break;
    case OP_GROUP: infer_group(ranges, op, columns); break;
    case OP_JOIN: infer_join(ranges, op, columns); break;
    case OP_UNION: case OP_ZIP: infer_pair(ranges, op, columns); break;
    case OP_FILTER: case OP_SORT: case OP_LIMIT: case OP_DISTINCT: case OP_SHUFFLE:
    case OP_SAMPLE: case OP_HINT: case OP_EXPLODE:
        for (uint32_t i = 0; i < op->column_count; i++)
            if (op->kind != OP_EXPLODE || i != op->explode.column)
                columns[i] = ranges->prover.columns[0][i];
        break;
    case OP_WINDOW:
        for (uint32_t i = 0; i < op->column_count; i++)
            if (!window_fn(op, i)) columns[i] = ranges->prover.columns[0][op->window.from[i]];
        break;
    case OP_SINK: break;
    }
}

Fact **ranges_infer(PassContext *context) {
    Graph *graph = context->graph;
    Ranges ranges = {.prover = {.graph = graph, .remarks = context->remarks}};
    ranges.columns = arena_new_array(graph->arena, Fact *, graph->op_count + 1);
    infer_inputs(&ranges, &(Op){.kind = OP_HINT});
    ranges.op = &(Op){.kind = OP_HINT};
    graph_each_expr(graph, &ranges, see);
    for (size_t i = 0; i < graph->op_count; i++) {
        Op *op = ranges.op = &graph->ops[i];
        ranges.columns[i] = arena_new_array(graph->arena, Fact, op->column_count + 1);
        infer_inputs(&ranges, op);
        infer_columns(&ranges, op);
        op_each_expr(op, &ranges, see);
    }
    return ranges.columns;
}

void pass_ranges(PassContext *context) { ranges_infer(context); }
