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

// ---- open dimensions ----------------------------------------------------------------------------

// The type with `shape`, which the row has, in place of its own.
static const Type *with_shape(Eval *eval, const Type *type, const uint32_t *shape) {
    Type *known = arena_new_of(eval->arena, Type);
    *known = *type;
    known->shape = arena_copy(eval->arena, shape, sizeof *shape * type->rank, alignof(uint32_t));
    return known;
}

static Value tensor_new(Eval *eval, const Type *type, const Type *known) {
    size_t count = type_elements(known);
    return (Value){.items = arena_new_array(eval->arena, Value, count),
                   .item_count = (uint32_t)count,
                   .sizes = type_open_count(type) ? known->shape : nullptr};
}

// "f32[n = 3, 3]": the names of `type`, the sizes of `shape`.
static void say_shape(TextBuf *buf, const Type *type, const int64_t *shape) {
    type_print(buf, type->elem);
    for (uint32_t i = 0; i < type->rank; i++) {
        text_buf_add(buf, i ? TEXT(", ") : TEXT("["));
        if (dimension_is_open(type->shape[i])) {
            text_buf_add(buf, type->names[i]);
            text_buf_add(buf, TEXT(" = "));
        }
        text_buf_format(buf, "%lld", (long long)shape[i]);
    }
    text_buf_char(buf, ']');
}

static void wide_shape(const Type *known, int64_t *shape) {
    for (uint32_t i = 0; i < known->rank; i++) shape[i] = known->shape[i];
}

static int32_t differ(Eval *eval, int32_t status, const Type *a, const int64_t *x,
                      const char *between, const Type *b, const int64_t *y) {
    TextBuf buf = {0};
    say_shape(&buf, a, x);
    text_buf_add(&buf, text_of(between));
    say_shape(&buf, b, y);
    return eval_fault(eval, status, text_buf_take(&buf, eval->arena));
}

static int32_t shapes_differ(Eval *eval, const Expr *expr, uint32_t i, const Type *x, uint32_t k,
                             const Type *y) {
    int64_t a[TENSOR_RANK_MAX], b[TENSOR_RANK_MAX];
    wide_shape(x, a);
    wide_shape(y, b);
    return differ(eval, SB_FAULT_SHAPES, graph_at(eval->graph, expr->args[i])->type, a, " and ",
                  graph_at(eval->graph, expr->args[k])->type, b);
}

// Do operands `i` and `k` broadcast? The number 1 stretches; a size of 1 does not.
static bool meets(const Eval *eval, const Expr *expr, uint32_t i, const Type *x, uint32_t k,
                  const Type *y) {
    const Type *a = graph_at(eval->graph, expr->args[i])->type;
    const Type *b = graph_at(eval->graph, expr->args[k])->type;
    for (uint32_t d = 1; d <= x->rank && d <= y->rank; d++) {
        if (a->shape[x->rank - d] == 1 || b->shape[y->rank - d] == 1) continue;
        if (x->shape[x->rank - d] != y->shape[y->rank - d]) return false;
    }
    return true;
}

// The shape of an elementwise node, of the shapes of its operands.
static int32_t broadcast(Eval *eval, const Expr *expr, const Type *const *types,
                         const Type **whole) {
    uint32_t shape[TENSOR_RANK_MAX], first = expr->op == EXPR_EXPAND && expr->arg_count == 2;
    uint32_t rank = expr->type->rank;
    if (graph_meets(eval->graph, expr))
        for (uint32_t k = 1; k < expr->arg_count; k++)
            for (uint32_t i = 0; i < k; i++)
                if (types[i]->kind == TYPE_TENSOR && types[k]->kind == TYPE_TENSOR &&
                    !meets(eval, expr, i, types[i], k, types[k]))
                    return shapes_differ(eval, expr, i, types[i], k, types[k]);
    if (!type_open_count(expr->type)) return SB_OK;
    for (uint32_t d = 0; d < rank; d++) {
        shape[d] = expr->type->shape[d];
        for (uint32_t i = expr->arg_count; i-- > first && dimension_is_open(shape[d]);) {
            const Type *type = graph_at(eval->graph, expr->args[i])->type;
            if (type->kind != TYPE_TENSOR || d + type->rank < rank) continue;
            uint32_t own = d + type->rank - rank;
            if (type->shape[own] != 1) shape[d] = types[i]->shape[own];
        }
    }
    if (!type_shape_fits(expr->type->elem, shape, rank)) return SB_FAULT_TOO_LARGE;
    *whole = with_shape(eval, expr->type, shape);
    return SB_OK;
}

// The arguments' memos hold one element after the other.
int32_t eval_elements(Eval *eval, const Expr *expr, Value *out) {
    Value args[ARGS_MAX];
    const Type *types[ARGS_MAX], *whole = expr->type;
    if (expr->arg_count > ARGS_MAX) return SB_FAULT_BAD_ARGUMENT;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        int32_t status = eval_expr(eval, expr->args[i], &args[i]);
        if (status) return status;
        types[i] = value_shape(eval->arena, graph_at(eval->graph, expr->args[i])->type, &args[i]);
    }
    int32_t status = broadcast(eval, expr, types, &whole);
    if (status) return status;
    Expr one = *expr;
    one.type = expr->type->elem;
    if (expr->op == EXPR_EXPAND) one.arg_count = 1;
    *out = tensor_new(eval, expr->type, whole);
    eval->elements = true;
    for (size_t n = 0; n < out->item_count && !status; n++) {
        for (uint32_t i = 0; i < one.arg_count; i++)
            if (types[i]->kind == TYPE_TENSOR)
                eval->memo[expr->args[i].i].value = args[i].items[element_of(types[i], whole, n)];
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

// With the sizes of the row.
static const Type *type_of_arg(const Eval *eval, const Expr *expr, const Value *args, uint32_t i) {
    return value_shape(eval->arena, graph_at(eval->graph, expr->args[i])->type, &args[i]);
}

// PERMUTE and SLICE: which element of the argument is element `n`.
static size_t moved(const Expr *expr, const Type *whole, const Type *from, const Value *args,
                    size_t n) {
    size_t places[TENSOR_RANK_MAX], own[TENSOR_RANK_MAX];
    places_of(whole, n, places);
    for (uint32_t i = 0; i < from->rank; i++) {
        if (expr->op == EXPR_PERMUTE) own[args[i + 1].i] = places[i];
        else own[i] = places[i] + (args[1].i == i ? (size_t)args[2].i : 0);
    }
    return place_of(from, own);
}

static void append_parts(const Eval *eval, const Expr *expr, const Type *whole, const Value *args,
                         Value *out) {
    uint32_t axis = (uint32_t)args[0].i;
    size_t first = 0, places[TENSOR_RANK_MAX];
    for (uint32_t i = 1; i < expr->arg_count; i++) {
        const Type *part = type_of_arg(eval, expr, args, i);
        for (size_t n = 0; n < args[i].item_count; n++) {
            places_of(part, n, places);
            places[axis] += first;
            out->items[place_of(whole, places)] = args[i].items[n];
        }
        first += part->shape[axis];
    }
}

static int32_t gather(const Eval *eval, const Expr *expr, const Type *whole, const Value *args,
                      Value *out) {
    const Type *x = type_of_arg(eval, expr, args, 0), *index = type_of_arg(eval, expr, args, 2);
    uint32_t axis = (uint32_t)args[1].i;
    size_t places[TENSOR_RANK_MAX], own[TENSOR_RANK_MAX];
    for (size_t n = 0; n < args[2].item_count; n++)
        if (args[2].items[n].i < 0 || args[2].items[n].i >= x->shape[axis])
            return SB_FAULT_OUT_OF_BOUNDS;
    for (size_t n = 0; n < out->item_count; n++) {
        places_of(whole, n, places);
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
    const Type *x = type_of_arg(eval, expr, args, 0), *elem = type_element(expr->type);
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

// ---- shapes of whole tensors --------------------------------------------------------------------

static int32_t list_as_tensor(Eval *eval, const Expr *expr, const Value *list,
                              const Type **whole) {
    uint32_t count = list->item_count, size = expr->type->shape[0];
    if (count == 0) return eval_fault(eval, SB_FAULT_NO_ELEMENTS, TEXT("[]"));
    if (!type_shape_fits(expr->type->elem, &count, 1)) return SB_FAULT_TOO_LARGE;
    *whole = with_shape(eval, expr->type, &count);
    if (dimension_is_open(size) || size == count) return SB_OK;
    TextBuf buf = {0};
    text_buf_format(&buf, "a list of %u is no ", count);
    say_shape(&buf, expr->type, &(int64_t){size});
    return eval_fault(eval, SB_FAULT_SHAPES, text_buf_take(&buf, eval->arena));
}

// The first argument in the node's shape, dimension by dimension; or as names of the second say.
static int32_t agree(Eval *eval, const Expr *expr, const Value *args, const Type **whole) {
    const Type *own = graph_at(eval->graph, expr->args[0])->type;
    if (own->kind == TYPE_LIST) return list_as_tensor(eval, expr, &args[0], whole);
    const Type *x = type_of_arg(eval, expr, args, 0);
    int64_t sizes[TENSOR_RANK_MAX], wanted[TENSOR_RANK_MAX];
    bool same = true;
    *whole = x;
    wide_shape(x, sizes);
    if (expr->arg_count == 2 && args[1].is_null) return SB_OK;
    if (expr->arg_count == 2) {
        const Type *other = graph_at(eval->graph, expr->args[1])->type;
        const Type *y = type_of_arg(eval, expr, args, 1);
        for (uint32_t i = 0; i < own->rank; i++)
            for (uint32_t k = 0; k < other->rank; k++)
                if (dimension_is_open(own->shape[i]) && own->shape[i] != DIMENSION_ANY &&
                    own->shape[i] == other->shape[k] && x->shape[i] != y->shape[k])
                    return shapes_differ(eval, expr, 0, x, 1, y);
        return SB_OK;
    }
    for (uint32_t i = 0; i < own->rank; i++) {
        bool open = dimension_is_open(expr->type->shape[i]);
        wanted[i] = open ? x->shape[i] : expr->type->shape[i];
        same &= wanted[i] == sizes[i];
    }
    return same ? SB_OK
                : differ(eval, SB_FAULT_SHAPES, own, sizes, " is no ", expr->type, wanted);
}

static int32_t reshape(Eval *eval, const Expr *expr, const Value *args, const Type **whole) {
    const Type *own = graph_at(eval->graph, expr->args[0])->type, *type = expr->type;
    const Type *x = type_of_arg(eval, expr, args, 0);
    uint32_t open = type_open_count(type), next = 0, given = 1, shape[TENSOR_RANK_MAX];
    int64_t sizes[TENSOR_RANK_MAX], old[TENSOR_RANK_MAX], known = 1, count = args[0].item_count;
    int64_t *rest = nullptr;
    bool good = true;
    wide_shape(x, old);
    for (uint32_t i = 0; i < type->rank; i++) {
        sizes[i] = type->shape[i];
        if (dimension_is_open(type->shape[i])) {
            while (expr->arg_count == 1 && open > 1 && !dimension_is_open(own->shape[next])) next++;
            sizes[i] = expr->arg_count > 1 ? args[given++].i : open == 1 ? -1 : old[next++];
            if (sizes[i] == -1 && !rest) {
                rest = &sizes[i];
                continue;
            }
        }
        good &= sizes[i] >= 1 && sizes[i] <= TENSOR_BYTES_MAX && known <= count;
        if (good) known *= sizes[i];
    }
    if (good && rest) *rest = count / known;
    good &= known <= count && (rest ? count % known == 0 : known == count);
    if (!good) return differ(eval, SB_FAULT_RESHAPED, own, old, " as ", type, sizes);
    for (uint32_t i = 0; i < type->rank; i++) shape[i] = (uint32_t)sizes[i];
    *whole = with_shape(eval, type, shape);
    return SB_OK;
}

static int32_t appended(Eval *eval, const Expr *expr, const Value *args, const Type **whole) {
    const Type *first = type_of_arg(eval, expr, args, 1);
    uint32_t axis = (uint32_t)args[0].i, shape[TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < first->rank; i++) shape[i] = first->shape[i];
    for (uint32_t i = 2; i < expr->arg_count; i++) {
        const Type *part = type_of_arg(eval, expr, args, i);
        for (uint32_t k = 0; k < part->rank; k++)
            if (k != axis && part->shape[k] != first->shape[k])
                return shapes_differ(eval, expr, 1, first, i, part);
        shape[axis] += part->shape[axis];
        if (!type_shape_fits(first->elem, shape, first->rank)) return SB_FAULT_TOO_LARGE;
    }
    *whole = with_shape(eval, expr->type, shape);
    return SB_OK;
}

// The node's type with the sizes of the row.
static int32_t shape_of(Eval *eval, const Expr *expr, const Value *args, const Type **whole) {
    const Type *x = type_of_arg(eval, expr, args, expr->op == EXPR_APPEND);
    uint32_t shape[TENSOR_RANK_MAX], rank = 0, axis;
    switch ((int)expr->op) {
    case EXPR_AGREE: return agree(eval, expr, args, whole);
    case EXPR_RESHAPE: return reshape(eval, expr, args, whole);
    case EXPR_APPEND: return appended(eval, expr, args, whole);
    case EXPR_PERMUTE:
        for (uint32_t i = 0; i < x->rank; i++) shape[i] = x->shape[args[i + 1].i];
        break;
    case EXPR_SLICE:
        axis = (uint32_t)args[1].i;
        for (uint32_t i = 0; i < x->rank; i++)
            shape[i] = i == axis ? expr->type->shape[i] : x->shape[i];
        if (args[2].i + shape[axis] > x->shape[axis]) return SB_FAULT_OUT_OF_BOUNDS;
        break;
    case EXPR_GATHER: {
        const Type *index = type_of_arg(eval, expr, args, 2);
        axis = (uint32_t)args[1].i;
        for (uint32_t i = 0; i < x->rank; i++) {
            if (i != axis) shape[rank++] = x->shape[i];
            for (uint32_t k = 0; i == axis && k < index->rank; k++) shape[rank++] = index->shape[k];
        }
        break;
    }
    default:
        axis = (uint32_t)args[1].i;
        for (uint32_t i = 0; i < x->rank; i++)
            if (i != axis) shape[rank++] = x->shape[i];
    }
    if (!type_shape_fits(expr->type->elem, shape, expr->type->rank)) return SB_FAULT_TOO_LARGE;
    *whole = with_shape(eval, expr->type, shape);
    return SB_OK;
}

int32_t eval_whole(Eval *eval, const Expr *expr, Value *out) {
    Value args[ARGS_MAX];
    const Type *whole = expr->type;
    int32_t status = arguments(eval, expr, args);
    if (status) return status;
    *out = (Value){0};
    if (expr->op == EXPR_SIZE) {
        *out = value_i64(type_of_arg(eval, expr, args, 0)->shape[args[1].i]);
        return SB_OK;
    }
    if (args[0].is_null || expr->type->kind == TYPE_LIST) {  // AGREE
        *out = args[0];
        return SB_OK;
    }
    if (expr->type->kind == TYPE_TENSOR) {
        status = shape_of(eval, expr, args, &whole);
        if (status) return eval->detail.at ? status : eval_fault(eval, status, (Text){0});
        *out = tensor_new(eval, expr->type, whole);
    }
    bool stays = expr->op == EXPR_RESHAPE || expr->op == EXPR_AGREE;
    if (graph_is_reduction(expr)) status = reduce(eval, expr, args, out);
    else if (expr->op == EXPR_APPEND) append_parts(eval, expr, whole, args, out);
    else if (expr->op == EXPR_GATHER) status = gather(eval, expr, whole, args, out);
    else
        for (size_t n = 0; n < out->item_count; n++)
            out->items[n] = args[0].items[stays ? n
                                                : moved(expr, whole,
                                                        type_of_arg(eval, expr, args, 0), args, n)];
    return status ? eval_fault(eval, status, (Text){0}) : SB_OK;
}
