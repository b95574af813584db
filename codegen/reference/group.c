// Group: every group keeps the values of its rows; aggregates are computed from those lists.
#include "codegen/reference/aggregate.h"
#include "codegen/reference/identity.h"
#include "codegen/reference/job.h"

typedef struct Group {
    Text       key;
    Value     *keys;
    const Row *first;
    AggInput  *inputs;      // By aggregate.
    struct Group *chain;    // Of the same bucket.
} Group;

enum { BUCKETS = 4096 };

typedef struct Groups {
    Group  *buckets[BUCKETS];
    Group **order;          // As their first rows came.
    size_t  count, cap;
} Groups;

// One aggregate's arguments of one row.
typedef struct Arguments {
    bool  counts;           // The row passes `where` and no argument that matters is null.
    Value values[2];
} Arguments;

static int32_t arguments_of(Job *job, const Agg *agg, Arguments *out) {
    Value keep = value_bool(true);
    int32_t status = SB_OK;
    *out = (Arguments){.counts = true};
    if (!expr_is_none(agg->where)) status = eval_expr(&job->eval, agg->where, &keep);
    if (status) return status;
    if (!keep.i) out->counts = false;
    for (uint32_t i = 0; i < agg->arg_count && out->counts; i++) {
        status = eval_expr(&job->eval, agg->args[i], &out->values[i]);
        if (status) return status;
    }
    bool takes_nulls = agg->fn && agg->fn->traits & AGG_NULLS;
    for (uint32_t i = 0; i < agg->arg_count && out->counts; i++) {
        // Null never decides which row is least or greatest.
        if (out->values[i].is_null && (!takes_nulls || i == 1)) out->counts = false;
    }
    return SB_OK;
}

static Group *group_find(Job *job, Groups *groups, Text key) {
    Group **bucket = &groups->buckets[text_hash(key) % BUCKETS];
    for (Group *group = *bucket; group; group = group->chain) {
        if (text_eq(group->key, key)) return group;
    }
    Group *group = arena_new_of(job->arena, Group);
    *group = (Group){.key = key, .chain = *bucket};
    *bucket = group;
    arena_push(job->arena, groups->order, groups->count, groups->cap, group);
    return group;
}

// Takes a row into its group. A fault anywhere removes it from all aggregates.
static void group_take(Job *job, Node *node, Groups *groups, const Row *row) {
    const Op *op = node->op;
    uint32_t key_count = op->group.key_count, agg_count = op->group.agg_count;
    Value *keys = arena_new_array(job->arena, Value, key_count + 1);
    Arguments *arguments = arena_new_array(job->arena, Arguments, agg_count + 1);
    int32_t status = SB_OK;
    TextBuf buf = {0};
    eval_row(&job->eval, row, nullptr);
    for (uint32_t k = 0; k < key_count && !status; k++) {
        status = eval_expr(&job->eval, op->group.keys[k].expr, &keys[k]);
        if (type_is_float(op->columns[k].type)) keys[k].f += 0.0;  // -0.0 is 0.0 and comes out so.
        if (!status) value_key(&buf, type_base(op->columns[k].type), &keys[k]);
    }
    for (uint32_t a = 0; a < agg_count && !status; a++) {
        if (node->needed[key_count + a])
            status = arguments_of(job, &op->group.aggs[a], &arguments[a]);
    }
    Text key = text_buf_take(&buf, job->arena);
    if (status) {
        reject_row(job, node, row, status);
        return;
    }
    Group *group = group_find(job, groups, key);
    if (group->first) {
        node->counts.merged++;
    } else {
        group->first = row;
        group->keys = keys;
        group->inputs = arena_new_array(job->arena, AggInput, agg_count + 1);
    }
    for (uint32_t a = 0; a < agg_count; a++) {
        AggInput *input = &group->inputs[a];
        if (!arguments[a].counts) continue;
        AggRow agg_row = {arguments[a].values[0], arguments[a].values[1]};
        arena_push(job->arena, input->rows, input->count, input->cap, agg_row);
    }
}

static void group_end(Job *job, Node *node, const Group *group) {
    const Op *op = node->op;
    Row *row = row_like(job, op, group->first);
    for (uint32_t k = 0; k < op->group.key_count; k++) row->values[k] = group->keys[k];
    for (uint32_t a = 0; a < op->group.agg_count; a++) {
        const Agg *agg = &op->group.aggs[a];
        uint32_t c = op->group.key_count + a;
        if (!node->needed[c]) continue;
        AggCall call = {.arena = job->arena, .agg = agg, .input = &group->inputs[a],
                        .scratch = &job->eval.call};
        call.type = agg->arg_count ? type_base(graph_at(job->graph, agg->args[0])->type) : nullptr;
        call.by_type = agg->arg_count > 1 ? type_base(graph_at(job->graph, agg->args[1])->type)
                                          : nullptr;
        if (!expr_is_none(agg->option) && !job_setting(job, agg->option, &call.option)) return;
        int32_t status = aggregate(&call, &row->values[c]);
        if (status) {
            fail_fault(job, op->step, status, (Text){0});
            return;
        }
    }
    row_meet(row, op);
    node_add(job, node, row);
}

void group_advance(Job *job, Node *node) {
    const Op *op = node->op;
    Groups *groups = arena_new_of(job->arena, Groups);
    for (Row *row; (row = node_take(job, node, 0));) group_take(job, node, groups, row);
    node->done = true;
    if (job->exit_code) return;
    if (!op->group.key_count && !groups->count) {
        Row *nothing = row_new(job, op);
        nothing->identity = IDENTITY_START;
        Group *group = group_find(job, groups, TEXT(""));
        group->first = nothing;
        group->inputs = arena_new_array(job->arena, AggInput, op->group.agg_count + 1);
        node->counts.made++;
    }
    for (size_t i = 0; i < groups->count && !job->exit_code; i++)
        group_end(job, node, groups->order[i]);
}
