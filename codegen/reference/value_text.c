// Canonical texts and JSON of values, as docs/text_forms.md fixes them.
#include "codegen/reference/half.h"
#include "codegen/reference/value.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>

static bool reads_back(const char *text, double f, const Type *type) {
    double back = type_is_half(type)        ? half_read(type, text)
                  : type->kind == TYPE_F32 ? (double)strtof(text, nullptr)
                                           : strtod(text, nullptr);
    return back == f;
}

// The fewest digits that read back. printf rounds correctly, so of those of one length it gives the
// closest. Of two that are as close it gives the even one. Below a power of two floats lie closer,
// so that the one above may read back alone.
static void shortest(double f, const Type *type, char out[40]) {
    int mode = fegetround();
    bool good = false;
    for (int precision = 0; precision < 17 && !good; precision++) {
        snprintf(out, 40, "%.*e", precision, f);
        good = reads_back(out, f, type);
        if (good) break;
        fesetround(FE_UPWARD);
        snprintf(out, 40, "%.*e", precision, f);
        fesetround(mode);
        good = reads_back(out, f, type);
    }
}

// Digits d.ddd and exponent as Python's repr lays them out.
static void print_float(TextBuf *buf, double f, const Type *type, char point) {
    if (isnan(f)) {
        text_buf_add(buf, TEXT("nan"));
        return;
    }
    if (signbit(f)) text_buf_char(buf, '-');
    if (isinf(f)) {
        text_buf_add(buf, TEXT("inf"));
        return;
    }
    if (f == 0) {
        text_buf_format(buf, "0%c0", point);
        return;
    }
    char form[40], digits[40];
    shortest(fabs(f), type, form);
    int count = 0, exponent = 0;
    for (const char *at = form; *at; at++) {
        if (*at == 'e') {
            exponent = atoi(at + 1);
            break;
        }
        if (*at != '.') digits[count++] = *at;
    }
    while (count > 1 && digits[count - 1] == '0') count--;
    if (exponent < -4 || exponent >= 16) {
        text_buf_char(buf, digits[0]);
        if (count > 1) text_buf_format(buf, "%c%.*s", point, count - 1, digits + 1);
        text_buf_format(buf, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) {
        text_buf_format(buf, "0%c", point);
        for (int i = -1; i > exponent; i--) text_buf_char(buf, '0');
        text_buf_add(buf, (Text){digits, (size_t)count});
        return;
    }
    for (int i = 0; i <= exponent; i++) text_buf_char(buf, i < count ? digits[i] : '0');
    text_buf_char(buf, point);
    if (count <= exponent + 1) {
        text_buf_char(buf, '0');
        return;
    }
    text_buf_add(buf, (Text){digits + exponent + 1, (size_t)(count - exponent - 1)});
}

static void print_u128(TextBuf *buf, unsigned __int128 number, unsigned digits_min) {
    char digits[40];
    unsigned count = 0;
    while (number || count < digits_min) {
        digits[count++] = (char)('0' + (int)(number % 10));
        number /= 10;
    }
    while (count) text_buf_char(buf, digits[--count]);
}

static void print_decimal(TextBuf *buf, const Type *type, __int128 decimal, char point) {
    unsigned __int128 size = (unsigned __int128)decimal;
    if (decimal < 0) {
        text_buf_char(buf, '-');
        size = -size;
    }
    unsigned __int128 unit = power_of_ten(type->scale);
    print_u128(buf, size / unit, 1);
    if (!type->scale) return;
    text_buf_char(buf, point);
    print_u128(buf, size % unit, type->scale);
}

static int64_t days_before_year(int64_t year) {  // Of year 0 on, in a calendar of 400-year cycles.
    int64_t cycle = year / 400 - (year % 400 < 0), in_cycle = year - cycle * 400;
    int64_t leaps = in_cycle ? (in_cycle - 1) / 4 - (in_cycle - 1) / 100 + 1 : 0;
    return cycle * 146097 + in_cycle * 365 + leaps;
}

static int64_t month_days(int64_t year, int64_t month) {
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

bool date_from_civil(int64_t year, int64_t month, int64_t day, int64_t *days) {
    if (month < 1 || month > 12 || day < 1 || day > month_days(year, month)) return false;
    *days = days_before_year(year) - days_before_year(1970) + day - 1;
    for (int64_t m = 1; m < month; m++) *days += month_days(year, m);
    return true;
}

void date_print(TextBuf *buf, int64_t days) {
    int64_t year = 1970 + (int64_t)((__int128)days * 400 / 146097);  // Within a year of it.
    while (days_before_year(year) - days_before_year(1970) > days) year--;
    while (days_before_year(year + 1) - days_before_year(1970) <= days) year++;
    days -= days_before_year(year) - days_before_year(1970);
    int64_t month = 1;
    while (days >= month_days(year, month)) days -= month_days(year, month++);
    if (year < 0 || year > 9999) text_buf_char(buf, year < 0 ? '-' : '+');
    text_buf_format(buf, "%04lld-%02lld-%02lld", (long long)llabs(year), (long long)month,
                    (long long)days + 1);
}

static void print_timestamp(TextBuf *buf, TimeUnit unit, int64_t at) {
    int64_t per_second = unit_per_second(unit);
    int64_t second = (int64_t)floor_divide(at, per_second);
    int64_t fraction = (int64_t)(at - (__int128)second * per_second);
    int64_t day = (int64_t)floor_divide(second, 86400), clock = second - day * 86400;
    date_print(buf, day);
    text_buf_format(buf, "T%02lld:%02lld:%02lld", (long long)(clock / 3600),
                    (long long)(clock / 60 % 60), (long long)(clock % 60));
    int64_t nanos = fraction * (1000000000 / per_second);
    if (nanos % 1000) text_buf_format(buf, ".%09lld", (long long)nanos);
    else if (nanos % 1000000) text_buf_format(buf, ".%06lld", (long long)nanos / 1000);
    else if (nanos) text_buf_format(buf, ".%03lld", (long long)nanos / 1000000);
    text_buf_char(buf, 'Z');
}

static void print_duration(TextBuf *buf, int64_t micros) {
    static const struct { int64_t micros; const char *name; } units[] = {
        {86400000000, "d"}, {3600000000, "h"}, {60000000, "m"},
        {1000000, "s"}, {1000, "ms"}, {1, "us"},
    };
    if (!micros) {
        text_buf_add(buf, TEXT("0s"));
        return;
    }
    size_t i = 0;
    while (micros % units[i].micros) i++;
    text_buf_format(buf, "%lld%s", (long long)(micros / units[i].micros), units[i].name);
}

static void print_base64(TextBuf *buf, Text bytes) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t word = (uint32_t)(unsigned char)bytes.at[i] << 16;
        if (left > 1) word |= (uint32_t)(unsigned char)bytes.at[i + 1] << 8;
        if (left > 2) word |= (unsigned char)bytes.at[i + 2];
        text_buf_char(buf, digits[word >> 18]);
        text_buf_char(buf, digits[word >> 12 & 63]);
        text_buf_char(buf, left > 1 ? digits[word >> 6 & 63] : '=');
        text_buf_char(buf, left > 2 ? digits[word & 63] : '=');
    }
}

void value_print(TextBuf *buf, const Type *type, const Value *value, char point) {
    if (value->is_null) {
        text_buf_add(buf, TEXT("null"));
        return;
    }
    switch (type->kind) {
    case TYPE_BOOL:
        text_buf_add(buf, value->i ? TEXT("true") : TEXT("false"));
        return;
    case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
        text_buf_format(buf, "%lld", (long long)value->i);
        return;
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        text_buf_format(buf, "%llu", (unsigned long long)value->u);
        return;
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        print_float(buf, value->f, type, point);
        return;
    case TYPE_DECIMAL:
        print_decimal(buf, type, value->decimal, point);
        return;
    case TYPE_STR: case TYPE_JSON:
        text_buf_add(buf, value->text);
        return;
    case TYPE_BYTES:
        print_base64(buf, value->text);
        return;
    case TYPE_DATE:
        date_print(buf, value->i);
        return;
    case TYPE_TIMESTAMP:
        print_timestamp(buf, type->unit, value->i);
        return;
    case TYPE_DURATION:
        print_duration(buf, value->i);
        return;
    case TYPE_LIST: case TYPE_STRUCT: case TYPE_TENSOR: case TYPE_MAP:
        value_print_json(buf, type, value);
        return;
    case TYPE_NULL: case TYPE_ERROR:
        return;
    }
}

void json_print_string(TextBuf *buf, Text text) {
    text_buf_char(buf, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        switch (c) {
        case '"': text_buf_add(buf, TEXT("\\\"")); break;
        case '\\': text_buf_add(buf, TEXT("\\\\")); break;
        case '\b': text_buf_add(buf, TEXT("\\b")); break;
        case '\f': text_buf_add(buf, TEXT("\\f")); break;
        case '\n': text_buf_add(buf, TEXT("\\n")); break;
        case '\r': text_buf_add(buf, TEXT("\\r")); break;
        case '\t': text_buf_add(buf, TEXT("\\t")); break;
        default:
            if (c < 0x20) text_buf_format(buf, "\\u%04x", c);
            else text_buf_char(buf, (char)c);
        }
    }
    text_buf_char(buf, '"');
}

static void print_list(TextBuf *buf, const Type *type, const Value *value) {
    text_buf_char(buf, '[');
    for (uint32_t i = 0; i < value->item_count; i++) {
        if (i) text_buf_char(buf, ',');
        value_print_json(buf, type->elem, &value->items[i]);
    }
    text_buf_char(buf, ']');
}

// The part of a tensor that begins with dimension `depth`, whose elements begin at *from.
static void print_tensor(TextBuf *buf, const Type *type, const uint32_t *shape,
                         const Value **from, uint32_t depth) {
    text_buf_char(buf, '[');
    for (uint32_t i = 0; i < shape[depth]; i++) {
        if (i) text_buf_char(buf, ',');
        if (depth + 1 < type->rank) print_tensor(buf, type, shape, from, depth + 1);
        else value_print_json(buf, type->elem, (*from)++);
    }
    text_buf_char(buf, ']');
}

static void print_struct(TextBuf *buf, const Type *type, const Value *value) {
    text_buf_char(buf, '{');
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (i) text_buf_char(buf, ',');
        json_print_string(buf, type->fields[i].name);
        text_buf_char(buf, ':');
        value_print_json(buf, type->fields[i].type, &value->items[i]);
    }
    text_buf_char(buf, '}');
}

static void print_map(TextBuf *buf, const Type *type, const Value *value) {
    text_buf_char(buf, '{');
    for (uint32_t i = 0; i < value->item_count; i++) {
        const Value *entry = value->items[i].items;
        if (i) text_buf_char(buf, ',');
        json_print_string(buf, entry[0].text);
        text_buf_char(buf, ':');
        value_print_json(buf, type_map_value(type), &entry[1]);
    }
    text_buf_char(buf, '}');
}

// Canonical texts hold nothing that a JSON string must escape.
static void print_quoted(TextBuf *buf, const Type *type, const Value *value) {
    text_buf_char(buf, '"');
    value_print(buf, type, value, '.');
    text_buf_char(buf, '"');
}

void value_print_json(TextBuf *buf, const Type *type, const Value *value) {
    if (value->is_null) {
        text_buf_add(buf, TEXT("null"));
        return;
    }
    switch (type->kind) {
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64: case TYPE_DECIMAL: case TYPE_JSON:
        value_print(buf, type, value, '.');
        return;
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        if (isfinite(value->f)) value_print(buf, type, value, '.');
        else print_quoted(buf, type, value);
        return;
    case TYPE_STR:
        json_print_string(buf, value->text);
        return;
    case TYPE_BYTES: case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        print_quoted(buf, type, value);
        return;
    case TYPE_LIST:
        print_list(buf, type, value);
        return;
    case TYPE_STRUCT:
        print_struct(buf, type, value);
        return;
    case TYPE_MAP:
        print_map(buf, type, value);
        return;
    case TYPE_TENSOR: {
        const Value *from = value->items;
        print_tensor(buf, type, value->sizes ? value->sizes : type->shape, &from, 0);
        return;
    }
    case TYPE_NULL: case TYPE_ERROR:
        return;
    }
}
