// Parses flows: a head and the steps after it.
#include "frontend/parser.h"

// ---- heads -------------------------------------------------------------------------------------

// read = "read" FORMAT arguments ["as" type]
static void parse_read(Parser *p, AstFlow *flow) {
    flow->kind = AST_HEAD_READ;
    parser_take(p);
    flow->name = parser_expect_name(p, "a format, as in read csv(...)");
    if (!p->panic && parser_at(p, TOKEN_OPEN_PAREN)) {
        flow->options = parse_arguments(p, &flow->option_count);
        parse_path(p, flow->options, flow->option_count, true);
    } else if (!p->panic) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, "`(`");
        diag_fix(p->in.diags, d, "write read %.*s(\"PATH\")", TEXT_ARG(flow->name.text));
    }
    if (!p->panic && parser_skip_word(p, "as")) flow->as = parse_type(p);
}

static void parse_inner(Parser *p, AstFlow *flow) {
    flow->kind = AST_HEAD_FLOW;
    List list = parser_open(p);
    flow->inner = parse_flow(p);
    parser_close(p, &list);
}

// head = read | "range" arguments | "(" flow ")" | table | NAME
AstFlow *parse_flow_head(Parser *p) {
    AstFlow *flow = arena_new_of(p->in.arena, AstFlow);
    Span start = parser_span(p, parser_token(p, 0));
    flow->kind = AST_HEAD_ERROR;
    if (p->panic || !parser_enter(p)) return flow;
    if (parser_at_word(p, "read") &&
        (parser_ahead(p, 1, TOKEN_WORD) || parser_ahead(p, 1, TOKEN_OPEN_PAREN))) {
        parse_read(p, flow);
    } else if (parser_at_word(p, "range") && parser_ahead(p, 1, TOKEN_OPEN_PAREN)) {
        flow->kind = AST_HEAD_RANGE;
        parser_take(p);
        flow->options = parse_arguments(p, &flow->option_count);
    } else if (parser_at(p, TOKEN_OPEN_PAREN)) {
        parse_inner(p, flow);
    } else if (parser_at(p, TOKEN_OPEN_SQUARE)) {
        flow->kind = AST_HEAD_TABLE;
        flow->table = parse_table(p);
    } else if (parser_at(p, TOKEN_WORD) && parser_ahead(p, 1, TOKEN_WORD) &&
               parser_ahead(p, 2, TOKEN_OPEN_PAREN) && !parser_token(p, 1).first &&
               !parse_is_step_word(parser_text(p, parser_token(p, 1)))) {
        Text word = parser_text(p, parser_token(p, 0));
        Text near = diag_did_you_mean(word, &TEXT("read"), 1);
        Diag *d = parser_error(p, DIAG_EXPECTED_STATEMENT, start, "`%.*s` begins no flow",
                               TEXT_ARG(word));
        diag_fix(p->in.diags, d, near.len ? "did you mean `read`?" : "begin with read FORMAT(...)");
    } else if (parser_at_name(p) && parser_ahead(p, 1, TOKEN_OPEN_PAREN)) {
        Diag *d =
            parser_error(p, DIAG_EXPECTED_STATEMENT, start, "a flow cannot begin with a call");
        diag_fix(p->in.diags, d,
                 "begin with read FORMAT(...), range(n), a table or the name of a flow");
    } else if (parser_at_name(p)) {
        flow->kind = AST_HEAD_NAME;
        Token token = parser_take(p);
        flow->name = (Name){parser_text(p, token), parser_span(p, token)};
    } else {
        bool number = parser_at(p, TOKEN_NUMBER);
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_STATEMENT, "a flow");
        diag_fix(p->in.diags, d, "%s",
                 number ? "a value with a name is a param: param NAME: i64 = 5"
                        : "begin with read FORMAT(...), range(n), a table or the name of a flow");
    }
    flow->span = flow->head_span = parser_since(p, start);
    parser_leave(p);
    return flow;
}

// ---- steps -------------------------------------------------------------------------------------

typedef struct Steps {
    AstStep *items;
    size_t   count, cap;
} Steps;

static void push_step(Parser *p, Steps *steps, AstStep step) {
    arena_push(p->in.arena, steps->items, steps->count, steps->cap, step);
}

// A line that begins with a step: the `|` in front of it was forgotten. A flow may bear the name
// of a step, but then a `|` or nothing follows it.
static bool pipe_missing(const Parser *p) {
    Token token = parser_token(p, 0), next = parser_token(p, 1);
    if (token.kind != TOKEN_WORD || !parse_is_step_word(parser_text(p, token))) return false;
    bool alone =
        next.kind == TOKEN_PIPE || next.kind == TOKEN_END || next.kind == TOKEN_CLOSE_PAREN;
    return !alone && (!next.first || next.kind == TOKEN_OPEN_BRACE);
}

// The rest of a statement that is complete: says once what is wrong with it.
static void blame_rest(Parser *p) {
    Token token = parser_token(p, 0);
    if (p->panic || parser_at_line_end(p) || token.kind == TOKEN_SEMICOLON) return;
    if (token.kind == TOKEN_CLOSE_PAREN || token.kind == TOKEN_CLOSE_SQUARE ||
        token.kind == TOKEN_CLOSE_BRACE)
        return;
    Diag *d = parser_unexpected(p, DIAG_UNEXPECTED_TEXT, "`|` or the end of the line");
    diag_fix(p->in.diags, d, "begin the next step with `|`, or a new statement on a new line");
}

// Skips what is left of a step with a mistake in it, to the `|` or line end that closes it.
static void recover(Parser *p) {
    while (p->panic) {
        parser_skip_to_border(p);
        if (!parser_at(p, TOKEN_COMMA)) break;
        parser_take(p);
    }
    TokenKind kind = parser_token(p, 0).kind;
    bool bracket =
        kind == TOKEN_CLOSE_PAREN || kind == TOKEN_CLOSE_SQUARE || kind == TOKEN_CLOSE_BRACE;
    if (!bracket || p->lines) p->panic = false;
}

// Takes what joins two steps. False: the flow ends here.
static bool take_pipe(Parser *p) {
    if (parser_at(p, TOKEN_FOREIGN_PIPE)) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, parser_span(p, parser_token(p, 0)),
                              "`|>` is an operator of another language");
        diag_fix(p->in.diags, d, "write `|`");
        parser_take_operator(p);
        return true;
    }
    if (parser_at(p, TOKEN_PIPE)) {
        parser_take_operator(p);
        return true;
    }
    if (!pipe_missing(p)) return false;
    Token token = parser_token(p, 0);
    Diag *d = parser_slip(p, DIAG_MISSING_PIPE, parser_span(p, token),
                          "a `|` is missing in front of `%.*s`", TEXT_ARG(parser_text(p, token)));
    diag_fix(p->in.diags, d, "write `| %.*s`", TEXT_ARG(parser_text(p, token)));
    p->continues = true;  // The step begins here, after a line end.
    return true;
}

// ("|" step)*
AstStep *parse_steps(Parser *p, uint32_t *count) {
    Steps steps = {0};
    for (;;) {
        if (p->panic) recover(p);
        size_t before = p->at;
        if (p->panic || !take_pipe(p)) break;
        AstStep step = {0};
        parse_step(p, &step);
        push_step(p, &steps, step);
        if (p->at == before) break;
        if (!pipe_missing(p) && !parser_at(p, TOKEN_PIPE) && !parser_at(p, TOKEN_FOREIGN_PIPE))
            blame_rest(p);
    }
    *count = (uint32_t)steps.count;
    return steps.items;
}

// flow = head ("|" step)*
AstFlow *parse_flow(Parser *p) {
    AstFlow *flow = parse_flow_head(p);
    Span start = flow->head_span;
    if (!p->panic && !pipe_missing(p) && !parser_at(p, TOKEN_PIPE) &&
        !parser_at(p, TOKEN_FOREIGN_PIPE)) {
        blame_rest(p);
    }
    flow->steps = parse_steps(p, &flow->step_count);
    flow->span = parser_since(p, start);
    return flow;
}

// ---- blocks ------------------------------------------------------------------------------------

// Takes what separates two steps of a block: a `|`, or a line end, which stands for it.
static bool more_steps(Parser *p) {
    if (p->panic) recover(p);
    if (parser_skip(p, TOKEN_PIPE) || parser_skip(p, TOKEN_FOREIGN_PIPE)) return true;
    TokenKind kind = parser_token(p, 0).kind;
    return kind != TOKEN_CLOSE_BRACE && kind != TOKEN_END && !parser_at_statement(p, 0);
}

// block = "{" [step (("|" | LINE END) step)*] "}"
AstStep *parse_block(Parser *p, uint32_t *count) {
    Steps steps = {0};
    if (!parser_at(p, TOKEN_OPEN_BRACE)) {
        Diag *d = parser_unexpected(p, DIAG_BLOCK_FORM, "a block of steps in braces");
        diag_fix(p->in.diags, d, "write { STEPS } after it");
        return nullptr;
    }
    if (!parser_enter(p)) return nullptr;
    List list = parser_open(p);
    p->lines = true;
    while (more_steps(p)) {
        size_t before = p->at;
        AstStep step = {0};
        p->continues = true;  // A step begins here, whatever line it stands on.
        parse_step(p, &step);
        push_step(p, &steps, step);
        if (!parser_at(p, TOKEN_PIPE)) blame_rest(p);
        if (p->at == before && !p->panic) break;
        if (p->at == before && parser_token(p, 0).kind != TOKEN_CLOSE_BRACE) parser_take(p);
    }
    p->lines = false;
    parser_close(p, &list);
    if (!steps.count && !p->panic) {
        Diag *d = parser_slip(p, DIAG_NOTHING_LISTED, parser_since(p, parser_span(p, list.opener)),
                              "the block holds no step");
        diag_fix(p->in.diags, d, "write the steps, one a line");
    }
    parser_leave(p);
    *count = (uint32_t)steps.count;
    return steps.items;
}
