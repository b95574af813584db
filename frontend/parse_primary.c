// Parses what operators stand beside: literals, brackets, calls, fields, and a minus in front.
#include "frontend/foreign.h"
#include "frontend/parser.h"

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
void parse_elements(Parser *p, AstExpr *e) {
    Args args = {0};
    List list = parser_open(p);
    while (parser_more(p, &list)) push_arg(p, &args, (AstArg){.value = parse_handled(p)});
    parser_close(p, &list);
    e->args = args.items;
    e->arg_count = (uint32_t)args.count;
}

static AstExpr *parse_list(Parser *p) {
    AstExpr *e = parser_node(p, AST_LIST, parser_here(p));
    parse_elements(p, e);
    return parser_done(p, e);
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
    AstExpr *e = parser_node(p, AST_STRUCT, parser_here(p));
    Args args = {0};
    List list = parser_open(p);
    while (parser_more(p, &list)) push_arg(p, &args, parse_member(p));
    parser_close(p, &list);
    e->args = args.items;
    e->arg_count = (uint32_t)args.count;
    return parser_done(p, e);
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
    Span word = parser_here(p);
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
    AstExpr *e = parser_node(p, AST_CASE, parser_here(p));
    parser_take(p);
    if (!parser_at(p, TOKEN_OPEN_BRACE) && !take_foreign_case(p))
        return parser_node(p, AST_ERROR, parser_since(p, e->span));
    size_t count = 0, cap = 0;
    List list = parser_open(p);
    while (parser_more(p, &list)) {
        Span start = parser_here(p);
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
    return parser_done(p, e);
}

// ---- literals ----------------------------------------------------------------------------------

static AstExpr *parse_fstring(Parser *p) {
    AstExpr *e = parser_node(p, AST_FSTRING, parser_here(p));
    parse_braces(p, e, parser_take(p), false);
    return parser_done(p, e);
}

AstExpr *parse_string(Parser *p, const char *what) {
    AstExpr *e = parser_node(p, AST_STR, parser_here(p));
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
    return parser_done(p, e);
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
    AstExpr *e = parser_node(p, AST_INT, parser_here(p));
    Token number = parser_take(p);
    lex_number(&p->in, number, e);
    if (take_unit_apart(p, number)) e->kind = AST_ERROR;
    return parser_done(p, e);
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
        AstExpr *e = parser_node(p, i == 0 ? AST_NULL : AST_BOOL, parser_here(p));
        e->boolean = i == 1;
        parser_take(p);
        if (foreign || none) {
            Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, e->span, "`%.*s` is written `%s`",
                                  TEXT_ARG(parser_text(p, token)), words[i]);
            diag_fix(p->in.diags, d, "write `%s`", words[i]);
        }
        return parser_done(p, e);
    }
    AstExpr *e = parser_node(p, AST_NAME, parser_here(p));
    e->name = parser_take_name(p);
    return parser_done(p, e);
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
    return parser_node(p, AST_ERROR, parser_span(p, token));
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
    Diag *d = parser_slip(p, DIAG_EXPECTED_EXPRESSION, parser_here(p),
                          "`%.*s` needs parentheses as an operand", TEXT_ARG(word));
    diag_fix(p->in.diags, d, "put parentheses around it: (%.*s ...)", TEXT_ARG(word));
    return parse_expr(p);
}

// .5: a number without a digit in front of its point.
static AstExpr *parse_bare_fraction(Parser *p) {
    Span span = parser_here(p);
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
    AstExpr *e = parser_node(p, AST_CALL, parser_here(p));
    e->name = parser_take_name(p);
    e->args = parse_arguments(p, &e->arg_count);
    if (p->aggregates && !p->panic && parser_skip_word(p, "where")) e->where = parse_expr(p);
    if (!p->panic) e->frame = parse_frame(p);
    return parser_done(p, e);
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
    Span start = parser_here(p);
    AstExpr *e = parse_primary(p);
    while (!p->panic) {
        bool field = parser_at(p, TOKEN_DOT);
        if (!field && !parser_at(p, TOKEN_OPEN_SQUARE)) break;
        AstExpr *outer = parser_node(p, field ? AST_FIELD : AST_INDEX, start);
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
        e = parser_done(p, outer);
    }
    return e;
}

// unary = "-" unary | postfix
AstExpr *parse_unary(Parser *p) {
    if (!parser_enter(p)) return parser_node(p, AST_ERROR, parser_here(p));
    AstExpr *e;
    if (parser_at(p, TOKEN_MINUS)) {
        e = parser_node(p, AST_UNARY, parser_here(p));
        e->op = AST_OP_NEG;
        e->op_span = parser_here(p);
        parser_take_operator(p);
        e->a = parse_unary(p);
        e = parser_done(p, e);
    } else if (parser_at(p, TOKEN_PLUS)) {
        Diag *d = parser_slip(p, DIAG_FOREIGN_OPERATOR, parser_here(p),
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
