// Steps that look at several rows: group, aggregate, sort, distinct, limit, shuffle, sample.
#include "frontend/checker.h"

// ---- keys ---------------------------------------------------------------------------------------

bool good_key(Checker *checker, Value value, Span span, DiagCode code, const char *use) {
    if (is_error(value.type)) return false;
    if (type_is_key(value.type)) return true;
    Diag *diag = report(checker, code, span, "%s cannot be %s", type_say(checker, value.type), use);
    report_label(checker, diag, span, "%s", type_say(checker, value.type));
    report_fix(checker, diag, "use a part of it, or its text: str(...)");
    return false;
}

static bool group_keys(Checker *checker, const AstStep *step, GroupBuild *group) {
    group->keys = arena_new_array(checker->arena, NamedExpr, step->item_count + 1);
    group->key_types = arena_new_array(checker->arena, const Type *, step->item_count + 1);
    bool good = true;
    for (uint32_t i = 0; i < step->item_count; i++) {
        const AstItem *item = &step->items[i];
        Value value = check_item(checker, group->input, item);
        Name name;
        good &= good_key(checker, value, item->span, DIAG_KEY_TYPE, "a key of a group");
        if (!item_name(item, &name)) return false;
        for (uint32_t j = 0; j < group->key_count; j++) {
            if (!text_eq(group->keys[j].name, name.text)) continue;
            Diag *diag = report(checker, DIAG_DUPLICATE_COLUMN, name.span,
                                "key '%.*s' stands twice", TEXT_ARG(name.text));
            report_label(checker, diag, name.span, "the second one");
            report_fix(checker, diag, "rename one of them");
            good = false;
        }
        group->key_types[group->key_count] = value.type;
        group->keys[group->key_count++] = (NamedExpr){.name = name.text, .expr = value.id};
    }
    return good;
}

// ---- group and aggregate ------------------------------------------------------------------------

static bool result_name(Checker *checker, const AstItem *item, const Scope *out, Name *name) {
    if (!item_name(item, name)) return false;
    if (!scope_find(out, name->text)) return true;
    Diag *diag = report(checker, DIAG_DUPLICATE_COLUMN, name->span,
                        "column '%.*s' stands twice in one step", TEXT_ARG(name->text));
    report_label(checker, diag, name->span, "the second one");
    report_fix(checker, diag, "rename one of them");
    return false;
}

static const char *step_word(const AstStep *step) {
    if (step->kind == AST_PIVOT) return "`pivot`";
    return step->kind == AST_GROUP ? "`group`" : "`aggregate`";
}

// The results of the items, over the group's own columns, as they will leave the step.
static bool group_results(Checker *checker, const AstStep *step, GroupBuild *group, Scope *out) {
    Scope result = {.kind = SCOPE_RESULT, .group = group, .no_row = true,
                    .unknown = group->input->unknown,
                    .lost_place = step_word(step)};
    for (uint32_t i = 0; i < group->key_count; i++) {
        const Type *type = group->key_types[i];
        Value key = error_value(checker);
        if (!is_error(type))
            key = (Value){graph_column(checker->graph, 0, i, type, step->span), type};
        scope_bind(checker, &result, group->keys[i].name, key);
        scope_bind(checker, out, group->keys[i].name, key);
    }
    bool good = true;
    group->step = step;
    for (uint32_t i = 0; i < step->agg_count; i++) {
        group->only = pivot_condition(checker, step, i);
        Value value = check_item(checker, &result, &step->aggs[i]);
        Name name;
        good &= !is_error(value.type);
        if (result_name(checker, &step->aggs[i], out, &name))
            scope_bind(checker, out, name.text, value);
        else good = false;
    }
    return good;
}

// Do the results leave the group as they are: each aggregate once, in order?
static bool results_plain(Checker *checker, const GroupBuild *group, const Scope *out) {
    if (out->count != group->key_count + group->agg_count) return false;
    for (uint32_t i = 0; i < out->count; i++) {
        const Expr *expr = graph_at(checker->graph, out->names[i].value.id);
        if (expr->op != EXPR_COLUMN || expr->index != i) return false;
    }
    return true;
}

// An aggregate that is all of an item goes by the item's name, others by their text: that is what
// a reject of the finished row shows.
static Text aggregate_name(Checker *checker, const Agg *agg, uint32_t column, const Scope *out) {
    for (uint32_t i = 0; i < out->count; i++) {
        const Expr *expr = graph_at(checker->graph, out->names[i].value.id);
        if (expr->op == EXPR_COLUMN && expr->index == column) return out->names[i].name;
    }
    return step_label(checker, agg->span);
}

static void fill_group(Checker *checker, Op *op, GroupBuild *group, const Scope *out) {
    uint32_t count = group->key_count + group->agg_count;
    op->columns = arena_new_array(checker->arena, Column, count + 1);
    op->column_count = count;
    for (uint32_t i = 0; i < group->key_count; i++)
        op->columns[i] = (Column){.name = group->keys[i].name, .type = group->key_types[i]};
    for (uint32_t i = 0; i < group->agg_count; i++) {
        uint32_t at = group->key_count + i;
        Text name = aggregate_name(checker, &group->aggs[i], at, out);
        group->aggs[i].name = name;
        op->columns[at] = (Column){.name = name, .type = group->aggs[i].type};
    }
    op->group.keys = group->keys;
    op->group.key_count = group->key_count;
    op->group.aggs = group->aggs;
    op->group.agg_count = group->agg_count;
}

Flow step_group(Checker *checker, Flow flow, const AstStep *step) {
    Scope input = scope_of_flow(checker, flow), out = {.kind = SCOPE_ROW};
    GroupBuild group = {.input = &input};
    bool good = group_keys(checker, step, &group);
    good &= group_results(checker, step, &group, &out);
    if (good && !out.count && !flow.broken) {
        Diag *diag = report(checker, DIAG_NO_COLUMNS, step->span, "no column is left");
        report_label(checker, diag, step->span, "neither keys nor aggregates");
        report_fix(checker, diag, "aggregate { rows = count() }");
        good = false;
    }
    if (!good || flow.broken) return broken_flow();
    flow.unsure = false;  // Every result has been named and found.
    StepId id = make_step(checker, step->span);
    Op *op = add_op(checker, OP_GROUP, &flow, id, step->span);
    fill_group(checker, op, &group, &out);
    if (!results_plain(checker, &group, &out)) flow = project(checker, flow, &out, id, step->span);
    return lose_place(flow, step_word(step));
}

// ---- sort and distinct --------------------------------------------------------------------------

Op *same_columns(Checker *checker, OpKind kind, Flow *flow, StepId step, Span span) {
    const Op *input = graph_op_at(checker->graph, flow->op);
    Column *columns = input->columns;
    uint32_t count = input->column_count;
    Op *op = add_op(checker, kind, flow, step, span);
    copy_columns(checker, op, columns, count);
    return op;
}

static Op *one_step(Checker *checker, OpKind kind, Flow *flow, const AstStep *step) {
    return same_columns(checker, kind, flow, make_step(checker, step->span), step->span);
}

bool sort_keys(Checker *checker, Scope *scope, const AstItem *items, uint32_t count,
               SortKey *keys) {
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        Value value = check_item(checker, scope, &items[i]);
        good &= good_key(checker, value, items[i].span, DIAG_SORT_TYPE, "sorted by");
        keys[i] = (SortKey){value.id, items[i].descending, items[i].nulls_first};
    }
    return good;
}

Flow step_sort(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow);
    SortKey *keys = arena_new_array(checker->arena, SortKey, step->item_count + 1);
    bool good = sort_keys(checker, &scope, step->items, step->item_count, keys) &&
                step->item_count > 0;
    if (flow.broken || !good) return lose_place(flow, "`sort`");
    Op *op = one_step(checker, OP_SORT, &flow, step);
    op->sort.keys = keys;
    op->sort.count = step->item_count;
    return lose_place(flow, "`sort`");
}

Flow step_distinct(Checker *checker, Flow flow, const AstStep *step) {
    if (step->keeps) return keep_one(checker, flow, step);
    Scope scope = scope_of_flow(checker, flow);
    uint32_t count = step->item_count;
    ExprId *keys = arena_new_array(checker->arena, ExprId, count + 1);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        Value value = check_item(checker, &scope, &step->items[i]);
        good &= good_key(checker, value, step->items[i].span, DIAG_KEY_TYPE, "a key of `distinct`");
        keys[i] = value.id;
    }
    for (uint32_t i = 0; i < scope.count && !count; i++)
        good &= good_key(checker, scope.names[i].value, step->span, DIAG_KEY_TYPE,
                         "a key of `distinct`");
    if (flow.broken || !good) return lose_place(flow, "`distinct`");
    Op *op = one_step(checker, OP_DISTINCT, &flow, step);
    op->distinct.keys = keys;
    op->distinct.count = count;
    return lose_place(flow, "`distinct`");
}

// ---- limit, shuffle, sample ---------------------------------------------------------------------

// An item that is known before rows are: constants and params.
static Value job_item(Checker *checker, const AstStep *step, uint32_t index, TypeKind kind) {
    Scope scope = {.kind = SCOPE_JOB, .no_row = true};
    if (index >= step->item_count) return error_value(checker);
    return check_as(checker, &scope, step->items[index].value, kind_type(checker, kind));
}

Flow step_limit(Checker *checker, Flow flow, const AstStep *step) {
    Value count = job_item(checker, step, 0, TYPE_I64);
    const char *name = step->kind == AST_LIMIT ? "`limit`" : "`skip`";
    Const constant;
    if (const_of(checker, count.id, &constant) && constant.i < 0) {
        Diag *diag = report(checker, DIAG_NEGATIVE_COUNT, step->items[0].span,
                            "%s of fewer than no rows", name);
        report_label(checker, diag, step->items[0].span, "negative");
        report_fix(checker, diag, "give a number from 0 on");
        count = error_value(checker);
    }
    if (flow.broken || is_error(count.type)) return lose_place(flow, name);
    Op *op = one_step(checker, OP_LIMIT, &flow, step);
    op->limit.count = step->kind == AST_LIMIT ? count.id : EXPR_NONE;
    op->limit.skip = step->kind == AST_SKIP ? count.id : EXPR_NONE;
    return lose_place(flow, name);
}

Flow step_shuffle(Checker *checker, Flow flow, const AstStep *step) {
    Value seed = job_item(checker, step, 0, TYPE_I64);
    if (flow.broken || is_error(seed.type)) return lose_place(flow, "`shuffle`");
    Op *op = one_step(checker, OP_SHUFFLE, &flow, step);
    op->shuffle.seed = seed.id;
    return lose_place(flow, "`shuffle`");
}

Flow step_sample(Checker *checker, Flow flow, const AstStep *step) {
    Value fraction = job_item(checker, step, 0, TYPE_F64);
    Value seed = job_item(checker, step, 1, TYPE_I64);
    Const constant;
    if (const_of(checker, fraction.id, &constant) && !(constant.f >= 0 && constant.f <= 1)) {
        Diag *diag = report(checker, DIAG_FRACTION, step->items[0].span,
                            "a sample takes a part from 0 to 1");
        report_label(checker, diag, step->items[0].span, "out of bounds");
        report_fix(checker, diag, "one row in a hundred: sample 1%% seed 1");
        return flow;
    }
    if (flow.broken || is_error(fraction.type) || is_error(seed.type)) return flow;
    Op *op = one_step(checker, OP_SAMPLE, &flow, step);
    op->sample.fraction = fraction.id;
    op->sample.seed = seed.id;
    return flow;
}
