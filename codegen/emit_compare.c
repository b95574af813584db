// Comparisons: two-valued. A null operand makes them false, `!=` true.
#include "codegen/emit_row.h"

#include <string.h>

static Val equal_pair(Emit *e, Value a, Value b) {
    return emit_callv(e, "sb_str_equal", e->i1, arg_pair(a.a, a.b), arg_pair(b.a, b.b));
}

// Nested values: by their type, keys' rules (NaN equals itself).
static Val compare_nested(Emit *e, const Type *base, Value a, Value b) {
    Val x = emit_value_address(e, base, a), y = emit_value_address(e, base, b);
    return emit_callv(e, "sb_compare", e->i32, arg(emit_sbtype(e, base)), arg(x), arg(y));
}

Val emit_equal(Emit *e, const Type *base, Value a, Value b) {
    if (type_is_bytes(base)) return equal_pair(e, a, b);
    if (type_is_float(base)) return LLVMBuildFCmp(e->b, LLVMRealOEQ, a.a, b.a, "");
    if (type_is_nested(base))
        return LLVMBuildICmp(e->b, LLVMIntEQ, compare_nested(e, base, a, b), emit_i32(e, 0), "");
    return LLVMBuildICmp(e->b, LLVMIntEQ, a.a, b.a, "");
}

static LLVMIntPredicate int_predicate(ExprOp op, bool is_signed) {
    switch ((int)op) {
    case EXPR_LT: return is_signed ? LLVMIntSLT : LLVMIntULT;
    case EXPR_LE: return is_signed ? LLVMIntSLE : LLVMIntULE;
    case EXPR_GT: return is_signed ? LLVMIntSGT : LLVMIntUGT;
    default: return is_signed ? LLVMIntSGE : LLVMIntUGE;
    }
}

static LLVMRealPredicate real_predicate(ExprOp op) {
    switch ((int)op) {
    case EXPR_LT: return LLVMRealOLT;
    case EXPR_LE: return LLVMRealOLE;
    case EXPR_GT: return LLVMRealOGT;
    default: return LLVMRealOGE;
    }
}

static Val ordered(Emit *e, ExprOp op, const Type *base, Value a, Value b) {
    if (type_is_float(base)) return LLVMBuildFCmp(e->b, real_predicate(op), a.a, b.a, "");
    Val order = nullptr;
    if (type_is_bytes(base))
        order = emit_callv(e, "sb_str_compare", e->i32, arg_pair(a.a, a.b), arg_pair(b.a, b.b));
    else if (type_is_nested(base))
        order = compare_nested(e, base, a, b);
    if (order) return LLVMBuildICmp(e->b, int_predicate(op, true), order, emit_i32(e, 0), "");
    bool is_unsigned = base->kind == TYPE_BOOL || (type_is_integer(base) && !type_is_signed(base));
    return LLVMBuildICmp(e->b, int_predicate(op, !is_unsigned), a.a, b.a, "");
}

static Val both_valid(Emit *e, Value a, Value b) {
    if (a.valid && b.valid) return LLVMBuildAnd(e->b, a.valid, b.valid, "");
    return a.valid ? a.valid : b.valid;
}

static Val emit_in(Emit *e, Frame *frame, const Expr *x) {
    Value value = emit_expr(e, frame, x->args[0]);
    const Type *base = type_base(graph_at(e->graph, x->args[0])->type);
    Val any = emit_i1(e, false);
    for (uint32_t i = 1; i < x->arg_count; i++) {
        Value item = emit_expr(e, frame, x->args[i]);
        Val same = emit_equal(e, base, value, item);
        if (item.valid) same = LLVMBuildAnd(e->b, same, item.valid, "");
        any = LLVMBuildOr(e->b, any, same, "");
    }
    return value.valid ? LLVMBuildAnd(e->b, any, value.valid, "") : any;
}

Value emit_compare(Emit *e, Frame *frame, const Expr *x) {
    if (x->op == EXPR_IN) return (Value){.a = emit_in(e, frame, x)};
    Value a = emit_expr(e, frame, x->args[0]), b = emit_expr(e, frame, x->args[1]);
    const Type *base = type_base(graph_at(e->graph, x->args[0])->type);
    bool equality = x->op == EXPR_EQ || x->op == EXPR_NE;
    Val holds = equality ? emit_equal(e, base, a, b) : ordered(e, x->op, base, a, b);
    Val valid = both_valid(e, a, b);
    if (valid) holds = LLVMBuildAnd(e->b, holds, valid, "");
    return (Value){.a = x->op == EXPR_NE ? LLVMBuildNot(e->b, holds, "") : holds};
}
