// Steps that work on one row at a time: where, derive, select, drop, rename, explode.
#include "frontend/checker.h"

// ---- items --------------------------------------------------------------------------------------

bool item_name(const AstItem *item, Name *name) {
    const AstExpr *value = item->value;
    *name = item->name;
    if (name->text.len) return true;
    if (!value || value->kind != AST_NAME) return false;  // The parser reported it.
    *name = value->name;
    return true;
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

bool written_before(Checker *checker, Name name, const Name *names, uint32_t count) {
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
    if (calls_batches(checker, scope)) return project_batches(checker, flow, scope, step, span);
    Op *op = add_op(checker, OP_PROJECT, &flow, step, span);
    op->columns = arena_new_array(checker->arena, Column, scope->count + 1);
    op->project.items = arena_new_array(checker->arena, NamedExpr, scope->count + 1);
    op->column_count = op->project.count = scope->count;
    for (uint32_t i = 0; i < scope->count; i++) {
        const Binding *name = &scope->names[i];
        op->columns[i] = (Column){.name = name->name, .type = name->value.type};
        op->project.items[i] = (NamedExpr){.name = name->name, .expr = name->value.id};
        note_tensor_item(checker, op, i, name);
    }
    return flow;
}

// The flow after a projection; broken if its names are not known. A column of unknown type stays,
// so that other mistakes in later steps are found at once.
static Flow projected(Checker *checker, Flow flow, const Scope *scope, bool good,
                      const AstStep *step) {
    if (flow.broken || !good) return broken_flow();
    return project(checker, flow, scope, make_step(checker, step->span), step->span);
}

// ---- steps --------------------------------------------------------------------------------------

// A `where` directly after the read of this flow is judged before the other columns are parsed.
static void add_prefilter(Checker *checker, Op *source, PreFilter filter) {
    SourceOp *read = &source->source;
    PreFilter *filters = arena_new_array(checker->arena, PreFilter, read->filter_count + 1);
    for (uint32_t i = 0; i < read->filter_count; i++) filters[i] = read->filters[i];
    filters[read->filter_count++] = filter;
    read->filters = filters;
}

// A condition that is wrong may have meant to leave nulls out of the columns that it names.
static Flow doubt_nulls(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow);
    for (uint32_t i = 0; i < scope.count; i++) {
        Binding *column = &scope.names[i];
        if (column->value.type->nullable && names_column(step->items[0].value, column->name))
            column->value = error_value(checker);
    }
    flow.keyed = false;
    return project(checker, flow, &scope, STEP_NONE, step->span);
}

Flow step_where(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow);
    if (!step->item_count) return broken_flow();
    Value pred = check_condition(checker, &scope, step->items[0].value);
    if (flow.broken) return flow;
    if (is_error(pred.type)) return doubt_nulls(checker, flow, step);
    StepId id = make_step(checker, step->span);
    if (flow.fresh) {
        add_prefilter(checker, graph_op_at(checker->graph, flow.op), (PreFilter){pred.id, id});
        narrow_flow(checker, &flow, pred.id);
        return flow;
    }
    const Op *input = graph_op_at(checker->graph, flow.op);
    Column *columns = input->columns;
    uint32_t count = input->column_count;
    const bool *present = flow.present;
    Op *op = add_op(checker, OP_FILTER, &flow, id, step->span);
    copy_columns(checker, op, columns, count);
    op->filter.pred = pred.id;
    flow.present = present;
    narrow_flow(checker, &flow, pred.id);
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
        if (!item_name(&step->items[i], &name)) {
            good = false;
            continue;
        }
        if (!written_before(checker, name, names, count)) names[count++] = name;
        else good = false;
        scope_bind(checker, &scope, name.text, value);
        scope_find(&scope, name.text)->from = step->items[i].span;
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
        bool named = item_name(&step->items[i], &name);
        good &= named;
        if (!named) continue;
        flow.unsure |= is_error(value.type) && !step->items[i].name.text.len;
        if (written_before(checker, name, names, count)) good = false;
        else {
            names[count++] = name;
            scope_bind(checker, &out, name.text, value);
            scope_find(&out, name.text)->from = step->items[i].span;
        }
    }
    return projected(checker, flow, &out, good, step);
}

Binding *named_column(Checker *checker, Scope *scope, const AstItem *item) {
    const AstExpr *value = item->value;
    if (scope->unknown || !value || value->kind != AST_NAME) return nullptr;
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
        Binding *binding = named_column(checker, &scope, &step->items[i]);
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
    Name *taken = arena_new_array(checker->arena, Name, step->item_count + 1);
    uint32_t taken_count = 0;
    bool good = true;
    for (uint32_t i = 0; i < step->item_count; i++) {
        const AstItem *item = &step->items[i];
        Binding *binding = named_column(checker, &scope, item);
        if (!binding || written_before(checker, item->value->name, taken, taken_count)) {
            good = false;
            continue;
        }
        taken[taken_count++] = item->value->name;
        names[binding - scope.names] = item->name.text;
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

Flow explode_column(Checker *checker, Flow flow, uint32_t column, bool outer, StepId step,
                    Span span) {
    const Op *input = graph_op_at(checker->graph, flow.op);
    Column *columns = input->columns;
    uint32_t count = input->column_count;
    Op *op = add_op(checker, OP_EXPLODE, &flow, step, span);
    copy_columns(checker, op, columns, count);
    const Type *elem = type_base(columns[column].type)->elem;
    op->explode.column = column;
    op->explode.outer = outer;
    op->columns[column].type = outer ? type_nullable(elem) : elem;
    return flow;
}

Flow step_explode(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow);
    Binding *list = step->item_count ? named_column(checker, &scope, &step->items[0]) : nullptr;
    if (!list) return broken_flow();
    const Type *type = type_base(list->value.type);
    if (is_error(type)) return broken_flow();
    if (type->kind != TYPE_LIST) {
        Span span = step->items[0].span;
        Diag *diag = report(checker, DIAG_EXPLODE_LIST, span, "`explode` takes a list, not %s",
                            type_say(checker, list->value.type));
        report_label(checker, diag, span, "%s", type_say(checker, list->value.type));
        if (type->kind == TYPE_STR)
            report_fix(checker, diag, "make a list of it: derive %.*s = split(%.*s, \" \")",
                       TEXT_ARG(list->name), TEXT_ARG(list->name));
        else if (type->kind == TYPE_MAP)
            report_fix(checker, diag, "make a list of it: derive %.*s = entries(%.*s)",
                       TEXT_ARG(list->name), TEXT_ARG(list->name));
        else report_fix(checker, diag, "name a column of a list type");
        return broken_flow();
    }
    uint32_t column = graph_at(checker->graph, list->value.id)->index;
    return explode_column(checker, flow, column, step->outer, make_step(checker, step->span),
                          step->span);
}
