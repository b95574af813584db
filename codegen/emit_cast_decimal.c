// Casts to and from decimals that are arithmetic on whole numbers: another scale, another integer.
#include "codegen/emit_row.h"

__int128 emit_power_of_ten(unsigned exponent) {
    __int128 power = 1;
    while (exponent--) power *= 10;
    return power;
}

static unsigned scale_of(const Type *type) { return type->kind == TYPE_DECIMAL ? type->scale : 0; }

// Digits before the point that the greatest value has.
static unsigned whole_digits(const Type *type) {
    static const uint8_t of_bits[2][9] = {  // By sign and bytes.
        {0, 3, 5, 0, 10, 0, 0, 0, 20},
        {0, 3, 5, 0, 10, 0, 0, 0, 19},
    };
    if (type->kind == TYPE_DECIMAL) return type->precision - type->scale;
    return of_bits[type_is_signed(type)][type_bits(type) / 8];
}

// The integer in which the cast is computed: it holds every value of both types.
static Ty wide_type(Emit *e, const Type *from, const Type *to) {
    bool decimals = (from->kind != TYPE_DECIMAL || emit_type(e, from) == e->i64) &&
                    (to->kind != TYPE_DECIMAL || emit_type(e, to) == e->i64);
    return decimals && from->kind != TYPE_U64 ? e->i64 : e->i128;
}

static Val constant(Emit *e, Ty type, __int128 value) {
    return type == e->i64 ? emit_i64(e, (int64_t)value) : emit_i128(e, value);
}

// Is the value below `low` or above `high`?
static Val is_outside(Emit *e, Val value, __int128 low, __int128 high) {
    Ty type = LLVMTypeOf(value);
    Val less = LLVMBuildICmp(e->b, LLVMIntSLT, value, constant(e, type, low), "");
    Val more = LLVMBuildICmp(e->b, LLVMIntSGT, value, constant(e, type, high), "");
    return LLVMBuildOr(e->b, less, more, "");
}

// Of units of the scale of `to`, more digits than its precision has.
static Val is_too_long(Emit *e, Val value, const Type *from, const Type *to, unsigned digits) {
    if (whole_digits(from) <= whole_digits(to)) return emit_i1(e, false);
    __int128 most = emit_power_of_ten(digits) - 1;
    return is_outside(e, value, -most, most);
}

static Val to_longer_scale(Emit *e, Frame *frame, const Expr *x, Val value, const Type *from) {
    const Type *to = type_base(x->type);
    unsigned digits = to->scale - scale_of(from);
    Ty type = LLVMTypeOf(value);
    emit_cast_fault(e, frame, x, is_too_long(e, value, from, to, to->precision - digits));
    return LLVMBuildMul(e->b, value, constant(e, type, emit_power_of_ten(digits)), "");
}

static Val to_shorter_scale(Emit *e, Frame *frame, const Expr *x, Val value, const Type *from) {
    const Type *to = type_base(x->type);
    Val units = constant(e, LLVMTypeOf(value), emit_power_of_ten(from->scale - scale_of(to)));
    Val quotient = LLVMBuildSDiv(e->b, value, units, "");
    Val back = LLVMBuildMul(e->b, quotient, units, "");
    Val bad = LLVMBuildICmp(e->b, LLVMIntNE, back, value, "");
    if (to->kind == TYPE_DECIMAL) {
        Val over = is_too_long(e, quotient, from, to, to->precision);
        bad = LLVMBuildOr(e->b, bad, over, "");
    } else if (type_bits(to) < 64 || !type_is_signed(to)) {
        unsigned bits = type_bits(to) - type_is_signed(to);
        __int128 most = bits < 63 ? ((__int128)1 << bits) - 1 : INT64_MAX;
        Val over = is_outside(e, quotient, type_is_signed(to) ? -most - 1 : 0, most);
        bad = LLVMBuildOr(e->b, bad, over, "");
    }
    emit_cast_fault(e, frame, x, bad);
    return quotient;
}

Val emit_cast_scaled(Emit *e, Frame *frame, const Expr *x, Val value) {
    const Type *from = type_base(graph_at(e->graph, x->args[0])->type), *to = type_base(x->type);
    bool is_signed = from->kind == TYPE_DECIMAL || type_is_signed(from);
    Val wide = LLVMBuildIntCast2(e->b, value, wide_type(e, from, to), is_signed, "");
    Val result = to->kind == TYPE_DECIMAL && to->scale >= scale_of(from)
                     ? to_longer_scale(e, frame, x, wide, from)
                     : to_shorter_scale(e, frame, x, wide, from);
    return LLVMBuildIntCast2(e->b, result, emit_type(e, to), true, "");
}
