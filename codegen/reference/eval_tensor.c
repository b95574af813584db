// Operators on the elements of tensors: each element as the operator does with numbers.
#include "codegen/reference/eval.h"

enum { ARGS_MAX = 16 };

// The element of `part` that goes with element `n` of `whole`, to whose shape it broadcasts.
static size_t element_of(const Type *part, const Type *whole, size_t n) {
    size_t at = 0, step = 1;
    for (uint32_t i = 0; i < part->rank; i++) {  // From the last dimension on.
        size_t size = whole->shape[whole->rank - 1 - i], own = part->shape[part->rank - 1 - i];
        if (own > 1) at += n % size * step;
        n /= size;
        step *= own;
    }
    return at;
}

// The arguments' memos hold one element after the other.
int32_t eval_elements(Eval *eval, const Expr *expr, Value *out) {
    Value args[ARGS_MAX];
    const Type *types[ARGS_MAX];
    size_t count = type_elements(expr->type);
    if (expr->arg_count > ARGS_MAX) return SB_FAULT_BAD_ARGUMENT;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        int32_t status = eval_expr(eval, expr->args[i], &args[i]);
        if (status) return status;
        types[i] = graph_at(eval->graph, expr->args[i])->type;
    }
    Expr one = *expr;
    one.type = expr->type->elem;
    *out = (Value){.items = arena_new_array(eval->arena, Value, count),
                   .item_count = (uint32_t)count};
    int32_t status = SB_OK;
    eval->elements = true;
    for (size_t n = 0; n < count && !status; n++) {
        for (uint32_t i = 0; i < expr->arg_count; i++)
            if (types[i]->kind == TYPE_TENSOR)
                eval->memo[expr->args[i].i].value =
                    args[i].items[element_of(types[i], expr->type, n)];
        status = eval_node(eval, &one, &out->items[n]);
    }
    eval->elements = false;
    for (uint32_t i = 0; i < expr->arg_count; i++)
        eval->memo[expr->args[i].i].value = args[i];
    return status;
}

// ---- whole tensors ------------------------------------------------------------------------------

static int32_t arguments(Eval *eval, const Expr *expr, Value *args) {
    if (expr->arg_count > ARGS_MAX) return SB_FAULT_BAD_ARGUMENT;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        int32_t status = eval_expr(eval, expr->args[i], &args[i]);
        if (status) return status;
    }
    return SB_OK;
}

// The places of element `n` in a tensor, one for each dimension, and back.
static void places_of(const Type *type, size_t n, size_t *places) {
    for (uint32_t i = type->rank; i-- > 0;) {
        places[i] = n % type->shape[i];
        n /= type->shape[i];
    }
}

static size_t place_of(const Type *type, const size_t *places) {
    size_t at = 0;
    for (uint32_t i = 0; i < type->rank; i++) at = at * type->shape[i] + places[i];
    return at;
}

static const Type *type_of_arg(const Eval *eval, const Expr *expr, uint32_t i) {
    return graph_at(eval->graph, expr->args[i])->type;
}

// PERMUTE and SLICE: which element of the argument is element `n`.
static size_t moved(const Expr *expr, const Type *from, const Value *args, size_t n) {
    size_t places[TENSOR_RANK_MAX], own[TENSOR_RANK_MAX];
    places_of(expr->type, n, places);
    for (uint32_t i = 0; i < from->rank; i++) {
        if (expr->op == EXPR_PERMUTE) own[args[i + 1].i] = places[i];
        else own[i] = places[i] + (args[1].i == i ? (size_t)args[2].i : 0);
    }
    return place_of(from, own);
}

static void append_parts(const Eval *eval, const Expr *expr, const Value *args, Value *out) {
    uint32_t axis = (uint32_t)args[0].i;
    size_t first = 0, places[TENSOR_RANK_MAX];
    for (uint32_t i = 1; i < expr->arg_count; i++) {
        const Type *part = type_of_arg(eval, expr, i);
        for (size_t n = 0; n < args[i].item_count; n++) {
            places_of(part, n, places);
            places[axis] += first;
            out->items[place_of(expr->type, places)] = args[i].items[n];
        }
        first += part->shape[axis];
    }
}

static int32_t gather(const Eval *eval, const Expr *expr, const Value *args, Value *out) {
    const Type *x = type_of_arg(eval, expr, 0), *index = type_of_arg(eval, expr, 2);
    uint32_t axis = (uint32_t)args[1].i;
    size_t places[TENSOR_RANK_MAX], own[TENSOR_RANK_MAX];
    for (size_t n = 0; n < args[2].item_count; n++)
        if (args[2].items[n].i < 0 || args[2].items[n].i >= x->shape[axis])
            return SB_FAULT_OUT_OF_BOUNDS;
    for (size_t n = 0; n < out->item_count; n++) {
        places_of(expr->type, n, places);
        for (uint32_t i = 0; i < x->rank; i++)
            own[i] = places[i < axis ? i : i - 1 + index->rank];
        own[axis] = (size_t)args[2].items[place_of(index, places + axis)].i;
        out->items[n] = args[0].items[place_of(x, own)];
    }
    return SB_OK;
}

// ---- reductions: the tree of docs/ir.md ---------------------------------------------------------

// An element on its way: with its place for the operators that give it.
typedef struct Node {
    Value    value;
    __int128 sum;  // Of integers.
    int64_t  place;
} Node;

static Node combine(ExprOp op, const Type *elem, Node a, Node b) {
    int order = value_compare(elem, &a.value, &b.value);
    bool single = elem->kind == TYPE_F32;
    switch ((int)op) {
    case EXPR_REDUCE_SUM:
        a.sum += b.sum;
        a.value.f = single ? (double)((float)a.value.f + (float)b.value.f) : a.value.f + b.value.f;
        return a;
    case EXPR_REDUCE_PROD:
        a.value.f = single ? (double)((float)a.value.f * (float)b.value.f) : a.value.f * b.value.f;
        return a;
    case EXPR_REDUCE_MIN: return order <= 0 ? a : b;
    case EXPR_REDUCE_MAX: return order >= 0 ? a : b;
    case EXPR_REDUCE_ANY: a.value.i |= b.value.i; return a;
    case EXPR_REDUCE_ALL: a.value.i &= b.value.i; return a;
    }
    bool first = op == EXPR_REDUCE_ARGMIN ? order < 0 : order > 0;
    return first || (order == 0 && a.place < b.place) ? a : b;
}

// Lanes take elements in turn, then the upper half goes into the lower one.
static Node reduce_block(ExprOp op, const Type *elem, const Node *nodes, size_t count) {
    Node lanes[TREE_LANES];
    size_t used = count < TREE_LANES ? count : TREE_LANES;
    for (size_t i = 0; i < count; i++)
        lanes[i % TREE_LANES] =
            i < TREE_LANES ? nodes[i] : combine(op, elem, lanes[i % TREE_LANES], nodes[i]);
    for (size_t half = TREE_LANES / 2; half; half /= 2)
        for (size_t i = 0; i < half && i + half < used; i++)
            lanes[i] = combine(op, elem, lanes[i], lanes[i + half]);
    return lanes[0];
}

static Node reduce_nodes(ExprOp op, const Type *elem, Node *nodes, size_t count) {
    for (size_t blocks; count > 1; count = blocks) {
        blocks = (count + TREE_BLOCK - 1) / TREE_BLOCK;
        for (size_t i = 0; i < blocks; i++) {
            size_t left = count - i * TREE_BLOCK;
            nodes[i] = reduce_block(op, elem, nodes + i * TREE_BLOCK,
                                    left < TREE_BLOCK ? left : TREE_BLOCK);
        }
    }
    return nodes[0];
}

static int32_t reduce(Eval *eval, const Expr *expr, const Value *args, Value *out) {
    const Type *x = type_of_arg(eval, expr, 0), *elem = type_element(expr->type);
    uint32_t axis = (uint32_t)args[1].i;
    size_t count = x->shape[axis], inner = 1, total = args[0].item_count / count;
    for (uint32_t i = axis + 1; i < x->rank; i++) inner *= x->shape[i];
    Node *nodes = arena_new_array(eval->arena, Node, count);
    bool places = expr->op == EXPR_REDUCE_ARGMIN || expr->op == EXPR_REDUCE_ARGMAX;
    bool whole = expr->op == EXPR_REDUCE_SUM && type_is_integer(elem);
    for (size_t n = 0; n < total; n++) {
        for (size_t i = 0; i < count; i++) {
            Value one = args[0].items[(n / inner * count + i) * inner + n % inner];
            nodes[i] = (Node){.value = one, .place = (int64_t)i,
                              .sum = whole ? value_integer(x->elem, &one) : 0};
        }
        Node end = reduce_nodes(expr->op, x->elem, nodes, count);
        if (whole && !integer_fits(elem, end.sum)) return SB_FAULT_OVERFLOW;
        Value value = places ? value_i64(end.place)
                      : whole ? value_of_integer(elem, end.sum)
                              : end.value;
        if (out->items) out->items[n] = value;
        else *out = value;
    }
    return SB_OK;
}

int32_t eval_whole(Eval *eval, const Expr *expr, Value *out) {
    Value args[ARGS_MAX];
    int32_t status = arguments(eval, expr, args);
    if (status) return status;
    *out = (Value){0};
    if (expr->type->kind == TYPE_TENSOR) {
        out->item_count = (uint32_t)type_elements(expr->type);
        out->items = arena_new_array(eval->arena, Value, out->item_count);
    }
    if (graph_is_reduction(expr)) status = reduce(eval, expr, args, out);
    else if (expr->op == EXPR_APPEND) append_parts(eval, expr, args, out);
    else if (expr->op == EXPR_GATHER) status = gather(eval, expr, args, out);
    else
        for (size_t n = 0; n < out->item_count; n++)
            out->items[n] =
                args[0].items[expr->op == EXPR_RESHAPE
                                  ? n
                                  : moved(expr, type_of_arg(eval, expr, 0), args, n)];
    return status ? eval_fault(eval, status, (Text){0}) : SB_OK;
}
