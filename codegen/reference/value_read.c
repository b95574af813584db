// Scalars from their texts, as docs/text_forms.md fixes them, without the scalar library.
#include "codegen/reference/half.h"
#include "codegen/reference/value.h"

#include "codegen/reference/library.h"
#include "runtime/abi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static Text trimmed(Text text) {
    while (text.len && (*text.at == ' ' || *text.at == '\t')) text.at++, text.len--;
    while (text.len && (text.at[text.len - 1] == ' ' || text.at[text.len - 1] == '\t')) text.len--;
    return text;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool take(Text *text, char c) {
    if (!text->len || *text->at != c) return false;
    text->at++, text->len--;
    return true;
}

static bool take_sign(Text *text, bool *negative) {
    *negative = take(text, '-');
    return *negative || take(text, '+');
}

static Text take_digits(Text *text) {
    Text digits = {text->at, 0};
    while (text->len && is_digit(*text->at)) text->at++, text->len--, digits.len++;
    return digits;
}

static bool same_word(Text text, const char *word) {
    return text.len == strlen(word) && strncasecmp(text.at, word, text.len) == 0;
}

static int32_t read_bool(Text text, Value *out) {
    bool yes = same_word(text, "true");
    if (!yes && !same_word(text, "false")) return SB_FAULT_BAD_BOOL;
    *out = value_bool(yes);
    return SB_OK;
}

static int32_t read_integer(const Type *type, Text text, Value *out) {
    text = trimmed(text);
    bool negative;
    take_sign(&text, &negative);
    Text digits = take_digits(&text);
    if (!digits.len || text.len) return SB_FAULT_BAD_INTEGER;
    __int128 number = 0;
    for (size_t i = 0; i < digits.len; i++) {
        number = number * 10 + (digits.at[i] - '0');
        if (number > (__int128)1 << 66) return SB_FAULT_OUT_OF_RANGE;
    }
    if (negative) number = -number;
    if (!integer_fits(type, number)) return SB_FAULT_OUT_OF_RANGE;
    *out = value_of_integer(type, number);
    return SB_OK;
}

// The grammar is checked here; strtod, which rounds correctly, only computes.
static int32_t read_float(Arena *arena, const Type *type, Text text, char point, Value *out) {
    text = trimmed(text);
    char *form = arena_alloc(arena, text.len + 1, 1);
    memcpy(form, text.at, text.len);
    Text rest = text;
    bool negative, is_single = type->kind == TYPE_F32;
    take_sign(&rest, &negative);
    bool word = same_word(rest, "inf") || same_word(rest, "infinity") || same_word(rest, "nan");
    if (!word) {
        size_t digits = take_digits(&rest).len;
        if (rest.len && *rest.at == point) {
            form[rest.at - text.at] = '.';
            take(&rest, point);
            digits += take_digits(&rest).len;
        }
        if (!digits) return SB_FAULT_BAD_FLOAT;
        if (take(&rest, 'e') || take(&rest, 'E')) {
            bool down;
            take_sign(&rest, &down);
            if (!take_digits(&rest).len) return SB_FAULT_BAD_FLOAT;
        }
        if (rest.len) return SB_FAULT_BAD_FLOAT;
    }
    double f = type_is_half(type) ? half_read(type, form)
               : is_single        ? (double)strtof(form, nullptr)
                                  : strtod(form, nullptr);
    if (!word && isinf(f)) return SB_FAULT_OUT_OF_RANGE;
    // The sign of a NaN is never seen; one form keeps equal bytes equal.
    *out = value_f64(isnan(f) ? (double)NAN : f);
    return SB_OK;
}

// Appends the digits to *number; false when it passes 10^38.
static bool add_digits(Text digits, unsigned __int128 *number) {
    for (size_t i = 0; i < digits.len; i++) {
        if (*number >= power_of_ten(DECIMAL_PRECISION_MAX - 1)) return false;
        *number = *number * 10 + (unsigned)(digits.at[i] - '0');
    }
    return true;
}

// [e [+-] digits], cut at a size that no decimal reaches.
static bool take_exponent(Text *text, int64_t *exponent) {
    enum { FAR = 100000 };
    *exponent = 0;
    if (!take(text, 'e') && !take(text, 'E')) return true;
    bool down;
    take_sign(text, &down);
    Text digits = take_digits(text);
    for (size_t i = 0; i < digits.len && *exponent < FAR; i++)
        *exponent = *exponent * 10 + (digits.at[i] - '0');
    if (down) *exponent = -*exponent;
    return digits.len > 0;
}

static bool are_zeros(Text digits) {
    for (size_t i = 0; i < digits.len; i++)
        if (digits.at[i] != '0') return false;
    return true;
}

static int32_t read_decimal(const Type *type, Text text, char point, Value *out) {
    text = trimmed(text);
    bool negative;
    take_sign(&text, &negative);
    Text whole = take_digits(&text), fraction = {0};
    if (take(&text, point)) fraction = take_digits(&text);
    int64_t exponent;
    if (whole.len + fraction.len == 0 || !take_exponent(&text, &exponent) || text.len)
        return SB_FAULT_BAD_DECIMAL;
    *out = (Value){0};
    if (are_zeros(whole) && are_zeros(fraction)) return SB_OK;
    int64_t behind = (int64_t)fraction.len - exponent;
    for (; behind > type->scale; behind--) {
        Text *digits = fraction.len ? &fraction : &whole;
        if (digits->at[--digits->len] != '0') return SB_FAULT_BAD_DECIMAL;
    }
    unsigned __int128 number = 0;
    if (!add_digits(whole, &number) || !add_digits(fraction, &number)) return SB_FAULT_BAD_DECIMAL;
    for (; behind < type->scale; behind++) {
        if (!add_digits(TEXT("0"), &number)) return SB_FAULT_BAD_DECIMAL;
    }
    if (number >= power_of_ten(type->precision)) return SB_FAULT_BAD_DECIMAL;
    *out = (Value){.decimal = negative ? -(__int128)number : (__int128)number};
    return SB_OK;
}

// Two digits up to `max`.
static bool take_pair(Text *text, int64_t max, int64_t *pair) {
    if (text->len < 2 || !is_digit(text->at[0]) || !is_digit(text->at[1])) return false;
    *pair = (text->at[0] - '0') * 10 + (text->at[1] - '0');
    text->at += 2, text->len -= 2;
    return *pair <= max;
}

// A date at the start of `text`, taken off.
static bool take_date(Text *text, int64_t *days) {
    bool negative, sign = take_sign(text, &negative);
    Text digits = take_digits(text);
    if (sign ? digits.len < 4 || digits.len > 7 : digits.len != 4) return false;
    int64_t year = 0, month, day;
    for (size_t i = 0; i < digits.len; i++) year = year * 10 + (digits.at[i] - '0');
    return take(text, '-') && take_pair(text, 12, &month) && take(text, '-') &&
           take_pair(text, 31, &day) && date_from_civil(negative ? -year : year, month, day, days);
}

static int32_t read_date(const Type *type, Text text, Value *out) {
    int64_t days;
    if (!take_date(&text, &days) || text.len) return SB_FAULT_BAD_DATE;
    if (!integer_fits(type, days)) return SB_FAULT_OUT_OF_RANGE;
    *out = value_i64(days);
    return SB_OK;
}

// Z, +HH, +HHMM, +HH:MM in seconds.
static bool take_offset(Text *text, int64_t *seconds) {
    if (take(text, 'Z') || take(text, 'z')) {
        *seconds = 0;
        return true;
    }
    bool negative;
    int64_t hours, minutes = 0;
    if (!take_sign(text, &negative) || !take_pair(text, 23, &hours)) return false;
    if (text->len) {
        take(text, ':');
        if (!take_pair(text, 59, &minutes)) return false;
    }
    *seconds = hours * 3600 + minutes * 60;
    if (negative) *seconds = -*seconds;
    return true;
}

// A fraction of a second in nanoseconds; false: more than nine digits or none.
static bool take_fraction(Text *text, int64_t *nanos) {
    Text digits = take_digits(text);
    if (!digits.len || digits.len > 9) return false;
    for (size_t i = 0; i < 9; i++)
        *nanos = *nanos * 10 + (i < digits.len ? digits.at[i] - '0' : 0);
    return true;
}

static int32_t read_timestamp(const Type *type, Text text, ReadOptions options, Value *out) {
    int64_t days, hours, minutes, seconds = 0, nanos = 0, offset = 0;
    if (!take_date(&text, &days)) return SB_FAULT_BAD_TIMESTAMP;
    if (!take(&text, 'T') && !take(&text, 't') && !take(&text, ' ')) return SB_FAULT_BAD_TIMESTAMP;
    if (!take_pair(&text, 23, &hours) || !take(&text, ':') || !take_pair(&text, 59, &minutes))
        return SB_FAULT_BAD_TIMESTAMP;
    if (take(&text, ':')) {
        if (!take_pair(&text, 59, &seconds)) return SB_FAULT_BAD_TIMESTAMP;
        if (take(&text, '.') && !take_fraction(&text, &nanos)) return SB_FAULT_BAD_TIMESTAMP;
    }
    int64_t local = days * 86400 + hours * 3600 + minutes * 60 + seconds;
    if (text.len) {
        if (!take_offset(&text, &offset) || text.len) return SB_FAULT_BAD_TIMESTAMP;
        local -= offset;
    } else if (options.zone) {
        local = library_zone_to_utc(options.zone, local);
    }
    int64_t per_second = unit_per_second(type->unit), step = 1000000000 / per_second;
    if (nanos % step) return SB_FAULT_TOO_PRECISE;
    __int128 at = (__int128)local * per_second + nanos / step;
    if (!integer_fits(type, at)) return SB_FAULT_OUT_OF_RANGE;
    *out = value_i64((int64_t)at);
    return SB_OK;
}

static int64_t duration_unit(Text unit) {
    if (text_is(unit, "us")) return 1;
    if (text_is(unit, "ms")) return 1000;
    if (text_is(unit, "s")) return 1000000;
    if (text_is(unit, "m")) return 60000000;
    if (text_is(unit, "h")) return 3600000000;
    if (text_is(unit, "d")) return 86400000000;
    return 0;
}

// Two digits, of at most 59.
static bool take_sixty(Text *text, int64_t *value) {
    Text digits = take_digits(text);
    if (digits.len != 2) return false;
    *value = (digits.at[0] - '0') * 10 + (digits.at[1] - '0');
    return *value < 60;
}

// What follows the hours: MM, or MM:SS with or without a fraction.
static int32_t read_clock(Text hours, Text text, bool negative, Value *out) {
    int64_t minute, second = 0, micros = 0;
    if (!take_sixty(&text, &minute)) return SB_FAULT_BAD_DURATION;
    if (take(&text, ':')) {
        if (!take_sixty(&text, &second)) return SB_FAULT_BAD_DURATION;
        if (take(&text, '.')) {
            Text part = take_digits(&text);
            if (!part.len) return SB_FAULT_BAD_DURATION;
            for (size_t i = 0; i < 6; i++)
                micros = micros * 10 + (i < part.len ? part.at[i] - '0' : 0);
            for (size_t i = 6; i < part.len; i++)
                if (part.at[i] != '0') return SB_FAULT_BAD_DURATION;
        }
    }
    if (text.len) return SB_FAULT_BAD_DURATION;
    __int128 all = 0, limit = (__int128)INT64_MAX + negative;
    for (size_t i = 0; i < hours.len && all <= limit; i++) all = all * 10 + (hours.at[i] - '0');
    if (all <= limit) all = ((all * 60 + minute) * 60 + second) * 1000000 + micros;
    if (all > limit) return SB_FAULT_OUT_OF_RANGE;
    *out = value_i64((int64_t)(negative ? -all : all));
    return SB_OK;
}

static int32_t read_duration(const Type *type, Text text, Value *out) {
    bool negative;
    take_sign(&text, &negative);
    Text whole = take_digits(&text), fraction = {0};
    if (whole.len && take(&text, ':')) return read_clock(whole, text, negative, out);
    bool point = take(&text, '.');
    if (point) fraction = take_digits(&text);
    int64_t unit = duration_unit(text);
    if (!unit || !whole.len || (point && !fraction.len)) return SB_FAULT_BAD_DURATION;
    while (fraction.len && fraction.at[fraction.len - 1] == '0') fraction.len--;
    __int128 micros = 0;
    for (size_t i = 0; i < whole.len; i++) {
        micros = micros * 10 + (whole.at[i] - '0');
        if (micros > INT64_MAX) return SB_FAULT_OUT_OF_RANGE;
    }
    micros *= unit;
    // With that many digits after the point nothing is a whole number of microseconds.
    if (fraction.len > 24) return SB_FAULT_BAD_DURATION;
    unsigned __int128 part = 0;
    for (size_t i = 0; i < fraction.len; i++) part = part * 10 + (unsigned)(fraction.at[i] - '0');
    unsigned __int128 scale = power_of_ten((unsigned)fraction.len);
    if (part * (unsigned __int128)unit % scale) return SB_FAULT_BAD_DURATION;
    micros += (__int128)(part * (unsigned __int128)unit / scale);
    if (negative) micros = -micros;
    if (!integer_fits(type, micros)) return SB_FAULT_OUT_OF_RANGE;
    *out = value_i64((int64_t)micros);
    return SB_OK;
}

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (is_digit(c)) return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static int32_t read_base64(Arena *arena, Text text, Value *out) {
    if (text.len % 4) return SB_FAULT_BAD_BASE64;
    char *bytes = arena_alloc(arena, text.len / 4 * 3 + SB_SLACK, 1);
    size_t count = 0, pads = 0;
    while (pads < 2 && pads < text.len && text.at[text.len - 1 - pads] == '=') pads++;
    for (size_t i = 0; i < text.len; i += 4) {
        uint32_t word = 0;
        for (size_t k = 0; k < 4; k++) {
            int digit = i + k >= text.len - pads ? 0 : base64_digit(text.at[i + k]);
            if (digit < 0) return SB_FAULT_BAD_BASE64;
            word = word << 6 | (uint32_t)digit;
        }
        for (int k = 16; k >= 0; k -= 8) bytes[count++] = (char)(word >> k & 255);
    }
    // Bits that no byte takes must be zero, else two texts would be one value.
    for (size_t k = 0; k < pads; k++) {
        if (bytes[--count]) return SB_FAULT_BAD_BASE64;
    }
    *out = value_text((Text){bytes, count});
    return SB_OK;
}

int32_t value_read(Arena *arena, const Type *type, Text text, ReadOptions options, Value *out) {
    switch (type->kind) {
    case TYPE_BOOL:
        return read_bool(text, out);
    case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        return read_integer(type, text, out);
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        return read_float(arena, type, text, options.point, out);
    case TYPE_DECIMAL:
        return read_decimal(type, text, options.point, out);
    case TYPE_DATE:
        return read_date(type, text, out);
    case TYPE_TIMESTAMP:
        return read_timestamp(type, text, options, out);
    case TYPE_DURATION:
        return read_duration(type, text, out);
    case TYPE_BYTES:
        return read_base64(arena, text, out);
    case TYPE_STR: case TYPE_JSON:
        *out = value_text(text);
        return SB_OK;
    case TYPE_LIST: case TYPE_STRUCT: case TYPE_TENSOR: case TYPE_MAP: case TYPE_NULL:
    case TYPE_ERROR:
        return SB_FAULT_BAD_ARGUMENT;
    }
    return SB_FAULT_BAD_ARGUMENT;
}

// ---- UTF-8 ------------------------------------------------------------------------------------

// Table 3-7 of the Unicode standard: the range of the second byte depends on the first.
size_t utf8_step(const char *at, size_t left, size_t *bad) {
    const unsigned char *c = (const unsigned char *)at;
    *bad = 1;
    if (c[0] < 0x80) return 1;
    size_t size = c[0] >= 0xc2 && c[0] <= 0xdf ? 2 : (c[0] & 0xf0) == 0xe0 ? 3
                : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4 : 0;
    if (!size) return 0;
    unsigned low = c[0] == 0xe0 ? 0xa0 : c[0] == 0xf0 ? 0x90 : 0x80;
    unsigned high = c[0] == 0xed ? 0x9f : c[0] == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < size; i++) {
        if (i >= left || c[i] < low || c[i] > high) return 0;
        low = 0x80, high = 0xbf;
        *bad = i + 1;
    }
    return size;
}

bool utf8_valid(Text text) {
    for (size_t i = 0, bad; i < text.len;) {
        size_t step = utf8_step(text.at + i, text.len - i, &bad);
        if (!step) return false;
        i += step;
    }
    return true;
}

void utf8_repair(TextBuf *buf, Text text) {
    for (size_t i = 0, bad; i < text.len;) {
        size_t step = utf8_step(text.at + i, text.len - i, &bad);
        text_buf_add(buf, step ? (Text){text.at + i, step} : TEXT("\xef\xbf\xbd"));
        i += step ? step : bad;
    }
}
