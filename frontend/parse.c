// Parses statements and whole files.
#include "frontend/parse.h"
#include "frontend/parser.h"

#include <string.h>

// ---- declarations ------------------------------------------------------------------------------

// use = "use" STRING
static void parse_use(Parser *p, AstStmt *stmt) {
    stmt->value = parse_string(p, "the path of a .sbd file");
}

// param = "param" NAME ":" type ["=" handled]
static void parse_param(Parser *p, AstStmt *stmt) {
    stmt->name = parser_expect_name(p, "the name of the parameter");
    if (!p->panic && !parser_at(p, TOKEN_COLON)) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`:` and the type of the parameter");
        diag_fix(p->in.diags, d, "write `param %.*s: TYPE`", TEXT_ARG(stmt->name.text));
        return;
    }
    parser_skip(p, TOKEN_COLON);
    stmt->type = parse_type(p);
    if (!p->panic && parser_skip(p, TOKEN_ASSIGN)) stmt->value = parse_handled(p);
}

// type = "type" NAME "=" type
static void parse_type_stmt(Parser *p, AstStmt *stmt) {
    stmt->name = parser_expect_name(p, "the name of the type");
    if (!p->panic) parser_expect(p, TOKEN_ASSIGN, "the name of the type");
    stmt->type = parse_type(p);
}

// params = "(" [NAME ":" type ("," ...)* [","]] ")"
static void parse_params(Parser *p, AstStmt *stmt) {
    if (p->panic) return;
    if (!parser_at(p, TOKEN_OPEN_PAREN)) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`(` and the parameters");
        diag_fix(p->in.diags, d, "write `fn %.*s(x: TYPE)`", TEXT_ARG(stmt->name.text));
        return;
    }
    size_t count = 0, cap = 0;
    List list = parser_open(p);
    while (parser_more(p, &list)) {
        AstParam param = {.name = parser_expect_name(p, "the name of a parameter")};
        if (!p->panic) parser_expect(p, TOKEN_COLON, "the name of the parameter");
        param.type = parse_type(p);
        arena_push(p->in.arena, stmt->params, count, cap, param);
    }
    parser_close(p, &list);
    stmt->param_count = (uint32_t)count;
}

// signature = NAME params ["->" type]
static void parse_signature(Parser *p, AstStmt *stmt) {
    stmt->name = parser_expect_name(p, "the name of the function");
    parse_params(p, stmt);
    if (!p->panic && parser_at(p, TOKEN_COLON)) {
        Diag *d = parser_slip(p, DIAG_EXPECTED_TOKEN, parser_span(p, parser_take(p)),
                              "expected `->`, found `:`");
        diag_fix(p->in.diags, d, "write `-> TYPE`");
        stmt->type = parse_type(p);
    } else if (!p->panic && parser_skip(p, TOKEN_ARROW)) {
        stmt->type = parse_type(p);
    }
}

// fn = "fn" signature "=" handled
static void parse_fn(Parser *p, AstStmt *stmt) {
    parse_signature(p, stmt);
    if (!p->panic && (parser_at(p, TOKEN_OPEN_BRACE) || parser_at(p, TOKEN_FAT_ARROW))) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`=` and the function's value");
        diag_fix(p->in.diags, d, "write `fn %.*s(...) -> TYPE = EXPRESSION`",
                 TEXT_ARG(stmt->name.text));
    }
    if (!p->panic) parser_expect(p, TOKEN_ASSIGN, "the signature");
    if (!p->panic) stmt->value = parse_handled(p);
}

// Sets a trait of an extern function; a repetition or a contradiction is diagnosed.
static void set_trait(Parser *p, AstStmt *stmt, bool *trait, Span word) {
    if (*trait) {
        Diag *d = parser_slip(p, DIAG_REPEATED_WORD, word, "the trait is written twice");
        diag_fix(p->in.diags, d, "remove one of them");
    }
    *trait = true;
    if (!stmt->pure || !stmt->impure) return;
    Diag *d =
        parser_slip(p, DIAG_REPEATED_WORD, word, "a function is `pure` or `impure`, not both");
    diag_fix(p->in.diags, d, "keep `impure` if it reads or changes anything but its arguments");
}

// traits = ("pure" | "impure" | "fallible" | "batch" | "state" | "alone")*
static void parse_traits(Parser *p, AstStmt *stmt) {
    const struct { const char *word; bool *trait; } traits[] = {
        {"pure", &stmt->pure}, {"impure", &stmt->impure}, {"fallible", &stmt->fallible},
        {"batch", &stmt->per_batch}, {"state", &stmt->state}, {"alone", &stmt->alone},
    };
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < countof(traits) && !found; i++) {
            Span word = parser_span(p, parser_token(p, 0));
            found = parser_skip_word(p, traits[i].word);
            if (found) set_trait(p, stmt, traits[i].trait, word);
        }
    }
    if (!parser_at(p, TOKEN_WORD) || p->panic) return;
    Token token = parser_token(p, 0);
    Text names[countof(traits)];
    for (size_t i = 0; i < countof(traits); i++) names[i] = text_of(traits[i].word);
    Text word = parser_text(p, token), near = diag_did_you_mean(word, names, countof(names));
    Diag *d = parser_error(p, DIAG_UNEXPECTED_TEXT, parser_span(p, token),
                           "`%.*s` is no trait of a function", TEXT_ARG(word));
    if (near.len) diag_fix(p->in.diags, d, "did you mean `%.*s`?", TEXT_ARG(near));
    else diag_fix(p->in.diags, d, "write pure, impure, fallible, batch, state or alone");
}

// extern = "extern" "fn" signature "from" ["python"] STRING traits
static void parse_extern(Parser *p, AstStmt *stmt) {
    if (!parser_expect_word(p, "fn", "`extern`")) return;
    parse_signature(p, stmt);
    if (!p->panic && !parser_at_word(p, "from")) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`from` and the C file");
        diag_fix(p->in.diags, d, "write `from \"FILE.c\"`, or `from python \"MODULE:FUNCTION\"`");
    }
    if (p->panic) return;
    parser_take_operator(p);
    stmt->python = parser_skip_word(p, "python");
    AstExpr *path = parse_string(p, stmt->python ? "a module and a function, \"MODULE:FUNCTION\""
                                                 : "the path of a C file");
    stmt->from = path->text;
    stmt->from_span = path->span;
    if (!p->panic) parse_traits(p, stmt);
}

// let = "let" NAME "=" flow
static void parse_let(Parser *p, AstStmt *stmt) {
    stmt->name = parser_expect_name(p, "the name of the flow");
    if (!p->panic) parser_expect(p, TOKEN_ASSIGN, "the name of the flow");
    stmt->flow = parse_flow(p);
}

// rejects = "rejects" ["write" FORMAT arguments] ["limit" expr]
static void parse_rejects(Parser *p, AstStmt *stmt) {
    bool writes = parser_skip_word(p, "write");
    if (writes) {
        stmt->format = parser_expect_name(p, "a format, as in write jsonl(...)");
        if (!p->panic && !parser_at(p, TOKEN_OPEN_PAREN))
            parser_expect(p, TOKEN_OPEN_PAREN, "the format");
        if (!p->panic) stmt->options = parse_arguments(p, &stmt->option_count);
    }
    bool limits = !p->panic && parser_skip_word(p, "limit");
    if (limits) stmt->limit = parse_expr(p);
    if (writes || limits || p->panic) return;
    Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`write` or `limit`");
    diag_fix(p->in.diags, d, "write `rejects write jsonl(\"PATH\") limit 0.1%%`");
}

// ---- tests -------------------------------------------------------------------------------------

// given = "given" NAME "=" table;  expect = "expect" NAME "==" table
static AstGiven parse_given(Parser *p) {
    AstGiven given = {.span = parser_span(p, parser_token(p, 0))};
    given.expect = parser_at_word(p, "expect");
    if (!given.expect && !parser_at_word(p, "given")) {
        Diag *d = parser_unexpected(p, DIAG_TEST_FORM, "`given` or `expect`");
        diag_fix(p->in.diags, d, "write `given NAME = [..]` or `expect NAME == [..]`");
        return given;
    }
    parser_take_operator(p);
    given.name = parser_expect_name(p, "the name of a flow");
    TokenKind right = given.expect ? TOKEN_EQ : TOKEN_ASSIGN,
              wrong = given.expect ? TOKEN_ASSIGN : TOKEN_EQ;
    if (!p->panic && parser_at(p, wrong)) {
        Diag *d = parser_slip(p, DIAG_TEST_FORM, parser_span(p, parser_take(p)),
                              "expected %s, found %s", token_name(right), token_name(wrong));
        diag_fix(p->in.diags, d, "write %s", token_name(right));
        p->continues = true;
    } else if (!p->panic) {
        parser_expect(p, right, "the name of the flow");
    }
    if (!p->panic && !parser_at(p, TOKEN_OPEN_SQUARE)) {
        Diag *d = parser_unexpected(p, DIAG_TEST_FORM, "a table of rows in brackets");
        diag_fix(p->in.diags, d, "write [{ column: value }]; [] for no rows");
    }
    if (!p->panic) given.table = parse_table(p);
    given.span = parser_since(p, given.span);
    return given;
}

// test = "test" STRING "{" (given | expect)* "}"
static void parse_test(Parser *p, AstStmt *stmt) {
    AstExpr *title = parse_string(p, "the title of the test");
    stmt->title = title->text;
    stmt->title_span = title->span;
    if (!p->panic && !parser_at(p, TOKEN_OPEN_BRACE)) {
        Diag *d = parser_unexpected(p, DIAG_BLOCK_FORM, "`{` and what is given and expected");
        diag_fix(p->in.diags, d, "write { given NAME = [..] expect NAME == [..] }");
    }
    if (p->panic) return;
    size_t count = 0, cap = 0;
    List list = parser_open(p);
    p->lines = true;
    for (;;) {
        TokenKind kind = parser_token(p, 0).kind;
        if (kind == TOKEN_CLOSE_BRACE || kind == TOKEN_END || parser_at_statement(p, 0)) break;
        size_t before = p->at;
        p->continues = true;
        AstGiven given = parse_given(p);
        if (given.table) arena_push(p->in.arena, stmt->givens, count, cap, given);
        while (p->panic) {
            parser_skip_to_border(p);
            if (parser_at_line_end(p) || parser_at(p, TOKEN_CLOSE_BRACE)) break;
            parser_take(p);
        }
        p->panic = false;
        kind = parser_token(p, 0).kind;
        if (p->at == before && kind != TOKEN_CLOSE_BRACE) parser_take(p);
    }
    p->lines = false;
    parser_close(p, &list);
    stmt->given_count = (uint32_t)count;
}

// ---- statements --------------------------------------------------------------------------------

typedef struct StmtForm {
    const char *word;
    AstStmtKind kind;
    void      (*parse)(Parser *p, AstStmt *stmt);
} StmtForm;

static const StmtForm forms[] = {
    {"use", AST_USE, parse_use},
    {"param", AST_PARAM, parse_param},
    {"type", AST_TYPE, parse_type_stmt},
    {"fn", AST_FN, parse_fn},
    {"extern", AST_EXTERN, parse_extern},
    {"let", AST_LET, parse_let},
    {"rejects", AST_REJECTS, parse_rejects},
    {"test", AST_TEST, parse_test},
};

// A flow may be called like a statement's word: then a `|` or a line end stands after it.
static const StmtForm *find_form(const Parser *p) {
    Token next = parser_token(p, 1);
    if (next.kind == TOKEN_PIPE || next.kind == TOKEN_END || next.first) return nullptr;
    for (size_t i = 0; i < countof(forms); i++)
        if (parser_at_word(p, forms[i].word)) return &forms[i];
    return nullptr;
}

// Habits of other languages at the start of a statement. True: diagnosed.
static bool blame_start(Parser *p) {
    static const char *const sql[] = {"select", "from",   "insert", "create",
                                      "with",   "update", "delete"};
    static const char *const others[] = {"const",  "var",     "def",   "function",
                                         "import", "include", "struct"};
    static const char *const ours[] = {"let", "let", "fn", "fn", "use", "use", "type"};
    Token token = parser_token(p, 0);
    Span span = parser_span(p, token);
    Text word = parser_text(p, token);
    bool followed = !parser_token(p, 1).first && parser_token(p, 1).kind != TOKEN_PIPE;
    for (size_t i = 0; i < countof(sql) && followed; i++) {
        bool capitals = !text_is(word, sql[i]);
        if (!parser_word_is(p, token, sql[i]) || (!capitals && parse_is_step_word(word))) continue;
        Diag *d =
            parser_error(p, DIAG_SQL_HABIT, span, "`%.*s` begins no statement", TEXT_ARG(word));
        diag_note(p->in.diags, d, "a flow is written in the order in which it runs");
        diag_fix(p->in.diags, d, "begin with the source: read csv(\"PATH\") | select ...");
        return true;
    }
    for (size_t i = 0; i < countof(others) && followed; i++) {
        if (!parser_word_is(p, token, others[i])) continue;
        Diag *d = parser_error(p, DIAG_EXPECTED_STATEMENT, span, "unknown statement `%.*s`",
                               TEXT_ARG(word));
        diag_fix(p->in.diags, d, "did you mean `%s`?", ours[i]);
        return true;
    }
    if (token.kind == TOKEN_SLASHES ||
        (token.kind == TOKEN_MINUS && parser_token(p, 1).kind == TOKEN_MINUS) ||
        (token.kind == TOKEN_SLASH && parser_token(p, 1).kind == TOKEN_STAR)) {
        Diag *d = parser_error(p, DIAG_COMMENT_STYLE, span, "comments begin with `#`");
        diag_fix(p->in.diags, d, "write `#`");
        return true;
    }
    return false;
}

// A step without a flow in front of it: with its `|`, or by its word.
static bool blame_step(Parser *p) {
    Token token = parser_token(p, 0), next = parser_token(p, 1);
    bool pipe = token.kind == TOKEN_PIPE || token.kind == TOKEN_FOREIGN_PIPE;
    bool word = token.kind == TOKEN_WORD && parse_is_step_word(parser_text(p, token)) &&
                next.kind != TOKEN_PIPE && !next.first;
    if (!pipe && !word) return false;
    Diag *d = parser_error(p, DIAG_STEP_WITHOUT_FLOW, parser_span(p, token),
                           "a step without a flow in front of it");
    diag_fix(p->in.diags, d, "begin with where the rows come from: read csv(\"PATH\")");
    return true;
}

// A line that cannot begin a statement; names with a typing error are recognised.
static bool blame_unknown(Parser *p) {
    Token token = parser_token(p, 0), next = parser_token(p, 1);
    bool closer = token.kind == TOKEN_CLOSE_PAREN || token.kind == TOKEN_CLOSE_SQUARE ||
                  token.kind == TOKEN_CLOSE_BRACE;
    if (closer) {
        Diag *d = parser_error(p, DIAG_LONE_BRACKET, parser_span(p, token), "%s closes no bracket",
                               token_name(token.kind));
        diag_fix(p->in.diags, d, "remove it");
        parser_take(p);
        return true;
    }
    bool two_names =
        token.kind == TOKEN_WORD && !next.first &&
        (next.kind == TOKEN_WORD || next.kind == TOKEN_STRING || next.kind == TOKEN_QUOTED);
    bool reads =
        parser_at_word(p, "read") || (two_names && parse_is_step_word(parser_text(p, next)));
    if (two_names && !reads) {
        Text names[countof(forms) + 1] = {TEXT("read")};
        for (size_t i = 0; i < countof(forms); i++) names[i + 1] = text_of(forms[i].word);
        Text word = parser_text(p, token), near = diag_did_you_mean(word, names, countof(names));
        Diag *d = parser_error(p, DIAG_EXPECTED_STATEMENT, parser_span(p, token),
                               "unknown statement `%.*s`", TEXT_ARG(word));
        if (near.len) diag_fix(p->in.diags, d, "did you mean `%.*s`?", TEXT_ARG(near));
        else diag_fix(p->in.diags, d, "begin with let, param, type, fn, use, test, or with a flow");
        return true;
    }
    bool assigns = parser_at_name(p) &&
                   (next.kind == TOKEN_ASSIGN || next.kind == TOKEN_FOREIGN_ASSIGN) && !next.first;
    if (!assigns) return false;
    Text name = parser_text(p, token);
    Diag *d =
        parser_error(p, DIAG_EXPECTED_STATEMENT, parser_span(p, token), "a flow is named by `let`");
    diag_fix(p->in.diags, d, "write `let %.*s = ...`", TEXT_ARG(name));
    return true;
}

// A comment after the statement on its last line, or the lines right above it.
static Text find_doc(const Parser *p, const AstStmt *stmt) {
    const Tokens *tokens = &p->tokens;
    SourceSet *sources = p->in.sources;
    uint32_t first = source_position(sources, p->in.file, stmt->span.start).line;
    uint32_t last = source_position(sources, p->in.file, stmt->span.end).line;
    size_t low = 0, high = tokens->comment_count;
    while (low < high) {  // The first comment after the statement's start.
        size_t middle = low + (high - low) / 2;
        if (tokens->comments[middle].span.start < stmt->span.start) low = middle + 1;
        else high = middle;
    }
    size_t above = low;
    for (; low < tokens->comment_count; low++) {
        Span span = tokens->comments[low].span;
        if (span.start < stmt->span.end) continue;
        if (source_position(sources, p->in.file, span.start).line != last) break;
        Text text = {p->text.at + span.start + 1, span.end - span.start - 1};
        while (text.len && *text.at == ' ') text.at++, text.len--;
        return text;
    }
    TextBuf buf = {0};
    size_t begin = above;
    for (uint32_t line = first; begin > 0; begin--, line--) {
        const AstComment *comment = &tokens->comments[begin - 1];
        if (!comment->own_line) break;
        if (source_position(sources, p->in.file, comment->span.start).line + 1 != line) break;
    }
    for (size_t i = begin; i < above; i++) {
        Span span = tokens->comments[i].span;
        Text text = {p->text.at + span.start + 1, span.end - span.start - 1};
        while (text.len && *text.at == ' ') text.at++, text.len--;
        if (i > begin) text_buf_char(&buf, '\n');
        text_buf_add(&buf, text);
    }
    return text_buf_take(&buf, p->in.arena);
}

// statement = use | param | type | fn | extern | let | rejects | test | flow
static void parse_statement(Parser *p, AstStmt *stmt) {
    stmt->span = parser_span(p, parser_token(p, 0));
    const StmtForm *form = find_form(p);
    if (form) {
        stmt->kind = form->kind;
        parser_take(p);
        form->parse(p, stmt);
    } else if (blame_start(p) || blame_step(p) || blame_unknown(p)) {
        stmt->kind = AST_STMT_ERROR;
    } else {
        stmt->kind = AST_FLOW;
        stmt->flow = parse_flow(p);
        if (stmt->flow->kind == AST_HEAD_ERROR) stmt->kind = AST_STMT_ERROR;
    }
    stmt->span = parser_since(p, stmt->span);
}

// What stands after a complete statement on its line.
static void end_statement(Parser *p) {
    Token token = parser_token(p, 0);
    if (p->panic || parser_at_line_end(p)) return;
    Span span = parser_span(p, token);
    bool closer = token.kind == TOKEN_CLOSE_PAREN || token.kind == TOKEN_CLOSE_SQUARE ||
                  token.kind == TOKEN_CLOSE_BRACE;
    if (token.kind == TOKEN_SEMICOLON) {
        Diag *d = parser_slip(p, DIAG_SEMICOLON, span, "a semicolon is not needed");
        diag_fix(p->in.diags, d, "remove it; a line end closes a statement");
        parser_take(p);
    } else if (closer) {
        Diag *d = parser_error(p, DIAG_LONE_BRACKET, span, "%s closes no bracket",
                               token_name(token.kind));
        diag_fix(p->in.diags, d, "remove it");
    } else if (token.kind == TOKEN_PIPE) {
        Diag *d =
            parser_error(p, DIAG_UNEXPECTED_TEXT, span, "no flow stands in front of this `|`");
        diag_fix(p->in.diags, d, "move the step up to the flow that it belongs to");
    } else {
        Diag *d = parser_unexpected(p, DIAG_UNEXPECTED_TEXT, "the end of the line");
        diag_fix(p->in.diags, d, "begin a new statement on a new line");
    }
}

// Skips to the first line after a mistake that can begin a statement. Lines that begin with a
// `|` still belong to the broken one.
static void recover(Parser *p) {
    unsigned depth = 0;
    while (parser_token(p, 0).kind != TOKEN_END) {
        Token token = parser_token(p, 0);
        bool left = token.start == 0 || p->text.at[token.start - 1] == '\n';
        if (parser_at_statement(p, 0)) break;
        bool begins = token.kind == TOKEN_WORD || token.kind == TOKEN_QUOTED ||
                      token.kind == TOKEN_OPEN_SQUARE || token.kind == TOKEN_OPEN_PAREN ||
                      token.kind == TOKEN_SLASH || token.kind == TOKEN_SLASHES;
        if (depth == 0 && token.first && left && begins) break;
        if (token.kind == TOKEN_OPEN_PAREN || token.kind == TOKEN_OPEN_SQUARE ||
            token.kind == TOKEN_OPEN_BRACE)
            depth++;
        bool closer = token.kind == TOKEN_CLOSE_PAREN || token.kind == TOKEN_CLOSE_SQUARE ||
                      token.kind == TOKEN_CLOSE_BRACE;
        if (closer && depth) depth--;
        parser_take(p);
    }
    p->panic = false;
}

// file = (statement LINE END)*
void parse_statements(Parser *p, AstFile *file) {
    while (parser_token(p, 0).kind != TOKEN_END) {
        AstStmt stmt = {0};
        size_t before = p->at;
        p->lines = true;
        p->continues = true;  // A statement begins here: the line end in front of it is past.
        p->lost = p->torn = false;
        p->border = parser_token(p, 0).start;
        parse_statement(p, &stmt);
        end_statement(p);
        p->nest = p->branches = p->aggregates = p->windows = 0;
        if (p->panic && p->at == before) parser_take(p);
        if (p->panic) recover(p);
        if (p->lost) stmt.lost = (Span){p->lost_at, parser_since(p, stmt.span).end, p->in.file};
        stmt.doc = find_doc(p, &stmt);
        arena_push(p->in.arena, file->stmts, file->stmt_count, file->stmt_cap, stmt);
    }
}

// ---- entry -------------------------------------------------------------------------------------

static Parser parser_of(Arena *arena, SourceSet *sources, uint32_t file, Diags *diags) {
    Parser p = {.in = {arena, sources, diags, file}, .text = sources->files[file].text};
    lex_check_bytes(&p.in);
    p.tokens = lex_range(&p.in, 0, (uint32_t)p.text.len);
    return p;
}

AstFile *parse_file(Arena *arena, SourceSet *sources, uint32_t file, Diags *diags) {
    Parser p = parser_of(arena, sources, file, diags);
    AstFile *ast = arena_new_of(arena, AstFile);
    ast->file = file;
    ast->comments = p.tokens.comments;
    ast->comment_count = p.tokens.comment_count;
    ast->comment_cap = p.tokens.comment_cap;
    parse_statements(&p, ast);
    return ast;
}

// Says what stands after the one thing that the text should hold.
static bool at_end(Parser *p) {
    if (!p->panic && parser_token(p, 0).kind != TOKEN_END) {
        Diag *d = parser_unexpected(p, DIAG_UNEXPECTED_TEXT, "the end of the text");
        diag_fix(p->in.diags, d, "remove the rest");
    }
    return !p->panic;
}

AstType *parse_type_text(Arena *arena, SourceSet *sources, uint32_t file, Diags *diags) {
    Parser p = parser_of(arena, sources, file, diags);
    uint32_t errors = diags->errors;
    AstType *type = parse_type(&p);
    return at_end(&p) && diags->errors == errors ? type : nullptr;
}

AstExpr *parse_expr_text(Arena *arena, SourceSet *sources, uint32_t file, Diags *diags) {
    Parser p = parser_of(arena, sources, file, diags);
    uint32_t errors = diags->errors;
    p.lines = false;
    AstExpr *expr = parse_handled(&p);
    return at_end(&p) && diags->errors == errors ? expr : nullptr;
}
