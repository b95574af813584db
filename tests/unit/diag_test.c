#include "frontend/diag.h"
#include "tests/unit/unit.h"

// The tests speak of the first code of the table; what it is called does not matter here.
static const DiagCode some_code = (DiagCode)0;

typedef struct Case {
    Arena     *arena;
    SourceSet *sources;
    Diags     *diags;
} Case;

static Case case_new(void) {
    Arena *arena = arena_new();
    SourceSet *sources = source_set_new(arena);
    return (Case){arena, sources, diags_new(arena, sources)};
}

static Span at(uint32_t file, uint32_t start, uint32_t end) { return (Span){start, end, file}; }

// Compares what is printed with `want` behind the headline's code.
static void check_print(const Case *c, const char *want) {
    TextBuf buf = {0};
    diags_print(&buf, c->diags, false);
    Text got = text_buf_take(&buf, c->arena);
    size_t head = sizeof "error[SB0000]" - 1;
    CHECK(got.len > head);
    Text rest = {got.at + head, got.len - head};
    CHECK_SAYS(text_is(rest, want), "got\n%.*s\nwant\n%s", TEXT_ARG(rest), want);
    arena_free(c->arena);
}

static void labels_of_one_line_share_it(void) {
    Case c = case_new();
    const char *text = "\n\n\n\n\n\n\n    derive x = (f32(x) / 255.0 - [0.485, 0.456]) / 0.225\n";
    uint32_t f = source_add(c.sources, TEXT("classify.sbd"), text_of(text));
    Diag *d = diag_add(c.diags, some_code, at(f, 23, 37), "tensor shapes do not broadcast");
    diag_label(c.diags, d, at(f, 23, 37), "f32[224, 224, 3]");
    diag_label(c.diags, d, at(f, 40, 54), "f32[2]");
    diag_note(c.diags, d, "the last dimensions, 3 and 2, differ");
    diag_fix(c.diags, d, "give one value per channel, or a single number for all");
    check_print(&c, ": tensor shapes do not broadcast\n"
                    "  --> classify.sbd:8:17\n"
                    "   |\n"
                    " 8 |     derive x = (f32(x) / 255.0 - [0.485, 0.456]) / 0.225\n"
                    "   |                 ^^^^^^^^^^^^^^   -------------- f32[2]\n"
                    "   |                 f32[224, 224, 3]\n"
                    "   = the last dimensions, 3 and 2, differ\n"
                    "   = fix: give one value per channel, or a single number for all\n");
}

static void three_labels_lead_down(void) {
    Case c = case_new();
    uint32_t f = source_add(c.sources, TEXT("a.sbd"), TEXT("aa bb cc"));
    Diag *d = diag_add(c.diags, some_code, at(f, 3, 5), "m");
    diag_label(c.diags, d, at(f, 6, 8), "third");
    diag_label(c.diags, d, at(f, 0, 2), "first");
    diag_label(c.diags, d, at(f, 3, 5), "second");
    check_print(&c, ": m\n"
                    "  --> a.sbd:1:4\n"
                    "   |\n"
                    " 1 | aa bb cc\n"
                    "   | -- ^^ -- third\n"
                    "   | |  second\n"
                    "   | first\n");
}

static void carets_stand_under_characters(void) {
    Case c = case_new();
    uint32_t f = source_add(c.sources, TEXT("a.sbd"), TEXT("\tä\t日 x"));
    Diag *d = diag_add(c.diags, some_code, at(f, 8, 9), "m");
    diag_label(c.diags, d, at(f, 8, 9), "here");
    check_print(&c, ": m\n"
                    "  --> a.sbd:1:6\n"
                    "   |\n"
                    " 1 |     ä   日 x\n"
                    "   |            ^ here\n");
}

static void far_lines_and_other_files(void) {
    Case c = case_new();
    uint32_t f = source_add(c.sources, TEXT("a.sbd"),
                            TEXT("one\ntwo\nthree\n4\n5\n6\n7\n8\n9\nten\n"));
    uint32_t g = source_add(c.sources, TEXT("lib.sbd"), TEXT("x\r\ny\r\n"));
    Diag *d = diag_add(c.diags, some_code, at(f, 26, 29), "m");
    diag_label(c.diags, d, at(g, 3, 4), "lib");
    diag_label(c.diags, d, at(f, 0, 3), "first");
    diag_label(c.diags, d, at(f, 8, 13), "third");
    check_print(&c, ": m\n"
                    "   --> a.sbd:10:1\n"
                    "    |\n"
                    "  1 | one\n"
                    "    | --- first\n"
                    "  2 | two\n"
                    "  3 | three\n"
                    "    | ----- third\n"
                    "...\n"
                    " 10 | ten\n"
                    "    | ^^^\n"
                    "   ::: lib.sbd:2:1\n"
                    "    |\n"
                    "  2 | y\n"
                    "    | - lib\n");
}

static void several_lines_are_marked_on_the_first(void) {
    Case c = case_new();
    uint32_t f = source_add(c.sources, TEXT("a.sbd"), TEXT("f(1,\n  2)\n"));
    diag_add(c.diags, some_code, at(f, 1, 9), "m");
    check_print(&c, ": m\n"
                    "  --> a.sbd:1:2\n"
                    "   |\n"
                    " 1 | f(1,\n"
                    "   |  ^^^\n");
}

static void wide_lines_are_cut(void) {
    Case c = case_new();
    char text[600];
    memset(text, '.', sizeof text);
    text[300] = 'x';
    uint32_t f = source_add(c.sources, TEXT("a.sbd"), (Text){text, sizeof text});
    diag_add(c.diags, some_code, at(f, 300, 301), "m");
    TextBuf buf = {0};
    diags_print(&buf, c.diags, false);
    Text got = text_buf_take(&buf, c.arena);
    const char *line = strstr(text_c(c.arena, got), " 1 | ... ");
    CHECK(line && strstr(line, " ...\n") && strchr(line, 'x') - line == 5 + 4 + 40);
    CHECK(line && strchr(strchr(line, '\n'), '^') - strchr(line, '\n') - 1 == 5 + 4 + 40);
    arena_free(c.arena);
}

static void one_mistake_is_said_once(void) {
    Case c = case_new();
    uint32_t f = source_add(c.sources, TEXT("a.sbd"), TEXT("abc"));
    for (int i = 0; i < 3; i++) diag_add(c.diags, some_code, at(f, 0, 1), "m");
    diag_add(c.diags, some_code, at(f, 0, 2), "m");
    CHECK(c.diags->count == 2 && c.diags->errors == 2);
    arena_free(c.arena);
}

static void json_is_one_line_each(void) {
    Case c = case_new();
    uint32_t f = source_add(c.sources, TEXT("a.sbd"), TEXT("ä \"b\"\n"));
    Diag *d = diag_add(c.diags, some_code, at(f, 3, 6), "a \"b\"\xff");
    diag_label(c.diags, d, at(f, 3, 6), "tab\there");
    diag_note(c.diags, d, "n");
    diag_fix(c.diags, d, "f");
    TextBuf buf = {0};
    diags_print_json(&buf, c.diags);
    Text want = text_format(c.arena, "{\"code\":\"%s\",\"severity\":\"error\",\"message\":"
        "\"a \\\"b\\\"\uFFFD\",\"labels\":[{\"file\":\"a.sbd\","
        "\"start\":{\"line\":1,\"column\":3,\"offset\":3},\"end\":{\"line\":1,\"column\":6,"
        "\"offset\":6},\"text\":\"tab\\u0009here\",\"primary\":true}],\"notes\":[\"n\"],"
        "\"fix\":\"f\"}\n", diag_code(some_code));
    Text got = text_buf_take(&buf, c.arena);
    CHECK_SAYS(text_eq(got, want), "%.*s", TEXT_ARG(got));
    arena_free(c.arena);
}

static void near_names_are_found(void) {
    Text names[] = {TEXT("where"), TEXT("group"), TEXT("select"), TEXT("x")};
    CHECK(text_is(diag_did_you_mean(TEXT("wehre"), names, 4), "where"));
    CHECK(text_is(diag_did_you_mean(TEXT("SELECT"), names, 4), "select"));
    CHECK(diag_did_you_mean(TEXT("y"), names, 4).len == 0);
    CHECK(diag_did_you_mean(TEXT("completely"), names, 4).len == 0);
}

static void codes_are_ordered_and_found(void) {
    for (uint32_t i = 0; i < DIAG_COUNT; i++) {
        DiagCode code;
        CHECK(diag_find(text_of(diag_code((DiagCode)i)), &code) && code == (DiagCode)i);
        bool ordered = i == 0 || strcmp(diag_code((DiagCode)(i - 1)), diag_code((DiagCode)i)) < 0;
        CHECK_SAYS(ordered, "%s", diag_code((DiagCode)i));
    }
    DiagCode code;
    CHECK(!diag_find(TEXT("SB9999"), &code));
}

static const UnitTest tests[] = {
    {"labels_of_one_line_share_it", labels_of_one_line_share_it},
    {"three_labels_lead_down", three_labels_lead_down},
    {"carets_stand_under_characters", carets_stand_under_characters},
    {"far_lines_and_other_files", far_lines_and_other_files},
    {"several_lines_are_marked_on_the_first", several_lines_are_marked_on_the_first},
    {"wide_lines_are_cut", wide_lines_are_cut},
    {"one_mistake_is_said_once", one_mistake_is_said_once},
    {"json_is_one_line_each", json_is_one_line_each},
    {"near_names_are_found", near_names_are_found},
    {"codes_are_ordered_and_found", codes_are_ordered_and_found},
};

UNIT_MAIN("diag", tests)
