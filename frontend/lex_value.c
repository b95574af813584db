// The values of literals: numbers with their units, strings with their escapes.
#include "frontend/lex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Span span_of(const LexInput *input, size_t start, size_t end) {
    return (Span){(uint32_t)start, (uint32_t)end, input->file};
}

// ---- numbers ---------------------------------------------------------------------------------

typedef struct Unit {
    const char *name;
    AstExprKind kind;
    uint64_t    factor;  // To microseconds, months or bytes.
} Unit;

static const Unit units[] = {
    {"us", AST_DURATION, 1},
    {"ms", AST_DURATION, 1000},
    {"s", AST_DURATION, 1000000},
    {"min", AST_DURATION, 60ull * 1000000},
    {"h", AST_DURATION, 3600ull * 1000000},
    {"d", AST_DURATION, 86400ull * 1000000},
    {"mo", AST_MONTHS, 1},
    {"y", AST_MONTHS, 12},
    {"B", AST_INT, 1},
    {"kB", AST_INT, 1000},
    {"MB", AST_INT, 1000000},
    {"GB", AST_INT, 1000000000},
    {"TB", AST_INT, 1000000000000},
    {"KiB", AST_INT, 1024},
    {"MiB", AST_INT, 1024 * 1024},
    {"GiB", AST_INT, 1024 * 1024 * 1024},
    {"TiB", AST_INT, 1024ull * 1024 * 1024 * 1024},
};

// A number taken apart: 1_500.25e3ms is digits "150025", 2 of them after the point, unit "ms".
typedef struct Parts {
    TextBuf number;    // Without underscores and unit, as strtod reads it.
    size_t  whole_len; // Digits in front of the point.
    bool    point, exponent, percent, malformed;
    Text    unit;
} Parts;

// Takes digits and single underscores between them from `text` at `*at`.
static void take_digits(Parts *parts, Text text, size_t *at) {
    bool digit = false;
    for (; *at < text.len; (*at)++) {
        char c = text.at[*at];
        if (c == '_') {
            bool between = digit && *at + 1 < text.len && lex_is_digit(text.at[*at + 1]);
            if (!between) parts->malformed = true;
        } else if (lex_is_digit(c)) {
            text_buf_char(&parts->number, c);
        } else {
            break;
        }
        digit = lex_is_digit(c);
    }
}

static Parts take_apart(Text text) {
    Parts parts = {0};
    size_t at = 0;
    take_digits(&parts, text, &at);
    parts.whole_len = parts.number.len;
    if (at < text.len && text.at[at] == '.') {
        parts.point = true;
        text_buf_char(&parts.number, '.');
        size_t before = ++at;
        take_digits(&parts, text, &at);
        if (at == before) parts.malformed = true;
    }
    bool signed_next = at + 2 < text.len && (text.at[at + 1] == '+' || text.at[at + 1] == '-');
    bool digit_next = at + 1 < text.len && lex_is_digit(text.at[at + 1]);
    if (at < text.len && (text.at[at] == 'e' || text.at[at] == 'E') &&
        (signed_next || digit_next)) {
        parts.exponent = true;
        text_buf_char(&parts.number, 'e');
        at++;
        if (signed_next) text_buf_char(&parts.number, text.at[at++]);
        take_digits(&parts, text, &at);
    }
    if (text.at[text.len - 1] == '%') {
        parts.percent = true;
        text.len--;
    }
    parts.unit = (Text){text.at + at, text.len > at ? text.len - at : 0};
    return parts;
}

// A number that is none has no value: nothing may be said about what it would have been.
static void blame_number(const LexInput *input, Span span, Text text, AstExpr *expr) {
    expr->kind = AST_ERROR;
    Diag *d = diag_add(input->diags, DIAG_BAD_NUMBER, span, "`%.*s` is not a well-formed number",
                       TEXT_ARG(text));
    bool hex = text.len > 2 && text.at[0] == '0' && strchr("xXbBoO", text.at[1]);
    const char *c_text = text_c(input->arena, text);
    bool has_value = hex && (text.at[1] == 'x' || text.at[1] == 'X') && text.len <= 18;
    if (has_value)
        diag_fix(input->diags, d, "write it in decimal: %llu", strtoull(c_text, nullptr, 16));
    else if (hex) diag_fix(input->diags, d, "write it in decimal");
    else if (text.at[text.len - 1] == '.') diag_fix(input->diags, d, "write `%s0`", c_text);
    else diag_fix(input->diags, d, "put one underscore between digits at most");
}

// What other languages write after a number to say its type, and that type.
static const char *const type_suffixes[][2] = {
    {"i8", "i8"},     {"i16", "i16"},   {"i32", "i32"},   {"i64", "i64"},  {"u8", "u8"},
    {"u16", "u16"},   {"u32", "u32"},   {"u64", "u64"},   {"f32", "f32"},  {"f64", "f64"},
    {"isize", "i64"}, {"usize", "u64"}, {"i128", "i64"},  {"u128", "u64"}, {"L", "i64"},
    {"l", "i64"},     {"LL", "i64"},    {"ll", "i64"},    {"u", "u32"},    {"U", "u32"},
    {"UL", "u64"},    {"ul", "u64"},    {"ULL", "u64"},   {"ull", "u64"},  {"lu", "u64"},
    {"LU", "u64"},    {"llu", "u64"},   {"LLU", "u64"},   {"BD", "decimal"}, {"f", "f32"},
    {"F", "f32"},     {"D", "f64"},     {"f16", "f16"},   {"bf16", "bf16"},
};

// The type that a suffix means, or null.
static const char *suffix_type(Text unit) {
    for (size_t i = 0; i < countof(type_suffixes); i++)
        if (text_is(unit, type_suffixes[i][0])) return type_suffixes[i][1];
    return nullptr;
}

// Says how a number of a given type is written.
static void fix_suffix(const LexInput *input, Diag *d, const Parts *parts, const char *type) {
    Text number = text_buf_view(&parts->number);
    bool fraction = parts->point || parts->exponent;
    if (strcmp(type, "decimal") == 0)
        diag_fix(input->diags, d, "write `%.*s`, which takes the type that its place asks for, or "
                 "`decimal(%.*s, 18, 2)`", TEXT_ARG(number), TEXT_ARG(number));
    else if (fraction && type[0] != 'f')
        diag_fix(input->diags, d, "write `%.*s`, which is a float, or a whole number",
                 TEXT_ARG(number));
    else
        diag_fix(input->diags, d, "write `%.*s`, which takes the type that its place asks for, or "
                 "`%s(%.*s)`", TEXT_ARG(number), type, TEXT_ARG(number));
}

Text lex_unit(Text word) {
    static const struct {
        const char *word, *unit;
    } words[] = {
        {"second", "s"}, {"seconds", "s"}, {"sec", "s"}, {"minute", "min"}, {"minutes", "min"},
        {"hour", "h"}, {"hours", "h"}, {"day", "d"}, {"days", "d"}, {"month", "mo"},
        {"months", "mo"}, {"mon", "mo"}, {"year", "y"}, {"years", "y"},
    };
    for (size_t i = 0; i < countof(units); i++)
        if (text_is(word, units[i].name)) return word;
    for (size_t i = 0; i < countof(words); i++)
        if (text_is(word, words[i].word)) return text_of(words[i].unit);
    return (Text){0};
}

static Text near_unit(Text unit) {
    Text names[countof(units)];
    for (size_t i = 0; i < countof(units); i++) names[i] = text_of(units[i].name);
    Text near = diag_did_you_mean(unit, names, countof(names));
    for (size_t i = 0; i < countof(units) && unit.len > 1; i++) {  // 8Mib, 8MIB: MiB.
        bool same = unit.len == names[i].len && text_distance(unit, names[i], 2) <= 2;
        for (size_t j = 0; same && j < unit.len; j++)
            same = (unit.at[j] | 32) == (names[i].at[j] | 32);
        if (same) near = names[i];
    }
    Text word = lex_unit(unit);  // 3days: d.
    if (word.len) return word;
    return text_is(unit, "m") ? TEXT("min") : near;
}

static void blame_unit(const LexInput *input, Span span, const Parts *parts, AstExpr *expr) {
    expr->kind = AST_ERROR;
    Text unit = parts->unit, near = near_unit(unit);
    const char *type = suffix_type(unit);
    Diag *d = diag_add(input->diags, DIAG_UNKNOWN_UNIT, span, "unknown unit `%.*s` after a number",
                       TEXT_ARG(unit));
    if (type) fix_suffix(input, d, parts, type);
    else if (near.len) diag_fix(input->diags, d, "did you mean `%.*s%.*s`?", (int)parts->number.len,
                                parts->number.at, TEXT_ARG(near));
    else
        diag_fix(input->diags, d,
                 "use one of us ms s min h d mo y, B kB MB GB TB KiB MiB GiB TiB, or %%");
}

// number * factor as a whole number. False: it is none, or too big for `max`.
static bool scale(const Parts *parts, uint64_t factor, uint64_t max, uint64_t *value,
                  bool *too_big) {
    unsigned __int128 whole = 0, carry = 0;
    for (size_t i = 0; i < parts->whole_len; i++) {
        whole = whole * 10 + (unsigned)(parts->number.at[i] - '0') * (unsigned __int128)factor;
        *too_big = whole > max;
        if (*too_big) return false;
    }
    // Long multiplication, from the last digit on: each digit after the point must become 0.
    for (size_t i = parts->number.len; i > parts->whole_len + 1; i--) {
        carry += (unsigned)(parts->number.at[i - 1] - '0') * (unsigned __int128)factor;
        if (carry % 10) return false;  // A part of the smallest unit.
        carry /= 10;
    }
    unsigned __int128 total = whole + carry;
    *too_big = total > max;
    *value = (uint64_t)total;
    return !*too_big;
}

static void blame_big(const LexInput *input, Span span, AstExpr *expr, const char *fix) {
    expr->kind = AST_ERROR;
    Diag *d = diag_add(input->diags, DIAG_NUMBER_TOO_BIG, span, "`%.*s` is too big",
                       TEXT_ARG(expr->text));
    diag_fix(input->diags, d, "%s", fix);
}

typedef struct UnitKind {
    const char *what, *least;  // "a duration", "microseconds".
} UnitKind;

static UnitKind kind_of(AstExprKind kind) {
    if (kind == AST_DURATION) return (UnitKind){"a duration", "microseconds"};
    return kind == AST_MONTHS ? (UnitKind){"a time", "months"} : (UnitKind){"a size", "bytes"};
}

static void measure(const LexInput *input, Span span, const Parts *parts, AstExpr *expr) {
    for (size_t i = 0; i < countof(units); i++) {
        if (!text_is(parts->unit, units[i].name)) continue;
        expr->kind = units[i].kind;
        UnitKind kind = kind_of(units[i].kind);
        bool too_big = false;
        if (!parts->exponent && scale(parts, units[i].factor, INT64_MAX, &expr->integer, &too_big))
            return;
        if (too_big) {
            blame_big(input, span, expr, text_c(input->arena, text_format(
                input->arena, "%s is at most 9223372036854775807 %s", kind.what, kind.least)));
            return;
        }
        expr->kind = AST_ERROR;
        Diag *d = diag_add(input->diags, DIAG_BAD_NUMBER, span, "`%.*s` is no whole number of %s",
                           TEXT_ARG(expr->text), kind.least);
        bool months = units[i].kind == AST_MONTHS;
        diag_fix(input->diags, d, months ? "write a whole number of months, or days: 15d"
                                         : "write a whole number of a smaller unit");
        return;
    }
    blame_unit(input, span, parts, expr);
}

static void take_integer(const Parts *parts, AstExpr *expr) {
    expr->kind = AST_INT;
    for (size_t i = 0; i < parts->number.len; i++) {
        unsigned digit = (unsigned)(parts->number.at[i] - '0');
        if (__builtin_mul_overflow(expr->integer, 10, &expr->integer) ||
            __builtin_add_overflow(expr->integer, digit, &expr->integer)) {
            expr->too_big = true;
            expr->integer = 0;
            return;
        }
    }
}

// The text is in the C locale's form, which is the language's own: sbc never sets another one.
static void take_float(const LexInput *input, Span span, const Parts *parts, AstExpr *expr) {
    expr->kind = parts->percent ? AST_PERCENT : AST_FLOAT;
    Text number = text_buf_view(&parts->number);
    // A share is read as its exact hundredth: 0.1% is the double nearest to 0.001.
    Text scaled = parts->percent && !parts->exponent
        ? text_format(input->arena, "%.*se-2", TEXT_ARG(number)) : number;
    expr->number = strtod(text_c(input->arena, scaled), nullptr);
    if (parts->percent && parts->exponent) expr->number /= 100;
    if (isinf(expr->number)) {
        blame_big(input, span, expr, "a float is at most about 1.8e308");
    }
}

void lex_number(const LexInput *input, Token token, AstExpr *expr) {
    Text text = {input->sources->files[input->file].text.at + token.start, token.end - token.start};
    Span span = span_of(input, token.start, token.end);
    Parts parts = take_apart(text);
    TextBuf plain = {0};
    for (size_t i = 0; i < text.len; i++) if (text.at[i] != '_') text_buf_char(&plain, text.at[i]);
    expr->text = text_buf_take(&plain, input->arena);
    expr->kind = AST_INT;
    bool prefixed = parts.unit.len && text.at[0] == '0' && parts.number.len == 1 &&
                    strchr("xXbBoO", parts.unit.at[0]) && parts.unit.len > 1;
    bool typed = suffix_type(parts.unit) && !parts.percent;  // 10_u64 too.
    if (typed) blame_unit(input, span, &parts, expr);
    else if (parts.malformed || prefixed) blame_number(input, span, text, expr);
    else if (parts.unit.len && !parts.percent) measure(input, span, &parts, expr);
    else if (parts.unit.len) blame_unit(input, span, &parts, expr);
    else if (parts.point || parts.exponent || parts.percent) take_float(input, span, &parts, expr);
    else take_integer(&parts, expr);
    text_buf_free(&parts.number);
}

// ---- strings ---------------------------------------------------------------------------------

static void add_character(TextBuf *buf, uint32_t c) {
    if (c < 0x80) {
        text_buf_char(buf, (char)c);
    } else if (c < 0x800) {
        text_buf_char(buf, (char)(0xc0 | c >> 6));
        text_buf_char(buf, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        text_buf_char(buf, (char)(0xe0 | c >> 12));
        text_buf_char(buf, (char)(0x80 | (c >> 6 & 0x3f)));
        text_buf_char(buf, (char)(0x80 | (c & 0x3f)));
    } else {
        text_buf_char(buf, (char)(0xf0 | c >> 18));
        text_buf_char(buf, (char)(0x80 | (c >> 12 & 0x3f)));
        text_buf_char(buf, (char)(0x80 | (c >> 6 & 0x3f)));
        text_buf_char(buf, (char)(0x80 | (c & 0x3f)));
    }
}

static void blame_escape(const LexInput *input, uint32_t start, uint32_t end, const char *fix) {
    Text text = input->sources->files[input->file].text;
    Span span = span_of(input, start, end);
    Diag *d = diag_add(input->diags, DIAG_BAD_ESCAPE, span, "unknown escape `%.*s` in a string",
                       (int)(end - start), text.at + start);
    diag_fix(input->diags, d, "%s", fix);
}

// \u{1F600}: `at` is the offset of the backslash. Returns the offset after it.
static uint32_t take_unicode(const LexInput *input, TextBuf *buf, uint32_t at, uint32_t end) {
    const char *text = input->sources->files[input->file].text.at;
    uint32_t value = 0, i = at + 2, digits = 0;
    if (i < end && text[i] == '{') {
        for (i++; i < end && digits < 7; i++, digits++) {
            char c = text[i];
            bool letter = (c | 32) >= 'a' && (c | 32) <= 'f';
            if (!lex_is_digit(c) && !letter) break;
            value = value * 16 + (uint32_t)(letter ? (c | 32) - 'a' + 10 : c - '0');
        }
        bool closed = i < end && text[i] == '}' && digits > 0 && digits < 7;
        if (closed && value <= 0x10ffff && !(value >= 0xd800 && value < 0xe000)) {
            add_character(buf, value);
            return i + 1;
        }
        if (closed) {
            blame_escape(input, at, i + 1, "write a Unicode scalar value: \\u{0} to \\u{D7FF} or "
                                           "\\u{E000} to \\u{10FFFF}");
            return i + 1;
        }
    }
    blame_escape(input, at, i > end ? end : i, "write \\u{...} with one to six hexadecimal digits");
    return i > end ? end : i;
}

// An escape, at its backslash. Returns the offset after it.
static uint32_t take_escape(const LexInput *input, TextBuf *buf, uint32_t at, uint32_t end) {
    static const char names[] = "ntr\"\\0", values[] = "\n\t\r\"\\";
    Text text = input->sources->files[input->file].text;
    char c = at + 1 < end ? text.at[at + 1] : '\0';
    const char *name = c ? strchr(names, c) : nullptr;
    if (name) {
        text_buf_char(buf, values[name - names]);
        return at + 2;
    }
    if (c == 'u') return take_unicode(input, buf, at, end);
    uint32_t character;
    size_t len = 1;
    bool more = at + 1 < end && lex_character(text, at + 1, &character, &len);
    uint32_t behind = more ? at + 1 + (uint32_t)len : at + 1;
    if (c == 'x') blame_escape(input, at, behind, "write \\u{..} with hexadecimal digits");
    else blame_escape(input, at, behind, "double the backslash, or write a raw string: r\"...\"");
    return behind;
}

// Where the characters between the quotes stand. An unclosed string goes to its end.
static Span inside(const LexInput *input, Token token, uint32_t lead) {
    const char *text = input->sources->files[input->file].text.at;
    uint32_t start = token.start + lead + 1;
    bool closed = token.end > start && text[token.end - 1] == text[token.start + lead];
    return span_of(input, start, closed ? token.end - 1 : token.end);
}

Text lex_string(const LexInput *input, Token token) {
    const char *text = input->sources->files[input->file].text.at;
    bool raw = token.kind == TOKEN_RAW_STRING;
    Span span = inside(input, token, raw);
    TextBuf buf = {0};
    for (uint32_t i = span.start; i < span.end;) {
        if (text[i] == '\\' && !raw) i = take_escape(input, &buf, i, span.end);
        else text_buf_char(&buf, text[i++]);
    }
    return text_buf_take(&buf, input->arena);
}

typedef struct FParts {
    FPart   *items;
    size_t   count, cap;
    TextBuf  text;  // Of the piece that is being read.
} FParts;

static void end_text(const LexInput *input, FParts *parts) {
    if (!parts->text.len) return;
    FPart part = {.is_text = true, .text = text_buf_take(&parts->text, input->arena)};
    arena_push(input->arena, parts->items, parts->count, parts->cap, part);
}

// A `{` with its expression; returns the offset after its `}`.
static uint32_t take_braced(const LexInput *input, FParts *parts, uint32_t at, uint32_t end) {
    Text text = input->sources->files[input->file].text;
    uint32_t close = lex_skip_braced(text, at + 1, end, 0);
    if (!close) {
        Span span = span_of(input, at, at + 1);
        Diag *d = diag_add(input->diags, DIAG_BAD_FSTRING, span, "the brace is never closed");
        diag_label(input->diags, d, span, "begins an expression");
        diag_fix(input->diags, d, "close it, or write `{{` for a brace");
        return end;
    }
    end_text(input, parts);
    FPart part = {.start = at + 1, .end = close};
    arena_push(input->arena, parts->items, parts->count, parts->cap, part);
    return close + 1;
}

FPart *lex_fstring(const LexInput *input, Token token, uint32_t *count) {
    const char *text = input->sources->files[input->file].text.at;
    Span span = inside(input, token, token.kind == TOKEN_FSTRING);
    FParts parts = {0};
    for (uint32_t i = span.start; i < span.end;) {
        char c = text[i], next = i + 1 < span.end ? text[i + 1] : '\0';
        if (c == '\\') {
            i = take_escape(input, &parts.text, i, span.end);
        } else if ((c == '{' || c == '}') && next == c) {
            text_buf_char(&parts.text, c);
            i += 2;
        } else if (c == '{') {
            i = take_braced(input, &parts, i, span.end);
        } else if (c == '}') {
            Span brace = span_of(input, i, i + 1);
            Diag *d = diag_add(input->diags, DIAG_BAD_FSTRING, brace, "the brace closes nothing");
            diag_fix(input->diags, d, "write `}}` for a brace");
            i++;
        } else {
            text_buf_char(&parts.text, c);
            i++;
        }
    }
    end_text(input, &parts);
    *count = (uint32_t)parts.count;
    return parts.items;
}
