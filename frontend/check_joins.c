// Steps of two flows: join, union, zip.
#include "frontend/checker.h"

typedef struct JoinBuild {
    Flow      left, right;
    Scope     left_scope, right_scope;
    JoinKind  kind;
    ExprId   *left_keys, *right_keys;
    uint32_t  key_count;
    int      *merged;   // By right column: the left column it merges into, or -1.
} JoinBuild;

// ---- keys ---------------------------------------------------------------------------------------

static bool add_key(Checker *checker, JoinBuild *join, Value left, Value right, Span span) {
    if (is_error(left.type) || is_error(right.type)) return false;
    if (type_base(left.type) != type_base(right.type)) {
        Diag *diag = report(checker, DIAG_JOIN_KEY_TYPES, span,
                            "keys of different types: %s and %s",
                            type_say(checker, left.type), type_say(checker, right.type));
        report_label(checker, diag, span, "left %s, right %s", type_say(checker, left.type),
                     type_say(checker, right.type));
        const Type *base = type_base(left.type);
        if (type_is_nested(base)) report_fix(checker, diag, "join on columns of one type");
        else
            report_fix(checker, diag, "derive a key of one type before the join: %s(...)",
                       type_kind_name(base->kind));
        return false;
    }
    if (!type_is_key(left.type)) {
        Diag *diag = report(checker, DIAG_KEY_TYPE, span, "%s cannot be a key of a join",
                            type_say(checker, left.type));
        report_label(checker, diag, span, "%s", type_say(checker, left.type));
        report_fix(checker, diag, "use a part of it, or its text: str(...)");
        return false;
    }
    join->left_keys[join->key_count] = left.id;
    join->right_keys[join->key_count++] = right.id;
    return true;
}

static Binding *side_column(Checker *checker, Scope *scope, Name name, const char *side) {
    Binding *binding = scope_find(scope, name.text);
    if (binding || scope->unknown) return binding;
    Diag *diag = report(checker, DIAG_UNKNOWN_COLUMN, name.span, "the %s flow has no column '%.*s'",
                        side, TEXT_ARG(name.text));
    report_label(checker, diag, name.span, "missing on the %s", side);
    Text *names = arena_new_array(checker->arena, Text, scope->count + 1);
    for (uint32_t i = 0; i < scope->count; i++) names[i] = scope->names[i].name;
    fix_names(checker, diag, name.text, names, scope->count);
    return nullptr;
}

// The key of `on k` that neither side has: one mistake, so one error.
static bool nobodys_column(Checker *checker, const JoinBuild *join, Name name) {
    const Scope *left = &join->left_scope, *right = &join->right_scope;
    if (left->unknown || right->unknown || scope_find(left, name.text) ||
        scope_find(right, name.text))
        return false;
    Diag *diag = report(checker, DIAG_UNKNOWN_COLUMN, name.span, "neither flow has a column '%.*s'",
                        TEXT_ARG(name.text));
    report_label(checker, diag, name.span, "missing on the left and on the right");
    Text *names = arena_new_array(checker->arena, Text, left->count + 1);
    size_t count = 0;
    for (uint32_t i = 0; i < left->count; i++)  // Those that would do.
        if (scope_find(right, left->names[i].name)) names[count++] = left->names[i].name;
    if (count) fix_names(checker, diag, name.text, names, count);
    else report_fix(checker, diag, "the flows share no name: join F on a == b, a of the left flow");
    return true;
}

static bool merged_key(Checker *checker, JoinBuild *join, Name name) {
    if (nobodys_column(checker, join, name)) return false;
    Binding *left = side_column(checker, &join->left_scope, name, "left");
    Binding *right = side_column(checker, &join->right_scope, name, "right");
    if (!left || !right) return false;
    join->merged[right - join->right_scope.names] = (int)(left - join->left_scope.names);
    return add_key(checker, join, left->value, right->value, name.span);
}

static bool join_keys(Checker *checker, JoinBuild *join, const AstStep *step) {
    uint32_t room = step->item_count + step->on_count + 1;
    join->left_keys = arena_new_array(checker->arena, ExprId, room);
    join->right_keys = arena_new_array(checker->arena, ExprId, room);
    join->merged = arena_new_array(checker->arena, int, join->right_scope.count + 1);
    for (uint32_t i = 0; i < join->right_scope.count; i++) join->merged[i] = -1;
    bool good = true;
    for (uint32_t i = 0; i < step->item_count; i++) {
        const AstExpr *value = step->items[i].value;
        bool named = value && value->kind == AST_NAME;
        good &= named && merged_key(checker, join, value->name);
    }
    for (uint32_t i = 0; i < step->on_count; i++) {
        const AstExpr *a = step->on_left[i], *b = step->on_right[i];
        bool one_name = a && b && a->kind == AST_NAME && b->kind == AST_NAME &&
                        text_eq(a->name.text, b->name.text);
        if (one_name) {
            good &= merged_key(checker, join, a->name);
            continue;
        }
        Value left = check_expr(checker, &join->left_scope, a, nullptr);
        Value right = check_expr(checker, &join->right_scope, b, left.type);
        Span span = a && b ? span_join(a->span, b->span) : step->span;
        good &= add_key(checker, join, left, right, span);
    }
    return good && join->key_count > 0;
}

// ---- columns ------------------------------------------------------------------------------------

static void equal_names(Checker *checker, Text name, Span span, const char *step) {
    Diag *diag = report(checker, DIAG_EQUAL_NAMES, span, "both flows have a column '%.*s'",
                        TEXT_ARG(name));
    report_label(checker, diag, span, "%s would give it twice", step);
    report_fix(checker, diag, "on the right: (... | rename right_%.*s = %.*s)", TEXT_ARG(name),
               TEXT_ARG(name));
}

static bool join_columns(Checker *checker, JoinBuild *join, Op *op, Span span) {
    const Scope *left = &join->left_scope, *right = &join->right_scope;
    bool sided = join->kind == JOIN_SEMI || join->kind == JOIN_ANTI;
    bool left_absent = join->kind == JOIN_RIGHT || join->kind == JOIN_FULL;
    bool right_absent = join->kind == JOIN_LEFT || join->kind == JOIN_FULL;
    uint32_t room = left->count + right->count + 1;
    op->columns = arena_new_array(checker->arena, Column, room);
    op->join.columns = arena_new_array(checker->arena, JoinColumn, room);
    for (uint32_t i = 0; i < left->count; i++) {
        const Type *type = left->names[i].value.type;
        JoinColumn column = {.side = 0, .index = i};
        for (uint32_t j = 0; j < right->count && !sided; j++) {
            if (join->merged[j] != (int)i) continue;
            column.merged = true;
            column.merged_index = j;
            if (left_absent && right->names[j].value.type->nullable) type = type_nullable(type);
        }
        if (left_absent && !column.merged) type = type_nullable(type);
        op->columns[i] = (Column){.name = left->names[i].name, .type = type};
        op->join.columns[i] = column;
    }
    op->column_count = left->count;
    bool good = true;
    for (uint32_t j = 0; j < right->count && !sided; j++) {
        if (join->merged[j] >= 0) continue;
        if (scope_find(left, right->names[j].name)) {
            equal_names(checker, right->names[j].name, span, "the join");
            good = false;
        }
        const Type *type = right->names[j].value.type;
        if (right_absent) type = type_nullable(type);
        op->columns[op->column_count] = (Column){.name = right->names[j].name, .type = type};
        op->join.columns[op->column_count++] = (JoinColumn){.side = 1, .index = j};
    }
    return good;
}

// The right side's columns as expressions speak of them: input 1.
static Scope right_scope(Checker *checker, Flow flow) {
    Scope scope = scope_of_flow(checker, flow);
    for (uint32_t i = 0; i < scope.count; i++) {
        Value *value = &scope.names[i].value;
        if (is_error(value->type)) continue;
        uint32_t index = graph_at(checker->graph, value->id)->index;
        value->id = graph_column(checker->graph, 1, index, value->type,
                                 graph_at(checker->graph, value->id)->span);
    }
    return scope;
}

static Flow other_flow(Checker *checker, const AstStep *step) {
    Flow other = check_flow(checker, step->other);
    if (!other.written) return other;
    Diag *diag = report(checker, DIAG_LET_WRITE, step->other->span, "the other flow is written");
    report_label(checker, diag, step->other->span, "nothing is left of it");
    report_fix(checker, diag, "drop its `write`");
    return broken_flow();
}

static Op *two_inputs(Checker *checker, OpKind kind, Flow *flow, Flow other, const AstStep *step) {
    Op *op = add_op(checker, kind, flow, make_step(checker, step->span), step->span);
    op->inputs[1] = other.op;
    op->input_count = 2;
    return op;
}

Flow step_join(Checker *checker, Flow flow, const AstStep *step) {
    JoinBuild join = {.left = flow, .right = other_flow(checker, step), .kind = step->join};
    join.left_scope = scope_of_flow(checker, flow);
    join.right_scope = right_scope(checker, join.right);
    bool good = join_keys(checker, &join, step);
    if (!good || flow.broken || join.right.broken) return broken_flow();
    Op *op = two_inputs(checker, OP_JOIN, &flow, join.right, step);
    op->join.kind = join.kind;
    op->join.left = join.left_keys;
    op->join.right = join.right_keys;
    op->join.key_count = join.key_count;
    Span span = step->other ? step->other->span : step->span;
    if (!join_columns(checker, &join, op, span)) return broken_flow();
    flow.unsure |= join.right.unsure;
    return lose_place(flow, "`join`");
}

// ---- union and zip ------------------------------------------------------------------------------

static bool union_column(Checker *checker, const Binding *left, const Binding *right, Span span) {
    if (right && right->value.type == left->value.type) return true;
    if (right && (is_error(right->value.type) || is_error(left->value.type))) return true;
    if (!right) {
        Diag *diag = report(checker, DIAG_UNION_COLUMNS, span,
                            "the right flow has no column '%.*s'",
                            TEXT_ARG(left->name));
        report_label(checker, diag, span, "a union has the same columns on both sides");
        report_fix(checker, diag, "drop '%.*s' on the left, or derive it on the right",
                   TEXT_ARG(left->name));
        return false;
    }
    Diag *diag = report(checker, DIAG_UNION_COLUMNS, span,
                        "column '%.*s' is %s on the left, %s here",
                        TEXT_ARG(left->name), type_say(checker, left->value.type),
                        type_say(checker, right->value.type));
    report_label(checker, diag, span, "a union takes columns of equal type");
    report_fix(checker, diag, "derive %.*s: %s = ... on the right", TEXT_ARG(left->name),
               type_say(checker, left->value.type));
    return false;
}

Flow step_union(Checker *checker, Flow flow, const AstStep *step) {
    Flow other = other_flow(checker, step);
    if (flow.broken || other.broken) return broken_flow();
    Scope left = scope_of_flow(checker, flow), right = scope_of_flow(checker, other);
    Span span = step->other->span;
    uint32_t *feeds = arena_new_array(checker->arena, uint32_t, left.count + 1);
    bool good = true;
    bool unsure = left.unknown || right.unknown;
    for (uint32_t i = 0; i < left.count; i++) {
        const Binding *match = scope_find(&right, left.names[i].name);
        if (!match && unsure) return broken_flow();
        good &= union_column(checker, &left.names[i], match, span);
        if (match) feeds[i] = (uint32_t)(match - right.names);
    }
    for (uint32_t j = 0; j < right.count; j++) {
        if (scope_find(&left, right.names[j].name)) continue;
        if (unsure) return broken_flow();
        Diag *diag = report(checker, DIAG_UNION_COLUMNS, span, "the left flow has no column '%.*s'",
                            TEXT_ARG(right.names[j].name));
        report_label(checker, diag, span, "a union has the same columns on both sides");
        report_fix(checker, diag, "drop it on the right: (... | drop %.*s)",
                   TEXT_ARG(right.names[j].name));
        good = false;
    }
    if (!good) return broken_flow();
    const Op *input = graph_op_at(checker->graph, flow.op);
    Column *columns = input->columns;
    uint32_t count = input->column_count;
    Op *op = two_inputs(checker, OP_UNION, &flow, other, step);
    copy_columns(checker, op, columns, count);
    op->union_.right_columns = feeds;
    return lose_place(flow, "`union`");
}

Flow step_zip(Checker *checker, Flow flow, const AstStep *step) {
    Flow other = other_flow(checker, step);
    if (flow.broken || other.broken) return broken_flow();
    Scope left = scope_of_flow(checker, flow), right = scope_of_flow(checker, other);
    bool good = true;
    for (uint32_t j = 0; j < right.count; j++) {
        if (!scope_find(&left, right.names[j].name)) continue;
        equal_names(checker, right.names[j].name, step->other->span, "the zip");
        good = false;
    }
    if (!good) return broken_flow();
    Op *op = two_inputs(checker, OP_ZIP, &flow, other, step);
    op->columns = arena_new_array(checker->arena, Column, left.count + right.count + 1);
    op->column_count = left.count + right.count;
    for (uint32_t i = 0; i < left.count; i++)
        op->columns[i] = (Column){.name = left.names[i].name, .type = left.names[i].value.type};
    for (uint32_t j = 0; j < right.count; j++)
        op->columns[left.count + j] =
            (Column){.name = right.names[j].name, .type = right.names[j].value.type};
    flow.unsure |= other.unsure;
    return lose_place(flow, "`zip`");
}
