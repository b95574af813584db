// The rule of `reshape`: sizes that are written, computed, or follow from the others.
#include "frontend/tensor_calls.h"

static Value bad_size(const TensorCall *call, const Type *x) {
    Diag *diag = report(call->checker, DIAG_TENSOR_FIT, call->span,
                        "the new shape has not as many elements as %s", tensor_say(call, x));
    report_label(call->checker, diag, tensor_span(call, 0), "%s, %llu elements",
                 tensor_say(call, x), (unsigned long long)type_elements(x));
    report_fix(call->checker, diag, "give sizes whose product is that, or -1 for one of them");
    return tensor_no_value(call);
}

// The size that argument `i` computes, if it is no constant.
static bool computed_size(const TensorCall *call, uint32_t i, Value *size) {
    Value value = call->args->values[i];
    const Type *i64 = tensor_kind(call, TYPE_I64);
    Const constant;
    if (!type_is_integer(value.type) || const_of(call->checker, value.id, &constant)) return false;
    if (!type_holds(i64, value.type)) return false;
    *size = coerce(call->checker, value, i64, tensor_span(call, i));
    return true;
}

// The name of the dimension whose size the value is, or `_`.
static uint32_t name_of_size(const TensorCall *call, Value size) {
    const Graph *graph = call->checker->graph;
    const Expr *x = graph_at(graph, size.id);
    if (x->op != EXPR_SIZE) return DIMENSION_ANY;
    return graph_at(graph, x->args[0])->type->shape[graph_axis(graph, x, 1)];
}

// Sizes that are computed, or of a tensor whose own are open: they are judged while the job runs.
static Value reshape_open(const TensorCall *call, const TensorOperand *x) {
    Checker *checker = call->checker;
    uint32_t shape[TENSOR_RANK_MAX], rank = call->args->count - 1, count = 1, rests = 0;
    ExprId ids[TENSOR_RANK_MAX + 1] = {x->value.id};
    for (uint32_t i = 0; i < rank; i++) {
        int64_t number;
        Value size;
        if (computed_size(call, i + 1, &size)) {
            shape[i] = name_of_size(call, size);
            ids[count++] = size.id;
            continue;
        }
        if (!tensor_whole_at(call, i + 1, &number)) return tensor_no_value(call);
        rests += number == -1;
        if (rests > 1 || (number != -1 && (number < 1 || number > TENSOR_BYTES_MAX)))
            return tensor_bad_argument(call, i + 1, "a size from 1 on, or -1 once",
                                "give sizes, or -1 for one of them");
        shape[i] = number == -1 ? DIMENSION_ANY : (uint32_t)number;
        if (number == -1) ids[count++] = tensor_number_of(call, number).id;
    }
    if (!type_shape_fits(x->type->elem, shape, rank)) return tensor_too_large(call, x->type);
    const Type *type = type_tensor(checker->types, x->type->elem, shape, rank);
    if (count == 2 && rests) count = 1;  // What is left follows from the elements.
    return node(checker, EXPR_RESHAPE, type, call->span, ids, count);
}

Value check_tensor_reshape(const TensorCall *call) {
    TensorOperand x;
    uint32_t shape[TENSOR_RANK_MAX], rank = call->args->count - 1, open = UINT32_MAX;
    uint64_t known = 1;
    if (!tensor_at(call, 0, nullptr, &x)) return tensor_no_value(call);
    bool later = tensor_is_open(x.type);
    Value size;
    for (uint32_t i = 0; i < rank; i++) later |= computed_size(call, i + 1, &size);
    if (later) return reshape_open(call, &x);
    uint64_t all = type_elements(x.type);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t size;
        if (!tensor_whole_at(call, i + 1, &size)) return tensor_no_value(call);
        bool rest = size == -1 && open == UINT32_MAX;
        if (rest) open = i;
        if (!rest && (size < 1 || size > TENSOR_BYTES_MAX)) return bad_size(call, x.type);
        shape[i] = rest ? 1 : (uint32_t)size;
        known *= shape[i];
        if (known > all) return bad_size(call, x.type);
    }
    if (open != UINT32_MAX) shape[open] = (uint32_t)(all / known);
    if (open != UINT32_MAX) known *= all / known;
    if (known != all) return bad_size(call, x.type);
    return tensor_reshaped(call, x.value, shape, rank);
}
