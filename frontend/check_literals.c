// Literals and constants: a number written out takes the type that its place asks for.
#include "frontend/checker.h"

#include <math.h>
#include <string.h>

Value const_value(Checker *checker, const Type *type, Const value, Span span) {
    return (Value){graph_const(checker->graph, type, value, span), type};
}

Value null_value(Checker *checker, const Type *type, Span span) {
    return const_value(checker, type, (Const){.is_null = true}, span);
}

Value str_value(Checker *checker, Text text, Span span) {
    return const_value(checker, kind_type(checker, TYPE_STR), (Const){.text = text}, span);
}

bool is_flexible(const AstExpr *expr) {
    switch (expr->kind) {
    case AST_INT: case AST_FLOAT: case AST_PERCENT: return true;
    case AST_UNARY: return expr->op == AST_OP_NEG && is_flexible(expr->a);
    case AST_BINARY:
        return (expr->op == AST_OP_ADD || expr->op == AST_OP_SUB || expr->op == AST_OP_MUL) &&
               is_flexible(expr->a) && is_flexible(expr->b);
    case AST_NULL: case AST_REJECT: case AST_BOOL: case AST_DURATION: case AST_MONTHS:
    case AST_STR: case AST_FSTRING: case AST_NAME: case AST_CALL: case AST_FIELD: case AST_INDEX:
    case AST_IN: case AST_IF: case AST_CASE: case AST_ELSE: case AST_LIST: case AST_STRUCT:
    case AST_LAMBDA: case AST_ERROR:
        return false;
    }
    return false;
}

bool is_empty_list(const AstExpr *expr) {
    bool empty = expr->kind == AST_LIST;
    for (uint32_t i = 0; empty && i < expr->arg_count; i++)
        empty = expr->args[i].value && is_empty_list(expr->args[i].value);
    return empty;
}

bool is_untyped(const AstExpr *expr) { return is_flexible(expr) || is_empty_list(expr); }

// ---- decimals -----------------------------------------------------------------------------------

// A written number as digits * 10^exponent. False: more than 38 digits count, or it is none.
typedef struct Digits {
    __int128 value;
    int      count;     // Significant digits, without zeros at either end.
    int      exponent;
} Digits;

static bool read_exponent(Text text, size_t at, int *exponent) {
    bool minus = at < text.len && text.at[at] == '-';
    if (at < text.len && (text.at[at] == '-' || text.at[at] == '+')) at++;
    if (at >= text.len) return false;
    int value = 0;
    for (; at < text.len; at++) {
        if (text.at[at] == '_') continue;
        if (text.at[at] < '0' || text.at[at] > '9' || value > 9999) return false;
        value = value * 10 + (text.at[at] - '0');
    }
    *exponent += minus ? -value : value;
    return true;
}

static bool read_digits(Text text, Digits *digits) {
    *digits = (Digits){0};
    bool point = false;
    int zeros = 0;  // Zeros not yet known to be followed by another digit.
    size_t seen = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '_') continue;
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c == '%' && i + 1 == text.len) {
            digits->exponent -= 2;
            break;
        }
        if ((c == 'e' || c == 'E') && seen) {
            if (!read_exponent(text, i + 1, &digits->exponent)) return false;
            break;
        }
        if (c < '0' || c > '9') return false;
        seen++;
        if (point) digits->exponent--;
        zeros++;
        if (c == '0') continue;
        if (digits->count + zeros > DECIMAL_PRECISION_MAX && digits->count) return false;
        for (; zeros > 1 && digits->count; zeros--, digits->count++) digits->value *= 10;
        digits->value = digits->value * 10 + (c - '0');
        digits->count++;
        zeros = 0;
    }
    digits->exponent += zeros;
    if (!digits->count) digits->exponent = 0;
    return seen > 0;
}

bool decimal_parse(Text text, unsigned precision, unsigned scale, __int128 *value) {
    bool minus = text.len && text.at[0] == '-';
    if (minus) text = (Text){text.at + 1, text.len - 1};
    Digits digits;
    if (!read_digits(text, &digits)) return false;
    int shift = digits.exponent + (int)scale;
    if (shift < 0 || (digits.count && digits.count + shift > (int)precision)) return false;
    __int128 result = digits.value;
    for (int i = 0; i < shift && digits.count; i++) result *= 10;
    *value = minus ? -result : result;
    return true;
}

static Text number_text(Checker *checker, const AstExpr *expr) {
    if (expr->kind == AST_INT && !expr->too_big)
        return text_format(checker->arena, "%llu", (unsigned long long)expr->integer);
    return expr->text;
}

bool decimal_of_literal(Checker *checker, const AstExpr *expr, const Type **type) {
    while (expr->kind == AST_UNARY) expr = expr->a;
    if (expr->kind == AST_BINARY) return false;
    Digits digits;
    if (!read_digits(number_text(checker, expr), &digits)) return false;
    int scale = digits.exponent < 0 ? -digits.exponent : 0;
    int precision = digits.count + (digits.exponent > 0 ? digits.exponent : 0);
    if (precision < scale) precision = scale;
    if (precision < 1) precision = 1;
    if (precision > DECIMAL_PRECISION_MAX) return false;
    *type = type_decimal(checker->types, (unsigned)precision, (unsigned)scale);
    return true;
}

// ---- numbers ------------------------------------------------------------------------------------

// The narrowest type of the same sort that holds the number.
static const char *type_that_holds(const Type *type, uint64_t magnitude, bool negative) {
    if (!type_is_integer(type)) return "f64";
    for (unsigned kind = TYPE_I8; kind <= TYPE_U64; kind++) {
        Type wide = {.kind = (TypeKind)kind};
        bool is_signed = type_is_signed(&wide);
        uint64_t max = UINT64_MAX >> (64 - type_bits(&wide) + is_signed);
        if (is_signed == type_is_signed(type) && magnitude <= max + (is_signed && negative))
            return type_kind_name((TypeKind)kind);
    }
    return "f64";
}

static Value out_of_range(Checker *checker, const AstExpr *expr, const Type *type, bool negative) {
    Diag *diag = report(checker, DIAG_LITERAL_RANGE, expr->span, "%s%.*s does not fit %s",
                        negative ? "-" : "", TEXT_ARG(expr->text), type_say(checker, type));
    report_label(checker, diag, expr->span, "%s is expected here", type_say(checker, type));
    if (type->kind == TYPE_DECIMAL)
        report_fix(checker, diag, "give the decimal more digits, or round the literal");
    else if (negative && type_is_integer(type) && !type_is_signed(type))
        report_fix(checker, diag, "use a signed type: i64");
    else if (type_is_integer(type) && type_bits(type) == 64)
        report_fix(checker, diag, "write it as a float: %.*s.0", TEXT_ARG(expr->text));
    else
        report_fix(checker, diag, "use a type that holds it: %s",
                   type_that_holds(type, expr->integer, negative));
    return error_value(checker);
}

static Value inexact(Checker *checker, const AstExpr *expr, const Type *type) {
    Diag *diag = report(checker, DIAG_LITERAL_INEXACT, expr->span, "%.*s is not exact as %s",
                        TEXT_ARG(expr->text), type_say(checker, type));
    report_label(checker, diag, expr->span, "%s is expected here", type_say(checker, type));
    if (type_is_integer(type))
        report_fix(checker, diag, "write a whole number, or compute in f64: f64(...)");
    else if (type->kind == TYPE_DECIMAL)
        report_fix(checker, diag, "write at most %u digits after the point", type->scale);
    else report_fix(checker, diag, "write a number that %s holds", type_say(checker, type));
    return error_value(checker);
}

static Value integer_literal(Checker *checker, const AstExpr *expr, bool negative,
                             const Type *type) {
    uint64_t magnitude = expr->integer;
    if (expr->kind != AST_INT) {
        if (!(expr->number == floor(expr->number))) return inexact(checker, expr, type);
        if (!(expr->number < 0x1p63)) return out_of_range(checker, expr, type, negative);
        magnitude = (uint64_t)expr->number;
    } else if (expr->too_big) return out_of_range(checker, expr, type, negative);
    unsigned bits = type_bits(type);
    if (!type_is_signed(type)) {
        uint64_t max = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
        if (magnitude > max || (negative && magnitude))
            return out_of_range(checker, expr, type, negative);
        return const_value(checker, type, (Const){.u = magnitude}, expr->span);
    }
    uint64_t limit = 1ull << (bits - 1);
    if (magnitude > limit - !negative) return out_of_range(checker, expr, type, negative);
    int64_t value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return const_value(checker, type, (Const){.i = value}, expr->span);
}

// A whole number must be exact; one with a fraction is rounded to the nearest, as everywhere.
static Value float_literal(Checker *checker, const AstExpr *expr, bool negative, const Type *type) {
    double value = expr->number;
    if (expr->kind == AST_INT) {
        value = (double)expr->integer;
        bool same = value < 0x1p64 && (uint64_t)value == expr->integer;
        if (expr->too_big || !same) return inexact(checker, expr, type);
    }
    double nearest = type_round(type, value);
    if (isinf(nearest)) return out_of_range(checker, expr, type, negative);
    if (expr->kind == AST_INT && nearest != value) return inexact(checker, expr, type);
    value = nearest;
    return const_value(checker, type, (Const){.f = negative ? -value : value}, expr->span);
}

static Value decimal_literal(Checker *checker, const AstExpr *expr, bool negative,
                             const Type *type) {
    Text text = number_text(checker, expr);
    __int128 value;
    if (decimal_parse(text, type->precision, type->scale, &value))
        return const_value(checker, type, (Const){.decimal = negative ? -value : value},
                           expr->span);
    Digits digits;
    bool fraction = read_digits(text, &digits) && digits.exponent + (int)type->scale < 0;
    return fraction ? inexact(checker, expr, type)
                    : out_of_range(checker, expr, type, negative);
}

Value check_literal(Checker *checker, const AstExpr *expr, bool negative, const Type *want) {
    const Type *type = want ? type_base(want) : nullptr;
    if (!type || !type_is_numeric(type))
        type = kind_type(checker, expr->kind == AST_INT ? TYPE_I64 : TYPE_F64);
    if (type->kind == TYPE_DECIMAL) return decimal_literal(checker, expr, negative, type);
    if (type_is_float(type)) return float_literal(checker, expr, negative, type);
    return integer_literal(checker, expr, negative, type);
}

// ---- constants ----------------------------------------------------------------------------------

static bool const_items(Checker *checker, const Expr *expr, Const *value) {
    uint32_t count = expr->arg_count;
    Const *items = arena_new_array(checker->arena, Const, count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (!const_of(checker, expr->args[i], &items[i])) return false;
    *value = (Const){.items = items, .item_count = count};
    return true;
}

// The constant `value` of type `from` as the wider type `to`.
static bool const_widen(const Type *from, const Type *to, Const *value) {
    from = type_base(from);
    to = type_base(to);
    if (value->is_null || from == to) return true;
    if (type_is_integer(from) && type_is_integer(to)) {
        if (type_is_signed(to) && !type_is_signed(from)) value->i = (int64_t)value->u;
        return true;
    }
    if (type_is_float(from) && type_is_float(to)) return true;
    if (from->kind != TYPE_DECIMAL || to->kind != TYPE_DECIMAL) return false;
    for (unsigned scale = from->scale; scale < to->scale; scale++) value->decimal *= 10;
    return true;
}

bool const_of(Checker *checker, ExprId id, Const *value) {
    if (expr_is_none(id)) return false;
    const Expr *expr = graph_at(checker->graph, id);
    switch (expr->op) {
    case EXPR_CONST: *value = expr->value; return true;
    case EXPR_SOME: return const_of(checker, expr->args[0], value);
    case EXPR_LIST: case EXPR_STRUCT: return const_items(checker, expr, value);
    case EXPR_WIDEN: {
        const Type *from = graph_at(checker->graph, expr->args[0])->type;
        return const_of(checker, expr->args[0], value) && const_widen(from, expr->type, value);
    }
    case EXPR_PARAM: case EXPR_COLUMN: case EXPR_RAW: case EXPR_PLACE: case EXPR_NEG: case EXPR_ADD:
    case EXPR_SUB: case EXPR_MUL: case EXPR_DIV: case EXPR_IDIV: case EXPR_MOD: case EXPR_EQ:
    case EXPR_NE: case EXPR_LT: case EXPR_LE: case EXPR_GT: case EXPR_GE: case EXPR_IS_NULL:
    case EXPR_NOT: case EXPR_AND: case EXPR_OR: case EXPR_COALESCE: case EXPR_PRESENT: case EXPR_IF:
    case EXPR_IN: case EXPR_ELSE: case EXPR_CAST: case EXPR_TO_F64: case EXPR_ROUND:
    case EXPR_CALL: case EXPR_REGEX: case EXPR_ZONE: case EXPR_CONCAT: case EXPR_TEXT:
    case EXPR_FIELD: case EXPR_INDEX: case EXPR_LOCAL: case EXPR_LIST_MAP: case EXPR_LIST_FILTER:
    case EXPR_LIST_ANY: case EXPR_LIST_ALL: case EXPR_LIST_REDUCE:
    case EXPR_EXPAND: case EXPR_CHOOSE: case EXPR_SIZE: case EXPR_AGREE:
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_SLICE:
    case EXPR_APPEND: case EXPR_GATHER: case EXPR_REDUCE_SUM: case EXPR_REDUCE_PROD:
    case EXPR_REDUCE_MIN: case EXPR_REDUCE_MAX: case EXPR_REDUCE_ANY: case EXPR_REDUCE_ALL:
    case EXPR_REDUCE_ARGMIN: case EXPR_REDUCE_ARGMAX:
        return false;
    }
    return false;
}

bool const_text(Checker *checker, Value value, Text *text) {
    Const constant;
    if (value.type->kind != TYPE_STR || !const_of(checker, value.id, &constant)) return false;
    *text = constant.text;
    return !constant.is_null;
}
