// Decimals: reading, printing and checked arithmetic in 128 bits.
#include "stdlib/number/decimal.h"

#include "stdlib/number/digits.h"
#include "stdlib/number/number.h"

#include <string.h>

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

// Up to 32 digits and at most one point that fit as they stand: nearly all decimals. False: not so.
static inline bool read_plain(const char *at, const char *end, SbDecimalForm form,
                              unsigned __int128 *value) {
    const uint64_t len = (uint64_t)(end - at);
    if (len > MANY_PLACES) return false;
    uint64_t others = not_digits(at) | UINT64_C(1) << len;
    const uint64_t before = _tzcnt_u64(others);
    uint64_t behind = 0;
    if (before < len) {
        others &= others - 1;
        behind = len - before - 1;
        if (at[before] != form.point || _tzcnt_u64(others) != len) return false;
    }
    const bool fits = behind <= form.scale && before + form.scale <= form.precision;
    if (!fits || before + behind == 0) return false;
    *value = run_of(at, before) * (unsigned __int128)sb_decimal_tens(form.scale) +
             run_of(at + before + 1, behind) *
                 (unsigned __int128)sb_decimal_tens((unsigned)(form.scale - behind));
    return true;
}

[[gnu::noinline]]
static int32_t read_spaced(const char *at, const char *end, SbDecimalForm form, SbDecimal *out) {
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
    bool minus = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    unsigned __int128 value = 0;
    int32_t status = read_any(at, end, form, &value);
    if (status == SB_OK) *out = minus ? -(SbDecimal)value : (SbDecimal)value;
    return status;
}

int32_t sb_read_decimal(const char *ptr, int64_t len, SbDecimalForm form, SbDecimal *out) {
    const bool minus = len > 0 && *ptr == '-';
    unsigned __int128 value;
    if (!__builtin_expect(read_plain(ptr + minus, ptr + len, form, &value), 1))
        return read_spaced(ptr, ptr + len, form, out);
    *out = minus ? -(SbDecimal)value : (SbDecimal)value;
    return SB_OK;
}

int32_t sb_read_decimal64_any(const char *ptr, int64_t len, SbDecimalForm form, int64_t *out) {
    SbDecimal value;
    int32_t status = sb_read_decimal(ptr, len, form, &value);
    if (status == SB_OK) *out = (int64_t)value;
    return status;
}

// The last `count` digits.
static void put_wide_digits(char *out, unsigned __int128 size, int count) {
    enum { CHUNK = 19 };
    for (; count > CHUNK; count -= CHUNK, size /= (uint64_t)E19)
        sb_put_digits(out + count - CHUNK, (uint64_t)(size % (uint64_t)E19), CHUNK);
    sb_put_digits(out, (uint64_t)size, count);
}

static int wide_digit_count(unsigned __int128 size) {
    enum { CHUNK = 19 };
    int count = 0;
    for (; size >> 64; size /= (uint64_t)E19) count += CHUNK;
    return count + sb_digit_count((uint64_t)size);
}

char *sb_put_decimal(char *out, SbDecimal x, unsigned scale, char point) {
    unsigned __int128 size = (unsigned __int128)x;
    if (x < 0) {
        *out++ = '-';
        size = -size;
    }
    int count = wide_digit_count(size);
    if (count <= (int)scale) count = (int)scale + 1;
    if (scale == 0) {
        put_wide_digits(out, size, count);
        return out + count;
    }
    const int before = count - (int)scale;
    put_wide_digits(out + 1, size, count);
    memmove(out, out + 1, (size_t)before);
    out[before] = point;
    return out + count + 1;
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
