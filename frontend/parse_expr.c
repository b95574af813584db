// Parses expressions: one function a level of operators, loosest last; then choices and handlers.
#include "frontend/parser.h"

// ---- binary operators --------------------------------------------------------------------------

typedef struct Infix {
    TokenKind kind;
    AstOp     op;
    const char *instead;  // What to write for a sign of another language; null: it is ours.
} Infix;

static const Infix products[] = {
    {TOKEN_STAR, AST_OP_MUL, nullptr}, {TOKEN_SLASH, AST_OP_DIV, nullptr},
    {TOKEN_SLASHES, AST_OP_IDIV, nullptr}, {TOKEN_PERCENT, AST_OP_MOD, nullptr},
    {TOKEN_FOREIGN_POWER, AST_OP_MUL, "pow(x, y)"},
};
static const Infix sums[] = {{TOKEN_PLUS, AST_OP_ADD, nullptr}, {TOKEN_MINUS, AST_OP_SUB, nullptr}};
static const Infix defaults[] = {{TOKEN_COALESCE, AST_OP_COALESCE, nullptr}};
static const Infix comparisons[] = {
    {TOKEN_EQ, AST_OP_EQ, nullptr}, {TOKEN_NE, AST_OP_NE, nullptr}, {TOKEN_LT, AST_OP_LT, nullptr},
    {TOKEN_LE, AST_OP_LE, nullptr}, {TOKEN_GT, AST_OP_GT, nullptr}, {TOKEN_GE, AST_OP_GE, nullptr},
    {TOKEN_FOREIGN_EQ, AST_OP_EQ, "=="}, {TOKEN_FOREIGN_NE, AST_OP_NE, "!="},
};

static const Infix *find_infix(const Parser *p, const Infix *table, size_t count) {
    for (size_t i = 0; i < count; i++) if (parser_at(p, table[i].kind)) return &table[i];
    return nullptr;
}

// Is there `reject` as the right side of `??`? A column of that name stands in backticks.
static bool at_reject(const Parser *p) {
    return parser_at_word(p, "reject") && !parser_ahead(p, 1, TOKEN_OPEN_PAREN) &&
           !parser_ahead(p, 1, TOKEN_DOT);
}

static bool at_tighter(const Parser *p) {
    return find_infix(p, products, countof(products)) || find_infix(p, sums, countof(sums));
}

static AstExpr *parse_reject(Parser *p) {
    AstExpr *e = parser_node(p, AST_REJECT, parser_here(p));
    parser_take(p);
    if (at_tighter(p)) {
        Diag *d = parser_error(p, DIAG_HANDLER_PLACE, parser_here(p), "`reject` is no value");
        diag_label(p->in.diags, d, e->span, "it covers all that `??` does");
        diag_fix(p->in.diags, d, "put the part before into parentheses: (x ?? reject) + y");
    }
    return parser_done(p, e);
}

// Takes the operator and the operand on its right, which `level` parses.
static AstExpr *parse_right(Parser *p, AstExpr *left, const Infix *infix,
                            AstExpr *(*level)(Parser *)) {
    AstExpr *e = parser_node(p, AST_BINARY, left->span);
    e->op = infix->op;
    e->op_span = parser_here(p);
    e->a = left;
    if (infix->instead) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, e->op_span,
                              "`%.*s` is an operator of another language",
                              TEXT_ARG(parser_text(p, parser_token(p, 0))));
        diag_fix(p->in.diags, d, "write `%s`", infix->instead);
    }
    parser_take_operator(p);
    e->b = infix->kind == TOKEN_COALESCE && at_reject(p) ? parse_reject(p) : level(p);
    return parser_done(p, e);
}

typedef struct Level {
    const Infix *table;
    size_t       count;
    AstExpr   *(*tighter)(Parser *);
} Level;

// tighter (operator tighter)*
static AstExpr *parse_level(Parser *p, Level level) {
    Span start = parser_here(p);
    AstExpr *e = level.tighter(p);
    for (const Infix *infix; !p->panic && (infix = find_infix(p, level.table, level.count));) {
        e = parse_right(p, e, infix, level.tighter);
        e->span.start = start.start;
    }
    return e;
}

// product = unary (("*" | "/" | "//" | "%") unary)*
static AstExpr *parse_product(Parser *p) {
    return parse_level(p, (Level){products, countof(products), parse_unary});
}

// sum = product (("+" | "-") product)*
static AstExpr *parse_sum(Parser *p) {
    return parse_level(p, (Level){sums, countof(sums), parse_product});
}

// operand = sum ("??" sum)*
AstExpr *parse_operand(Parser *p) {
    return parse_level(p, (Level){defaults, countof(defaults), parse_sum});
}

// Is the parenthesis that stands here SQL's list, with a comma between its items?
static bool at_sql_list(const Parser *p) {
    if (!parser_at(p, TOKEN_OPEN_PAREN)) return false;
    uint32_t depth = 0;
    for (size_t i = 0; parser_token(p, i).kind != TOKEN_END; i++) {
        TokenKind kind = parser_token(p, i).kind;
        if (kind == TOKEN_COMMA && depth == 1) return true;
        depth += kind == TOKEN_OPEN_PAREN || kind == TOKEN_OPEN_SQUARE || kind == TOKEN_OPEN_BRACE;
        bool closes = kind == TOKEN_CLOSE_PAREN || kind == TOKEN_CLOSE_SQUARE ||
                      kind == TOKEN_CLOSE_BRACE;
        if (closes && --depth == 0) return false;
    }
    return false;
}

// "in" ("[" elements "]" | operand ".." operand)
static AstExpr *parse_in(Parser *p, AstExpr *left, Span start) {
    AstExpr *e = parser_node(p, AST_IN, start);
    e->op_span = parser_here(p);
    e->a = left;
    if (!parser_at_word(p, "in")) {
        Diag *d =
            parser_slip(p, DIAG_FOREIGN_OPERATOR, e->op_span, "`in` is written in small letters");
        diag_fix(p->in.diags, d, "write `in`");
    }
    parser_take_operator(p);
    Span low = parser_here(p);
    bool sql = at_sql_list(p);
    if (sql || parser_at(p, TOKEN_OPEN_SQUARE)) {
        parse_elements(p, e);
        if (!sql || p->panic) return parser_done(p, e);
        Diag *d = parser_slip(p, DIAG_SQL_HABIT, parser_since(p, low),
                              "a list stands in square brackets");
        diag_fix(p->in.diags, d, "write `in [..]`");
        return parser_done(p, e);
    }
    e->b = parse_operand(p);
    if (!p->panic && !parser_at(p, TOKEN_RANGE)) {
        Diag *d = parser_error(p, DIAG_EXPECTED_TOKEN, parser_since(p, low),
                               "`in` takes a list in brackets or a range `a..b`");
        diag_fix(p->in.diags, d,
                 "write `in [..]` or `in a..b`; for a list column, contains(list, x)");
    }
    if (!p->panic) {
        parser_take_operator(p);
        e->c = parse_operand(p);
    }
    // Half a range has no meaning for those who walk the tree.
    if (!e->c) return parser_node(p, AST_ERROR, parser_since(p, e->span));
    return parser_done(p, e);
}

// SQL's `is null`, `like`, `between` and `not in` after an operand.
static bool blame_sql_word(Parser *p) {
    static const struct { const char *word, *fix; } habits[] = {
        {"is", "write `x == null` or `x != null`"},
        {"like", "write starts_with(x, ..), contains(x, ..) or matches(x, ..)"},
        {"ilike", "write contains(lower(x), ..)"},
        {"between", "write `x in a..b`"},
    };
    Token token = parser_token(p, 0);
    if (!parser_at(p, TOKEN_WORD) || token.first) return false;
    if (parser_word_is(p, token, "not") &&
        parser_word_is(p, parser_token(p, 1), "in")) {
        Diag *d = parser_slip(p, DIAG_SQL_HABIT, parser_span(p, token),
                              "`not` stands in front of the comparison");
        diag_fix(p->in.diags, d, "write `not x in ..`");
        parser_take(p);
        return false;
    }
    for (size_t i = 0; i < countof(habits); i++) {
        if (!parser_word_is(p, token, habits[i].word) || !parser_begins_operand(p, 1)) continue;
        Diag *d = parser_error(p, DIAG_SQL_HABIT, parser_span(p, token), "`%.*s` is no operator",
                               TEXT_ARG(parser_text(p, token)));
        diag_fix(p->in.diags, d, "%s", habits[i].fix);
        return true;
    }
    return false;
}

// `=` where only `==` makes sense; parsing goes on as if it were that.
static const Infix *find_comparison(Parser *p) {
    static const Infix equals = {TOKEN_ASSIGN, AST_OP_EQ, nullptr};
    const Infix *infix = find_infix(p, comparisons, countof(comparisons));
    if (infix || !parser_at(p, TOKEN_ASSIGN)) return infix;
    Span sign = parser_here(p);
    Diag *d = parser_slip(p, DIAG_EQUALS_COMPARES, sign, "`=` does not compare");
    diag_label(p->in.diags, d, sign, "gives a name to a value");
    diag_fix(p->in.diags, d, "write `==`");
    return &equals;
}

// comparison = operand [("==" | "!=" | "<" | "<=" | ">" | ">=") operand | in]
static AstExpr *parse_comparison(Parser *p) {
    Span start = parser_here(p);
    AstExpr *e = parse_operand(p);
    if (p->panic || blame_sql_word(p)) return e;
    if (parser_at(p, TOKEN_WORD) && parser_word_is(p, parser_token(p, 0), "in")) {
        e = parse_in(p, e, start);
    } else {
        const Infix *infix = find_comparison(p);
        if (!infix) return e;
        e = parse_right(p, e, infix, parse_operand);
        e->span.start = start.start;
    }
    const Infix *more = p->panic ? nullptr : find_infix(p, comparisons, countof(comparisons));
    if (!more) return e;
    Span sign = parser_here(p);
    Diag *d = parser_slip(p, DIAG_CHAINED_COMPARISON, sign, "comparisons cannot be chained");
    diag_label(p->in.diags, d, sign, "the second comparison");
    diag_fix(p->in.diags, d, "write `x in a..b`, or two comparisons joined by `and`");
    e = parse_right(p, e, more, parse_operand);
    return parser_node(p, AST_ERROR, e->span);
}

// not = "not" not | comparison
AstExpr *parse_not(Parser *p) {
    bool foreign = parser_at(p, TOKEN_FOREIGN_NOT) ||
                   (parser_word_is(p, parser_token(p, 0), "not") && !parser_at_word(p, "not"));
    if (!foreign && !parser_at_word(p, "not")) return parse_comparison(p);
    if (!parser_begins_operand(p, 1) && !foreign) return parse_comparison(p);
    if (!parser_enter(p)) return parser_node(p, AST_ERROR, parser_here(p));
    AstExpr *e = parser_node(p, AST_UNARY, parser_here(p));
    e->op = AST_OP_NOT;
    e->op_span = parser_here(p);
    if (foreign) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, e->op_span,
                              "`%.*s` is an operator of another language",
                              TEXT_ARG(parser_text(p, parser_token(p, 0))));
        diag_fix(p->in.diags, d, "write `not`");
    }
    parser_take_operator(p);
    e->a = parse_not(p);
    parser_leave(p);
    return parser_done(p, e);
}

// Takes `word` as an operator, or what other languages write for it.
static bool take_logical(Parser *p, const char *word, TokenKind foreign, Span *span) {
    Token token = parser_token(p, 0);
    *span = parser_span(p, token);
    bool capitals = parser_at(p, TOKEN_WORD) && parser_word_is(p, token, word);
    if (!parser_at_word(p, word) && !parser_at(p, foreign) && !capitals) return false;
    if (!parser_at_word(p, word)) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, *span,
                              "`%.*s` is an operator of another language",
                              TEXT_ARG(parser_text(p, token)));
        diag_fix(p->in.diags, d, foreign == TOKEN_FOREIGN_OR ? "write `or`; texts are joined by `+`"
                                                             : "write `and`");
    }
    parser_take_operator(p);
    return true;
}

// conjunction = not ("and" not)*
static AstExpr *parse_and(Parser *p) {
    Span start = parser_here(p), op_span;
    AstExpr *e = parse_not(p);
    while (!p->panic && take_logical(p, "and", TOKEN_FOREIGN_AND, &op_span)) {
        AstExpr *both = parser_node(p, AST_BINARY, start);
        both->op = AST_OP_AND;
        both->op_span = op_span;
        both->a = e;
        both->b = parse_not(p);
        e = parser_done(p, both);
    }
    return e;
}

// disjunction = conjunction ("or" conjunction)*
static AstExpr *parse_or(Parser *p) {
    Span start = parser_here(p), op_span;
    AstExpr *e = parse_and(p);
    while (!p->panic) {
        bool foreign = parser_at(p, TOKEN_FOREIGN_OR);
        if (!take_logical(p, "or", TOKEN_FOREIGN_OR, &op_span)) break;
        AstExpr *either = parser_node(p, AST_BINARY, start);
        either->op = AST_OP_OR;
        either->op_span = op_span;
        either->a = e;
        either->b = parse_and(p);
        e = parser_done(p, either);
        AstExprKind left = either->a->kind;
        bool texts = left == AST_STR || left == AST_ERROR || either->b->kind == AST_STR;
        if (foreign && texts) e = parser_node(p, AST_ERROR, e->span);  // SQL's `+`.
    }
    return e;
}

// ---- choices and handlers ----------------------------------------------------------------------

// choice = "if" expr "then" expr "else" expr
static AstExpr *parse_if(Parser *p) {
    AstExpr *e = parser_node(p, AST_IF, parser_here(p));
    parser_take_operator(p);
    p->branches++;
    e->a = parse_expr(p);
    if (!p->panic && !parser_at_word(p, "then")) {
        Diag *d = parser_unexpected(p, DIAG_IF_FORM, "`then` after the condition");
        diag_fix(p->in.diags, d, "write if CONDITION then VALUE else VALUE");
    }
    if (!p->panic) parser_take_operator(p);
    if (!p->panic) e->b = parse_expr(p);
    if (!p->panic && !parser_at_word(p, "else")) {
        Diag *d = parser_unexpected(p, DIAG_IF_FORM, "`else` after the first value");
        diag_label(p->in.diags, d, e->span, "an `if` always has both values");
        diag_fix(p->in.diags, d, "add `else null`, or another value");
    }
    if (!p->panic) parser_take_operator(p);
    if (!p->panic) e->c = parse_expr(p);
    p->branches--;
    if (!p->panic && !p->branches && parser_at_word(p, "else")) {
        Diag *d = parser_error(p, DIAG_HANDLER_IN_IF, parser_here(p),
                               "a handler inside `if` needs parentheses");
        diag_label(p->in.diags, d, parser_here(p), "the `if` has its `else` already");
        diag_fix(p->in.diags, d, "write (VALUE else OTHER) for the part that may fail");
    }
    // Half an `if` has no meaning for those who walk the tree.
    if (!e->b || !e->c) return parser_node(p, AST_ERROR, parser_since(p, e->span));
    return parser_done(p, e);
}

// expr = choice | disjunction
AstExpr *parse_expr(Parser *p) {
    if (p->panic || !parser_enter(p)) return parser_node(p, AST_ERROR, parser_behind(p));
    bool choice = parser_at_word(p, "if") && parser_begins_operand(p, 1);
    AstExpr *e = choice ? parse_if(p) : parse_or(p);
    if (!p->panic && parser_at(p, TOKEN_QUESTION)) {
        bool field = parser_ahead(p, 1, TOKEN_DOT);
        Diag *d = parser_error(p, DIAG_TERNARY, parser_here(p), "`?` belongs to types");
        diag_fix(p->in.diags, d, "%s", field ? "write `a.b`: of an `a` that is null it is null"
            : "write if CONDITION then VALUE else VALUE; for null, x ?? VALUE");
    }
    parser_leave(p);
    return e;
}

// lambda = (NAME | "(" [NAME ("," NAME)* [","]] ")") "->" handled
static AstExpr *parse_lambda(Parser *p) {
    AstExpr *e = parser_node(p, AST_LAMBDA, parser_here(p));
    size_t count = 0, cap = 0;
    if (parser_at_foreign_lambda(p)) parser_take(p);
    bool list = parser_skip(p, TOKEN_OPEN_PAREN);
    while (parser_at_name(p)) {
        arena_push(p->in.arena, e->params, count, cap, parser_take_name(p));
        parser_skip(p, TOKEN_COMMA);
    }
    if (list) parser_take(p);
    e->param_count = (uint32_t)count;
    e->op_span = parser_here(p);
    if (!parser_at(p, TOKEN_ARROW)) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, e->op_span,
                              "a lambda is written `x -> ..`, or `(x, y) -> ..`");
        diag_fix(p->in.diags, d, "write `->`%s",
                 parser_at(p, TOKEN_COLON) ? ", and no word before the names" : "");
    }
    parser_take_operator(p);
    if (!parser_enter(p)) return parser_node(p, AST_ERROR, e->span);
    e->a = parse_handled(p);
    parser_leave(p);
    return parser_done(p, e);
}

// handled = lambda | expr ["else" ("reject" | "fail" | expr)]
AstExpr *parse_handled(Parser *p) {
    if (!p->panic && parser_at_lambda(p)) return parse_lambda(p);
    Span start = parser_here(p);
    AstExpr *value = parse_expr(p);
    if (p->panic || !parser_at_word(p, "else")) return value;
    AstExpr *e = parser_node(p, AST_ELSE, start);
    e->op_span = parser_here(p);
    e->a = value;
    parser_take_operator(p);
    bool bare = !parser_ahead(p, 1, TOKEN_OPEN_PAREN) && !parser_ahead(p, 1, TOKEN_DOT);
    if (bare && parser_skip_word(p, "reject")) {
        e->handler = ELSE_REJECT;
    } else if (bare && parser_skip_word(p, "fail")) {
        e->handler = ELSE_FAIL;
    } else {
        e->handler = ELSE_VALUE;
        e->b = parse_expr(p);
    }
    if (!p->panic && parser_at_word(p, "else")) {
        Diag *d = parser_error(p, DIAG_HANDLER_PLACE, parser_here(p),
                               "a second handler stands here");
        diag_label(p->in.diags, d, e->op_span, "the first one covers everything before it");
        diag_fix(p->in.diags, d, "put the first part into parentheses: (VALUE else OTHER)");
    }
    return parser_done(p, e);
}
