// Arithmetic: checked where it can overflow, IEEE where it is floating.
#include "codegen/emit_row.h"

#include <string.h>

static Val status(Emit *e, int32_t fault) { return emit_i32(e, (uint32_t)fault); }

static bool is_float(const Type *type) { return type_is_float(type); }

static bool is_signed(const Type *type) {
    return !(type->kind >= TYPE_U8 && type->kind <= TYPE_U64);
}

static Val float_op(Emit *e, ExprOp op, Val a, Val b) {
    switch ((int)op) {
    case EXPR_ADD: return LLVMBuildFAdd(e->b, a, b, "");
    case EXPR_SUB: return LLVMBuildFSub(e->b, a, b, "");
    case EXPR_MUL: return LLVMBuildFMul(e->b, a, b, "");
    case EXPR_DIV: return LLVMBuildFDiv(e->b, a, b, "");
    default: return nullptr;
    }
}

// fmod is exact, so the host's would do; frem calls it. Jobs carry their own under another name.
static Val float_mod(Emit *e, Val a, Val b) {
    bool narrow = LLVMTypeOf(a) == e->f32;
    Val x = narrow ? LLVMBuildFPExt(e->b, a, e->f64, "") : a;
    Val y = narrow ? LLVMBuildFPExt(e->b, b, e->f64, "") : b;
    Val result = emit_callv(e, "fmod", e->f64, arg(x), arg(y));
    return narrow ? LLVMBuildFPTrunc(e->b, result, e->f32, "") : result;
}

static Val plain_op(Emit *e, ExprOp op, Val a, Val b) {
    switch ((int)op) {
    case EXPR_ADD: return LLVMBuildAdd(e->b, a, b, "");
    case EXPR_SUB: return LLVMBuildSub(e->b, a, b, "");
    default: return LLVMBuildMul(e->b, a, b, "");
    }
}

static Val checked_op(Emit *e, Frame *frame, const Expr *x, Val a, Val b) {
    if (x->proven) return plain_op(e, x->op, a, b);
    static const char *const names[2][3] = {
        {"llvm.uadd.with.overflow", "llvm.usub.with.overflow", "llvm.umul.with.overflow"},
        {"llvm.sadd.with.overflow", "llvm.ssub.with.overflow", "llvm.smul.with.overflow"},
    };
    int which = x->op == EXPR_ADD ? 0 : x->op == EXPR_SUB ? 1 : 2;
    Ty type = LLVMTypeOf(a);
    Val pair = emit_intrinsic(e, names[is_signed(type_base(x->type))][which], &type, 1,
                              (Val[]){a, b}, 2);
    Val over = LLVMBuildExtractValue(e->b, pair, 1, "");
    emit_fault_if(e, frame, x->span, over, status(e, SB_FAULT_OVERFLOW), (Detail){0});
    return LLVMBuildExtractValue(e->b, pair, 0, "");
}

// x // y and x % y towards zero. y = 0 and the one overflow (least / -1) are faults; the remainder
// of least by -1 is 0.
static Val integer_divide(Emit *e, Frame *frame, const Expr *x, Val a, Val b) {
    const Type *type = type_base(x->type);
    Ty ty = LLVMTypeOf(a);
    Val zero = LLVMBuildICmp(e->b, LLVMIntEQ, b, LLVMConstNull(ty), "");
    if (!x->proven)
        emit_fault_if(e, frame, x->span, zero, status(e, SB_FAULT_DIVIDE_BY_ZERO), (Detail){0});
    if (!is_signed(type))
        return x->op == EXPR_IDIV ? LLVMBuildUDiv(e->b, a, b, "") : LLVMBuildURem(e->b, a, b, "");
    Val minus_one = LLVMBuildICmp(e->b, LLVMIntEQ, b, LLVMConstAllOnes(ty), "");
    if (x->op == EXPR_MOD) {
        Val safe = LLVMBuildSelect(e->b, minus_one, emit_int(e, ty, 1), b, "");
        return LLVMBuildSRem(e->b, a, safe, "");
    }
    unsigned bits = LLVMGetIntTypeWidth(ty);
    Val least_value = LLVMBuildShl(e->b, emit_int(e, ty, 1), emit_int(e, ty, bits - 1), "");
    Val least = LLVMBuildICmp(e->b, LLVMIntEQ, a, least_value, "");
    Val over = LLVMBuildAnd(e->b, least, minus_one, "");
    if (!x->proven)
        emit_fault_if(e, frame, x->span, over, status(e, SB_FAULT_OVERFLOW), (Detail){0});
    return LLVMBuildSDiv(e->b, a, b, "");
}

// ---- decimals -----------------------------------------------------------------------------------

static __int128 power_of_ten(unsigned exponent) {
    __int128 power = 1;
    while (exponent--) power *= 10;
    return power;
}

static Val widen_decimal(Emit *e, Val value) {
    return LLVMTypeOf(value) == e->i128 ? value : LLVMBuildSExt(e->b, value, e->i128, "");
}

// The result must stay within the precision of its type: |x| < 10^p.
static Val fit_decimal(Emit *e, Frame *frame, const Expr *x, Val value, Val over) {
    const Type *type = type_base(x->type);
    if (!x->proven) {
        Val bound = emit_i128(e, power_of_ten(type->precision));
        Val high = LLVMBuildICmp(e->b, LLVMIntSGE, value, bound, "");
        Val low = LLVMBuildICmp(e->b, LLVMIntSLE, value, LLVMBuildNeg(e->b, bound, ""), "");
        Val bad = LLVMBuildOr(e->b, high, low, "");
        if (over) bad = LLVMBuildOr(e->b, bad, over, "");
        emit_fault_if(e, frame, x->span, bad, status(e, SB_FAULT_OVERFLOW), (Detail){0});
    }
    return emit_type(e, type) == e->i64 ? LLVMBuildTrunc(e->b, value, e->i64, "") : value;
}

static Val decimal_op(Emit *e, Frame *frame, const Expr *x, Val a, Val b, unsigned digits) {
    a = widen_decimal(e, a);
    b = widen_decimal(e, b);
    bool small = digits <= DECIMAL_PRECISION_MAX;
    if (small || x->op != EXPR_MUL)  // 10^38 < 2^127 / 1.7: sums of two cannot wrap either.
        return fit_decimal(e, frame, x, plain_op(e, x->op, a, b), nullptr);
    Ty type = e->i128;
    Val pair = emit_intrinsic(e, "llvm.smul.with.overflow", &type, 1, (Val[]){a, b}, 2);
    return fit_decimal(e, frame, x, LLVMBuildExtractValue(e->b, pair, 0, ""),
                       LLVMBuildExtractValue(e->b, pair, 1, ""));
}

// Both sides are of one scale, and so far from the ends of their integers that nothing wraps.
static Val decimal_divide(Emit *e, Frame *frame, const Expr *x, Val a, Val b) {
    if (LLVMTypeOf(a) != LLVMTypeOf(b)) {
        a = widen_decimal(e, a);
        b = widen_decimal(e, b);
    }
    Val zero = LLVMBuildICmp(e->b, LLVMIntEQ, b, LLVMConstNull(LLVMTypeOf(b)), "");
    if (!x->proven)
        emit_fault_if(e, frame, x->span, zero, status(e, SB_FAULT_DIVIDE_BY_ZERO), (Detail){0});
    Val result = x->op == EXPR_IDIV ? LLVMBuildSDiv(e->b, a, b, "") : LLVMBuildSRem(e->b, a, b, "");
    return fit_decimal(e, frame, x, widen_decimal(e, result), nullptr);
}

static Value emit_neg(Emit *e, Frame *frame, const Expr *x) {
    Value value = emit_expr(e, frame, x->args[0]);
    const Type *type = type_base(x->type);
    if (is_float(type)) return (Value){.a = LLVMBuildFNeg(e->b, value.a, "")};
    if (type->kind == TYPE_DECIMAL) return (Value){.a = LLVMBuildNeg(e->b, value.a, "")};
    Expr minus = *x;
    minus.op = EXPR_SUB;
    Val zero = LLVMConstNull(LLVMTypeOf(value.a));
    return (Value){.a = checked_op(e, frame, &minus, zero, value.a)};
}

// Timestamps count units, durations microseconds: where the two are one, an ordinary sum; else the
// library's, which rounds towards the past (docs/casts.md).
static Value emit_time(Emit *e, Frame *frame, const Expr *x, Val a, Val b) {
    const Type *left = type_base(graph_at(e->graph, x->args[0])->type);
    const Type *right = type_base(graph_at(e->graph, x->args[1])->type);
    TimeUnit unit = left->kind == TYPE_TIMESTAMP ? left->unit : right->unit;
    if (unit == UNIT_US) return (Value){.a = checked_op(e, frame, x, a, b)};
    bool distance = left->kind == TYPE_TIMESTAMP && right->kind == TYPE_TIMESTAMP;
    const char *symbol = distance               ? "sb_timestamp_sub"
                         : x->op == EXPR_ADD ? "sb_timestamp_add"
                                                : "sb_timestamp_minus";
    bool swapped = left->kind == TYPE_DURATION;
    Arg args[] = {arg(swapped ? b : a), arg(swapped ? a : b),
                  {.a = emit_int(e, e->i32, unit), .is_signed = false}};
    return emit_status_call(e, frame, x->span, symbol, args, countof(args), type_base(x->type));
}

Value emit_arith(Emit *e, Frame *frame, const Expr *x) {
    if (x->op == EXPR_NEG) return emit_neg(e, frame, x);
    Val a = emit_expr(e, frame, x->args[0]).a, b = emit_expr(e, frame, x->args[1]).a;
    const Type *left = type_base(graph_at(e->graph, x->args[0])->type);
    const Type *right = type_base(graph_at(e->graph, x->args[1])->type);
    bool divides = x->op == EXPR_IDIV || x->op == EXPR_MOD;
    if (is_float(left))
        return (Value){.a = x->op == EXPR_MOD ? float_mod(e, a, b) : float_op(e, x->op, a, b)};
    if (left->kind == TYPE_DECIMAL && divides)
        return (Value){.a = decimal_divide(e, frame, x, a, b)};
    if (left->kind == TYPE_DECIMAL)
        return (Value){.a = decimal_op(e, frame, x, a, b, left->precision + right->precision)};
    if (divides) return (Value){.a = integer_divide(e, frame, x, a, b)};
    if (left->kind == TYPE_TIMESTAMP || right->kind == TYPE_TIMESTAMP)
        return emit_time(e, frame, x, a, b);
    return (Value){.a = checked_op(e, frame, x, a, b)};
}
