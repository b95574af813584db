// Decimals: reading, printing and checked arithmetic in 128 bits.
#include "stdlib/number/decimal.h"

#include "stdlib/number/number.h"

#include <string.h>

enum { WORD = 8 };  // Characters that are looked at together.

#define E19 ((SbDecimal)10000000000000000000u)

const SbDecimal sb_powers_of_ten_128[SB_DECIMAL_DIGITS + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
    100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
    10000000000000000, 100000000000000000, 1000000000000000000, E19, E19 * 10, E19 * 100,
    E19 * 1000, E19 * 10000, E19 * 100000, E19 * 1000000, E19 * 10000000, E19 * 100000000,
    E19 * 1000000000, E19 * 10000000000, E19 * 100000000000, E19 * 1000000000000,
    E19 * 10000000000000, E19 * 100000000000000, E19 * 1000000000000000,
    E19 * 10000000000000000, E19 * 100000000000000000, E19 * 1000000000000000000, E19 * E19,
};

// ---- text ---------------------------------------------------------------------------------------

// Digits seen so far and where the point stands.
typedef struct Digits {
    unsigned __int128 value;
    int64_t  scale;   // Of value: digits after the point that it holds.
    int64_t  zeros;   // Zeros not yet appended to value: they may be the last ones.
    int      used;    // Digits of value, from the first that is not zero.
    bool     any, over;
} Digits;

static void push_digit(Digits *d, unsigned digit, bool fraction) {
    d->any = true;
    d->scale += fraction;
    if (digit == 0) {
        d->zeros++;
        return;
    }
    int64_t shift = d->used ? d->zeros + 1 : 1;
    d->zeros = 0;
    if (d->used + shift > SB_DECIMAL_DIGITS) {
        d->over = true;
        return;
    }
    d->value = d->value * (unsigned __int128)sb_decimal_tens((unsigned)shift) + digit;
    d->used += (int)shift;
}

// [e [+-] digits] to the end; exponents are cut at a size that no decimal reaches.
static bool read_exponent(const char *at, const char *end, int64_t *exponent) {
    enum { FAR = 100000 };
    *exponent = 0;
    if (at == end) return true;
    if ((*at++ | 0x20) != 'e' || at == end) return false;
    bool minus = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (at == end) return false;
    for (; at < end && sb_is_digit(*at); at++) {
        if (*exponent < FAR) *exponent = *exponent * 10 + (*at - '0');
    }
    if (minus) *exponent = -*exponent;
    return at == end;
}

// Any text of a decimal without its sign: with an exponent, with zeros everywhere.
static int32_t read_any(const char *at, const char *end, SbDecimalForm form,
                        unsigned __int128 *value) {
    bool point = false;
    Digits d = {};
    for (; at < end; at++) {
        if (sb_is_digit(*at)) push_digit(&d, (unsigned)(*at - '0'), point);
        else if (*at == form.point && !point) point = true;
        else break;
    }
    int64_t exponent = 0;
    bool good = form.exponent ? read_exponent(at, end, &exponent) : at == end;
    if (!d.any || d.over || !good) return SB_FAULT_BAD_DECIMAL;
    *value = 0;
    if (d.used == 0) return SB_OK;
    // value stands `zeros` digits before the last; the target wants `scale` digits after the
    // point.
    int64_t shift = form.scale - (d.scale - d.zeros) + exponent;
    if (shift < 0 || d.used + shift > form.precision) return SB_FAULT_BAD_DECIMAL;
    *value = d.value * (unsigned __int128)sb_decimal_tens((unsigned)shift);
    return SB_OK;
}

static const char *skip_digits(const char *at, const char *end) {
    for (; end - at >= WORD; at += WORD) {
        uint64_t wrong = sb_digits_wrong(sb_digits_load(at));
        if (wrong) return at + __builtin_ctzll(wrong) / 8;
    }
    while (at < end && sb_is_digit(*at)) at++;
    return at;
}

// Puts `count` digits after those of `value`, eight at a time.
static unsigned __int128 append_digits(unsigned __int128 value, const char *at, int64_t count) {
    enum : uint64_t { E8 = 100000000 };
    for (; count >= WORD; count -= WORD, at += WORD)
        value = value * E8 + sb_digits_value(sb_digits_load(at));
    if (count == 0) return value;
    uint64_t last = sb_digits_load(at) << 8 * (WORD - count);  // Zeros stand before the digits.
    return value * (uint64_t)sb_decimal_tens((unsigned)count) + sb_digits_value(last);
}

// Digits and at most one point that fit as they stand: nearly all decimals. False: not so.
static bool read_plain(const char *at, const char *end, SbDecimalForm form,
                       unsigned __int128 *value) {
    const char *whole = at;
    while (whole < end && *whole == '0') whole++;
    const char *point = skip_digits(whole, end), *fraction = point + 1;
    int64_t behind = 0;
    if (point < end) {
        if (*point != form.point || skip_digits(fraction, end) != end) return false;
        behind = end - fraction;
    }
    if (point - at + behind == 0) return false;
    while (behind > form.scale && fraction[behind - 1] == '0') behind--;
    if (behind > form.scale) return false;
    if (point > whole && point - whole + form.scale > form.precision) return false;
    *value = append_digits(append_digits(0, whole, point - whole), fraction, behind);
    *value *= (unsigned __int128)sb_decimal_tens((unsigned)(form.scale - behind));
    return true;
}

int32_t sb_read_decimal(const char *ptr, int64_t len, SbDecimalForm form, SbDecimal *out) {
    const char *at = ptr, *end = ptr + len;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
    bool minus = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    unsigned __int128 value = 0;
    int32_t status = read_plain(at, end, form, &value) ? SB_OK : read_any(at, end, form, &value);
    if (status == SB_OK) *out = minus ? -(SbDecimal)value : (SbDecimal)value;
    return status;
}

int32_t sb_read_decimal64_any(const char *ptr, int64_t len, SbDecimalForm form, int64_t *out) {
    SbDecimal value;
    int32_t status = sb_read_decimal(ptr, len, form, &value);
    if (status == SB_OK) *out = (int64_t)value;
    return status;
}

char *sb_put_decimal(char *out, SbDecimal x, unsigned scale, char point) {
    unsigned __int128 size = (unsigned __int128)x;
    if (x < 0) {
        *out++ = '-';
        size = -size;
    }
    char digits[40];
    unsigned count = 0;
    for (; size || count <= scale; size /= 10)
        digits[count++] = (char)('0' + (unsigned)(size % 10));
    while (count) {
        if (count == scale) *out++ = point;
        *out++ = digits[--count];
    }
    return out;
}

// ---- arithmetic ---------------------------------------------------------------------------------

static int32_t checked(bool overflow, SbDecimal x, uint32_t precision, SbDecimal *out) {
    *out = x;
    return overflow || !sb_decimal_fits(x, precision) ? SB_FAULT_OVERFLOW : SB_OK;
}

int32_t sb_decimal_add(SbDecimal a, SbDecimal b, uint32_t precision, SbDecimal *out) {
    SbDecimal sum;
    bool overflow = __builtin_add_overflow(a, b, &sum);
    return checked(overflow, sum, precision, out);
}

int32_t sb_decimal_sub(SbDecimal a, SbDecimal b, uint32_t precision, SbDecimal *out) {
    SbDecimal difference;
    bool overflow = __builtin_sub_overflow(a, b, &difference);
    return checked(overflow, difference, precision, out);
}

// A checked product without the 128-bit overflow helper, which libgcc does not have.
static bool multiply(SbDecimal a, SbDecimal b, SbDecimal *out) {
    unsigned __int128 x = (unsigned __int128)(a < 0 ? -a : a),
                      y = (unsigned __int128)(b < 0 ? -b : b);
    uint64_t xh = (uint64_t)(x >> 64), yh = (uint64_t)(y >> 64), xl = (uint64_t)x, yl = (uint64_t)y;
    unsigned __int128 cross = (unsigned __int128)xh * yl + (unsigned __int128)yh * xl;
    unsigned __int128 low = (unsigned __int128)xl * yl;
    unsigned __int128 sum = low + (cross << 64);
    if ((xh && yh) || cross >> 64 || sum < low || sum >> 127) return false;
    *out = (a < 0) != (b < 0) ? -(SbDecimal)sum : (SbDecimal)sum;
    return true;
}

int32_t sb_decimal_mul(SbDecimal a, SbDecimal b, uint32_t precision, SbDecimal *out) {
    SbDecimal product = 0;
    bool overflow = !multiply(a, b, &product);
    return checked(overflow, product, precision, out);
}

int32_t sb_decimal_rescale(SbDecimal x, uint32_t from, uint32_t to, uint32_t precision,
                           SbDecimal *out) {
    if (to >= from) return sb_decimal_mul(x, sb_decimal_tens(to - from), precision, out);
    SbDecimal divisor = sb_decimal_tens(from - to);
    if (x % divisor) return SB_FAULT_BAD_CAST;
    return checked(false, x / divisor, precision, out);
}

int32_t sb_decimal_compare(SbDecimal a, uint32_t a_scale, SbDecimal b, uint32_t b_scale) {
    if (a_scale > b_scale) return -sb_decimal_compare(b, b_scale, a, a_scale);
    SbDecimal divisor = sb_decimal_tens(b_scale - a_scale);
    SbDecimal whole = b / divisor;  // Compare with b at a's scale, then with what was cut off.
    if (a != whole) return a < whole ? -1 : 1;
    SbDecimal rest = b % divisor;
    return rest > 0 ? -1 : rest < 0;
}

int32_t sb_decimal_round(SbDecimal x, uint32_t scale, int64_t digits, SbDecimal *out) {
    *out = x;
    if (digits >= scale) return SB_OK;
    *out = 0;
    if (digits < (int64_t)scale - SB_DECIMAL_DIGITS) return SB_OK;
    SbDecimal step = sb_decimal_tens((unsigned)(scale - digits)), rest = x % step, size = rest;
    if (size < 0) size = -size;
    SbDecimal away = size >= step - size ? step : 0;
    return checked(false, x - rest + (x < 0 ? -away : away), SB_DECIMAL_DIGITS, out);
}

double sb_decimal_f64(SbDecimal x, uint32_t scale) {
    static const double tens[16] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    SbDecimal exact = (SbDecimal)1 << 53;
    if (scale == 0) return (double)x;
    if (scale < 16 && x <= exact && x >= -exact) return (double)(int64_t)x / tens[scale];
    char text[SB_DECIMAL_MAX + SB_SLACK] = {};
    double value = 0;
    sb_read_f64_any(text, sb_put_decimal(text, x, scale, '.') - text, '.', &value);
    return value;
}

double sb_words_f64(const uint64_t *words, int count, uint32_t scale) {
    enum { CHUNK = 19, DIGITS = 128, SCALE_MAX = 2 * SB_DECIMAL_DIGITS };
    uint64_t rest[SB_DECIMAL_WORDS];
    memcpy(rest, words, (size_t)count * sizeof *rest);
    char text[DIGITS + SCALE_MAX + 2 + SB_SLACK] = {}, *end = text + DIGITS + SCALE_MAX + 2;
    char *at = end;
    uint32_t digits = 0;
    while (count || digits <= scale) {  // Nineteen digits at a time, the last ones first.
        unsigned __int128 carry = 0;
        for (int i = count; i-- > 0; carry %= (uint64_t)E19) {
            carry = carry << 64 | rest[i];
            rest[i] = (uint64_t)(carry / (uint64_t)E19);
        }
        while (count && !rest[count - 1]) count--;
        uint64_t chunk = (uint64_t)carry;
        for (int i = 0; i < CHUNK && (count || chunk || digits <= scale); i++, chunk /= 10) {
            if (digits == scale && scale) *--at = '.';
            *--at = (char)('0' + chunk % 10);
            digits++;
        }
    }
    double value = 0;
    sb_read_f64_any(at, end - at, '.', &value);
    return value;
}
