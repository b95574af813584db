// Months of the calendar: t + 3mo is add_months(t, 3).
//
// A width of months is one of a function of its own: truncate(t, 3mo) is truncate_months(t, 3).
//
// A month is no number of microseconds, so that it is no duration. It stands beside the date or the
// timestamp that it is added to, and a count of months before it may be any integer: t + n * 1mo.
#include "frontend/checker.h"

#include <string.h>

bool is_months(const AstExpr *expr) {
    if (!expr) return false;
    if (expr->kind == AST_MONTHS) return true;
    if (expr->kind == AST_UNARY) return expr->op == AST_OP_NEG && is_months(expr->a);
    if (expr->kind != AST_BINARY) return false;
    if (expr->op == AST_OP_MUL) return is_months(expr->a) != is_months(expr->b);
    return (expr->op == AST_OP_ADD || expr->op == AST_OP_SUB) && is_months(expr->a) &&
           is_months(expr->b);
}

Value misplaced_months(Checker *checker, const AstExpr *expr) {
    Diag *diag = report(checker, DIAG_MONTHS, expr->span, "months have no fixed length");
    report_label(checker, diag, expr->span, "added to no date and no timestamp");
    report_fix(checker, diag, "add months to a date or a timestamp, t + 1mo; cut one with "
               "truncate(t, 1mo); count them with months_between");
    return error_value(checker);
}

// n * 1mo, either way round.
static Value times_months(Checker *checker, Scope *scope, const AstExpr *expr, Value sides[2]) {
    const Type *i64 = kind_type(checker, TYPE_I64);
    for (int i = 0; i < 2; i++) {
        const AstExpr *side = i ? expr->b : expr->a;
        if (is_months(side)) {
            sides[i] = count_of_months(checker, scope, side);
            continue;
        }
        sides[i] = check_expr(checker, scope, side, i64);
        if (is_error(sides[i].type)) return sides[i];
        sides[i] = coerce(checker, sides[i], i64, side->span);
    }
    return arithmetic(checker, EXPR_MUL, i64, expr->span, sides[0], sides[1]);
}

Value count_of_months(Checker *checker, Scope *scope, const AstExpr *expr) {
    const Type *i64 = kind_type(checker, TYPE_I64);
    if (expr->kind == AST_MONTHS)
        return const_value(checker, i64, (Const){.i = (int64_t)expr->integer}, expr->span);
    Value sides[2];
    if (expr->op == AST_OP_MUL) return times_months(checker, scope, expr, sides);
    sides[0] = count_of_months(checker, scope, expr->a);
    if (is_error(sides[0].type)) return sides[0];
    if (expr->kind == AST_UNARY) return negated(checker, sides[0], expr->span);
    sides[1] = count_of_months(checker, scope, expr->b);
    if (is_error(sides[1].type)) return sides[1];
    ExprOp op = expr->op == AST_OP_ADD ? EXPR_ADD : EXPR_SUB;
    return arithmetic(checker, op, i64, expr->span, sides[0], sides[1]);
}

Value add_months(Checker *checker, Scope *scope, const AstExpr *expr) {
    bool add = expr->op == AST_OP_ADD, first = is_months(expr->a);
    const AstExpr *months = first ? expr->a : expr->b, *time = first ? expr->b : expr->a;
    bool sum = (add || (expr->op == AST_OP_SUB && !first)) && !is_months(time);
    if (!sum) return misplaced_months(checker, expr);
    Value values[2] = {check_expr(checker, scope, time, nullptr)};
    if (is_error(values[0].type)) return values[0];
    const Type *type = type_base(values[0].type);
    if (type->kind != TYPE_DATE && type->kind != TYPE_TIMESTAMP)
        return misplaced_months(checker, months);
    values[0] = coerce(checker, values[0], type, time->span);
    values[1] = count_of_months(checker, scope, months);
    if (is_error(values[0].type) || is_error(values[1].type)) return error_value(checker);
    if (!add) values[1] = negated(checker, values[1], months->span);
    return call_by_name(checker, "add_months", expr->span, values, 2);
}

// ---- months as arguments ------------------------------------------------------------------------

// What is_months takes, with numbers in the place of months.
static AstExpr *as_number(Checker *checker, const AstExpr *expr) {
    AstExpr *copy = arena_new_of(checker->arena, AstExpr);
    *copy = *expr;
    if (expr->kind == AST_MONTHS) copy->kind = AST_INT;
    if (copy->a && is_months(copy->a)) copy->a = as_number(checker, copy->a);
    if (copy->b && is_months(copy->b)) copy->b = as_number(checker, copy->b);
    return copy;
}

const AstExpr *call_with_months(Checker *checker, const AstExpr *call) {
    AstExpr *copy = nullptr;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        if (!is_months(call->args[i].value)) continue;
        Text name = text_format(checker->arena, "%.*s_months", TEXT_ARG(call->name.text));
        size_t count;
        declarations(checker, name, false, &count);
        if (count == 0) return call;
        if (!copy) {
            copy = arena_new_of(checker->arena, AstExpr);
            *copy = *call;
            copy->args = arena_new_array(checker->arena, AstArg, call->arg_count);
            memcpy(copy->args, call->args, call->arg_count * sizeof *call->args);
            copy->name.text = name;
        }
        copy->args[i].value = as_number(checker, call->args[i].value);
    }
    return copy ? copy : call;
}
