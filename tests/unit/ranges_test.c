// Pass ranges against the interpreter: whatever a random expression over random rows gives lies in
// the range inferred for it, and what is proven does not fault. RANGES_ROUNDS=N for more.
#include "ir/passes/ranges.h"

#include "codegen/reference/eval.h"
#include "frontend/declare.h"
#include "tests/unit/reference_graph.h"

typedef struct Random {
    uint64_t state;
} Random;

static uint32_t below(Random *random, uint32_t count) {
    random->state = random->state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(random->state >> 33) % count;
}

// Small numbers, and those at the ends of types.
static int64_t some_number(Random *random, bool narrow) {
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, 255, -1, 0, 1};
    if (below(random, 4) || narrow) return (int64_t)below(random, 41) - 20;
    return ends[below(random, countof(ends))];
}

// ---- expressions --------------------------------------------------------------------------------

typedef struct Maker {
    Flow   *flow;
    Random *random;
} Maker;

static ExprId make_i64(Maker *maker, int depth);

static ExprId node(Maker *maker, ExprOp op, const char *type, const ExprId *args, uint32_t count) {
    Expr expr = {.op = op, .type = flow_type(maker->flow, type), .span = no_span};
    return graph_expr(maker->flow->graph, expr, args, count);
}

static ExprId column(Maker *maker, uint32_t index) {
    static const char *const types[] = {"i64", "i32", "i64?", "u8"};
    return graph_column(maker->flow->graph, 0, index, flow_type(maker->flow, types[index]),
                        no_span);
}

static ExprId number(Maker *maker) {
    return graph_const_i64(maker->flow->graph, some_number(maker->random, false));
}

static ExprId make_condition(Maker *maker, int depth) {
    static const ExprOp comparisons[] = {EXPR_EQ, EXPR_NE, EXPR_LT, EXPR_LE, EXPR_GT, EXPR_GE};
    uint32_t choice = below(maker->random, depth > 0 ? 9 : 5);
    ExprId args[3];
    if (choice > 6) {
        args[0] = make_condition(maker, depth - 1);
        args[1] = make_condition(maker, depth - 1);
        return node(maker, choice == 7 ? EXPR_AND : EXPR_OR, "bool", args, 2);
    }
    if (choice == 6) {
        args[0] = make_condition(maker, depth - 1);
        return node(maker, EXPR_NOT, "bool", args, 1);
    }
    if (choice == 5) {
        args[0] = make_i64(maker, depth - 1);
        args[1] = number(maker);
        args[2] = number(maker);
        return node(maker, EXPR_IN, "bool", args, 3);
    }
    bool nullable = below(maker->random, 4) == 0;
    args[0] = nullable ? column(maker, 2) : make_i64(maker, depth - 1);
    args[1] = below(maker->random, 2) ? number(maker) : make_i64(maker, depth - 1);
    if (below(maker->random, 5) == 0) args[1] = column(maker, 2);
    ExprOp op = comparisons[below(maker->random, countof(comparisons))];
    return node(maker, op, "bool", args, 2);
}

static ExprId make_narrow(Maker *maker, int depth) {
    ExprId wide = depth > 0 ? make_i64(maker, depth - 1) : number(maker);
    ExprId args[2] = {column(maker, 1), node(maker, EXPR_CAST, "i32", &wide, 1)};
    if (below(maker->random, 2)) return args[below(maker->random, 2)];
    return node(maker, below(maker->random, 2) ? EXPR_ADD : EXPR_MUL, "i32", args, 2);
}

static ExprId make_leaf(Maker *maker, int depth) {
    ExprId args[2];
    switch (below(maker->random, 6)) {
    case 0: return column(maker, 0);
    case 1:
        args[0] = make_narrow(maker, depth);
        return node(maker, EXPR_WIDEN, "i64", args, 1);
    case 2:
        args[0] = column(maker, 2);
        args[1] = number(maker);
        return node(maker, EXPR_COALESCE, "i64", args, 2);
    case 3:
        args[0] = column(maker, 2);
        return node(maker, EXPR_PRESENT, "i64", args, 1);
    case 4:
        args[0] = column(maker, 3);
        return node(maker, EXPR_WIDEN, "i64", args, 1);
    }
    return number(maker);
}

static ExprId make_i64(Maker *maker, int depth) {
    static const ExprOp ops[] = {EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_IDIV, EXPR_MOD};
    uint32_t choice = depth > 0 ? below(maker->random, 10) : 0;
    ExprId args[3];
    if (choice < 2) return make_leaf(maker, depth - 1);
    if (choice == 2) {
        args[0] = make_i64(maker, depth - 1);
        return node(maker, EXPR_NEG, "i64", args, 1);
    }
    if (choice < 5) {
        args[0] = make_condition(maker, depth - 1);
        args[1] = make_i64(maker, depth - 1);
        args[2] = make_i64(maker, depth - 1);
        return node(maker, EXPR_IF, "i64", args, 3);
    }
    args[0] = make_i64(maker, depth - 1);
    args[1] = make_i64(maker, depth - 1);
    if (choice == 5) return node(maker, EXPR_ELSE, "i64", args, 2);
    return node(maker, ops[below(maker->random, countof(ops))], "i64", args, 2);
}

// ---- a program ----------------------------------------------------------------------------------

typedef struct Program {
    ExprId reader, where, value;  // As they were before the pass.
    OpId   filter, project;
} Program;

static Program make_program(Maker *maker) {
    Flow *flow = maker->flow;
    Program program;
    Op *source = flow_read(flow, FORMAT_CSV, "in.csv", "a: i64, b: i32, c: i64?, d: u8");
    program.reader = make_condition(maker, 2);
    source = graph_op_at(flow->graph, flow->last);
    source->source.filters = arena_new_array(flow->arena, PreFilter, 1);
    source->source.filters[0] = (PreFilter){program.reader, flow_step(flow, "where")};
    source->source.filter_count = 1;
    program.where = make_condition(maker, 3);
    program.filter = flow_where(flow, "where", program.where)->id;
    program.value = make_i64(maker, 5);
    program.project = flow_derive(flow, "x", program.value)->id;
    flow_write(flow, FORMAT_CSV, "out.csv");
    return program;
}

static Row random_row(Random *random, Arena *arena) {
    Value *values = arena_new_array(arena, Value, 4);
    bool narrow = below(random, 2);
    values[0].i = some_number(random, narrow);
    values[1].i = (int32_t)some_number(random, narrow);
    values[2] = (Value){.is_null = below(random, 3) == 0, .i = some_number(random, narrow)};
    values[3].u = (uint8_t)some_number(random, narrow);
    return (Row){.values = values};
}

static bool holds(Eval *eval, const Row *row, ExprId pred) {
    Value value;
    eval_row(eval, row, nullptr);
    return eval_expr(eval, pred, &value) == SB_OK && value.i;
}

static bool inside(const Value *value, bool is_signed, Fact fact) {
    __int128 number = is_signed ? (__int128)value->i : (__int128)value->u;
    return value->is_null || (number >= fact.in.min && number <= fact.in.max);
}

static void check_row(Eval *eval, const Program *program, Fact **facts, const Row *row) {
    const Graph *graph = eval->graph;
    if (!holds(eval, row, program->reader) || !holds(eval, row, program->where)) return;
    for (uint32_t c = 0; c < 4; c++)
        CHECK_SAYS(inside(&row->values[c], c != 3, facts[program->filter.i][c]), "column %u", c);
    Value before = {0}, after = {0};
    eval_row(eval, row, nullptr);
    int32_t status = eval_expr(eval, program->value, &before);
    const Op *project = graph_op_at(graph, program->project);
    ExprId proven = project->project.items[4].expr;
    eval_row(eval, row, nullptr);
    int32_t again = eval_expr(eval, proven, &after);
    CHECK(status == again && (status != SB_OK || before.i == after.i));
    CHECK(status == SB_OK || graph_faults(graph, proven));
    if (status == SB_OK) CHECK(inside(&before, true, facts[program->project.i][4]));
}

static size_t rounds_wanted(void) {
    enum { ROUNDS = 400 };
    const char *text = getenv("RANGES_ROUNDS");
    return text ? strtoul(text, nullptr, 10) : ROUNDS;
}

static size_t count_proven(const Graph *graph) {
    size_t count = 0;
    for (size_t i = 0; i < graph->expr_count; i++) count += graph->exprs[i].proven;
    return count;
}

static void values_lie_in_their_ranges(void) {
    enum { ROWS = 40 };
    size_t proven = 0;
    for (uint64_t seed = 1; seed <= rounds_wanted() && !unit_failures; seed++) {
        Random random = {seed};
        Flow flow = flow_new();
        Maker maker = {&flow, &random};
        Program program = make_program(&maker);
        TextBuf errors = {0};
        CHECK_SAYS(graph_verify(flow.graph, &errors), "%.*s", (int)errors.len, errors.at);
        PassContext context = {.graph = flow.graph};
        Fact **facts = ranges_infer(&context);
        CHECK_SAYS(graph_verify(flow.graph, &errors), "%.*s", (int)errors.len, errors.at);
        proven += count_proven(flow.graph);
        Eval eval;
        CHECK(eval_open(&eval, flow.graph, flow.arena));
        for (int i = 0; i < ROWS; i++) {
            Row row = random_row(&random, flow.arena);
            check_row(&eval, &program, facts, &row);
        }
        eval_close(&eval);
        if (unit_failures) fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        text_buf_free(&errors);
        flow_end(&flow);
    }
    CHECK(proven > rounds_wanted());
}

// ---- declared ranges ----------------------------------------------------------------------------

// A random constant that the parameter takes; EXPR_NONE: of a kind that is not tried.
static ExprId random_argument(Maker *maker, const DeclParam *param) {
    static const char *const texts[] = {"", "a", "héllo wörld", "aaa", "\n\n", "z\U0001F600"};
    static const char *const zones[] = {"UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"};
    Graph *graph = maker->flow->graph;
    const char *text = texts[below(maker->random, countof(texts))];
    if (param->kind == DECL_REGEX || param->kind == DECL_ZONE) {
        bool zone = param->kind == DECL_ZONE;
        text = zone ? zones[below(maker->random, countof(zones))] : "a+|ö";
        Expr expr = {.op = zone ? EXPR_ZONE : EXPR_REGEX, .type = type_of(graph->types, TYPE_STR),
                     .span = no_span, .value.text = text_of(text)};
        return graph_expr(graph, expr, nullptr, 0);
    }
    if (!param->type || param->nullable) return EXPR_NONE;
    Const value = {.i = some_number(maker->random, below(maker->random, 2)),
                   .text = text_of(text)};
    if (param->type->kind == TYPE_DATE) value.i = (int32_t)value.i;
    if (param->type->kind == TYPE_TIMESTAMP && below(maker->random, 2))
        value.i = (int64_t)(maker->random->state * 31) >> below(maker->random, 20);
    switch ((int)param->type->kind) {
    case TYPE_I64: case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_STR: case TYPE_BYTES:
        return graph_const(graph, param->type, value, no_span);
    }
    return EXPR_NONE;
}

// Returns whether it was tried.
static bool check_function(Maker *maker, const Decl *decl) {
    Graph *graph = maker->flow->graph;
    ExprId args[DECL_PARAMS_MAX];
    for (uint32_t i = 0; i < decl->param_count; i++) {
        args[i] = random_argument(maker, &decl->params[i]);
        if (expr_is_none(args[i])) return false;
    }
    Expr call = {.op = EXPR_CALL, .type = decl->result, .span = no_span, .fn = &decl->fn};
    ExprId id = graph_expr(graph, call, args, decl->param_count);
    Prover prover = {.graph = graph};
    Env env = prover_env(&prover);
    Fact fact = prover_prove(&prover, &env, id).fact;
    Const value = {0};
    if (!reference_const_eval(nullptr, graph, id, &value)) return true;
    CHECK_SAYS(inside(&value, type_is_signed(type_base(decl->result)), fact), "%.*s gives %lld",
               TEXT_ARG(decl->signature), (long long)value.i);
    return true;
}

static void functions_keep_what_they_declare(void) {
    enum { CALLS = 300, TRIED_MIN = 40 };
    Random random = {7};
    Flow flow = flow_new();
    Maker maker = {&flow, &random};
    Diags *diags = diags_new(flow.arena, source_set_new(flow.arena));
    const DeclTable *decls = declare_stdlib(flow.arena, flow.types, diags);
    size_t tried = 0;
    for (size_t i = 0; i < decls->count; i++) {
        const Decl *decl = &decls->items[i];
        if (decl->aggregate || decl->fn.range.of == RANGE_OF_TYPE || !decl->result) continue;
        bool all = true;
        for (int k = 0; k < CALLS && all; k++) all = check_function(&maker, decl);
        tried += all;
    }
    CHECK_SAYS(tried >= TRIED_MIN, "%zu functions", tried);
    flow_end(&flow);
}

static const UnitTest tests[] = {
    {"values_lie_in_their_ranges", values_lie_in_their_ranges},
    {"functions_keep_what_they_declare", functions_keep_what_they_declare},
};

UNIT_MAIN("ranges", tests)
