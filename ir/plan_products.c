// Products of matrices that a library may compute: what the checker makes of `matmul`, found again,
// with a bias and `greatest(..., 0.0)` around it.
//
//   round(greatest(widen(round(widen(round(reduce_sum(reshape(widen(x)) * w))) + b)), 0.0))
#include "ir/plan.h"

// Without conversions between a half and the f32 in which it is computed.
static ExprId without_casts(const Graph *graph, ExprId id, const Type *elem) {
    for (;;) {
        const Expr *x = graph_at(graph, id);
        if (x->op != EXPR_ROUND && x->op != EXPR_WIDEN) return id;
        const Type *from = type_element(graph_at(graph, x->args[0])->type);
        const Type *half = x->op == EXPR_ROUND ? type_element(x->type) : from;
        const Type *wide = x->op == EXPR_ROUND ? from : type_element(x->type);
        if (half->kind != elem->kind || wide->kind != TYPE_F32) return id;
        id = x->args[0];
    }
}

static uint32_t item_count(const Expr *x) {
    return x->op == EXPR_LIST ? x->arg_count : x->value.item_count;
}

double plan_product_item(const Graph *graph, ExprId id, uint32_t i) {
    const Expr *x = graph_at(graph, id);
    if (x->type->kind != TYPE_TENSOR) return x->value.f;
    return x->op == EXPR_LIST ? graph_at(graph, x->args[i])->value.f : x->value.items[i].f;
}

// A constant whose numbers the element type holds. Results are rounded to that type.
static bool is_constant(const Graph *graph, ExprId id, const Type *elem) {
    const Expr *x = graph_at(graph, id);
    bool tensor = x->type->kind == TYPE_TENSOR, good = x->op == EXPR_CONST || x->op == EXPR_LIST;
    for (uint32_t i = 0; good && i < x->arg_count; i++)
        good = graph_at(graph, x->args[i])->op == EXPR_CONST;
    TypeKind kind = type_element(x->type)->kind;
    if (!good || x->type->nullable || (kind != TYPE_F32 && kind != elem->kind)) return false;
    for (uint32_t i = 0; good && i < (tensor ? item_count(x) : 1); i++) {
        double value = plan_product_item(graph, id, i);
        good = type_round(elem, value) == value;
    }
    return good;
}

static bool is_zero(const Graph *graph, ExprId id) {
    const Expr *x = graph_at(graph, id);
    return x->op == EXPR_CONST && x->type->kind == TYPE_F32 && x->value.f == 0;
}

// Leaves what is under `greatest(..., 0.0)`.
static bool take_relu(const Graph *graph, ExprId *id) {
    const Expr *x = graph_at(graph, *id);
    if (x->op != EXPR_CALL || x->arg_count != 2 || !text_is(x->fn->name, "greatest")) return false;
    bool last = is_zero(graph, x->args[1]);
    if (!last && !is_zero(graph, x->args[0])) return false;
    *id = x->args[last ? 0 : 1];
    return true;
}

// Of one number for each column of the product, or one for all.
static ExprId take_bias(const Graph *graph, ExprId *id, const Type *elem) {
    const Expr *x = graph_at(graph, *id);
    if (x->op != EXPR_ADD || x->type->kind != TYPE_TENSOR) return EXPR_NONE;
    uint32_t n = x->type->shape[x->type->rank - 1];
    for (uint32_t i = 0; i < 2; i++) {
        ExprId bias = without_casts(graph, x->args[i], elem);
        const Type *type = graph_at(graph, bias)->type;
        bool tensor = type->kind == TYPE_TENSOR;
        if (!is_constant(graph, bias, elem) ||
            (tensor && (type->shape[type->rank - 1] != n || type_elements(type) != n)))
            continue;
        *id = x->args[1 - i];
        return bias;
    }
    return EXPR_NONE;
}

// A factor of one column more than `x` has dimensions: x itself, or EXPR_NONE.
static ExprId rows_of(const Graph *graph, ExprId id, const Type *elem) {
    const Expr *x = graph_at(graph, id);
    if (x->op != EXPR_RESHAPE || x->type->shape[x->type->rank - 1] != 1) return EXPR_NONE;
    ExprId rows = without_casts(graph, x->args[0], elem);
    const Type *type = graph_at(graph, rows)->type;
    bool fits = type->kind == TYPE_TENSOR && !type->nullable && type->elem->kind == elem->kind &&
                type->rank + 1 == x->type->rank;
    for (uint32_t i = 0; fits && i < type->rank; i++) fits = type->shape[i] == x->type->shape[i];
    return fits ? rows : EXPR_NONE;
}

// The sum of products itself.
static bool find_factors(const Graph *graph, ExprId id, PlanProduct *to) {
    const Expr *x = graph_at(graph, id);
    if (x->op != EXPR_REDUCE_SUM || x->type->kind != TYPE_TENSOR) return false;
    const Expr *all = graph_at(graph, x->args[0]);
    uint32_t rank = all->type->rank;
    if (all->op != EXPR_MUL || rank < 2 || graph_axis(graph, x, 1) != rank - 2) return false;
    for (uint32_t i = 0; i < 2; i++) {
        const Type *w = graph_at(graph, all->args[1 - i])->type;
        to->x = rows_of(graph, all->args[i], to->elem);
        to->w = without_casts(graph, all->args[1 - i], to->elem);
        if (expr_is_none(to->x) || w->kind != TYPE_TENSOR || w->rank != 2 || w->shape[1] < 2 ||
            w->shape[0] != all->type->shape[rank - 2] || w->shape[1] != all->type->shape[rank - 1])
            continue;
        to->k = w->shape[0];
        to->n = w->shape[1];
        to->rows = type_elements(x->type) / to->n;
        return is_constant(graph, to->w, to->elem);
    }
    return false;
}

bool plan_product(const Graph *graph, ExprId id, PlanProduct *to) {
    const Expr *x = graph_at(graph, id);
    const Type *elem = type_element(x->type);
    bool number = elem->kind == TYPE_F32 || type_is_half(elem);
    if (x->type->kind != TYPE_TENSOR || x->type->nullable || !number ||
        (type_is_half(elem) && x->op != EXPR_ROUND))
        return false;
    *to = (PlanProduct){.elem = elem, .bias = EXPR_NONE};
    ExprId at = without_casts(graph, id, elem);
    to->relu = take_relu(graph, &at);
    at = without_casts(graph, at, elem);
    to->bias = take_bias(graph, &at, elem);
    at = without_casts(graph, at, elem);
    return find_factors(graph, at, to) &&
           type_elements(x->type) == type_elements(graph_at(graph, at)->type);
}
