// Steps that work on one row at a time: where, derive, select, drop, rename, explode.
#include "frontend/checker.h"

// ---- items ---------------------------------------------------------------------------------------

bool item_name(Checker *checker, const AstItem *item, Name *name) {
    const AstExpr *value = item->value;
    *name = item->name;
    if (name->text.len) return true;
    if (!value || value->kind == AST_ERROR) return false;
    if (value->kind == AST_NAME || value->kind == AST_FIELD) {
        *name = value->name;
        return true;
    }
    Diag *diag = report(checker, DIAG_ITEM_NAME, value->span, "this column needs a name");
    report_label(checker, diag, value->span, "computed");
    Text text = source_text(checker, value->span);
    if (text.len > 40) text = TEXT("...");
    report_fix(checker, diag, "name = %.*s", TEXT_ARG(text));
    return false;
}

Value check_item(Checker *checker, Scope *scope, const AstItem *item) {
    const Type *want = item->type ? resolve_type(checker, item->type) : nullptr;
    Value value = want ? check_as(checker, scope, item->value, want)
                       : check_expr(checker, scope, item->value, nullptr);
    if (!is_null(value.type)) return value;
    Diag *diag = report(checker, DIAG_NULL_TYPE, item->value->span, "null of which type?");
    report_label(checker, diag, item->value->span, "nothing says the type of this column");
    report_fix(checker, diag, "write the type: %.*s: i64? = null", TEXT_ARG(item->name.text));
    return error_value(checker);
}

static bool written_before(Checker *checker, Name name, const Name *names, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!text_eq(names[i].text, name.text)) continue;
        Diag *diag = report(checker, DIAG_DUPLICATE_COLUMN, name.span,
                            "column '%.*s' stands twice in one step", TEXT_ARG(name.text));
        report_label(checker, diag, name.span, "the second one");
        report_label(checker, diag, names[i].span, "the first one");
        report_fix(checker, diag, "rename one of them, or split the step");
        return true;
    }
    return false;
}

Flow project(Checker *checker, Flow flow, const Scope *scope, StepId step, Span span) {
    if (flow.broken) return flow;
    Op *op = add_op(checker, OP_PROJECT, &flow, step, span);
    op->columns = arena_new_array(checker->arena, Column, scope->count + 1);
    op->project.items = arena_new_array(checker->arena, NamedExpr, scope->count + 1);
    op->column_count = op->project.count = scope->count;
    for (uint32_t i = 0; i < scope->count; i++) {
        const Binding *name = &scope->names[i];
        op->columns[i] = (Column){.name = name->name, .type = name->value.type};
        op->project.items[i] = (NamedExpr){.name = name->name, .expr = name->value.id};
    }
    return flow;
}

static bool scope_broken(const Scope *scope) {
    for (uint32_t i = 0; i < scope->count; i++)
        if (is_error(scope->names[i].value.type)) return true;
    return false;
}

// The flow behind a projection; broken if a column's type is not known.
static Flow projected(Checker *checker, Flow flow, const Scope *scope, bool good,
                      const AstStep *step) {
    if (flow.broken || !good || scope_broken(scope)) return broken_flow();
    return project(checker, flow, scope, make_step(checker, step->span), step->span);
}

// ---- steps -----------------------------------------------------------------------------------------

// A `where` directly behind the read of this flow is judged before the other columns are parsed.
static void add_prefilter(Checker *checker, Op *source, PreFilter filter) {
    SourceOp *read = &source->source;
    PreFilter *filters = arena_new_array(checker->arena, PreFilter, read->filter_count + 1);
    for (uint32_t i = 0; i < read->filter_count; i++) filters[i] = read->filters[i];
    filters[read->filter_count++] = filter;
    read->filters = filters;
}

Flow step_where(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow);
    if (!step->item_count) return broken_flow();
    Value pred = check_condition(checker, &scope, step->items[0].value);
    if (flow.broken || is_error(pred.type)) return flow;
    StepId id = make_step(checker, step->span);
    if (flow.fresh) {
        add_prefilter(checker, graph_op_at(checker->graph, flow.op), (PreFilter){pred.id, id});
        return flow;
    }
    const Op *input = graph_op_at(checker->graph, flow.op);
    Column *columns = input->columns;
    uint32_t count = input->column_count;
    Op *op = add_op(checker, OP_FILTER, &flow, id, step->span);
    copy_columns(checker, op, columns, count);
    op->filter.pred = pred.id;
    return flow;
}

Flow step_derive(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow);
    Name *names = arena_new_array(checker->arena, Name, step->item_count + 1);
    uint32_t count = 0;
    bool good = true;
    for (uint32_t i = 0; i < step->item_count; i++) {
        Value value = check_item(checker, &scope, &step->items[i]);
        Name name;
        if (!item_name(checker, &step->items[i], &name)) {
            good = false;
            continue;
        }
        if (!written_before(checker, name, names, count)) names[count++] = name;
        else good = false;
        scope_bind(checker, &scope, name.text, value);
    }
    return projected(checker, flow, &scope, good, step);
}

Flow step_select(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow), out = {.kind = SCOPE_ROW};
    Name *names = arena_new_array(checker->arena, Name, step->item_count + 1);
    uint32_t count = 0;
    bool good = true;
    for (uint32_t i = 0; i < step->item_count; i++) {
        Value value = check_item(checker, &scope, &step->items[i]);
        Name name;
        bool named = item_name(checker, &step->items[i], &name);
        good &= named;
        if (!named) continue;
        if (written_before(checker, name, names, count)) good = false;
        else {
            names[count++] = name;
            scope_bind(checker, &out, name.text, value);
        }
    }
    return projected(checker, flow, &out, good, step);
}

// The column that an item of drop or rename names; null: reported, or nobody knows the columns.
static Binding *named_column(Checker *checker, Scope *scope, const AstItem *item,
                             const AstStep *step) {
    const AstExpr *value = item->value;
    if (scope->unknown || !value || value->kind == AST_ERROR) return nullptr;
    if (value->kind != AST_NAME) {
        Diag *diag = report(checker, DIAG_NOT_A_COLUMN, value->span, "'%.*s' takes names of columns",
                            TEXT_ARG(step->keyword.text));
        report_label(checker, diag, value->span, "an expression");
        report_fix(checker, diag, "compute columns with `derive`");
        return nullptr;
    }
    Binding *binding = scope_find(scope, value->name.text);
    if (binding) return binding;
    Diag *diag = report(checker, DIAG_UNKNOWN_COLUMN, value->span, "no column '%.*s'",
                        TEXT_ARG(value->name.text));
    report_label(checker, diag, value->span, "the flow does not have it here");
    Text *names = arena_new_array(checker->arena, Text, scope->count + 1);
    for (uint32_t i = 0; i < scope->count; i++) names[i] = scope->names[i].name;
    fix_names(checker, diag, value->name.text, names, scope->count);
    return nullptr;
}

Flow step_drop(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow), out = {.kind = SCOPE_ROW};
    bool *dropped = arena_new_array(checker->arena, bool, scope.count + 1);
    bool good = true;
    for (uint32_t i = 0; i < step->item_count; i++) {
        Binding *binding = named_column(checker, &scope, &step->items[i], step);
        if (binding) dropped[binding - scope.names] = true;
        else good = false;
    }
    for (uint32_t i = 0; i < scope.count; i++)
        if (!dropped[i]) scope_bind(checker, &out, scope.names[i].name, scope.names[i].value);
    if (good && !flow.broken && !out.count) {
        Diag *diag = report(checker, DIAG_NO_COLUMNS, step->span, "no column is left");
        report_label(checker, diag, step->span, "drops all of them");
        report_fix(checker, diag, "keep one; to count rows: | aggregate { rows = count() }");
        good = false;
    }
    return projected(checker, flow, &out, good, step);
}

Flow step_rename(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow), out = {.kind = SCOPE_ROW};
    Text *names = arena_new_array(checker->arena, Text, scope.count + 1);
    for (uint32_t i = 0; i < scope.count; i++) names[i] = scope.names[i].name;
    bool good = true;
    for (uint32_t i = 0; i < step->item_count; i++) {
        const AstItem *item = &step->items[i];
        Binding *binding = named_column(checker, &scope, item, step);
        if (binding) names[binding - scope.names] = item->name.text;
        else good = false;
    }
    for (uint32_t i = 0; i < scope.count; i++) {
        if (!scope_find(&out, names[i])) {
            scope_bind(checker, &out, names[i], scope.names[i].value);
            continue;
        }
        Diag *diag = report(checker, DIAG_DUPLICATE_COLUMN, step->span,
                            "two columns would be named '%.*s'", TEXT_ARG(names[i]));
        report_label(checker, diag, step->span, "one is there already");
        report_fix(checker, diag, "drop or rename the other one too");
        good = false;
    }
    return projected(checker, flow, &out, good, step);
}

// The list is computed first, if it is no bare column, and then taken apart.
Flow step_explode(Checker *checker, Flow flow, const AstStep *step) {
    if (!step->item_count) return broken_flow();
    const AstItem *item = &step->items[0];
    Scope scope = scope_of_flow(checker, flow);
    Value value = check_item(checker, &scope, item);
    Name name;
    if (!item_name(checker, item, &name) || is_error(value.type) || flow.broken)
        return broken_flow();
    if (type_base(value.type)->kind != TYPE_LIST) {
        Diag *diag = report(checker, DIAG_EXPLODE_LIST, item->value->span,
                            "`explode` takes a list, not %s", type_say(checker, value.type));
        report_label(checker, diag, item->value->span, "%s", type_say(checker, value.type));
        if (value.type->kind == TYPE_STR)
            report_fix(checker, diag, "make a list of it: explode %.*s = split(%.*s, \" \")",
                       TEXT_ARG(name.text), TEXT_ARG(source_text(checker, item->value->span)));
        else report_fix(checker, diag, "name a column of a list type");
        return broken_flow();
    }
    StepId id = make_step(checker, step->span);
    bool bare = item->value->kind == AST_NAME && text_eq(name.text, item->value->name.text);
    if (!bare) {
        scope_bind(checker, &scope, name.text, value);
        flow = project(checker, flow, &scope, id, step->span);
    }
    const Op *input = graph_op_at(checker->graph, flow.op);
    Column *columns = input->columns;
    uint32_t count = input->column_count;
    Op *op = add_op(checker, OP_EXPLODE, &flow, id, step->span);
    copy_columns(checker, op, columns, count);
    for (uint32_t i = 0; i < count; i++)
        if (text_eq(op->columns[i].name, name.text)) op->explode.column = i;
    op->columns[op->explode.column].type = type_base(value.type)->elem;
    return flow;
}
