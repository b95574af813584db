// Rounding, signs and integer mathematics.
#include "stdlib/number/math.h"

#include "stdlib/number/decimal.h"
#include "stdlib/number/math_lanes.h"
#include "stdlib/number/math_pair.h"

double sb_round_even(double x) { return __builtin_rint(x); }
double sb_pi(void) { return 0x1.921fb54442d18p+1; }
bool sb_is_inf(double x) { return __builtin_isinf(x); }

static const double TENS[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Before the point: the remainder is exact, and so is the multiple of a power below 10^23.
static double round_before_point(double x, int64_t digits) {
    if (digits > 22) return __builtin_copysign(0, x);
    double step = TENS[digits], size = __builtin_fabs(x);
    if (size < step / 2) return __builtin_copysign(0, x);
    double rest = __builtin_fmod(size, step), whole = size - rest;
    if (rest >= step / 2) whole += step;
    return __builtin_copysign(whole, x);
}

double sb_round_digits(double x, int64_t digits) {
    if (!sb_is_finite(x)) return x;
    if (digits == 0) return sb_round(x);
    if (digits < 0)
        return digits < -400 ? __builtin_copysign(0, x) : round_before_point(x, -digits);
    // x 10^digits as an exact pair; from 2^53 on x has no digits to round away.
    if (digits > 22 || __builtin_fabs(x) * TENS[digits] >= 0x1p53) return x;
    SbPair scaled = sb_pair_product(__builtin_fabs(x), TENS[digits]);
    double whole = __builtin_floor(scaled.high), rest = scaled.high - whole;
    if (rest > 0.5 || (rest == 0.5 && scaled.low >= 0)) whole += 1;
    else if (rest == 0 && scaled.low < -0.5) whole -= 1;
    return __builtin_copysign(whole / TENS[digits], x);
}

int32_t sb_round_decimal(const SbType *type, SbDecimal x, int64_t digits, SbDecimal *out) {
    return sb_decimal_round(x, type->scale, digits, out);
}

int32_t sb_round_whole_decimal(const SbType *type, SbDecimal x, SbDecimal *out) {
    return sb_decimal_round(x, type->scale, 0, out);
}

SbDecimal sb_trunc_decimal(const SbType *type, SbDecimal x) {
    return x - x % sb_decimal_tens(type->scale);
}

int32_t sb_floor_decimal(const SbType *type, SbDecimal x, SbDecimal *out) {
    SbDecimal step = sb_decimal_tens(type->scale), rest = x % step;
    *out = x - rest - (rest < 0 ? step : 0);
    return sb_decimal_fits(*out, SB_DECIMAL_DIGITS) ? SB_OK : SB_FAULT_OVERFLOW;
}

int32_t sb_ceil_decimal(const SbType *type, SbDecimal x, SbDecimal *out) {
    SbDecimal step = sb_decimal_tens(type->scale), rest = x % step;
    *out = x - rest + (rest > 0 ? step : 0);
    return sb_decimal_fits(*out, SB_DECIMAL_DIGITS) ? SB_OK : SB_FAULT_OVERFLOW;
}

int32_t sb_abs_i64(int64_t x, int64_t *out) {
    if (x == INT64_MIN) return SB_FAULT_OVERFLOW;
    *out = x < 0 ? -x : x;
    return SB_OK;
}

SbDecimal sb_abs_decimal(SbDecimal x) { return x < 0 ? -x : x; }
int64_t sb_sign_decimal(SbDecimal x) { return (x > 0) - (x < 0); }

int32_t sb_gcd(int64_t a, int64_t b, int64_t *out) {
    uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    if (x > INT64_MAX) return SB_FAULT_OVERFLOW;
    *out = (int64_t)x;
    return SB_OK;
}

int32_t sb_pow_i64(int64_t base, int64_t exponent, int64_t *out) {
    if (exponent < 0) return SB_FAULT_BAD_ARGUMENT;
    int64_t result = 1;
    for (;;) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return SB_FAULT_OVERFLOW;
        exponent >>= 1;
        if (!exponent) break;
        // A square that overflows is needed: the highest bit of the exponent is yet to come.
        if (__builtin_mul_overflow(base, base, &base)) return SB_FAULT_OVERFLOW;
    }
    *out = result;
    return SB_OK;
}
