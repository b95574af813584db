// ranges: proves by the widths of types and by constants that integer arithmetic stays in its type,
// which drops the overflow check; and that a divisor is not zero.
#include "ir/pass.h"
#include "ir/rewrite.h"

typedef struct Range {
    __int128 min, max;  // Of the value when there is one; min > max: nothing is known.
} Range;

typedef struct Prover {
    Range *ranges;      // By node.
    size_t cap;
} Prover;

static const Range unknown = {1, 0};

static bool is_known(Range range) { return range.min <= range.max; }

static Range type_range(const Type *type) {
    if (!type_is_integer(type)) return unknown;
    __int128 span = (__int128)1 << type_bits(type);
    return type_is_signed(type) ? (Range){-span / 2, span / 2 - 1} : (Range){0, span - 1};
}

static bool inside(Range inner, Range outer) {
    return is_known(inner) && is_known(outer) && inner.min >= outer.min && inner.max <= outer.max;
}

static Range const_range(const Expr *node) {
    if (node->value.is_null || !type_is_integer(node->type)) return unknown;
    __int128 value = type_is_signed(node->type) ? (__int128)node->value.i : (__int128)node->value.u;
    return (Range){value, value};
}

static __int128 magnitude(Range range) {
    return -range.min > range.max ? -range.min : range.max;
}

static Range product(Range a, Range b) {
    const __int128 safe = (__int128)1 << 63;  // Products of two such fit 128 bits.
    if (magnitude(a) > safe || magnitude(b) > safe) return unknown;
    __int128 ends[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
    Range range = {ends[0], ends[0]};
    for (size_t i = 1; i < countof(ends); i++) {
        if (ends[i] < range.min) range.min = ends[i];
        if (ends[i] > range.max) range.max = ends[i];
    }
    return range;
}

static Range quotient(Range a, Range b) {
    if (b.min <= 0 && b.max >= 0) return unknown;
    __int128 least = b.min > 0 ? b.min : -b.max;
    __int128 low = a.min < 0 ? a.min / least : 0, high = a.max > 0 ? a.max / least : 0;
    return b.min > 0 ? (Range){low, high} : (Range){-high, -low};
}

// Not over -1: the remainder is zero there, but machines trap on the quotient.
static Range remainder_of(Range a, Range b) {
    if (b.min <= 0 && b.max >= -1) return unknown;
    __int128 most = magnitude(b) - 1;
    return (Range){a.min < 0 ? -most : 0, a.max > 0 ? most : 0};
}

// What the operator makes of its arguments' ranges if nothing wraps.
static Range result_range(const Prover *prover, const Expr *node) {
    Range a = node->arg_count > 0 ? prover->ranges[node->args[0].i] : unknown;
    Range b = node->arg_count > 1 ? prover->ranges[node->args[1].i] : unknown;
    if (node->op == EXPR_NEG) return is_known(a) ? (Range){-a.max, -a.min} : unknown;
    if (!is_known(a) || !is_known(b)) return unknown;
    if (node->op == EXPR_ADD) return (Range){a.min + b.min, a.max + b.max};
    if (node->op == EXPR_SUB) return (Range){a.min - b.max, a.max - b.min};
    if (node->op == EXPR_MUL) return product(a, b);
    if (node->op == EXPR_IDIV) return quotient(a, b);
    return node->op == EXPR_MOD ? remainder_of(a, b) : unknown;
}

static bool is_arithmetic(const Expr *node) {
    return node->op >= EXPR_NEG && node->op <= EXPR_MOD && type_is_integer(node->type);
}

// The range of a node that is good whatever its columns hold.
static Range node_range(const Prover *prover, const Expr *node) {
    Range whole = type_range(node->type), found = unknown;
    if (!is_known(whole)) return unknown;
    if (node->op == EXPR_CONST) found = const_range(node);
    if (node->op == EXPR_WIDEN || node->op == EXPR_SOME || node->op == EXPR_CAST)
        found = prover->ranges[node->args[0].i];
    if (node->op == EXPR_IF || node->op == EXPR_COALESCE) {
        Range a = prover->ranges[node->args[node->arg_count - 2].i];
        Range b = prover->ranges[node->args[node->arg_count - 1].i];
        bool both = is_known(a) && is_known(b);
        if (both) found = (Range){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
    }
    if (is_arithmetic(node)) found = result_range(prover, node);
    return inside(found, whole) ? found : whole;
}

static void learn(Prover *prover, const Graph *graph, ExprId id) {
    prover->ranges = arena_grow(graph->arena, prover->ranges, sizeof(Range), alignof(Range),
                                &prover->cap, (size_t)id.i + 1);
    prover->ranges[id.i] = node_range(prover, graph_at(graph, id));
}

static ExprId prove(void *self, Graph *graph, ExprId id, const ExprId *args) {
    Prover *prover = self;
    ExprId made = rewrite_same(graph, id, args);
    learn(prover, graph, made);
    const Expr *node = graph_at(graph, made);
    if (node->proven || !is_arithmetic(node)) return made;
    if (!inside(result_range(prover, node), type_range(node->type))) return made;
    Expr proven = *node;
    proven.proven = true;
    ExprId better = graph_expr(graph, proven, node->args, node->arg_count);
    learn(prover, graph, better);
    return better;
}

void pass_ranges(PassContext *context) {
    Prover prover = {0};
    rewrite_graph(context->graph, prove, &prover);
}
