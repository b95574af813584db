// fold: computes constants, drops work that changes nothing, and takes branches that are decided
// before the run.
//
// Only what is exact and keeps every fault: `x * 0` stays, since x is judged; `false and x` goes,
// since x would not have been. Of floats only what keeps each bit: `x + 0.0` stays, since -0.0
// would become 0.0.
#include "ir/pass.h"
#include "ir/rewrite.h"

#include <math.h>

// What stands for a node, and why. `expr` is EXPR_NONE where nothing is decided.
typedef struct Decision {
    ExprId      expr;
    const char *why;
} Decision;

static const Decision undecided = {EXPR_NONE, nullptr};

static bool is_const(const Graph *graph, ExprId id) {
    return graph_at(graph, id)->op == EXPR_CONST;
}

static bool is_bool(const Graph *graph, ExprId id, bool value) {
    const Expr *node = graph_at(graph, id);
    return node->op == EXPR_CONST && node->type->kind == TYPE_BOOL && !node->value.is_null &&
           (node->value.i != 0) == value;
}

static bool is_null_const(const Graph *graph, ExprId id) {
    const Expr *node = graph_at(graph, id);
    return node->op == EXPR_CONST && node->value.is_null;
}

static bool is_whole(const Graph *graph, ExprId id, int64_t value) {
    const Expr *node = graph_at(graph, id);
    if (node->op != EXPR_CONST || node->value.is_null) return false;
    if (node->type->kind == TYPE_DURATION) return node->value.i == value;
    if (!type_is_integer(node->type)) return false;
    return type_is_signed(node->type) ? node->value.i == value : node->value.u == (uint64_t)value;
}

static bool is_float(const Graph *graph, ExprId id, double value) {
    const Expr *node = graph_at(graph, id);
    return node->op == EXPR_CONST && type_is_float(node->type) && !node->value.is_null &&
           node->value.f == value && signbit(node->value.f) == signbit(value);
}

static ExprId make_bool(Graph *graph, bool value, Span span) {
    return graph_const(graph, type_of(graph->types, TYPE_BOOL), (Const){.i = value}, span);
}

// A node like `node` with another operator and the arguments given.
static ExprId remake(Graph *graph, const Expr *node, ExprOp op, const ExprId *args,
                     uint32_t count) {
    return graph_expr(graph, (Expr){.op = op, .type = node->type, .span = node->span}, args, count);
}

// ---- arithmetic ---------------------------------------------------------------------------------

// Constants that change nothing as that operand of an operator, of a whole number or of a float. A
// float that is added must be -0.0: 0.0 would make 0.0 of -0.0.
static const struct Neutral {
    ExprOp   op;
    uint32_t operand;
    bool     of_whole, of_float;
    int64_t  whole;
    double   floating;
} neutrals[] = {
    {EXPR_ADD, 1, true, true, 0, -0.0},
    {EXPR_ADD, 0, true, true, 0, -0.0},
    {EXPR_SUB, 1, true, true, 0, 0.0},
    {EXPR_MUL, 1, true, true, 1, 1.0},
    {EXPR_MUL, 0, true, true, 1, 1.0},
    {EXPR_DIV, 1, false, true, 0, 1.0},
    {EXPR_IDIV, 1, true, false, 1, 0},
};

// The operand that the node is equal to, because the other one changes nothing.
static Decision decide_arithmetic(const Graph *graph, const Expr *node) {
    const Expr *first = graph_at(graph, node->args[0]);
    if (node->op == EXPR_NEG && first->op == EXPR_NEG && type_is_float(node->type))
        return (Decision){first->args[0], "a double `-` goes"};
    for (size_t i = 0; i < countof(neutrals); i++) {
        const struct Neutral *neutral = &neutrals[i];
        if (neutral->op != node->op) continue;
        ExprId operand = node->args[neutral->operand], other = node->args[1 - neutral->operand];
        if ((neutral->of_whole && is_whole(graph, operand, neutral->whole)) ||
            (neutral->of_float && is_float(graph, operand, neutral->floating)))
            return (Decision){other, "the constant operand changes nothing"};
    }
    return undecided;
}

// ---- truth --------------------------------------------------------------------------------------

static Decision decide_and_or(const Graph *graph, const Expr *node) {
    const ExprId *args = node->args;
    bool neutral = node->op == EXPR_AND;
    if (is_bool(graph, args[0], neutral)) return (Decision){args[1], "the right side decides"};
    if (is_bool(graph, args[0], !neutral)) return (Decision){args[0], "the left side decides"};
    if (is_bool(graph, args[1], neutral) || expr_same(args[0], args[1]))
        return (Decision){args[0], "the right side changes nothing"};
    return undecided;
}

static Decision decide_not(Graph *graph, const Expr *node) {
    static const char why[] = "a comparison takes the `not`";
    const Expr *first = graph_at(graph, node->args[0]);
    if (first->op == EXPR_NOT) return (Decision){first->args[0], "a double `not` goes"};
    if (first->op == EXPR_CONST)
        return (Decision){make_bool(graph, !first->value.i, node->span), "is constant"};
    // Of the other comparisons both are false where an operand is null or NaN.
    if (first->op == EXPR_EQ || first->op == EXPR_NE) {
        ExprOp other = first->op == EXPR_EQ ? EXPR_NE : EXPR_EQ;
        ExprId args[] = {first->args[0], first->args[1]};
        return (Decision){remake(graph, node, other, args, 2), why};
    }
    return undecided;
}

static Decision decide_if(Graph *graph, const Expr *node) {
    const ExprId *args = node->args;
    if (is_bool(graph, args[0], true)) return (Decision){args[1], "the condition is always true"};
    if (is_bool(graph, args[0], false)) return (Decision){args[2], "the condition is never true"};
    if (expr_same(args[1], args[2]) && !graph_at(graph, args[0])->faults)
        return (Decision){args[1], "both branches are the same"};
    if (is_bool(graph, args[1], true) && is_bool(graph, args[2], false))
        return (Decision){args[0], "is its condition"};
    if (is_bool(graph, args[1], false) && is_bool(graph, args[2], true))
        return (Decision){remake(graph, node, EXPR_NOT, args, 1), "is `not` its condition"};
    return undecided;
}

static Decision decide_null(Graph *graph, const Expr *node) {
    const Expr *first = graph_at(graph, node->args[0]);
    if (node->op == EXPR_IS_NULL) {
        if (first->op == EXPR_SOME && !first->faults)
            return (Decision){make_bool(graph, false, node->span), "is never null"};
        if (first->op == EXPR_CONST)
            return (Decision){make_bool(graph, first->value.is_null, node->span), "is constant"};
        return undecided;
    }
    if (node->op == EXPR_PRESENT) {
        if (first->op != EXPR_SOME) return undecided;
        return (Decision){first->args[0], "is never null"};
    }
    if (is_null_const(graph, node->args[0]))
        return (Decision){node->args[1], "the left side is always null"};
    if (is_null_const(graph, node->args[1]))
        return (Decision){node->args[0], "the right side changes nothing"};
    if (first->op == EXPR_SOME)
        return (Decision){node->type->nullable ? node->args[0] : first->args[0],
                          "the left side is never null"};
    return undecided;
}

// ---- casts and texts ----------------------------------------------------------------------------

static Decision decide_cast(Graph *graph, const Expr *node) {
    ExprId arg = node->args[0];
    const Expr *inner = graph_at(graph, arg);
    if (inner->type == node->type) return (Decision){arg, "has this type already"};
    if (inner->op != EXPR_WIDEN) return undecided;
    ExprId narrow = inner->args[0];
    bool back = graph_at(graph, narrow)->type == node->type &&
                (type_is_integer(node->type) || type_base(inner->type)->kind == TYPE_BYTES);
    if (node->op == EXPR_CAST && back)
        return (Decision){narrow, "takes back the cast inside"};
    if (node->op == EXPR_WIDEN || node->op == EXPR_TO_F64)
        return (Decision){remake(graph, node, node->op, &narrow, 1), "two casts are one"};
    return undecided;
}

static bool is_text(const Graph *graph, ExprId id) {
    const Expr *node = graph_at(graph, id);
    return node->op == EXPR_CONST && !node->value.is_null;
}

// Parts of a concatenation; neighbours that are constant have become one.
typedef struct Parts {
    ExprId  *items;
    uint32_t count;
    size_t   cap;
} Parts;

static void add_part(Graph *graph, Parts *parts, ExprId id, Span span) {
    if (is_text(graph, id) && graph_at(graph, id)->value.text.len == 0) return;
    ExprId *last = parts->count ? &parts->items[parts->count - 1] : nullptr;
    if (last && is_text(graph, *last) && is_text(graph, id) &&
        graph_at(graph, *last)->value.text.len + graph_at(graph, id)->value.text.len <=
            FOLD_BYTES_MAX) {
        TextBuf both = {0};
        text_buf_add(&both, graph_at(graph, *last)->value.text);
        text_buf_add(&both, graph_at(graph, id)->value.text);
        *last = graph_const_text(graph, text_buf_take(&both, graph->arena), span);
        return;
    }
    size_t count = parts->count;
    arena_push(graph->arena, parts->items, count, parts->cap, id);
    parts->count = (uint32_t)count;
}

static Decision decide_concat(Graph *graph, const Expr *node) {
    Parts parts = {0};
    bool spliced = false;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const Expr inner = *graph_at(graph, node->args[i]);
        bool nested = inner.op == EXPR_CONCAT;
        spliced |= nested;
        for (uint32_t k = 0; nested && k < inner.arg_count; k++)
            add_part(graph, &parts, inner.args[k], node->span);
        if (!nested) add_part(graph, &parts, node->args[i], node->span);
    }
    if (!spliced && parts.count == node->arg_count) return undecided;
    if (!parts.count) return (Decision){graph_const_text(graph, TEXT(""), node->span), "is empty"};
    if (parts.count == 1) return (Decision){parts.items[0], "the other parts are empty"};
    return (Decision){remake(graph, node, EXPR_CONCAT, parts.items, parts.count),
                      "is joined in one go"};
}

// ---- all ----------------------------------------------------------------------------------------

// The node that stands for `node`, decided by what ir/ itself knows.
static Decision decide(Graph *graph, const Expr *node) {
    switch ((int)node->op) {
    case EXPR_NEG: case EXPR_ADD: case EXPR_SUB: case EXPR_MUL: case EXPR_DIV: case EXPR_IDIV:
        return decide_arithmetic(graph, node);
    case EXPR_AND: case EXPR_OR: return decide_and_or(graph, node);
    case EXPR_NOT: return decide_not(graph, node);
    case EXPR_IF: return decide_if(graph, node);
    case EXPR_IS_NULL: case EXPR_COALESCE: case EXPR_PRESENT: return decide_null(graph, node);
    case EXPR_CAST: case EXPR_WIDEN: case EXPR_TO_F64: return decide_cast(graph, node);
    case EXPR_CONCAT: return decide_concat(graph, node);
    case EXPR_ELSE:
        if (graph_at(graph, node->args[0])->faults) return undecided;
        return (Decision){node->args[0], "what the handler stands after cannot fault"};
    case EXPR_IN:
        if (node->arg_count != 2) return undecided;
        return (Decision){remake(graph, node, EXPR_EQ, node->args, 2), "is one comparison"};
    }
    return undecided;
}

// Is the constant small enough, or no larger than one that is there already?
static bool is_small(const Graph *graph, const Expr *node) {
    if (node->type->kind != TYPE_TENSOR) return true;
    if (type_open_count(node->type)) return false;  // Constants have shapes that are known.
    uint64_t most = FOLD_BYTES_MAX / sizeof(Const);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        uint32_t count = graph_at(graph, node->args[i])->value.item_count;
        if (count > most) most = count;
    }
    return type_elements(node->type) <= most;
}

// What a constant of the node's type may be computed from. Handlers, places and random numbers
// depend on the run.
static bool can_evaluate(const Graph *graph, const Expr *node) {
    if (!node->arg_count || node->op == EXPR_ELSE) return false;
    if (!is_small(graph, node)) return false;
    if (node->op == EXPR_CALL && (node->fn->traits & (FN_IMPURE | FN_RANDOM | FN_EXTERN)))
        return false;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        ExprOp op = graph_at(graph, node->args[i])->op;
        if (op != EXPR_CONST && op != EXPR_REGEX && op != EXPR_ZONE) return false;
    }
    return true;
}

static void say_const(const PassContext *context, Span span, ExprId id) {
    TextBuf text = {0};
    if (!context->remarks) return;
    const Expr *node = graph_at(context->graph, id);
    graph_print_const(&text, type_base(node->type), &node->value);
    remark_whole(context->remarks, span, "is constant: %.*s", (int)text.len, text.at);
    text_buf_free(&text);
}

// A decided node may be of T where T? is asked for, and the other way round never.
static ExprId fold_node(void *self, Graph *graph, ExprId id, const ExprId *args) {
    const PassContext *context = self;
    ExprId made = rewrite_same(graph, id, args);
    Expr node = *graph_at(graph, made);
    Decision decision = decide(graph, &node);
    bool decided = !expr_is_none(decision.expr) &&
                   graph_at(graph, decision.expr)->type == node.type;
    if (decided && !is_const(graph, decision.expr)) {
        remark(context->remarks, node.span, "%s", decision.why);
        return decision.expr;
    }
    if (decided) {
        say_const(context, node.span, decision.expr);
        return decision.expr;
    }
    Const value = {0};
    if (!context->eval || !can_evaluate(graph, &node)) return made;
    if (!context->eval(context->eval_self, graph, made, &value)) return made;
    ExprId constant = graph_const(graph, node.type, value, node.span);
    say_const(context, node.span, constant);
    return constant;
}

void pass_fold(PassContext *context) { rewrite_graph(context->graph, fold_node, context); }
