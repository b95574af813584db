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
    // LLVM 22 takes it for `frem nnan` where the divisor is a NaN, and then for poison.
    emit_no_builtin(e, result);
    return narrow ? LLVMBuildFPTrunc(e->b, result, e->f32, "") : result;
}

static Val plain_op(Emit *e, ExprOp op, Val a, Val b) {
    switch ((int)op) {
    case EXPR_ADD: return LLVMBuildAdd(e->b, a, b, "");
    case EXPR_SUB: return LLVMBuildSub(e->b, a, b, "");
    default: return LLVMBuildMul(e->b, a, b, "");
    }
}

// ---- overflow in column loops -------------------------------------------------------------------
//
// The intrinsics that say whether an operation overflows do not become vector instructions; what
// follows does.

// Of what bounds the type, as its words: zero or the sign is extended.
typedef struct Bounds {
    int64_t  least;
    uint64_t most;
} Bounds;

static Bounds bounds_of(unsigned bits, bool is_signed) {
    uint64_t most = UINT64_MAX >> (64 - bits);
    if (!is_signed) return (Bounds){0, most};
    return (Bounds){-(int64_t)(most >> 1) - 1, most >> 1};
}

static Val outside(Emit *e, Val a, int64_t low, int64_t high) {
    Ty type = LLVMTypeOf(a);
    Val below = LLVMBuildICmp(e->b, LLVMIntSLT, a, LLVMConstInt(type, (uint64_t)low, true), "");
    Val above = LLVMBuildICmp(e->b, LLVMIntSGT, a, LLVMConstInt(type, (uint64_t)high, true), "");
    return LLVMBuildOr(e->b, below, above, "");
}

// The values of `a` for which a OP c overflows, c being a constant.
static Val over_constant(Emit *e, ExprOp op, bool is_signed, Val a, Val constant) {
    Ty type = LLVMTypeOf(a);
    Bounds bounds = bounds_of(LLVMGetIntTypeWidth(type), is_signed);
    if (!is_signed) {
        uint64_t c = LLVMConstIntGetZExtValue(constant), limit = bounds.most - c;
        if (op == EXPR_MUL) limit = c ? bounds.most / c : bounds.most;
        if (op == EXPR_SUB) return LLVMBuildICmp(e->b, LLVMIntULT, a, constant, "");
        return LLVMBuildICmp(e->b, LLVMIntUGT, a, emit_int(e, type, limit), "");
    }
    int64_t c = LLVMConstIntGetSExtValue(constant);
    int64_t least = bounds.least, most = (int64_t)bounds.most;
    bool grows = (op == EXPR_ADD) == (c >= 0);
    switch ((int)op) {
    case EXPR_ADD:
        return grows ? outside(e, a, least, most - c) : outside(e, a, least - c, most);
    case EXPR_SUB:
        return grows ? outside(e, a, least, most + c) : outside(e, a, least + c, most);
    default: break;
    }
    if (c == 0 || c == 1) return emit_i1(e, false);
    if (c == -1) return outside(e, a, -most, most);
    return c > 0 ? outside(e, a, least / c, most / c) : outside(e, a, most / c, least / c);
}

// A product in twice the bits; of 64 bits in floats, whose errors are taken into account: it is
// said to overflow a little too early.
static Val over_product(Emit *e, bool is_signed, Val a, Val b) {
    Ty type = LLVMTypeOf(a);
    if (type != e->i64) {
        Val wide = LLVMBuildMul(e->b, LLVMBuildIntCast2(e->b, a, e->i64, is_signed, ""),
                                LLVMBuildIntCast2(e->b, b, e->i64, is_signed, ""), "");
        Val back = LLVMBuildIntCast2(e->b, LLVMBuildTrunc(e->b, wide, type, ""), e->i64, is_signed,
                                     "");
        return LLVMBuildICmp(e->b, LLVMIntNE, wide, back, "");
    }
    Val x = is_signed ? LLVMBuildSIToFP(e->b, a, e->f64, "") : LLVMBuildUIToFP(e->b, a, e->f64, "");
    Val y = is_signed ? LLVMBuildSIToFP(e->b, b, e->f64, "") : LLVMBuildUIToFP(e->b, b, e->f64, "");
    Val product = LLVMBuildFMul(e->b, x, y, "");
    Ty f64 = e->f64;
    Val size = emit_intrinsic(e, "llvm.fabs", &f64, 1, &product, 1);
    Val limit = LLVMConstReal(e->f64, is_signed ? 0x1.ffffffffffp62 : 0x1.ffffffffffp63);
    return LLVMBuildFCmp(e->b, LLVMRealOGE, size, limit, "");
}

static Val over_variable(Emit *e, ExprOp op, bool is_signed, Val a, Val b) {
    Val result = plain_op(e, op, a, b), zero = LLVMConstNull(LLVMTypeOf(a));
    if (!is_signed)
        return op == EXPR_ADD ? LLVMBuildICmp(e->b, LLVMIntULT, result, a, "")
                              : LLVMBuildICmp(e->b, LLVMIntULT, a, b, "");
    // The sign of the result is that of no operand (of a difference: b's turned over).
    Val left = LLVMBuildXor(e->b, a, result, "");
    Val right = LLVMBuildXor(e->b, op == EXPR_ADD ? b : a, op == EXPR_ADD ? result : b, "");
    return LLVMBuildICmp(e->b, LLVMIntSLT, LLVMBuildAnd(e->b, left, right, ""), zero, "");
}

static Val lane_op(Emit *e, Frame *frame, const Expr *x, Val a, Val b) {
    bool signs = is_signed(type_base(x->type));
    bool swaps = x->op != EXPR_SUB && LLVMIsAConstantInt(a);
    Val left = swaps ? b : a, right = swaps ? a : b, over;
    bool is_doubt = false;
    if (LLVMIsAConstantInt(right)) {
        over = over_constant(e, x->op, signs, left, right);
    } else if (x->op == EXPR_MUL) {
        over = over_product(e, signs, left, right);
        is_doubt = LLVMTypeOf(a) == e->i64;
    } else {
        over = over_variable(e, x->op, signs, left, right);
    }
    if (is_doubt) emit_doubt_if(e, over);
    else emit_fault_if(e, frame, x->span, over, status(e, SB_FAULT_OVERFLOW), (Detail){0});
    return plain_op(e, x->op, a, b);
}

// ---- integers -----------------------------------------------------------------------------------

static Val checked_op(Emit *e, Frame *frame, const Expr *x, Val a, Val b) {
    if (x->proven) return plain_op(e, x->op, a, b);
    if (e->lanes) return lane_op(e, frame, x, a, b);
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

// ---- division by a constant in column loops -----------------------------------------------------
//
// There is no vector instruction for the high half of a product of 64 bits, so that LLVM divides
// the elements one by one. It is put together from products of 32 bits here.

// The high 64 bits of a * factor.
static Val multiply_high(Emit *e, Val a, uint64_t factor) {
    Val low_bits = emit_i64(e, UINT32_MAX), half = emit_i64(e, 32);
    Val a_low = LLVMBuildAnd(e->b, a, low_bits, ""), a_high = LLVMBuildLShr(e->b, a, half, "");
    Val low = emit_i64(e, (int64_t)(factor & UINT32_MAX));
    Val high = emit_i64(e, (int64_t)(factor >> 32));
    Val carry = LLVMBuildLShr(e->b, LLVMBuildMul(e->b, a_low, low, ""), half, "");
    Val one = LLVMBuildMul(e->b, a_low, high, ""), other = LLVMBuildMul(e->b, a_high, low, "");
    Val middle = LLVMBuildAdd(e->b, LLVMBuildAnd(e->b, one, low_bits, ""), carry, "");
    middle = LLVMBuildLShr(e->b, LLVMBuildAdd(e->b, middle, other, ""), half, "");
    Val top = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, a_high, high, ""), middle, "");
    return LLVMBuildAdd(e->b, top, LLVMBuildLShr(e->b, one, half, ""), "");
}

// a / d for d that is no power of two (T. Granlund, P. Montgomery, "Division by invariant integers
// using multiplication", PLDI 1994): a * ceil(2^(N + l) / d) / 2^(N + l), where d < 2^l. Of 63 bits
// the factor fits a word; of 64 its top bit is added apart.
static Val divide_unsigned(Emit *e, Val a, uint64_t d, bool of_63_bits) {
    unsigned l = 64 - (unsigned)__builtin_clzll(d);
    if (of_63_bits) {
        uint64_t factor = (uint64_t)(((unsigned __int128)1 << (63 + l)) / d + 1);
        return LLVMBuildLShr(e->b, multiply_high(e, a, factor), emit_i64(e, l - 1), "");
    }
    unsigned __int128 above = ((unsigned __int128)1 << l) - d;
    uint64_t factor = (uint64_t)((above << 64) / d + 1);
    Val high = multiply_high(e, a, factor);
    Val rest = LLVMBuildLShr(e->b, LLVMBuildSub(e->b, a, high, ""), emit_i64(e, 1), "");
    return LLVMBuildLShr(e->b, LLVMBuildAdd(e->b, rest, high, ""), emit_i64(e, l - 1), "");
}

static bool divides_by_parts(const Emit *e, Val divisor, bool is_signed) {
    if (!e->lanes || LLVMTypeOf(divisor) != e->i64 || !LLVMIsAConstantInt(divisor)) return false;
    uint64_t d = LLVMConstIntGetZExtValue(divisor);
    if (is_signed && (int64_t)d < 0) d = -d;
    return (d & (d - 1)) != 0;
}

static Val divide_by_parts(Emit *e, ExprOp op, bool is_signed, Val a, Val divisor) {
    uint64_t d = LLVMConstIntGetZExtValue(divisor);
    bool minus = is_signed && (int64_t)d < 0;
    Val sign = is_signed ? LLVMBuildAShr(e->b, a, emit_i64(e, 63), "") : nullptr;
    Val size = sign ? LLVMBuildSub(e->b, LLVMBuildXor(e->b, a, sign, ""), sign, "") : a;
    Val quotient = divide_unsigned(e, size, minus ? -d : d, is_signed);
    if (sign)
        quotient = LLVMBuildSub(e->b, LLVMBuildXor(e->b, quotient, sign, ""), sign, "");
    if (minus) quotient = LLVMBuildNeg(e->b, quotient, "");
    if (op == EXPR_IDIV) return quotient;
    return LLVMBuildSub(e->b, a, LLVMBuildMul(e->b, quotient, divisor, ""), "");
}

// ---- division -----------------------------------------------------------------------------------

// x // y and x % y towards zero. y = 0 and the one overflow (least / -1) are faults; the remainder
// of least by -1 is 0.
static Val integer_divide(Emit *e, Frame *frame, const Expr *x, Val a, Val b) {
    const Type *type = type_base(x->type);
    Ty ty = LLVMTypeOf(a);
    if (divides_by_parts(e, b, is_signed(type)))
        return divide_by_parts(e, x->op, is_signed(type), a, b);
    Val zero = LLVMBuildICmp(e->b, LLVMIntEQ, b, LLVMConstNull(ty), "");
    if (!x->proven)
        emit_fault_if(e, frame, x->span, zero, status(e, SB_FAULT_DIVIDE_BY_ZERO), (Detail){0});
    // In a column loop the division takes place all the same.
    if (e->lanes) b = LLVMBuildSelect(e->b, zero, emit_int(e, ty, 1), b, "");
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
    if (e->lanes) b = LLVMBuildSelect(e->b, over, emit_int(e, ty, 1), b, "");
    return LLVMBuildSDiv(e->b, a, b, "");
}

// ---- decimals -----------------------------------------------------------------------------------

static Val widen_decimal(Emit *e, Val value) {
    return LLVMTypeOf(value) == e->i128 ? value : LLVMBuildSExt(e->b, value, e->i128, "");
}

// The result must stay within the precision of its type: |x| < 10^p.
static Val fit_decimal(Emit *e, Frame *frame, const Expr *x, Val value, Val over) {
    const Type *type = type_base(x->type);
    if (!x->proven) {
        __int128 limit = emit_power_of_ten(type->precision);
        bool narrow = LLVMTypeOf(value) == e->i64;
        Val bound = narrow ? emit_i64(e, (int64_t)limit) : emit_i128(e, limit);
        Val high = LLVMBuildICmp(e->b, LLVMIntSGE, value, bound, "");
        Val low = LLVMBuildICmp(e->b, LLVMIntSLE, value, LLVMBuildNeg(e->b, bound, ""), "");
        Val bad = LLVMBuildOr(e->b, high, low, "");
        if (over) bad = LLVMBuildOr(e->b, bad, over, "");
        emit_fault_if(e, frame, x->span, bad, status(e, SB_FAULT_OVERFLOW), (Detail){0});
    }
    return LLVMBuildIntCast2(e->b, value, emit_type(e, type), true, "");
}

static Val decimal_op(Emit *e, Frame *frame, const Expr *x, Val a, Val b) {
    const Type *left = type_base(graph_at(e->graph, x->args[0])->type);
    const Type *right = type_base(graph_at(e->graph, x->args[1])->type);
    unsigned digits = left->precision + right->precision;
    bool narrow = LLVMTypeOf(a) == e->i64 && LLVMTypeOf(b) == e->i64 &&
                  emit_type(e, type_base(x->type)) == e->i64;
    if (narrow && (x->op != EXPR_MUL || digits <= DECIMAL_PRECISION_I64))
        return fit_decimal(e, frame, x, plain_op(e, x->op, a, b), nullptr);
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
    return emit_status_call(e, frame, &(StatusCall){x->span, symbol, args, countof(args),
                                                    type_base(x->type), {0}});
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
        return (Value){.a = decimal_op(e, frame, x, a, b)};
    if (divides) return (Value){.a = integer_divide(e, frame, x, a, b)};
    if (left->kind == TYPE_TIMESTAMP || right->kind == TYPE_TIMESTAMP)
        return emit_time(e, frame, x, a, b);
    return (Value){.a = checked_op(e, frame, x, a, b)};
}
