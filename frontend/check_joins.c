// Steps of two flows: join, union, zip.
#include "frontend/checker.h"

typedef struct JoinBuild {
    Flow      left, right;
    Scope     left_scope, right_scope;
    JoinKind  kind;
    ExprId   *left_keys, *right_keys;
    uint32_t  key_count;
    int      *merged;   // By right column: the left column it merges into, or -1.
    ExprId    where;    // What else a pair has to be; EXPR_NONE: nothing.
    Asof      asof;
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

// ---- whose names --------------------------------------------------------------------------------

typedef struct PairNames {
    Checker         *checker;
    const JoinBuild *join;
} PairNames;

static bool only_right(void *self, Name name) {
    const JoinBuild *join = self;
    return !scope_find(&join->left_scope, name.text) && scope_find(&join->right_scope, name.text);
}

static bool only_left(void *self, Name name) {
    const JoinBuild *join = self;
    return scope_find(&join->left_scope, name.text) && !scope_find(&join->right_scope, name.text);
}

static bool not_left(void *self, Name name) {
    return !scope_find(&((const JoinBuild *)self)->left_scope, name.text);
}

static bool not_right(void *self, Name name) {
    return !scope_find(&((const JoinBuild *)self)->right_scope, name.text);
}

// Of a flow that has a mistake any name may be a column.
static bool may_be_pair(JoinBuild *join, const AstExpr *a, const AstExpr *b) {
    return (join->right_scope.unknown && ast_find_name(a, not_left, join)) ||
           (join->left_scope.unknown && ast_find_name(b, not_right, join));
}

typedef enum EqualityUse {
    EQUALS_KEYS,     // a of the left flow, b of the right one.
    EQUALS_SWAPPED,  // The other way round.
    EQUALS_IN_PAIR,  // A condition: a side reads columns of both flows, or both sides read one.
} EqualityUse;

static EqualityUse use_of(JoinBuild *join, const AstExpr *a, const AstExpr *b) {
    bool a_right = ast_find_name(a, only_right, join), b_left = ast_find_name(b, only_left, join);
    if (may_be_pair(join, a, b)) return EQUALS_IN_PAIR;
    if (!a_right && !b_left) return EQUALS_KEYS;
    bool mixed = ast_find_name(a, only_left, join) || ast_find_name(b, only_right, join);
    return !mixed && a_right && b_left ? EQUALS_SWAPPED : EQUALS_IN_PAIR;
}

static void swapped_sides(Checker *checker, const AstExpr *a, const char *sign, const AstExpr *b) {
    Text left = source_text(checker, a->span), right = source_text(checker, b->span);
    Span span = span_join(a->span, b->span);
    Diag *diag = report(checker, DIAG_JOIN_FORM, span,
                        "the sides are the other way round");
    report_label(checker, diag, span, "%.*s is of the right flow", TEXT_ARG(left));
    report_fix(checker, diag, "write %.*s %s %.*s", TEXT_ARG(right), sign, TEXT_ARG(left));
}

// ---- keys of the step ---------------------------------------------------------------------------

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
        EqualityUse use = use_of(join, a, b);
        if (use == EQUALS_IN_PAIR) continue;
        if (use == EQUALS_SWAPPED) {
            swapped_sides(checker, a, "==", b);
            good = false;
            continue;
        }
        bool one_name = a->kind == AST_NAME && b->kind == AST_NAME &&
                        text_eq(a->name.text, b->name.text);
        if (one_name) {
            good &= merged_key(checker, join, a->name);
            continue;
        }
        Value left = check_expr(checker, &join->left_scope, a, nullptr);
        Value right = check_expr(checker, &join->right_scope, b, left.type);
        good &= add_key(checker, join, left, right, span_join(a->span, b->span));
    }
    return good;
}

// ---- conditions ---------------------------------------------------------------------------------

// Both sides' columns, as a condition sees them: a merged one as it is on the left.
static Scope pair_scope(Checker *checker, const JoinBuild *join) {
    const Scope *left = &join->left_scope, *right = &join->right_scope;
    Scope scope = *left;
    scope.unknown |= right->unknown;
    scope.names = arena_new_array(checker->arena, Binding, left->count + right->count + 1);
    scope.count = 0;
    scope.cap = left->count + right->count + 1;
    for (uint32_t i = 0; i < left->count; i++) scope.names[scope.count++] = left->names[i];
    for (uint32_t i = 0; i < right->count; i++)
        if (!scope_find(left, right->names[i].name)) scope.names[scope.count++] = right->names[i];
    return scope;
}

// Says of a name in a condition that both flows have it. False: one of them has.
static bool see_double(void *self, Name name) {
    const PairNames *names = self;
    const JoinBuild *join = names->join;
    const Binding *right = scope_find(&join->right_scope, name.text);
    if (!right || !scope_find(&join->left_scope, name.text)) return false;
    if (join->merged[right - join->right_scope.names] >= 0) return false;
    Diag *diag = report(names->checker, DIAG_EQUAL_NAMES, name.span,
                        "both flows have a column '%.*s'", TEXT_ARG(name.text));
    report_label(names->checker, diag, name.span, "the left one or the right one?");
    report_fix(names->checker, diag, "on the right: (... | rename right_%.*s = %.*s)",
               TEXT_ARG(name.text), TEXT_ARG(name.text));
    return true;
}

static bool add_condition(Checker *checker, JoinBuild *join, Scope *scope, const AstExpr *expr) {
    PairNames names = {checker, join};
    if (ast_find_name(expr, see_double, &names)) return false;
    Value value = check_condition(checker, scope, expr);
    if (is_error(value.type)) return false;
    Value before = {join->where, value.type};
    bool first = expr_is_none(join->where);
    join->where = first ? value.id
                        : node2(checker, EXPR_AND, value.type, expr->span, before, value).id;
    return true;
}

// Of `a == b` that is no key: a comparison of the pair.
static bool add_comparison(Checker *checker, JoinBuild *join, Scope *scope, const AstExpr *a,
                           const AstExpr *b) {
    AstExpr both = {.kind = AST_BINARY, .op = AST_OP_EQ, .span = span_join(a->span, b->span),
                    .op_span = span_join(a->span, b->span), .a = (AstExpr *)a, .b = (AstExpr *)b};
    return add_condition(checker, join, scope, &both);
}

static bool join_conditions(Checker *checker, JoinBuild *join, const AstStep *step) {
    Scope scope = pair_scope(checker, join);
    bool good = true;
    join->where = EXPR_NONE;
    for (uint32_t i = 0; i < step->on_count; i++)
        if (use_of(join, step->on_left[i], step->on_right[i]) == EQUALS_IN_PAIR)
            good &= add_comparison(checker, join, &scope, step->on_left[i], step->on_right[i]);
    for (uint32_t i = 0; i < step->condition_count; i++)
        good &= add_condition(checker, join, &scope, step->conditions[i]);
    return good;
}

static bool join_asof(Checker *checker, JoinBuild *join, const AstStep *step) {
    static const char *const turned[] = {
        [AST_OP_LT] = ">", [AST_OP_LE] = ">=", [AST_OP_GT] = "<", [AST_OP_GE] = "<=",
    };
    const AstExpr *asof = step->asof;
    join->asof = (Asof){EXPR_NONE, EXPR_NONE};
    if (!asof) return true;
    if (asof->kind != AST_BINARY || !asof->a || !asof->b) return false;
    if (use_of(join, asof->a, asof->b) == EQUALS_SWAPPED) {
        swapped_sides(checker, asof->a, turned[asof->op], asof->b);
        return false;
    }
    return check_asof(checker, &join->left_scope, &join->right_scope, step, &join->asof);
}

// Conditions alone choose among all pairs: all rows have one key then.
static void add_no_key(Checker *checker, JoinBuild *join, Span span) {
    Value none = const_value(checker, kind_type(checker, TYPE_I8), (Const){.i = 0}, span);
    join->left_keys[join->key_count] = none.id;
    join->right_keys[join->key_count++] = none.id;
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
    good &= join_conditions(checker, &join, step);
    good &= join_asof(checker, &join, step);
    if (good && !join.key_count && !(expr_is_none(join.where) && expr_is_none(join.asof.seek)))
        add_no_key(checker, &join, step->span);
    if (!good || !join.key_count || flow.broken || join.right.broken) return broken_flow();
    if (!expr_is_none(join.asof.seek)) join.right = sort_asof(checker, join.right, step);
    Op *op = two_inputs(checker, OP_JOIN, &flow, join.right, step);
    op->join.kind = join.kind;
    op->join.left = join.left_keys;
    op->join.right = join.right_keys;
    op->join.key_count = join.key_count;
    op->join.where = join.where;
    op->join.seek = join.asof.seek;
    op->join.within = join.asof.within;
    Span span = step->other ? step->other->span : step->span;
    if (!join_columns(checker, &join, op, span)) return broken_flow();
    flow.unsure |= join.right.unsure;
    return lose_place(flow, "`join`");
}

// ---- union and zip ------------------------------------------------------------------------------

// Finds the type that the column has in the union: what values of both sides widen to.
static bool union_column(Checker *checker, const Binding *left, const Binding *right, Span span,
                         const Type **type) {
    *type = right ? common_type(checker, left->value.type, right->value.type) : nullptr;
    if (*type) return true;
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
    report_label(checker, diag, span, "neither widens to the other");
    report_fix(checker, diag, "derive %.*s: %s = ... on the right", TEXT_ARG(left->name),
               type_say(checker, left->value.type));
    return false;
}

// Columns of the flow that are to be of a wider type become so.
static Flow union_side(Checker *checker, Flow flow, Scope *scope, const Type *const *types,
                       Span span) {
    bool widens = false;
    for (uint32_t i = 0; i < scope->count; i++) {
        Value *value = &scope->names[i].value;
        widens |= value->type != types[i];
        *value = widen(checker, *value, types[i], span);
    }
    return widens ? project(checker, flow, scope, STEP_NONE, span) : flow;
}

Flow step_union(Checker *checker, Flow flow, const AstStep *step) {
    Flow other = other_flow(checker, step);
    if (flow.broken || other.broken) return broken_flow();
    Scope left = scope_of_flow(checker, flow), right = scope_of_flow(checker, other);
    Span span = step->other->span;
    uint32_t *feeds = arena_new_array(checker->arena, uint32_t, left.count + 1);
    const Type **types = arena_new_array(checker->arena, const Type *, left.count + 1);
    const Type **other_types = arena_new_array(checker->arena, const Type *, right.count + 1);
    bool good = true;
    bool unsure = left.unknown || right.unknown;
    for (uint32_t i = 0; i < left.count; i++) {
        const Binding *match = scope_find(&right, left.names[i].name);
        if (!match && unsure) return broken_flow();
        good &= union_column(checker, &left.names[i], match, span, &types[i]);
        if (!match) continue;
        feeds[i] = (uint32_t)(match - right.names);
        other_types[feeds[i]] = types[i];
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
    flow = union_side(checker, flow, &left, types, step->span);
    other = union_side(checker, other, &right, other_types, span);
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
