#include "ir/graph.h"
#include "tests/unit/unit.h"

#include <math.h>

static const Span nowhere = {.file = SPAN_NONE};

static Graph *graph_empty(void) {
    Arena *arena = arena_new();
    return graph_new(arena, type_table_new(arena));
}

static ExprId column(Graph *graph, TypeKind kind, uint32_t index) {
    return graph_column(graph, 0, index, type_of(graph->types, kind), nowhere);
}

static ExprId binary(Graph *graph, ExprOp op, ExprId a, ExprId b, Span span) {
    Expr node = {.op = op, .type = graph_at(graph, a)->type, .span = span};
    return graph_expr(graph, node, (ExprId[]){a, b}, 2);
}

static ExprId call(Graph *graph, const FnRef *fn, ExprId a) {
    Expr node = {.op = EXPR_CALL, .type = graph_at(graph, a)->type, .span = nowhere, .fn = fn};
    return graph_expr(graph, node, &a, 1);
}

static void equal_nodes_are_one(void) {
    Graph *graph = graph_empty();
    ExprId a = column(graph, TYPE_F64, 0), b = column(graph, TYPE_F64, 1);
    CHECK(expr_same(a, column(graph, TYPE_F64, 0)) && !expr_same(a, b));
    ExprId sum = binary(graph, EXPR_ADD, a, b, (Span){1, 2, 0});
    CHECK(expr_same(sum, binary(graph, EXPR_ADD, a, b, (Span){3, 4, 0})));
    CHECK(!expr_same(sum, binary(graph, EXPR_ADD, b, a, (Span){1, 2, 0})));
    CHECK(!expr_same(sum, binary(graph, EXPR_SUB, a, b, (Span){1, 2, 0})));
    arena_free(graph->arena);
}

static void the_index_grows(void) {
    Graph *graph = graph_empty();
    for (int64_t i = 0; i < 5000; i++) graph_const_i64(graph, i * i);
    CHECK(graph->expr_count == 5000);
    for (int64_t i = 0; i < 5000; i++) CHECK(graph_const_i64(graph, i * i).i == (uint32_t)i);
    arena_free(graph->arena);
}

static void faulting_nodes_keep_their_place(void) {
    Graph *graph = graph_empty();
    ExprId a = column(graph, TYPE_I64, 0), b = column(graph, TYPE_I64, 1);
    ExprId sum = binary(graph, EXPR_ADD, a, b, (Span){1, 2, 0});
    CHECK(expr_same(sum, binary(graph, EXPR_ADD, a, b, (Span){1, 2, 0})));
    CHECK(!expr_same(sum, binary(graph, EXPR_ADD, a, b, (Span){3, 4, 0})));
    arena_free(graph->arena);
}

static void impure_calls_are_never_shared(void) {
    Graph *graph = graph_empty();
    FnRef pure = {.name = TEXT("f"), .symbol = TEXT("f"), .traits = FN_EXTERN};
    FnRef impure = {.name = TEXT("g"), .symbol = TEXT("g"), .traits = FN_EXTERN | FN_IMPURE};
    FnRef random = {.name = TEXT("random"), .symbol = TEXT("sb_random"), .traits = FN_RANDOM};
    ExprId a = column(graph, TYPE_F64, 0);
    CHECK(expr_same(call(graph, &pure, a), call(graph, &pure, a)));
    CHECK(expr_same(call(graph, &random, a), call(graph, &random, a)));
    CHECK(!expr_same(call(graph, &impure, a), call(graph, &impure, a)));
    arena_free(graph->arena);
}

static void constants_are_the_same_by_bits(void) {
    Graph *graph = graph_empty();
    const Type *f64 = type_of(graph->types, TYPE_F64);
    const Type *list = type_list(graph->types, f64);
    Const zero = {.f = 0.0}, minus = {.f = -0.0}, nan = {.f = NAN}, null = {.is_null = true};
    CHECK(const_same(f64, &nan, &nan) && !const_same(f64, &zero, &minus));
    CHECK(!const_same(f64, &null, &zero) && const_same(f64, &null, &null));
    Const one = {.items = (Const[]){zero}, .item_count = 1};
    Const two = {.items = (Const[]){zero, nan}, .item_count = 2};
    CHECK(const_same(list, &two, &two) && !const_same(list, &one, &two));
    const Type *wide = type_decimal(graph->types, 38, 0);
    Const low = {.decimal = 1}, high = {.decimal = (__int128)1 << 64 | 1};
    CHECK(!const_same(wide, &low, &high));
    arena_free(graph->arena);
}

static void faults_follow_types_traits_and_handlers(void) {
    Graph *graph = graph_empty();
    ExprId i = column(graph, TYPE_I64, 0), f = column(graph, TYPE_F64, 1);
    ExprId sum = binary(graph, EXPR_ADD, i, i, nowhere);
    CHECK(!graph_faults(graph, i) && !graph_faults(graph, EXPR_NONE));
    CHECK(graph_faults(graph, sum));
    CHECK(!graph_faults(graph, binary(graph, EXPR_MUL, f, f, nowhere)));
    CHECK(!graph_faults(graph, binary(graph, EXPR_DIV, f, f, nowhere)));
    FnRef total = {.symbol = TEXT("total")};
    FnRef partial = {.symbol = TEXT("partial"), .traits = FN_FALLIBLE};
    CHECK(!graph_faults(graph, call(graph, &total, f)));
    CHECK(graph_faults(graph, call(graph, &partial, f)));
    CHECK(graph_faults(graph, call(graph, &total, sum)));
    Expr handled = {.op = EXPR_ELSE, .type = graph_at(graph, i)->type, .span = nowhere};
    CHECK(!graph_faults(graph, graph_expr(graph, handled, (ExprId[]){sum, i}, 2)));
    CHECK(graph_faults(graph, graph_expr(graph, handled, (ExprId[]){i, sum}, 2)));
    handled.handler = ELSE_REJECT;
    CHECK(graph_faults(graph, graph_expr(graph, handled, &sum, 1)));
    Expr proven = *graph_at(graph, sum);
    proven.proven = true;
    CHECK(!graph_faults(graph, graph_expr(graph, proven, (ExprId[]){i, i}, 2)));
    arena_free(graph->arena);
}

static const UnitTest tests[] = {
    {"equal_nodes_are_one", equal_nodes_are_one},
    {"the_index_grows", the_index_grows},
    {"faulting_nodes_keep_their_place", faulting_nodes_keep_their_place},
    {"impure_calls_are_never_shared", impure_calls_are_never_shared},
    {"constants_are_the_same_by_bits", constants_are_the_same_by_bits},
    {"faults_follow_types_traits_and_handlers", faults_follow_types_traits_and_handlers},
};

UNIT_MAIN("graph", tests)
