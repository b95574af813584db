// Branches: if, case, `??` and the handler `else`.
#include "frontend/checker.h"

// Both branches as one type; a number written out follows the other branch.
static bool meet(Checker *checker, Value values[2], const AstExpr *const exprs[2]) {
    if (is_error(values[0].type) || is_error(values[1].type)) return false;
    const Type *type = common_type(checker, values[0].type, values[1].type);
    if (type) {
        for (int i = 0; i < 2; i++) values[i] = widen(checker, values[i], type, exprs[i]->span);
        return !is_error(values[0].type) && !is_error(values[1].type);
    }
    Diag *diag = report(checker, DIAG_NO_COMMON_TYPE, exprs[1]->span,
                        "one side is %s, the other %s", type_say(checker, values[0].type),
                        type_say(checker, values[1].type));
    report_label(checker, diag, exprs[1]->span, "%s", type_say(checker, values[1].type));
    report_label(checker, diag, exprs[0]->span, "%s", type_say(checker, values[0].type));
    bool numbers = type_is_numeric(type_base(values[0].type)) &&
                   type_is_numeric(type_base(values[1].type));
    report_fix(checker, diag, numbers ? "convert one of them: f64(...)" : "give both one type");
    return false;
}

Value check_if(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    Value condition = check_condition(checker, scope, expr->a);
    Value branches[2];
    if (!expr->b || !expr->c) return error_value(checker);
    Fact facts[2];
    Scope scopes[2];
    for (int i = 0; i < 2; i++) {
        facts[i] = (Fact){.condition = condition.id, .held = i == 0, .written = expr->a};
        scopes[i] = scope_knowing(scope, &facts[i]);
    }
    const AstExpr *exprs[] = {expr->b, expr->c};
    check_branches(checker, scopes, exprs, want, branches);
    for (int i = 0; i < 2; i++) {  // null is one of the other branch's type, not of the place's.
        const Type *other = branches[1 - i].type;
        if (exprs[i]->kind == AST_NULL && !is_null(other) && !is_error(other))
            branches[i] = null_value(checker, type_nullable(other), exprs[i]->span);
    }
    if (!meet(checker, branches, exprs) || is_error(condition.type)) return error_value(checker);
    ExprId args[] = {condition.id, branches[0].id, branches[1].id};
    return node(checker, EXPR_IF, branches[0].type, expr->span, args, 3);
}

// The condition of an arm, and the scopes of its value and of what comes after the arm.
typedef struct Arm {
    Value condition;
    Fact  held, passed;
    Scope inside, after;
} Arm;

static Arm *check_arms(Checker *checker, Scope *scope, const AstExpr *expr) {
    Arm *arms = arena_new_array(checker->arena, Arm, expr->arm_count + 1);
    for (uint32_t i = 0; i < expr->arm_count; i++) {
        const AstExpr *condition = expr->arms[i].condition;
        Scope *at = i ? &arms[i - 1].after : scope;
        arms[i].inside = arms[i].after = *at;
        if (!condition) continue;
        Value value = arms[i].condition = check_condition(checker, at, condition);
        arms[i].held = (Fact){.condition = value.id, .held = true, .written = condition};
        arms[i].passed = (Fact){.condition = value.id, .written = condition};
        arms[i].inside = scope_knowing(at, &arms[i].held);
        arms[i].after = scope_knowing(at, &arms[i].passed);
    }
    return arms;
}

// The type that the arms share, from those that are no bare number first.
static const Type *arms_type(Checker *checker, Arm *arms, const AstExpr *expr) {
    const Type *type = nullptr;
    checker->quiet++;
    for (int flexible = 0; flexible < 2; flexible++) {
        for (uint32_t i = 0; i < expr->arm_count; i++) {
            const AstExpr *value = expr->arms[i].value;
            if (!value || is_flexible(value) != flexible) continue;
            const Type *own = check_expr(checker, &arms[i].inside, value, nullptr).type;
            if (is_error(own)) continue;
            bool follows = flexible && type && type_is_numeric(type_base(type)) &&
                           !(type_base(type)->kind == TYPE_I64 && own->kind == TYPE_F64);
            if (follows) continue;
            const Type *both = type ? common_type(checker, type, own) : own;
            if (both) type = both;
            else if (flexible) type = type->nullable ? type_nullable(own) : own;
        }
    }
    checker->quiet--;
    return type;
}

// Is `_` the last arm, and only that? `last`: the condition of the last arm, if it has one.
static bool arms_closed(Checker *checker, const AstExpr *expr, const Value *last) {
    for (uint32_t i = 0; i + 1 < expr->arm_count; i++)
        if (!expr->arms[i].condition) return false;  // The parser reported it.
    if (!expr->arm_count) return false;              // That too.
    if (!expr->arms[expr->arm_count - 1].condition) return true;
    if (is_error(last->type)) return false;  // It may have been meant as `_`.
    Diag *diag = report(checker, DIAG_CASE_OPEN, expr->span, "the case has no arm `_`");
    report_label(checker, diag, expr->span, "what if no condition holds?");
    report_fix(checker, diag, "end it with _ => VALUE");
    return false;
}

Value check_case(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    Arm *arms = check_arms(checker, scope, expr);
    const Type *own = arms_type(checker, arms, expr);
    const Type *type = want && !is_error(want) ? want : own;
    // A place that wants T may still get T? and say so itself.
    if (want && type && own && own->nullable) type = type_nullable(type);
    Value *values = arena_new_array(checker->arena, Value, expr->arm_count + 1);
    bool broken = !type || is_null(type), wrong = false;
    for (uint32_t i = 0; i < expr->arm_count; i++) {
        const AstArm *arm = &expr->arms[i];
        if (!type && arm->value && is_untyped(arm->value)) continue;  // Another arm is wrong.
        values[i] = type ? check_as(checker, &arms[i].inside, arm->value, type)
                         : check_expr(checker, &arms[i].inside, arm->value, nullptr);
        wrong |= is_error(values[i].type);
        broken |= arm->condition && is_error(arms[i].condition.type);
    }
    const Value *last = expr->arm_count ? &arms[expr->arm_count - 1].condition : nullptr;
    broken |= !arms_closed(checker, expr, last) || wrong;
    if (broken) {
        if (type && is_null(type) && !wrong) {
            Diag *diag = report(checker, DIAG_NULL_TYPE, expr->span, "null of which type?");
            report_label(checker, diag, expr->span, "every arm is null");
            report_fix(checker, diag, "give one arm a value");
        }
        return error_value(checker);
    }
    Value result = values[expr->arm_count - 1];
    for (uint32_t i = expr->arm_count - 1; i-- > 0;) {
        ExprId args[] = {arms[i].condition.id, values[i].id, result.id};
        result = node(checker, EXPR_IF, type, expr->span, args, 3);
    }
    return result;
}

static Value needless_coalesce(Checker *checker, const AstExpr *expr, Value left) {
    Diag *diag = report(checker, DIAG_NEEDLESS_COALESCE, expr->span,
                        "needless '?\?': %s is never null", type_say(checker, left.type));
    report_label(checker, diag, expr->a->span, "%s", type_say(checker, left.type));
    report_fix(checker, diag, "drop '?\?' and what follows it");
    return left;
}

// x ?? reject
static Value check_present(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    Value value = check_expr(checker, scope, expr->a, want);
    value = declared_value(checker, scope, value);
    if (is_error(value.type)) return value;
    if (is_null(value.type)) {
        Diag *diag = report(checker, DIAG_NULL_TYPE, expr->span, "null of which type?");
        report_label(checker, diag, expr->a->span, "always null");
        report_fix(checker, diag, "write a value that may be null: a column, or f(x) else null");
        return error_value(checker);
    }
    if (!value.type->nullable) return needless_coalesce(checker, expr, value);
    Expr payload = {.op = EXPR_PRESENT, .type = type_base(value.type), .span = expr->span,
                    .value.text = step_label(checker, expr->a->span)};
    ExprId id = graph_expr(checker->graph, payload, &value.id, 1);
    return (Value){id, payload.type};
}

Value check_coalesce(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    if (expr->b && expr->b->kind == AST_REJECT) return check_present(checker, scope, expr, want);
    Value sides[2];
    check_pair(checker, scope, expr->a, expr->b, want, sides);
    sides[0] = declared_value(checker, scope, sides[0]);
    if (is_error(sides[0].type) || is_error(sides[1].type)) return error_value(checker);
    if (is_null(sides[0].type)) return sides[1];
    if (!sides[0].type->nullable) return needless_coalesce(checker, expr, sides[0]);
    if (is_null(sides[1].type)) return sides[0];
    const AstExpr *exprs[] = {expr->a, expr->b};
    // The left side without its null meets the right side.
    const Type *type = common_type(checker, type_base(sides[0].type), sides[1].type);
    if (!type) {
        meet(checker, sides, exprs);
        return error_value(checker);
    }
    Value a = widen(checker, sides[0], type_nullable(type), expr->a->span);
    Value b = widen(checker, sides[1], type, expr->b->span);
    return node2(checker, EXPR_COALESCE, type, expr->span, a, b);
}

Value check_else(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    Value values[2];
    uint32_t count = 1;
    if (expr->handler == ELSE_VALUE && expr->b) {
        const AstExpr *exprs[] = {expr->a, expr->b};
        check_pair(checker, scope, expr->a, expr->b, want, values);
        if (!meet(checker, values, exprs)) return error_value(checker);
        count = 2;
    } else values[0] = check_expr(checker, scope, expr->a, want);
    if (is_error(values[0].type)) return values[0];
    if (!graph_faults(checker->graph, values[0].id)) {
        Diag *diag = report(checker, DIAG_NEEDLESS_ELSE, expr->span,
                            "needless 'else': this cannot fail");
        report_label(checker, diag, expr->a->span, "never fails");
        if (values[0].type->nullable && count == 2)
            report_fix(checker, diag, "to replace null write '?\?'");
        else if (values[0].type->nullable && expr->handler == ELSE_REJECT)
            report_fix(checker, diag, "to reject null write '?\? reject'");
        else report_fix(checker, diag, "drop 'else' and what follows it");
        return values[0];
    }
    Expr payload = {.op = EXPR_ELSE, .type = values[0].type, .span = expr->span,
                    .handler = expr->handler};
    ExprId args[] = {values[0].id, count == 2 ? values[1].id : EXPR_NONE};
    return (Value){graph_expr(checker->graph, payload, args, count), values[0].type};
}
