// Arithmetic and comparisons on values, with every overflow a fault.
#include "codegen/reference/eval.h"

#include <math.h>
#include <stdlib.h>

static int32_t overflow(Eval *eval) { return eval_fault(eval, SB_FAULT_OVERFLOW, (Text){0}); }

static bool decimal_fits(const Type *type, __int128 number) {
    __int128 limit = (__int128)power_of_ten(type->precision);
    return number > -limit && number < limit;
}

// The operation in 128 bits; true on overflow of those.
static bool operate(ExprOp op, __int128 a, __int128 b, __int128 *out) {
    if (op == EXPR_ADD) return __builtin_add_overflow(a, b, out);
    if (op == EXPR_SUB) return __builtin_sub_overflow(a, b, out);
    if (op == EXPR_MUL) return __builtin_mul_overflow(a, b, out);
    *out = op == EXPR_IDIV ? a / b : a % b;
    return false;
}

static int32_t integer_arithmetic(Eval *eval, const Expr *expr, const Value *args, Value *out) {
    const Type *left = eval_type(eval, expr->args[0]);
    const Type *right = eval_type(eval, expr->args[1]);
    const Type *type = type_base(expr->type);
    __int128 a = value_integer(left, &args[0]), b = value_integer(right, &args[1]), result;
    bool divides = expr->op == EXPR_IDIV || expr->op == EXPR_MOD;
    if (divides && b == 0) return eval_fault(eval, SB_FAULT_DIVIDE_BY_ZERO, (Text){0});
    if (operate(expr->op, a, b, &result) || !integer_fits(type, result)) return overflow(eval);
    *out = value_of_integer(type, result);
    return SB_OK;
}

static int32_t float_arithmetic(const Expr *expr, const Value *args, Value *out) {
    double a = args[0].f, b = args[1].f, result = 0;
    bool single = type_base(expr->type)->kind == TYPE_F32;
    if (expr->op == EXPR_ADD) result = single ? (double)((float)a + (float)b) : a + b;
    else if (expr->op == EXPR_SUB) result = single ? (double)((float)a - (float)b) : a - b;
    else if (expr->op == EXPR_MUL) result = single ? (double)((float)a * (float)b) : a * b;
    else if (expr->op == EXPR_DIV) result = single ? (double)((float)a / (float)b) : a / b;
    else result = fmod(a, b);
    *out = value_f64(result);
    return SB_OK;
}

static int32_t decimal_arithmetic(Eval *eval, const Expr *expr, const Value *args, Value *out) {
    const Type *type = type_base(expr->type);
    __int128 sides[2], result;
    for (int i = 0; i < 2; i++) {
        const Type *side = eval_type(eval, expr->args[i]);
        sides[i] = side->kind == TYPE_DECIMAL ? args[i].decimal : value_integer(side, &args[i]);
        unsigned scale = side->kind == TYPE_DECIMAL ? side->scale : 0;
        // A product adds the scales by itself.
        if (expr->op == EXPR_MUL || scale >= type->scale) continue;
        __int128 factor = (__int128)power_of_ten(type->scale - scale);
        if (__builtin_mul_overflow(sides[i], factor, &sides[i])) return overflow(eval);
    }
    bool divides = expr->op == EXPR_IDIV || expr->op == EXPR_MOD;
    if (divides && sides[1] == 0) return eval_fault(eval, SB_FAULT_DIVIDE_BY_ZERO, (Text){0});
    if (operate(expr->op, sides[0], sides[1], &result) || !decimal_fits(type, result))
        return overflow(eval);
    *out = (Value){.decimal = result};
    return SB_OK;
}

// date or timestamp + or - duration. Durations are microseconds; what a coarser unit cannot hold is
// rounded towards the past, but a date takes whole days only.
static int32_t time_shift(Eval *eval, const Expr *expr, const Value *args, Value *out) {
    const Type *type = type_base(expr->type);
    bool swapped = eval_type(eval, expr->args[0])->kind == TYPE_DURATION;
    __int128 shift = args[swapped ? 0 : 1].i, result = args[swapped ? 1 : 0].i;
    if (expr->op == EXPR_SUB) shift = -shift;
    if (type->kind == TYPE_DATE) {
        if (shift % 86400000000) return eval_fault(eval, SB_FAULT_BAD_ARGUMENT, (Text){0});
        result += shift / 86400000000;
    } else {
        result += floor_divide(shift * unit_per_second(type->unit), 1000000);
    }
    if (!integer_fits(type, result)) return overflow(eval);
    *out = value_i64((int64_t)result);
    return SB_OK;
}

// The distance of two dates or timestamps: microseconds, rounded towards the past.
static int32_t time_distance(Eval *eval, const Expr *expr, const Value *args, Value *out) {
    const Type *side = eval_type(eval, expr->args[0]);
    __int128 distance = (__int128)args[0].i - args[1].i;
    __int128 micros = side->kind == TYPE_DATE
                          ? distance * 86400000000
                          : floor_divide(distance * 1000000, unit_per_second(side->unit));
    if (!integer_fits(type_base(expr->type), micros)) return overflow(eval);
    *out = value_i64((int64_t)micros);
    return SB_OK;
}

static int32_t negate(Eval *eval, const Expr *expr, const Value *arg, Value *out) {
    const Type *type = type_base(expr->type);
    if (type_is_float(type)) {
        *out = value_f64(-arg->f);
        return SB_OK;
    }
    if (type->kind == TYPE_DECIMAL) {
        *out = (Value){.decimal = -arg->decimal};
        return SB_OK;
    }
    __int128 result = -value_integer(type, arg);
    if (!integer_fits(type, result)) return overflow(eval);
    *out = value_of_integer(type, result);
    return SB_OK;
}

int32_t eval_arithmetic(Eval *eval, const Expr *expr, const Value *args, Value *out) {
    if (expr->op == EXPR_NEG) return negate(eval, expr, args, out);
    const Type *type = type_base(expr->type);
    const Type *left = eval_type(eval, expr->args[0]);
    if (type_is_float(type)) return float_arithmetic(expr, args, out);
    if (type->kind == TYPE_DECIMAL) return decimal_arithmetic(eval, expr, args, out);
    if (type->kind == TYPE_TIMESTAMP || type->kind == TYPE_DATE)
        return time_shift(eval, expr, args, out);
    if (left->kind == TYPE_TIMESTAMP || left->kind == TYPE_DATE)
        return time_distance(eval, expr, args, out);
    return integer_arithmetic(eval, expr, args, out);
}

// A predicate at the top: floats are IEEE. Inside of lists and structs they compare as keys.
bool eval_comparison(ExprOp op, const Type *type, const Value *a, const Value *b) {
    bool unordered = type_is_float(type) && (isnan(a->f) || isnan(b->f));
    if (unordered) return op == EXPR_NE;
    int order = value_compare(type, a, b);
    if (op == EXPR_EQ) return order == 0;
    if (op == EXPR_NE) return order != 0;
    if (op == EXPR_LT) return order < 0;
    if (op == EXPR_LE) return order <= 0;
    if (op == EXPR_GT) return order > 0;
    return order >= 0;
}

double integer_to_f64(__int128 integer) { return (double)integer; }

// strtod of the decimal's digits is the nearest f64.
double decimal_to_f64(__int128 decimal, unsigned scale) {
    unsigned __int128 size = decimal < 0 ? -(unsigned __int128)decimal : (unsigned __int128)decimal;
    char form[64], *at = form + sizeof form;
    int exponent = snprintf(form, sizeof form, "e-%u", scale);
    at -= exponent + 1;
    char *digits = at;
    do {
        *--digits = (char)('0' + (int)(size % 10));
        size /= 10;
    } while (size);
    snprintf(at, (size_t)exponent + 1, "e-%u", scale);
    double f = strtod(digits, nullptr);
    return decimal < 0 ? -f : f;
}
