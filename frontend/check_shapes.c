// Steps that make columns of rows, and rows of columns: pivot and unpivot.
#include "frontend/checker.h"

// ---- pivot --------------------------------------------------------------------------------------

static AstExpr *new_expr(Checker *checker, AstExprKind kind, Span span) {
    AstExpr *expr = arena_new_of(checker->arena, AstExpr);
    *expr = (AstExpr){.kind = kind, .span = span, .height = 1};
    return expr;
}

const AstExpr *pivot_condition(Checker *checker, const AstStep *step, uint32_t item) {
    if (step->kind != AST_PIVOT) return nullptr;
    AstExpr *equal = new_expr(checker, AST_BINARY, step->aggs[item].key->span);
    equal->op = AST_OP_EQ;
    equal->op_span = equal->span;
    equal->a = step->count->value;
    equal->b = step->aggs[item].key;
    return equal;
}

// Names that the expression speaks of, marked in the scope.
static void mark_names(const Scope *scope, bool *named, const AstExpr *expr) {
    if (!expr) return;
    if (expr->kind == AST_NAME)
        for (uint32_t i = 0; i < scope->count; i++)
            named[i] |= text_eq(scope->names[i].name, expr->name.text);
    const AstExpr *const parts[] = {expr->a, expr->b, expr->c, expr->where};
    for (size_t i = 0; i < countof(parts); i++) mark_names(scope, named, parts[i]);
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        mark_names(scope, named, expr->args[i].value);
        mark_names(scope, named, expr->args[i].where);
    }
    for (uint32_t i = 0; i < expr->arm_count; i++) {
        mark_names(scope, named, expr->arms[i].condition);
        mark_names(scope, named, expr->arms[i].value);
    }
}

// The columns that the step names nowhere, as keys.
static void other_columns(Checker *checker, const Scope *scope, AstStep *step) {
    bool *named = arena_new_array(checker->arena, bool, scope->count + 1);
    mark_names(scope, named, step->count->value);
    for (uint32_t i = 0; i < step->agg_count; i++) mark_names(scope, named, step->aggs[i].value);
    step->items = arena_new_array(checker->arena, AstItem, scope->count + 1);
    for (uint32_t i = 0; i < scope->count; i++) {
        if (named[i]) continue;
        Name name = {scope->names[i].name, step->keyword.span};
        AstExpr *value = new_expr(checker, AST_NAME, name.span);
        value->name = name;
        step->items[step->item_count++] = (AstItem){.value = value, .span = name.span};
    }
}

// Is the literal in front of each item a value of the type that is pivoted?
static bool good_values(Checker *checker, const AstStep *step, const Type *type) {
    const Type *base = type_base(type);
    for (uint32_t i = 0; i < step->agg_count; i++) {
        const AstExpr *key = step->aggs[i].key;
        bool fits = key->kind == AST_STR    ? base->kind == TYPE_STR
                    : key->kind == AST_BOOL ? base->kind == TYPE_BOOL
                                            : type_is_integer(base);
        if (fits || key->kind == AST_ERROR) continue;
        Diag *diag = report(checker, DIAG_PIVOT_VALUE, key->span, "no value of %s",
                            type_say(checker, type));
        report_label(checker, diag, step->count->span, "%s", type_say(checker, type));
        Text text = source_text(checker, step->count->span);
        if (base->kind == TYPE_STR) report_fix(checker, diag, "write a text: \"...\"");
        else
            report_fix(checker, diag,
                       "write one of that type, or texts: pivot str(%.*s) { \"...\" = ... }",
                       TEXT_ARG(text));
        return false;
    }
    return true;
}

Flow step_pivot(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow);
    Value subject = check_expr(checker, &scope, step->count->value, nullptr);
    if (is_error(subject.type) || scope.unknown) return broken_flow();
    if (!good_key(checker, subject, step->count->span, DIAG_KEY_TYPE,
                  "what `pivot` makes columns of") ||
        !good_values(checker, step, subject.type))
        return broken_flow();
    AstStep group = *step;
    if (!step->item_count) other_columns(checker, &scope, &group);
    return step_group(checker, flow, &group);
}

// ---- unpivot ------------------------------------------------------------------------------------

// [{name: "a", value: a}, ...] with values of the type that all columns have in common.
static Value rows_of(Checker *checker, Scope *scope, const AstStep *step) {
    AstExpr *values = new_expr(checker, AST_LIST, step->span);
    AstExpr *rows = new_expr(checker, AST_LIST, step->span);
    values->arg_count = rows->arg_count = step->item_count;
    values->args = arena_new_array(checker->arena, AstArg, step->item_count + 1);
    rows->args = arena_new_array(checker->arena, AstArg, step->item_count + 1);
    for (uint32_t i = 0; i < step->item_count; i++) {
        const AstItem *column = &step->items[i];
        AstExpr *row = new_expr(checker, AST_STRUCT, column->span);
        AstExpr *name = new_expr(checker, AST_STR, column->span);
        name->text = column->name.text;
        row->arg_count = 2;
        row->args = arena_new_array(checker->arena, AstArg, 2);
        row->args[0] = (AstArg){.name = {TEXT("name"), column->span}, .value = name};
        row->args[1] = (AstArg){.name = {TEXT("value"), column->span}, .value = column->value};
        values->args[i].value = column->value;
        rows->args[i].value = row;
    }
    Value list = check_expr(checker, scope, values, nullptr);
    if (is_error(list.type)) return list;
    TypeTable *types = checker->types;
    Field fields[] = {{TEXT("name"), kind_type(checker, TYPE_STR)},
                      {TEXT("value"), list.type->elem}};
    const Type *row = type_struct(types, fields, countof(fields));
    return check_as(checker, scope, rows, type_list(types, row));
}

static Value field_of(Checker *checker, Value row, uint32_t field, Span span) {
    const Type *type = row.type->fields[field].type;
    Expr payload = {.op = EXPR_FIELD, .type = type, .span = span, .index = field};
    return (Value){graph_expr(checker->graph, payload, &row.id, 1), type};
}

Flow step_unpivot(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow);
    Scope wide = {.kind = SCOPE_ROW}, out = {.kind = SCOPE_ROW};
    bool *taken = arena_new_array(checker->arena, bool, scope.count + 1), good = true;
    Name *names = arena_new_array(checker->arena, Name, scope.count + step->item_count + 2);
    for (uint32_t i = 0; i < step->item_count; i++) {
        const Binding *binding = named_column(checker, &scope, &step->items[i]);
        good &= binding && !written_before(checker, step->items[i].name, names, i);
        names[i] = step->items[i].name;
        if (binding) taken[binding - scope.names] = true;
    }
    if (!good || flow.broken) return broken_flow();
    Value rows = rows_of(checker, &scope, step);
    if (is_error(rows.type)) return broken_flow();
    uint32_t count = 0;
    for (uint32_t i = 0; i < scope.count; i++) {
        if (taken[i]) continue;
        names[count++] = (Name){scope.names[i].name, step->keyword.span};
        scope_bind(checker, &wide, scope.names[i].name, scope.names[i].value);
    }
    for (uint32_t i = 0; i < step->agg_count; i++) {
        good &= !written_before(checker, step->aggs[i].name, names, count);
        names[count++] = step->aggs[i].name;
    }
    if (!good) return broken_flow();
    StepId id = make_step(checker, step->span);
    scope_bind(checker, &wide, step->aggs[0].name.text, rows);
    flow = project(checker, flow, &wide, id, step->span);
    flow = explode_column(checker, flow, wide.count - 1, false, id, step->span);
    Scope long_ = scope_of_flow(checker, flow);
    for (uint32_t i = 0; i + 1 < long_.count; i++)
        scope_bind(checker, &out, long_.names[i].name, long_.names[i].value);
    for (uint32_t i = 0; i < step->agg_count; i++)
        scope_bind(checker, &out, step->aggs[i].name.text,
                   field_of(checker, long_.names[long_.count - 1].value, i, step->span));
    return project(checker, flow, &out, id, step->span);
}
