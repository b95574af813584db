// Casts: between integers and floats in place, exact or a fault; the rest through the library.
#include "codegen/emit_row.h"

#include <math.h>

static bool is_signed(const Type *type) {
    return type_is_signed(type) || type->kind == TYPE_DURATION;
}

static const Type *cast_from(const Emit *e, const Expr *x) {
    return type_base(graph_at(e->graph, x->args[0])->type);
}

// The offending text is the canonical text of the value, made where the row is lost already.
void emit_cast_fault(Emit *e, Frame *frame, const Expr *x, Val bad) {
    if (x->op != EXPR_CAST || x->proven) return;
    if (e->lanes) {
        emit_fault_if(e, frame, x->span, bad, emit_i32(e, SB_FAULT_BAD_CAST), (Detail){0});
        return;
    }
    Block fault = emit_block(e, "cast_fault"), go_on = emit_block(e, "");
    emit_branch_likely(e, LLVMBuildNot(e->b, bad, ""), go_on, fault);
    emit_at(e, fault);
    Value value = emit_expr(e, frame, x->args[0]);
    value.valid = nullptr;
    const Type *from = cast_from(e, x);
    Val detail = emit_callv(e, "sb_cast_detail", e->str_pair, arg(emit_call_context(e)),
                            arg(emit_sbtype(e, from)), arg(emit_value_address(e, from, value)));
    emit_cold(e, detail);
    emit_fault_if(e, frame, x->span, emit_i1(e, true), emit_i32(e, SB_FAULT_BAD_CAST),
                  (Detail){LLVMBuildExtractValue(e->b, detail, 0, ""),
                           LLVMBuildExtractValue(e->b, detail, 1, "")});
    LLVMBuildUnreachable(e->b);
    emit_at(e, go_on);
}

// Is the integer outside of what `to` holds? Bounds that `from` keeps anyway are not compared.
static Val is_outside(Emit *e, Val value, const Type *from, const Type *to) {
    Ty type = emit_type(e, from);
    unsigned digits = LLVMGetIntTypeWidth(emit_type(e, to)) - is_signed(to);
    unsigned had = LLVMGetIntTypeWidth(type) - is_signed(from);
    Val bad = emit_i1(e, false);
    uint64_t most = UINT64_MAX >> (64 - digits);
    if (had > digits)
        bad = LLVMBuildICmp(e->b, is_signed(from) ? LLVMIntSGT : LLVMIntUGT, value,
                            emit_int(e, type, most), "");
    if (!is_signed(from) || (is_signed(to) && had <= digits)) return bad;
    Val least = LLVMConstInt(type, is_signed(to) ? ~most : 0, true);
    return LLVMBuildOr(e->b, bad, LLVMBuildICmp(e->b, LLVMIntSLT, value, least, ""), "");
}

// An integer that a wider or equal one may not hold.
static Val cast_integer(Emit *e, Frame *frame, const Expr *x, Val value) {
    const Type *from = cast_from(e, x), *to = type_base(x->type);
    Ty target = emit_type(e, to);
    Val result = LLVMBuildIntCast2(e->b, value, target, is_signed(from), "");
    if (x->op != EXPR_CAST || x->proven) return result;
    emit_cast_fault(e, frame, x, is_outside(e, value, from, to));
    return result;
}

// Float to integer: in range (compared as floats, bounds are powers of two) and without a fraction.
static Val cast_float_to_integer(Emit *e, Frame *frame, const Expr *x, Val value) {
    const Type *to = type_base(x->type);
    Val wide = LLVMTypeOf(value) == e->f32 ? LLVMBuildFPExt(e->b, value, e->f64, "") : value;
    unsigned bits = type_bits(to);
    double high = is_signed(to) ? ldexp(1, (int)bits - 1) : ldexp(1, (int)bits);
    double low = is_signed(to) ? -high : 0;
    Val above = LLVMBuildFCmp(e->b, LLVMRealOGE, wide, LLVMConstReal(e->f64, low), "");
    Val below = LLVMBuildFCmp(e->b, LLVMRealOLT, wide, LLVMConstReal(e->f64, high), "");
    Ty type = e->f64;
    Val whole = emit_intrinsic(e, "llvm.trunc", &type, 1, &wide, 1);
    Val exact = LLVMBuildFCmp(e->b, LLVMRealOEQ, whole, wide, "");
    Val good = LLVMBuildAnd(e->b, LLVMBuildAnd(e->b, above, below, ""), exact, "");
    emit_cast_fault(e, frame, x, LLVMBuildNot(e->b, good, ""));
    Val result = is_signed(to) ? LLVMBuildFPToSI(e->b, wide, emit_type(e, to), "")
                               : LLVMBuildFPToUI(e->b, wide, emit_type(e, to), "");
    // In a column loop what does not fit is converted too: to any value, but to one.
    return e->lanes ? LLVMBuildFreeze(e->b, result, "") : result;
}

static Val integer_to_float(Emit *e, Val value, const Type *from, Ty target) {
    return is_signed(from) ? LLVMBuildSIToFP(e->b, value, target, "")
                           : LLVMBuildUIToFP(e->b, value, target, "");
}

// More than `bits` bits, if only as far as the place of the leading one.
static Val is_large(Emit *e, Val value, const Type *from, unsigned bits) {
    Ty type = emit_type(e, from);
    int64_t limit = INT64_C(1) << bits;
    Val large = LLVMBuildICmp(e->b, is_signed(from) ? LLVMIntSGT : LLVMIntUGT, value,
                              emit_int(e, type, (uint64_t)limit), "");
    if (!is_signed(from)) return large;
    Val low = LLVMConstInt(type, (uint64_t)-limit, true);
    return LLVMBuildOr(e->b, large, LLVMBuildICmp(e->b, LLVMIntSLT, value, low, ""), "");
}

// Bits of a significand.
static unsigned float_digits(const Type *type) {
    switch ((int)type->kind) {
    case TYPE_F16: return 11;
    case TYPE_BF16: return 8;
    case TYPE_F32: return 24;
    default: return 53;
    }
}

// By way of f64, in which a number that fits is exact. One that does not fit is another number
// after it was rounded: by f64, to the type, or to an infinity.
static Val cast_integer_to_half(Emit *e, Frame *frame, const Expr *x, Val value) {
    const Type *from = cast_from(e, x), *to = type_base(x->type);
    Val wide = integer_to_float(e, value, from, e->f64);
    Val result = emit_float_round(e, to, wide);
    if (x->op != EXPR_CAST || x->proven || type_bits(from) <= float_digits(to)) return result;
    if (e->lanes) {
        emit_doubt_if(e, is_large(e, value, from, float_digits(to)));
        return result;
    }
    Val back = LLVMBuildFPToSI(e->b, wide, e->i128, "");
    Val whole = LLVMBuildIntCast2(e->b, value, e->i128, is_signed(from), "");
    Val inexact = LLVMBuildICmp(e->b, LLVMIntNE, whole, back, "");
    Val rounded = LLVMBuildFPExt(e->b, result, e->f64, "");
    Val other = LLVMBuildFCmp(e->b, LLVMRealUNE, rounded, wide, "");
    emit_cast_fault(e, frame, x, LLVMBuildOr(e->b, inexact, other, ""));
    return result;
}

// Has the integer more significant bits than `holds`? Those are what zeros above and below leave.
static Val is_inexact(Emit *e, Val value, const Type *from, unsigned holds) {
    Ty type = LLVMTypeOf(value);
    Val zero = LLVMConstNull(type), size = value;
    if (is_signed(from)) {
        Val minus = LLVMBuildICmp(e->b, LLVMIntSLT, value, zero, "");
        size = LLVMBuildSelect(e->b, minus, LLVMBuildNeg(e->b, value, ""), value, "");
    }
    Val args[] = {size, emit_i1(e, false)};
    Val zeros = LLVMBuildAdd(e->b, emit_intrinsic(e, "llvm.ctlz", &type, 1, args, countof(args)),
                             emit_intrinsic(e, "llvm.cttz", &type, 1, args, countof(args)), "");
    Val least = LLVMConstInt(type, type_bits(from) - holds, false);
    return LLVMBuildICmp(e->b, LLVMIntULT, zeros, least, "");
}

// Exact or a fault: an integer of more than 53 (24) significant bits does not fit.
static Val cast_integer_to_float(Emit *e, Frame *frame, const Expr *x, Val value) {
    const Type *from = cast_from(e, x);
    const Type *to = type_base(x->type);
    if (type_is_half(to)) return cast_integer_to_half(e, frame, x, value);
    Val result = integer_to_float(e, value, from, emit_type(e, to));
    unsigned holds = float_digits(to);
    if (x->op != EXPR_CAST || x->proven || type_bits(from) <= holds) return result;
    if (e->lanes) {
        emit_doubt_if(e, is_large(e, value, from, holds));
        return result;
    }
    emit_cast_fault(e, frame, x, is_inexact(e, value, from, holds));
    return result;
}

static Val cast_float(Emit *e, Frame *frame, const Expr *x, Val value) {
    const Type *to = type_base(x->type);
    Val result = emit_float_round(e, to, value);
    if (x->op != EXPR_CAST || x->proven || to->kind == TYPE_F64) return result;
    // Rounded; a fault only when a finite number becomes infinite. inf - inf is NaN, as is NaN -
    // NaN.
    Val gap = LLVMBuildFSub(e->b, result, result, "");
    Val infinite = LLVMBuildFCmp(e->b, LLVMRealUNO, gap, gap, "");
    Val gap_before = LLVMBuildFSub(e->b, value, value, "");
    Val finite = LLVMBuildFCmp(e->b, LLVMRealORD, gap_before, gap_before, "");
    emit_cast_fault(e, frame, x, LLVMBuildAnd(e->b, infinite, finite, ""));
    return result;
}

static Val cast_plain(Emit *e, Frame *frame, const Expr *x, Val value) {
    bool from_float = type_is_float(cast_from(e, x)), to_float = type_is_float(type_base(x->type));
    if (from_float && to_float) return cast_float(e, frame, x, value);
    if (from_float) return cast_float_to_integer(e, frame, x, value);
    if (to_float) return cast_integer_to_float(e, frame, x, value);
    return cast_integer(e, frame, x, value);
}

// Everything else by the one library function, which knows both types.
static Value cast_by_library(Emit *e, Frame *frame, const Expr *x, Value value, const Type *from) {
    Arg args[] = {arg_context(e), arg(emit_sbtype(e, from)),
                  arg(emit_value_address(e, from, value)), arg(emit_sbtype(e, type_base(x->type)))};
    return emit_status_call(e, frame, &(StatusCall){x->span, "sb_cast", args, countof(args),
                                                    type_base(x->type), {0}});
}

static Value cast_present(Emit *e, Frame *frame, const Expr *x, Value value) {
    const Type *from = cast_from(e, x), *to = type_base(x->type);
    if (from == to || (from->kind == TYPE_STR && to->kind == TYPE_BYTES)) return value;
    if (type_is_plain_number(from) && type_is_plain_number(to))
        return (Value){.a = cast_plain(e, frame, x, value.a)};
    if (type_cast_scales(from, to)) return (Value){.a = emit_cast_scaled(e, frame, x, value.a)};
    if (from->kind == TYPE_DECIMAL && to->kind == TYPE_F64 && emit_type(e, from) == e->i64)
        return (Value){.a = emit_hotv(e, "sb_decimal64_f64", e->f64, arg(value.a),
                                      arg(emit_i32(e, from->scale)))};
    value.valid = nullptr;
    return cast_by_library(e, frame, x, value, from);
}

static Value cast_lane(Emit *e, Frame *frame, const Expr *x, Value value) {
    Val outer = emit_narrow(e, value.valid);
    Value out = cast_present(e, frame, x, value);
    e->lanes->active = outer;
    out.a = LLVMBuildSelect(e->b, value.valid, out.a, LLVMConstNull(LLVMTypeOf(out.a)), "");
    out.valid = value.valid;
    return out;
}

// A null is not judged: its cast runs only after the test.
Value emit_cast(Emit *e, Frame *frame, const Expr *x) {
    Value value = emit_expr(e, frame, x->args[0]);
    if (!value.valid) return cast_present(e, frame, x, value);
    if (e->lanes) return cast_lane(e, frame, x, value);
    Block from = emit_here(e), there = emit_block(e, "cast"), end = emit_block(e, "end");
    emit_branch(e, value.valid, there, end);
    emit_at(e, there);
    size_t mark = emit_region_begin(e);
    Value cast = cast_present(e, frame, x, value);
    emit_region_end(e, mark);
    Block there_end = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    Value out = {.valid = value.valid};
    out.a = emit_phi(e, LLVMTypeOf(cast.a), "");
    emit_phi_add(out.a, LLVMConstNull(LLVMTypeOf(cast.a)), from);
    emit_phi_add(out.a, cast.a, there_end);
    if (!cast.b) return out;
    out.b = emit_phi(e, e->i64, "");
    emit_phi_add(out.b, emit_i64(e, 0), from);
    emit_phi_add(out.b, cast.b, there_end);
    return out;
}
