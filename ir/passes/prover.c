#include "ir/passes/prover.h"

#include "ir/rewrite.h"

#include <string.h>

enum { ENVS_MAX = 256 };  // Per operator: nested conditions that share nodes would be exponential.

Fact fact_of_type(const Type *type) {
    return (Fact){interval_of_type(type_base(type)), {.file = SPAN_NONE}};
}

static Fact unknown_fact(void) { return (Fact){interval_unknown(), {.file = SPAN_NONE}}; }

static Span first_why(const Fact *facts, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (facts[i].why.file != SPAN_NONE) return facts[i].why;
    return (Span){.file = SPAN_NONE};
}

Fact fact_either(Fact a, Fact b) {
    return (Fact){interval_either(a.in, b.in), first_why((Fact[]){a, b}, 2)};
}

Fact prover_narrow(Fact fact, Fact by) {
    Interval both = interval_both(fact.in, by.in);
    bool better = both.min != fact.in.min || both.max != fact.in.max;
    return (Fact){both, better && by.why.file != SPAN_NONE ? by.why : fact.why};
}

// ---- environments and memos ---------------------------------------------------------------------

Env prover_env(Prover *prover) {
    prover->budget = ENVS_MAX;
    return (Env){.serial = ++prover->serials};
}

void prover_forget(Prover *prover) {
    if (prover->count) memset(prover->keys, 0, prover->cap * sizeof *prover->keys);
    prover->count = 0;
}

static size_t memo_place(const Prover *prover, uint64_t key) {
    size_t at = (key * 0x9e3779b97f4a7c15) >> 20 & (prover->cap - 1);
    while (prover->keys[at] && prover->keys[at] != key) at = (at + 1) & (prover->cap - 1);
    return at;
}

static uint64_t memo_key(const Env *env, ExprId id) { return env->serial << 32 | id.i; }

static void memo_grow(Prover *prover) {
    enum { CAP_MIN = 256 };
    Prover old = *prover;
    prover->cap = old.cap ? 2 * old.cap : CAP_MIN;
    prover->keys = arena_new_array(prover->graph->arena, uint64_t, prover->cap);
    prover->proofs = arena_new_array(prover->graph->arena, Proof, prover->cap);
    for (size_t i = 0; i < old.cap; i++) {
        if (!old.keys[i]) continue;
        size_t at = memo_place(prover, old.keys[i]);
        prover->keys[at] = old.keys[i];
        prover->proofs[at] = old.proofs[i];
    }
}

static void memo_add(Prover *prover, uint64_t key, Proof proof) {
    if (2 * prover->count >= prover->cap) memo_grow(prover);
    size_t at = memo_place(prover, key);
    prover->keys[at] = key;
    prover->proofs[at] = proof;
    prover->count++;
}

// Where `condition` is `truth` as well. `env` itself when that says nothing new.
static const Env *extend(Prover *prover, const Env *env, ExprId condition, bool truth) {
    RefinedList refined = {0};
    if (prover->budget) prover_refine(prover, env, condition, truth, &refined);
    if (!refined.count) return env;
    prover->budget--;
    Env inner = {env, ++prover->serials, refined};
    return arena_copy(prover->graph->arena, &inner, sizeof inner, alignof(Env));
}

static Fact narrowed(const Env *env, ExprId id, Fact fact) {
    for (; env; env = env->outer)
        for (size_t i = 0; i < env->refined.count; i++)
            if (expr_same(env->refined.items[i].id, id))
                fact = prover_narrow(fact, env->refined.items[i].fact);
    return fact;
}

// ---- conditions ---------------------------------------------------------------------------------

static bool is_integer(const Graph *graph, ExprId id) {
    return type_is_integer(type_base(graph_at(graph, id)->type));
}

// What holds of a node holds of what it only carries on.
static void add_refined(const Prover *prover, RefinedList *out, ExprId id, Fact fact) {
    const Graph *graph = prover->graph;
    while (is_integer(graph, id)) {
        Refined refined = {id, fact};
        arena_push(graph->arena, out->items, out->count, out->cap, refined);
        const Expr *node = graph_at(graph, id);
        if (node->op != EXPR_WIDEN && node->op != EXPR_SOME && node->op != EXPR_CAST) return;
        id = node->args[0];
    }
}

static ExprOp opposite(ExprOp op) {
    switch ((int)op) {
    case EXPR_LT: return EXPR_GE;
    case EXPR_LE: return EXPR_GT;
    case EXPR_GT: return EXPR_LE;
    case EXPR_GE: return EXPR_LT;
    case EXPR_EQ: return EXPR_NE;
    default: return EXPR_EQ;
    }
}

static ExprOp mirrored(ExprOp op) {
    switch ((int)op) {
    case EXPR_LT: return EXPR_GT;
    case EXPR_LE: return EXPR_GE;
    case EXPR_GT: return EXPR_LT;
    case EXPR_GE: return EXPR_LE;
    default: return op;
    }
}

// The values of `a` for which `a op b` may hold.
static Interval where_holds(ExprOp op, Interval a, Interval b) {
    switch ((int)op) {
    case EXPR_LT: return (Interval){a.min, b.max - 1};
    case EXPR_LE: return (Interval){a.min, b.max};
    case EXPR_GT: return (Interval){b.min + 1, a.max};
    case EXPR_GE: return (Interval){b.min, a.max};
    case EXPR_EQ: return b;
    }
    if (b.min == b.max && a.min == b.min) return (Interval){a.min + 1, a.max};  // NE
    if (b.min == b.max && a.max == b.min) return (Interval){a.min, a.max - 1};
    return a;
}

// `sides[0] op sides[1]`, or its opposite. Where the comparison is false because the other side is
// null, nothing is said of this one.
static void refine_comparison(Prover *prover, const Env *env, const Expr *node, bool truth,
                              RefinedList *out) {
    const Graph *graph = prover->graph;
    if (!is_integer(graph, node->args[0])) return;
    ExprOp op = truth ? node->op : opposite(node->op);
    Fact facts[2];
    for (uint32_t i = 0; i < 2; i++) facts[i] = prover_prove(prover, env, node->args[i]).fact;
    if (!interval_known(facts[0].in) || !interval_known(facts[1].in)) return;
    bool exact = node->op == EXPR_NE ? !truth : truth;  // True only of two values.
    for (uint32_t i = 0; i < 2; i++) {
        if (!exact && graph_at(graph, node->args[1 - i])->type->nullable) continue;
        Interval in = where_holds(i ? mirrored(op) : op, facts[i].in, facts[1 - i].in);
        bool says = interval_known(in) && !interval_inside(facts[i].in, in);
        if (says) add_refined(prover, out, node->args[i], (Fact){in, node->span});
    }
}

static void refine_in(Prover *prover, const Expr *node, RefinedList *out) {
    const Graph *graph = prover->graph;
    Interval all = interval_unknown();
    for (uint32_t i = 1; i < node->arg_count; i++) {
        const Expr *item = graph_at(graph, node->args[i]);
        if (item->op != EXPR_CONST || item->value.is_null) continue;
        Interval one = interval_of_const(type_base(item->type), &item->value);
        if (!interval_known(one)) return;
        all = interval_known(all) ? interval_either(all, one) : one;
    }
    if (interval_known(all)) add_refined(prover, out, node->args[0], (Fact){all, node->span});
}

// Where one of two conditions holds: what both of them say.
static void refine_either(Prover *prover, const Env *env, const Expr *node, bool truth,
                          RefinedList *out) {
    RefinedList left = {0}, right = {0};
    prover_refine(prover, env, node->args[0], truth, &left);
    prover_refine(prover, env, node->args[1], truth, &right);
    for (size_t i = 0; i < left.count; i++)
        for (size_t k = 0; k < right.count; k++) {
            if (!expr_same(left.items[i].id, right.items[k].id)) continue;
            Fact fact = fact_either(left.items[i].fact, right.items[k].fact);
            fact.why = node->span;
            Refined refined = {left.items[i].id, fact};
            arena_push(prover->graph->arena, out->items, out->count, out->cap, refined);
        }
}

void prover_refine(Prover *prover, const Env *env, ExprId condition, bool truth,
                   RefinedList *out) {
    const Expr node = *graph_at(prover->graph, condition);
    switch ((int)node.op) {
    case EXPR_NOT: prover_refine(prover, env, node.args[0], !truth, out); break;
    case EXPR_AND: case EXPR_OR:
        if (truth != (node.op == EXPR_AND)) {
            refine_either(prover, env, &node, truth, out);
            break;
        }
        prover_refine(prover, env, node.args[0], truth, out);
        prover_refine(prover, env, node.args[1], truth, out);
        break;
    case EXPR_EQ: case EXPR_NE: case EXPR_LT: case EXPR_LE: case EXPR_GT: case EXPR_GE:
        refine_comparison(prover, env, &node, truth, out);
        break;
    case EXPR_IN:
        if (truth) refine_in(prover, &node, out);
        break;
    }
}

// ---- facts --------------------------------------------------------------------------------------

static bool is_arithmetic(const Expr *node) {
    return node->op >= EXPR_NEG && node->op <= EXPR_MOD && type_is_integer(node->type);
}

Fact prover_result(const ResultRange *range, const Type *type, const Fact *args, uint32_t count,
                   Span why) {
    Fact whole = fact_of_type(type), fact = count ? args[0] : unknown_fact();
    switch (range->of) {
    case RANGE_OF_TYPE: return whole;
    case RANGE_OF_BOUNDS:
        fact = (Fact){{range->min, range->max}, why};
        if (range->max == INT64_MAX) fact.in.max = whole.in.max;
        break;
    case RANGE_OF_FIRST: break;
    case RANGE_OF_ARGS:
        for (uint32_t i = 1; i < count; i++) fact = fact_either(fact, args[i]);
        break;
    }
    return interval_known(fact.in) ? prover_narrow(whole, fact) : whole;
}

// What the node makes of its arguments if nothing wraps.
static Fact unwrapped(const Expr *node, const Fact *args) {
    Interval b = node->arg_count > 1 ? args[1].in : interval_unknown();
    return (Fact){interval_arithmetic(node->op, args[0].in, b), first_why(args, node->arg_count)};
}

// What holds of the node whenever it has a value.
static Fact node_fact(const Prover *prover, const Expr *node, const Fact *args) {
    Fact whole = fact_of_type(node->type), found = unknown_fact();
    if (!interval_known(whole.in)) return whole;
    switch ((int)node->op) {
    case EXPR_CONST: found.in = interval_of_const(type_base(node->type), &node->value); break;
    case EXPR_COLUMN:
        if (prover->columns[node->input]) found = prover->columns[node->input][node->index];
        break;
    case EXPR_SOME: case EXPR_PRESENT: case EXPR_WIDEN: case EXPR_CAST: found = args[0]; break;
    case EXPR_IF: found = fact_either(args[1], args[2]); break;
    case EXPR_COALESCE: found = fact_either(args[0], args[1]); break;
    case EXPR_ELSE:
        found = node->handler == ELSE_VALUE ? fact_either(args[0], args[1]) : args[0];
        break;
    case EXPR_CALL:
        found = prover_result(&node->fn->range, node->type, args, node->arg_count, node->span);
        break;
    default:
        if (is_arithmetic(node)) found = unwrapped(node, args);
    }
    return interval_known(found.in) ? prover_narrow(whole, found) : whole;
}

// ---- nodes --------------------------------------------------------------------------------------

static void say_proven(const Prover *prover, const Expr *node, Fact fact) {
    if (!prover->remarks) return;
    bool divides = node->op == EXPR_IDIV || node->op == EXPR_MOD;
    TextBuf text = {0};
    text_buf_add(&text, divides ? TEXT("no check, the divisor is in ")
                        : node->op == EXPR_CAST ? TEXT("no check, the value is in ")
                                                : TEXT("no overflow check, the result is in "));
    text_buf_int128(&text, fact.in.min);
    text_buf_add(&text, TEXT(".."));
    text_buf_int128(&text, fact.in.max);
    if (fact.why.file == SPAN_NONE)
        remark(prover->remarks, node->span, "%.*s", (int)text.len, text.at);
    else
        remark_as(prover->remarks, node->span, fact.why, "%.*s because of", (int)text.len,
                  text.at);
    text_buf_free(&text);
}

// The node, as a proven one if it cannot fault.
static ExprId prove_node(const Prover *prover, ExprId id, const Fact *args) {
    Graph *graph = prover->graph;
    const Expr *node = graph_at(graph, id);
    bool cast = node->op == EXPR_CAST && type_is_integer(type_base(node->type));
    if (node->proven || (!cast && !is_arithmetic(node))) return id;
    bool divides = node->op == EXPR_IDIV || node->op == EXPR_MOD;
    Fact result = cast ? args[0] : unwrapped(node, args);
    if (!interval_inside(result.in, interval_of_type(type_base(node->type)))) return id;
    say_proven(prover, node, divides ? args[1] : result);
    Expr proven = *node;
    proven.proven = true;
    return graph_expr(graph, proven, node->args, node->arg_count);
}

// Conditions decide what holds where the arguments after them are judged.
static const Env *arg_env(Prover *prover, const Env *env, const Expr *node, uint32_t i) {
    if (i == 0) return env;
    if (node->op == EXPR_IF) return extend(prover, env, node->args[0], i == 1);
    if (node->op == EXPR_AND || node->op == EXPR_OR)
        return extend(prover, env, node->args[0], node->op == EXPR_AND);
    return env;
}

Proof prover_prove(Prover *prover, const Env *env, ExprId id) {
    Graph *graph = prover->graph;
    if (!graph_at(graph, id)->arg_count) {
        Fact fact = node_fact(prover, graph_at(graph, id), nullptr);
        return (Proof){.expr = id, .fact = narrowed(env, id, fact)};
    }
    uint64_t key = memo_key(env, id);
    if (prover->cap) {
        size_t at = memo_place(prover, key);
        if (prover->keys[at]) return prover->proofs[at];
    }
    const Expr node = *graph_at(graph, id);
    ExprId *args = arena_new_array(graph->arena, ExprId, node.arg_count + 1);
    Fact *facts = arena_new_array(graph->arena, Fact, node.arg_count + 1);
    for (uint32_t i = 0; i < node.arg_count; i++) {
        Proof arg = prover_prove(prover, arg_env(prover, env, &node, i), node.args[i]);
        args[i] = arg.expr;
        facts[i] = arg.fact;
    }
    Proof proof = {.expr = prove_node(prover, rewrite_same(graph, id, args), facts)};
    proof.fact = narrowed(env, id, node_fact(prover, &node, facts));
    memo_add(prover, key, proof);
    return proof;
}
