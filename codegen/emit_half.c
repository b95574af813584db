// f16 and bf16: an f32 in registers, two bytes in memory.
//
// An f16 goes through the processor's conversions, which x86-64-v3 has. A bf16 is the upper half of
// an f32. From f64 both are rounded as stdlib/number/half.h does it: once, without a call.
#include "codegen/emit_row.h"

#include "stdlib/number.h"

static Val as_int(Emit *e, Val value, Ty type) { return LLVMBuildBitCast(e->b, value, type, ""); }

static Val i32_and(Emit *e, Val x, uint32_t mask) {
    return LLVMBuildAnd(e->b, x, emit_i32(e, mask), "");
}

// The f32 whose lower half is rounded into the upper one.
static Val round_upper(Emit *e, Val value) {
    Val bits = as_int(e, value, e->i32);
    Val odd = i32_and(e, LLVMBuildLShr(e->b, bits, emit_i32(e, 16), ""), 1);
    Val up = LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, bits, emit_i32(e, 0x7fff), ""), odd, "");
    Val nan = LLVMBuildFCmp(e->b, LLVMRealUNO, value, value, "");
    Val upper = LLVMBuildSelect(e->b, nan, emit_i32(e, 0x7fc00000), i32_and(e, up, 0xffff0000), "");
    return as_int(e, upper, e->f32);
}

static Val between(Emit *e, Val x, uint64_t least, uint64_t most) {
    Ty type = e->i64;
    x = emit_intrinsic(e, "llvm.umax", &type, 1, (Val[]){x, emit_int(e, type, least)}, 2);
    return emit_intrinsic(e, "llvm.umin", &type, 1, (Val[]){x, emit_int(e, type, most)}, 2);
}

// sb_half_round.
static Val round_wide(Emit *e, Val x, SbHalf half) {
    enum { BIAS = 1023, DIGITS = 52 };
    Ty f64 = e->f64;
    Val bits = as_int(e, x, e->i64);
    Val exponent = LLVMBuildAnd(e->b, bits, emit_int(e, e->i64, UINT64_C(0x7ff) << DIGITS), "");
    exponent = between(e, exponent, (uint64_t)(half.least + BIAS) << DIGITS,
                       (uint64_t)(128 + BIAS) << DIGITS);
    Val more = emit_int(e, e->i64, (uint64_t)(DIGITS - half.fraction) << DIGITS |
                                       UINT64_C(1) << (DIGITS - 1));
    Val add = as_int(e, LLVMBuildAdd(e->b, exponent, more, ""), f64);
    Val near = LLVMBuildFSub(e->b, LLVMBuildFAdd(e->b, x, add, ""), add, "");
    Val size = emit_intrinsic(e, "llvm.fabs", &f64, 1, &near, 1);
    Val large = LLVMBuildFCmp(e->b, LLVMRealOGT, size, LLVMConstReal(f64, half.most), "");
    Val infinite = LLVMConstReal(f64, (double)__builtin_inff());
    size = LLVMBuildSelect(e->b, large, infinite, size, "");
    Val signed_size = emit_intrinsic(e, "llvm.copysign", &f64, 1, (Val[]){size, x}, 2);
    return LLVMBuildFPTrunc(e->b, signed_size, e->f32, "");
}

static Ty half_type(const Emit *e) { return LLVMHalfTypeInContext(e->ctx); }

Val emit_float_round(Emit *e, const Type *to, Val value) {
    bool wide = LLVMTypeOf(value) == e->f64;
    switch ((int)to->kind) {
    case TYPE_F64: return wide ? value : LLVMBuildFPExt(e->b, value, e->f64, "");
    case TYPE_F32: return wide ? LLVMBuildFPTrunc(e->b, value, e->f32, "") : value;
    case TYPE_BF16:
        if (!wide) return round_upper(e, value);
        return round_wide(e, value, (SbHalf)SB_HALF_BF16);
    }
    if (wide) return round_wide(e, value, (SbHalf)SB_HALF_F16);
    Val narrow = LLVMBuildFPTrunc(e->b, value, half_type(e), "");
    return LLVMBuildFPExt(e->b, narrow, e->f32, "");
}

Val emit_float_of_bits(Emit *e, const Type *type, Val bits) {
    if (type->kind == TYPE_F16)
        return LLVMBuildFPExt(e->b, as_int(e, bits, half_type(e)), e->f32, "");
    if (type->kind == TYPE_BF16) {
        Val upper = LLVMBuildZExt(e->b, bits, e->i32, "");
        bits = LLVMBuildShl(e->b, upper, emit_i32(e, 16), "");
    }
    return as_int(e, bits, emit_type(e, type));
}

Val emit_float_bits(Emit *e, const Type *type, Val value) {
    if (type->kind == TYPE_F16)
        return as_int(e, LLVMBuildFPTrunc(e->b, value, half_type(e), ""), e->i16);
    if (type->kind != TYPE_BF16) return as_int(e, value, type->kind == TYPE_F32 ? e->i32 : e->i64);
    Val upper = LLVMBuildLShr(e->b, as_int(e, value, e->i32), emit_i32(e, 16), "");
    return LLVMBuildTrunc(e->b, upper, e->i16, "");
}
