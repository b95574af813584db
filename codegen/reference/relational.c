// The operators that take rows one by one: filter, project, explode, limit, distinct, union, zip,
// sample and hints.
#include "codegen/reference/job.h"
#include "codegen/reference/identity.h"

#include <string.h>

void filter_advance(Job *job, Node *node) {
    Row *row = node_take(job, node, 0);
    if (!row) {
        node->done = true;
        return;
    }
    Value keep;
    eval_row(&job->eval, row, nullptr);
    int32_t status = eval_expr(&job->eval, node->op->filter.pred, &keep);
    if (status) reject_row(job, node, row, status);
    else if (keep.i) node_add(job, node, row);
    else node->counts.filtered++;
}

void project_advance(Job *job, Node *node) {
    const Op *op = node->op;
    Row *from = node_take(job, node, 0);
    if (!from) {
        node->done = true;
        return;
    }
    Row *row = row_like(job, op, from);
    eval_row(&job->eval, from, nullptr);
    for (uint32_t i = 0; i < op->project.count; i++) {
        if (!node->needed[i]) continue;
        const Expr *expr = graph_at(job->graph, op->project.items[i].expr);
        int32_t status = eval_expr(&job->eval, op->project.items[i].expr, &row->values[i]);
        if (status) {
            reject_row(job, node, from, status);
            return;
        }
        if (expr->op == EXPR_COLUMN) row->raws[i] = from->raws[expr->index];
    }
    node_add(job, node, row);
}

void explode_advance(Job *job, Node *node) {
    const Op *op = node->op;
    Row *from = node_take(job, node, 0);
    if (!from) {
        node->done = true;
        return;
    }
    const Value *list = &from->values[op->explode.column];
    uint32_t count = list->is_null ? 0 : list->item_count;
    uint32_t rows = count || !op->explode.outer ? count : 1;
    if (!rows) node->counts.filtered++;
    else node->counts.made += rows - 1;
    for (uint32_t i = 0; i < rows; i++) {
        Row *row = row_like(job, op, from);
        memcpy(row->values, from->values, op->column_count * sizeof *row->values);
        memcpy(row->raws, from->raws, op->column_count * sizeof *row->raws);
        row->values[op->explode.column] = i < count ? list->items[i] : value_null();
        row->raws[op->explode.column] = (Text){0};
        row->identity = sb_hash_word(from->identity, i);
        node_add(job, node, row);
    }
}

typedef struct Limit {
    int64_t left, skip;
} Limit;

static Limit *limit_state(Job *job, Node *node) {
    if (node->state) return node->state;
    Limit *limit = node->state = arena_new_of(job->arena, Limit);
    Value count = value_i64(INT64_MAX), skip = value_i64(0);
    if (!expr_is_none(node->op->limit.count)) job_setting(job, node->op->limit.count, &count);
    if (!expr_is_none(node->op->limit.skip)) job_setting(job, node->op->limit.skip, &skip);
    limit->left = count.i;
    limit->skip = skip.i;
    return limit;
}

void limit_advance(Job *job, Node *node) {
    Limit *limit = limit_state(job, node);
    // Once enough rows are there, none is asked for: what follows is neither judged nor counted.
    Row *from = limit->left > 0 ? node_take(job, node, 0) : nullptr;
    if (!from) {
        node->done = true;
        return;
    }
    if (limit->skip > 0) {
        limit->skip--;
        node->counts.filtered++;
        return;
    }
    limit->left--;
    Row *row = row_like(job, node->op, from);
    row->values = from->values;
    row->raws = from->raws;
    row_meet(row, node->op);
    node_add(job, node, row);
}

// Keys seen so far, found by their bytes.
typedef struct Seen {
    Text    *keys;
    size_t   mask, count;
} Seen;

static bool seen_add(Job *job, Seen *seen, Text key) {
    if (seen->count * 2 >= seen->mask) {
        Seen wider = {.mask = seen->mask ? seen->mask * 2 + 1 : 63, .count = seen->count};
        wider.keys = arena_new_array(job->arena, Text, wider.mask + 1);
        for (size_t i = 0; seen->keys && i <= seen->mask; i++) {
            if (!seen->keys[i].at) continue;
            size_t slot = text_hash(seen->keys[i]) & wider.mask;
            while (wider.keys[slot].at) slot = (slot + 1) & wider.mask;
            wider.keys[slot] = seen->keys[i];
        }
        *seen = wider;
    }
    size_t slot = text_hash(key) & seen->mask;
    for (; seen->keys[slot].at; slot = (slot + 1) & seen->mask) {
        if (text_eq(seen->keys[slot], key)) return false;
    }
    seen->keys[slot] = key;
    seen->count++;
    return true;
}

bool keys_of(Job *job, Node *node, const ExprId *keys, uint32_t count, Value *out) {
    for (uint32_t i = 0; i < count; i++) {
        int32_t status = eval_expr(&job->eval, keys[i], &out[i]);
        if (!status) continue;
        reject_row(job, node, job->eval.rows[0], status);
        return false;
    }
    return true;
}

static void distinct_row(Job *job, Node *node, Row *from) {
    const Op *op = node->op;
    Value *keys = arena_new_array(job->arena, Value, op->distinct.count + 1);
    TextBuf buf = {0};
    eval_row(&job->eval, from, nullptr);
    if (!keys_of(job, node, op->distinct.keys, op->distinct.count, keys)) return;
    for (uint32_t k = 0; k < op->distinct.count; k++)
        value_key(&buf, type_base(graph_at(job->graph, op->distinct.keys[k])->type), &keys[k]);
    for (uint32_t c = 0; c < op->column_count && !op->distinct.count; c++) {
        if (!op->columns[c].hidden)
            value_key(&buf, type_base(op->columns[c].type), &from->values[c]);
    }
    text_buf_char(&buf, '.');  // No key is empty.
    if (!node->state) node->state = arena_new_of(job->arena, Seen);
    if (!seen_add(job, node->state, text_buf_take(&buf, job->arena))) {
        node->counts.merged++;
        return;
    }
    Row *row = row_like(job, op, from);
    row->values = from->values;
    row->raws = from->raws;
    row_meet(row, op);
    node_add(job, node, row);
}

// Like a group it takes all rows before it gives one, also where a `limit` follows.
void distinct_advance(Job *job, Node *node) {
    for (Row *from = node_take(job, node, 0); from; from = node_take(job, node, 0))
        distinct_row(job, node, from);
    node->done = true;
}

void union_advance(Job *job, Node *node) {
    const Op *op = node->op;
    bool from_left = true;
    Row *from = node_take(job, node, 0);
    if (!from) {
        from_left = false;
        from = node_take(job, node, 1);
    }
    if (!from) {
        node->done = true;
        return;
    }
    Row *row = row_like(job, op, from);
    for (uint32_t c = 0; c < op->column_count; c++) {
        uint32_t at = from_left ? c : op->union_.right_columns[c];
        row->values[c] = from->values[at];
        row->raws[c] = from->raws[at];
    }
    row_meet(row, op);
    node_add(job, node, row);
}

void zip_advance(Job *job, Node *node) {
    const Op *op = node->op;
    Row *left = node_take(job, node, 0), *right = node_take(job, node, 1);
    if (!left || !right) {
        node->done = true;
        if ((left || right) && !job->exit_code)
            fail_fault(job, op->step, SB_FAULT_ZIP_LENGTH, (Text){0});
        return;
    }
    uint32_t split = graph_op_at(job->graph, op->inputs[0])->column_count;
    Row *row = row_like(job, op, left);
    for (uint32_t c = 0; c < op->column_count; c++) {
        const Row *side = c < split ? left : right;
        uint32_t at = c < split ? c : c - split;
        row->values[c] = side->values[at];
        row->raws[c] = side->raws[at];
    }
    row->identity = sb_hash_word(left->identity, right->identity);
    row_meet(row, op);
    node->counts.merged++;
    node_add(job, node, row);
}

void sample_advance(Job *job, Node *node) {
    Value fraction, seed;
    if (!job_setting(job, node->op->sample.fraction, &fraction)) return;
    if (!job_setting(job, node->op->sample.seed, &seed)) return;
    Row *row = node_take(job, node, 0);
    if (!row) {
        node->done = true;
        return;
    }
    uint64_t draw = identity_draw((uint64_t)seed.i, row->identity);
    if ((double)(draw >> 11) * 0x1p-53 < fraction.f) node_add(job, node, row);
    else node->counts.filtered++;
}

void pass_advance(Job *job, Node *node) {
    Row *row = node_take(job, node, 0);
    if (row) node_add(job, node, row);
    else node->done = true;
}
