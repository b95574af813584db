// The checker: what small programs become, and what is said about wrong ones.
#include "frontend/check.h"
#include "ir/pass.h"
#include "tests/unit/unit.h"

static const char declarations[] =
    "fn len(s: str) -> i64 = sb_len\n"
    "fn len(xs: [T]) -> i64 = sb_list_len\n"
    "    traits typed\n"
    "fn contains(s: str, part: str) -> bool = sb_contains\n"
    "fn contains(xs: [T], x: T) -> bool = sb_list_contains\n"
    "    traits typed\n"
    "fn first(xs: [T]) -> T? = sb_list_first\n"
    "    traits typed\n"
    "fn abs(x: i64) -> i64 = sb_abs_i64\n"
    "    traits fallible\n"
    "fn abs(x: f64) -> f64 = sb_abs_f64\n"
    "fn hour(t: timestamp) -> i64 = sb_hour\n"
    "fn hour(t: timestamp, z: zone) -> i64 = sb_hour_zone\n"
    "fn matches(s: str, pattern: regex) -> bool = sb_matches\n"
    "    traits fallible call\n"
    "fn random() -> f64 = sb_random\n"
    "    traits random\n"
    "fn round(x: decimal, digits: const i64) -> decimal = sb_round\n"
    "    traits typed\n"
    "agg sum(x: i64) -> i64 = sb_sum_i64\n"
    "    state 32 16\n"
    "agg sum(x: f64) -> f64 = sb_sum_f64\n"
    "    state 64 16\n"
    "agg sum(x: decimal) -> decimal = sb_sum_decimal\n"
    "    state 48 16\n"
    "    traits typed\n"
    "agg mean(x: f64) -> f64? = sb_mean\n"
    "    state 64 16\n"
    "agg max(x: T) -> T? = sb_max\n"
    "    state 32 16\n"
    "    traits typed\n"
    "agg first(x: T) -> T? = sb_first\n"
    "    state 32 16\n"
    "    traits typed order\n"
    "agg quantile(x: f64, q: const f64) -> f64? = sb_quantile\n"
    "    state 64 16\n";

typedef struct Checked {
    Arena   *arena;
    Diags   *diags;
    Program *program;
} Checked;

static const Type *infer_nothing(void *self, const SourceOp *source, Text path, TypeTable *types,
                                 TextBuf *error) {
    (void)self;
    (void)source;
    if (text_is(path, "missing.csv")) {
        text_buf_add(error, TEXT("no such file"));
        return nullptr;
    }
    Field fields[] = {{TEXT("a"), type_of(types, TYPE_I64)}};
    return type_struct(types, fields, 1);
}

static Checked check(const char *text, bool tests) {
    Checked checked = {.arena = arena_new()};
    SourceSet *sources = source_set_new(checked.arena);
    TypeTable *types = type_table_new(checked.arena);
    checked.diags = diags_new(checked.arena, sources);
    uint32_t file = source_add(sources, TEXT("test.sbd"), text_of(text));
    DeclTable *decls = declare_text(checked.arena, types, checked.diags, text_of(declarations));
    CheckInput input = {.arena = checked.arena, .types = types, .sources = sources,
                        .diags = checked.diags, .decls = decls, .infer = infer_nothing,
                        .want_tests = tests};
    checked.program = check_program(&input, file);
    return checked;
}

// "csv 2 project group sort: hour i64, trips i64": the operators before the first sink, a source's
// filters as a number behind it, and the columns that reach it.
static Text shape(const Checked *checked) {
    TextBuf buf = {0};
    const Graph *graph = checked->program->graph;
    for (size_t i = 0; graph && i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        if (op->kind == OP_SINK) {
            const Op *input = graph_op_at(graph, op->inputs[0]);
            for (uint32_t j = 0; j < input->column_count; j++) {
                text_buf_add(&buf, j ? TEXT(", ") : TEXT(": "));
                text_buf_format(&buf, "%.*s ", TEXT_ARG(input->columns[j].name));
                type_print(&buf, input->columns[j].type);
            }
            break;
        }
        if (i) text_buf_char(&buf, ' ');
        const char *name = op->kind == OP_SOURCE ? source_name(&op->source)
                                                 : op_kind_name(op->kind);
        text_buf_add(&buf, text_of(name));
        if (op->kind == OP_SOURCE && op->source.filter_count)
            text_buf_format(&buf, " %u", op->source.filter_count);
    }
    return text_buf_take(&buf, checked->arena);
}

static Text codes(const Checked *checked) {
    TextBuf buf = {0};
    for (size_t i = 0; i < checked->diags->count; i++)
        text_buf_format(&buf, i ? " %s" : "%s", diag_code(checked->diags->items[i]->code));
    return text_buf_take(&buf, checked->arena);
}

static void expect_shape(const char *program, const char *want) {
    Checked checked = check(program, false);
    Text found = shape(&checked), said = codes(&checked);
    TextBuf errors = {0};
    CHECK_SAYS(text_is(found, want), "%s\n  found %.*s %.*s\n  want  %s", program, TEXT_ARG(found),
               TEXT_ARG(said), want);
    if (checked.program->graph)
        CHECK_SAYS(graph_verify(checked.program->graph, &errors), "%s: %.*s", program,
                   (int)errors.len, errors.at);
    text_buf_free(&errors);
    arena_free(checked.arena);
}

static void expect_codes(const char *program, const char *want) {
    Checked checked = check(program, true);
    Text found = codes(&checked);
    CHECK_SAYS(text_is(found, want), "%s\n  found %.*s\n  want  %s", program, TEXT_ARG(found),
               want);
    CHECK((checked.program->graph == nullptr) == (checked.diags->errors > 0));
    arena_free(checked.arena);
}

// The type of an expression over a row with a column of every kind.
static void expect_type(const char *expr, const char *want) {
    static const char row[] =
        "read jsonl(\"-\") as {b: bool, i: i32, l: i64, u: u32, v: u64, f: f32, d: f64, p: "
        "decimal(15,2), "
        "s: str, n: i64?, m: str?, t: timestamp, ms: timestamp[ms], day: date, dur: duration, "
        "xs: [i64], r: {a: i64, b: str?}?, j: json}";
    char program[1024], column[256];
    snprintf(program, sizeof program, "%s | derive x = %s | select x | write jsonl(\"-\")", row,
             expr);
    snprintf(column, sizeof column, "jsonl project project: x %s", want);
    expect_shape(program, column);
}

static void steps_become_operators(void) {
    expect_shape("range(3) | write csv(\"-\")", "range: i i64");
    expect_shape("read csv(\"-\") as {a: i64} | where a > 1 | where a < 9 | derive b = a | where "
                 "b > 2 | write csv(\"-\")",
                 "csv 2 project filter: a i64, b i64");
    expect_shape("range(3) | derive i = f64(i), j = i * 2.0 | write csv(\"-\")",
                 "range project: i f64, j f64");
    expect_shape("range(3) | derive j = i | rename k = i | drop j | write csv(\"-\")",
                 "range project project project: k i64");
    expect_shape("range(3) | group by k = i % 2 { n = count(), s = sum(i) } | sort n desc | write "
                 "csv(\"-\")",
                 "range group sort: k i64, n i64, s i64");
    expect_shape("range(3) | aggregate { r = f64(sum(i)) / f64(count()) } | write csv(\"-\")",
                 "range group project: r f64");
    expect_shape("range(3) | derive xs = [i, 2] | explode xs | limit 3 | skip 1 | distinct | "
                 "write csv(\"-\")",
                 "range project explode limit limit distinct: i i64, xs i64");
    expect_shape("range(9) | sample 50% seed 1 | shuffle seed 2 | repartition rows 3 | with (cpus "
                 "= 2) { where i > 1 } | write csv(\"-\")",
                 "range sample shuffle hint hint filter: i i64");
    expect_shape("[{a: 1, b: \"x\"}, {a: 2.5, b: null}] | write csv(\"-\")",
                 "inline: a f64, b str?");
    expect_shape("read text(\"-\") | derive n = line(), f = source() | write csv(\"-\")",
                 "text project: line str, n i64, f str");
    expect_shape("read csv(\"a.csv\") | write csv(\"-\")", "csv: a i64");
}

static void two_flows_meet(void) {
    expect_shape("let a = [{k: 1, x: 2}]\na | join (range(3) | derive k = i) on k | write "
                 "csv(\"-\")",
                 "inline range project join: k i64, x i64, i i64");
    expect_shape("[{k: 1, x: 2}] | join full (range(3) | rename j = i) on k == j | write "
                 "csv(\"-\")",
                 "inline range project join: k i64?, x i64?, j i64?");
    expect_shape("[{k: 1, x: 2}] | join left (range(3) | rename k = i | derive y = k) on k | "
                 "write csv(\"-\")",
                 "inline range project project join: k i64, x i64, y i64?");
    expect_shape("range(3) | join anti range(2) on i | write csv(\"-\")",
                 "range range join: i i64");
    expect_shape("[{a: 1, b: 2}] | union [{b: 3, a: 4}] | write csv(\"-\")",
                 "inline inline union: a i64, b i64");
    expect_shape("range(3) | zip (range(3) | rename j = i) | write csv(\"-\")",
                 "range range project zip: i i64, j i64");
}

static void numbers_find_their_types(void) {
    expect_type("i + 1", "i32");
    expect_type("1 + i * 2", "i32");
    expect_type("i + l", "i64");
    expect_type("i + u", "i64");
    expect_type("l / 2", "f64");
    expect_type("f * 2", "f32");
    expect_type("f + d", "f64");
    expect_type("f / 2", "f32");
    expect_type("i // 2", "i32");
    expect_type("p + 1", "decimal(16,2)");
    expect_type("p * 1.175", "decimal(19,5)");
    expect_type("p - p * p", "decimal(31,4)");
    expect_type("p / 3", "f64");
    expect_type("[1, 2.5]", "[f64]");
    expect_type("[l, 2]", "[i64]");
    expect_type("0.1%", "f64");
    expect_type("-9223372036854775808", "i64");
    expect_type("abs(1)", "i64");
    expect_type("abs(f)", "f64");
    expect_type("round(p, 1)", "decimal(38,2)");
    expect_type("decimal(l, 18, 3)", "decimal(18,3)");
}

static void nulls_and_branches(void) {
    expect_type("n ?? 0", "i64");
    expect_type("n ?? null", "i64?");
    expect_type("n == null", "bool");
    expect_type("n > 3 and m != \"x\"", "bool");
    expect_type("r.a", "i64?");
    expect_type("r.b ?? s", "str");
    expect_type("if b then n else 1", "i64?");
    expect_type("if b then 1 else 2.5", "f64");
    expect_type("case { l > 1 => 1, i > 2 => 2.5, _ => 3 }", "f64");
    expect_type("case { l > 1 => s, _ => null }", "str?");
    expect_type("xs[0] else 0", "i64");
    expect_type("i64(s) else null", "i64?");
    expect_type("first(xs) ?? 0", "i64");
    expect_type("i64(m)", "i64?");
}

static void text_and_time(void) {
    expect_type("f\"{l} km, {p}\"", "str");
    expect_type("s + \",\" + str(d)", "str");
    expect_type("t + 90s", "timestamp");
    expect_type("ms - 1h", "timestamp[ms]");
    expect_type("day + 1h", "timestamp");
    expect_type("t - day", "duration");
    expect_type("dur * 3", "duration");
    expect_type("dur / 1s", "f64");
    expect_type("t > ms", "bool");
    expect_type("day in date(\"2026-01-01\")..date(\"2026-02-01\")", "bool");
    expect_type("hour(ms)", "i64");
    expect_type("hour(t, \"Europe/Berlin\")", "i64");
    expect_type("matches(s, r\"\\d+\")", "bool");
    expect_type("{a: l, b: s}", "{a: i64, b: str}");
    expect_type("contains(xs, 3)", "bool");
}

static void constants_are_judged(void) {
    Checked checked = check("range(1) | derive a = date(\"2026-11-21\"), "
                            "b = timestamp(\"2026-01-01T01:30:00.5+01:00\") | write csv(\"-\")",
                                false);
    CHECK(checked.program->graph != nullptr);
    if (checked.program->graph) {
        const Graph *graph = checked.program->graph;
        const Op *op = &graph->ops[1];
        CHECK(graph_at(graph, op->project.items[1].expr)->value.i == 20778);
        CHECK(graph_at(graph, op->project.items[2].expr)->value.i == 1767227400500000);
    }
    arena_free(checked.arena);
}

static void a_fn_is_inlined_once_for_equal_arguments(void) {
    Checked checked = check("fn f(x: i64) -> i64 = x + x\nfn g(x: i64) = f(f(f(f(x))))\n"
                            "range(1) | derive a = g(i), b = f(f(f(f(i)))) | write csv(\"-\")",
                                false);
    CHECK(checked.program->graph != nullptr);
    if (checked.program->graph) {
        const Op *op = &checked.program->graph->ops[1];
        CHECK(expr_same(op->project.items[1].expr, op->project.items[2].expr));
    }
    arena_free(checked.arena);
}

static void calls_nested_forty_deep_take_no_time(void) {
    TextBuf buf = {0};
    text_buf_add(&buf, TEXT("fn f0(x: i64) -> i64 = x + 1\n"));
    for (int i = 1; i < 40; i++)
        text_buf_format(&buf, "fn f%d(x: i64) -> i64 = f%d(x) + f%d(x)\n", i, i - 1, i - 1);
    text_buf_add(&buf, TEXT("range(1) | derive a = f39(i) | write csv(\"-\")\n"));
    text_buf_char(&buf, '\0');
    expect_shape(buf.at, "range project: i i64, a i64");
    text_buf_free(&buf);
}

static void a_flow_used_twice_is_one_operator(void) {
    Checked checked = check("let a = range(3) | where i > 1\na | write csv(\"a.csv\")\n"
                            "a | limit 1 | write csv(\"b.csv\")\nlet unused = range(9)", false);
    const Graph *graph = checked.program->graph;
    CHECK(graph && graph->op_count == 5 && graph->ops[2].inputs[0].i == graph->ops[3].inputs[0].i);
    if (graph) CHECK(text_is(graph->ops[1].name, "a"));
    Text said = codes(&checked);
    CHECK_SAYS(text_is(said, "SB0217"), "%.*s", TEXT_ARG(said));
    arena_free(checked.arena);
}

static void tests_hold_typed_rows(void) {
    Checked checked = check("let t = read csv(\"-\") as {a: i64, b: str?}\nlet u = t | derive c = "
                            "f64(a)\n"
                            "u | write csv(\"-\")\n"
                            "test \"x\" { given t = [{a: 1}]\n expect u == [{a: 1, b: null, c: "
                            "1}] }", true);
    const Program *program = checked.program;
    CHECK(program->graph && program->test_count == 1 && program->tests[0].row_count == 2);
    if (program->graph && program->test_count == 1) {
        const TestRows *rows = program->tests[0].rows;
        CHECK(!rows[0].expect && rows[0].rows[0].items[1].is_null);
        CHECK(rows[1].expect && rows[1].rows[0].items[2].f == 1.0);
    }
    arena_free(checked.arena);
}

static void one_mistake_is_one_error(void) {
    expect_codes("range(3) | derive x = y + 1, z = x * 2 | where z > x | group by z { n = sum(x) "
                 "} | write csv(\"-\")",
                 "SB0201");
    expect_codes("read csv(\"-\") as {a: wat} | derive b = a + c | sort d | write csv(\"-\")",
                 "SB0204");
    expect_codes("nobody | where a > 1 | join other on k | write csv(\"-\")", "SB0202 SB0202");
    expect_codes("fn f(x: i64) -> str = x\nrange(3) | derive y = f(i) + f(i) | write csv(\"-\")",
                 "SB0301");
    expect_codes("param p: wat\nrange(p) | where i > p | write csv(\"-\")", "SB0204");
    expect_codes("range(3) | derive a = i + \"x\", b = bogus(a) | where c | write csv(\"-\")",
                 "SB0304 SB0203 SB0201");
    expect_codes("read csv(\"missing.csv\") | write csv(\"-\")", "SB0610");
    expect_codes("read csv(\"a.csv\") | write csv(\"-\")", "SB0611");
}

static void names_have_one_meaning(void) {
    expect_codes("let a = a\na | write csv(\"-\")", "SB0212");
    expect_codes("fn f(x: i64) -> i64 = g(x)\nfn g(x: i64) -> i64 = f(x)\nrange(1) | derive y = "
                 "f(i) | write csv(\"-\")",
                 "SB0211");
    expect_codes("type A = {b: B?}\ntype B = {a: A?}\nread jsonl(\"-\") as A | write jsonl(\"-\")",
                 "SB0213");
    expect_codes("use \"nowhere.sbd\"\nrange(3) | write csv(\"-\")", "SB0214");
}

static void limits_hold(void) {
    expect_codes("read csv(\"-\") as {n: i64?} | where n != 1 | derive x = n + 1 | write "
                 "csv(\"-\")", "SB0302");
    expect_codes("read csv(\"-\") as {b: bool?} | where b | write csv(\"-\")", "SB0302");
    expect_codes("range(3) | derive x: i8 = 128 | write csv(\"-\")", "SB0305");
    expect_codes("range(3) | derive x: f32 = 16777217 | write csv(\"-\")", "SB0306");
    expect_codes("range(3) | sort i | derive x = line() | write csv(\"-\")", "SB0331");
    expect_codes("range(3) | limit random() | write csv(\"-\")", "SB0332");
    expect_codes("range(i64(random() * 3.0)) | write csv(\"-\")", "SB0332");
    expect_codes("range(3) | derive x = 5 % 0 | write csv(\"-\")", "SB0307");
    expect_codes("range(3) | derive x = i / 0 | write csv(\"-\")", "SB0307");
    expect_codes("range(3) | union (range(3) | derive x = 1) | write csv(\"-\")", "SB0410");
}

static const UnitTest tests[] = {
    {"steps_become_operators", steps_become_operators},
    {"two_flows_meet", two_flows_meet},
    {"numbers_find_their_types", numbers_find_their_types},
    {"nulls_and_branches", nulls_and_branches},
    {"text_and_time", text_and_time},
    {"constants_are_judged", constants_are_judged},
    {"a_fn_is_inlined_once_for_equal_arguments", a_fn_is_inlined_once_for_equal_arguments},
    {"calls_nested_forty_deep_take_no_time", calls_nested_forty_deep_take_no_time},
    {"a_flow_used_twice_is_one_operator", a_flow_used_twice_is_one_operator},
    {"tests_hold_typed_rows", tests_hold_typed_rows},
    {"one_mistake_is_one_error", one_mistake_is_one_error},
    {"names_have_one_meaning", names_have_one_meaning},
    {"limits_hold", limits_hold},
};

UNIT_MAIN("check", tests)
