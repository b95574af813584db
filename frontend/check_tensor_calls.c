// Functions of whole tensors: their rules, which make the shape of a result of the shapes given.
//
// Nodes are few: reductions, and what moves elements. Means, softmax and products of matrices are
// made of these and of operators on elements.
#include "frontend/tensor_calls.h"

#include <string.h>

typedef Value (*TensorRule)(const TensorCall *call);

// ---- reports ------------------------------------------------------------------------------------

// Argument `i` is not what the function takes: `wants` says what that is.
Value tensor_bad_argument(const TensorCall *call, uint32_t i, const char *wants, const char *fix) {
    Checker *checker = call->checker;
    const Type *type = call->types[i];
    bool number = call->args->flexible[i];
    Text found = number ? source_text(checker, tensor_span(call, i))
                        : text_of(tensor_say(call, type));
    Diag *diag = report(checker, DIAG_TENSOR_ARGUMENT, tensor_span(call, i),
                        "'%s' takes %s here, not %.*s", call->fn->name, wants, TEXT_ARG(found));
    report_label(checker, diag, tensor_span(call, i), "%s", tensor_say(call, type));
    report_note(checker, diag, "%s", call->fn->signature);
    report_fix(checker, diag, "%s", fix);
    return tensor_no_value(call);
}

// The shapes of arguments `a` and `b` do not go together.
static Value bad_shapes(const TensorCall *call, uint32_t a, uint32_t b, const char *why,
                        const char *fix) {
    Checker *checker = call->checker;
    const Type *x = call->types[a], *y = call->types[b];
    Diag *diag = report(checker, DIAG_TENSOR_FIT, call->span, "'%s' does not take %s and %s",
                        call->fn->name, tensor_say(call, x), tensor_say(call, y));
    report_label(checker, diag, tensor_span(call, a), "%s", tensor_say(call, x));
    report_label(checker, diag, tensor_span(call, b), "%s", tensor_say(call, y));
    report_origins(checker, diag, &(TensorOperand){call->args->values[a], x, tensor_span(call, a)},
                   &(TensorOperand){call->args->values[b], y, tensor_span(call, b)});
    report_note(checker, diag, "%s", why);
    report_fix(checker, diag, "%s", fix);
    return tensor_no_value(call);
}

Value tensor_too_large(const TensorCall *call, const Type *x) {
    Diag *diag = report(call->checker, DIAG_TENSOR_TYPE, call->span,
                        "the result has more elements or dimensions than a tensor may");
    report_label(call->checker, diag, tensor_span(call, 0), "%s", tensor_say(call, x));
    report_fix(call->checker, diag, "take smaller parts, a row each");
    return tensor_no_value(call);
}

// ---- arguments ----------------------------------------------------------------------------------

// A tensor that is not null, or what is written out as one with elements as those of `like`.
// False: reported.
bool tensor_at(const TensorCall *call, uint32_t i, const Type *like, TensorOperand *out) {
    Value value = call->args->values[i];
    const AstExpr *expr = call->args->exprs[i];
    if (like && expr->kind == AST_LIST)
        value = check_tensor_beside(call->checker, call->scope, expr, like);
    if (is_error(value.type)) return false;
    call->types[i] = value.type;
    if (is_tensor(value.type)) {
        *out = tensor_operand(call->checker, value, expr->span);
        return !is_error(out->type);
    }
    tensor_bad_argument(call, i, "a tensor",
                 "give a tensor, or say the type of a list: derive t: f32[3] = [1, 2, 3]");
    return false;
}

// A constant integer. False: reported.
bool tensor_whole_at(const TensorCall *call, uint32_t i, int64_t *out) {
    Checker *checker = call->checker;
    Value value = call->args->values[i];
    Const constant;
    if (!type_is_integer(value.type)) {
        tensor_bad_argument(call, i, "a constant integer", "write an integer");
        return false;
    }
    if (const_of(checker, value.id, &constant) && !constant.is_null) {
        *out = constant.i;
        return true;
    }
    Diag *diag = report(checker, DIAG_NOT_CONSTANT, tensor_span(call, i),
                        "this argument must be a constant");
    report_label(checker, diag, tensor_span(call, i), "known only while the job runs");
    report_fix(checker, diag, "write it out: shapes are known before a row is read");
    return false;
}

static bool bad_axis(const TensorCall *call, uint32_t i, const Type *x, int64_t rank) {
    Checker *checker = call->checker;
    Diag *diag = report(checker, DIAG_TENSOR_AXIS, tensor_span(call, i),
                        "there is no such dimension");
    report_label(checker, diag, tensor_span(call, 0), "%s", tensor_say(call, x));
    if (rank == 1) report_label(checker, diag, tensor_span(call, i), "0 or -1");
    else
        report_label(checker, diag, tensor_span(call, i), "0 to %lld, or -1 to -%lld",
                     (long long)rank - 1, (long long)rank);
    report_fix(checker, diag, "count dimensions from 0, or from the last one at -1");
    return false;
}

// The dimension that argument `i` names among `rank`. The argument may be left out. False:
// reported.
static bool axis_at(const TensorCall *call, uint32_t i, const Type *x, int64_t rank,
                    uint32_t *axis) {
    int64_t value;
    if (i >= call->args->count) return true;
    if (!tensor_whole_at(call, i, &value)) return false;
    if (value < -rank || value >= rank) return bad_axis(call, i, x, rank);
    *axis = (uint32_t)(value < 0 ? value + rank : value);
    return true;
}

// ---- nodes --------------------------------------------------------------------------------------

Value tensor_number_of(const TensorCall *call, int64_t value) {
    return const_value(call->checker, tensor_kind(call, TYPE_I64), (Const){.i = value}, call->span);
}

Value tensor_reshaped(const TensorCall *call, Value x, const uint32_t *shape, uint32_t rank) {
    const Type *type = type_tensor(call->checker->types, x.type->elem, shape, rank);
    return type == x.type ? x : node1(call->checker, EXPR_RESHAPE, type, call->span, x);
}

// May two dimensions be of one size?
static bool may_equal(uint32_t a, uint32_t b) {
    return a == b || dimension_is_open(a) || dimension_is_open(b);
}

static Value flat(const TensorCall *call, Value x) {
    if (x.type->rank == 1) return x;
    if (tensor_is_open(x.type)) return tensor_reshaped(call, x, &(uint32_t){DIMENSION_ANY}, 1);
    return tensor_reshaped(call, x, &(uint32_t){(uint32_t)type_elements(x.type)}, 1);
}

// With a dimension of 1 before `axis`.
static Value with_dimension(const TensorCall *call, Value x, uint32_t axis) {
    uint32_t shape[TENSOR_RANK_MAX + 1], rank = 0;
    for (uint32_t i = 0; i <= x.type->rank; i++) {
        if (i == axis) shape[rank++] = 1;
        if (i < x.type->rank) shape[rank++] = x.type->shape[i];
    }
    return tensor_reshaped(call, x, shape, rank);
}

static Value reduced(const TensorCall *call, ExprOp op, Value x, const Type *elem, uint32_t axis) {
    const Type *type = type_without_axis(call->checker->types, x.type, axis);
    if (type->kind == TYPE_TENSOR) type = type_tensor_like(call->checker->types, elem, type);
    else type = elem;
    return node2(call->checker, op, type, call->span, x, tensor_number_of(call, axis));
}

// Reduced, with 1 in that dimension: what broadcasts to the shape of `x`.
static Value reduced_beside(const TensorCall *call, ExprOp op, Value x, uint32_t axis) {
    Value value = reduced(call, op, x, x.type->elem, axis);
    return value.type->kind == TYPE_TENSOR ? with_dimension(call, value, axis) : value;
}

// An operator on elements of the result's shape and element type. `y` has sizes of `x`, or 1.
static Value on_elements(const TensorCall *call, ExprOp op, Value x, Value y) {
    Expr payload = {.op = op, .type = x.type, .span = call->span, .fits = tensor_is_open(x.type)};
    ExprId ids[] = {x.id, y.id};
    return (Value){graph_expr(call->checker->graph, payload, ids, 2), x.type};
}

// An operator on elements whose shapes broadcast.
static Value on_parts(const TensorCall *call, ExprOp op, Value x, Value y) {
    TensorOperand sides[] = {{x, x.type, call->span}, {y, y.type, call->span}};
    const Type *shape = tensor_common_shape(call->checker, sides, 2);
    if (!shape) return tensor_no_value(call);
    const Type *type = type_tensor_like(call->checker->types, x.type->elem, shape);
    return node2(call->checker, op, type, call->span, x, y);
}

// How many parts a dimension has, as i64: a constant, if the type says so.
static Value parts_in(const TensorCall *call, Value x, uint32_t axis) {
    uint32_t size = x.type->shape[axis];
    if (!dimension_is_open(size)) return tensor_number_of(call, size);
    return node2(call->checker, EXPR_SIZE, tensor_kind(call, TYPE_I64), call->span, x,
                 tensor_number_of(call, axis));
}

// A function of f16 or bf16 is one of f32, whose result is rounded.
static Value rounded(const TensorCall *call, Value value, const Type *elem) {
    return half_round(call->checker, value, elem, call->span);
}

static Value widened(const TensorCall *call, const TensorOperand *x) {
    return half_widen(call->checker, x->value, x->span);
}

// A cast that cannot fault.
static Value cast_proven(const TensorCall *call, Value x, TypeKind kind) {
    const Type *elem = tensor_kind(call, kind);
    if (type_element(x.type) == elem) return x;
    const Type *type = type_tensor_like(call->checker->types, elem, x.type);
    Expr payload = {.op = EXPR_CAST, .type = type, .span = call->span, .proven = true};
    return (Value){graph_expr(call->checker->graph, payload, &x.id, 1), type};
}

// ---- reductions ---------------------------------------------------------------------------------

// The tensor and the dimension; all elements in one, if none is named. False: reported.
static bool reduction_arguments(const TensorCall *call, TensorOperand *x, uint32_t *axis) {
    *axis = 0;
    if (!tensor_at(call, 0, nullptr, x)) return false;
    if (call->args->count == 1) {
        x->value = flat(call, x->value);
        x->type = x->value.type;
        return true;
    }
    return axis_at(call, 1, x->type, x->type->rank, axis);
}

static const Type *sum_type(const TensorCall *call, const Type *elem) {
    if (!type_is_integer(elem)) return elem;
    return tensor_kind(call, type_is_signed(elem) ? TYPE_I64 : TYPE_U64);
}

static Value check_reduction(const TensorCall *call) {
    static const ExprOp ops[TENSOR_FN_COUNT] = {
        [TENSOR_FN_SUM] = EXPR_REDUCE_SUM, [TENSOR_FN_PROD] = EXPR_REDUCE_PROD,
        [TENSOR_FN_MIN] = EXPR_REDUCE_MIN, [TENSOR_FN_MAX] = EXPR_REDUCE_MAX,
        [TENSOR_FN_ANY] = EXPR_REDUCE_ANY, [TENSOR_FN_ALL] = EXPR_REDUCE_ALL,
        [TENSOR_FN_ARGMIN] = EXPR_REDUCE_ARGMIN, [TENSOR_FN_ARGMAX] = EXPR_REDUCE_ARGMAX,
    };
    TensorOperand x;
    uint32_t axis;
    ExprOp op = ops[call->id];
    if (!reduction_arguments(call, &x, &axis)) return tensor_no_value(call);
    const Type *elem = x.type->elem, *result = elem;
    bool bools = op == EXPR_REDUCE_ANY || op == EXPR_REDUCE_ALL;
    if (bools && elem->kind != TYPE_BOOL)
        return tensor_bad_argument(call, 0, "a tensor of bool", "compare: any(x != 0)");
    if (op == EXPR_REDUCE_SUM && elem->kind == TYPE_BOOL)
        return tensor_bad_argument(call, 0, "a tensor of numbers",
                                   "count what is true: sum(i64(x))");
    if (op == EXPR_REDUCE_PROD && !type_is_float(elem))
        return tensor_bad_argument(call, 0, "a tensor of floats", "convert it: prod(f64(x))");
    bool places = op == EXPR_REDUCE_ARGMIN || op == EXPR_REDUCE_ARGMAX;
    Value value = widened(call, &x);
    if (type_is_half(elem)) result = value.type->elem;
    if (op == EXPR_REDUCE_SUM) result = sum_type(call, result);
    if (places) result = tensor_kind(call, TYPE_I64);
    value = reduced(call, op, value, result, axis);
    return places ? value : rounded(call, value, elem);
}

static Value check_mean(const TensorCall *call) {
    TensorOperand x;
    uint32_t axis;
    if (!reduction_arguments(call, &x, &axis)) return tensor_no_value(call);
    if (x.type->elem->kind == TYPE_BOOL)
        return tensor_bad_argument(call, 0, "a tensor of numbers", "convert it: mean(i64(x))");
    bool whole = type_is_integer(x.type->elem);
    Value value = whole ? tensor_as_f64(call->checker, &x) : widened(call, &x);
    const Type *elem = value.type->elem;
    Value sum = reduced(call, EXPR_REDUCE_SUM, value, elem, axis);
    Value number = parts_in(call, value, axis);
    if (dimension_is_open(value.type->shape[axis])) {
        number = node1(call->checker, EXPR_TO_F64, tensor_kind(call, TYPE_F64), call->span, number);
        if (elem->kind == TYPE_F32)
            number = node1(call->checker, EXPR_ROUND, elem, call->span, number);
    } else {
        double count = value.type->shape[axis];
        if (elem->kind == TYPE_F32) count = (float)count;
        number = const_value(call->checker, elem, (Const){.f = count}, call->span);
    }
    return rounded(call, on_elements(call, EXPR_DIV, sum, number), x.type->elem);
}

// ---- what moves elements ------------------------------------------------------------------------

static Value check_transpose(const TensorCall *call) {
    TensorOperand x;
    uint32_t order[TENSOR_RANK_MAX], seen = 0;
    ExprId ids[TENSOR_RANK_MAX + 1];
    if (!tensor_at(call, 0, nullptr, &x)) return tensor_no_value(call);
    uint32_t rank = x.type->rank, given = call->args->count - 1;
    if (given && given != rank) {
        Diag *diag = report(call->checker, DIAG_TENSOR_AXIS, call->span,
                            "'transpose' names each dimension once: %u, not %u", rank, given);
        report_label(call->checker, diag, tensor_span(call, 0), "%s", tensor_say(call, x.type));
        report_fix(call->checker, diag, "name all dimensions, or none to turn them round");
        return tensor_no_value(call);
    }
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = rank - 1 - i;
        if (given && !axis_at(call, i + 1, x.type, rank, &order[i])) return tensor_no_value(call);
        if (seen >> order[i] & 1) {
            Diag *diag = report(call->checker, DIAG_TENSOR_AXIS, tensor_span(call, i + 1),
                                "dimension %u is named twice", order[i]);
            report_label(call->checker, diag, tensor_span(call, 0), "%s", tensor_say(call, x.type));
            report_label(call->checker, diag, tensor_span(call, i + 1), "again");
            report_fix(call->checker, diag, "name each dimension once");
            return tensor_no_value(call);
        }
        seen |= 1u << order[i];
        ids[i + 1] = tensor_number_of(call, order[i]).id;
    }
    ids[0] = x.value.id;
    const Type *type = type_permuted(call->checker->types, x.type, order);
    return node(call->checker, EXPR_PERMUTE, type, call->span, ids, rank + 1);
}

static Value check_flatten(const TensorCall *call) {
    TensorOperand x;
    return tensor_at(call, 0, nullptr, &x) ? flat(call, x.value) : tensor_no_value(call);
}

static Value check_slice(const TensorCall *call) {
    TensorOperand x;
    uint32_t axis = 0;
    int64_t begin, count;
    if (!tensor_at(call, 0, nullptr, &x) || !axis_at(call, 3, x.type, x.type->rank, &axis) ||
        !tensor_whole_at(call, 1, &begin) || !tensor_whole_at(call, 2, &count))
        return tensor_no_value(call);
    uint32_t parts = x.type->shape[axis];
    int64_t size = dimension_is_open(parts) ? TENSOR_BYTES_MAX : parts;
    if (begin < 0 || count < 1 || begin >= size || count > size - begin) {
        Diag *diag = report(call->checker, DIAG_TENSOR_INDEX, call->span,
                            "the slice is not inside of %s", tensor_say(call, x.type));
        report_label(call->checker, diag, tensor_span(call, 0), "%lld parts in dimension %u",
                     (long long)size, axis);
        report_fix(call->checker, diag, "begin from 0 on, and take 1 part or more");
        return tensor_no_value(call);
    }
    ExprId ids[] = {x.value.id, tensor_number_of(call, axis).id, tensor_number_of(call, begin).id};
    const Type *type = type_resized(call->checker->types, x.type, axis, (uint32_t)count);
    return node(call->checker, EXPR_SLICE, type, call->span, ids, 3);
}

// ---- parts --------------------------------------------------------------------------------------

// The tensors before a last number, which is the dimension. Their elements meet in one type. 0:
// reported.
static uint32_t parts_of(const TensorCall *call, TensorOperand *parts) {
    Checker *checker = call->checker;
    uint32_t count = call->args->count;
    if (type_is_integer(call->args->values[count - 1].type)) count--;
    const Type *like = nullptr, *elem = nullptr;
    for (uint32_t i = 0; i < count && !like; i++)
        if (is_tensor(call->args->values[i].type)) like = call->args->values[i].type;
    for (uint32_t i = 0; i < count; i++) {
        if (!tensor_at(call, i, like, &parts[i])) return 0;
        const Type *own = parts[i].type->elem;
        elem = elem ? common_type(checker, elem, own) : own;
        if (elem && type_is_element(elem)) continue;
        bad_shapes(call, 0, i, "their elements have no common type", "convert one: f32(x)");
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        parts[i].value = tensor_widen(checker, &parts[i], elem);
        parts[i].type = parts[i].value.type;
    }
    return count;
}

static Value appended(const TensorCall *call, const Value *parts, uint32_t count, uint32_t axis) {
    ExprId ids[CALL_ARGS_MAX + 1];
    uint64_t size = 0;
    uint32_t shape[TENSOR_RANK_MAX];
    const Type *first = parts[0].type;
    bool open = false;
    ids[0] = tensor_number_of(call, axis).id;
    for (uint32_t i = 0; i < first->rank; i++) shape[i] = first->shape[i];
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *own = parts[i].type->shape;
        open |= dimension_is_open(own[axis]);
        size += dimension_is_open(own[axis]) ? 0 : own[axis];
        ids[i + 1] = parts[i].id;
        for (uint32_t k = 0; k < first->rank; k++)
            if (shape[k] == DIMENSION_ANY || !dimension_is_open(own[k])) shape[k] = own[k];
    }
    shape[axis] = size > TENSOR_BYTES_MAX ? TENSOR_BYTES_MAX : (uint32_t)size;
    if (open) shape[axis] = count == 1 ? first->shape[axis] : DIMENSION_ANY;
    if (size > TENSOR_BYTES_MAX || !type_shape_fits(first->elem, shape, first->rank))
        return tensor_too_large(call, first);
    const Type *type = type_tensor(call->checker->types, first->elem, shape, first->rank);
    return node(call->checker, EXPR_APPEND, type, call->span, ids, count + 1);
}

static Value check_concat(const TensorCall *call) {
    TensorOperand parts[CALL_ARGS_MAX];
    Value values[CALL_ARGS_MAX];
    uint32_t count = parts_of(call, parts), axis = 0;
    if (!count || !axis_at(call, count, parts[0].type, parts[0].type->rank, &axis))
        return tensor_no_value(call);
    for (uint32_t i = 0; i < count; i++) {
        const Type *first = parts[0].type, *own = parts[i].type;
        bool fits = own->rank == first->rank;
        for (uint32_t k = 0; fits && k < own->rank; k++)
            fits = k == axis || may_equal(own->shape[k], first->shape[k]);
        if (!fits)
            return bad_shapes(call, 0, i, "all dimensions but the one that grows are equal",
                              "reshape one of them, or name another dimension");
        values[i] = parts[i].value;
    }
    return appended(call, values, count, axis);
}

static Value check_stack(const TensorCall *call) {
    TensorOperand parts[CALL_ARGS_MAX];
    Value values[CALL_ARGS_MAX];
    uint32_t count = parts_of(call, parts), axis = 0;
    if (!count) return tensor_no_value(call);
    if (parts[0].type->rank == TENSOR_RANK_MAX) return tensor_too_large(call, parts[0].type);
    if (!axis_at(call, count, parts[0].type, parts[0].type->rank + 1, &axis))
        return tensor_no_value(call);
    for (uint32_t i = 0; i < count; i++) {
        if (!type_may_be(parts[i].type, parts[0].type))
            return bad_shapes(call, 0, i, "what is stacked has one shape",
                              "reshape one of them, or use concat");
        values[i] = with_dimension(call, parts[i].value, axis);
    }
    return appended(call, values, count, axis);
}

// A part of `size` elements in the dimension, all of which are `value`.
static Value filled(const TensorCall *call, Value like, uint32_t axis, int64_t size,
                    Value value) {
    const Type *type = type_resized(call->checker->types, like.type, axis, (uint32_t)size);
    if (!tensor_is_open(type)) return node1(call->checker, EXPR_EXPAND, type, call->span, value);
    return node2(call->checker, EXPR_EXPAND, type, call->span, value, like);
}

static Value check_pad(const TensorCall *call) {
    TensorOperand x;
    Value parts[3];
    int64_t before, after;
    uint32_t axis = 0, count = 0;
    if (!tensor_at(call, 0, nullptr, &x) || !axis_at(call, 4, x.type, x.type->rank, &axis) ||
        !tensor_whole_at(call, 1, &before) || !tensor_whole_at(call, 2, &after))
        return tensor_no_value(call);
    for (uint32_t i = 1; i < 3; i++) {
        int64_t size = i == 1 ? before : after;
        uint32_t shape[TENSOR_RANK_MAX];
        if (size < 0) return tensor_bad_argument(call, i, "0 or more", "cut it with slice(...)");
        memcpy(shape, x.type->shape, sizeof *shape * x.type->rank);
        shape[axis] = size > TENSOR_BYTES_MAX ? TENSOR_BYTES_MAX : (uint32_t)size;
        if (size && !type_shape_fits(x.type->elem, shape, x.type->rank))
            return tensor_too_large(call, x.type);
    }
    Value value = check_as(call->checker, call->scope, call->args->exprs[3], x.type->elem);
    if (is_error(value.type)) return tensor_no_value(call);
    if (before) parts[count++] = filled(call, x.value, axis, before, value);
    parts[count++] = x.value;
    if (after) parts[count++] = filled(call, x.value, axis, after, value);
    return appended(call, parts, count, axis);
}

static Value check_gather(const TensorCall *call) {
    Checker *checker = call->checker;
    TensorOperand x, places;
    uint32_t axis = 0;
    const Type *i64 = tensor_kind(call, TYPE_I64);
    const Type *like = type_tensor(checker->types, i64, &(uint32_t){1}, 1);
    if (!tensor_at(call, 0, nullptr, &x) || !tensor_at(call, 1, like, &places) ||
        !axis_at(call, 2, x.type, x.type->rank, &axis))
        return tensor_no_value(call);
    if (!type_is_integer(places.type->elem) || !type_holds(i64, places.type->elem))
        return tensor_bad_argument(call, 1, "a tensor of places, i64", "convert it: i64(x)");
    Const constant;
    for (uint32_t i = 0; const_of(checker, places.value.id, &constant) && i < constant.item_count;
         i++) {
        if (constant.items[i].i >= 0 && constant.items[i].i < x.type->shape[axis]) continue;
        Diag *diag = report(checker, DIAG_TENSOR_INDEX, tensor_span(call, 1),
                            "%s has no part %lld in dimension %u", tensor_say(call, x.type),
                            (long long)constant.items[i].i, axis);
        if (dimension_is_open(x.type->shape[axis]))
            report_label(checker, diag, tensor_span(call, 1), "negative");
        else report_label(checker, diag, tensor_span(call, 1), "0 to %u", x.type->shape[axis] - 1);
        report_fix(checker, diag, "count from 0");
        return tensor_no_value(call);
    }
    const Type *type = type_gathered(checker->types, x.type, axis, places.type);
    if (!type) return tensor_too_large(call, x.type);
    ExprId ids[] = {x.value.id, tensor_number_of(call, axis).id,
                    tensor_widen(checker, &places, i64).id};
    return node(checker, EXPR_GATHER, type, call->span, ids, 3);
}

// ---- made of others -----------------------------------------------------------------------------

// A tensor or number beside one of `elem`: what is written out takes that type.
static Value beside(const TensorCall *call, uint32_t i, const Type *elem) {
    Checker *checker = call->checker;
    const AstExpr *expr = call->args->exprs[i];
    const Type *like = type_tensor(checker->types, elem, &(uint32_t){1}, 1);
    if (expr->kind == AST_LIST) return check_tensor_beside(checker, call->scope, expr, like);
    if (call->args->flexible[i]) return check_as(checker, call->scope, expr, elem);
    TensorOperand operand = tensor_operand(checker, call->args->values[i], expr->span);
    if (is_error(operand.type)) return operand.value;
    if (type_is_element(type_element(operand.type)) && type_holds(elem, type_element(operand.type)))
        return tensor_widen(checker, &operand, elem);
    return tensor_bad_argument(call, i, tensor_say(call, elem), "convert it");
}

static Value check_choose(const TensorCall *call) {
    Checker *checker = call->checker;
    TensorOperand operands[3];
    if (!tensor_at(call, 0, nullptr, &operands[0])) return tensor_no_value(call);
    if (operands[0].type->elem->kind != TYPE_BOOL)
        return tensor_bad_argument(call, 0, "a tensor of bool", "compare: choose(x > 0, x, 0)");
    // What is written out follows the other one.
    const Type *elem = nullptr;
    for (uint32_t i = 1; i < 3; i++) {
        const Type *own = type_element(type_base(call->args->values[i].type));
        bool written = call->args->flexible[i] || call->args->exprs[i]->kind == AST_LIST;
        if (written || is_error(own)) continue;
        elem = elem ? common_type(checker, elem, own) : own;
        if (elem && type_is_element(elem)) continue;
        if (i == 2) return bad_shapes(call, 1, 2, "their elements have no common type",
                                      "convert one: f32(x)");
        return tensor_bad_argument(call, i, "numbers or bool", "give a tensor or a number");
    }
    for (uint32_t i = 1; i < 3 && !elem; i++) {
        const Type *own = call->args->values[i].type;
        elem = own->kind == TYPE_LIST ? own->elem : own;
        if (!type_is_element(elem))
            return tensor_bad_argument(call, i, "numbers or bool", "give a tensor or a number");
        const Type *other = call->args->values[3 - i].type;
        if (other->kind == TYPE_F64) elem = other;
    }
    ExprId ids[3];
    for (uint32_t i = 0; i < 3; i++) {
        if (i) {
            Value value = beside(call, i, elem);
            operands[i] = (TensorOperand){value, value.type, tensor_span(call, i)};
        }
        if (is_error(operands[i].type)) return tensor_no_value(call);
        ids[i] = operands[i].value.id;
    }
    const Type *shape = tensor_common_shape(checker, operands, 3);
    if (!shape) return tensor_no_value(call);
    const Type *type = type_tensor_like(checker->types, elem, shape);
    return node(checker, EXPR_CHOOSE, type, call->span, ids, 3);
}

// The library's function of numbers with that name, over each element of a tensor of f64.
static Value lifted(const TensorCall *call, const char *name, Value x) {
    size_t count;
    const Decl *decl = declare_find(call->checker->input->decls, text_of(name), &count);
    if (!count) return tensor_no_value(call);
    Expr payload = {.op = EXPR_CALL, .type = x.type, .span = call->span, .fn = &decl->fn};
    return (Value){graph_expr(call->checker->graph, payload, &x.id, 1), x.type};
}

static Value check_softmax(const TensorCall *call) {
    TensorOperand x;
    if (!tensor_at(call, 0, nullptr, &x)) return tensor_no_value(call);
    uint32_t axis = x.type->rank - 1;
    if (!axis_at(call, 1, x.type, x.type->rank, &axis)) return tensor_no_value(call);
    if (x.type->elem->kind == TYPE_BOOL)
        return tensor_bad_argument(call, 0, "a tensor of numbers", "convert it: softmax(f32(x))");
    TypeKind result = x.type->elem->kind == TYPE_F32 ? TYPE_F32 : TYPE_F64;
    Value wide = tensor_as_f64(call->checker, &x);
    Value greatest = reduced_beside(call, EXPR_REDUCE_MAX, wide, axis);
    Value powers = lifted(call, "exp", on_elements(call, EXPR_SUB, wide, greatest));
    if (is_error(powers.type)) return powers;
    Value sum = reduced_beside(call, EXPR_REDUCE_SUM, powers, axis);
    Value shares = on_elements(call, EXPR_DIV, powers, sum);
    if (type_is_half(x.type->elem)) return rounded(call, shares, x.type->elem);
    return cast_proven(call, shares, result);
}

// One value for each part of the dimension, or a number, so that it broadcasts to `x`.
static Value for_parts(const TensorCall *call, uint32_t i, const Type *x, uint32_t axis) {
    uint32_t shape[TENSOR_RANK_MAX];
    Value value = beside(call, i, x->elem);
    if (is_error(value.type) || value.type->kind != TYPE_TENSOR) return value;
    call->types[i] = value.type;
    if (value.type->rank != 1 || !may_equal(value.type->shape[0], x->shape[axis]))
        return bad_shapes(call, 0, i, "it has one value for each part of the dimension",
                          "give one value per part, or a single number for all");
    for (uint32_t k = 0; k < x->rank - axis; k++) shape[k] = k ? 1 : value.type->shape[0];
    return tensor_reshaped(call, value, shape, x->rank - axis);
}

static Value check_normalise(const TensorCall *call) {
    TensorOperand x;
    if (!tensor_at(call, 0, nullptr, &x)) return tensor_no_value(call);
    uint32_t axis = x.type->rank - 1;
    if (!axis_at(call, 3, x.type, x.type->rank, &axis)) return tensor_no_value(call);
    if (x.type->elem->kind == TYPE_BOOL)
        return tensor_bad_argument(call, 0, "a tensor of numbers", "convert it: f32(x)");
    Value value = widened(call, &x);
    if (type_is_integer(x.type->elem))
        value = type_bits(x.type->elem) <= 16 ? cast_proven(call, x.value, TYPE_F32)
                                              : tensor_as_f64(call->checker, &x);
    Value mean = for_parts(call, 1, value.type, axis);
    Value deviation = for_parts(call, 2, value.type, axis);
    if (is_error(mean.type) || is_error(deviation.type)) return tensor_no_value(call);
    Value distance = on_parts(call, EXPR_SUB, value, mean);
    return rounded(call, on_parts(call, EXPR_DIV, distance, deviation), x.type->elem);
}

enum { ONE_HOT_MAX = 65536 };

static Value counted(const TensorCall *call, uint32_t size) {
    Checker *checker = call->checker;
    Const all = {.items = arena_new_array(checker->arena, Const, size), .item_count = size};
    for (uint32_t i = 0; i < size; i++) all.items[i].i = i;
    const Type *type = type_tensor(checker->types, tensor_kind(call, TYPE_I64), &size, 1);
    return const_value(checker, type, all, call->span);
}

static Value check_one_hot(const TensorCall *call) {
    Checker *checker = call->checker;
    Value place = call->args->values[0];
    TensorOperand operand = tensor_operand(checker, place, tensor_span(call, 0));
    const Type *i64 = tensor_kind(call, TYPE_I64), *elem = type_element(operand.type);
    int64_t size;
    if (is_error(operand.type)) return tensor_no_value(call);
    if (!type_is_integer(elem) || !type_holds(i64, elem))
        return tensor_bad_argument(call, 0, "a place, i64", "convert it: i64(x)");
    if (!tensor_whole_at(call, 1, &size)) return tensor_no_value(call);
    if (size < 1 || size > ONE_HOT_MAX)
        return tensor_bad_argument(call, 1, "a size from 1 to 65,536", "take fewer places");
    Value places = counted(call, (uint32_t)size), wide = tensor_widen(checker, &operand, i64);
    const Type *shape = places.type;
    if (operand.type->kind != TYPE_TENSOR) {
        wide = node2(checker, EXPR_INDEX, i64, call->span, places, wide);
    } else {
        ExprId ids[] = {places.id, tensor_number_of(call, 0).id, wide.id};
        if (wide.type->rank == TENSOR_RANK_MAX) return tensor_too_large(call, wide.type);
        wide = node(checker, EXPR_GATHER, wide.type, call->span, ids, 3);
        wide = with_dimension(call, wide, wide.type->rank);
        uint32_t sizes[TENSOR_RANK_MAX];
        memcpy(sizes, wide.type->shape, sizeof *sizes * wide.type->rank);
        sizes[wide.type->rank - 1] = (uint32_t)size;
        if (!type_shape_fits(i64, sizes, wide.type->rank)) return tensor_too_large(call, wide.type);
        shape = type_tensor(checker->types, i64, sizes, wide.type->rank);
    }
    const Type *type = type_tensor_like(checker->types, tensor_kind(call, TYPE_BOOL), shape);
    Value hot = node2(checker, EXPR_EQ, type, call->span, wide, places);
    return cast_proven(call, hot, TYPE_U8);
}

// ---- products -----------------------------------------------------------------------------------

// Both sides with elements of the type in which products are added. *result: those of the result.
// False: reported.
static bool factors(const TensorCall *call, TensorOperand sides[2], const Type **result) {
    Checker *checker = call->checker;
    const Type *first = call->args->values[0].type, *second = call->args->values[1].type;
    const Type *like = is_tensor(first) ? first : is_tensor(second) ? second : nullptr;
    for (uint32_t i = 0; i < 2; i++)
        if (!tensor_at(call, i, like, &sides[i])) return false;
    const Type *elem = common_type(checker, sides[0].type->elem, sides[1].type->elem);
    if (!elem || !tensor_number(elem)) {
        bad_shapes(call, 0, 1, "their elements are not numbers of a common type",
                   "convert one: f32(x)");
        return false;
    }
    *result = elem = sum_type(call, elem);
    for (uint32_t i = 0; i < 2; i++) {
        sides[i].value = tensor_widen(checker, &sides[i], elem);
        sides[i].value = half_widen(checker, sides[i].value, sides[i].span);
        sides[i].type = sides[i].value.type;
    }
    return true;
}

// The sum over dimension `axis` of x * y, which broadcast to it, with elements of `elem`.
static Value product(const TensorCall *call, Value x, Value y, uint32_t axis, const Type *elem) {
    TensorOperand sides[] = {{x, x.type, tensor_span(call, 0)}, {y, y.type, tensor_span(call, 1)}};
    const Type *shape = tensor_common_shape(call->checker, sides, 2);
    if (!shape) return tensor_no_value(call);
    Value all = node2(call->checker, EXPR_MUL, shape, call->span, x, y);
    return rounded(call, reduced(call, EXPR_REDUCE_SUM, all, shape->elem, axis), elem);
}

static Value check_dot(const TensorCall *call) {
    TensorOperand sides[2];
    const Type *elem;
    if (!factors(call, sides, &elem)) return tensor_no_value(call);
    if (sides[0].type->rank != 1 || sides[1].type->rank != 1 ||
        !may_equal(sides[0].type->shape[0], sides[1].type->shape[0]))
        return bad_shapes(call, 0, 1, "both have one dimension of the same size",
                          "flatten them, or use matmul");
    return product(call, sides[0].value, sides[1].value, 0, elem);
}

static Value check_matmul(const TensorCall *call) {
    TensorOperand sides[2];
    const Type *elem;
    if (!factors(call, sides, &elem)) return tensor_no_value(call);
    const Type *x = sides[0].type, *y = sides[1].type;
    bool fits = y->rank <= 2 && may_equal(x->shape[x->rank - 1], y->shape[0]);
    if (!fits)
        return bad_shapes(call, 0, 1,
                          "the last dimension of the first is the first dimension of the second",
                          "transpose or reshape one of them");
    Value left = sides[0].value, right = sides[1].value;
    if (y->rank == 2 && x->rank == TENSOR_RANK_MAX) return tensor_too_large(call, x);
    if (y->rank == 2) left = with_dimension(call, left, x->rank);
    return product(call, left, right, x->rank - 1, elem);
}

// ---- sizes --------------------------------------------------------------------------------------

static Value check_size(const TensorCall *call) {
    TensorOperand x;
    uint32_t axis = 0;
    if (!tensor_at(call, 0, nullptr, &x)) return tensor_no_value(call);
    if (!axis_at(call, 1, x.type, x.type->rank, &axis)) return tensor_no_value(call);
    if (call->args->count == 1) x.value = flat(call, x.value);
    return parts_in(call, x.value, axis);
}

// ---- files --------------------------------------------------------------------------------------

static Value check_load(const TensorCall *call) {
    Checker *checker = call->checker;
    const CheckInput *input = checker->input;
    Program *program = checker->program;
    Const path;
    FileTensor loaded = {.wrong = TEXT("cannot be read here")};
    if (call->types[0]->kind != TYPE_STR || !const_of(checker, call->args->values[0].id, &path))
        return tensor_bad_argument(call, 0, "the path of a file, written out",
                            "write it in quotes: load(\"weights.npy\")");
    Text name = path_beside(checker, call->span.file, path.text);
    if (!input->load || !input->load(checker->arena, input->types, name, &loaded)) {
        Diag *diag = report(checker, DIAG_TENSOR_FILE, tensor_span(call, 0), "'%.*s' %.*s",
                            TEXT_ARG(name), TEXT_ARG(loaded.wrong));
        report_label(checker, diag, tensor_span(call, 0), "looked for beside the program");
        report_fix(checker, diag, "name a file of numbers, as numpy.save writes it");
        return tensor_no_value(call);
    }
    arena_push(checker->arena, program->loaded, program->loaded_count, program->loaded_cap,
               loaded.bytes);
    return const_value(checker, loaded.type, loaded.value, call->span);
}

// ---- the table ----------------------------------------------------------------------------------

static const TensorRule rules[] = {
#define TENSOR(name, text, least, most, faults, rule, ...) [TENSOR_FN_##name] = rule,
#include "frontend/tensors.def"
};

const TensorFn tensor_functions[TENSOR_FN_COUNT] = {
#define TENSOR(name, text, least, most, faults, rule, signature, doc, example)                     \
    [TENSOR_FN_##name] = {text, least, most, signature, doc, example, faults},
#include "frontend/tensors.def"
};

size_t tensor_function_names(Text *names) {
    for (size_t i = 0; i < TENSOR_FN_COUNT; i++) names[i] = text_of(tensor_functions[i].name);
    return TENSOR_FN_COUNT;
}

static TensorFnId find(Text name) {
    TensorFnId id = 0;
    while (id < TENSOR_FN_COUNT && !text_is(name, tensor_functions[id].name)) id++;
    return id;
}

bool is_tensor_function(Text name) { return find(name) < TENSOR_FN_COUNT; }

Value call_tensor_function(Checker *checker, Scope *scope, const Arguments *args) {
    TensorFnId id = find(args->call->name.text);
    const TensorFn *fn = &tensor_functions[id];
    const Type *types[CALL_ARGS_MAX];
    TensorCall call = {checker, scope, id, fn, args, types, args->call->span};
    if (args->broken) return error_value(checker);
    for (uint32_t i = 0; i < args->count && i < CALL_ARGS_MAX; i++)
        types[i] = args->values[i].type;
    if (args->count >= fn->least && args->count <= fn->most) return rules[id](&call);
    Diag *diag = report(checker, DIAG_ARGUMENT_COUNT, args->call->span,
                        "'%s' takes %u%s argument%s, not %u", fn->name, fn->least,
                        fn->most > fn->least ? " or more" : "", fn->most == 1 ? "" : "s",
                        args->count);
    report_label(checker, diag, args->call->span, "%u here", args->count);
    report_fix(checker, diag, "call it as %s", fn->signature);
    return error_value(checker);
}
