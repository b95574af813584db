// Reads every tests/ir/*.ir, which holds what it expects in lines `# WHAT before: ...` or
// `# WHAT after PASS: NAME COUNT ...`, and prints, reads and prints each again.
#include "ir/form.h"
#include "ir/plan.h"
#include "tests/unit/graph_texts.h"

#include <stdlib.h>

// ---- counting ----

typedef struct Counter {
    const Graph *graph;
    Walk         walk;
    Text         name;
    bool         proven;
    size_t       found;
} Counter;

static void add_root(void *self, ExprId *slot, ColumnScope scope, TypeKind wanted) {
    (void)scope, (void)wanted;
    walk_add(&((Counter *)self)->walk, *slot);
}

static size_t count_exprs(const Graph *graph, Text name, bool proven) {
    Counter counter = {.graph = graph, .walk = walk_make(graph)};
    size_t found = 0;
    walk_start(&counter.walk);
    for (size_t i = 0; i < graph->op_count; i++) op_each_expr(&graph->ops[i], &counter, add_root);
    for (ExprId id; walk_next(&counter.walk, &id);) {
        const Expr *node = graph_at(graph, id);
        found += text_is(name, expr_op_name(node->op)) && (!proven || node->proven);
    }
    return found;
}

static size_t count_in_op(const Op *op, Text what) {
    size_t found = 0;
    if (text_is(what, "items") && op->kind == OP_PROJECT) found = op->project.count;
    if (text_is(what, "items") && op->kind == OP_GROUP)
        found = op->group.key_count + op->group.agg_count;
    for (uint32_t i = 0; text_is(what, "hidden") && i < op->column_count; i++)
        found += op->columns[i].hidden;
    for (uint32_t i = 0;
         text_is(what, "read") && op->kind == OP_SOURCE && i < op->source.column_count; i++)
        found += op->source.columns[i].read;
    for (uint32_t i = 0; op->kind == OP_SINK && i < op->sink.column_count; i++) {
        if (text_is(what, "spellings")) found += !expr_is_none(op->sink.columns[i].spelling);
        if (text_is(what, "verbatim")) found += op->sink.columns[i].verbatim;
        if (text_is(what, "within")) found += op->sink.columns[i].within;
    }
    return found;
}

// `name` is empty where the count is of all operators.
static size_t count(const Graph *graph, Text what, Text name) {
    if (text_is(what, "exprs")) return count_exprs(graph, name, false);
    if (text_is(what, "proven")) return count_exprs(graph, name, true);
    size_t found = 0;
    for (size_t i = 0; i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        if (name.len && !text_is(name, op_kind_name(op->kind))) continue;
        found += text_is(what, "ops") ? 1 : count_in_op(op, what);
    }
    return found;
}

// ---- expectations ----

static Text next_word(Text *line) {
    while (line->len && (line->at[0] == ' ' || line->at[0] == ':')) line->at++, line->len--;
    size_t len = 0;
    while (len < line->len && line->at[len] != ' ' && line->at[len] != ':') len++;
    Text word = {line->at, len};
    line->at += len;
    line->len -= len;
    return word;
}

static void check_counts(const char *path, const Graph *graph, Text what, Text line) {
    for (Text word; (word = next_word(&line)).len;) {
        bool number = word.at[0] >= '0' && word.at[0] <= '9';
        Text name = number ? TEXT("") : word;
        Text digits = number ? word : next_word(&line);
        size_t wanted = digits.len ? strtoul(digits.at, nullptr, 10) : 0;
        size_t found = count(graph, what, name);
        CHECK_SAYS(digits.len && found == wanted, "%s: %.*s %.*s is %zu, not %zu\n", path,
                   TEXT_ARG(what), TEXT_ARG(name), found, wanted);
    }
}

// A line behind "# ". Returns true if it is an expectation, and checks it.
static bool check_line(const char *path, Text text, Text line) {
    Text what = next_word(&line), when = next_word(&line);
    bool before = text_is(when, "before"), after = text_is(when, "after");
    bool heading = memchr(line.at, ':', line.len) != nullptr;
    if ((!before && !after) || !(heading || before)) return false;
    Arena *arena = arena_new();
    Graph *graph = read_text(arena, text);
    PassContext context = {.graph = graph};
    if (after && graph) CHECK(passes_run(&context, text_c(arena, next_word(&line))));
    if (graph) check_counts(path, graph, what, line);
    arena_free(arena);
    return true;
}

static size_t check_expectations(const char *path, Text text) {
    size_t found = 0;
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.at + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.at) - at : text.len - at;
        Text line = {text.at + at, len};
        if (text_starts(line, TEXT("# ")))
            found += check_line(path, text, (Text){line.at + 2, len - 2});
        at += len + 1;
    }
    return found;
}

static void check_round_trip(Arena *arena, Text text) {
    Graph *graph = read_text(arena, text);
    if (!graph) return;
    Text once = print_text(arena, graph);
    Graph *again = read_text(arena, once);
    if (!again) return;
    Text twice = print_text(arena, again);
    CHECK_SAYS(text_eq(once, twice), "\n%.*s\nis not\n%.*s", TEXT_ARG(once), TEXT_ARG(twice));
}

// ---- tests ----

static void see_expectations(void *self, const char *path, Arena *arena, Text text) {
    (void)self, (void)arena;
    CHECK_SAYS(check_expectations(path, text) > 0, "%s expects nothing\n", path);
}

static void see_round_trip(void *self, const char *path, Arena *arena, Text text) {
    (void)self, (void)path;
    check_round_trip(arena, text);
}

static void see_passes(void *self, const char *path, Arena *arena, Text text) {
    (void)self;
    for (size_t i = 0; i < pass_count; i++) {
        Graph *graph = read_text(arena, text);
        PassContext context = {.graph = graph};
        if (!graph) return;
        CHECK_SAYS(passes_run(&context, passes[i].name), "%s", path);
        check_round_trip(arena, print_text(arena, graph));
        Plan *plan = plan_make(graph, (PlanOptions){.no_fuse = i % 2});
        CHECK(plan->stage_count > 0);
    }
}

static void passes_do_what_the_files_say(void) { each_file(nullptr, see_expectations); }
static void what_is_printed_is_read_back(void) { each_file(nullptr, see_round_trip); }
static void every_pass_leaves_a_good_graph(void) { each_file(nullptr, see_passes); }

// The file of all operators is in the printed form already.
static void the_printed_form_is_the_written_one(void) {
    Arena *arena = arena_new();
    Text text = file_text(arena, "tests/ir/all.ir");
    const char *start = strstr(text_c(arena, text), "\nfile ");
    Graph *graph = read_text(arena, text);
    if (graph && start) {
        Text printed = print_text(arena, graph);
        CHECK_SAYS(text_eq(printed, text_of(start + 1)), "\n%.*s", TEXT_ARG(printed));
    }
    CHECK(start);
    arena_free(arena);
}

static void constants_are_values_of_their_type(void) {
    Arena *arena = arena_new();
    Graph *graph = read_text(arena, TEXT("param k : f16 {\n    $0 = const f16 0.1\n"
                                         "    value $0\n}\n"));
    CHECK(graph != nullptr);
    const char *text = graph ? text_c(arena, print_text(arena, graph)) : "";
    CHECK_SAYS(strstr(text, "const f16 0.0999755859375"), "%s", text);
    arena_free(arena);
}

static void errors_name_the_place(void) {
    static const struct { const char *text, *error, *rest;
    } wrong[] = {
        {"stop", "expected a statement, found 'stop'", "stop"},
        {"\n\n%1 = zip %0 %0 {\n}", "expected operators numbered from 0", "= zip %0 %0 {\n}"},
        {"%0 = filter %0 {\n}", "expected an operator above", "{\n}"},
        {"step \"x", "expected a closing quote", "\"x"},
        {"param p : i32 {\n    $0 = const i8 128\n}", "expected a whole number that fits", "\n}"},
        {"param p : i32 {\n    $0 = not $0 : bool\n}", "expected an expression defined above",
         ": bool\n}"},
        {"param p : i32 {\n    $0 = add : i32\n}", "expected as many arguments as it takes", "}"},
        {"param p : decimal(39,0) {\n}", "expected a decimal of 1 to 38 digits", "{\n}"},
        {"%0 = source csv {\n    out a : i64\n}\n",
         "expected as many columns as the payload has", "}\n"},
        {"%0 = source range {\n}\n%1 = window %0 {\n    out a : i64\n}\n",
         "expected as many columns as the payload has", "}\n"},
    };
    for (size_t i = 0; i < countof(wrong); i++) {
        Arena *arena = arena_new();
        GraphFault fault = {0};
        CHECK(!graph_read(arena, type_table_new(arena), text_of(wrong[i].text), &fault));
        Text said = text_buf_view(&fault.message);
        CHECK_SAYS(text_starts(said, text_of(wrong[i].error)), "%.*s, not %s\n", TEXT_ARG(said),
                   wrong[i].error);
        CHECK_SAYS(strcmp(wrong[i].text + fault.place, wrong[i].rest) == 0, "%s at: %s\n",
                   wrong[i].error, wrong[i].text + fault.place);
        text_buf_free(&fault.message);
        arena_free(arena);
    }
}

// A file is opened by such a text, whatever the arena holds next.
static void a_formatted_text_ends_with_nul(void) {
    Arena *arena = arena_new();
    int good = 0;
    for (int i = 0; i < 3000; i++) {
        Text text = text_format(arena, "%0*d", 1 + i % 60, i);
        *(char *)arena_alloc(arena, 1, 1) = 'x';
        good += text.at[text.len] == 0;
    }
    CHECK(good == 3000);
    arena_free(arena);
}

// ---- docs/ir.md ----

static void has_row(const char *doc, Arena *arena, Text row) {
    CHECK_SAYS(strstr(doc, text_c(arena, row)), "docs/ir.md lacks: %.*s", TEXT_ARG(row));
}

static void expr_row(const char *doc, Arena *arena, const char *name, int arity, bool faults,
                     const char *meaning) {
    Text count = arity < 0 ? TEXT("any") : text_format(arena, "%d", arity);
    has_row(doc, arena, text_format(arena, "\n| `%s` | %.*s | %s | %s |\n", name, TEXT_ARG(count),
                                    faults ? "yes" : "no", meaning));
}

static void op_row(const char *doc, Arena *arena, const char *name, int inputs,
                   const char *meaning) {
    has_row(doc, arena, text_format(arena, "\n| `%s` | %d | %s |\n", name, inputs, meaning));
}

static void the_manual_has_the_tables_of_operators(void) {
    Arena *arena = arena_new();
    const char *doc = text_c(arena, file_text(arena, "docs/ir.md"));
#define EXPR(name, text, arity, faults, meaning) expr_row(doc, arena, text, arity, faults, meaning);
#define OP(name, text, inputs, meaning) op_row(doc, arena, text, inputs, meaning);
#include "ir/ops.def"
    arena_free(arena);
}

// The example of the manual is a graph, and in the printed form.
static void the_example_of_the_manual_is_read(void) {
    Arena *arena = arena_new();
    const char *doc = text_c(arena, file_text(arena, "docs/ir.md"));
    const char *start = strstr(doc, "```\n"), *end = start ? strstr(start + 4, "```") : nullptr;
    CHECK(end);
    if (end) {
        Text example = {start + 4, (size_t)(end - start) - 4};
        Graph *graph = read_text(arena, example);
        CHECK(graph && text_eq(print_text(arena, graph), example));
    }
    arena_free(arena);
}

// "`written`, `reads`", or "-".
static Text fact_list(Arena *arena, Facts facts) {
    TextBuf list = {0};
    for (uint32_t i = 0; i < FACT_COUNT; i++)
        if (facts & ((Facts)1 << i))
            text_buf_format(&list, "%s`%s`", list.len ? ", " : "", fact_name(i));
    return list.len ? text_buf_take(&list, arena) : TEXT("-");
}

static void the_manual_has_every_pass(void) {
    Arena *arena = arena_new();
    const char *doc = text_c(arena, file_text(arena, "docs/ir.md"));
    for (size_t i = 0; i < pass_count; i++)
        has_row(doc, arena,
                text_format(arena, "\n| `%s` | %.*s | %.*s | %.*s | ", passes[i].name,
                            TEXT_ARG(fact_list(arena, passes[i].needs)),
                            TEXT_ARG(fact_list(arena, passes[i].gives)),
                            TEXT_ARG(fact_list(arena, passes[i].breaks))));
    for (size_t i = 0; i < plan_pass_count; i++)
        has_row(doc, arena,
                text_format(arena, "\n| `%s` | %.*s | %.*s | ", plan_passes[i].name,
                            TEXT_ARG(fact_list(arena, plan_passes[i].needs)),
                            TEXT_ARG(fact_list(arena, plan_passes[i].gives))));
    for (uint32_t i = 0; i < FACT_COUNT; i++)
        has_row(doc, arena, text_format(arena, "\n| `%s` | %s |\n", fact_name(i), fact_meaning(i)));
    arena_free(arena);
}

static const UnitTest tests[] = {
    {"passes_do_what_the_files_say", passes_do_what_the_files_say},
    {"what_is_printed_is_read_back", what_is_printed_is_read_back},
    {"every_pass_leaves_a_good_graph", every_pass_leaves_a_good_graph},
    {"the_printed_form_is_the_written_one", the_printed_form_is_the_written_one},
    {"constants_are_values_of_their_type", constants_are_values_of_their_type},
    {"errors_name_the_place", errors_name_the_place},
    {"a_formatted_text_ends_with_nul", a_formatted_text_ends_with_nul},
    {"the_manual_has_the_tables_of_operators", the_manual_has_the_tables_of_operators},
    {"the_example_of_the_manual_is_read", the_example_of_the_manual_is_read},
    {"the_manual_has_every_pass", the_manual_has_every_pass},
};

UNIT_MAIN("ir", tests)
