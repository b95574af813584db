// Functions over lists that take a lambda: it is judged for one element after the other.
#include "codegen/reference/eval.h"

// Gives the local a value. What was computed of the one before is forgotten.
static void bind(Eval *eval, uint32_t local, Value value) {
    eval->locals[local] = value;
    eval->element++;
}

static int32_t judge(Eval *eval, const Expr *expr, Value element, Value *out) {
    bind(eval, expr->index + expr_local_count(expr) - 1, element);
    return eval_expr(eval, expr_lambda(expr), out);
}

static int32_t eval_map(Eval *eval, const Expr *expr, const Value *list, Value *out) {
    Value made = {.items = arena_new_array(eval->arena, Value, list->item_count + 1)};
    for (uint32_t i = 0; i < list->item_count; i++) {
        int32_t status = judge(eval, expr, list->items[i], &made.items[made.item_count++]);
        if (status) return status;
    }
    *out = made;
    return SB_OK;
}

static int32_t eval_filter(Eval *eval, const Expr *expr, const Value *list, Value *out) {
    Value kept = {.items = arena_new_array(eval->arena, Value, list->item_count + 1)};
    for (uint32_t i = 0; i < list->item_count; i++) {
        Value keeps;
        int32_t status = judge(eval, expr, list->items[i], &keeps);
        if (status) return status;
        if (keeps.i) kept.items[kept.item_count++] = list->items[i];
    }
    *out = kept;
    return SB_OK;
}

// any ends at the first true, all at the first false.
static int32_t eval_quantifier(Eval *eval, const Expr *expr, const Value *list, Value *out) {
    bool decides = expr->op == EXPR_LIST_ANY;
    *out = value_bool(!decides);
    for (uint32_t i = 0; i < list->item_count; i++) {
        Value holds;
        int32_t status = judge(eval, expr, list->items[i], &holds);
        if (status) return status;
        if ((holds.i != 0) != decides) continue;
        *out = value_bool(decides);
        return SB_OK;
    }
    return SB_OK;
}

static int32_t eval_reduce(Eval *eval, const Expr *expr, const Value *list, Value *out) {
    Value value;
    int32_t status = eval_expr(eval, expr->args[1], &value);
    for (uint32_t i = 0; i < list->item_count && !status; i++) {
        bind(eval, expr->index, value);
        status = judge(eval, expr, list->items[i], &value);
    }
    *out = value;
    return status;
}

int32_t eval_lambda(Eval *eval, const Expr *expr, Value *out) {
    Value list;
    int32_t status = eval_expr(eval, expr->args[0], &list);
    if (status) return status;
    switch (expr->op) {
    case EXPR_LIST_MAP: return eval_map(eval, expr, &list, out);
    case EXPR_LIST_FILTER: return eval_filter(eval, expr, &list, out);
    case EXPR_LIST_REDUCE: return eval_reduce(eval, expr, &list, out);
    default: return eval_quantifier(eval, expr, &list, out);
    }
}
