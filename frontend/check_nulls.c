// What a condition says of null: a column that it needs is never null where the condition held.
//
//   where a != null and b > 0 | derive c = a + b      a: i64? and b: i64? are i64 after `where`
//
// The flow remembers such columns (Flow.present). The names of the next steps stand for their
// values as T, and before other steps a project of its own gives the columns that type.
//
//   a != null and a > b                               the right side is judged where a is not null
//
// Within an expression the scope remembers the conditions around it (Scope.known). A name asks
// them when it is looked up.
#include "frontend/checker.h"

typedef struct Nulls {
    const Graph *graph;
    uint32_t     columns;  // With the keys in the path of a source, which come after its own.
    const ExprId *keys;    // What these are.
    uint32_t     key_count;
    unsigned     nodes;  // That were looked at.
} Nulls;

// A condition that is larger than this narrows nothing more.
enum { NULLS_NODES_MAX = 10000 };

static const Expr *look_at(Nulls *nulls, ExprId id) {
    if (nulls->nodes >= NULLS_NODES_MAX) return nullptr;
    nulls->nodes++;
    return graph_at(nulls->graph, id);
}

// Are both the same value, whatever is known of its null?
static bool same_value(Nulls *nulls, ExprId a, ExprId b) {
    while (!expr_same(a, b)) {
        const Expr *x = look_at(nulls, a), *y = look_at(nulls, b);
        if (!x || !y) return false;
        bool fields = x->op == EXPR_FIELD && y->op == EXPR_FIELD && x->index == y->index;
        if (!fields && x->op != EXPR_PRESENT && y->op != EXPR_PRESENT) return false;
        if (fields || x->op == EXPR_PRESENT) a = x->args[0];
        if (fields || y->op == EXPR_PRESENT) b = y->args[0];
    }
    return true;
}

// `id` is not null, and neither is the column that it is null with.
static void mark_value(Nulls *nulls, ExprId id, bool *present) {
    for (const Expr *x; (x = look_at(nulls, id)); id = x->args[0]) {
        bool through = x->op == EXPR_CAST || x->op == EXPR_WIDEN || x->op == EXPR_FIELD ||
                       x->op == EXPR_PRESENT;
        uint32_t own = nulls->columns - nulls->key_count;
        if (x->op == EXPR_COLUMN && x->input == 0 && x->index < own)
            present[x->index] = true;
        for (uint32_t i = 0; i < nulls->key_count; i++)
            if (same_value(nulls, id, nulls->keys[i])) present[own + i] = true;
        if (!through) return;
    }
}

static void mark_condition(Checker *checker, Nulls *nulls, ExprId id, bool held, bool *present);

// One of the two holds: what both need is present.
static void mark_either(Checker *checker, Nulls *nulls, const Expr *x, bool held, bool *present) {
    bool *sides[2];
    for (int i = 0; i < 2; i++) {
        sides[i] = arena_new_array(checker->arena, bool, nulls->columns + 1);
        mark_condition(checker, nulls, x->args[i], held, sides[i]);
    }
    for (uint32_t i = 0; i < nulls->columns; i++) present[i] |= sides[0][i] && sides[1][i];
}

static void mark_coalesce(Nulls *nulls, const Expr *x, bool held, bool *present) {
    const Expr *other = look_at(nulls, x->args[1]);
    if (other && other->op == EXPR_CONST && !other->value.is_null && other->value.i != held)
        mark_value(nulls, x->args[0], present);
}

// The condition is `held`: true or false.
static void mark_condition(Checker *checker, Nulls *nulls, ExprId id, bool held, bool *present) {
    const Expr *x = look_at(nulls, id);
    if (!x) return;
    switch ((int)x->op) {
    case EXPR_NOT: mark_condition(checker, nulls, x->args[0], !held, present); break;
    case EXPR_AND: case EXPR_OR:
        if ((x->op == EXPR_AND) != held) {
            mark_either(checker, nulls, x, held, present);
            break;
        }
        for (int i = 0; i < 2; i++) mark_condition(checker, nulls, x->args[i], held, present);
        break;
    case EXPR_IS_NULL:
        if (!held) mark_value(nulls, x->args[0], present);
        break;
    case EXPR_EQ: case EXPR_NE: case EXPR_LT: case EXPR_LE: case EXPR_GT: case EXPR_GE:
        if (held != (x->op == EXPR_NE))
            for (int i = 0; i < 2; i++) mark_value(nulls, x->args[i], present);
        break;
    case EXPR_IN:
        if (held) mark_value(nulls, x->args[0], present);
        break;
    case EXPR_COALESCE: mark_coalesce(nulls, x, held, present); break;
    case EXPR_PRESENT: mark_value(nulls, id, present); break;
    default: break;
    }
}

static const Type *type_of_column(const Nulls *nulls, const Op *op, uint32_t i) {
    if (i < op->column_count) return op->columns[i].type;
    return graph_at(nulls->graph, nulls->keys[i - op->column_count])->type;
}

void narrow_flow(Checker *checker, Flow *flow, ExprId pred) {
    const Op *op = graph_op_at(checker->graph, flow->op);
    Nulls nulls = {.graph = checker->graph,
                   .key_count = flow->keyed ? op->source.key_count : 0};
    nulls.columns = op->column_count + nulls.key_count;
    ExprId *keys = arena_new_array(checker->arena, ExprId, nulls.key_count + 1);
    for (uint32_t i = 0; i < nulls.key_count; i++)
        keys[i] = safe_key(checker, &op->source.keys[i]).id;
    nulls.keys = keys;
    bool *present = arena_new_array(checker->arena, bool, nulls.columns + 1), any = false;
    mark_condition(checker, &nulls, pred, true, present);
    for (uint32_t i = 0; i < nulls.columns; i++) {
        present[i] &= type_of_column(&nulls, op, i)->nullable;
        present[i] |= flow->present && flow->present[i];
        any |= present[i];
    }
    if (any) flow->present = present;
}

Value present_value(Checker *checker, Value value, Text name, Span span) {
    Expr payload = {.op = EXPR_PRESENT, .type = type_base(value.type), .span = span,
                    .value.text = name, .proven = true};
    return (Value){graph_expr(checker->graph, payload, &value.id, 1), payload.type};
}

// ---- within an expression -----------------------------------------------------------------------

Scope scope_knowing(const Scope *scope, Fact *fact) {
    Scope inside = *scope;
    fact->around = scope->known;
    inside.known = fact;
    return inside;
}

// Does the condition leave out the null of the value?
static bool leaves_out(Checker *checker, const Fact *fact, ExprId value) {
    Nulls nulls = {.graph = checker->graph, .columns = 1, .keys = &value, .key_count = 1};
    bool present = false;
    mark_condition(checker, &nulls, fact->condition, fact->held, &present);
    return present;
}

static Text root_name(const AstExpr *expr) {
    while (expr->kind == AST_FIELD && expr->a) expr = expr->a;
    return expr->kind == AST_NAME ? expr->name.text : TEXT("");
}

bool names_column(const AstExpr *expr, Text column) {
    if (!expr) return false;
    if (expr->kind == AST_NAME && text_eq(expr->name.text, column)) return true;
    const AstExpr *parts[] = {expr->a, expr->b, expr->c};
    for (size_t i = 0; i < countof(parts); i++)
        if (names_column(parts[i], column)) return true;
    for (uint32_t i = 0; i < expr->arg_count; i++)
        if (names_column(expr->args[i].value, column)) return true;
    for (uint32_t i = 0; i < expr->arm_count; i++)
        if (names_column(expr->arms[i].condition, column) ||
            names_column(expr->arms[i].value, column))
            return true;
    return expr->kind == AST_ERROR;  // It may stand for anything.
}

Value known_value(Checker *checker, const Scope *scope, Value value, const AstExpr *written) {
    if (!scope->known || is_error(value.type) || !value.type->nullable) return value;
    for (const Fact *fact = scope->known; fact; fact = fact->around) {
        bool wrong = expr_is_none(fact->condition);  // It may have meant to leave null out.
        if (wrong && names_column(fact->written, root_name(written))) return error_value(checker);
        if (wrong || !leaves_out(checker, fact, value.id)) continue;
        return present_value(checker, value, written->name.text, written->span);
    }
    return value;
}

Value declared_value(Checker *checker, const Scope *scope, Value value) {
    if (!scope->known || is_error(value.type) || expr_is_none(value.id)) return value;
    const Expr *present = graph_at(checker->graph, value.id);
    if (present->op != EXPR_PRESENT || !present->proven) return value;
    for (const Fact *fact = scope->known; fact; fact = fact->around)
        if (!expr_is_none(fact->condition) && leaves_out(checker, fact, present->args[0]))
            return (Value){present->args[0], type_nullable(value.type)};
    return value;
}

// ---- flows --------------------------------------------------------------------------------------

Flow settle_columns(Checker *checker, Flow flow) {
    if (flow.broken || (!flow.keyed && !flow.present)) return flow;
    Scope scope = scope_of_flow(checker, flow);
    Span span = graph_op_at(checker->graph, flow.op)->span;
    flow.keyed = false;
    return project(checker, flow, &scope, STEP_NONE, span);
}
