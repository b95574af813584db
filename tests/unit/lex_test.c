#include "frontend/lex.h"
#include "tests/unit/unit.h"

typedef struct Case {
    LexInput input;
    Tokens   tokens;
} Case;

static Case lex(Text text) {
    Arena *arena = arena_new();
    SourceSet *sources = source_set_new(arena);
    uint32_t file = source_add(sources, TEXT("x.sbd"), text);
    Case c = {.input = {arena, sources, diags_new(arena, sources), file}};
    lex_check_bytes(&c.input);
    c.tokens = lex_range(&c.input, 0, (uint32_t)text.len);
    return c;
}

static uint32_t count_of(const Case *c, DiagCode code) {
    uint32_t count = 0;
    for (size_t i = 0; i < c->input.diags->count; i++)
        count += c->input.diags->items[i]->code == code;
    return count;
}

static AstExpr number_of(const char *text) {
    Case c = lex(text_of(text));
    AstExpr expr = {0};
    CHECK_SAYS(c.tokens.count == 2 && c.tokens.items[0].kind == TOKEN_NUMBER, "%s", text);
    lex_number(&c.input, c.tokens.items[0], &expr);
    CHECK_SAYS(c.input.diags->errors == 0, "%s", text);
    arena_free(c.input.arena);
    return expr;
}

static void numbers_have_their_values(void) {
    CHECK(number_of("1_000").integer == 1000 && number_of("1_000").kind == AST_INT);
    CHECK(number_of("18446744073709551615").integer == UINT64_MAX);
    CHECK(number_of("18446744073709551616").too_big);
    CHECK(number_of("1.5e-3").number == 0.0015 && number_of("2E9").number == 2e9);
    CHECK(number_of("0.1%").kind == AST_PERCENT && number_of("0.1%").number == 0.001);
    CHECK(number_of("50%").number == 0.5);
    CHECK(number_of("8MiB").integer == 8u << 20 && number_of("8MiB").kind == AST_INT);
    CHECK(number_of("1.5kB").integer == 1500 && number_of("7TiB").integer == 7ull << 40);
    CHECK(number_of("90s").integer == 90000000 && number_of("90s").kind == AST_DURATION);
    CHECK(number_of("1500ms").integer == 1500000 && number_of("1.5h").integer == 5400000000);
    CHECK(number_of("3mo").integer == 3 && number_of("3mo").kind == AST_MONTHS);
    CHECK(number_of("2y").integer == 24 && number_of("1.5y").integer == 18);
    CHECK(number_of("3d").integer == 3 * 86400000000 && number_of("2min").integer == 120000000);
}

static void bad_numbers_are_named(void) {
    const struct { const char *text; DiagCode code; } cases[] = {
        {"0x1F", DIAG_BAD_NUMBER}, {"1__0", DIAG_BAD_NUMBER}, {"1_", DIAG_BAD_NUMBER},
        {"1.", DIAG_BAD_NUMBER}, {"0.0000001s", DIAG_BAD_NUMBER}, {"5m", DIAG_UNKNOWN_UNIT},
        {"0.5mo", DIAG_BAD_NUMBER}, {"9999999999999999999y", DIAG_NUMBER_TOO_BIG},
        {"8Mib", DIAG_UNKNOWN_UNIT}, {"1e", DIAG_UNKNOWN_UNIT}, {"1e999", DIAG_NUMBER_TOO_BIG},
        {"9223372036854775808B", DIAG_NUMBER_TOO_BIG},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        Case c = lex(text_of(cases[i].text));
        AstExpr expr = {0};
        lex_number(&c.input, c.tokens.items[0], &expr);
        CHECK_SAYS(count_of(&c, cases[i].code) == 1 && c.input.diags->errors == 1, "%s",
                   cases[i].text);
        arena_free(c.input.arena);
    }
}

static void a_share_is_no_remainder(void) {
    Case c = lex(TEXT("7%3 7%n 7% i%3 1..5"));
    static const TokenKind kinds[] = {
        TOKEN_NUMBER, TOKEN_PERCENT, TOKEN_NUMBER, TOKEN_NUMBER, TOKEN_PERCENT, TOKEN_WORD,
        TOKEN_NUMBER, TOKEN_WORD, TOKEN_PERCENT, TOKEN_NUMBER, TOKEN_NUMBER, TOKEN_RANGE,
        TOKEN_NUMBER, TOKEN_END,
    };
    CHECK(c.tokens.count == countof(kinds));
    for (size_t i = 0; i < countof(kinds) && i < c.tokens.count; i++) {
        CHECK_SAYS(c.tokens.items[i].kind == kinds[i], "token %zu", i);
    }
    arena_free(c.input.arena);
}

static void check_string(const char *written, Text want) {
    Case c = lex(text_of(written));
    Text got = lex_string(&c.input, c.tokens.items[0]);
    CHECK_SAYS(text_eq(got, want) && c.input.diags->errors == 0, "%s gives %.*s", written,
               TEXT_ARG(got));
    arena_free(c.input.arena);
}

static void strings_have_their_values(void) {
    check_string("\"a\\n\\t\\r\\\"\\\\\"", TEXT("a\n\t\r\"\\"));
    check_string("\"\\0\"", TEXT("\0"));
    check_string("\"\\u{1F600}\\u{e9}\\u{20AC}\"", TEXT("\U0001F600\u00e9\u20ac"));
    check_string("r\"a\\n\"", TEXT("a\\n"));
    check_string("\"\"", TEXT(""));
}

static void fstrings_come_in_parts(void) {
    Case c = lex(TEXT("f\"{{a}} {x + \"}\"} b{f\"{y}\"}\""));
    CHECK(c.tokens.count == 2 && c.tokens.items[0].kind == TOKEN_FSTRING);
    uint32_t count;
    FPart *parts = lex_fstring(&c.input, c.tokens.items[0], &count);
    CHECK(count == 4 && parts[0].is_text && text_is(parts[0].text, "{a} "));
    CHECK(count == 4 && !parts[1].is_text && parts[1].end - parts[1].start == 7);
    CHECK(count == 4 && text_is(parts[2].text, " b") && !parts[3].is_text);
    CHECK(c.input.diags->errors == 0);
    arena_free(c.input.arena);
}

static void what_is_no_text_is_diagnosed(void) {
    Case c = lex((Text){"a\xff\xfe b\n\xc0\x80\x01\n\xed\xa0\x80 \0\r", 16});
    CHECK(count_of(&c, DIAG_NOT_UTF8) == 3);           // Once a line.
    CHECK(count_of(&c, DIAG_CONTROL_CHARACTER) == 2);
    arena_free(c.input.arena);
    c = lex(TEXT("\xef\xbb\xbf" "a\r\nb"));
    CHECK(c.input.diags->errors == 0 && c.tokens.count == 3 && c.tokens.items[1].first);
    arena_free(c.input.arena);
    c = lex(TEXT("\"a\u202Eb\""));
    CHECK(count_of(&c, DIAG_CONTROL_CHARACTER) == 1);
    arena_free(c.input.arena);
}

static void comments_are_kept(void) {
    Case c = lex(TEXT("# own\na # behind\n\"# none\" `# none`"));
    CHECK(c.tokens.comment_count == 2 && c.tokens.count == 4);
    CHECK(c.tokens.comment_count == 2 && c.tokens.comments[0].own_line &&
          !c.tokens.comments[1].own_line);
    arena_free(c.input.arena);
}

static const UnitTest tests[] = {
    {"numbers_have_their_values", numbers_have_their_values},
    {"bad_numbers_are_named", bad_numbers_are_named},
    {"a_share_is_no_remainder", a_share_is_no_remainder},
    {"strings_have_their_values", strings_have_their_values},
    {"fstrings_come_in_parts", fstrings_come_in_parts},
    {"what_is_no_text_is_diagnosed", what_is_no_text_is_diagnosed},
    {"comments_are_kept", comments_are_kept},
};

UNIT_MAIN("lex", tests)
