// Window: each row looks at all rows of its partition anew.
#include "codegen/reference/aggregate.h"
#include "codegen/reference/job.h"
#include "stdlib/time.h"

#include <string.h>

typedef struct Member {
    Row    *row;      // As it came in.
    Row    *out;
    Value  *keys;     // Of the partition, then of the order.
    Value  *values;   // By function.
    size_t  came;
} Member;

typedef struct Members {
    Job      *job;
    const Op *op;
    bool     *wanted;  // By function: a column that is needed has its value.
    Member   *items;
    size_t    count, cap;
} Members;

static const Type *key_type(const Members *all, uint32_t k) {
    return graph_at(all->job->graph, op_sort_key(all->op, k).key)->type;
}

static int compare_key(const Members *all, uint32_t k, const Member *a, const Member *b) {
    SortKey key = op_sort_key(all->op, k);
    const Value *x = &a->keys[k], *y = &b->keys[k];
    if (x->is_null && y->is_null) return 0;
    if (x->is_null || y->is_null) return x->is_null == key.nulls_first ? -1 : 1;
    int sign = value_compare(type_base(key_type(all, k)), x, y);
    return key.descending ? -sign : sign;
}

// By the keys from `from` to `to`.
static int compare_members(const Members *all, const Member *a, const Member *b, uint32_t from,
                           uint32_t to) {
    for (uint32_t k = from; k < to; k++) {
        int sign = compare_key(all, k, a, b);
        if (sign) return sign;
    }
    return 0;
}

static void merge_sort(const Members *all, Member *items, Member *room, size_t count,
                       bool as_they_came) {
    if (count < 2) return;
    size_t half = count / 2, a = 0, b = half;
    merge_sort(all, items, room, half, as_they_came);
    merge_sort(all, items + half, room, count - half, as_they_came);
    for (size_t i = 0; i < count; i++) {
        bool left = b == count;
        if (!left && a < half)
            left = as_they_came ? items[a].came < items[b].came
                                : compare_members(all, &items[a], &items[b], 0,
                                                  op_sort_keys(all->op)) <= 0;
        room[i] = items[left ? a++ : b++];
    }
    memcpy(items, room, count * sizeof *items);
}

// The rows of one partition, `count` from `at` on.
typedef struct Partition {
    const Members *all;
    Member        *rows;
    size_t         count;
} Partition;

static bool peers(const Partition *of, size_t a, size_t b) {
    uint32_t keys = of->all->op->window.key_count;
    return compare_members(of->all, &of->rows[a], &of->rows[b], keys,
                           op_sort_keys(of->all->op)) == 0;
}

// Is date `y`, on the side of the frame that it is for, at most so many months from `x`?
static bool within_months(int64_t x, int64_t y, bool before, int64_t most, bool descending) {
    bool later = before == descending;
    int32_t last, status = sb_add_months_date((int32_t)x, later ? most : -most, &last);
    return status != SB_OK || (later ? y <= last : y >= last);
}

// Is row `b` in the frame of row `a`?
static bool in_frame(const Partition *of, const WindowFn *fn, size_t a, size_t b) {
    bool before = b < a;
    int64_t most = before ? fn->frame.back : fn->frame.ahead;
    if (fn->frame.unit == FRAME_ROWS)
        return most == FRAME_ALL || (int64_t)(before ? a - b : b - a) <= most;
    uint32_t k = of->all->op->window.key_count;
    const Type *type = type_base(key_type(of->all, k));
    const Value *x = &of->rows[a].keys[k], *y = &of->rows[b].keys[k];
    if (x->is_null || y->is_null) return x->is_null && y->is_null;
    if (fn->frame.unit == FRAME_MONTHS)
        return x->i == y->i || within_months(x->i, y->i, before, most,
                                             op_sort_key(of->all->op, k).descending);
    bool whole = type_is_integer(type);
    __int128 far = (whole ? value_integer(type, y) : y->i) -
                   (whole ? value_integer(type, x) : x->i);
    if (before) far = -far;
    return (op_sort_key(of->all->op, k).descending ? -far : far) <= most;
}

static int32_t of_frame(const Partition *of, uint32_t f, size_t row, Value *out) {
    Job *job = of->all->job;
    const WindowFn *fn = &of->all->op->window.fns[f];
    AggInput input = {0};
    for (size_t i = 0; i < of->count; i++) {
        const Value *value = &of->rows[i].values[f];
        bool counts = !expr_is_none(fn->arg) && value->is_null;
        if (counts || !in_frame(of, fn, row, i)) continue;
        AggRow item = {.x = *value};
        arena_push(job->arena, input.rows, input.count, input.cap, item);
    }
    AggRef ref = {.name = text_of(window_kind_name(fn->kind))};
    Agg agg = {.fn = &ref, .type = fn->type, .arg_count = !expr_is_none(fn->arg)};
    AggCall call = {.arena = job->arena, .agg = &agg, .input = &input};
    if (agg.arg_count) call.type = type_base(graph_at(job->graph, fn->arg)->type);
    return aggregate(&call, out);
}

// The number of the row from which the value comes; -1: none.
static int64_t picked(const Partition *of, uint32_t f, size_t row) {
    const WindowFn *fn = &of->all->op->window.fns[f];
    int64_t first = -1, last = -1, at = (int64_t)row, count = (int64_t)of->count;
    for (size_t i = 0; i < of->count; i++) {
        if (!in_frame(of, fn, row, i)) continue;
        if (first < 0) first = (int64_t)i;
        last = (int64_t)i;
    }
    switch (fn->kind) {
    case WINDOW_LAG: return at >= fn->n ? at - fn->n : -1;
    case WINDOW_LEAD: return count - at > fn->n ? at + fn->n : -1;
    case WINDOW_FIRST: return first;
    case WINDOW_LAST: return last;
    case WINDOW_NTH: return last - first >= fn->n - 1 ? first + fn->n - 1 : -1;
    default:
        while (at >= 0 && of->rows[at].values[f].is_null) at--;
        return at;
    }
}

static int64_t numbered(const Partition *of, uint32_t f, size_t row) {
    const WindowFn *fn = &of->all->op->window.fns[f];
    int64_t number = 1, count = (int64_t)of->count, at = (int64_t)row;
    switch (fn->kind) {
    case WINDOW_ROW_NUMBER: return at + 1;
    case WINDOW_RANK:
        while (at > 0 && peers(of, (size_t)at - 1, row)) at--;
        return at + 1;
    case WINDOW_DENSE_RANK:
        for (size_t i = 1; i <= row; i++) number += !peers(of, i - 1, i);
        return number;
    case WINDOW_NTILE:
        for (int64_t before = 0;; number++) {
            before += count / fn->n + (number <= count % fn->n);
            if (at < before) return number;
        }
    default: {
        const Type *type = graph_at(of->all->job->graph, fn->arg)->type;
        for (size_t i = 1; i <= row; i++) {
            const Value *a = &of->rows[i - 1].values[f], *b = &of->rows[i].values[f];
            __int128 gap = type_is_integer(type)
                               ? value_integer(type, b) - value_integer(type, a)
                               : (__int128)b->i - a->i;
            number += (gap < 0 ? -gap : gap) > fn->n;
        }
        return number;
    }
    }
}

static int32_t compute(const Partition *of, uint32_t f, size_t row, Value *out) {
    int64_t from;
    switch (of->all->op->window.fns[f].kind) {
    case WINDOW_COUNT: case WINDOW_SUM: case WINDOW_MEAN: case WINDOW_MIN: case WINDOW_MAX:
        return of_frame(of, f, row, out);
    case WINDOW_LAG: case WINDOW_LEAD: case WINDOW_FIRST: case WINDOW_LAST: case WINDOW_NTH:
    case WINDOW_FILL:
        from = picked(of, f, row);
        *out = from < 0 ? value_null() : of->rows[from].values[f];
        return SB_OK;
    case WINDOW_ROW_NUMBER: case WINDOW_RANK: case WINDOW_DENSE_RANK: case WINDOW_NTILE:
    case WINDOW_SESSION:
        *out = value_i64(numbered(of, f, row));
        return SB_OK;
    }
    return SB_OK;
}

// What nobody reads is not computed, and rejects nothing.
static bool *wanted_of(Job *job, const Node *node) {
    const WindowOp *window = &node->op->window;
    bool *wanted = arena_new_array(job->arena, bool, window->fn_count + 1);
    for (uint32_t c = 0; c < node->op->column_count; c++)
        if (node->needed[c] && window->from[c] >= WINDOW_OWN)
            wanted[window->from[c] - WINDOW_OWN] = true;
    return wanted;
}

static void take(Members *all, Node *node, Row *row) {
    Job *job = all->job;
    const WindowOp *window = &all->op->window;
    uint32_t keys = op_sort_keys(all->op);
    Member member = {.row = row, .came = all->count,
                     .keys = arena_new_array(job->arena, Value, keys + 1),
                     .values = arena_new_array(job->arena, Value, window->fn_count + 1)};
    int32_t status = SB_OK;
    eval_row(&job->eval, row, nullptr);
    for (uint32_t k = 0; k < keys && !status; k++)
        status = eval_expr(&job->eval, op_sort_key(all->op, k).key, &member.keys[k]);
    for (uint32_t f = 0; f < window->fn_count && !status; f++)
        if (all->wanted[f] && !expr_is_none(window->fns[f].arg))
            status = eval_expr(&job->eval, window->fns[f].arg, &member.values[f]);
    if (status) reject_row(job, node, row, status);
    else arena_push(job->arena, all->items, all->count, all->cap, member);
}

// The columns of the row, once its partition is known.
static void finish_row(const Partition *of, const Node *node, size_t at) {
    const Members *all = of->all;
    const Op *op = all->op;
    Job *job = all->job;
    Member *member = &of->rows[at];
    Row *row = member->out = row_like(job, op, member->row);
    for (uint32_t c = 0; c < op->column_count; c++) {
        uint32_t from = op->window.from[c];
        int32_t status = SB_OK;
        if (from < WINDOW_OWN) {
            row->values[c] = member->row->values[from];
            row->raws[c] = member->row->raws[from];
        } else if (node->needed[c]) {
            status = compute(of, from - WINDOW_OWN, at, &row->values[c]);
        }
        if (status)
            job_fail(job, JOB_FAULT, "'%.*s': %s",
                     TEXT_ARG(job->graph->steps[op->step.i].label), fault_message(status));
    }
    row_meet(row, op);
}

static bool comes_out(const Op *op, int64_t most, size_t at, size_t count) {
    switch (op->window.keeps) {
    case KEEPS_ALL: return true;
    case KEEPS_FIRST: return (int64_t)at < most;
    case KEEPS_LAST: return at + 1 == count;
    }
    return true;
}

void window_advance(Job *job, Node *node) {
    const Op *op = node->op;
    Value number = {0};
    if (op->window.keeps == KEEPS_FIRST && !job_setting(job, op->window.most, &number)) return;
    int64_t most = number.i;
    Members all = {.job = job, .op = op, .wanted = wanted_of(job, node)};
    for (Row *row; (row = node_take(job, node, 0));) take(&all, node, row);
    Member *room = arena_new_array(job->arena, Member, all.count + 1);
    merge_sort(&all, all.items, room, all.count, false);
    for (size_t at = 0, next; at < all.count && !job->exit_code; at = next) {
        for (next = at + 1; next < all.count; next++)
            if (compare_members(&all, &all.items[at], &all.items[next], 0, op->window.key_count))
                break;
        Partition of = {&all, all.items + at, next - at};
        for (size_t i = 0; i < of.count && !job->exit_code; i++)
            if (comes_out(op, most, i, of.count)) finish_row(&of, node, i);
            else node->counts.filtered++;
    }
    merge_sort(&all, all.items, room, all.count, true);
    for (size_t i = 0; i < all.count && !job->exit_code; i++)
        if (all.items[i].out) node_add(job, node, all.items[i].out);
    node->done = true;
}
