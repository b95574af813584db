// Movement over tokens, expectations, lists, and recovery from mistakes.
#include "frontend/parser.h"

#include <string.h>
#include <strings.h>

// ---- looking -----------------------------------------------------------------------------------

Token parser_token(const Parser *p, size_t ahead) {
    size_t last = p->tokens.count - 1;
    return p->tokens.items[p->at + ahead < last ? p->at + ahead : last];
}

static bool goes_on_behind(TokenKind kind) {
    return kind == TOKEN_COMMA || kind == TOKEN_COLON ||
           (kind >= TOKEN_DOT && kind <= TOKEN_FAT_ARROW) ||
           (kind >= TOKEN_EQ && kind <= TOKEN_COALESCE) ||
           (kind >= TOKEN_FOREIGN_AND && kind <= TOKEN_FOREIGN_PIPE);
}

// A line end in front of the token `ahead` that closes a step or statement.
static bool closes_before(const Parser *p, size_t ahead) {
    Token token = parser_token(p, ahead);
    if (token.kind == TOKEN_END) return true;
    size_t at = p->at + ahead;
    bool joins = token.kind == TOKEN_PIPE || token.kind == TOKEN_FOREIGN_PIPE;
    if (!p->lines || !token.first || joins || at == 0) return false;
    if (ahead == 0 && p->continues) return false;
    return !goes_on_behind(p->tokens.items[at - 1].kind);
}

bool parser_at_line_end(const Parser *p) { return closes_before(p, 0); }

bool parser_ahead(const Parser *p, size_t ahead, TokenKind kind) {
    if (parser_token(p, ahead).kind != kind) return false;
    for (size_t i = 0; i <= ahead; i++) if (closes_before(p, i)) return kind == TOKEN_END;
    return true;
}

bool parser_at(const Parser *p, TokenKind kind) { return parser_ahead(p, 0, kind); }

Text parser_text(const Parser *p, Token token) {
    Text text = {p->text.at + token.start, token.end - token.start};
    if (token.kind != TOKEN_QUOTED || !text.len || *text.at != '`') return text;
    bool closed = text.len > 1 && text.at[text.len - 1] == '`';
    Text inside = {text.at + 1, text.len - (closed ? 2 : 1)};
    if (!memchr(inside.at, '`', inside.len)) return inside;
    TextBuf name = {0};  // Backticks in it stand twice.
    for (size_t i = 0; i < inside.len; i++) {
        text_buf_char(&name, inside.at[i]);
        i += inside.at[i] == '`';
    }
    return text_buf_take(&name, p->in.arena);
}

bool parser_ahead_word(const Parser *p, size_t ahead, const char *word) {
    return parser_ahead(p, ahead, TOKEN_WORD) &&
           text_is(parser_text(p, parser_token(p, ahead)), word);
}

bool parser_at_word(const Parser *p, const char *word) { return parser_ahead_word(p, 0, word); }

bool parser_at_name(const Parser *p) {
    return parser_at(p, TOKEN_WORD) || parser_at(p, TOKEN_QUOTED);
}

bool parser_word_is(const Parser *p, Token token, const char *word) {
    Text text = parser_text(p, token);
    return token.kind == TOKEN_WORD && text.len == strlen(word) &&
           strncasecmp(text.at, word, text.len) == 0;
}

Span parser_span(const Parser *p, Token token) {
    return (Span){token.start, token.end, p->in.file};
}

Span parser_behind(const Parser *p) {
    uint32_t at = p->at ? p->tokens.items[p->at - 1].end : 0;
    return (Span){at, at, p->in.file};
}

Span parser_since(const Parser *p, Span start) {
    uint32_t end = p->at ? p->tokens.items[p->at - 1].end : 0;
    return (Span){start.start, end > start.start ? end : start.end, p->in.file};
}

bool parser_begins_operand(const Parser *p, size_t ahead) {
    static const char *const infix[] = {"and", "or", "in", "else", "then"};
    if (parser_ahead(p, ahead, TOKEN_WORD)) {
        for (size_t i = 0; i < countof(infix); i++)
            if (parser_ahead_word(p, ahead, infix[i])) return false;
        return true;
    }
    static const TokenKind kinds[] = {TOKEN_QUOTED,     TOKEN_NUMBER,     TOKEN_STRING,
                                      TOKEN_RAW_STRING, TOKEN_FSTRING,    TOKEN_OPEN_PAREN,
                                      TOKEN_MINUS,      TOKEN_FOREIGN_NOT};
    for (size_t i = 0; i < countof(kinds); i++) if (parser_ahead(p, ahead, kinds[i])) return true;
    return false;
}

// `lambda x, y: e` of other languages.
bool parser_at_foreign_lambda(const Parser *p) {
    if (!parser_at_word(p, "lambda") || !parser_ahead(p, 1, TOKEN_WORD)) return false;
    size_t at = 2;
    while (parser_ahead(p, at, TOKEN_COMMA) && parser_ahead(p, at + 1, TOKEN_WORD)) at += 2;
    return parser_ahead(p, at, TOKEN_COLON);
}

// Is there a lambda: NAME "->", or "(" [NAME ("," NAME)*] ")" "->"? Others write `=>`.
bool parser_at_lambda(const Parser *p) {
    if (parser_at_foreign_lambda(p)) return true;
    if (parser_at_name(p))
        return parser_ahead(p, 1, TOKEN_ARROW) || parser_ahead(p, 1, TOKEN_FAT_ARROW);
    if (!parser_at(p, TOKEN_OPEN_PAREN)) return false;
    size_t at = 1;
    while (parser_ahead(p, at, TOKEN_WORD) || parser_ahead(p, at, TOKEN_QUOTED)) {
        at++;
        if (!parser_ahead(p, at, TOKEN_COMMA)) break;
        at++;
    }
    return parser_ahead(p, at, TOKEN_CLOSE_PAREN) &&
           (parser_ahead(p, at + 1, TOKEN_ARROW) || parser_ahead(p, at + 1, TOKEN_FAT_ARROW));
}

void parser_lose(Parser *p) {
    if (!p->lost) p->lost_at = p->border;
    p->lost = true;
}

// After a token that is none, nothing more is to be said about its step.
static void tear(Parser *p) {
    parser_lose(p);
    p->torn = true;
    p->torn_at = p->border;
}

// ---- taking ------------------------------------------------------------------------------------

Token parser_take(Parser *p) {
    Token token = parser_token(p, 0);
    if (token.kind != TOKEN_END) p->at++;
    p->continues = false;
    if (parser_behind_broken_token(p)) tear(p);
    return token;
}

Name parser_take_name(Parser *p) {
    Token token = parser_take(p);
    return (Name){parser_text(p, token), parser_span(p, token)};
}

void parser_take_operator(Parser *p) {
    parser_take(p);
    p->continues = true;
}

bool parser_skip(Parser *p, TokenKind kind) {
    if (!parser_at(p, kind)) return false;
    parser_take(p);
    return true;
}

bool parser_skip_word(Parser *p, const char *word) {
    if (!parser_at_word(p, word)) return false;
    parser_take(p);
    return true;
}

bool parser_expect(Parser *p, TokenKind kind, const char *behind) {
    if (parser_skip(p, kind)) return true;
    Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, token_name(kind));
    diag_fix(p->in.diags, d, "add %s after %s", token_name(kind), behind);
    return false;
}

bool parser_expect_word(Parser *p, const char *word, const char *behind) {
    if (parser_skip_word(p, word)) return true;
    const char *what = text_c(p->in.arena, text_format(p->in.arena, "`%s`", word));
    Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, what);
    diag_fix(p->in.diags, d, "add `%s` after %s", word, behind);
    return false;
}

Name parser_expect_name(Parser *p, const char *what) {
    if (parser_at_name(p)) {
        Token token = parser_take(p);
        return (Name){parser_text(p, token), parser_span(p, token)};
    }
    Diag *d = parser_unexpected(p, DIAG_EXPECTED_NAME, what);
    if (parser_at(p, TOKEN_STRING))
        diag_fix(p->in.diags, d, "write the name without quotes, or in backticks");
    else diag_fix(p->in.diags, d, "write %s here; backticks quote one that is not a word", what);
    return (Name){{0}, parser_behind(p)};
}

// ---- brackets and lists ------------------------------------------------------------------------

static TokenKind partner(TokenKind open) {
    return open == TOKEN_OPEN_PAREN ? TOKEN_CLOSE_PAREN
         : open == TOKEN_OPEN_SQUARE ? TOKEN_CLOSE_SQUARE : TOKEN_CLOSE_BRACE;
}

List parser_open(Parser *p) {
    Token opener = parser_take(p);
    List list = {.open = opener.kind, .close = partner(opener.kind), .opener = opener,
                 .last = SIZE_MAX, .lines = p->lines, .branches = p->branches};
    p->lines = false;
    p->branches = 0;
    return list;
}

List parser_bare_list(Parser *p) {
    return (List){.open = TOKEN_END, .close = TOKEN_END, .last = SIZE_MAX, .lines = p->lines,
                  .branches = p->branches};
}

// Can what stands here be an item whose comma was forgotten?
static bool begins_item(const Parser *p, const List *list) {
    bool word = parser_at(p, TOKEN_WORD);
    if (list->close != TOKEN_END) {
        return !parser_at_statement(p, 0) &&
               (parser_begins_operand(p, 0) || parser_at(p, TOKEN_OPEN_BRACE) ||
                parser_at(p, TOKEN_OPEN_SQUARE));
    }
    // Without brackets a name on the same line may as well be a step whose `|` was forgotten.
    if (word && parse_is_step_word(parser_text(p, parser_token(p, 0)))) {
        return parser_ahead(p, 1, TOKEN_ASSIGN) || parser_ahead(p, 1, TOKEN_COMMA);
    }
    return parser_at_name(p);
}

static bool ends_list(const Parser *p, const List *list) {
    Token token = parser_token(p, 0);
    if (list->close != TOKEN_END) return parser_at(p, list->close) || token.kind == TOKEN_END;
    return parser_at_line_end(p) || token.kind == TOKEN_PIPE || token.kind == TOKEN_FOREIGN_PIPE ||
           token.kind == TOKEN_CLOSE_PAREN || token.kind == TOKEN_CLOSE_BRACE ||
           token.kind == TOKEN_CLOSE_SQUARE;
}

// What other languages write behind an item. True: it is reported.
static bool blame_word_behind(Parser *p) {
    static const struct { const char *word, *fix; } words[] = {
        {"over", "it is a step: | window by K { NAME = sum(x) rows all }; | window by K sort S { "
                 "NAME = sum(x) } for a running one"},
        {"filter", "write `count() where P`"},
        {"at", "write in_zone(t, \"Europe/Berlin\"), or hour(t, \"Europe/Berlin\")"},
        {"by", "it is a step: | group by K { NAME = count() }, or | window by K { NAME = count() "
               "rows all } to keep the rows"},
        {"as", "a cast is the name of its type: str(x), i64(s), date(s); a name stands in front: "
               "NAME = x"},
    };
    Token token = parser_token(p, 0);
    if (!parser_at(p, TOKEN_WORD) || token.first || parser_ahead(p, 1, TOKEN_ASSIGN)) return false;
    for (size_t i = 0; i < countof(words); i++) {
        if (!parser_word_is(p, token, words[i].word) || !parser_begins_operand(p, 1)) continue;
        Diag *d = parser_error(p, DIAG_SQL_HABIT, parser_span(p, token), "`%.*s` is no word of an "
                               "expression", TEXT_ARG(parser_text(p, token)));
        diag_fix(p->in.diags, d, "%s", words[i].fix);
        return true;
    }
    return false;
}

bool parser_more(Parser *p, List *list) {
    if (!list->begun) {
        list->begun = true;
        list->last = p->at;
        return !ends_list(p, list);
    }
    if (p->panic) {
        parser_skip_to_border(p);
        if (!parser_at(p, TOKEN_COMMA)) return false;
        p->panic = false;
    }
    bool bare = list->close == TOKEN_END;
    if (parser_skip(p, TOKEN_COMMA)) {
        list->last = p->at;
        if (!ends_list(p, list)) return true;
        if (!bare) return false;
        Diag *d = parser_slip(p, DIAG_EXPECTED_NAME, parser_behind(p), "nothing follows the comma");
        diag_fix(p->in.diags, d, "remove the comma");
        return false;
    }
    if (ends_list(p, list) || !begins_item(p, list) || p->at == list->last) return false;
    if (blame_word_behind(p)) return false;
    Diag *d = parser_slip(p, DIAG_MISSING_COMMA, parser_behind(p), "a comma is missing");
    diag_label(p->in.diags, d, parser_span(p, parser_token(p, 0)), "another item begins");
    diag_fix(p->in.diags, d, "put a comma between the items");
    parser_lose(p);
    list->last = p->at;
    return true;
}

// Nothing in brackets goes on here: the bracket was forgotten.
static bool lost(const Parser *p, TokenKind close) {
    TokenKind kind = parser_token(p, 0).kind;
    if (kind == TOKEN_END || kind == TOKEN_PIPE || parser_at_statement(p, 0)) return true;
    bool closer =
        kind == TOKEN_CLOSE_PAREN || kind == TOKEN_CLOSE_SQUARE || kind == TOKEN_CLOSE_BRACE;
    return closer && kind != close;
}

void parser_close(Parser *p, List *list) {
    if (list->close == TOKEN_END) return;
    if (p->panic) parser_skip_to_border(p);
    // A `|` after an open parenthesis is more likely a step of the flow around it.
    while (p->panic && (parser_at(p, TOKEN_COMMA) ||
                        (parser_at(p, TOKEN_PIPE) && list->close != TOKEN_CLOSE_PAREN))) {
        parser_take(p);
        parser_skip_to_border(p);
    }
    if (parser_at(p, list->close)) {
        parser_take(p);
        p->panic = false;
    } else if (!p->panic && lost(p, list->close)) {
        Span opener = parser_span(p, list->opener);
        Diag *d = parser_error(p, DIAG_OPEN_BRACKET, opener, "the bracket %s is never closed",
                               token_name(list->open));
        diag_label(p->in.diags, d, opener, "opened here");
        Token found = parser_token(p, 0);
        if (found.kind != TOKEN_END) {
            diag_label(p->in.diags, d, parser_span(p, found), "%s is expected before this",
                       token_name(list->close));
        }
        diag_fix(p->in.diags, d, "add %s", token_name(list->close));
    } else if (!p->panic) {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TOKEN, token_name(list->close));
        diag_label(p->in.diags, d, parser_span(p, list->opener), "opened here");
        diag_fix(p->in.diags, d, "close the bracket here, or separate items by commas");
        parser_skip_to_border(p);
        if (parser_skip(p, list->close)) p->panic = false;
    }
    p->lines = list->lines;
    p->branches = list->branches;
}

// ---- mistakes ----------------------------------------------------------------------------------

// A guess at what was forgotten, where what stands here could not be read anyway.
static bool is_guess(const Parser *p, DiagCode code) {
    if (!p->lost) return false;
    if (p->torn && p->torn_at == p->border) return true;
    bool item = code == DIAG_MISSING_COMMA || code == DIAG_ITEM_NEEDS_NAME;
    return code == DIAG_LONE_BRACKET || (item && p->lost_at == p->border);
}

static Diag *add(Parser *p, DiagCode code, Span span, const char *message, va_list args) {
    p->unsaid = (Diag){0};
    if (p->panic || is_guess(p, code)) return &p->unsaid;
    TextBuf buf = {0};
    text_buf_formatv(&buf, message, args);
    Text text = text_buf_take(&buf, p->in.arena);
    return diag_add(p->in.diags, code, span, "%.*s", TEXT_ARG(text));
}

Diag *parser_slip(Parser *p, DiagCode code, Span span, const char *message, ...) {
    va_list args;
    va_start(args, message);
    Diag *d = add(p, code, span, message, args);
    va_end(args);
    return d;
}

// A string or a quoted name that never ends has swallowed what is missed now.
bool parser_behind_broken_token(const Parser *p) {
    if (p->at == 0) return false;
    Token token = p->tokens.items[p->at - 1];
    char first = p->text.at[token.start], last = p->text.at[token.end - 1];
    bool text =
        token.kind == TOKEN_STRING || token.kind == TOKEN_RAW_STRING || token.kind == TOKEN_FSTRING;
    if (text) return last != '"' && last != '\'';
    return token.kind == TOKEN_BAD || (token.kind == TOKEN_QUOTED && first == '`' && last != '`');
}

Diag *parser_error(Parser *p, DiagCode code, Span span, const char *message, ...) {
    if (parser_behind_broken_token(p)) p->panic = true;
    va_list args;
    va_start(args, message);
    Diag *d = add(p, code, span, message, args);
    va_end(args);
    p->panic = true;
    parser_lose(p);
    return d;
}

// A line end stands in front of what is found, and the mistake is on the line above it.
static bool ends_line(const Parser *p) {
    Token token = parser_token(p, 0);
    return parser_at_line_end(p) || (token.kind == TOKEN_PIPE && token.first && p->at > 0);
}

// What stands here, as a message names it: a word by itself, the rest by kind.
static Text found_text(const Parser *p) {
    Token token = parser_token(p, 0);
    if (token.kind == TOKEN_END) {  // The tokens of an f-string's braces end before the file does.
        return token.end < p->text.len ? TEXT("`}`") : TEXT("the end of the file");
    }
    if (ends_line(p)) return TEXT("the end of the line");
    enum { SHOWN_MAX = 40 };
    bool shown = token.kind == TOKEN_WORD || token.kind == TOKEN_NUMBER || token.kind == TOKEN_BAD;
    if (!shown || token.end - token.start > SHOWN_MAX) return text_of(token_name(token.kind));
    return text_format(p->in.arena, "`%.*s`", TEXT_ARG(parser_text(p, token)));
}

Diag *parser_unexpected(Parser *p, DiagCode code, const char *what) {
    Token token = parser_token(p, 0);
    Text found = found_text(p);
    Span span = ends_line(p) ? parser_behind(p) : parser_span(p, token);
    // A stray character was diagnosed by the lexer.
    if (token.kind == TOKEN_BAD) {
        tear(p);
        p->panic = true;
    }
    return parser_error(p, code, span, "expected %s, found %.*s", what, TEXT_ARG(found));
}

bool parser_enter(Parser *p) {
    if (p->nest < NEST_MAX) {
        p->nest++;
        return true;
    }
    Diag *d = parser_error(p, DIAG_TOO_DEEP, parser_span(p, parser_token(p, 0)),
                           "nested more than %d deep", NEST_MAX);
    diag_fix(p->in.diags, d, "name parts of it with `derive`, `fn` or `let`");
    return false;
}

void parser_leave(Parser *p) { p->nest--; }

// A line whose first word, at the left edge, begins a statement: the surest border there is.
bool parser_at_statement(const Parser *p, size_t ahead) {
    static const char *const words[] = {"let", "param", "type", "fn", "extern", "use", "rejects",
                                        "test", "read"};
    Token token = parser_token(p, ahead), next = parser_token(p, ahead + 1);
    if (token.kind != TOKEN_WORD || !token.first) return false;
    if (token.start > 0 && p->text.at[token.start - 1] != '\n') return false;
    bool name_follows =
        next.kind == TOKEN_WORD || next.kind == TOKEN_QUOTED || next.kind == TOKEN_STRING;
    for (size_t i = 0; i < countof(words); i++) {
        if (text_is(parser_text(p, token), words[i])) return name_follows && !next.first;
    }
    return false;
}

void parser_skip_to_border(Parser *p) {
    unsigned depth = 0;
    for (;; parser_take(p)) {
        TokenKind kind = parser_token(p, 0).kind;
        if (kind == TOKEN_END || parser_at_statement(p, 0)) return;
        bool closer =
            kind == TOKEN_CLOSE_PAREN || kind == TOKEN_CLOSE_SQUARE || kind == TOKEN_CLOSE_BRACE;
        if (depth == 0 &&
            (closer || kind == TOKEN_COMMA || kind == TOKEN_PIPE || parser_at_line_end(p)))
            return;
        if (kind == TOKEN_OPEN_PAREN || kind == TOKEN_OPEN_SQUARE || kind == TOKEN_OPEN_BRACE)
            depth++;
        if (closer) depth--;
    }
}
