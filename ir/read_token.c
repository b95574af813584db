// Tokens of the text form, and the types and constants that are made of them.
#include "ir/form.h"
#include "ir/read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_LEN_MAX = 400 };  // No number that sbc prints is longer.

void reader_fail(Reader *reader, const char *expected) {
    if (reader->failed) return;
    text_buf_format(reader->error, "expected %s", expected);
    if (reader->token.kind == TOKEN_LINE || reader->token.kind == TOKEN_END)
        text_buf_add(reader->error, TEXT(", found the end of the line"));
    else if (reader->token.text.len && reader->token.text.len < 100)
        text_buf_format(reader->error, ", found '%.*s'", TEXT_ARG(reader->token.text));
    reader->failed = true;
    reader->token = (Token){.kind = TOKEN_END};
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static char peek(const Reader *reader, size_t ahead) {
    size_t at = reader->at + ahead;
    return at < reader->text.len ? reader->text.at[at] : '\0';
}

static void add_utf8(TextBuf *buf, unsigned long code) {
    if (code < 0x80) {
        text_buf_char(buf, (char)code);
        return;
    }
    int tail = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    text_buf_char(buf, (char)(leads[tail] | code >> 6 * tail));
    while (tail-- > 0) text_buf_char(buf, (char)(0x80 | (code >> 6 * tail & 0x3f)));
}

// The part of \u{...} after the u.
static void read_code(Reader *reader, TextBuf *buf) {
    unsigned long code = 0;
    int digits = 0;
    if (peek(reader, 0) == '{') reader->at++;
    for (; isxdigit((unsigned char)peek(reader, 0)) && digits < 6; digits++, reader->at++) {
        char digit[] = {peek(reader, 0), '\0'};
        code = code << 4 | strtoul(digit, nullptr, 16);
    }
    if (!digits || peek(reader, 0) != '}' || code > 0x10ffff) {
        reader_fail(reader, "a character number in braces");
        return;
    }
    reader->at++;
    add_utf8(buf, code);
}

static void read_string(Reader *reader) {
    TextBuf buf = {0};
    reader->at++;
    while (!reader->failed) {
        char c = peek(reader, 0);
        if (reader->at >= reader->text.len || c == '\n') {
            reader_fail(reader, "a closing quote");
            break;
        }
        reader->at++;
        if (c == '"') break;
        if (c != '\\') {
            text_buf_char(&buf, c);
            continue;
        }
        char escape = peek(reader, 0);
        static const char names[] = "\"\\ntr", meant[] = "\"\\\n\t\r";
        const char *found = escape ? strchr(names, escape) : nullptr;
        reader->at++;
        if (found) text_buf_char(&buf, meant[found - names]);
        else if (escape == 'u') read_code(reader, &buf);
        else reader_fail(reader, "an escape of the language");
    }
    Text text = text_buf_take(&buf, reader->arena);
    if (!reader->failed) reader->token = (Token){TOKEN_STRING, text};
}

// A name of a field in backticks, a backtick in it twice.
static void read_backticks(Reader *reader) {
    TextBuf buf = {0};
    for (reader->at++; reader->at < reader->text.len; reader->at++) {
        if (peek(reader, 0) == '`' && peek(reader, 1) != '`') break;
        if (peek(reader, 0) == '`') reader->at++;
        text_buf_char(&buf, peek(reader, 0));
    }
    if (reader->at >= reader->text.len) reader_fail(reader, "a closing backtick");
    reader->at++;
    Text text = text_buf_take(&buf, reader->arena);
    if (!reader->failed) reader->token = (Token){TOKEN_STRING, text};
}

static bool starts_number(const Reader *reader) {
    if (isdigit((unsigned char)peek(reader, 0))) return true;
    if (peek(reader, 0) != '-') return false;
    char c = peek(reader, 1);
    return isdigit((unsigned char)c) || c == 'i';  // -inf
}

static void read_number(Reader *reader) {
    size_t start = reader->at++;
    for (char c; (c = peek(reader, 0)); reader->at++) {
        char last = reader->text.at[reader->at - 1];
        bool sign = (c == '-' || c == '+') && (last == 'e' || last == 'E');
        bool point = c == '.' && isdigit((unsigned char)peek(reader, 1));
        if (!sign && !point && !isalnum((unsigned char)c)) break;
    }
    reader->token = (Token){TOKEN_NUMBER, {reader->text.at + start, reader->at - start}};
}

void reader_next(Reader *reader) {
    if (reader->failed) return;
    while (peek(reader, 0) == ' ' || peek(reader, 0) == '\r' || peek(reader, 0) == '\t')
        reader->at++;
    if (peek(reader, 0) == '#')
        while (reader->at < reader->text.len && peek(reader, 0) != '\n') reader->at++;
    size_t start = reader->place = reader->at;
    if (start >= reader->text.len) {
        reader->token = (Token){.kind = TOKEN_END};
    } else if (peek(reader, 0) == '"') {
        read_string(reader);
    } else if (peek(reader, 0) == '`') {
        read_backticks(reader);
    } else if (starts_number(reader)) {
        read_number(reader);
    } else if (is_word(peek(reader, 0))) {
        while (is_word(peek(reader, 0))) reader->at++;
        reader->token = (Token){TOKEN_WORD, {reader->text.at + start, reader->at - start}};
    } else {
        bool line = reader->text.at[reader->at++] == '\n';
        reader->token = (Token){line ? TOKEN_LINE : TOKEN_MARK, {reader->text.at + start, 1}};
    }
}

Reader reader_make(Arena *arena, TypeTable *types, Text text, TextBuf *error) {
    Reader reader = {.arena = arena, .types = types, .text = text, .error = error};
    reader_next(&reader);
    return reader;
}

bool reader_is(const Reader *reader, const char *word) {
    bool plain = reader->token.kind == TOKEN_WORD || reader->token.kind == TOKEN_MARK;
    return plain && text_is(reader->token.text, word);
}

bool reader_accept(Reader *reader, const char *word) {
    if (!reader_is(reader, word)) return false;
    reader_next(reader);
    return true;
}

void reader_expect(Reader *reader, const char *word) {
    if (reader_accept(reader, word)) return;
    char quoted[40];
    snprintf(quoted, sizeof quoted, "'%s'", word);
    reader_fail(reader, quoted);
}

bool reader_at_line_end(const Reader *reader) {
    return reader->token.kind == TOKEN_LINE || reader->token.kind == TOKEN_END;
}

void reader_line_end(Reader *reader) {
    if (!reader_at_line_end(reader)) reader_fail(reader, "the end of the line");
    while (reader->token.kind == TOKEN_LINE) reader_next(reader);
}

Text reader_name(Reader *reader) {
    Text text = reader->token.text;
    bool name = reader->token.kind == TOKEN_WORD || reader->token.kind == TOKEN_STRING;
    if (!name) reader_fail(reader, "a name");
    else reader_next(reader);
    return name ? text : TEXT("");
}

Text reader_string(Reader *reader) {
    if (reader->token.kind == TOKEN_STRING) return reader_name(reader);
    reader_fail(reader, "a quoted text");
    return TEXT("");
}

// The digits of the next number, NUL-terminated; empty after an error.
static const char *number_text(Reader *reader) {
    bool word = reader_is(reader, "inf");
    if ((reader->token.kind != TOKEN_NUMBER && !word) || reader->token.text.len > NUMBER_LEN_MAX) {
        reader_fail(reader, "a number");
        return "";
    }
    const char *digits = text_c(reader->arena, reader->token.text);
    reader_next(reader);
    return digits;
}

// A whole number from `min` to `max`, or zero and an error.
static __int128 read_whole(Reader *reader, __int128 min, __int128 max) {
    const char *digits = number_text(reader);
    bool minus = *digits == '-';
    unsigned __int128 limit = minus ? -(unsigned __int128)min : (unsigned __int128)max, value = 0;
    bool good = !reader->failed;
    for (digits += minus; good && *digits; digits++) {
        unsigned digit = (unsigned)(*digits - '0');
        good = digit <= 9 && (minus ? min < 0 : true) &&
               value <= (limit - (digit <= limit ? digit : limit)) / 10;
        if (good && digit > limit) good = false;
        if (good) value = value * 10 + digit;
    }
    if (!good) reader_fail(reader, "a whole number that fits");
    return good ? (__int128)(minus ? -value : value) : 0;
}

int64_t reader_i64(Reader *reader) { return (int64_t)read_whole(reader, INT64_MIN, INT64_MAX); }
uint32_t reader_u32(Reader *reader) { return (uint32_t)read_whole(reader, 0, UINT32_MAX); }

Span reader_span(Reader *reader) {
    Span span = {.file = SPAN_NONE};
    if (!reader_accept(reader, "@")) return span;
    span.file = (uint32_t)read_whole(reader, 0, UINT32_MAX - 1);
    reader_expect(reader, ":");
    span.start = reader_u32(reader);
    // "10-15" is one number to the lexer only with an exponent: here the sign stands alone.
    __int128 end = read_whole(reader, -(__int128)UINT32_MAX, 0);
    span.end = (uint32_t)-end;
    return span;
}

// ---- types ----

static const Type *read_type(Reader *reader, int depth);

// {a: T, b: U}, or {str: T}, which is a map: a struct with that one field has it in backticks.
static const Type *read_struct(Reader *reader, int depth) {
    Field *fields = nullptr;
    size_t count = 0, cap = 0;
    reader_next(reader);
    bool map = reader->token.kind == TOKEN_WORD && reader_is(reader, "str");
    while (!reader->failed && !reader_is(reader, "}")) {
        if (count) reader_expect(reader, ",");
        Field field = {.name = reader_name(reader)};
        reader_expect(reader, ":");
        field.type = read_type(reader, depth + 1);
        arena_push(reader->arena, fields, count, cap, field);
    }
    reader_expect(reader, "}");
    if (map && count == 1) return type_map(reader->types, fields[0].type);
    return type_struct(reader->types, fields, (uint32_t)count);
}

static const Type *read_decimal(Reader *reader) {
    reader_expect(reader, "(");
    uint32_t precision = reader_u32(reader);
    reader_expect(reader, ",");
    uint32_t scale = reader_u32(reader);
    reader_expect(reader, ")");
    if (precision < 1 || precision > DECIMAL_PRECISION_MAX || scale > precision)
        reader_fail(reader, "a decimal of 1 to 38 digits");
    return type_decimal(reader->types, reader->failed ? 1 : precision, reader->failed ? 0 : scale);
}

static const Type *read_timestamp(Reader *reader) {
    static const char *const units[] = {"s", "ms", "us", "ns"};
    if (!reader_accept(reader, "[")) return type_of(reader->types, TYPE_TIMESTAMP);
    TimeUnit unit = UNIT_US;
    bool found = false;
    for (size_t i = 0; i < countof(units) && !found; i++)
        if ((found = reader_accept(reader, units[i]))) unit = (TimeUnit)i;
    if (!found) reader_fail(reader, "a unit of time");
    reader_expect(reader, "]");
    return type_timestamp(reader->types, unit);
}

// The dimensions of a tensor, after its element.
static const Type *read_tensor(Reader *reader, const Type *elem) {
    uint32_t shape[TENSOR_RANK_MAX], rank = 0;
    do {
        bool named = reader->token.kind == TOKEN_WORD;
        uint32_t size = named ? type_dimension(reader->types, reader_name(reader))
                              : reader_u32(reader);
        if (rank < TENSOR_RANK_MAX) shape[rank] = size;
        rank++;
    } while (!reader->failed && reader_accept(reader, ","));
    reader_expect(reader, "]");
    if (!type_is_element(elem) || !type_shape_fits(elem, shape, rank))
        reader_fail(reader, "a tensor within its limits");
    return reader->failed ? elem : type_tensor(reader->types, elem, shape, rank);
}

static const Type *read_base(Reader *reader, int depth) {
    if (reader_is(reader, "{")) return read_struct(reader, depth);
    if (reader_accept(reader, "[")) {
        const Type *elem = read_type(reader, depth + 1);
        reader_expect(reader, "]");
        return type_list(reader->types, elem);
    }
    Text name = reader->token.text;
    TypeKind kind = TYPE_ERROR;
    if (reader_accept(reader, "decimal")) return read_decimal(reader);
    if (reader_accept(reader, "timestamp")) return read_timestamp(reader);
    if (reader_accept(reader, "null")) return type_of(reader->types, TYPE_NULL);
    if (reader->token.kind == TOKEN_WORD && type_kind_find(name, &kind)) reader_next(reader);
    else reader_fail(reader, "a type");
    const Type *type = type_of(reader->types, kind);
    return reader_accept(reader, "[") ? read_tensor(reader, type) : type;
}

static const Type *read_type(Reader *reader, int depth) {
    if (depth > FORM_DEPTH_MAX) reader_fail(reader, "a type that is nested less deeply");
    if (reader->failed) return type_of(reader->types, TYPE_ERROR);
    const Type *type = read_base(reader, depth);
    return reader_accept(reader, "?") ? type_nullable(type) : type;
}

const Type *reader_type(Reader *reader) { return read_type(reader, 0); }

// ---- constants ----

static Const read_const(Reader *reader, const Type *base, int depth);

static Const read_items(Reader *reader, const Type *type, int depth) {
    bool list = type_is_sequence(type);
    const char *open = list ? "[" : "{", *close = list ? "]" : "}";
    Const value = {0};
    size_t cap = 0;
    reader_expect(reader, open);
    while (!reader->failed && !reader_is(reader, close)) {
        if (value.item_count) reader_expect(reader, ",");
        if (!list && value.item_count >= type->field_count) reader_fail(reader, "fewer fields");
        if (reader->failed) break;
        const Type *item = list ? type->elem : type->fields[value.item_count].type;
        Const read = read_const(reader, type_base(item), depth + 1);
        arena_push(reader->arena, value.items, value.item_count, cap, read);
    }
    reader_expect(reader, close);
    if (!list && value.item_count < type->field_count) reader_fail(reader, "more fields");
    return value;
}

static double read_float(Reader *reader) {
    double value = 0;
    if (reader_accept(reader, "nan")) {
        uint64_t bits = (uint64_t)read_whole(reader, 0, UINT64_MAX);
        memcpy(&value, &bits, sizeof value);
        if (value == value) reader_fail(reader, "the bits of a NaN");
        return value;
    }
    const char *digits = number_text(reader);
    char *end = nullptr;
    value = strtod(digits, &end);
    if (!reader->failed && *end) reader_fail(reader, "a number");
    return value;
}

static Const read_const(Reader *reader, const Type *base, int depth) {
    if (depth > FORM_DEPTH_MAX) reader_fail(reader, "a constant that is nested less deeply");
    if (reader->failed) return (Const){0};
    if (reader_accept(reader, "null")) return (Const){.is_null = true};
    unsigned bits = type_bits(base);
    __int128 half = bits && bits <= 64 ? (__int128)1 << (bits - 1) : 0;
    static const unsigned __int128 decimal_max = ~(unsigned __int128)0 >> 1;
    switch (base->kind) {
    case TYPE_BOOL:
        if (reader_accept(reader, "true")) return (Const){.i = 1};
        reader_expect(reader, "false");
        return (Const){0};
    case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        return (Const){.i = (int64_t)read_whole(reader, -half, half - 1)};
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        return (Const){.u = (uint64_t)read_whole(reader, 0, half * 2 - 1)};
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        return (Const){.f = type_round(base, read_float(reader))};
    case TYPE_DECIMAL:
        return (Const){
            .decimal = read_whole(reader, -(__int128)decimal_max, (__int128)decimal_max)};
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON: return (Const){.text = reader_string(reader)};
    case TYPE_LIST: case TYPE_STRUCT: case TYPE_TENSOR: case TYPE_MAP:
        return read_items(reader, base, depth);
    case TYPE_NULL: case TYPE_ERROR: break;
    }
    reader_fail(reader, "null");
    return (Const){0};
}

Const reader_const(Reader *reader, const Type *base) { return read_const(reader, base, 0); }
