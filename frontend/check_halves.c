// f16 and bf16: what is computed of them is computed as f32, and rounded once.
//
//   x * y    x, y: f16    ─▶   round(widen(x) * widen(y))
//   sum(x)   x: bf16[8]   ─▶   round(reduce_sum(widen(x)))
//
// So the graph has operators on f32 only, and each step of a program rounds its own result.
#include "frontend/checker.h"

// The type with other elements, or the other type itself; null as before.
static const Type *with_elements(Checker *checker, const Type *type, const Type *elem) {
    const Type *base = type_base(type);
    const Type *other = base->kind == TYPE_TENSOR ? type_tensor_like(checker->types, elem, base)
                                                  : elem;
    return type->nullable ? type_nullable(other) : other;
}

Value half_widen(Checker *checker, Value value, Span span) {
    if (!type_is_half(type_element(type_base(value.type)))) return value;
    const Type *f32 = kind_type(checker, TYPE_F32);
    return node1(checker, EXPR_WIDEN, with_elements(checker, value.type, f32), span, value);
}

Value half_round(Checker *checker, Value value, const Type *elem, Span span) {
    if (is_error(value.type) || !type_is_half(elem)) return value;
    return node1(checker, EXPR_ROUND, with_elements(checker, value.type, elem), span, value);
}

Value arithmetic(Checker *checker, ExprOp op, const Type *type, Span span, Value a, Value b) {
    const Type *elem = type_element(type);
    if (!type_is_half(elem)) return node2(checker, op, type, span, a, b);
    type = with_elements(checker, type, kind_type(checker, TYPE_F32));
    Value wide = node2(checker, op, type, span, half_widen(checker, a, span),
                       half_widen(checker, b, span));
    return half_round(checker, wide, elem, span);
}

Value negated(Checker *checker, Value value, Span span) {
    Value wide = half_widen(checker, value, span);
    wide = node1(checker, EXPR_NEG, wide.type, span, wide);
    return half_round(checker, wide, type_element(value.type), span);
}

const Type *half_result(const Decl *decl, const Arguments *args) {
    const Type *half = nullptr;
    bool single = decl->result && type_base(decl->result)->kind == TYPE_F32 && !decl->aggregate;
    for (uint32_t i = 0; i < args->count && i < CALL_ARGS_MAX; i++) {
        const Type *own = type_element(type_base(args->values[i].type));
        if (args->flexible[i]) continue;
        if (!type_is_half(own) || (half && half != own)) return nullptr;
        half = own;
    }
    return single ? half : nullptr;
}
