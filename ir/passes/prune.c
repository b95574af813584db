// prune: drops operators no sink needs, and computed columns nobody reads.
//
// Declared columns of sources stay, since what counts as read is judged; operators that pass rows
// on stay, since their steps are accounted for.
#include "ir/pass.h"
#include "ir/rewrite.h"

enum : uint32_t { GONE = UINT32_MAX };

typedef struct Pruner {
    Graph     *graph;
    Usage      usage;
    uint32_t **columns;   // By old operator, old column: the new column, or GONE.
    OpId      *ops;       // By old operator: the new one.
    Op        *op;        // The operator at hand, its inputs still old.
    Remarks   *remarks;
} Pruner;

// A union and a zip have columns by place: all of them stay.
static Usage find_usage(Graph *graph) {
    Usage usage = graph_usage(graph);
    for (size_t i = graph->op_count; i-- > 0;) {
        Op *op = &graph->ops[i];
        if (!usage.ops[i]) continue;
        bool by_place = op->kind == OP_UNION || op->kind == OP_ZIP;
        for (uint32_t c = 0; by_place && c < op->column_count; c++) usage.columns[i][c] = true;
        usage_mark(graph, usage, op->id);
    }
    return usage;
}

static ExprId renumber(void *self, Graph *graph, ExprId id, const ExprId *args) {
    Pruner *pruner = self;
    Expr node = *graph_at(graph, id);
    bool column = node.op == EXPR_COLUMN || node.op == EXPR_RAW;
    if (!column || pruner->op->kind == OP_SOURCE) return rewrite_same(graph, id, args);
    node.index = pruner->columns[pruner->op->inputs[node.input].i][node.index];
    return graph_expr(graph, node, nullptr, 0);
}

static void renumber_slot(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)scope, (void)wanted;
    *slot = rewrite_expr(self, *slot);
}

// Spellings that nobody copies go; declared columns have their numbers.
static void prune_source(const bool *used, Op *op) {
    uint32_t count = 0, declared = op->source.column_count;
    for (uint32_t i = declared; i < op->column_count; i++)
        if (used[i]) op->source.raw_of[count++] = op->source.raw_of[i - declared];
}

static void prune_project(const bool *used, Op *op) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->project.count; i++)
        if (used[i]) op->project.items[count++] = op->project.items[i];
    op->project.count = count;
}

static void prune_group(const bool *used, Op *op) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->group.agg_count; i++)
        if (used[op->group.key_count + i]) op->group.aggs[count++] = op->group.aggs[i];
    op->group.agg_count = count;
}

static void prune_join(const Pruner *pruner, const bool *used, Op *op) {
    bool right = op->join.kind == JOIN_RIGHT || op->join.kind == JOIN_FULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->column_count; i++) {
        JoinColumn column = op->join.columns[i];
        if (!used[i]) continue;
        column.index = pruner->columns[op->inputs[column.side].i][column.index];
        column.merged = column.merged && right;
        column.merged_index = column.merged
                                  ? pruner->columns[op->inputs[1].i][column.merged_index] : 0;
        op->join.columns[count++] = column;
    }
}

static void prune_window(const Pruner *pruner, const bool *used, Op *op) {
    WindowOp *window = &op->window;
    uint32_t count = 0, fns = 0;
    uint32_t *numbers = arena_new_array(pruner->graph->arena, uint32_t, window->fn_count + 1);
    bool *kept = arena_new_array(pruner->graph->arena, bool, window->fn_count + 1);
    for (uint32_t i = 0; i < op->column_count; i++)
        if (window_fn(op, i)) kept[window->from[i] & ~WINDOW_OWN] |= used[i];
    for (uint32_t i = 0; i < window->fn_count; i++) {
        numbers[i] = fns;
        if (kept[i]) window->fns[fns++] = window->fns[i];
    }
    for (uint32_t i = 0; i < op->column_count; i++) {
        uint32_t from = window->from[i];
        if (!used[i]) continue;
        window->from[count++] = from >= WINDOW_OWN ? numbers[from & ~WINDOW_OWN] | WINDOW_OWN
                                                   : pruner->columns[op->inputs[0].i][from];
    }
    window->fn_count = fns;
}

// What is copied as it is spelled needs no value; usage left its column out.
static void prune_sink(const Graph *graph, Op *op) {
    for (uint32_t i = 0; i < op->sink.column_count; i++) {
        SinkColumn *column = &op->sink.columns[i];
        if (column->verbatim && !graph_at(graph, column->value)->type->nullable)
            column->value = column->spelling;
    }
}

// Which output columns stay: computed ones that are used, and what passes through with its input.
static bool stays(const Pruner *pruner, const Op *op, uint32_t column) {
    switch (op->kind) {
    case OP_PROJECT: case OP_JOIN: case OP_WINDOW: return pruner->usage.columns[op->id.i][column];
    case OP_GROUP: return column < op->group.key_count || pruner->usage.columns[op->id.i][column];
    case OP_FILTER: case OP_EXPLODE: case OP_SORT: case OP_LIMIT: case OP_DISTINCT:
    case OP_SHUFFLE: case OP_SAMPLE: case OP_HINT:
        return pruner->columns[op->inputs[0].i][column] != GONE;
    case OP_SOURCE:
        return column < op->source.column_count || pruner->usage.columns[op->id.i][column];
    case OP_UNION: case OP_ZIP: case OP_SINK: return true;
    }
    return true;
}

static void prune_columns(Pruner *pruner, Op *op) {
    uint32_t *map = arena_new_array(pruner->graph->arena, uint32_t, op->column_count);
    Column *columns = arena_new_array(pruner->graph->arena, Column, op->column_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->column_count; i++) {
        map[i] = stays(pruner, op, i) ? count : GONE;
        if (map[i] != GONE) columns[count++] = op->columns[i];
    }
    pruner->columns[op->id.i] = map;
    op->columns = columns;
    op->column_count = count;
}

static void prune_body(const Pruner *pruner, Op *op) {
    const bool *used = pruner->usage.columns[op->id.i];
    switch (op->kind) {
    case OP_SOURCE: prune_source(used, op); break;
    case OP_PROJECT: prune_project(used, op); break;
    case OP_GROUP: prune_group(used, op); break;
    case OP_JOIN: prune_join(pruner, used, op); break;
    case OP_WINDOW: prune_window(pruner, used, op); break;
    case OP_EXPLODE:
        op->explode.column = pruner->columns[op->inputs[0].i][op->explode.column];
        break;
    case OP_UNION:
        for (uint32_t i = 0; i < op->column_count; i++) {
            uint32_t *right = &op->union_.right_columns[i];
            *right = pruner->columns[op->inputs[1].i][*right];
        }
        break;
    case OP_HINT: op->hint.partition_key_count = 0; break;  // Its text says what was asked for.
    case OP_SINK: prune_sink(pruner->graph, op); break;
    case OP_FILTER: case OP_SORT: case OP_LIMIT: case OP_DISTINCT: case OP_ZIP: case OP_SHUFFLE:
    case OP_SAMPLE:
        break;
    }
}

// Columns that would have been computed.
static void say_dropped(const Pruner *pruner, const Op *op) {
    const bool *used = pruner->usage.columns[op->id.i];
    RemarkNames names = {0};
    for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++) {
        const NamedExpr *item = &op->project.items[i];
        bool computed = graph_at(pruner->graph, item->expr)->op != EXPR_COLUMN;
        if (!used[i] && !item->hidden && computed) remark_name(&names, item->name);
    }
    for (uint32_t i = 0; op->kind == OP_GROUP && i < op->group.agg_count; i++)
        if (!used[op->group.key_count + i]) remark_name(&names, op->group.aggs[i].name);
    for (uint32_t i = 0; op->kind == OP_WINDOW && i < op->column_count; i++) {
        const WindowFn *fn = window_fn(op, i);
        if (fn && !used[i]) remark_name(&names, fn->name);
    }
    if (names.count)
        remark(pruner->remarks, op->span, "never computed, nobody reads them: %.*s",
               (int)names.text.len, names.text.at);
    text_buf_free(&names.text);
}

static void prune_op(Pruner *pruner, Rewrite *rewrite, Op *op) {
    pruner->op = op;
    rewrite_forget(rewrite);
    say_dropped(pruner, op);
    prune_body(pruner, op);
    op_each_expr(op, rewrite, renumber_slot);
    prune_columns(pruner, op);
}

void pass_prune(PassContext *context) {
    Graph *graph = context->graph;
    Pruner pruner = {.graph = graph, .usage = find_usage(graph), .remarks = context->remarks,
                     .columns = arena_new_array(graph->arena, uint32_t *, graph->op_count),
                     .ops = arena_new_array(graph->arena, OpId, graph->op_count)};
    Rewrite rewrite = rewrite_make(graph, renumber, &pruner);
    size_t count = 0;
    for (size_t i = 0; i < graph->op_count; i++) {
        if (!pruner.usage.ops[i]) {
            remark(context->remarks, graph->ops[i].span, "left out: no sink needs its rows");
            continue;
        }
        Op op = graph->ops[i];
        pruner.ops[i] = (OpId){(uint32_t)count};
        prune_op(&pruner, &rewrite, &op);
        op.id = pruner.ops[i];
        for (uint32_t k = 0; k < op.input_count; k++) op.inputs[k] = pruner.ops[op.inputs[k].i];
        graph->ops[count++] = op;
    }
    graph->op_count = count;
}
