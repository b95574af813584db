// Mathematics: elementary functions within one unit of reference points, special values, rounding.
#include "stdlib/number/math.h"
#include "stdlib/number/decimal.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

// How many floats lie between; signs must agree.
static int64_t apart(double a, double b) {
    int64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x > y ? x - y : y - x;
}

static void points(void) {
#define POINT(name, x, value)                                                                      \
    CHECK_SAYS(apart(sb_##name(x), value) <= 1, "%s(%a) is %a, not %a", #name, x, sb_##name(x),    \
               value);
#define POINT2(name, x, y, value)                                                                 \
    CHECK_SAYS(apart(sb_##name(x, y), value) <= 1, "%s(%a, %a) is %a, not %a", #name, x, y,       \
               sb_##name(x, y), value);
#include "tests/unit/math_points.def"
#undef POINT
#undef POINT2
}

static void exact_points(void) {
    CHECK(same(sb_exp(0), 1) && same(sb_log(1), 0) && same(sb_log2(1024), 10) &&
          same(sb_log10(1e15), 15));
    CHECK(same(sb_exp2(-1074), 5e-324) && same(sb_exp2(10), 1024) && same(sb_cbrt(-27), -3) &&
          same(sb_hypot(3, 4), 5));
    for (int k = -300; k <= 300; k += 7) CHECK(same(sb_log2(ldexp(1, k)), k));
    for (int k = 1; k <= 22; k++)
        CHECK(same(sb_pow(10, k), (double)strtold((char[]){'1', 'e', (char)('0' + k / 10),
                                                           (char)('0' + k % 10), 0},
                                                  nullptr)));
    CHECK(same(sb_pow(-2, 3), -8) && same(sb_pow(-2, -2), 0.25) && same(sb_pow(4, 0.5), 2) &&
          same(sb_sqrt(2), 0x1.6a09e667f3bcdp0));
}

static void special_values(void) {
    double inf = (double)INFINITY, nan = (double)NAN;
    CHECK(same(sb_exp(inf), inf) && same(sb_exp(-inf), 0) && same(sb_exp(nan), nan) &&
          same(sb_exp(1000), inf) && same(sb_exp(-1000), 0));
    CHECK(same(sb_exp2(1024), inf) && same(sb_exp2(-1076), 0) && same(sb_expm1(-0.0), -0.0) &&
          same(sb_expm1(-inf), -1) && same(sb_expm1(inf), inf));
    CHECK(same(sb_log(0), -inf) && same(sb_log(-1), nan) && same(sb_log(inf), inf) &&
          same(sb_log1p(-1), -inf) && same(sb_log1p(-2), nan));
    CHECK(same(sb_log10(-0.0), -inf) && same(sb_log2(nan), nan) && same(sb_log1p(-0.0), -0.0) &&
          same(sb_log1p(inf), inf));
    CHECK(same(sb_pow(nan, 0), 1) && same(sb_pow(1, nan), 1) && same(sb_pow(-8, 1.0 / 3), nan) &&
          same(sb_pow(0, -1), inf) && same(sb_pow(-0.0, -1), -inf));
    CHECK(same(sb_pow(-0.0, 3), -0.0) && same(sb_pow(-0.0, 2), 0) && same(sb_pow(inf, -1), 0) &&
          same(sb_pow(-inf, 3), -inf) && same(sb_pow(0.5, inf), 0));
    CHECK(same(sb_pow(0.5, -inf), inf) && same(sb_pow(-1, inf), 1) && same(sb_pow(2, 1e300), inf) &&
          same(sb_pow(2, -1e300), 0) && same(sb_pow(-2, 1e300), inf));
    CHECK(same(sb_sin(inf), nan) && same(sb_cos(nan), nan) && same(sb_tan(-inf), nan) &&
          same(sb_sin(-0.0), -0.0) && same(sb_cos(0), 1) && same(sb_sin(5e-324), 5e-324));
    CHECK(same(sb_asin(2), nan) && same(sb_acos(-2), nan) && same(sb_acos(1), 0) &&
          same(sb_atan(inf), 0x1.921fb54442d18p0) && same(sb_atan(-0.0), -0.0));
    CHECK(same(sb_atan2(0, -1), 0x1.921fb54442d18p1) &&
          same(sb_atan2(-0.0, -1), -0x1.921fb54442d18p1) &&
          same(sb_atan2(1, 0), 0x1.921fb54442d18p0));
    CHECK(same(sb_atan2(0, 0), 0) && same(sb_atan2(inf, -inf), 0x1.2d97c7f3321d2p1) &&
          same(sb_atan2(nan, 1), nan) && same(sb_atan2(-0.0, 1), -0.0));
    CHECK(same(sb_sinh(-inf), -inf) && same(sb_cosh(-inf), inf) && same(sb_tanh(inf), 1) &&
          same(sb_sinh(711), inf) && same(sb_tanh(-0.0), -0.0) && same(sb_cosh(nan), nan));
    CHECK(same(sb_hypot(inf, nan), inf) && same(sb_hypot(nan, 1), nan) && same(sb_hypot(0, 0), 0) &&
          same(sb_cbrt(-inf), -inf) && same(sb_cbrt(-0.0), -0.0));
    CHECK(same(sb_radians(180), 0x1.921fb54442d18p1) &&
          same(sb_degrees(0x1.921fb54442d18p1), 180) && same(sb_radians(inf), inf));
}

static void rounding(void) {
    CHECK(same(sb_round(0.5), 1) && same(sb_round(-2.5), -3) &&
          same(sb_round(0.49999999999999994), 0) && same(sb_round(-0.2), -0.0));
    CHECK(same(sb_round(4503599627370497.5), 4503599627370498) && same(sb_round(1e300), 1e300) &&
          same(sb_round((double)INFINITY), (double)INFINITY));
    CHECK(same(sb_round_digits(2.675, 2), 2.67) && same(sb_round_digits(0.125, 2), 0.13) &&
          same(sb_round_digits(-1.005, 2), -1.0) && same(sb_round_digits(12.345678, 3), 12.346));
    CHECK(same(sb_round_digits(1.15, 1), 1.1) && same(sb_round_digits(1.25, 1), 1.3) &&
          same(sb_round_digits(0.3, 30), 0.3) && same(sb_round_digits(5e-324, 5), 0));
    CHECK(same(sb_round_digits(1234.5, -2), 1200) && same(sb_round_digits(-1250, -2), -1300) &&
          same(sb_round_digits(7, -1), 10) && same(sb_round_digits(4, -1), 0) &&
          same(sb_round_digits(1e300, -400), 0));
    CHECK(same(sb_floor(-0.5), -1) && same(sb_ceil(-0.5), -0.0) && same(sb_trunc(-1.5), -1));
    const SbType cents = {.kind = SB_DECIMAL, .precision = 38, .scale = 2};
    SbDecimal decimal = 0;
    CHECK(sb_round_decimal(&cents, 1250, 0, &decimal) == SB_OK && decimal == 1300);
}

static void integers(void) {
    int64_t out = 0;
    CHECK(sb_abs_i64(-5, &out) == SB_OK && out == 5 &&
          sb_abs_i64(INT64_MIN, &out) == SB_FAULT_OVERFLOW && sb_sign_i64(-9) == -1);
    CHECK(sb_gcd(-12, 18, &out) == SB_OK && out == 6 && sb_gcd(0, 0, &out) == SB_OK && out == 0 &&
          sb_gcd(INT64_MIN, 0, &out) == SB_FAULT_OVERFLOW);
    CHECK(sb_pow_i64(-3, 39, &out) == SB_OK && out == -4052555153018976267 &&
          sb_pow_i64(2, 63, &out) == SB_FAULT_OVERFLOW && sb_pow_i64(-2, 63, &out) == SB_OK &&
          out == INT64_MIN);
    CHECK(sb_pow_i64(2, -1, &out) == SB_FAULT_BAD_ARGUMENT && sb_pow_i64(0, 0, &out) == SB_OK &&
          out == 1 && sb_pow_i64(-1, INT64_MAX, &out) == SB_OK && out == -1);
    CHECK(sb_least_i64(1, 2) == 1 && sb_greatest_i64(1, 2) == 2 && sb_clamp_i64(9, 1, 5) == 5 &&
          same(sb_clamp_f64(-1, 0, 1), 0));
    CHECK(same(sb_least_f64((double)NAN, 1), 1) &&
          same(sb_greatest_f64(1, (double)NAN), (double)NAN) && same(sb_sign_f64(-0.5), -1));
}

static const UnitTest TESTS[] = {
    {"points", points}, {"exact_points", exact_points}, {"special_values", special_values},
    {"rounding", rounding}, {"integers", integers},
};

UNIT_MAIN("math_test", TESTS)
