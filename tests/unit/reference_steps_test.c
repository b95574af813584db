#include "tests/unit/reference_graph.h"

static ExprId i64_of(const Flow *flow, int64_t value) {
    (void)flow_i64;
    return graph_const_i64(flow->graph, value);
}

// An inline table of nullable i64 columns `a` and `b`; INT64_MIN stands for null.
static Op *flow_table(Flow *flow, const int64_t (*cells)[2], uint32_t count) {
    flow->last = OP_NONE;
    Op *op = flow_op(flow, OP_SOURCE, "table");
    op->source.kind = SOURCE_INLINE;
    op->source.options = file_options_none();
    op->source.path = EXPR_NONE;
    flow_columns(flow, op, "a: i64?, b: i64?");
    op->source.rows = arena_new_array(flow->arena, Const, count + 1);
    op->source.row_count = count;
    for (uint32_t r = 0; r < count; r++) {
        Const *items = arena_new_array(flow->arena, Const, 2);
        for (int c = 0; c < 2; c++)
            items[c] = (Const){.is_null = cells[r][c] == INT64_MIN, .i = cells[r][c]};
        op->source.rows[r] = (Const){.items = items, .item_count = 2};
    }
    return op;
}

static ExprId less(const Flow *flow, ExprId a, ExprId b) {
    return flow_expr(flow, EXPR_LT, flow_bool(flow), a, b);
}

// 100 // x, which faults for x = 0.
static ExprId hundred_by(const Flow *flow, ExprId x) {
    return flow_expr(flow, EXPR_IDIV, flow_i64(flow), i64_of(flow, 100), x);
}

static void filters_behind_a_read_run_before_the_columns(void) {
    Flow flow = flow_new();
    flow_put(&flow, "in.csv", TEXT("a,b\n1,x\n9,x\nq,1\n0,2\n2,3\n"));
    Op *op = flow_read(&flow, FORMAT_CSV, "in.csv", "a: i64, b: i64");
    PreFilter *filters = arena_new_array(flow.arena, PreFilter, 2);
    filters[0] = (PreFilter){less(&flow, flow_column(&flow, 0), i64_of(&flow, 5)),
                             flow_step(&flow, "where a")};
    filters[1].pred = less(&flow, i64_of(&flow, 0), hundred_by(&flow, flow_column(&flow, 0)));
    filters[1].step = flow_step(&flow, "where b");
    op = graph_op_at(flow.graph, flow.last);
    op->source.filters = filters;
    op->source.filter_count = 2;
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_keep_rejects(&flow);
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a,b\n2,3\n");
    // 1,x: b is bad. 9,x: filtered, whatever its b. q: bad. 0: faults in the second filter.
    CHECK_SAYS(text_has(flow.said, "read      0     5   3         0         2       0\n"
                                   "where a   3     0   2         1         0       0\n"
                                   "where b   2     0   1         0         1       0\n"),
               "%.*s", TEXT_ARG(flow.said));
    Text rejects = flow_get(&flow, "rejects.jsonl");
    CHECK(text_has(rejects, "{\"step\":\"where b\",") &&
          text_has(rejects, "SB7021\",\"message\":\"division by zero\""));
    flow_end(&flow);
}

static void a_column_named_by_a_filter_is_read_only_as_far_as_needed(void) {
    Flow flow = flow_new();
    flow_put(&flow, "in.csv", TEXT("a,b\n9,x\n1,x\n1,7\n"));
    Op *op = flow_read(&flow, FORMAT_CSV, "in.csv", "a: i64, b: i64");
    PreFilter *filter = arena_new_of(flow.arena, PreFilter);
    ExprId small = less(&flow, flow_column(&flow, 0), i64_of(&flow, 5));
    ExprId big = less(&flow, i64_of(&flow, 5), flow_column(&flow, 1));
    filter->pred = flow_expr(&flow, EXPR_AND, flow_bool(&flow), small, big);
    filter->step = flow_step(&flow, "where");
    op = graph_op_at(flow.graph, flow.last);
    op->source.filters = filter;
    op->source.filter_count = 1;
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_keep_rejects(&flow);
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a,b\n1,7\n");
    CHECK(text_has(flow_get(&flow, "rejects.jsonl"), "\"raw\":\"1,x\"}\n"));
    CHECK(text_has(flow.said, "read    0     3   2         0         1       0\n"));
    flow_end(&flow);
}

static void rows_behind_a_limit_are_neither_judged_nor_counted(void) {
    Flow flow = flow_new();
    flow_put(&flow, "in.csv", TEXT("a\n1\n2\n3\n4\nbad\n"));
    flow_read(&flow, FORMAT_CSV, "in.csv", "a: i64");
    Op *op = flow_op(&flow, OP_LIMIT, "limit");
    op->limit.count = i64_of(&flow, 2);
    op->limit.skip = i64_of(&flow, 1);
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a\n2\n3\n");
    CHECK(flow.exit_code == 0);
    CHECK(text_has(flow.said, "read    0     3   3         0         0       0\n"
                              "limit   3     0   2         1         0       0\n"
                              "write   2     0   2         0         0       0\n"));
    flow_end(&flow);
}

static void a_flow_used_twice_runs_once(void) {
    Flow flow = flow_new();
    flow_put(&flow, "in.csv", TEXT("a\n1\nx\n3\n"));
    flow_read(&flow, FORMAT_CSV, "in.csv", "a: i64");
    OpId read = flow.last;
    flow_op(&flow, OP_LIMIT, "limit")->limit =
        (typeof(((Op *)0)->limit)){i64_of(&flow, 1), EXPR_NONE};
    flow_write(&flow, FORMAT_CSV, "one.csv");
    flow.last = read;
    flow_write(&flow, FORMAT_CSV, "all.csv");
    flow_keep_rejects(&flow);
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "one.csv"), "a\n1\n");
    CHECK_TEXT(flow_get(&flow, "all.csv"), "a\n1\n3\n");
    CHECK(text_has(flow.said, "read    0     3   2         0         1       0\n"));
    flow_end(&flow);
}

static void an_else_value_handles_and_an_else_reject_settles(void) {
    static const int64_t cells[][2] = {{5, 0}, {0, 0}};
    for (int handler = ELSE_VALUE; handler <= ELSE_FAIL; handler++) {
        Flow flow = flow_new();
        flow_table(&flow, cells, 2);
        ExprId b = graph_const_i64(flow.graph, -1), x = flow_column(&flow, 0);
        x = flow_expr(&flow, EXPR_COALESCE, flow_i64(&flow), x, b);
        ExprId args[] = {hundred_by(&flow, x), b};
        Expr handled = {.op = EXPR_ELSE,
                        .type = flow_i64(&flow),
                        .span = no_span,
                        .handler = (ElseKind)handler};
        ExprId inner = graph_expr(flow.graph, handled, args, handler == ELSE_VALUE ? 2 : 1);
        ExprId outer[] = {inner, i64_of(&flow, -2)};
        handled.handler = ELSE_VALUE;
        flow_derive(&flow, "c", graph_expr(flow.graph, handled, outer, 2));
        flow_write(&flow, FORMAT_CSV, "out.csv");
        flow_keep_rejects(&flow);
        flow_run(&flow);
        // The inner `else` decides; the outer one never sees its fault.
        if (handler == ELSE_VALUE)
            CHECK_TEXT(flow_get(&flow, "out.csv"), "a,b,c\n5,0,20\n0,0,-1\n");
        if (handler == ELSE_REJECT) CHECK_TEXT(flow_get(&flow, "out.csv"), "a,b,c\n5,0,20\n");
        CHECK(flow.exit_code == (handler == ELSE_FAIL));
        CHECK(text_has(flow_get(&flow, "rejects.jsonl"), "SB7021") == (handler == ELSE_REJECT));
        flow_end(&flow);
    }
}

static void a_needless_branch_is_not_judged(void) {
    static const int64_t cells[][2] = {{0, 1}, {4, 1}};
    Flow flow = flow_new();
    flow_table(&flow, cells, 2);
    ExprId x =
        flow_expr(&flow, EXPR_COALESCE, flow_i64(&flow), flow_column(&flow, 0), i64_of(&flow, 0));
    ExprId args[] = {flow_expr(&flow, EXPR_EQ, flow_bool(&flow), x, i64_of(&flow, 0)),
                     i64_of(&flow, 7), hundred_by(&flow, x)};
    flow_derive(&flow, "c",
                graph_expr(flow.graph,
                           (Expr){.op = EXPR_IF, .type = flow_i64(&flow), .span = no_span}, args,
                           3));
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a,b,c\n0,1,7\n4,1,25\n");
    flow_end(&flow);
}

static void what_nothing_reads_is_not_judged(void) {
    static const int64_t cells[][2] = {{0, 1}};
    Flow flow = flow_new();
    flow_table(&flow, cells, 1);
    flow_derive(&flow, "c", hundred_by(&flow, i64_of(&flow, 0)));
    const Type *type = flow_type(&flow, "i64?");
    ExprId b = flow_column(&flow, 1);
    Op *op = flow_op(&flow, OP_PROJECT, "select");
    op->project.items = arena_new_of(flow.arena, NamedExpr);
    op->project.items[0] = (NamedExpr){TEXT("b"), b, false};
    op->project.count = op->column_count = 1;
    op->columns = arena_new_of(flow.arena, Column);
    op->columns[0] = (Column){TEXT("b"), type, false};
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "b\n1\n");
    flow_end(&flow);
}

static void sort_is_stable_and_nulls_are_last(void) {
    static const int64_t cells[][2] = {{2, 0}, {INT64_MIN, 1}, {1, 2}, {2, 3}, {1, 4}};
    static const char *const expected[] = {"a,b\n1,2\n1,4\n2,0\n2,3\n,1\n",
                                           "a,b\n2,0\n2,3\n1,2\n1,4\n,1\n",
                                           "a,b\n,1\n1,2\n1,4\n2,0\n2,3\n"};
    for (int i = 0; i < 3; i++) {
        Flow flow = flow_new();
        flow_table(&flow, cells, 5);
        SortKey key = {flow_column(&flow, 0), i == 1, i == 2};
        Op *op = flow_op(&flow, OP_SORT, "sort");
        op->sort.keys = &key;
        op->sort.count = 1;
        flow_write(&flow, FORMAT_CSV, "out.csv");
        flow_run(&flow);
        CHECK_TEXT(flow_get(&flow, "out.csv"), expected[i]);
        flow_end(&flow);
    }
}

// Writes a join of two tables on `a` and returns its text.
static Flow join_tables(JoinKind kind) {
    static const int64_t lefts[][2] = {{1, 10}, {2, 20}, {INT64_MIN, 30}, {4, 40}};
    static const int64_t rights[][2] = {{2, 1}, {1, 2}, {INT64_MIN, 3}, {2, 4}, {5, 5}};
    static JoinColumn columns[] = {{0, 0, true, 0}, {0, 1, false, 0}, {1, 1, false, 0}};
    static ExprId key[2];
    Flow flow = flow_new();
    flow_table(&flow, lefts, 4);
    OpId left = flow.last;
    flow_table(&flow, rights, 5);
    OpId right = flow.last;
    const Type *type = flow_type(&flow, "i64?");
    key[0] = graph_column(flow.graph, 0, 0, type, no_span);
    key[1] = graph_column(flow.graph, 1, 0, type, no_span);
    Op *op = flow_op(&flow, OP_JOIN, "join");
    op->inputs[0] = left;
    op->inputs[1] = right;
    op->input_count = 2;
    op->join.kind = kind;
    op->join.where = op->join.seek = op->join.within = EXPR_NONE;
    op->join.left = &key[0];
    op->join.right = &key[1];
    op->join.key_count = 1;
    op->join.columns = columns;
    op->column_count = kind == JOIN_SEMI || kind == JOIN_ANTI ? 2 : 3;
    op->columns = arena_new_array(flow.arena, Column, 3);
    op->columns[0] = (Column){TEXT("a"), type, false};
    op->columns[1] = (Column){TEXT("b"), type, false};
    op->columns[2] = (Column){TEXT("c"), type, false};
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_run(&flow);
    return flow;
}

static void joins_keep_left_order_and_count_every_row(void) {
    static const struct { JoinKind kind; const char *rows, *counts;
    } cases[] = {
        {JOIN_INNER, "a,b,c\n1,10,2\n2,20,1\n2,20,4\n",
         "join    9     1   3         2         0       5\n"},
        {JOIN_LEFT, "a,b,c\n1,10,2\n2,20,1\n2,20,4\n,30,\n4,40,\n",
         "join    9     1   5         0         0       5\n"},
        {JOIN_RIGHT, "a,b,c\n1,10,2\n2,20,1\n2,20,4\n,,3\n5,,5\n",
         "join    9     1   5         2         0       3\n"},
        {JOIN_FULL, "a,b,c\n1,10,2\n2,20,1\n2,20,4\n,30,\n4,40,\n,,3\n5,,5\n",
         "join    9     1   7         0         0       3\n"},
        {JOIN_SEMI, "a,b\n1,10\n2,20\n", "join    9     0   2         2         0       5\n"},
        {JOIN_ANTI, "a,b\n,30\n4,40\n", "join    9     0   2         2         0       5\n"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        Flow flow = join_tables(cases[i].kind);
        CHECK_TEXT(flow_get(&flow, "out.csv"), cases[i].rows);
        CHECK_SAYS(text_has(flow.said, cases[i].counts), "%.*s", TEXT_ARG(flow.said));
        flow_end(&flow);
    }
}

static void group_keeps_first_places_and_rejects_whole_rows(void) {
    static const int64_t cells[][2] = {{2, 5},          {1, 4},  {2, 0},
                                       {INT64_MIN, 10}, {1, 20}, {INT64_MIN, 1}};
    static AggRef sum = {.name = {"sum", 3}};
    Flow flow = flow_new();
    flow_table(&flow, cells, 6);
    const Type *i64 = flow_i64(&flow), *maybe = flow_type(&flow, "i64?");
    ExprId b = flow_expr(&flow, EXPR_COALESCE, i64, flow_column(&flow, 1), i64_of(&flow, 1));
    NamedExpr key = {TEXT("a"), flow_column(&flow, 0), false};
    Agg aggs[] = {
        {.name = TEXT("n"), .where = EXPR_NONE, .option = EXPR_NONE, .type = i64},
        {.name = TEXT("s"),
         .fn = &sum,
         .arg_count = 1,
         .where = EXPR_NONE,
         .option = EXPR_NONE,
         .type = i64},
    };
    aggs[1].args[0] = hundred_by(&flow, b);
    Op *op = flow_op(&flow, OP_GROUP, "group");
    op->group.keys = &key;
    op->group.key_count = 1;
    op->group.aggs = aggs;
    op->group.agg_count = 2;
    Column columns[] = {
        {TEXT("a"), maybe, false}, {TEXT("n"), i64, false}, {TEXT("s"), i64, false}};
    op->columns = columns;
    op->column_count = 3;
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_keep_rejects(&flow);
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a,n,s\n2,1,20\n1,2,30\n,2,110\n");
    CHECK(text_has(flow.said, "group   6     0   3         0         1       2\n"));
    CHECK(text_has(flow_get(&flow, "rejects.jsonl"), "\"raw\":\"{\\\"a\\\":2,\\\"b\\\":0}\"}\n"));
    flow_end(&flow);
}

static void zip_pairs_by_position_and_fails_on_lengths(void) {
    static const int64_t lefts[][2] = {{1, 2}, {3, 4}}, rights[][2] = {{5, 6}, {7, 8}, {9, 9}};
    for (uint32_t count = 2; count <= 3; count++) {
        Flow flow = flow_new();
        flow_table(&flow, lefts, 2);
        OpId left = flow.last;
        flow_table(&flow, rights, count);
        OpId right = flow.last;
        const Type *type = flow_type(&flow, "i64?");
        Column columns[] = {{TEXT("a"), type, false},
                            {TEXT("b"), type, false},
                            {TEXT("c"), type, false},
                            {TEXT("d"), type, false}};
        Op *op = flow_op(&flow, OP_ZIP, "zip");
        op->inputs[0] = left;
        op->inputs[1] = right;
        op->input_count = 2;
        op->columns = columns;
        op->column_count = 4;
        flow_write(&flow, FORMAT_CSV, "out.csv");
        flow_run(&flow);
        if (count == 2) CHECK_TEXT(flow_get(&flow, "out.csv"), "a,b,c,d\n1,2,5,6\n3,4,7,8\n");
        else
            CHECK(flow.exit_code == 1 &&
                  text_has(flow.said, "error[SB7029]: the flows of a zip differ in length\n"));
        flow_end(&flow);
    }
}

static void distinct_and_union_keep_first_places(void) {
    static const int64_t cells[][2] = {{1, 2}, {INT64_MIN, 2}, {1, 2}, {INT64_MIN, 2}};
    Flow flow = flow_new();
    uint32_t right_columns[] = {0, 1};
    flow_table(&flow, cells, 4);
    OpId table = flow.last;
    Op *op = flow_op(&flow, OP_UNION, "union");
    op->inputs[1] = table;
    op->input_count = 2;
    op->union_.right_columns = right_columns;
    flow_op(&flow, OP_DISTINCT, "distinct");
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a,b\n1,2\n,2\n");
    CHECK(text_has(flow.said, "union      8     0   8         0         0       0\n"
                              "distinct   8     0   2         0         0       6\n"));
    flow_end(&flow);
}

static void explode_makes_a_row_for_each_element(void) {
    Flow flow = flow_new();
    flow_put(&flow, "in.jsonl",
             TEXT("{\"a\":1,\"b\":[7,0]}\n{\"a\":2,\"b\":[]}\n{\"a\":3,\"b\":[5]}\n"));
    flow_read(&flow, FORMAT_JSONL, "in.jsonl", "a: i64, b: [i64]");
    Op *op = flow_op(&flow, OP_EXPLODE, "explode");
    op->explode.column = 1;
    op->columns = arena_copy(flow.arena, op->columns, 2 * sizeof *op->columns, alignof(Column));
    op->columns[1].type = flow_i64(&flow);
    flow_derive(&flow, "c", hundred_by(&flow, flow_column(&flow, 1)));
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_keep_rejects(&flow);
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a,b,c\n1,7,14\n3,5,20\n");
    CHECK(text_has(flow.said, "explode   3     1   3         1         0       0\n"
                              "derive    3     0   2         0         1       0\n"));
    flow_end(&flow);
}

static void sample_and_shuffle_go_by_identity(void) {
    char *first = nullptr;
    size_t first_sum = 0;
    for (int i = 0; i < 2; i++) {
        Flow flow = flow_new();
        Op *op = flow_op(&flow, OP_SOURCE, "range");
        op->source.kind = SOURCE_RANGE;
        op->source.path = i64_of(&flow, 1000);
        op->source.options = file_options_none();
        flow_columns(&flow, op, "i: i64");
        op = flow_op(&flow, OP_SAMPLE, "sample");
        op->sample.fraction =
            graph_const(flow.graph, type_of(flow.types, TYPE_F64), (Const){.f = 0.1}, no_span);
        op->sample.seed = i64_of(&flow, 7);
        flow_op(&flow, OP_SHUFFLE, "shuffle")->shuffle.seed = i64_of(&flow, i);
        flow_write(&flow, FORMAT_TEXT, "out.txt");
        flow_run(&flow);
        Text out = flow_get(&flow, "out.txt");
        size_t lines = 0, sum = 0;
        for (size_t k = 0; k < out.len; k++)
            lines += out.at[k] == '\n', sum += (unsigned char)out.at[k];
        // A tenth of a thousand, give or take four standard deviations.
        CHECK_SAYS(lines > 62 && lines < 138, "%zu", lines);
        // Another seed shuffles the same rows in another order.
        if (i) CHECK(sum == first_sum && !text_eq(text_of(first), out));
        first_sum = sum;
        free(first);
        first = strdup(text_c(flow.arena, out));
        flow_end(&flow);
    }
    free(first);
}

static void limits_of_rejects_fail_at_the_first_too_many(void) {
    static const struct { const char *limit; int exit_code; const char *says; } cases[] = {
        {"--reject-limit=1", 1, "   = 2 rows rejected, the limit is 1\n"},
        {"--reject-limit=3", 0, ""},
        {"--reject-limit=50%", 1, "   = 3 rows rejected, the limit is 50%\n"},
        {"--reject-limit=60%", 0, ""},
        {"--reject-limit=x", 2, "--reject-limit=x: 'x' is no limit"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        Flow flow = flow_new();
        flow_put(&flow, "in.csv", TEXT("a\n1\nx\n3\ny\nz\n"));
        flow_read(&flow, FORMAT_CSV, "in.csv", "a: i64");
        flow_write(&flow, FORMAT_CSV, "out.csv");
        flow.args[flow.arg_count++] = cases[i].limit;
        flow.args[flow.arg_count++] =
            text_format(flow.arena, "--rejects=%s", flow_path(&flow, "bad.jsonl")).at;
        flow_run(&flow);
        CHECK(flow.exit_code == cases[i].exit_code && text_has(flow.said, cases[i].says));
        CHECK(!flow_get(&flow, "out.csv").at == (flow.exit_code != 0));
        CHECK(!flow_get(&flow, "bad.jsonl").at == (flow.exit_code == 2));
        if (flow.exit_code == 1)
            CHECK(
                text_has(flow.said, "error[SB7002]: column 'a': 'x' is no integer of this type\n"));
        flow_end(&flow);
    }
}

static void an_output_that_exists_is_kept(void) {
    for (int overwrite = 0; overwrite < 2; overwrite++) {
        Flow flow = flow_new();
        static const int64_t cells[][2] = {{1, 2}};
        flow_table(&flow, cells, 1);
        flow_put(&flow, "out.csv", TEXT("old"));
        flow_write(&flow, FORMAT_CSV, "out.csv");
        if (overwrite) flow.args[flow.arg_count++] = "--overwrite";
        flow_run(&flow);
        CHECK(flow.exit_code == (overwrite ? 0 : 2));
        CHECK_TEXT(flow_get(&flow, "out.csv"), overwrite ? "a,b\n1,2\n" : "old");
        flow_end(&flow);
    }
}

static const UnitTest tests[] = {
    {"filters_behind_a_read_run_before_the_columns", filters_behind_a_read_run_before_the_columns},
    {"a_column_named_by_a_filter_is_read_only_as_far_as_needed",
     a_column_named_by_a_filter_is_read_only_as_far_as_needed},
    {"rows_behind_a_limit_are_neither_judged_nor_counted",
     rows_behind_a_limit_are_neither_judged_nor_counted},
    {"a_flow_used_twice_runs_once", a_flow_used_twice_runs_once},
    {"an_else_value_handles_and_an_else_reject_settles",
     an_else_value_handles_and_an_else_reject_settles},
    {"a_needless_branch_is_not_judged", a_needless_branch_is_not_judged},
    {"what_nothing_reads_is_not_judged", what_nothing_reads_is_not_judged},
    {"sort_is_stable_and_nulls_are_last", sort_is_stable_and_nulls_are_last},
    {"joins_keep_left_order_and_count_every_row", joins_keep_left_order_and_count_every_row},
    {"group_keeps_first_places_and_rejects_whole_rows",
     group_keeps_first_places_and_rejects_whole_rows},
    {"zip_pairs_by_position_and_fails_on_lengths", zip_pairs_by_position_and_fails_on_lengths},
    {"distinct_and_union_keep_first_places", distinct_and_union_keep_first_places},
    {"explode_makes_a_row_for_each_element", explode_makes_a_row_for_each_element},
    {"sample_and_shuffle_go_by_identity", sample_and_shuffle_go_by_identity},
    {"limits_of_rejects_fail_at_the_first_too_many", limits_of_rejects_fail_at_the_first_too_many},
    {"an_output_that_exists_is_kept", an_output_that_exists_is_kept},
};

UNIT_MAIN("reference_steps", tests)
