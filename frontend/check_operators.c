// Operators: arithmetic, comparisons, `in`, `and`, `or`, `not`.
#include "frontend/checker.h"

#include <string.h>

static const char *op_text(AstOp op) {
    switch (op) {
    case AST_OP_NEG: return "-";
    case AST_OP_NOT: return "not";
    case AST_OP_MUL: return "*";
    case AST_OP_DIV: return "/";
    case AST_OP_IDIV: return "//";
    case AST_OP_MOD: return "%";
    case AST_OP_ADD: return "+";
    case AST_OP_SUB: return "-";
    case AST_OP_COALESCE: return "??";
    case AST_OP_EQ: return "==";
    case AST_OP_NE: return "!=";
    case AST_OP_LT: return "<";
    case AST_OP_LE: return "<=";
    case AST_OP_GT: return ">";
    case AST_OP_GE: return ">=";
    case AST_OP_AND: return "and";
    case AST_OP_OR: return "or";
    }
    return "?";
}

// What an operator of the language is called in the graph; arithmetic and comparisons only.
static ExprOp op_of(AstOp op) {
    switch (op) {
    case AST_OP_NEG: return EXPR_NEG;
    case AST_OP_NOT: return EXPR_NOT;
    case AST_OP_MUL: return EXPR_MUL;
    case AST_OP_DIV: return EXPR_DIV;
    case AST_OP_IDIV: return EXPR_IDIV;
    case AST_OP_MOD: return EXPR_MOD;
    case AST_OP_ADD: return EXPR_ADD;
    case AST_OP_SUB: return EXPR_SUB;
    case AST_OP_COALESCE: return EXPR_COALESCE;
    case AST_OP_EQ: return EXPR_EQ;
    case AST_OP_NE: return EXPR_NE;
    case AST_OP_LT: return EXPR_LT;
    case AST_OP_LE: return EXPR_LE;
    case AST_OP_GT: return EXPR_GT;
    case AST_OP_GE: return EXPR_GE;
    case AST_OP_AND: return EXPR_AND;
    case AST_OP_OR: return EXPR_OR;
    }
    return EXPR_ADD;
}

typedef enum Side {
    SIDE_ANY = 0, SIDE_TEXT = 1, SIDE_INTEGER = 2, SIDE_FLOAT = 4, SIDE_DECIMAL = 8,
    SIDE_DURATION = 16, SIDE_INSTANT = 32, SIDE_LIST = 64, SIDE_NUMBER = 2 | 4 | 8,
} Side;

static Side side_of(const Type *type) {
    if (type_is_integer(type)) return SIDE_INTEGER;
    if (type_is_float(type)) return SIDE_FLOAT;
    switch ((int)type->kind) {
    case TYPE_STR: return SIDE_TEXT;
    case TYPE_DECIMAL: return SIDE_DECIMAL;
    case TYPE_DURATION: return SIDE_DURATION;
    case TYPE_DATE: case TYPE_TIMESTAMP: return SIDE_INSTANT;
    case TYPE_LIST: return SIDE_LIST;
    }
    return SIDE_ANY;
}

// What to do about two operands, either way round; the first row that fits. %s is the type of the
// one in `b`.
static const struct {
    Side        a, b;   // Types, or'ed; SIDE_ANY: whatever.
    const char *ops;    // Between spaces; null: all.
    const char *fix;
} operand_fixes[] = {
    {SIDE_TEXT, SIDE_ANY, " + ", "join text with str(...), or write f\"{...}\""},
    {SIDE_TEXT, SIDE_NUMBER | SIDE_INSTANT | SIDE_DURATION, nullptr, "convert the text: %s(...)"},
    {SIDE_DURATION, SIDE_NUMBER, " / ", "durations are divided by whole numbers with `//`"},
    {SIDE_DURATION, SIDE_NUMBER, " * ", "take a whole number of a smaller unit: 90min for 1.5h"},
    {SIDE_LIST, SIDE_LIST, " + ", "join lists with concat(..., ...)"},
    {SIDE_INTEGER, SIDE_DECIMAL, nullptr, "convert the integer: decimal(..., 18, 0)"},
    {SIDE_INTEGER, SIDE_INTEGER, nullptr, "convert one of them: i64(...)"},
    {SIDE_FLOAT, SIDE_FLOAT, " // ", "divide with `/`, and take the whole part: trunc(... / ...)"},
    {SIDE_FLOAT, SIDE_FLOAT, nullptr, "convert one of them: f32(...)"},
    {SIDE_NUMBER, SIDE_NUMBER, nullptr, "convert one of them: f64(...)"},
    {SIDE_ANY, SIDE_ANY, nullptr, "convert one of them to the type of the other"},
};

static bool side_fits(Side wanted, Side found) {
    return wanted == SIDE_ANY || (wanted & found) != 0;
}

static void fix_operands(Checker *checker, Diag *diag, AstOp op, const Type *x, const Type *y) {
    Side left = side_of(x), right = side_of(y);
    Text word = text_format(checker->arena, " %s ", op_text(op));
    for (size_t i = 0; i < countof(operand_fixes); i++) {
        Side a = operand_fixes[i].a, b = operand_fixes[i].b;
        const char *ops = operand_fixes[i].ops, *fix = operand_fixes[i].fix;
        bool straight = side_fits(a, left) && side_fits(b, right);
        if (!straight && !(side_fits(a, right) && side_fits(b, left))) continue;
        if (ops && !text_is(word, ops)) continue;
        const char *hole = strstr(fix, "%s");
        const char *type = type_kind_name((straight ? y : x)->kind);
        if (!hole) report_fix(checker, diag, "%s", fix);
        else report_fix(checker, diag, "%.*s%s%s", (int)(hole - fix), fix, type, hole + 2);
        return;
    }
}

static Value bad_operands(Checker *checker, const AstExpr *expr, Value a, Value b) {
    Diag *diag = report(checker, DIAG_BAD_OPERANDS, expr->span, "'%s' does not take %s and %s",
                        op_text(expr->op), type_say(checker, a.type), type_say(checker, b.type));
    report_label(checker, diag, expr->a->span, "%s", type_say(checker, a.type));
    report_label(checker, diag, expr->b->span, "%s", type_say(checker, b.type));
    fix_operands(checker, diag, expr->op, type_element(type_base(a.type)),
                 type_element(type_base(b.type)));
    return error_value(checker);
}

// ---- operands -----------------------------------------------------------------------------------

// What a number written out should be beside an operand of type `other`.
static const Type *literal_want(Checker *checker, const AstExpr *literal, const Type *other) {
    const Type *base = type_base(other), *own;
    if (base->kind == TYPE_DECIMAL && decimal_of_literal(checker, literal, &own)) return own;
    base = type_element(base);
    return type_is_numeric(base) ? base : nullptr;
}

// Two literals: if nothing is wanted and one is a float, both are.
static void check_literals(Checker *checker, Scope scopes[2], const AstExpr *const sides[2],
                           const Type *want, Value out[2]) {
    if (!want) {
        Value x = check_expr(checker, &scopes[0], sides[0], nullptr);
        Value y = check_expr(checker, &scopes[1], sides[1], nullptr);
        if (x.type->kind != y.type->kind) want = kind_type(checker, TYPE_F64);
    }
    for (int i = 0; i < 2; i++) out[i] = check_expr(checker, &scopes[i], sides[i], want);
}

// Does the type of one side say what the other is: [] beside a list, {...} beside a map?
static bool follows_type(const AstExpr *expr, const Type *type) {
    const TypeKind kind = type_base(type)->kind;
    return kind == TYPE_LIST ? is_untyped(expr) : kind == TYPE_MAP && expr->kind == AST_STRUCT;
}

void check_branches(Checker *checker, Scope scopes[2], const AstExpr *const sides[2],
                    const Type *want, Value out[2]) {
    const AstExpr *a = sides[0], *b = sides[1];
    if (is_flexible(a) && is_flexible(b)) {
        check_literals(checker, scopes, sides, want, out);
        return;
    }
    bool a_list = a->kind == AST_LIST && b->kind != AST_LIST;
    bool swap = (is_untyped(a) || a_list) && !is_untyped(b);  // What says its type comes first.
    const AstExpr *first = sides[swap], *second = sides[!swap];
    Scope *scope = &scopes[!swap];
    Value value = check_expr(checker, &scopes[swap], first, want);
    if (is_flexible(second)) want = literal_want(checker, second, value.type);
    else if (follows_type(second, value.type) && !want) want = type_base(value.type);
    // Nobody knows what a number or [] should be beside a value that has no type.
    bool follows = is_untyped(second) && is_error(value.type);
    out[swap] = value;
    if (second->kind == AST_LIST && is_tensor(value.type)) {
        out[!swap] = check_tensor_beside(checker, scope, second, value.type);
        return;
    }
    out[!swap] = follows ? error_value(checker) : check_expr(checker, scope, second, want);
}

void check_pair(Checker *checker, Scope *scope, const AstExpr *a, const AstExpr *b,
                const Type *want, Value out[2]) {
    Scope scopes[] = {*scope, *scope};
    const AstExpr *sides[] = {a, b};
    check_branches(checker, scopes, sides, want, out);
}

// Arithmetic wants values: T? is an error that names `??`.
static bool no_nulls(Checker *checker, const AstExpr *expr, Value out[2]) {
    const AstExpr *sides[] = {expr->a, expr->b};
    for (int i = 0; i < 2; i++) {
        if (is_error(out[i].type)) continue;
        const Type *want = is_null(out[i].type) ? out[1 - i].type : out[i].type;
        if (is_null(want)) want = kind_type(checker, TYPE_I64);
        out[i] = coerce(checker, out[i], type_base(want), sides[i]->span);
    }
    return !is_error(out[0].type) && !is_error(out[1].type);
}

// ---- arithmetic ---------------------------------------------------------------------------------

static bool is_zero(Checker *checker, Value value) {
    Const constant;
    if (!const_of(checker, value.id, &constant) || constant.is_null) return false;
    if (type_is_float(value.type)) return constant.f == 0.0;
    if (value.type->kind == TYPE_DECIMAL) return constant.decimal == 0;
    if (type_is_integer(value.type) && !type_is_signed(value.type)) return constant.u == 0;
    return (type_is_integer(value.type) || value.type->kind == TYPE_DURATION) && constant.i == 0;
}

static Value zero_divisor(Checker *checker, const AstExpr *expr) {
    Diag *diag = report(checker, DIAG_ZERO_DIVISOR, expr->span, "division by zero");
    report_label(checker, diag, expr->b->span, "always zero");
    report_fix(checker, diag, "divide by something else");
    return error_value(checker);
}

static Value decimal_sum(Checker *checker, const AstExpr *expr, Value a, Value b) {
    unsigned scale = a.type->scale > b.type->scale ? a.type->scale : b.type->scale;
    unsigned whole_a = a.type->precision - a.type->scale;
    unsigned whole_b = b.type->precision - b.type->scale;
    unsigned precision = (whole_a > whole_b ? whole_a : whole_b) + scale + 1;
    if (precision > DECIMAL_PRECISION_MAX) precision = DECIMAL_PRECISION_MAX;
    const Type *type = type_decimal(checker->types, precision, scale);
    Value *sides[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        if (sides[i]->type == type) continue;
        // Capped at 38 digits the result may be narrower than an operand: then a cast, which
        // judges.
        ExprOp op = type_holds(type, sides[i]->type) ? EXPR_WIDEN : EXPR_CAST;
        *sides[i] = node1(checker, op, type, expr->span, *sides[i]);
    }
    return node2(checker, op_of(expr->op), type, expr->span, a, b);
}

static Value decimal_product(Checker *checker, const AstExpr *expr, Value a, Value b) {
    unsigned scale = a.type->scale + b.type->scale;
    unsigned precision = a.type->precision + b.type->precision;
    if (precision > DECIMAL_PRECISION_MAX) precision = DECIMAL_PRECISION_MAX;
    if (scale <= DECIMAL_PRECISION_MAX) {
        const Type *type = type_decimal(checker->types, precision, scale);
        return node2(checker, EXPR_MUL, type, expr->span, a, b);
    }
    Diag *diag = report(checker, DIAG_DECIMAL_BOUNDS, expr->span,
                        "the product would have %u digits after the point", scale);
    report_label(checker, diag, expr->span, "a decimal has at most 38 digits");
    report_fix(checker, diag, "round a factor first: decimal(x, 18, 4)");
    return error_value(checker);
}

// x // y and x % y at one scale: the quotient is whole, the remainder keeps the scale.
static Value decimal_quotient(Checker *checker, const AstExpr *expr, Value a, Value b) {
    const Type *both = common_type(checker, a.type, b.type);
    if (!both) {
        Diag *diag = report(checker, DIAG_DECIMAL_BOUNDS, expr->span,
                            "%s and %s together need more than 38 digits",
                            type_say(checker, a.type), type_say(checker, b.type));
        report_label(checker, diag, expr->span, "a decimal has at most 38 digits");
        report_fix(checker, diag, "narrow one of them first: decimal(x, 18, 4)");
        return error_value(checker);
    }
    const Type *type = both;
    if (expr->op == AST_OP_IDIV) {
        unsigned digits = a.type->precision - a.type->scale + b.type->scale;
        if (digits > DECIMAL_PRECISION_MAX) digits = DECIMAL_PRECISION_MAX;
        type = type_decimal(checker->types, digits ? digits : 1, 0);
    }
    return node2(checker, op_of(expr->op), type, expr->span,
                 widen(checker, a, both, expr->a->span), widen(checker, b, both, expr->b->span));
}

static Value as_f64(Checker *checker, Value value, Span span) {
    const Type *f64 = kind_type(checker, TYPE_F64);
    if (value.type == f64) return value;
    if (type_is_float(value.type)) return node1(checker, EXPR_WIDEN, f64, span, value);
    Const constant;
    if (type_is_integer(value.type) && const_of(checker, value.id, &constant))
        return const_value(checker, f64, (Const){.f = type_is_signed(value.type)
                                                          ? (double)constant.i
                                                          : (double)constant.u}, span);
    return node1(checker, EXPR_TO_F64, f64, span, value);
}

static Value divide(Checker *checker, const AstExpr *expr, Value a, Value b) {
    const Type *x = a.type, *y = b.type;
    bool durations = x->kind == TYPE_DURATION && y->kind == TYPE_DURATION;
    bool exact = (type_is_integer(x) || x->kind == TYPE_DECIMAL) &&
                 (type_is_integer(y) || y->kind == TYPE_DECIMAL);
    if (type_is_float(x) && type_is_float(y)) {
        const Type *type = common_type(checker, x, y);
        if (!type) return bad_operands(checker, expr, a, b);
        return arithmetic(checker, EXPR_DIV, type, expr->span, widen(checker, a, type, expr->span),
                          widen(checker, b, type, expr->span));
    }
    if (!durations && !exact) return bad_operands(checker, expr, a, b);
    return node2(checker, EXPR_DIV, kind_type(checker, TYPE_F64), expr->span,
                 as_f64(checker, a, expr->a->span), as_f64(checker, b, expr->b->span));
}

// A date stands for its midnight.
static Value as_instant(Checker *checker, Value value, Span span) {
    if (value.type->kind == TYPE_TIMESTAMP) return value;
    return node1(checker, EXPR_CAST, kind_type(checker, TYPE_TIMESTAMP), span, value);
}

static bool is_instant(const Type *type) {
    return type->kind == TYPE_DATE || type->kind == TYPE_TIMESTAMP;
}

static Value time_arithmetic(Checker *checker, const AstExpr *expr, Value a, Value b) {
    const Type *x = a.type, *y = b.type, *duration = kind_type(checker, TYPE_DURATION);
    bool add = expr->op == AST_OP_ADD, sub = expr->op == AST_OP_SUB;
    if (add && x->kind == TYPE_DURATION && is_instant(y)) {
        Value swap = a;
        a = b;
        b = swap;
        x = a.type;
        y = b.type;
    }
    if ((add || sub) && is_instant(x) && y->kind == TYPE_DURATION) {
        a = as_instant(checker, a, expr->a->span);
        return node2(checker, op_of(expr->op), a.type, expr->span, a, b);
    }
    if (sub && is_instant(x) && is_instant(y)) {
        a = as_instant(checker, a, expr->a->span);
        b = as_instant(checker, b, expr->b->span);
        const Type *type = a.type->unit > b.type->unit ? a.type : b.type;
        if (a.type != type) a = node1(checker, EXPR_CAST, type, expr->a->span, a);
        if (b.type != type) b = node1(checker, EXPR_CAST, type, expr->b->span, b);
        return node2(checker, EXPR_SUB, duration, expr->span, a, b);
    }
    if (expr->op == AST_OP_MUL && type_is_integer(x) && y->kind == TYPE_DURATION) {
        Value swap = a;
        a = b;
        b = swap;
        x = a.type;
        y = b.type;
    }
    const Type *i64 = kind_type(checker, TYPE_I64);
    bool scaled = expr->op == AST_OP_MUL || expr->op == AST_OP_IDIV;
    if (scaled && x->kind == TYPE_DURATION && type_is_integer(y) && type_holds(i64, y))
        return node2(checker, op_of(expr->op), duration, expr->span, a,
                     widen(checker, b, i64, expr->b->span));
    if ((add || sub) && x->kind == TYPE_DURATION && y->kind == TYPE_DURATION)
        return node2(checker, op_of(expr->op), duration, expr->span, a, b);
    return bad_operands(checker, expr, a, b);
}

// Joins flatten: a + b + c is one concat.
static Value join_text(Checker *checker, const AstExpr *expr, Value a, Value b) {
    const Type *str = kind_type(checker, TYPE_STR);
    const Expr *left = graph_at(checker->graph, a.id);
    if (left->op != EXPR_CONCAT) return node2(checker, EXPR_CONCAT, str, expr->span, a, b);
    uint32_t count = left->arg_count;
    ExprId *args = arena_new_array(checker->arena, ExprId, count + 1);
    for (uint32_t i = 0; i < count; i++) args[i] = left->args[i];
    args[count] = b.id;
    return node(checker, EXPR_CONCAT, str, expr->span, args, count + 1);
}

static Value numbers(Checker *checker, const AstExpr *expr, Value a, Value b) {
    if (a.type->kind == TYPE_DECIMAL && b.type->kind == TYPE_DECIMAL) {
        if (expr->op == AST_OP_MUL) return decimal_product(checker, expr, a, b);
        if (expr->op == AST_OP_ADD || expr->op == AST_OP_SUB)
            return decimal_sum(checker, expr, a, b);
        return decimal_quotient(checker, expr, a, b);
    }
    const Type *type = common_type(checker, a.type, b.type);
    bool whole_only = expr->op == AST_OP_IDIV;
    if (!type || type->kind == TYPE_DECIMAL || (whole_only && !type_is_integer(type)))
        return bad_operands(checker, expr, a, b);
    return arithmetic(checker, op_of(expr->op), type, expr->span,
                      widen(checker, a, type, expr->a->span),
                      widen(checker, b, type, expr->b->span));
}

static Value check_arithmetic(Checker *checker, Scope *scope, const AstExpr *expr,
                              const Type *want) {
    Value sides[2];
    if (is_months(expr->a) || is_months(expr->b)) return add_months(checker, scope, expr);
    bool divides = expr->op == AST_OP_DIV;
    if (want) want = type_base(want);  // No operand may be null, whatever the place takes.
    if (want && (!type_is_numeric(want) || (divides && !type_is_float(want)))) want = nullptr;
    check_pair(checker, scope, expr->a, expr->b, want, sides);
    if (!no_nulls(checker, expr, sides)) return error_value(checker);
    const Type *x = sides[0].type, *y = sides[1].type;
    bool quotient = divides || expr->op == AST_OP_IDIV || expr->op == AST_OP_MOD;
    if (quotient && is_zero(checker, sides[1])) return zero_divisor(checker, expr);
    if (is_tensor(x) || is_tensor(y)) {
        bool taken;
        Value value = tensor_arithmetic(checker, op_of(expr->op), expr, sides, &taken);
        return taken ? value : bad_operands(checker, expr, sides[0], sides[1]);
    }
    if (divides) return divide(checker, expr, sides[0], sides[1]);
    if (expr->op == AST_OP_ADD && x->kind == TYPE_STR && y->kind == TYPE_STR)
        return join_text(checker, expr, sides[0], sides[1]);
    if (type_is_numeric(x) && type_is_numeric(y)) return numbers(checker, expr, sides[0], sides[1]);
    return time_arithmetic(checker, expr, sides[0], sides[1]);
}

// ---- comparisons --------------------------------------------------------------------------------

static Value null_test(Checker *checker, const AstExpr *expr, Value value) {
    const Type *boolean = kind_type(checker, TYPE_BOOL);
    bool equal = expr->op == AST_OP_EQ;
    if (is_null(value.type) || !value.type->nullable) {
        if (!is_null(value.type)) {
            Diag *diag = report(checker, DIAG_NEEDLESS_NULL_TEST, expr->span,
                                "%s is never null", type_say(checker, value.type));
            report_label(checker, diag, expr->span, "always %s", equal ? "false" : "true");
            report_fix(checker, diag, "drop the test, or declare the column as %s?",
                       type_say(checker, value.type));
        }
        return const_value(checker, boolean, (Const){.i = is_null(value.type) == equal},
                           expr->span);
    }
    Value test = node1(checker, EXPR_IS_NULL, boolean, expr->span, value);
    return equal ? test : node1(checker, EXPR_NOT, boolean, expr->span, test);
}

// The type that two compared values share. Timestamps of different units meet in the finer one.
static const Type *compared_type(Checker *checker, const Type *a, const Type *b) {
    const Type *type = common_type(checker, a, b);
    if (type || a->kind != TYPE_TIMESTAMP || b->kind != TYPE_TIMESTAMP) return type;
    return type_timestamp(checker->types, a->unit > b->unit ? a->unit : b->unit);
}

static Value compared(Checker *checker, Value value, const Type *base, Span span) {
    const Type *want = value.type->nullable ? type_nullable(base) : base;
    if (value.type->kind == TYPE_TIMESTAMP && value.type != want)
        return node1(checker, EXPR_CAST, want, span, value);
    return widen(checker, value, want, span);
}

Value compare(Checker *checker, ExprOp op, Value a, Value b, Span span) {
    const Type *type = compared_type(checker, a.type, b.type);
    if (!type || is_error(type)) return error_value(checker);
    const Type *base = type_base(type);
    return node2(checker, op, kind_type(checker, TYPE_BOOL), span,
                 compared(checker, a, base, span), compared(checker, b, base, span));
}

static Value check_comparison(Checker *checker, Scope *scope, const AstExpr *expr) {
    Value sides[2];
    check_pair(checker, scope, expr->a, expr->b, nullptr, sides);
    if (is_error(sides[0].type) || is_error(sides[1].type)) return error_value(checker);
    bool equality = expr->op == AST_OP_EQ || expr->op == AST_OP_NE;
    bool nulls = is_null(sides[0].type) || is_null(sides[1].type);
    if (nulls && equality) {
        Value tested = is_null(sides[0].type) ? sides[1] : sides[0];
        return null_test(checker, expr, declared_value(checker, scope, tested));
    }
    if (!nulls && (is_tensor(sides[0].type) || is_tensor(sides[1].type))) {
        bool taken;
        Value value = tensor_comparison(checker, op_of(expr->op), expr, sides, &taken);
        return taken ? value : bad_operands(checker, expr, sides[0], sides[1]);
    }
    const Type *type = nulls ? nullptr : compared_type(checker, sides[0].type, sides[1].type);
    if (!type) return bad_operands(checker, expr, sides[0], sides[1]);
    if (type_comparable(type, !equality))
        return compare(checker, op_of(expr->op), sides[0], sides[1], expr->span);
    Diag *diag = report(checker, DIAG_NOT_COMPARABLE, expr->span, "%s has no %s",
                        type_say(checker, type), equality ? "equality" : "order");
    report_label(checker, diag, expr->span, "%s", type_say(checker, type));
    report_fix(checker, diag,
               "compare a part of it: an element, a field, or its text with str(...)");
    return error_value(checker);
}

// x in a..b is x >= a and x <= b.
static Value check_between(Checker *checker, Scope *scope, const AstExpr *expr) {
    Value low[2], high[2];
    check_pair(checker, scope, expr->a, expr->b, nullptr, low);
    check_pair(checker, scope, expr->a, expr->c, nullptr, high);
    Value ends[] = {low[1], high[1]};
    const AstExpr *exprs[] = {expr->b, expr->c};
    for (int i = 0; i < 2; i++) {
        if (is_error(low[0].type) || is_error(ends[i].type)) return error_value(checker);
        bool nulls = is_null(low[0].type) || is_null(ends[i].type);
        const Type *type = nulls ? nullptr : compared_type(checker, low[0].type, ends[i].type);
        if (type && type_comparable(type, true)) continue;
        Diag *diag = report(checker, DIAG_BAD_OPERANDS, exprs[i]->span,
                            "'in' does not take %s and %s", type_say(checker, low[0].type),
                            type_say(checker, ends[i].type));
        report_label(checker, diag, expr->a->span, "%s", type_say(checker, low[0].type));
        report_label(checker, diag, exprs[i]->span, "%s", type_say(checker, ends[i].type));
        report_fix(checker, diag, "give both ends the type of the value");
        return error_value(checker);
    }
    return node2(checker, EXPR_AND, kind_type(checker, TYPE_BOOL), expr->span,
                 compare(checker, EXPR_GE, low[0], low[1], expr->span),
                 compare(checker, EXPR_LE, high[0], high[1], expr->span));
}

// Constants make one EXPR_IN; other items are compared one by one, left to right.
Value check_in(Checker *checker, Scope *scope, const AstExpr *expr) {
    if (expr->b) return check_between(checker, scope, expr);
    const Type *boolean = kind_type(checker, TYPE_BOOL);
    Value value = check_expr(checker, scope, expr->a, nullptr);
    if (is_error(value.type)) return value;
    ExprId *ids = arena_new_array(checker->arena, ExprId, expr->arg_count + 1);
    Value others = const_value(checker, boolean, (Const){0}, expr->span);
    uint32_t count = 0;
    bool broken = false, rest = false;
    const Type *base = type_base(value.type);
    ids[count++] = value.id;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        const AstExpr *item_expr = expr->args[i].value;
        Value item = check_as(checker, scope, item_expr, base);
        Const constant;
        broken |= is_error(item.type);
        if (broken) continue;
        if (const_of(checker, item.id, &constant)) {
            ids[count++] = const_value(checker, base, constant, item_expr->span).id;
            continue;
        }
        Value test = compare(checker, EXPR_EQ, value, item, item_expr->span);
        others = rest ? node2(checker, EXPR_OR, boolean, expr->span, others, test) : test;
        rest = true;
    }
    if (broken || !type_comparable(base, false)) return error_value(checker);
    if (count == 1) return others;
    Value in = node(checker, EXPR_IN, boolean, expr->span, ids, count);
    return rest ? node2(checker, EXPR_OR, boolean, expr->span, in, others) : in;
}

// ---- dispatch -----------------------------------------------------------------------------------

Value check_unary(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    if (expr->op == AST_OP_NOT)
        return node1(checker, EXPR_NOT, kind_type(checker, TYPE_BOOL), expr->span,
                     check_condition(checker, scope, expr->a));
    AstExprKind kind = expr->a ? expr->a->kind : AST_ERROR;
    if (kind == AST_INT || kind == AST_FLOAT || kind == AST_PERCENT)
        return check_literal(checker, expr->a, true, want);
    // A place for null is the result's: of what is negated none may be null.
    Value value = check_expr(checker, scope, expr->a, want ? type_base(want) : nullptr);
    if (is_error(value.type)) return value;
    const Type *type = type_base(value.type), *elem = type_element(type);
    bool negative = type_is_signed(elem) || type_is_float(elem) || type->kind == TYPE_DECIMAL ||
                    type->kind == TYPE_DURATION;
    if (negative) {
        value = coerce(checker, value, type, expr->a->span);
        Const constant;
        if (type->kind == TYPE_DURATION && const_of(checker, value.id, &constant))
            return const_value(checker, type, (Const){.i = -constant.i}, expr->span);
        return negated(checker, value, expr->span);
    }
    Diag *diag = report(checker, DIAG_BAD_OPERANDS, expr->span, "'-' does not take %s",
                        type_say(checker, value.type));
    report_label(checker, diag, expr->a->span, "%s", type_say(checker, value.type));
    report_fix(checker, diag, type_is_integer(type) ? "convert it first: -i64(...)"
                                                    : "drop the sign");
    return error_value(checker);
}

Value check_binary(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    switch (expr->op) {
    case AST_OP_MUL: case AST_OP_DIV: case AST_OP_IDIV: case AST_OP_MOD: case AST_OP_ADD:
    case AST_OP_SUB: return check_arithmetic(checker, scope, expr, want);
    case AST_OP_COALESCE: return check_coalesce(checker, scope, expr, want);
    case AST_OP_EQ: case AST_OP_NE: case AST_OP_LT: case AST_OP_LE: case AST_OP_GT: case AST_OP_GE:
        return check_comparison(checker, scope, expr);
    case AST_OP_AND: case AST_OP_OR: {
        Value a = check_condition(checker, scope, expr->a);
        Fact fact = {.condition = a.id, .held = expr->op == AST_OP_AND, .written = expr->a};
        Scope inside = scope_knowing(scope, &fact);
        Value b = check_condition(checker, &inside, expr->b);
        return node2(checker, op_of(expr->op), kind_type(checker, TYPE_BOOL), expr->span, a, b);
    }
    case AST_OP_NEG: case AST_OP_NOT: break;
    }
    return error_value(checker);
}
