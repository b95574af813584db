#include "frontend/ast_print.h"
#include "frontend/parse.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

typedef struct Case {
    Arena     *arena;
    SourceSet *sources;
    Diags     *diags;
    AstFile   *file;
} Case;

static Case parse(Text text) {
    Case c = {.arena = arena_new()};
    c.sources = source_set_new(c.arena);
    c.diags = diags_new(c.arena, c.sources);
    c.file = parse_file(c.arena, c.sources, source_add(c.sources, TEXT("x.sbd"), text), c.diags);
    return c;
}

// An expression in prefix form: (+ a (* b c)).
static void show(TextBuf *buf, const AstExpr *e) {
    bool leaf = !e->a && !e->arg_count;
    if (leaf) {
        text_buf_add(buf, e->kind == AST_NAME ? e->name.text : e->text);
        return;
    }
    const char *head = e->kind == AST_UNARY || e->kind == AST_BINARY ? ast_op_text(e->op)
                     : e->kind == AST_IN ? "in" : e->kind == AST_IF ? "if"
                     : e->kind == AST_ELSE ? "else" : e->kind == AST_INDEX ? "[]" : nullptr;
    text_buf_char(buf, '(');
    text_buf_add(buf, head ? text_of(head) : e->name.text);
    const AstExpr *parts[] = {e->a, e->b, e->c};
    for (size_t i = 0; i < countof(parts); i++) {
        if (parts[i]) text_buf_char(buf, ' ');
        if (parts[i]) show(buf, parts[i]);
    }
    for (uint32_t i = 0; i < e->arg_count; i++) {
        text_buf_char(buf, ' ');
        show(buf, e->args[i].value);
    }
    text_buf_char(buf, ')');
}

static void check_expr(const char *text, const char *want) {
    Arena *arena = arena_new();
    SourceSet *sources = source_set_new(arena);
    Diags *diags = diags_new(arena, sources);
    uint32_t file = source_add(sources, TEXT("x.sbd"), text_of(text));
    AstExpr *e = parse_expr_text(arena, sources, file, diags);
    TextBuf buf = {0};
    if (e) show(&buf, e);
    Text got = text_buf_take(&buf, arena);
    CHECK_SAYS(text_is(got, want), "%s: %.*s", text, TEXT_ARG(got));
    arena_free(arena);
}

static void operators_bind_as_documented(void) {
    check_expr("a + b * c", "(+ a (* b c))");
    check_expr("a - b - c", "(- (- a b) c)");
    check_expr("-a.b * c[i]", "(* (- (b a)) ([] c i))");
    check_expr("a ?? b + c", "(?? a (+ b c))");
    check_expr("a ?? b == c", "(== (?? a b) c)");
    check_expr("not a == b and c or d", "(or (and (not (== a b)) c) d)");
    check_expr("a or b and c", "(or a (and b c))");
    check_expr("x in 1..n + 1 and y", "(and (in x 1 (+ n 1)) y)");
    check_expr("x in [1, 2]", "(in x 1 2)");
    check_expr("a + b else c", "(else (+ a b) c)");
    check_expr("f(a else b, c)", "(f (else a b) c)");
    check_expr("if a then b else if c then d else e", "(if a b (if c d e))");
    check_expr("if a then (b else 0) else c or d", "(if a (else b 0) (or c d))");
    check_expr("not + in", "(+ not in)");
}

static void line_ends_close_statements(void) {
    Case c = parse(TEXT(
        "let a = range(\n3\n)\n| derive x = 1 +\n2, y =\n3,\nz = 4\n\n| where x\nlet b = a\nb\n"));
    CHECK(c.diags->errors == 0 && c.file->stmt_count == 3);
    CHECK(c.file->stmt_count == 3 && c.file->stmts[0].flow->step_count == 2);
    CHECK(c.file->stmt_count == 3 && c.file->stmts[0].flow->steps[0].item_count == 3);
    arena_free(c.arena);
    c = parse(
        TEXT("a | with (cpus = 1) {\n  where x and\n    y\n  derive z = 1 | drop x\n} | drop z"));
    CHECK(c.diags->errors == 0 && c.file->stmt_count == 1);
    const AstStep *with = c.file->stmt_count ? &c.file->stmts[0].flow->steps[0] : nullptr;
    CHECK(with && with->step_count == 3 && c.file->stmts[0].flow->step_count == 2);
    arena_free(c.arena);
}

static void declarations_carry_their_comments(void) {
    Case c = parse(
        TEXT("# Lines\n# above.\nparam a: i64 = 1\nparam b: i64  # behind\n\nparam c: i64\n"));
    CHECK(c.diags->errors == 0 && c.file->stmt_count == 3);
    if (c.file->stmt_count == 3) {
        CHECK(text_is(c.file->stmts[0].doc, "Lines\nabove."));
        CHECK(text_is(c.file->stmts[1].doc, "behind"));
        CHECK(c.file->stmts[2].doc.len == 0);
    }
    arena_free(c.arena);
}

static void mistakes_do_not_hide_each_other(void) {
    Case c = parse(TEXT("param n i64\nlet a = range(3 | where x\nfn f(x) = x\n"
                        "a | slect b | wher c | derive = 3 | write csv(1 2)\nlet z = a\n"));
    CHECK_SAYS(c.diags->errors == 7, "%u", c.diags->errors);
    CHECK(c.file->stmts[c.file->stmt_count - 1].kind == AST_LET);
    arena_free(c.arena);
}

static void deep_nesting_is_refused(void) {
    static const char *const openers[] = {
        "(", "[", "{a:", "f(", "- ", "not ", "if a then b else ", "case {_=>", "f\"{"};
    for (size_t i = 0; i < countof(openers); i++) {
        TextBuf buf = {0};
        text_buf_add(&buf, TEXT("a | where "));
        for (int depth = 0; depth < 100000; depth++) text_buf_add(&buf, text_of(openers[i]));
        Case c = parse(text_buf_view(&buf));
        CHECK_SAYS(c.diags->errors > 0 && c.diags->errors < 5, "%s: %u", openers[i],
                   c.diags->errors);
        text_buf_free(&buf);
        arena_free(c.arena);
    }
}

static void long_chains_are_refused(void) {
    TextBuf buf = {0};
    text_buf_add(&buf, TEXT("a | where x"));
    for (int i = 0; i < 100000; i++) text_buf_add(&buf, TEXT(" + x"));
    Case c = parse(text_buf_view(&buf));
    CHECK(c.diags->errors == 1 && c.diags->items[0]->code == DIAG_TOO_DEEP);
    text_buf_free(&buf);
    arena_free(c.arena);
}

static void types_stand_alone(void) {
    Arena *arena = arena_new();
    SourceSet *sources = source_set_new(arena);
    Diags *diags = diags_new(arena, sources);
    uint32_t good = source_add(sources, TEXT("t"), TEXT("[{a: decimal(15, 2)?, b: f32[3, n]}]?"));
    uint32_t bad = source_add(sources, TEXT("t"), TEXT("i64 i64"));
    const AstType *type = parse_type_text(arena, sources, good, diags);
    CHECK(type && type->nullable && type->kind == AST_TYPE_LIST);
    CHECK(type && type->elem->field_count == 2 && type->elem->fields[1].type->param_count == 2);
    CHECK(!parse_type_text(arena, sources, bad, diags) && diags->errors == 1);
    arena_free(arena);
}

static const UnitTest tests[] = {
    {"operators_bind_as_documented", operators_bind_as_documented},
    {"line_ends_close_statements", line_ends_close_statements},
    {"declarations_carry_their_comments", declarations_carry_their_comments},
    {"mistakes_do_not_hide_each_other", mistakes_do_not_hide_each_other},
    {"deep_nesting_is_refused", deep_nesting_is_refused},
    {"long_chains_are_refused", long_chains_are_refused},
    {"types_stand_alone", types_stand_alone},
};

UNIT_MAIN("parse", tests)
