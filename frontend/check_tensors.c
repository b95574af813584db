// Tensors: their types, what is written out as one, and operators that take elements one by one.
//
// An operator of numbers takes tensors where it takes numbers: shapes broadcast, and the elements
// follow the rules of numbers. The node has the operator of the numbers and a tensor type.
#include "frontend/checker.h"

bool is_tensor(const Type *type) { return type_base(type)->kind == TYPE_TENSOR; }

// ---- types --------------------------------------------------------------------------------------

static const Type *bad_tensor(Checker *checker, const AstType *type, const char *what,
                              const char *fix) {
    Diag *diag = report(checker, DIAG_TENSOR_TYPE, type->span, "%s", what);
    report_label(checker, diag, type->span, "this type");
    report_fix(checker, diag, "%s", fix);
    return error_type(checker);
}

// The number that a dimension is. -1: it is a name. -2: it is larger than any tensor.
static int64_t dimension(Text text) {
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool between = i && i + 1 < text.len && text.at[i - 1] != '_';
        if (text.at[i] == '_' && between) continue;
        if (text.at[i] < '0' || text.at[i] > '9') return -1;
        value = value * 10 + (text.at[i] - '0');
        if (value > TENSOR_BYTES_MAX) return -2;
    }
    return value;
}

const Type *resolve_tensor(Checker *checker, const AstType *type) {
    const Type *elem;
    uint32_t shape[TENSOR_RANK_MAX];
    if (!resolve_named(checker, type->name.text, &elem))
        return bad_tensor(checker, type, "a tensor of what?", "name a number type: f32[3]");
    if (is_error(elem)) return elem;
    if (!type_is_element(elem))
        return bad_tensor(checker, type, "elements of tensors are bool, i8 to u64, or floats",
                          "use a list: [T]");
    if (!type->param_count || type->param_count > TENSOR_RANK_MAX)
        return bad_tensor(checker, type, "a tensor has 1 to 8 dimensions",
                          "name its dimensions: f32[224, 224, 3]");
    for (uint32_t i = 0; i < type->param_count; i++) {
        int64_t size = dimension(type->params[i]);
        bool digit = type->params[i].at[0] >= '0' && type->params[i].at[0] <= '9';
        if (size == -1 && digit)
            return bad_tensor(checker, type, "a dimension is a whole number or a name",
                              "write it as in f32[3, n]");
        if (size == -1) {
            shape[i] = type_dimension(checker->types, type->params[i]);
            continue;
        }
        if (size == 0)
            return bad_tensor(checker, type, "a dimension of 0 leaves no elements",
                              "a dimension is 1 or more; a list may be empty");
        shape[i] = (uint32_t)size;
        if (size > 0 && type_shape_fits(elem, shape, i + 1)) continue;
        return bad_tensor(checker, type, "a tensor has at most 1 GiB",
                          "take smaller parts, a row each");
    }
    return type_tensor(checker->types, elem, shape, type->param_count);
}

// ---- written out --------------------------------------------------------------------------------

typedef struct TensorLiteral {
    Scope      *scope;
    const Type *elem;
    uint32_t    shape[TENSOR_RANK_MAX];
    uint32_t    rank;
    ExprId     *ids;
    size_t      count, cap;
} TensorLiteral;

static bool wrong_length(Checker *checker, const AstExpr *part, uint32_t found, uint32_t want) {
    Diag *diag = report(checker, DIAG_TENSOR_LITERAL, part->span,
                        "expected %u element%s, found %u", want, want == 1 ? "" : "s", found);
    report_label(checker, diag, part->span, "%u", found);
    report_fix(checker, diag, "give each part of a tensor as many elements as the others");
    return false;
}

static bool literal_part(Checker *checker, TensorLiteral *literal, const AstExpr *part,
                         uint32_t depth) {
    if (depth == literal->rank) {
        Value value = check_as(checker, literal->scope, part, literal->elem);
        arena_push(checker->arena, literal->ids, literal->count, literal->cap, value.id);
        return !is_error(value.type);
    }
    if (part->kind != AST_LIST) {
        Diag *diag = report(checker, DIAG_TENSOR_LITERAL, part->span,
                            "expected %u element%s in brackets, found one value",
                            literal->shape[depth], literal->shape[depth] == 1 ? "" : "s");
        report_label(checker, diag, part->span, "no list");
        report_fix(checker, diag, "write the elements of each dimension in brackets");
        return false;
    }
    if (part->arg_count != literal->shape[depth])
        return wrong_length(checker, part, part->arg_count, literal->shape[depth]);
    bool good = true;
    for (uint32_t i = 0; i < part->arg_count; i++)
        good &= literal_part(checker, literal, part->args[i].value, depth + 1);
    return good;
}

static Value check_literal_parts(Checker *checker, TensorLiteral *literal, const AstExpr *expr) {
    if (!literal_part(checker, literal, expr, 0)) return error_value(checker);
    const Type *type = type_tensor(checker->types, literal->elem, literal->shape, literal->rank);
    return node(checker, EXPR_LIST, type, expr->span, literal->ids, (uint32_t)literal->count);
}

Value check_tensor_as(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    if (type_open_count(want))
        return coerce(checker, check_tensor_beside(checker, scope, expr, want), want, expr->span);
    TensorLiteral literal = {.scope = scope, .elem = want->elem, .rank = want->rank};
    for (uint32_t i = 0; i < want->rank; i++) literal.shape[i] = want->shape[i];
    return check_literal_parts(checker, &literal, expr);
}

Value check_tensor_beside(Checker *checker, Scope *scope, const AstExpr *expr, const Type *other) {
    TensorLiteral literal = {.scope = scope, .elem = type_base(other)->elem};
    for (const AstExpr *part = expr; part->kind == AST_LIST; part = part->args[0].value) {
        if (!part->arg_count || literal.rank == TENSOR_RANK_MAX) {
            wrong_length(checker, part, part->arg_count, 1);
            return error_value(checker);
        }
        literal.shape[literal.rank++] = part->arg_count;
    }
    if (type_shape_fits(literal.elem, literal.shape, literal.rank))
        return check_literal_parts(checker, &literal, expr);
    Diag *diag = report(checker, DIAG_TENSOR_LITERAL, expr->span, "a tensor has at most 1 GiB");
    report_label(checker, diag, expr->span, "too many elements");
    report_fix(checker, diag, "read it from a file");
    return error_value(checker);
}

// ---- shapes -------------------------------------------------------------------------------------

// "the last dimensions, 3 and 2, differ", and what follows from it.
static void bad_shapes(Checker *checker, const TensorOperand *a, const TensorOperand *b,
                       uint32_t wrong) {
    static const char *const places[] = {"last", "second from last", "third from last",
                                         "fourth from last"};
    const Type *x = a->type, *y = b->type;
    Diag *diag = report(checker, DIAG_TENSOR_SHAPES, a->span, "tensor shapes do not broadcast");
    report_label(checker, diag, a->span, "%s", type_say(checker, x));
    report_label(checker, diag, b->span, "%s", type_say(checker, y));
    report_origins(checker, diag, a, b);
    uint32_t left = x->shape[x->rank - 1 - wrong], right = y->shape[y->rank - 1 - wrong];
    if (wrong < countof(places))
        report_note(checker, diag, "the %s dimensions, %u and %u, differ", places[wrong], left,
                    right);
    else
        report_note(checker, diag, "the dimensions %u from the end, %u and %u, differ", wrong + 1,
                    left, right);
    bool channels = wrong == 0 && (x->rank == 1 || y->rank == 1) && x->rank != y->rank;
    if (channels)
        report_fix(checker, diag, "give one value per channel, or a single number for all");
    else report_fix(checker, diag, "give equal dimensions, a dimension of 1, or a single number");
}

const Type *tensor_common_shape(Checker *checker, const TensorOperand *operands,
                                uint32_t count) {
    const TensorOperand *whole = nullptr;
    TensorOperand all = {0};
    for (uint32_t i = 0; i < count; i++) {
        const TensorOperand *next = &operands[i];
        uint32_t shape[TENSOR_RANK_MAX], wrong;
        if (next->type->kind != TYPE_TENSOR) continue;
        if (!whole) {
            all = *next;
            whole = &all;
            continue;
        }
        uint32_t rank = type_broadcast(all.type, next->type, shape, &wrong);
        if (!rank) {
            bad_shapes(checker, &all, next, wrong);
            return nullptr;
        }
        if (!type_shape_fits(kind_type(checker, TYPE_F64), shape, rank)) {
            Diag *diag = report(checker, DIAG_TENSOR_TYPE, next->span,
                                "the result has more elements than a tensor may");
            report_label(checker, diag, all.span, "%s", type_say(checker, all.type));
            report_label(checker, diag, next->span, "%s", type_say(checker, next->type));
            report_origins(checker, diag, &all, next);
            report_fix(checker, diag, "take smaller parts, a row each");
            return nullptr;
        }
        all.type = type_tensor(checker->types, all.type->elem, shape, rank);
    }
    return all.type;
}

// `elem`, or the tensor of it with the shape of `like`, if that is one.
static const Type *with_shape(Checker *checker, const Type *elem, const Type *like) {
    if (like->kind != TYPE_TENSOR) return elem;
    return type_tensor_like(checker->types, elem, like);
}

Value tensor_widen(Checker *checker, const TensorOperand *operand, const Type *elem) {
    const Type *type = with_shape(checker, elem, operand->type);
    return widen(checker, operand->value, type, operand->span);
}

Value tensor_as_f64(Checker *checker, const TensorOperand *operand) {
    const Type *f64 = kind_type(checker, TYPE_F64), *own = type_element(operand->type);
    if (!type_is_integer(own)) return tensor_widen(checker, operand, f64);
    return node1(checker, EXPR_TO_F64, with_shape(checker, f64, operand->type), operand->span,
                 operand->value);
}

TensorOperand tensor_operand(Checker *checker, Value value, Span span) {
    value = coerce(checker, value, type_base(value.type), span);  // T? is an error that says `??`.
    return (TensorOperand){value, value.type, span};
}

// ---- operators ----------------------------------------------------------------------------------

bool tensor_number(const Type *elem) { return type_is_integer(elem) || type_is_float(elem); }

Value tensor_arithmetic(Checker *checker, ExprOp op, const AstExpr *expr, const Value sides[2],
                        bool *taken) {
    TensorOperand a = tensor_operand(checker, sides[0], expr->a->span);
    TensorOperand b = tensor_operand(checker, sides[1], expr->b->span);
    *taken = true;
    if (is_error(a.type) || is_error(b.type)) return error_value(checker);
    const Type *x = type_element(a.type), *y = type_element(b.type);
    const Type *elem = tensor_number(x) && tensor_number(y) ? common_type(checker, x, y) : nullptr;
    bool quotient = op == EXPR_DIV && type_is_integer(x) && type_is_integer(y);
    if (quotient) elem = kind_type(checker, TYPE_F64);
    if (!elem || (op == EXPR_IDIV && !type_is_integer(elem))) {
        *taken = false;
        return error_value(checker);
    }
    const Type *shape = tensor_common_shape(checker, (TensorOperand[]){a, b}, 2);
    if (!shape) return error_value(checker);
    Value left = quotient ? tensor_as_f64(checker, &a) : tensor_widen(checker, &a, elem);
    Value right = quotient ? tensor_as_f64(checker, &b) : tensor_widen(checker, &b, elem);
    return arithmetic(checker, op, type_tensor_like(checker->types, elem, shape), expr->span, left,
                      right);
}

Value tensor_comparison(Checker *checker, ExprOp op, const AstExpr *expr, const Value sides[2],
                        bool *taken) {
    TensorOperand a = tensor_operand(checker, sides[0], expr->a->span);
    TensorOperand b = tensor_operand(checker, sides[1], expr->b->span);
    *taken = true;
    if (is_error(a.type) || is_error(b.type)) return error_value(checker);
    const Type *elem = common_type(checker, type_element(a.type), type_element(b.type));
    if (!elem || !type_is_element(elem)) {
        *taken = false;
        return error_value(checker);
    }
    const Type *shape = tensor_common_shape(checker, (TensorOperand[]){a, b}, 2);
    if (!shape) return error_value(checker);
    const Type *type = type_tensor_like(checker->types, kind_type(checker, TYPE_BOOL), shape);
    return node2(checker, op, type, expr->span, tensor_widen(checker, &a, elem),
                 tensor_widen(checker, &b, elem));
}

Value tensor_element(Checker *checker, const AstExpr *expr, Value tensor, Value index) {
    const Type *type = type_tensor_part(checker->types, tensor.type);
    Const constant;
    bool known = const_of(checker, index.id, &constant);
    bool open = dimension_is_open(tensor.type->shape[0]);
    if (!known || (uint64_t)constant.i < (open ? INT64_MAX : tensor.type->shape[0]))
        return node2(checker, EXPR_INDEX, type, expr->span, tensor, index);
    Diag *diag = report(checker, DIAG_TENSOR_INDEX, expr->b->span,
                        "%s has no element %lld", type_say(checker, tensor.type),
                        (long long)constant.i);
    if (open) report_label(checker, diag, expr->b->span, "negative");
    else report_label(checker, diag, expr->b->span, "0 to %u", tensor.type->shape[0] - 1);
    report_fix(checker, diag, "count from 0");
    return error_value(checker);
}

// ---- calls --------------------------------------------------------------------------------------

bool takes_tensors(const Arguments *args) {
    for (uint32_t i = 0; i < args->count && i < CALL_ARGS_MAX; i++)
        if (is_tensor(args->values[i].type)) return true;
    return false;
}

// May a function of numbers be called for each element?
static bool is_lifted(const Decl *decl, const Type *result) {
    uint32_t never = FN_TYPED | FN_RANDOM | FN_IMPURE | FN_OUT | FN_MAYBE;
    if (decl->fn.traits & never || decl->fn.pointers || !type_is_element(result)) return false;
    for (uint32_t i = 0; i < decl->param_count; i++) {
        const DeclParam *param = &decl->params[i];
        if (param->kind != DECL_VALUE || !param->type || !type_is_element(param->type))
            return false;
    }
    return true;
}

// A number written out is checked anew: it takes the type of the parameter.
static Value lifted_argument(Checker *checker, Scope *scope, const Arguments *args, uint32_t i,
                             const Type *elem) {
    if (args->flexible[i]) return check_as(checker, scope, args->exprs[i], elem);
    TensorOperand operand = tensor_operand(checker, args->values[i], args->exprs[i]->span);
    return is_error(operand.type) ? operand.value : tensor_widen(checker, &operand, elem);
}

Value call_for_elements(Checker *checker, Scope *scope, const Arguments *args,
                        const Decl *const *decls, size_t count) {
    Arguments elements = *args;
    for (uint32_t i = 0; i < args->count && i < CALL_ARGS_MAX; i++) {
        const Type *type = args->values[i].type;
        if (is_tensor(type)) elements.values[i].type = type_base(type)->elem;
    }
    Choice choice = fit_overload(checker, &elements, decls, count);
    const Type *half = choice.decl ? half_result(choice.decl, &elements) : nullptr;
    if (!choice.decl || !choice.decl->result || !is_lifted(choice.decl, choice.decl->result)) {
        Diag *diag = report(checker, DIAG_ARGUMENT_TYPE, args->call->span,
                            "'%.*s' does not take tensors", TEXT_ARG(args->call->name.text));
        for (uint32_t i = 0; i < args->count && i < CALL_ARGS_MAX; i++)
            report_label(checker, diag, args->exprs[i]->span, "%s",
                         type_say(checker, args->values[i].type));
        report_fix(checker, diag, "call a function of numbers; it takes elements one by one");
        return error_value(checker);
    }
    TensorOperand operands[DECL_PARAMS_MAX];
    ExprId ids[DECL_PARAMS_MAX];
    bool good = true;
    for (uint32_t i = 0; i < args->count; i++) {
        Value value = lifted_argument(checker, scope, args, i, choice.decl->params[i].type);
        operands[i] = (TensorOperand){value, value.type, args->exprs[i]->span};
        elements.values[i] = value;
        ids[i] = value.id;
        good &= !is_error(value.type);
    }
    for (uint32_t i = 0; i < args->count && good; i++)
        if (!is_tensor(operands[i].type)) good = check_domain(checker, &elements, choice.decl, i);
    const Type *shape = good ? tensor_common_shape(checker, operands, args->count) : nullptr;
    if (!shape) return error_value(checker);
    const Type *type = type_tensor_like(checker->types, choice.decl->result, shape);
    Expr payload = {.op = EXPR_CALL, .type = type, .span = args->call->span,
                    .fn = &choice.decl->fn};
    Value result = {graph_expr(checker->graph, payload, ids, args->count), type};
    return half ? half_round(checker, result, half, args->call->span) : result;
}
