// `asof a >= b within d`: a join with the nearest right row.
//
// The right rows are sorted by b, so that those of a key are gone along from the last to the first:
//
//   a >= b   sort b          b: null NaN 9 7 7 4    `seek` is a >= b: false, false, ..., true, true
//   a <= b   sort b desc     b: 4 7 7 9 NaN null    `seek` is not a > b; `within` has a <= b, which
//                                                   ends before NaN and null
//
// So of equal b the last row of the flow comes first.
#include "frontend/checker.h"

static bool goes_back(const AstExpr *expr) {
    return expr->op == AST_OP_GE || expr->op == AST_OP_GT;
}

// Have values of the type an order and a distance?
static bool has_distance(const Type *type) {
    const Type *base = type_base(type);
    switch (base->kind) {
    case TYPE_DECIMAL: case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION: return true;
    default: return type_is_integer(base) || type_is_float(base);
    }
}

static bool blame(Checker *checker, Span span, const char *message, const char *label,
                  const char *fix) {
    Diag *diag = report(checker, DIAG_ASOF, span, "%s", message);
    report_label(checker, diag, span, "%s", label);
    report_fix(checker, diag, "%s", fix);
    return false;
}

static bool check_side(Checker *checker, Scope *scope, const AstExpr *expr, Value *out) {
    *out = check_expr(checker, scope, expr, nullptr);
    if (is_error(out->type)) return false;
    if (has_distance(out->type)) return true;
    return blame(checker, expr->span, "`asof` takes numbers, dates, times and durations",
                 type_say(checker, out->type), "compare a part of it that is one");
}

static bool check_kind(Checker *checker, const AstStep *step) {
    if (step->join != JOIN_RIGHT && step->join != JOIN_FULL) return true;
    return blame(checker, step->asof->span, "`asof` keeps no right rows without a match",
                 step->join == JOIN_RIGHT ? "in a right join" : "in a full join",
                 "write `join left`, or the flows the other way round");
}

// Where the value is null, which is asked before, any other one does.
static Value present(Checker *checker, Value value, Span span) {
    if (!value.type->nullable) return value;
    const Type *base = type_base(value.type);
    Value none = const_value(checker, base, (Const){0}, span);
    return node2(checker, EXPR_COALESCE, base, span, value, none);
}

static bool is_negative(Checker *checker, Value value) {
    Const constant;
    if (!const_of(checker, value.id, &constant)) return false;
    if (type_is_float(value.type)) return constant.f < 0;
    if (value.type->kind == TYPE_DECIMAL) return constant.decimal < 0;
    return (!type_is_integer(value.type) || type_is_signed(value.type)) && constant.i < 0;
}

// far - near: an expression over two values.
static Value distance(Checker *checker, const AstStep *step, Value far, Value near) {
    const AstExpr *asof = step->asof;
    const Name names[] = {{TEXT("<far>"), asof->a->span}, {TEXT("<near>"), asof->b->span}};
    AstExpr a = {.kind = AST_NAME, .span = asof->a->span, .name = names[0]},
            b = {.kind = AST_NAME, .span = asof->b->span, .name = names[1]};
    AstExpr minus = {.kind = AST_BINARY, .op = AST_OP_SUB, .span = asof->span, .a = &a, .b = &b,
                     .op_span = asof->op_span};
    Scope scope = {.kind = SCOPE_ROW};
    scope_bind(checker, &scope, names[0].text, present(checker, far, asof->a->span));
    scope_bind(checker, &scope, names[1].text, present(checker, near, asof->b->span));
    return check_expr(checker, &scope, &minus, nullptr);
}

// A distance that has no number is too far.
static Value or_false(Checker *checker, Value value, Span span) {
    if (!graph_faults(checker->graph, value.id)) return value;
    Value no = const_value(checker, value.type, (Const){.i = false}, span);
    Expr payload = {.op = EXPR_ELSE, .type = value.type, .span = span, .handler = ELSE_VALUE};
    return (Value){graph_expr(checker->graph, payload, (ExprId[]){value.id, no.id}, 2), value.type};
}

// Is the right row near enough?
static bool tolerance(Checker *checker, const AstStep *step, Value left, Value right, Value *out) {
    bool back = goes_back(step->asof);
    Span span = step->within->span;
    Value far = distance(checker, step, back ? left : right, back ? right : left);
    if (is_error(far.type)) return false;
    Scope scope = {.kind = SCOPE_JOB, .no_row = true};
    Value most = check_as(checker, &scope, step->within, far.type);
    if (is_error(most.type)) return false;
    if (is_negative(checker, most))
        return blame(checker, span, "a negative distance", "nothing is nearer than 0",
                     "write the distance without a sign");
    *out = or_false(checker, compare(checker, EXPR_LE, far, most, span), span);
    return true;
}

static ExprOp op_of_order(AstOp op) {
    switch (op) {
    case AST_OP_LT: return EXPR_LT;
    case AST_OP_LE: return EXPR_LE;
    case AST_OP_GT: return EXPR_GT;
    default: return EXPR_GE;
    }
}

static ExprOp opposite(AstOp op) { return op == AST_OP_LE ? EXPR_GT : EXPR_GE; }

bool check_asof(Checker *checker, Scope *left, Scope *right, const AstStep *step, Asof *out) {
    const AstExpr *asof = step->asof;
    Value a, b, near;
    bool good = check_kind(checker, step);
    good &= check_side(checker, left, asof->a, &a);
    good &= check_side(checker, right, asof->b, &b);
    if (!good) return false;
    Value holds = compare(checker, op_of_order(asof->op), a, b, asof->span);
    if (is_error(holds.type)) {
        Diag *diag = report(checker, DIAG_ASOF, asof->span, "%s and %s have no order",
                            type_say(checker, a.type), type_say(checker, b.type));
        report_label(checker, diag, asof->span, "left %s, right %s", type_say(checker, a.type),
                     type_say(checker, b.type));
        report_fix(checker, diag, "derive one of them as the type of the other");
        return false;
    }
    if (step->within && !tolerance(checker, step, a, b, &near)) return false;
    if (step->within) out->within = near.id;
    out->seek = holds.id;
    if (goes_back(asof)) return true;
    Value behind = compare(checker, opposite(asof->op), a, b, asof->span);
    out->seek = node1(checker, EXPR_NOT, holds.type, asof->span, behind).id;
    out->within = step->within
                      ? node2(checker, EXPR_AND, holds.type, asof->span, holds, near).id
                      : holds.id;
    return true;
}

Flow sort_asof(Checker *checker, Flow right, const AstStep *step) {
    const AstExpr *asof = step->asof;
    Scope scope = scope_of_flow(checker, right);
    SortKey *key = arena_new_of(checker->arena, SortKey);
    bool back = goes_back(asof);
    *key = (SortKey){check_expr(checker, &scope, asof->b, nullptr).id, !back, !back};
    const Op *input = graph_op_at(checker->graph, right.op);
    const Column *columns = input->columns;
    uint32_t count = input->column_count;
    Span span = step->asof_span;
    Op *op = add_op(checker, OP_SORT, &right, make_step(checker, span), span);
    copy_columns(checker, op, columns, count);
    op->sort.keys = key;
    op->sort.count = 1;
    return right;
}
