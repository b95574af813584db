#include "ir/passes/interval.h"

static __int128 least(__int128 a, __int128 b) { return a < b ? a : b; }
static __int128 most(__int128 a, __int128 b) { return a > b ? a : b; }

Interval interval_of_type(const Type *type) {
    if (!type_is_integer(type)) return interval_unknown();
    __int128 span = (__int128)1 << type_bits(type);
    return type_is_signed(type) ? (Interval){-span / 2, span / 2 - 1} : (Interval){0, span - 1};
}

Interval interval_of_const(const Type *type, const Const *value) {
    if (value->is_null || !type_is_integer(type)) return interval_unknown();
    __int128 number = type_is_signed(type) ? (__int128)value->i : (__int128)value->u;
    return (Interval){number, number};
}

bool interval_inside(Interval inner, Interval outer) {
    return interval_known(inner) && interval_known(outer) && inner.min >= outer.min &&
           inner.max <= outer.max;
}

Interval interval_both(Interval a, Interval b) {
    if (!interval_known(a)) return b;
    if (!interval_known(b)) return a;
    Interval both = {most(a.min, b.min), least(a.max, b.max)};
    return interval_known(both) ? both : a;
}

Interval interval_either(Interval a, Interval b) {
    if (!interval_known(a) || !interval_known(b)) return interval_unknown();
    return (Interval){least(a.min, b.min), most(a.max, b.max)};
}

static __int128 magnitude(Interval a) { return most(-a.min, a.max); }

static Interval product(Interval a, Interval b) {
    const __int128 safe = (__int128)1 << 63;  // Products of two such fit 128 bits.
    if (magnitude(a) > safe || magnitude(b) > safe) return interval_unknown();
    __int128 ends[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
    Interval all = {ends[0], ends[0]};
    for (size_t i = 1; i < countof(ends); i++)
        all = (Interval){least(all.min, ends[i]), most(all.max, ends[i])};
    return all;
}

// Towards zero; a divisor's least size gives the greatest quotient, its greatest size the least.
static Interval quotient(Interval a, Interval b) {
    if (b.min <= 0 && b.max >= 0) return interval_unknown();
    __int128 near = b.min > 0 ? b.min : -b.max, far = magnitude(b);
    __int128 low = a.min < 0 ? a.min / near : a.min / far;
    __int128 high = a.max > 0 ? a.max / near : a.max / far;
    return b.min > 0 ? (Interval){low, high} : (Interval){-high, -low};
}

// Of the sign of the dividend, and no greater than it.
static Interval remainder_of(Interval a, Interval b) {
    if (b.min <= 0 && b.max >= -1) return interval_unknown();
    __int128 size = magnitude(b) - 1;
    return (Interval){a.min < 0 ? most(a.min, -size) : 0, a.max > 0 ? least(a.max, size) : 0};
}

Interval interval_arithmetic(ExprOp op, Interval a, Interval b) {
    if (!interval_known(a)) return interval_unknown();
    if (op == EXPR_NEG) return (Interval){-a.max, -a.min};
    if (!interval_known(b)) return interval_unknown();
    switch ((int)op) {
    case EXPR_ADD: return (Interval){a.min + b.min, a.max + b.max};
    case EXPR_SUB: return (Interval){a.min - b.max, a.max - b.min};
    case EXPR_MUL: return product(a, b);
    case EXPR_IDIV: return quotient(a, b);
    case EXPR_MOD: return remainder_of(a, b);
    }
    return interval_unknown();
}
