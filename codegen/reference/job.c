#include "codegen/reference/job.h"

#include <stdarg.h>
#include <string.h>

bool job_open(Job *job, const Graph *graph, Arena *arena) {
    *job = (Job){.graph = graph, .arena = arena};
    job->nodes = arena_new_array(arena, Node, graph->op_count ? graph->op_count : 1);
    job->params = arena_new_array(arena, Value, graph->param_count ? graph->param_count : 1);
    uint32_t sources = 0;
    for (size_t i = 0; i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        job->nodes[i].op = op;
        job->nodes[i].needed =
            arena_new_array(arena, bool, op->column_count ? op->column_count : 1);
        if (op->kind == OP_SOURCE) job->nodes[i].source = sources++;
    }
    if (!eval_open(&job->eval, graph, arena)) return false;
    job->eval.params = job->params;
    return true;
}

void job_close(Job *job) {
    eval_close(&job->eval);
    text_buf_free(&job->error);
}

static const struct {
    const char *code;
    int         exit_code;
    const char *fix;
} troubles[] = {
#define TROUBLE(name, code, exit, title, fix) {code, exit, fix},
#include "runtime/report/troubles.def"
#undef TROUBLE
};

void job_fail(Job *job, JobTrouble kind, const char *message, ...) {
    if (job->exit_code) return;  // The first failure is the one to tell.
    va_list args;
    va_start(args, message);
    text_buf_format(&job->error, "error[%s]: ", troubles[kind].code);
    text_buf_formatv(&job->error, message, args);
    va_end(args);
    job->fix_at = job->error.len;
    text_buf_format(&job->error, "\n  = fix: %s\n", troubles[kind].fix);
    job->exit_code = troubles[kind].exit_code;
    job->in_trouble = true;
}

void job_fix(Job *job, const char *fix, ...) {
    va_list args;
    va_start(args, fix);
    job->error.len = job->fix_at;
    text_buf_add(&job->error, TEXT("\n  = fix: "));
    text_buf_formatv(&job->error, fix, args);
    text_buf_char(&job->error, '\n');
    va_end(args);
}

bool job_setting(Job *job, ExprId id, Value *out) {
    eval_row(&job->eval, nullptr, nullptr);
    int32_t status = eval_expr(&job->eval, id, out);
    if (status) fail_fault(job, STEP_NONE, status, job->eval.detail);
    return !status;
}

// ---- what is needed ---------------------------------------------------------------------------

// Marks the columns of op's inputs that an expression names.
static void want_expr(Job *job, const Op *op, ExprId id, bool *seen) {
    if (expr_is_none(id) || seen[id.i]) return;
    seen[id.i] = true;
    const Expr *expr = graph_at(job->graph, id);
    if (expr->op == EXPR_COLUMN || expr->op == EXPR_RAW)
        job_node(job, op->inputs[expr->input])->needed[expr->index] = true;
    for (uint32_t i = 0; i < expr->arg_count; i++) want_expr(job, op, expr->args[i], seen);
}

static void want_same(Job *job, const Node *node, unsigned side) {
    Node *input = job_node(job, node->op->inputs[side]);
    for (uint32_t c = 0; c < node->op->column_count; c++) input->needed[c] |= node->needed[c];
}

static void want_group(Job *job, const Node *node, bool *seen) {
    const Op *op = node->op;
    for (uint32_t k = 0; k < op->group.key_count; k++)
        want_expr(job, op, op->group.keys[k].expr, seen);
    for (uint32_t a = 0; a < op->group.agg_count; a++) {
        const Agg *agg = &op->group.aggs[a];
        if (!node->needed[op->group.key_count + a]) continue;
        want_expr(job, op, agg->where, seen);
        for (uint32_t i = 0; i < agg->arg_count; i++) want_expr(job, op, agg->args[i], seen);
    }
}

static void want_join(Job *job, const Node *node, bool *seen) {
    const Op *op = node->op;
    for (uint32_t k = 0; k < op->join.key_count; k++) {
        bool *seen_right = arena_new_array(job->arena, bool, job->graph->expr_count);
        want_expr(job, op, op->join.left[k], seen);
        want_expr(job, op, op->join.right[k], seen_right);
    }
    want_expr(job, op, op->join.seek, seen);
    want_expr(job, op, op->join.within, seen);
    want_expr(job, op, op->join.where, seen);
    for (uint32_t c = 0; c < op->column_count; c++) {
        const JoinColumn *column = &op->join.columns[c];
        if (!node->needed[c]) continue;
        job_node(job, op->inputs[column->side])->needed[column->index] = true;
        if (column->merged) job_node(job, op->inputs[1])->needed[column->merged_index] = true;
    }
}

static void want_distinct(Job *job, const Node *node, bool *seen) {
    const Op *op = node->op;
    want_same(job, node, 0);
    for (uint32_t k = 0; k < op->distinct.count; k++)
        want_expr(job, op, op->distinct.keys[k], seen);
    Node *input = job_node(job, op->inputs[0]);
    for (uint32_t c = 0; c < op->column_count && !op->distinct.count; c++)
        input->needed[c] |= !op->columns[c].hidden;
}

static void want_zip(Job *job, const Node *node) {
    Node *left = job_node(job, node->op->inputs[0]), *right = job_node(job, node->op->inputs[1]);
    uint32_t split = left->op->column_count;
    for (uint32_t c = 0; c < node->op->column_count; c++) {
        if (c < split) left->needed[c] |= node->needed[c];
        else right->needed[c - split] |= node->needed[c];
    }
}

static void want_window(Job *job, const Node *node, bool *seen) {
    const Op *op = node->op;
    for (uint32_t k = 0; k < op_sort_keys(op); k++)
        want_expr(job, op, op_sort_key(op, k).key, seen);
    for (uint32_t c = 0; c < op->column_count; c++) {
        const WindowFn *fn = window_fn(op, c);
        if (!node->needed[c]) continue;
        if (fn) want_expr(job, op, fn->arg, seen);
        else job_node(job, op->inputs[0])->needed[op->window.from[c]] = true;
    }
}

static void want_sink(Job *job, const Op *op, bool *seen) {
    want_expr(job, op, op->sink.key, seen);
    for (uint32_t c = 0; c < op->sink.column_count; c++) {
        want_expr(job, op, op->sink.columns[c].value, seen);
        want_expr(job, op, op->sink.columns[c].spelling, seen);
    }
}

// From the columns that are needed of a node to those of its inputs.
static void want_inputs(Job *job, Node *node) {
    const Op *op = node->op;
    bool *seen = arena_new_array(job->arena, bool, job->graph->expr_count + 1);
    // What counts as read is judged, and a reject may show it, whatever it is good for. Sources
    // say so themselves; in a test, which runs no pass, only what its flow needs is judged.
    bool judges = job->graph->passed > 0 && op->kind != OP_SOURCE;
    for (uint32_t c = 0; c < op->column_count && judges; c++)
        node->needed[c] |= !op->columns[c].hidden && !op->columns[c].unread;
    switch (op->kind) {
    case OP_SOURCE:
        return;
    case OP_FILTER:
        want_same(job, node, 0);
        want_expr(job, op, op->filter.pred, seen);
        return;
    case OP_PROJECT:
        for (uint32_t i = 0; i < op->project.count; i++) {
            if (node->needed[i]) want_expr(job, op, op->project.items[i].expr, seen);
        }
        return;
    case OP_EXPLODE:
        want_same(job, node, 0);
        job_node(job, op->inputs[0])->needed[op->explode.column] = true;
        return;
    case OP_GROUP: want_group(job, node, seen); return;
    case OP_SORT:
        want_same(job, node, 0);
        for (uint32_t k = 0; k < op->sort.count; k++)
            want_expr(job, op, op->sort.keys[k].key, seen);
        return;
    case OP_WINDOW: want_window(job, node, seen); return;
    case OP_LIMIT: case OP_SHUFFLE: case OP_SAMPLE: case OP_HINT:
        want_same(job, node, 0);
        return;
    case OP_DISTINCT: want_distinct(job, node, seen); return;
    case OP_JOIN: want_join(job, node, seen); return;
    case OP_UNION:
        want_same(job, node, 0);
        for (uint32_t c = 0; c < op->column_count; c++)
            job_node(job, op->inputs[1])->needed[op->union_.right_columns[c]] |= node->needed[c];
        return;
    case OP_ZIP: want_zip(job, node); return;
    case OP_SINK: want_sink(job, op, seen); return;
    }
}

void job_want(Job *job, OpId op) {
    Node *node = job_node(job, op);
    node->reached = true;
    for (uint32_t c = 0; c < node->op->column_count; c++)
        node->needed[c] |= !node->op->columns[c].hidden;
    // Inputs have smaller numbers, so one way down sees every need.
    for (size_t i = job->graph->op_count; i-- > 0;) {
        node = &job->nodes[i];
        if (!node->reached) continue;
        want_inputs(job, node);
        for (uint32_t k = 0; k < node->op->input_count; k++) {
            Node *input = job_node(job, node->op->inputs[k]);
            input->reached = true;
            input->feeds_zip |= node->feeds_zip || node->op->kind == OP_ZIP;
        }
    }
}

// ---- rows -------------------------------------------------------------------------------------

Row *row_new(Job *job, const Op *op) {
    Row *row = arena_new_of(job->arena, Row);
    row->values = arena_new_array(job->arena, Value, op->column_count ? op->column_count : 1);
    row->raws = arena_new_array(job->arena, Text, op->column_count ? op->column_count : 1);
    return row;
}

Row *row_like(Job *job, const Op *op, const Row *from) {
    Row *row = row_new(job, op);
    row->identity = from->identity;
    row->origin = from->origin;
    row->met = from->met;
    row->met_op = from->met_op;
    row->element = from->element;
    return row;
}

void row_meet(Row *row, const Op *op) {
    row->met = row;
    row->met_op = op->id;
}

void node_add(Job *job, Node *node, Row *row) {
    arena_push(job->arena, node->rows, node->count, node->cap, row);
    node->counts.on++;
}

Row *node_take(Job *job, Node *node, unsigned side) {
    Row *row = job_row(job, node->op->inputs[side], node->next[side]);
    if (!row) return nullptr;
    node->next[side]++;
    node->counts.in++;
    return row;
}

static void node_advance(Job *job, Node *node) {
    switch (node->op->kind) {
    case OP_SOURCE: source_advance(job, node); return;
    case OP_FILTER: filter_advance(job, node); return;
    case OP_PROJECT: project_advance(job, node); return;
    case OP_EXPLODE: explode_advance(job, node); return;
    case OP_GROUP: group_advance(job, node); return;
    case OP_SORT: sort_advance(job, node); return;
    case OP_LIMIT: limit_advance(job, node); return;
    case OP_DISTINCT: distinct_advance(job, node); return;
    case OP_JOIN: join_advance(job, node); return;
    case OP_UNION: union_advance(job, node); return;
    case OP_ZIP: zip_advance(job, node); return;
    case OP_SHUFFLE: shuffle_advance(job, node); return;
    case OP_SAMPLE: sample_advance(job, node); return;
    case OP_WINDOW: window_advance(job, node); return;
    case OP_HINT: pass_advance(job, node); return;
    case OP_SINK: node->done = true; return;
    }
}

Row *job_row(Job *job, OpId op, size_t i) {
    Node *node = job_node(job, op);
    while (node->count <= i && !node->done && !job->exit_code) node_advance(job, node);
    return i < node->count && !job->exit_code ? node->rows[i] : nullptr;
}
