// Walk: over the expressions of operators, each node once, and which columns somebody reads.
#include "ir/walk.h"

// ---- expressions of operators ----

typedef struct Visit {
    void    *self;
    ExprSee *see;
} Visit;

static void visit(const Visit *visit, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    if (!expr_is_none(*slot)) visit->see(visit->self, slot, scope, wanted);
}

static void visit_options(const Visit *to, FileOptions *options) {
    visit(to, &options->row_max, SCOPE_PARAMS, TYPE_I64);
    visit(to, &options->bytes, SCOPE_PARAMS, TYPE_I64);
    visit(to, &options->files, SCOPE_PARAMS, TYPE_I64);
}

static void visit_group(const Visit *to, Op *op) {
    for (uint32_t i = 0; i < op->group.key_count; i++)
        visit(to, &op->group.keys[i].expr, SCOPE_INPUT, TYPE_ERROR);
    for (uint32_t i = 0; i < op->group.agg_count; i++) {
        Agg *agg = &op->group.aggs[i];
        for (uint32_t a = 0; a < agg->arg_count; a++)
            visit(to, &agg->args[a], SCOPE_INPUT, TYPE_ERROR);
        visit(to, &agg->where, SCOPE_INPUT, TYPE_BOOL);
        visit(to, &agg->option, SCOPE_PARAMS, TYPE_ERROR);
    }
}

static void visit_sink(const Visit *to, SinkOp *sink) {
    visit(to, &sink->path, SCOPE_PARAMS, TYPE_STR);
    visit(to, &sink->key, SCOPE_INPUT, TYPE_STR);
    visit_options(to, &sink->options);
    for (uint32_t i = 0; i < sink->column_count; i++) {
        visit(to, &sink->columns[i].value, SCOPE_INPUT, TYPE_ERROR);
        visit(to, &sink->columns[i].spelling, SCOPE_INPUT, TYPE_ERROR);
    }
}

static void visit_source(const Visit *to, SourceOp *source) {
    visit(to, &source->path, SCOPE_PARAMS, TYPE_ERROR);
    visit_options(to, &source->options);
    for (uint32_t i = 0; i < source->key_count; i++)
        visit(to, &source->keys[i].expr, SCOPE_OWN, TYPE_ERROR);
    for (uint32_t i = 0; i < source->filter_count; i++)
        visit(to, &source->filters[i].pred, SCOPE_OWN, TYPE_BOOL);
}

void op_each_expr(Op *op, void *self, ExprSee *see) {
    Visit to = {self, see};
    switch (op->kind) {
    case OP_SOURCE: visit_source(&to, &op->source); break;
    case OP_FILTER: visit(&to, &op->filter.pred, SCOPE_INPUT, TYPE_BOOL); break;
    case OP_PROJECT:
        for (uint32_t i = 0; i < op->project.count; i++)
            visit(&to, &op->project.items[i].expr, SCOPE_INPUT, TYPE_ERROR);
        break;
    case OP_EXPLODE: break;
    case OP_GROUP: visit_group(&to, op); break;
    case OP_SORT:
        for (uint32_t i = 0; i < op->sort.count; i++)
            visit(&to, &op->sort.keys[i].key, SCOPE_INPUT, TYPE_ERROR);
        break;
    case OP_LIMIT:
        visit(&to, &op->limit.count, SCOPE_PARAMS, TYPE_I64);
        visit(&to, &op->limit.skip, SCOPE_PARAMS, TYPE_I64);
        break;
    case OP_DISTINCT:
        for (uint32_t i = 0; i < op->distinct.count; i++)
            visit(&to, &op->distinct.keys[i], SCOPE_INPUT, TYPE_ERROR);
        break;
    case OP_JOIN:
        for (uint32_t i = 0; i < op->join.key_count; i++) {
            visit(&to, &op->join.left[i], SCOPE_INPUT, TYPE_ERROR);
            visit(&to, &op->join.right[i], SCOPE_RIGHT, TYPE_ERROR);
        }
        visit(&to, &op->join.seek, SCOPE_PAIR, TYPE_BOOL);
        visit(&to, &op->join.within, SCOPE_PAIR, TYPE_BOOL);
        visit(&to, &op->join.where, SCOPE_PAIR, TYPE_BOOL);
        break;
    case OP_UNION: case OP_ZIP: break;
    case OP_SHUFFLE: visit(&to, &op->shuffle.seed, SCOPE_PARAMS, TYPE_I64); break;
    case OP_SAMPLE:
        visit(&to, &op->sample.fraction, SCOPE_PARAMS, TYPE_F64);
        visit(&to, &op->sample.seed, SCOPE_PARAMS, TYPE_I64);
        break;
    case OP_HINT:
        for (uint32_t i = 0; i < op->hint.partition_key_count; i++)
            visit(&to, &op->hint.partition_key[i], SCOPE_INPUT, TYPE_ERROR);
        visit(&to, &op->hint.rows, SCOPE_PARAMS, TYPE_I64);
        visit(&to, &op->hint.bytes, SCOPE_PARAMS, TYPE_I64);
        break;
    case OP_WINDOW:
        for (uint32_t i = 0; i < op->window.key_count; i++)
            visit(&to, &op->window.keys[i], SCOPE_INPUT, TYPE_ERROR);
        for (uint32_t i = 0; i < op->window.sort_count; i++)
            visit(&to, &op->window.sort[i].key, SCOPE_INPUT, TYPE_ERROR);
        for (uint32_t i = 0; i < op->window.fn_count; i++)
            visit(&to, &op->window.fns[i].arg, SCOPE_INPUT, TYPE_ERROR);
        visit(&to, &op->window.most, SCOPE_PARAMS, TYPE_I64);
        break;
    case OP_SINK: visit_sink(&to, &op->sink); break;
    }
}

void graph_each_expr(Graph *graph, void *self, ExprSee *see) {
    Visit to = {self, see};
    for (size_t i = 0; i < graph->param_count; i++)
        visit(&to, &graph->params[i].value, SCOPE_PARAMS, TYPE_ERROR);
    visit(&to, &graph->rejects.path, SCOPE_PARAMS, TYPE_STR);
    visit(&to, &graph->rejects.limit_rows, SCOPE_PARAMS, TYPE_I64);
    visit(&to, &graph->rejects.limit_share, SCOPE_PARAMS, TYPE_F64);
}

// ---- nodes ----

Walk walk_make(const Graph *graph) {
    return (Walk){.graph = graph, .stamp_count = graph->expr_count,
                  .stamps = arena_new_array(graph->arena, uint32_t, graph->expr_count)};
}

void walk_start(Walk *walk) {
    walk->stamp++;
    walk->count = 0;
    if (walk->stamp_count >= walk->graph->expr_count) return;
    size_t cap = walk->stamp_count;
    walk->stamps = arena_grow(walk->graph->arena, walk->stamps, sizeof *walk->stamps,
                              alignof(uint32_t), &cap, walk->graph->expr_count);
    walk->stamp_count = cap;
}

void walk_add(Walk *walk, ExprId root) {
    if (expr_is_none(root) || walk->stamps[root.i] == walk->stamp) return;
    walk->stamps[root.i] = walk->stamp;
    arena_push(walk->graph->arena, walk->stack, walk->count, walk->cap, root.i);
}

bool walk_next(Walk *walk, ExprId *id) {
    if (!walk->count) return false;
    *id = (ExprId){walk->stack[--walk->count]};
    const Expr *node = graph_at(walk->graph, *id);
    for (uint32_t i = node->arg_count; i-- > 0;) walk_add(walk, node->args[i]);
    return true;
}

// ---- which columns are read ----

typedef struct Marker {
    const Graph *graph;
    Walk         walk;
    Usage        usage;
} Marker;

static void mark_node(Marker *marker, const Expr *node, OpId from, uint32_t input) {
    bool column = node->op == EXPR_COLUMN || node->op == EXPR_RAW;
    if (column && node->input == input) marker->usage.columns[from.i][node->index] = true;
}

// Marks the columns of `from` that stand below `root` as columns of input `input`.
static void mark(Marker *marker, ExprId root, OpId from, uint32_t input) {
    if (expr_is_none(root)) return;
    const Expr *node = graph_at(marker->graph, root);
    if (!node->arg_count) {
        mark_node(marker, node, from, input);
        return;
    }
    walk_start(&marker->walk);
    walk_add(&marker->walk, root);
    for (ExprId id; walk_next(&marker->walk, &id);)
        mark_node(marker, graph_at(marker->graph, id), from, input);
}

// Columns that pass through by number.
static void mark_same(Marker *marker, const Op *op) {
    for (uint32_t i = 0; i < op->column_count; i++)
        if (marker->usage.columns[op->id.i][i])
            marker->usage.columns[op->inputs[0].i][i] = true;
}

static void mark_group(Marker *marker, const Op *op) {
    const bool *used = marker->usage.columns[op->id.i];
    for (uint32_t i = 0; i < op->group.key_count; i++)
        mark(marker, op->group.keys[i].expr, op->inputs[0], 0);
    for (uint32_t i = 0; i < op->group.agg_count; i++) {
        const Agg *agg = &op->group.aggs[i];
        if (!used[op->group.key_count + i]) continue;
        for (uint32_t a = 0; a < agg->arg_count; a++) mark(marker, agg->args[a], op->inputs[0], 0);
        mark(marker, agg->where, op->inputs[0], 0);
    }
}

static void mark_join(Marker *marker, const Op *op) {
    const bool *used = marker->usage.columns[op->id.i];
    for (uint32_t i = 0; i < op->join.key_count; i++) {
        mark(marker, op->join.left[i], op->inputs[0], 0);
        mark(marker, op->join.right[i], op->inputs[1], 1);
    }
    const ExprId pairs[] = {op->join.seek, op->join.within, op->join.where};
    for (uint32_t i = 0; i < 2 * countof(pairs); i++)
        mark(marker, pairs[i / 2], op->inputs[i % 2], i % 2);
    for (uint32_t i = 0; i < op->column_count; i++) {
        JoinColumn column = op->join.columns[i];
        if (!used[i]) continue;
        marker->usage.columns[op->inputs[column.side].i][column.index] = true;
        bool right = op->join.kind == JOIN_RIGHT || op->join.kind == JOIN_FULL;
        if (column.merged && right)
            marker->usage.columns[op->inputs[1].i][column.merged_index] = true;
    }
}

// The key of a distinct without keys: all columns that users see.
static void mark_distinct(Marker *marker, const Op *op) {
    for (uint32_t i = 0; i < op->distinct.count; i++)
        mark(marker, op->distinct.keys[i], op->inputs[0], 0);
    for (uint32_t i = 0; i < op->column_count && !op->distinct.count; i++)
        if (!op->columns[i].hidden) marker->usage.columns[op->inputs[0].i][i] = true;
}

static void mark_pair(Marker *marker, const Op *op) {
    const bool *used = marker->usage.columns[op->id.i];
    uint32_t left = graph_op_at(marker->graph, op->inputs[0])->column_count;
    for (uint32_t i = 0; i < op->column_count; i++) {
        if (!used[i]) continue;
        bool first = op->kind == OP_UNION || i < left;
        if (first) marker->usage.columns[op->inputs[0].i][i] = true;
        if (op->kind == OP_UNION)
            marker->usage.columns[op->inputs[1].i][op->union_.right_columns[i]] = true;
        else if (!first) marker->usage.columns[op->inputs[1].i][i - left] = true;
    }
}

static void mark_window(Marker *marker, const Op *op) {
    const bool *used = marker->usage.columns[op->id.i];
    for (uint32_t k = 0; k < op_sort_keys(op); k++)
        mark(marker, op_sort_key(op, k).key, op->inputs[0], 0);
    for (uint32_t i = 0; i < op->column_count; i++) {
        const WindowFn *fn = window_fn(op, i);
        if (!used[i]) continue;
        if (fn) mark(marker, fn->arg, op->inputs[0], 0);
        else marker->usage.columns[op->inputs[0].i][op->window.from[i]] = true;
    }
}

static void mark_inputs(Marker *marker, const Op *op) {
    const bool *used = marker->usage.columns[op->id.i];
    switch (op->kind) {
    case OP_SOURCE: break;
    case OP_FILTER:
        mark(marker, op->filter.pred, op->inputs[0], 0);
        mark_same(marker, op);
        break;
    case OP_PROJECT:
        for (uint32_t i = 0; i < op->project.count; i++)
            if (used[i]) mark(marker, op->project.items[i].expr, op->inputs[0], 0);
        break;
    case OP_EXPLODE:
        marker->usage.columns[op->inputs[0].i][op->explode.column] = true;
        mark_same(marker, op);
        break;
    case OP_GROUP: mark_group(marker, op); break;
    case OP_SORT:
        for (uint32_t i = 0; i < op->sort.count; i++)
            mark(marker, op->sort.keys[i].key, op->inputs[0], 0);
        mark_same(marker, op);
        break;
    case OP_DISTINCT:
        mark_distinct(marker, op);
        mark_same(marker, op);
        break;
    case OP_JOIN: mark_join(marker, op); break;
    case OP_WINDOW: mark_window(marker, op); break;
    case OP_UNION: case OP_ZIP: mark_pair(marker, op); break;
    case OP_LIMIT: case OP_SHUFFLE: case OP_SAMPLE: case OP_HINT: mark_same(marker, op); break;
    case OP_SINK:
        mark(marker, op->sink.key, op->inputs[0], 0);
        for (uint32_t i = 0; i < op->sink.column_count; i++) {
            const SinkColumn *column = &op->sink.columns[i];
            bool nullable = graph_at(marker->graph, column->value)->type->nullable;
            if (!column->verbatim || nullable) mark(marker, column->value, op->inputs[0], 0);
            mark(marker, column->spelling, op->inputs[0], 0);
        }
        break;
    }
}

// ---- effects and rejects ----

typedef struct Found {
    const Graph *graph;
    bool         found;
} Found;

static void see_effect(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)scope, (void)wanted;
    Found *effects = self;
    effects->found |= graph_has_effects(effects->graph, *slot);
}

bool ops_have_effects(const Graph *graph, const OpId *ops, uint32_t count) {
    Found effects = {.graph = graph};
    for (uint32_t i = 0; i < count; i++)
        op_each_expr(graph_op_at(graph, ops[i]), &effects, see_effect);
    return effects.found;
}

static const Expr *find_batch_call(const Graph *graph, ExprId root) {
    Walk walk = walk_make(graph);
    walk_start(&walk);
    walk_add(&walk, root);
    for (ExprId id; walk_next(&walk, &id);) {
        const Expr *node = graph_at(graph, id);
        if (node->op == EXPR_CALL && node->fn->traits & FN_BATCH) return node;
    }
    return nullptr;
}

const Expr *op_batch_call(const Graph *graph, const Op *op, const bool *used) {
    for (uint32_t i = 0; i < op->project.count; i++)
        if ((!used || used[i]) && graph_at(graph, op->project.items[i].expr)->batch)
            return find_batch_call(graph, op->project.items[i].expr);
    return nullptr;
}

static void see_foreign(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)scope, (void)wanted;
    Found *foreign = self;
    foreign->found |= graph_is_foreign(foreign->graph, *slot);
}

bool op_is_foreign(const Graph *graph, const Op *op) {
    Found foreign = {.graph = graph};
    op_each_expr((Op *)op, &foreign, see_foreign);
    return foreign.found;
}

static void see_effects(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)scope, (void)wanted;
    Found *effects = self;
    effects->found |= !expr_is_none(*slot) && graph_has_effects(effects->graph, *slot);
}

bool op_has_effects(const Graph *graph, const Op *op) {
    Found effects = {.graph = graph};
    op_each_expr((Op *)op, &effects, see_effects);
    return effects.found;
}

static bool needs_row(const Expr *node) {
    if (node->op == EXPR_CALL)
        return (node->fn->traits & (FN_RANDOM | FN_IMPURE | FN_BATCH)) != 0;
    return node->op == EXPR_COLUMN || node->op == EXPR_RAW ||
           (node->op == EXPR_PLACE && node->index != PLACE_SOURCE);
}

// False: the condition needs the row, or there are too many.
static bool add_condition(Walk *walk, ExprId id, PathConditions *to) {
    const Expr *node = graph_at(walk->graph, id);
    if (node->op == EXPR_AND)
        return add_condition(walk, node->args[0], to) && add_condition(walk, node->args[1], to);
    walk_start(walk);
    walk_add(walk, id);
    bool good = to->count < PATH_CONDITIONS_MAX;
    for (ExprId below; walk_next(walk, &below);) good &= !needs_row(graph_at(walk->graph, below));
    if (good) to->items[to->count++] = id;
    return good;
}

PathConditions source_path_conditions(const Graph *graph, const SourceOp *source) {
    PathConditions found = {0};
    Walk walk = walk_make(graph);
    bool more = source->key_count > 0;
    for (uint32_t i = 0; more && i < source->filter_count; i++)
        more = add_condition(&walk, source->filters[i].pred, &found);
    return found;
}

static void see_fault(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)wanted;
    Found *faults = self;
    if (scope == SCOPE_INPUT || scope == SCOPE_RIGHT || scope == SCOPE_PAIR)
        faults->found |= graph_faults(faults->graph, *slot) ||
                         graph_is_foreign(faults->graph, *slot);
}

bool op_rejects(const Graph *graph, const Op *op) {
    Found faults = {.graph = graph};
    op_each_expr((Op *)op, &faults, see_fault);
    // A field that needs a quote where there is none cannot be written.
    bool unquoted = op->kind == OP_SINK && format_info(op->sink.format)->dialect &&
                    !op->sink.options.csv.quote;
    return faults.found || unquoted;
}

// By operator: can a reject show a row that it made? Those of the operators after it do, up to
// the next meeting.
static bool *find_shown(const Graph *graph) {
    bool *shown = arena_new_array(graph->arena, bool, graph->op_count);
    for (size_t i = graph->op_count; i-- > 0;) {
        const Op *op = &graph->ops[i];
        bool here = op_rejects(graph, op) || (!op_is_meeting(op->kind) && shown[i]);
        for (uint32_t k = 0; k < op->input_count; k++) shown[op->inputs[k].i] |= here;
    }
    return shown;
}

static bool agg_faults(const Graph *graph, const Agg *agg) {
    bool faults = graph_faults(graph, agg->where) ||
                  (agg->fn && (agg->fn->traits & AGG_FALLIBLE));
    for (uint32_t i = 0; i < agg->arg_count; i++) faults |= graph_faults(graph, agg->args[i]);
    return faults;
}

// Is column `i`, which counts as read, judged whatever its value is good for?
static bool is_judged(const Graph *graph, const Op *op, uint32_t i) {
    if (op->kind == OP_PROJECT) return graph_faults(graph, op->project.items[i].expr);
    if (op->kind == OP_WINDOW) {
        const WindowFn *fn = window_fn(op, i);
        return fn && (graph_faults(graph, fn->arg) || fn->kind == WINDOW_SUM);
    }
    if (op->kind != OP_GROUP || i < op->group.key_count) return false;
    return agg_faults(graph, &op->group.aggs[i - op->group.key_count]);
}

static void mark_own(Marker *marker, const Op *op, bool shown) {
    bool *used = marker->usage.columns[op->id.i];
    bool whole = shown && op_is_meeting(op->kind);
    for (uint32_t i = 0; i < op->column_count; i++)
        if (!op->columns[i].hidden && !op->columns[i].unread)
            used[i] |= whole || is_judged(marker->graph, op, i);
}

Usage graph_usage(const Graph *graph) {
    Marker marker = {.graph = graph, .walk = walk_make(graph)};
    marker.usage.shown = find_shown(graph);
    marker.usage.columns = arena_new_array(graph->arena, bool *, graph->op_count);
    marker.usage.ops = arena_new_array(graph->arena, bool, graph->op_count);
    for (size_t i = 0; i < graph->op_count; i++)
        marker.usage.columns[i] = arena_new_array(graph->arena, bool, graph->ops[i].column_count);
    for (size_t i = graph->op_count; i-- > 0;) {
        const Op *op = &graph->ops[i];
        if (op->kind == OP_SINK) marker.usage.ops[i] = true;
        if (!marker.usage.ops[i]) continue;
        for (uint32_t k = 0; k < op->input_count; k++) marker.usage.ops[op->inputs[k].i] = true;
        mark_own(&marker, op, marker.usage.shown[i]);
        mark_inputs(&marker, op);
    }
    return marker.usage;
}

void usage_mark(const Graph *graph, Usage usage, OpId op) {
    Marker marker = {graph, walk_make(graph), usage};
    mark_inputs(&marker, graph_op_at(graph, op));
}
