// Lex: finds tokens and comments.
#include "frontend/lex.h"

#include <string.h>

const char *token_name(TokenKind kind) {
    static const char *const names[] = {
#define X(kind, text) text,
        TOKEN_KINDS(X)
#undef X
    };
    return names[kind];
}

// ---- characters ------------------------------------------------------------------------------

// Unicode 3.9, table 3-7: overlong forms, surrogates and values above 10FFFF are no characters.
bool lex_character(Text text, size_t at, uint32_t *character, size_t *len) {
    const unsigned char *s = (const unsigned char *)text.at + at;
    size_t left = text.len - at, want;
    *character = s[0];
    *len = 1;
    if (s[0] < 0x80) return true;
    if (s[0] >= 0xc2 && s[0] < 0xe0) want = 2;
    else if (s[0] >= 0xe0 && s[0] < 0xf0) want = 3;
    else if (s[0] >= 0xf0 && s[0] < 0xf5) want = 4;
    else return false;
    if (left < want) return false;
    uint32_t value = s[0] & (0xffu >> (want + 1));
    for (size_t i = 1; i < want; i++) {
        if ((s[i] & 0xc0) != 0x80) return false;
        value = value << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < least[want] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return false;
    *character = value;
    *len = want;
    return true;
}

static Span span_of(const LexInput *input, size_t start, size_t end) {
    return (Span){(uint32_t)start, (uint32_t)end, input->file};
}

static void blame_control(const LexInput *input, size_t at, size_t len, uint32_t c) {
    Span span = span_of(input, at, at + len);
    if (c == '\r') {
        Diag *d = diag_add(input->diags, DIAG_CONTROL_CHARACTER, span,
                           "a carriage return stands without a line feed");
        diag_fix(input->diags, d, "end lines with a line feed");
        return;
    }
    Diag *d = diag_add(input->diags, DIAG_CONTROL_CHARACTER, span,
                       "the control character U+%04X stands in the text", c);
    if (c >= 0x2000) diag_note(input->diags, d, "it changes the order in which the line is shown");
    diag_fix(input->diags, d, "remove it, or write \\u{%X} in a string", c);
}

// Bidirectional controls count as control characters: they make a line look like another one.
static bool is_control(Text text, size_t at, uint32_t c) {
    if (c == '\t' || c == '\n') return false;
    if (c == '\r') return at + 1 >= text.len || text.at[at + 1] != '\n';
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

void lex_check_bytes(const LexInput *input) {
    Text text = input->sources->files[input->file].text;
    bool said_utf8 = false, said_control = false;
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t c;
        bool valid = lex_character(text, i, &c, &len);
        if (c == '\n') said_utf8 = said_control = false;
        if (!valid && !said_utf8) {
            said_utf8 = true;
            Diag *d = diag_add(input->diags, DIAG_NOT_UTF8, span_of(input, i, i + 1),
                               "the byte 0x%02X is not valid UTF-8", c);
            diag_fix(input->diags, d, "save the file as UTF-8");
        }
        if (valid && !said_control && is_control(text, i, c)) {
            said_control = true;
            blame_control(input, i, len, c);
        }
    }
}

// ---- strings ---------------------------------------------------------------------------------

uint32_t lex_skip_string(Text text, uint32_t at, uint32_t end, bool raw) {
    for (uint32_t i = at + 1; i < end; i++) {
        if (text.at[i] == '"') return i + 1;
        if (text.at[i] == '\n') return 0;
        if (text.at[i] == '\\' && !raw && i + 1 < end && text.at[i + 1] != '\n') i++;
    }
    return 0;
}

uint32_t lex_skip_braced(Text text, uint32_t at, uint32_t end, unsigned nest) {
    unsigned depth = 1;
    for (uint32_t i = at; i < end; i++) {
        char c = text.at[i];
        if (c == '\n') return 0;
        if (c == '{') depth++;
        if (c == '}' && --depth == 0) return i;
        if (c == '`') {
            const char *close = memchr(text.at + i + 1, '`', end - i - 1);
            if (!close) return 0;
            i = (uint32_t)(close - text.at);
        }
        if (c != '"') continue;
        char before = i > at ? text.at[i - 1] : ' ';
        bool word = i > at + 1 && (lex_is_letter(text.at[i - 2]) || lex_is_digit(text.at[i - 2]));
        uint32_t behind = before == 'f' && !word
                              ? lex_skip_fstring(text, i, end, nest + 1)
                              : lex_skip_string(text, i, end, before == 'r' && !word);
        if (!behind || behind == LEX_OPEN_BRACE) return 0;
        i = behind - 1;
    }
    return 0;
}

uint32_t lex_skip_fstring(Text text, uint32_t at, uint32_t end, unsigned nest) {
    if (nest > FSTRING_NEST_MAX) return 0;
    for (uint32_t i = at + 1; i < end; i++) {
        char c = text.at[i], next = i + 1 < end ? text.at[i + 1] : '\n';
        if (c == '"') return i + 1;
        if (c == '\n') return 0;
        if (c == '\\' && next == 'u' && i + 2 < end && text.at[i + 2] == '{') i += 2;
        else if (c == '\\' && next != '\n') i++;
        else if (c == '{' && next == '{') i++;
        else if (c == '{') {
            uint32_t close = lex_skip_braced(text, i + 1, end, nest);
            if (!close) return LEX_OPEN_BRACE;
            i = close;
        }
    }
    return 0;
}

// ---- tokens ----------------------------------------------------------------------------------

typedef struct Lexer {
    const LexInput *input;
    Text     text;      // Of the whole file.
    uint32_t at, end;
    bool     first, spaced;
    Tokens   out;
} Lexer;

static void push(Lexer *l, TokenKind kind, uint32_t start, uint32_t end) {
    Token token = {start, end, kind, l->first, l->spaced};
    arena_push(l->input->arena, l->out.items, l->out.count, l->out.cap, token);
    l->first = l->spaced = false;
    l->at = end;
}

static char peek(const Lexer *l, uint32_t ahead) {
    return l->end - l->at > ahead ? l->text.at[l->at + ahead] : '\0';
}

static uint32_t line_end(const Lexer *l, uint32_t at) {
    const char *newline = memchr(l->text.at + at, '\n', l->end - at);
    uint32_t end = newline ? (uint32_t)(newline - l->text.at) : l->end;
    return end > at && l->text.at[end - 1] == '\r' ? end - 1 : end;
}

static void lex_comment(Lexer *l) {
    uint32_t end = line_end(l, l->at);
    AstComment comment = {span_of(l->input, l->at, end), l->first};
    arena_push(l->input->arena, l->out.comments, l->out.comment_count, l->out.comment_cap, comment);
    l->at = end;
}

// A raw string that ends at `\"`, with text right after it, was meant to go on: it is blamed once,
// and goes on to the quote that does end it. Returns the offset after that.
static uint32_t skip_raw_quotes(Lexer *l, uint32_t behind) {
    uint32_t blamed = 0;
    while (behind && l->text.at[behind - 2] == '\\' && behind < line_end(l, l->at) &&
           (blamed || !strchr(" \t,)]}|+=", l->text.at[behind]))) {
        if (!blamed) blamed = behind;
        uint32_t next = lex_skip_string(l->text, behind - 1, l->end, true);
        if (!next) break;
        behind = next;
    }
    if (!blamed) return behind;
    Span span = span_of(l->input, blamed - 2, blamed);
    Diag *d = diag_add(l->input->diags, DIAG_RAW_QUOTE, span,
                       "a raw string ends at its first quote");
    diag_label(l->input->diags, d, span, "a backslash does not protect it");
    diag_fix(l->input->diags, d, "write \\x22 for a quote in a pattern");
    return behind;
}

static uint32_t find(const Lexer *l, uint32_t from, uint32_t end, const char *what) {
    size_t len = strlen(what);
    for (uint32_t i = from; i + len <= end; i++)
        if (memcmp(l->text.at + i, what, len) == 0) return i;
    return end;
}

// A string as Python or Rust writes it: """...""", r#"..."#. One token, up to its end or that of
// the line.
static void lex_foreign_string(Lexer *l, bool raw, uint32_t begin, const char *close) {
    uint32_t end = line_end(l, l->at), stop = find(l, begin, end, close);
    if (stop < end) stop += (uint32_t)strlen(close);
    Span span = span_of(l->input, l->at, stop);
    Diag *d = diag_add(l->input->diags, raw ? DIAG_RAW_QUOTE : DIAG_SINGLE_QUOTES, span,
                       "a string has one double quote at each end");
    diag_fix(l->input->diags, d, "%s", raw ? "write r\"...\", and \\x22 for a quote in a pattern"
                                           : "write \"...\" on one line, with \\\" for a quote and "
                                             "\\n for a line end");
    push(l, TOKEN_BAD, l->at, stop);
}

// What begins with a quote; `lead` is the length of r or f in front of it.
static void lex_quote(Lexer *l, TokenKind kind, uint32_t lead) {
    uint32_t quote = l->at + lead;
    if (peek(l, lead + 1) == '"' && peek(l, lead + 2) == '"') {
        lex_foreign_string(l, kind == TOKEN_RAW_STRING, quote + 3, "\"\"\"");
        return;
    }
    uint32_t behind = kind == TOKEN_FSTRING ? lex_skip_fstring(l->text, quote, l->end, 0)
                    : lex_skip_string(l->text, quote, l->end, kind == TOKEN_RAW_STRING);
    if (kind == TOKEN_RAW_STRING) behind = skip_raw_quotes(l, behind);
    if (behind == LEX_OPEN_BRACE) {
        behind = line_end(l, l->at);  // The brace is diagnosed when the string is decoded.
    } else if (!behind) {
        behind = line_end(l, l->at);
        Span span = span_of(l->input, l->at, behind);
        Diag *d = diag_add(l->input->diags, DIAG_OPEN_STRING, span, "the string is never closed");
        diag_label(l->input->diags, d, span, "the line ends inside it");
        diag_fix(l->input->diags, d, "add the closing `\"`");
    }
    push(l, kind, l->at, behind);
}

static void lex_single_quote(Lexer *l) {
    uint32_t end = line_end(l, l->at), close = l->at + 1;
    while (close < end && l->text.at[close] != '\'') close++;
    Span span = span_of(l->input, l->at, close < end ? close + 1 : l->at + 1);
    Diag *d = diag_add(l->input->diags, DIAG_SINGLE_QUOTES, span,
                       "strings are written in double quotes");
    if (close == end) {
        diag_fix(l->input->diags, d, "begin and end the string with `\"`");
        push(l, TOKEN_BAD, l->at, l->at + 1);
        return;
    }
    Text inside = {l->text.at + l->at + 1, close - l->at - 1};
    bool pattern = memchr(inside.at, '\\', inside.len);
    if (pattern)
        diag_fix(l->input->diags, d, "write r\"...\", and \\x22 for a double quote in a pattern");
    else if (memchr(inside.at, '"', inside.len))
        diag_fix(l->input->diags, d, "write \"...\", and \\\" for a double quote inside");
    else diag_fix(l->input->diags, d, "write \"%.*s\"", TEXT_ARG(inside));
    // What escapes would mean there is not known.
    push(l, pattern ? TOKEN_BAD : TOKEN_STRING, l->at, close + 1);
}

// A backtick in the name stands twice.
static void lex_backticks(Lexer *l) {
    uint32_t end = line_end(l, l->at), close = l->at + 1;
    for (; close < end; close++) {
        if (l->text.at[close] != '`') continue;
        if (close + 1 == end || l->text.at[close + 1] != '`') break;
        close++;
    }
    if (close < end && close > l->at + 1) {
        push(l, TOKEN_QUOTED, l->at, close + 1);
        return;
    }
    bool empty = close < end;
    Span span = span_of(l->input, l->at, empty ? close + 1 : l->at + 1);
    Diag *d = diag_add(l->input->diags, DIAG_BAD_BACKTICKS, span, "%s",
                       empty ? "the name in backticks is empty"
                             : "the name in backticks is never closed");
    diag_fix(l->input->diags, d, "%s", empty ? "write the name between the backticks"
                                             : "add the closing backtick");
    uint32_t stop = l->at + 1;
    while (!empty && stop < end &&
           (lex_is_letter(l->text.at[stop]) || lex_is_digit(l->text.at[stop])))
        stop++;
    push(l, TOKEN_QUOTED, l->at, empty ? close + 1 : stop);
}

// Digits, point, exponent and the letters after them; lex_number judges what it is.
static void lex_digits(Lexer *l) {
    uint32_t i = l->at;
    while (i < l->end && (lex_is_digit(l->text.at[i]) || l->text.at[i] == '_')) i++;
    bool fraction = i + 1 < l->end && l->text.at[i] == '.' && lex_is_digit(l->text.at[i + 1]);
    bool lone_point =
        i < l->end && l->text.at[i] == '.' &&
        (i + 1 == l->end || (l->text.at[i + 1] != '.' && !lex_is_letter(l->text.at[i + 1])));
    if (fraction || lone_point) i++;
    while (i < l->end && (lex_is_digit(l->text.at[i]) || l->text.at[i] == '_')) i++;
    while (i < l->end) {
        char c = l->text.at[i], before = l->text.at[i - 1];
        bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'E') && i + 1 < l->end &&
                    lex_is_digit(l->text.at[i + 1]);
        if (!sign && !lex_is_letter(c) && !lex_is_digit(c)) break;
        i++;
    }
    // `7%` is a share; in `7%2` and `7%n` the sign divides.
    bool share = i < l->end && l->text.at[i] == '%';
    if (share && i + 1 < l->end) {
        char next = l->text.at[i + 1];
        share = !lex_is_digit(next) && !lex_is_letter(next) && next != '(' && next != '`';
    }
    push(l, TOKEN_NUMBER, l->at, share ? i + 1 : i);
}

typedef struct Sign {
    char      text[4];
    TokenKind kind;
} Sign;

// Longer signs stand before those that they begin with.
static const Sign signs[] = {
    {"...", TOKEN_SPREAD},
    {"===", TOKEN_FOREIGN_EQ},
    {"!==", TOKEN_FOREIGN_NE},
    {"==", TOKEN_EQ},
    {"!=", TOKEN_NE},
    {"<=", TOKEN_LE},
    {">=", TOKEN_GE},
    {"<>", TOKEN_FOREIGN_NE},
    {"->", TOKEN_ARROW},
    {"=>", TOKEN_FAT_ARROW},
    {"..", TOKEN_RANGE},
    {"//", TOKEN_SLASHES},
    {"??", TOKEN_COALESCE},
    {"&&", TOKEN_FOREIGN_AND},
    {"||", TOKEN_FOREIGN_OR},
    {"|>", TOKEN_FOREIGN_PIPE},
    {"**", TOKEN_FOREIGN_POWER},
    {":=", TOKEN_FOREIGN_ASSIGN},
    {"(", TOKEN_OPEN_PAREN},
    {")", TOKEN_CLOSE_PAREN},
    {"[", TOKEN_OPEN_SQUARE},
    {"]", TOKEN_CLOSE_SQUARE},
    {"{", TOKEN_OPEN_BRACE},
    {"}", TOKEN_CLOSE_BRACE},
    {",", TOKEN_COMMA},
    {":", TOKEN_COLON},
    {".", TOKEN_DOT},
    {"|", TOKEN_PIPE},
    {"=", TOKEN_ASSIGN},
    {"?", TOKEN_QUESTION},
    {"<", TOKEN_LT},
    {">", TOKEN_GT},
    {"+", TOKEN_PLUS},
    {"-", TOKEN_MINUS},
    {"*", TOKEN_STAR},
    {"/", TOKEN_SLASH},
    {"%", TOKEN_PERCENT},
    {"!", TOKEN_FOREIGN_NOT},
    {";", TOKEN_SEMICOLON},
    {"&", TOKEN_FOREIGN_AND},
};

// After an operand `...` is a range that is written wrongly.
static bool begins_member(const Lexer *l) {
    const size_t count = l->out.count;
    const TokenKind before = count ? l->out.items[count - 1].kind : TOKEN_END;
    return before == TOKEN_OPEN_BRACE || before == TOKEN_COMMA;
}

static bool lex_sign(Lexer *l) {
    Text rest = {l->text.at + l->at, l->end - l->at};
    for (size_t i = 0; i < countof(signs); i++) {
        Text sign = text_of(signs[i].text);
        if (!text_starts(rest, sign)) continue;
        if (signs[i].kind == TOKEN_SPREAD && !begins_member(l)) continue;
        push(l, signs[i].kind, l->at, l->at + (uint32_t)sign.len);
        return true;
    }
    return false;
}

// What people and word processors write for the signs of the language.
static const struct {
    const char *text, *instead;
} lookalikes[] = {
    {"“", "\""},
    {"”", "\""},
    {"„", "\""},
    {"«", "\""},
    {"»", "\""},
    {"‘", "\""},
    {"’", "\""},
    {"≤", "<="},
    {"≥", ">="},
    {"≠", "!="},
    {"×", "*"},
    {"÷", "/"},
    {"−", "-"},
    {"–", "-"},
    {"→", "->"},
    {"…", ".."},
    {"$", "the bare name: names take no `$`"},
    {"^", "pow(x, y)"},
    {"~", "not, or matches(x, r\"...\") for a pattern"},
    {"@", "the bare name: names take no `@`"},
};

static void blame_word(Lexer *l, uint32_t end) {
    Span span = span_of(l->input, l->at, end);
    Text word = {l->text.at + l->at, end - l->at};
    Diag *d = diag_add(l->input->diags, DIAG_UNKNOWN_CHARACTER, span,
                       "`%.*s` is no word of letters, digits and underscores", TEXT_ARG(word));
    diag_fix(l->input->diags, d, "quote the name: `%.*s`", TEXT_ARG(word));
}

static void lex_stray(Lexer *l) {
    Text rest = {l->text.at + l->at, l->end - l->at};
    for (size_t i = 0; i < countof(lookalikes); i++) {
        Text sign = text_of(lookalikes[i].text);
        if (!text_starts(rest, sign)) continue;
        Span span = span_of(l->input, l->at, l->at + sign.len);
        Diag *d = diag_add(l->input->diags, DIAG_UNKNOWN_CHARACTER, span,
                           "`%s` is no sign of the language", lookalikes[i].text);
        diag_fix(l->input->diags, d, "write %s", lookalikes[i].instead);
        push(l, TOKEN_BAD, l->at, l->at + (uint32_t)sign.len);
        return;
    }
    Span span = span_of(l->input, l->at, l->at + 1);
    Diag *d = diag_add(l->input->diags, DIAG_UNKNOWN_CHARACTER, span,
                       "`%c` is no sign of the language", *rest.at);
    diag_fix(l->input->diags, d, "remove it");
    push(l, TOKEN_BAD, l->at, l->at + 1);
}

// A run of letters, digits and other characters. With other characters in it, it is no word; the
// parser goes on as if it were quoted.
static void lex_word(Lexer *l) {
    uint32_t i = l->at;
    bool foreign = false;
    while (i < l->end) {
        uint32_t c;
        size_t len;
        bool ascii = lex_is_letter(l->text.at[i]) || lex_is_digit(l->text.at[i]);
        if (!ascii &&
            (!lex_character(l->text, i, &c, &len) || c < 0xc0 || (c >= 0x2000 && c < 0x2c00)))
            break;
        if (ascii) len = 1;
        foreign |= !ascii;
        i += (uint32_t)len;
    }
    if (foreign) blame_word(l, i);
    push(l, foreign ? TOKEN_QUOTED : TOKEN_WORD, l->at, i);
}

// Spaces, wrong bytes and control characters (lex_check_bytes speaks of those). 0: none.
static uint32_t invisible(Lexer *l) {
    char c = l->text.at[l->at];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return 1;
    uint32_t character;
    size_t len;
    if (!lex_character(l->text, l->at, &character, &len)) return 1;
    if (character == 0xfeff && l->at == 0) return (uint32_t)len;
    if (is_control(l->text, l->at, character)) return (uint32_t)len;
    bool space = character == 0xa0 || (character >= 0x2000 && character <= 0x200f) ||
                 character == 0x202f || character == 0x3000 || character == 0xfeff ||
                 character == 0x2028 || character == 0x2029;
    if (!space) return 0;
    Span span = span_of(l->input, l->at, l->at + len);
    Diag *d = diag_add(l->input->diags, DIAG_UNKNOWN_CHARACTER, span,
                       "an invisible character, U+%04X, stands here", character);
    diag_fix(l->input->diags, d, "replace it by a plain space");
    return (uint32_t)len;
}

static void lex_token(Lexer *l) {
    char c = peek(l, 0), next = peek(l, 1);
    uint32_t character;
    size_t len;
    if (c == '#') lex_comment(l);
    else if (c == '"') lex_quote(l, TOKEN_STRING, 0);
    else if (c == 'r' && next == '"') lex_quote(l, TOKEN_RAW_STRING, 1);
    else if (c == 'f' && next == '"') lex_quote(l, TOKEN_FSTRING, 1);
    else if (c == 'r' && next == '#' && peek(l, 2) == '"')
        lex_foreign_string(l, true, l->at + 3, "\"#");
    else if (c == '\'') lex_single_quote(l);
    else if (c == '`') lex_backticks(l);
    else if (lex_is_digit(c)) lex_digits(l);
    else if (lex_is_letter(c)) lex_word(l);
    else if (lex_sign(l)) return;
    else if (!lex_character(l->text, l->at, &character, &len)) l->at++;
    else if (character >= 0xc0 && character != 0xd7 && character != 0xf7 &&
             !(character >= 0x2000 && character < 0x2c00)) lex_word(l);
    else lex_stray(l);
}

Tokens lex_range(const LexInput *input, uint32_t start, uint32_t end) {
    Text text = input->sources->files[input->file].text;
    Lexer l = {.input = input, .text = text, .at = start, .end = end, .first = true};
    while (l.at < l.end) {
        uint32_t skip = invisible(&l);
        if (!skip) {
            lex_token(&l);
            continue;
        }
        l.first |= l.text.at[l.at] == '\n';
        l.spaced = true;
        l.at += skip;
    }
    l.first = true;
    push(&l, TOKEN_END, end, end);
    return l.out;
}
