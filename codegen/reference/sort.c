// Sort and shuffle: a stable merge sort over all rows of the input.
#include "codegen/reference/identity.h"
#include "codegen/reference/job.h"

#include <string.h>

typedef struct Sortable {
    Row     *row;
    Value   *keys;
    uint64_t draw;
} Sortable;

typedef struct Order {
    const Job *job;
    const Op  *op;
} Order;

// Nulls are last, also under desc, unless it says `nulls first`.
static int compare_key(const Order *order, uint32_t k, const Value *a, const Value *b) {
    const SortKey *key = &order->op->sort.keys[k];
    if (a->is_null && b->is_null) return 0;
    if (a->is_null || b->is_null) return a->is_null == key->nulls_first ? -1 : 1;
    int sign = value_compare(type_base(graph_at(order->job->graph, key->key)->type), a, b);
    return key->descending ? -sign : sign;
}

static int compare_rows(const Order *order, const Sortable *a, const Sortable *b) {
    if (order->op->kind == OP_SHUFFLE) return (a->draw > b->draw) - (a->draw < b->draw);
    for (uint32_t k = 0; k < order->op->sort.count; k++) {
        int sign = compare_key(order, k, &a->keys[k], &b->keys[k]);
        if (sign) return sign;
    }
    return 0;
}

static void merge_sort(const Order *order, Sortable *rows, Sortable *room, size_t count) {
    if (count < 2) return;
    size_t half = count / 2, a = 0, b = half;
    merge_sort(order, rows, room, half);
    merge_sort(order, rows + half, room, count - half);
    for (size_t i = 0; i < count; i++) {
        bool left = b == count || (a < half && compare_rows(order, &rows[a], &rows[b]) <= 0);
        room[i] = rows[left ? a++ : b++];
    }
    memcpy(rows, room, count * sizeof *rows);
}

static void deliver(Job *job, Node *node, Sortable *rows, size_t count) {
    Order order = {job, node->op};
    merge_sort(&order, rows, arena_new_array(job->arena, Sortable, count + 1), count);
    for (size_t i = 0; i < count && !job->exit_code; i++) {
        Row *row = row_like(job, node->op, rows[i].row);
        row->values = rows[i].row->values;
        row->raws = rows[i].row->raws;
        row_meet(row, node->op);
        node_add(job, node, row);
    }
    node->done = true;
}

void sort_advance(Job *job, Node *node) {
    const Op *op = node->op;
    Sortable *rows = nullptr;
    size_t count = 0, cap = 0;
    for (Row *row; (row = node_take(job, node, 0));) {
        Value *keys = arena_new_array(job->arena, Value, op->sort.count + 1);
        int32_t status = SB_OK;
        eval_row(&job->eval, row, nullptr);
        for (uint32_t k = 0; k < op->sort.count && !status; k++)
            status = eval_expr(&job->eval, op->sort.keys[k].key, &keys[k]);
        if (status) {
            reject_row(job, node, row, status);
            continue;
        }
        Sortable sortable = {row, keys, 0};
        arena_push(job->arena, rows, count, cap, sortable);
    }
    deliver(job, node, rows, count);
}

void shuffle_advance(Job *job, Node *node) {
    Sortable *rows = nullptr;
    size_t count = 0, cap = 0;
    Value seed = {0};
    job_setting(job, node->op->shuffle.seed, &seed);
    for (Row *row; (row = node_take(job, node, 0));) {
        Sortable sortable = {row, nullptr, identity_draw((uint64_t)seed.i, row->identity)};
        arena_push(job->arena, rows, count, cap, sortable);
    }
    deliver(job, node, rows, count);
}
