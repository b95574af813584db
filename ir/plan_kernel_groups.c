// Which groups kernels fill.
//
// A kernel fills the groups of a stage that ends in them, where all steps before are its own. It
// has a partial state for each group: words of 64 bits, of which some are added and others
// compared. So a kernel takes keys and arguments that are whole numbers. Rows that do not fit its
// words, or its table, are left to the CPU.
#include "ir/plan_stages.h"

static const char because_many[] = "kernels fill groups of a few keys, filters and aggregates";
static const char because_key[] = "kernels group by whole numbers and times";
static const char because_tensor[] = "a kernel over tensors judges the same rows";
static const char because_order[] = "something after it asks for the identity of a row";
static const char because_agg[] = "an aggregate has no form for kernels";
static const char because_fork[] = "its rows go several ways";

enum { KEYS_MAX = 8, WORDS_MAX = 32, FILTERS_MAX = 8 };

// By the symbols of aggregates whose states such words can say.
static const struct {
    const char *symbol;
    KernelAgg   kind;
} aggs[] = {
    {"sb_count", KERNEL_COUNT},
    {"sb_any", KERNEL_BOOLS},
    {"sb_all", KERNEL_BOOLS},
    {"sb_sum_i64", KERNEL_SUM},
    {"sb_sum_u64", KERNEL_SUM},
    {"sb_mean_i64", KERNEL_SUM},
    {"sb_mean_u64", KERNEL_SUM},
    {"sb_mean_duration", KERNEL_SUM},
#define EXTREMES(T) {"sb_min_" #T, KERNEL_LEAST}, {"sb_max_" #T, KERNEL_GREATEST}
    EXTREMES(i8), EXTREMES(i16), EXTREMES(i32), EXTREMES(i64),
    EXTREMES(u8), EXTREMES(u16), EXTREMES(u32), EXTREMES(u64),
};

KernelAgg plan_kernel_agg(const Agg *agg) {
    if (!agg->fn) return KERNEL_COUNT;
    for (size_t i = 0; i < countof(aggs); i++)
        if (text_is(agg->fn->symbol, aggs[i].symbol)) return aggs[i].kind;
    return KERNEL_NO_AGG;
}

// ---- keys ---------------------------------------------------------------------------------------

uint32_t plan_kernel_bits(const Type *type) {
    switch (type_base(type)->kind) {
    case TYPE_BOOL: return 1;
    case TYPE_I8: case TYPE_U8: case TYPE_I16: case TYPE_U16: case TYPE_I32: case TYPE_U32:
    case TYPE_I64: case TYPE_U64: case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        return (uint32_t)type_size(type_base(type)) * 8;
    default: return 0;
    }
}

static const char *why_not_keys(const Plan *plan, Walk *walk, const Breaker *breaker) {
    if (breaker->key_count > KEYS_MAX) return because_many;
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        if (!plan_kernel_bits(breaker->slots[k].type)) return because_key;
        const char *reason = plan_why_no_kernel(plan, walk, breaker->keys[k]);
        if (reason) return reason;
    }
    return nullptr;
}

// ---- aggregates ---------------------------------------------------------------------------------

static const char *why_not_agg(const Plan *plan, Walk *walk, const Agg *agg) {
    if (plan_kernel_agg(agg) == KERNEL_NO_AGG || !expr_is_none(agg->option)) return because_agg;
    const char *reason = nullptr;
    if (!expr_is_none(agg->where)) reason = plan_why_no_kernel(plan, walk, agg->where);
    for (uint32_t i = 0; i < agg->arg_count && !reason; i++)
        reason = plan_why_no_kernel(plan, walk, agg->args[i]);
    return reason;
}

static const char *why_not_aggs(const Plan *plan, Walk *walk, const Breaker *breaker) {
    const Op *op = graph_op_at(plan->graph, breaker->op);
    uint32_t words = 0;
    for (uint32_t i = 0; i < op->group.agg_count; i++) {
        if (!plan_owns_state(breaker, i)) continue;
        const char *reason = why_not_agg(plan, walk, &op->group.aggs[i]);
        if (reason) return reason;
        words += plan_kernel_agg(&op->group.aggs[i]) == KERNEL_COUNT ? 1 : 2;
    }
    return words <= WORDS_MAX ? nullptr : because_many;
}

static bool has_many_filters(const Plan *plan, const Stage *stage) {
    uint32_t filters = 0;
    for (uint32_t m = 1; m < stage->op_count; m++)
        filters += graph_op_at(plan->graph, stage->ops[m])->kind == OP_FILTER;
    return filters > FILTERS_MAX;
}

// A kernel over the elements of a tensor would judge rows that are in groups already.
static bool has_tensors(const Plan *plan, const Stage *stage) {
    for (uint32_t m = 1; m < stage->op_count; m++) {
        const Op *op = graph_op_at(plan->graph, stage->ops[m]);
        for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++) {
            const Expr *x = graph_passed_on(plan->graph, op->project.items[i].expr);
            bool computed = plan->usage.columns[op->id.i][i] && x->op != EXPR_COLUMN;
            if (computed && x->type->kind == TYPE_TENSOR) return true;
        }
    }
    return false;
}

const char *plan_why_no_groups(const Plan *plan, const Stage *stage, Walk *walk) {
    if (stage->terminal_count != 1) return because_fork;
    const Breaker *breaker = &plan->breakers[stage->terminals[0].index];
    if (breaker->identity_offset != SIZE_MAX) return because_order;
    if (has_tensors(plan, stage)) return because_tensor;
    if (has_many_filters(plan, stage)) return because_many;
    const char *reason = why_not_keys(plan, walk, breaker);
    return reason ? reason : why_not_aggs(plan, walk, breaker);
}

bool plan_ends_in_groups(const Plan *plan, const Stage *stage) {
    if (!stage->terminal_count || stage->terminals[0].is_sink) return false;
    const Breaker *breaker = &plan->breakers[stage->terminals[0].index];
    return breaker->kind == BREAK_GROUP && graph_op_at(plan->graph, breaker->op)->kind == OP_GROUP;
}
