// Parses expressions: one function a level, loosest first.
#include "frontend/foreign.h"
#include "frontend/parser.h"

#include <string.h>

// ---- building ----------------------------------------------------------------------------------

static AstExpr *new_expr(Parser *p, AstExprKind kind, Span span) {
    AstExpr *e = arena_new_of(p->in.arena, AstExpr);
    e->kind = kind;
    e->span = span;
    return e;
}

static uint32_t higher(uint32_t height, const AstExpr *below) {
    return below && below->height >= height ? below->height + 1 : height;
}

// Closes a node whose parts are there: its span ends at the last token, and its height is counted,
// because whoever walks the tree later does so by recursion.
static AstExpr *done(Parser *p, AstExpr *e) {
    e->span = parser_since(p, e->span);
    uint32_t height = higher(higher(higher(higher(1, e->a), e->b), e->c), e->where);
    if (e->frame) height = higher(higher(height, e->frame->back), e->frame->ahead);
    for (uint32_t i = 0; i < e->arg_count; i++) height = higher(height, e->args[i].value);
    for (uint32_t i = 0; i < e->arm_count; i++) {
        height = higher(higher(height, e->arms[i].condition), e->arms[i].value);
    }
    e->height = height;
    if (height <= HEIGHT_MAX) return e;
    Diag *d = parser_error(p, DIAG_TOO_DEEP, e->span, "the expression has more than %d levels",
                           HEIGHT_MAX);
    diag_fix(p->in.diags, d, "name parts of it with `derive`");
    return new_expr(p, AST_ERROR, e->span);
}

// The place where an expression begins, its parenthesis included.
static Span start_of(const Parser *p) { return parser_span(p, parser_token(p, 0)); }

// ---- arguments and brackets --------------------------------------------------------------------

typedef struct Args {
    AstArg *items;
    size_t  count, cap;
} Args;

static void push_arg(Parser *p, Args *args, AstArg arg) {
    arena_push(p->in.arena, args->items, args->count, args->cap, arg);
}

// arguments = "(" [argument ("," argument)* [","]] ")";  argument = [NAME "="] handled
AstArg *parse_arguments(Parser *p, uint32_t *count) {
    Args args = {0};
    List list = parser_open(p);
    while (parser_more(p, &list)) {
        AstArg arg = {0};
        bool named = parser_at_name(p) && parser_ahead(p, 1, TOKEN_ASSIGN);
        if (named) {
            arg.name = parser_take_name(p);
            parser_take_operator(p);
        } else if (parser_at(p, TOKEN_STAR)) {
            Span star = parser_span(p, parser_take(p));
            Diag *d = parser_slip(p, DIAG_SQL_HABIT, star, "`*` is no argument");
            diag_fix(p->in.diags, d, "write count()");
            continue;
        }
        arg.value = parse_handled(p);
        push_arg(p, &args, arg);
    }
    parser_close(p, &list);
    *count = (uint32_t)args.count;
    return args.items;
}

// list = "[" [handled ("," handled)* [","]] "]"
static void parse_elements(Parser *p, AstExpr *e) {
    Args args = {0};
    List list = parser_open(p);
    while (parser_more(p, &list)) push_arg(p, &args, (AstArg){.value = parse_handled(p)});
    parser_close(p, &list);
    e->args = args.items;
    e->arg_count = (uint32_t)args.count;
}

static AstExpr *parse_list(Parser *p) {
    AstExpr *e = new_expr(p, AST_LIST, start_of(p));
    parse_elements(p, e);
    return done(p, e);
}

AstExpr *parse_table(Parser *p) { return parse_list(p); }

// member = NAME ":" handled | "..." handled
static AstArg parse_member(Parser *p) {
    AstArg arg = {.spread = parser_skip(p, TOKEN_SPREAD)};
    if (arg.spread) arg.value = parse_handled(p);
    if (arg.spread) return arg;
    if (parser_at(p, TOKEN_STRING) && parser_ahead(p, 1, TOKEN_COLON)) {
        Token key = parser_take(p);
        arg.name = (Name){lex_string(&p->in, key), parser_span(p, key)};
        Diag *d = parser_slip(p, DIAG_EXPECTED_NAME, arg.name.span, "a field name is no string");
        diag_fix(p->in.diags, d, "write %.*s without quotes", TEXT_ARG(arg.name.text));
    } else {
        arg.name = parser_expect_name(p, "a field name");
    }
    if (!p->panic && parser_at(p, TOKEN_ASSIGN)) {
        Span sign = parser_span(p, parser_take(p));
        Diag *d = parser_slip(p, DIAG_EXPECTED_TOKEN, sign, "expected `:`, found `=`");
        diag_fix(p->in.diags, d, "write `%.*s: VALUE`", TEXT_ARG(arg.name.text));
    } else if (!p->panic) {
        parser_expect(p, TOKEN_COLON, "the field name");
    }
    arg.value = parse_handled(p);
    return arg;
}

// struct = "{" member ("," member)* [","] "}"
static AstExpr *parse_struct(Parser *p) {
    AstExpr *e = new_expr(p, AST_STRUCT, start_of(p));
    Args args = {0};
    List list = parser_open(p);
    while (parser_more(p, &list)) push_arg(p, &args, parse_member(p));
    parser_close(p, &list);
    e->args = args.items;
    e->arg_count = (uint32_t)args.count;
    return done(p, e);
}

// arm = ("_" | expr) "=>" handled
static AstArm parse_arm(Parser *p) {
    AstArm arm = {0};
    bool rest = parser_at_word(p, "_") && parser_ahead(p, 1, TOKEN_FAT_ARROW);
    if (rest || parser_at_word(p, "else")) {
        Token word = parser_take(p);
        if (!rest) {
            Diag *d = parser_slip(p, DIAG_CASE_FORM, parser_span(p, word),
                                  "the last arm is written `_ =>`");
            diag_fix(p->in.diags, d, "write `_` for everything else");
        }
    } else {
        arm.condition = parse_expr(p);
    }
    if (!p->panic &&
        (parser_at(p, TOKEN_ARROW) || parser_at(p, TOKEN_COLON) || parser_at_word(p, "then"))) {
        Token sign = parser_take(p);
        Diag *d =
            parser_slip(p, DIAG_CASE_FORM, parser_span(p, sign), "an arm is written `C => A`");
        diag_fix(p->in.diags, d, "write `=>`");
        p->continues = true;
    } else if (!p->panic) {
        parser_expect(p, TOKEN_FAT_ARROW, "the condition of the arm");
    }
    arm.value = parse_handled(p);
    return arm;
}

// `case x { 1 => .. }` and `case when c then ..` of other languages.
static bool at_foreign_case(const Parser *p) {
    if (!parser_at_word(p, "case") || !parser_ahead(p, 1, TOKEN_WORD)) return false;
    return parser_ahead_word(p, 1, "when") || parser_ahead(p, 2, TOKEN_OPEN_BRACE);
}

// Says what is wrong with it; false where no arms follow.
static bool take_foreign_case(Parser *p) {
    static const char message[] = "an arm holds its whole condition";
    Span word = start_of(p);
    if (parser_at_word(p, "when")) {
        Diag *d = parser_error(p, DIAG_CASE_FORM, word, message);
        diag_fix(p->in.diags, d, "write case { CONDITION => VALUE, _ => VALUE }");
        return false;
    }
    Text subject = parser_text(p, parser_take(p));
    Diag *d = parser_slip(p, DIAG_CASE_FORM, word, message);
    diag_fix(p->in.diags, d, "write case { %.*s == .. => VALUE, _ => VALUE }", TEXT_ARG(subject));
    return true;
}

// case = "case" "{" arm ("," arm)* [","] "}"
static AstExpr *parse_case(Parser *p) {
    AstExpr *e = new_expr(p, AST_CASE, start_of(p));
    parser_take(p);
    if (!parser_at(p, TOKEN_OPEN_BRACE) && !take_foreign_case(p))
        return new_expr(p, AST_ERROR, parser_since(p, e->span));
    size_t count = 0, cap = 0;
    List list = parser_open(p);
    while (parser_more(p, &list)) {
        Span start = start_of(p);
        if (count > 0 && !e->arms[count - 1].condition) {
            Diag *d = parser_slip(p, DIAG_CASE_FORM, start, "no arm can be reached after `_`");
            diag_fix(p->in.diags, d, "move the arm in front of `_`");
        }
        AstArm arm = parse_arm(p);
        arena_push(p->in.arena, e->arms, count, cap, arm);
    }
    parser_close(p, &list);
    e->arm_count = (uint32_t)count;
    if (count == 0 && !p->panic) {
        Diag *d = parser_slip(p, DIAG_CASE_FORM, parser_since(p, e->span), "a `case` without arms");
        diag_fix(p->in.diags, d, "write case { CONDITION => VALUE, _ => VALUE }");
    }
    return done(p, e);
}

// ---- literals ----------------------------------------------------------------------------------

static AstExpr *parse_fstring(Parser *p) {
    AstExpr *e = new_expr(p, AST_FSTRING, start_of(p));
    parse_braces(p, e, parser_take(p), false);
    return done(p, e);
}

AstExpr *parse_string(Parser *p, const char *what) {
    AstExpr *e = new_expr(p, AST_STR, start_of(p));
    if (!parser_at(p, TOKEN_STRING) && !parser_at(p, TOKEN_RAW_STRING)) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, what);
        diag_fix(p->in.diags, d, "write %s in double quotes", what);
        e->kind = AST_ERROR;
        return e;
    }
    Token token = parser_take(p);
    e->raw = token.kind == TOKEN_RAW_STRING;
    uint32_t errors = p->in.diags->errors;
    e->text = lex_string(&p->in, token);
    // What it should hold is not known then.
    bool wrong = p->in.diags->errors != errors || parser_behind_broken_token(p);
    if (wrong) e->kind = AST_ERROR;
    return done(p, e);
}

// `3 days`, `8 MiB`: a unit stands right behind its number. A name before `:` or `=` is an item.
static bool take_unit_apart(Parser *p, Token number) {
    Text figure = parser_text(p, number), word = parser_text(p, parser_token(p, 0));
    if (!parser_at(p, TOKEN_WORD) || parser_at_line_end(p)) return false;
    if (parser_ahead(p, 1, TOKEN_COLON) || parser_ahead(p, 1, TOKEN_ASSIGN)) return false;
    Text unit = lex_unit(word);
    if (!unit.len || !lex_is_digit(figure.at[figure.len - 1])) return false;
    Diag *d = parser_slip(p, DIAG_UNKNOWN_UNIT, parser_span(p, parser_take(p)),
                          "a unit stands right after its number");
    diag_fix(p->in.diags, d, "write `%.*s%.*s`", TEXT_ARG(figure), TEXT_ARG(unit));
    return true;
}

static AstExpr *parse_number(Parser *p) {
    AstExpr *e = new_expr(p, AST_INT, start_of(p));
    Token number = parser_take(p);
    lex_number(&p->in, number, e);
    if (take_unit_apart(p, number)) e->kind = AST_ERROR;
    return done(p, e);
}

// A word alone: null, true, false, or a name. Other languages spell these in capitals.
static AstExpr *parse_word(Parser *p) {
    static const char *const words[] = {"null", "true", "false"};
    Token token = parser_token(p, 0);
    for (size_t i = 0; i < countof(words); i++) {
        bool foreign =
            parser_word_is(p, token, words[i]) && !text_is(parser_text(p, token), words[i]);
        bool none = i == 0 && text_is(parser_text(p, token), "None") && token.kind == TOKEN_WORD;
        if (!parser_at_word(p, words[i]) && !foreign && !none) continue;
        AstExpr *e = new_expr(p, i == 0 ? AST_NULL : AST_BOOL, start_of(p));
        e->boolean = i == 1;
        parser_take(p);
        if (foreign || none) {
            Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, e->span, "`%.*s` is written `%s`",
                                  TEXT_ARG(parser_text(p, token)), words[i]);
            diag_fix(p->in.diags, d, "write `%s`", words[i]);
        }
        return done(p, e);
    }
    AstExpr *e = new_expr(p, AST_NAME, start_of(p));
    e->name = parser_take_name(p);
    return done(p, e);
}

// ---- operands ----------------------------------------------------------------------------------

static AstExpr *no_expression(Parser *p) {
    Token token = parser_token(p, 0);
    Diag *d = parser_unexpected(p, DIAG_EXPECTED_EXPRESSION, "an expression");
    if (token.kind == TOKEN_DOT || token.kind == TOKEN_RANGE) {
        diag_fix(p->in.diags, d, "write a digit in front of the point, as in 0.5");
    } else if (token.kind == TOKEN_SLASHES && !parser_at_line_end(p)) {
        diag_fix(p->in.diags, d, "begin a comment with `#`");
    } else {
        diag_fix(p->in.diags, d, "write a value here: a column, a literal or a call");
    }
    return new_expr(p, AST_ERROR, parser_span(p, token));
}

// "(" handled ")"
static AstExpr *parse_parens(Parser *p) {
    List list = parser_open(p);
    AstExpr *e = parse_handled(p);
    e->parens = true;
    parser_close(p, &list);
    return e;
}

// `if` and `not` bind looser than any operator and need parentheses as an operand.
static AstExpr *parse_loose_operand(Parser *p) {
    Text word = parser_text(p, parser_token(p, 0));
    Diag *d = parser_slip(p, DIAG_EXPECTED_EXPRESSION, start_of(p),
                          "`%.*s` needs parentheses as an operand", TEXT_ARG(word));
    diag_fix(p->in.diags, d, "put parentheses around it: (%.*s ...)", TEXT_ARG(word));
    return parse_expr(p);
}

// .5: a number without a digit in front of its point.
static AstExpr *parse_bare_fraction(Parser *p) {
    Span span = start_of(p);
    parser_take(p);
    span.end = parser_token(p, 0).end;
    Text digits = parser_text(p, parser_token(p, 0));
    bool range = span.start >= 2 && p->text.at[span.start - 1] == '.' &&
                 p->text.at[span.start - 2] == '.';
    if (range) {
        span.start -= 2;
        Diag *d = parser_slip(p, DIAG_BAD_NUMBER, span, "a range has two points");
        diag_fix(p->in.diags, d, "write ..%.*s; both ends belong to it", TEXT_ARG(digits));
        return parse_number(p);
    }
    Diag *d = parser_slip(p, DIAG_BAD_NUMBER, span, "`.%.*s` is not a well-formed number",
                          TEXT_ARG(digits));
    diag_fix(p->in.diags, d, "write 0.%.*s", TEXT_ARG(digits));
    return parse_number(p);
}

// primary = literal | NAME | call | list | struct | case | "(" handled ")"
// call = NAME arguments ["where" expr] [frame]
//        (`where`: in the items of group, aggregate and window; a frame: of window)
static AstExpr *parse_primary(Parser *p) {
    bool loose = parser_at_word(p, "if") || parser_at_word(p, "not");
    if (loose && parser_begins_operand(p, 1)) return parse_loose_operand(p);
    if (parser_at(p, TOKEN_NUMBER)) return parse_number(p);
    if (parser_at(p, TOKEN_STRING) || parser_at(p, TOKEN_RAW_STRING))
        return parse_string(p, "a string");
    if (parser_at(p, TOKEN_FSTRING)) return parse_fstring(p);
    if (parser_at(p, TOKEN_DOT) && parser_ahead(p, 1, TOKEN_NUMBER)) return parse_bare_fraction(p);
    if (parser_at(p, TOKEN_OPEN_PAREN)) return parse_parens(p);
    if (parser_at(p, TOKEN_OPEN_SQUARE)) return parse_list(p);
    if (parser_at(p, TOKEN_OPEN_BRACE)) return parse_struct(p);
    if (parser_at_word(p, "case") && parser_ahead(p, 1, TOKEN_OPEN_BRACE)) return parse_case(p);
    if (at_foreign_case(p)) return parse_case(p);
    if (!parser_at_name(p)) return no_expression(p);
    if (!parser_ahead(p, 1, TOKEN_OPEN_PAREN)) return parse_word(p);
    AstExpr *e = new_expr(p, AST_CALL, start_of(p));
    e->name = parser_take_name(p);
    e->args = parse_arguments(p, &e->arg_count);
    if (p->aggregates && !p->panic && parser_skip_word(p, "where")) e->where = parse_expr(p);
    if (!p->panic) e->frame = parse_frame(p);
    return done(p, e);
}

// x.f(y) of other languages.
static void blame_method(Parser *p, const AstExpr *field) {
    Diag *d = parser_slip(p, DIAG_METHOD_CALL, field->name.span,
                          "functions are called with the value as an argument");
    Text ours = foreign_function(p->in.arena, field->name.text);
    if (ours.len) diag_fix(p->in.diags, d, "%.*s", TEXT_ARG(ours));
    else diag_fix(p->in.diags, d, "write %.*s(x)", TEXT_ARG(field->name.text));
}

// postfix = primary ("." NAME | "[" handled "]")*
static AstExpr *parse_postfix(Parser *p) {
    Span start = start_of(p);
    AstExpr *e = parse_primary(p);
    while (!p->panic) {
        bool field = parser_at(p, TOKEN_DOT);
        if (!field && !parser_at(p, TOKEN_OPEN_SQUARE)) break;
        AstExpr *outer = new_expr(p, field ? AST_FIELD : AST_INDEX, start);
        outer->a = e;
        if (field) {
            parser_take_operator(p);
            outer->name = parser_expect_name(p, "a field name");
            bool call = parser_at(p, TOKEN_OPEN_PAREN) && !p->panic;
            if (call) blame_method(p, outer);
            if (call) parse_arguments(p, &outer->arg_count);
            outer->arg_count = 0;
            if (call) outer->kind = AST_ERROR;  // Whatever it should give.
        } else {
            List list = parser_open(p);
            outer->b = parse_handled(p);
            parser_close(p, &list);
        }
        e = done(p, outer);
    }
    return e;
}

// unary = "-" unary | postfix
static AstExpr *parse_unary(Parser *p) {
    if (!parser_enter(p)) return new_expr(p, AST_ERROR, start_of(p));
    AstExpr *e;
    if (parser_at(p, TOKEN_MINUS)) {
        e = new_expr(p, AST_UNARY, start_of(p));
        e->op = AST_OP_NEG;
        e->op_span = start_of(p);
        parser_take_operator(p);
        e->a = parse_unary(p);
        e = done(p, e);
    } else if (parser_at(p, TOKEN_PLUS)) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, start_of(p),
                              "a number has no `+` in front of it");
        diag_fix(p->in.diags, d, "leave out the `+`");
        parser_take_operator(p);
        e = parse_unary(p);
    } else {
        e = parse_postfix(p);
    }
    parser_leave(p);
    return e;
}

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
    AstExpr *e = new_expr(p, AST_REJECT, start_of(p));
    parser_take(p);
    if (at_tighter(p)) {
        Diag *d = parser_error(p, DIAG_HANDLER_PLACE, start_of(p), "`reject` is no value");
        diag_label(p->in.diags, d, e->span, "it covers all that `??` does");
        diag_fix(p->in.diags, d, "put the part before into parentheses: (x ?? reject) + y");
    }
    return done(p, e);
}

// Takes the operator and the operand on its right, which `level` parses.
static AstExpr *parse_right(Parser *p, AstExpr *left, const Infix *infix,
                            AstExpr *(*level)(Parser *)) {
    AstExpr *e = new_expr(p, AST_BINARY, left->span);
    e->op = infix->op;
    e->op_span = start_of(p);
    e->a = left;
    if (infix->instead) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, e->op_span,
                              "`%.*s` is an operator of another language",
                              TEXT_ARG(parser_text(p, parser_token(p, 0))));
        diag_fix(p->in.diags, d, "write `%s`", infix->instead);
    }
    parser_take_operator(p);
    e->b = infix->kind == TOKEN_COALESCE && at_reject(p) ? parse_reject(p) : level(p);
    return done(p, e);
}

typedef struct Level {
    const Infix *table;
    size_t       count;
    AstExpr   *(*tighter)(Parser *);
} Level;

// tighter (operator tighter)*
static AstExpr *parse_level(Parser *p, Level level) {
    Span start = start_of(p);
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
    AstExpr *e = new_expr(p, AST_IN, start);
    e->op_span = start_of(p);
    e->a = left;
    if (!parser_at_word(p, "in")) {
        Diag *d =
            parser_slip(p, DIAG_FOREIGN_OPERATOR, e->op_span, "`in` is written in small letters");
        diag_fix(p->in.diags, d, "write `in`");
    }
    parser_take_operator(p);
    Span low = start_of(p);
    bool sql = at_sql_list(p);
    if (sql || parser_at(p, TOKEN_OPEN_SQUARE)) {
        parse_elements(p, e);
        if (!sql || p->panic) return done(p, e);
        Diag *d = parser_slip(p, DIAG_SQL_HABIT, parser_since(p, low),
                              "a list stands in square brackets");
        diag_fix(p->in.diags, d, "write `in [..]`");
        return done(p, e);
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
    if (!e->c) return new_expr(p, AST_ERROR, parser_since(p, e->span));
    return done(p, e);
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
    Span sign = start_of(p);
    Diag *d = parser_slip(p, DIAG_EQUALS_COMPARES, sign, "`=` does not compare");
    diag_label(p->in.diags, d, sign, "gives a name to a value");
    diag_fix(p->in.diags, d, "write `==`");
    return &equals;
}

// comparison = operand [("==" | "!=" | "<" | "<=" | ">" | ">=") operand | in]
static AstExpr *parse_comparison(Parser *p) {
    Span start = start_of(p);
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
    Span sign = start_of(p);
    Diag *d = parser_slip(p, DIAG_CHAINED_COMPARISON, sign, "comparisons cannot be chained");
    diag_label(p->in.diags, d, sign, "the second comparison");
    diag_fix(p->in.diags, d, "write `x in a..b`, or two comparisons joined by `and`");
    e = parse_right(p, e, more, parse_operand);
    return new_expr(p, AST_ERROR, e->span);
}

// not = "not" not | comparison
AstExpr *parse_not(Parser *p) {
    bool foreign = parser_at(p, TOKEN_FOREIGN_NOT) ||
                   (parser_word_is(p, parser_token(p, 0), "not") && !parser_at_word(p, "not"));
    if (!foreign && !parser_at_word(p, "not")) return parse_comparison(p);
    if (!parser_begins_operand(p, 1) && !foreign) return parse_comparison(p);
    if (!parser_enter(p)) return new_expr(p, AST_ERROR, start_of(p));
    AstExpr *e = new_expr(p, AST_UNARY, start_of(p));
    e->op = AST_OP_NOT;
    e->op_span = start_of(p);
    if (foreign) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, e->op_span,
                              "`%.*s` is an operator of another language",
                              TEXT_ARG(parser_text(p, parser_token(p, 0))));
        diag_fix(p->in.diags, d, "write `not`");
    }
    parser_take_operator(p);
    e->a = parse_not(p);
    parser_leave(p);
    return done(p, e);
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
    Span start = start_of(p), op_span;
    AstExpr *e = parse_not(p);
    while (!p->panic && take_logical(p, "and", TOKEN_FOREIGN_AND, &op_span)) {
        AstExpr *both = new_expr(p, AST_BINARY, start);
        both->op = AST_OP_AND;
        both->op_span = op_span;
        both->a = e;
        both->b = parse_not(p);
        e = done(p, both);
    }
    return e;
}

// disjunction = conjunction ("or" conjunction)*
static AstExpr *parse_or(Parser *p) {
    Span start = start_of(p), op_span;
    AstExpr *e = parse_and(p);
    while (!p->panic) {
        bool foreign = parser_at(p, TOKEN_FOREIGN_OR);
        if (!take_logical(p, "or", TOKEN_FOREIGN_OR, &op_span)) break;
        AstExpr *either = new_expr(p, AST_BINARY, start);
        either->op = AST_OP_OR;
        either->op_span = op_span;
        either->a = e;
        either->b = parse_and(p);
        e = done(p, either);
        AstExprKind left = either->a->kind;
        bool texts = left == AST_STR || left == AST_ERROR || either->b->kind == AST_STR;
        if (foreign && texts) e = new_expr(p, AST_ERROR, e->span);  // SQL's `+`.
    }
    return e;
}

// ---- choices and handlers ----------------------------------------------------------------------

// choice = "if" expr "then" expr "else" expr
static AstExpr *parse_if(Parser *p) {
    AstExpr *e = new_expr(p, AST_IF, start_of(p));
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
        Diag *d = parser_error(p, DIAG_HANDLER_IN_IF, start_of(p),
                               "a handler inside `if` needs parentheses");
        diag_label(p->in.diags, d, start_of(p), "the `if` has its `else` already");
        diag_fix(p->in.diags, d, "write (VALUE else OTHER) for the part that may fail");
    }
    // Half an `if` has no meaning for those who walk the tree.
    if (!e->b || !e->c) return new_expr(p, AST_ERROR, parser_since(p, e->span));
    return done(p, e);
}

// expr = choice | disjunction
AstExpr *parse_expr(Parser *p) {
    if (p->panic || !parser_enter(p)) return new_expr(p, AST_ERROR, parser_behind(p));
    bool choice = parser_at_word(p, "if") && parser_begins_operand(p, 1);
    AstExpr *e = choice ? parse_if(p) : parse_or(p);
    if (!p->panic && parser_at(p, TOKEN_QUESTION)) {
        bool field = parser_ahead(p, 1, TOKEN_DOT);
        Diag *d = parser_error(p, DIAG_TERNARY, start_of(p), "`?` belongs to types");
        diag_fix(p->in.diags, d, "%s", field ? "write `a.b`: of an `a` that is null it is null"
            : "write if CONDITION then VALUE else VALUE; for null, x ?? VALUE");
    }
    parser_leave(p);
    return e;
}

// lambda = (NAME | "(" [NAME ("," NAME)* [","]] ")") "->" handled
static AstExpr *parse_lambda(Parser *p) {
    AstExpr *e = new_expr(p, AST_LAMBDA, start_of(p));
    size_t count = 0, cap = 0;
    if (parser_at_foreign_lambda(p)) parser_take(p);
    bool list = parser_skip(p, TOKEN_OPEN_PAREN);
    while (parser_at_name(p)) {
        arena_push(p->in.arena, e->params, count, cap, parser_take_name(p));
        parser_skip(p, TOKEN_COMMA);
    }
    if (list) parser_take(p);
    e->param_count = (uint32_t)count;
    e->op_span = start_of(p);
    if (!parser_at(p, TOKEN_ARROW)) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, e->op_span,
                              "a lambda is written `x -> ..`, or `(x, y) -> ..`");
        diag_fix(p->in.diags, d, "write `->`%s",
                 parser_at(p, TOKEN_COLON) ? ", and no word before the names" : "");
    }
    parser_take_operator(p);
    if (!parser_enter(p)) return new_expr(p, AST_ERROR, e->span);
    e->a = parse_handled(p);
    parser_leave(p);
    return done(p, e);
}

// handled = lambda | expr ["else" ("reject" | "fail" | expr)]
AstExpr *parse_handled(Parser *p) {
    if (!p->panic && parser_at_lambda(p)) return parse_lambda(p);
    Span start = start_of(p);
    AstExpr *value = parse_expr(p);
    if (p->panic || !parser_at_word(p, "else")) return value;
    AstExpr *e = new_expr(p, AST_ELSE, start);
    e->op_span = start_of(p);
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
        Diag *d = parser_error(p, DIAG_HANDLER_PLACE, start_of(p), "a second handler stands here");
        diag_label(p->in.diags, d, e->op_span, "the first one covers everything before it");
        diag_fix(p->in.diags, d, "put the first part into parentheses: (VALUE else OTHER)");
    }
    return done(p, e);
}
