// Format: numbers by a pattern such as "08.2", ",.0", ".1%" or "x".
//
// Digits come from the C library's printf, whose decimal expansion is exact; a job never leaves the
// "C" locale, so they are the same everywhere.
#include "stdlib/text/encode.h"
#include "stdlib/text/list_build.h"

#include <stdio.h>

enum { WIDTH_MAX = 1000, DECIMALS_MAX = 100, DIGITS_MAX = 512 };

typedef struct Spec {
    bool    plus, zeros, commas;
    int64_t width, decimals;  // decimals -1: as the type has it.
    char    kind;             // 'f', 'e', '%', 'x'; 0: none given.
} Spec;

static int64_t read_number(SbStr text, int64_t *at) {
    int64_t value = 0;
    for (; *at < text.len && text.ptr[*at] >= '0' && text.ptr[*at] <= '9'; ++*at)
        if (value <= WIDTH_MAX) value = value * 10 + (text.ptr[*at] - '0');
    return value;
}

static bool accept(SbStr text, int64_t *at, char c) {
    if (*at >= text.len || text.ptr[*at] != c) return false;
    ++*at;
    return true;
}

static bool read_spec(SbStr text, Spec *spec) {
    int64_t at = 0;
    spec->plus = accept(text, &at, '+');
    spec->zeros = accept(text, &at, '0');
    spec->width = read_number(text, &at);
    spec->commas = accept(text, &at, ',');
    spec->decimals = -1;
    if (accept(text, &at, '.')) {
        int64_t begin = at;
        spec->decimals = read_number(text, &at);
        if (at == begin) return false;
    }
    if (at < text.len && strchr("fe%x", text.ptr[at])) spec->kind = text.ptr[at++];
    return at == text.len && spec->width <= WIDTH_MAX && spec->decimals <= DECIMALS_MAX;
}

bool sb_format_is_good(SbStr text, bool whole) {
    Spec spec = {0};
    return read_spec(text, &spec) && (spec.kind != 'x' || (whole && spec.decimals < 0));
}

// Digits without a sign, grouped and filled up as the pattern says.
typedef struct Parts {
    const char *digits;
    int64_t     len, whole;  // whole: digits before the point that commas part.
    bool        minus, number;
} Parts;

static int32_t lay_out(SbCall *call, const Spec *spec, const Parts *parts, SbStr *out) {
    const char *sign = parts->minus ? "-" : spec->plus && parts->number ? "+" : "";
    int64_t sign_len = *sign != 0;
    int64_t commas = spec->commas && parts->whole ? (parts->whole - 1) / 3 : 0;
    int64_t len = sign_len + parts->len + commas, fill = spec->width > len ? spec->width - len : 0;
    char *text = sb_alloc(call, len + fill), *at = text;
    if (!text) return SB_FAULT_TOO_LARGE;
    bool zeros = spec->zeros && parts->number;
    if (!zeros) at = (char *)memset(at, ' ', (size_t)fill) + fill;
    if (sign_len) *at++ = *sign;
    if (zeros) at = (char *)memset(at, '0', (size_t)fill) + fill;
    for (int64_t i = 0; i < parts->len; i++) {
        bool comma = commas && i && i < parts->whole && (parts->whole - i) % 3 == 0;
        if (comma) *at++ = ',';
        *at++ = parts->digits[i];
    }
    *out = (SbStr){text, at - text};
    return SB_OK;
}

static int64_t count_digits(const char *text) { return (int64_t)strspn(text, "0123456789"); }

int32_t sb_format_f64(SbCall *call, double x, SbStr spec_text, SbStr *out) {
    Spec spec = {0};
    if (!read_spec(spec_text, &spec) || spec.kind == 'x') return SB_FAULT_BAD_ARGUMENT;
    bool minus = __builtin_signbit(x) && x == x, finite = x - x == 0;
    double size = minus ? -x : x;
    char digits[DIGITS_MAX];
    int decimals = (int)(spec.decimals < 0 ? 6 : spec.decimals), len;
    if (x != x) len = snprintf(digits, sizeof digits, "nan");
    else if (!finite) len = snprintf(digits, sizeof digits, "inf");
    else if (spec.kind == 'e') len = snprintf(digits, sizeof digits, "%.*e", decimals, size);
    else
        len = snprintf(digits, sizeof digits, "%.*f", decimals,
                       spec.kind == '%' ? size * 100 : size);
    if (spec.kind == '%' && finite) digits[len++] = '%';
    Parts parts = {digits, len, finite ? count_digits(digits) : 0, minus, finite};
    return lay_out(call, &spec, &parts, out);
}

int32_t sb_format_i64(SbCall *call, int64_t x, SbStr spec_text, SbStr *out) {
    Spec spec = {0};
    if (!read_spec(spec_text, &spec)) return SB_FAULT_BAD_ARGUMENT;
    if (spec.decimals >= 0 || (spec.kind && spec.kind != 'x'))
        return sb_format_f64(call, (double)x, spec_text, out);
    char digits[32];
    uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    const char *form = spec.kind == 'x' ? "%llx" : "%llu";
    int len = snprintf(digits, sizeof digits, form, (unsigned long long)size);
    Parts parts = {digits, len, spec.kind == 'x' ? 0 : len, x < 0, true};
    return lay_out(call, &spec, &parts, out);
}
