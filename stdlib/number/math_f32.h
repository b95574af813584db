// Functions of f32. Those that round no number are exact. The others are computed in f64 to some 42
// bits and rounded once, so that the result is within 0.5001 units in the last place.
//
// Columns take them in, and so do kernels for GPUs, as with math_lanes.h: fused operations are
// written out, so that all processors give the same bits.
#ifndef SBC_STDLIB_MATH_F32_H
#define SBC_STDLIB_MATH_F32_H

float sb_abs_f32(float x) { return __builtin_fabsf(x); }
float sb_sign_f32(float x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
float sb_floor_f32(float x) { return __builtin_floorf(x); }
float sb_ceil_f32(float x) { return __builtin_ceilf(x); }
float sb_trunc_f32(float x) { return __builtin_truncf(x); }
float sb_sqrt_f32(float x) { return __builtin_sqrtf(x); }

float sb_round_f32(float x) {
    float whole = __builtin_truncf(x);
    if (__builtin_fabsf(x - whole) >= 0.5f) whole += __builtin_copysignf(1, x);
    return __builtin_copysignf(whole, x);
}

float sb_least_f32(float a, float b) { return a != a ? b : b != b ? a : a < b ? a : b; }
float sb_greatest_f32(float a, float b) { return a != a ? a : b != b ? b : a > b ? a : b; }
float sb_clamp_f32(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

// ---- exponentials -------------------------------------------------------------------------------

typedef union SbBits64 {
    double   value;
    uint64_t bits;
} SbBits64;

// 2^k, which is normal.
static inline double sb_two_to(double k) {
    SbBits64 power;
    power.bits = (uint64_t)((int)k + 1023) << 52;
    return power.value;
}

// e^r - 1 for |r| <= 0.35: the series, whose rest is under 2^-42 of it.
static inline double sb_series_expm1(double r) {
    double sum = 1.0 / 3628800;
    sum = __builtin_fma(sum, r, 1.0 / 362880);
    sum = __builtin_fma(sum, r, 1.0 / 40320);
    sum = __builtin_fma(sum, r, 1.0 / 5040);
    sum = __builtin_fma(sum, r, 1.0 / 720);
    sum = __builtin_fma(sum, r, 1.0 / 120);
    sum = __builtin_fma(sum, r, 1.0 / 24);
    sum = __builtin_fma(sum, r, 1.0 / 6);
    sum = __builtin_fma(sum, r, 0.5);
    return __builtin_fma(sum * r, r, r);
}

// e^x - 1 for |x| <= 120: 2^k (e^r - 1) + 2^k - 1, x = k ln 2 + r.
static inline double sb_expm1_core(double x) {
    double k = __builtin_rint(x * 0x1.71547652b82fep+0);
    double r = __builtin_fma(-k, 0x1.62e42fefa39efp-1, x), power = sb_two_to(k);
    return __builtin_fma(power, sb_series_expm1(r), power - 1);
}

// Not a number stays what it is.
static inline double sb_within(double x, double size) {
    return x < -size ? -size : x > size ? size : x;
}

float sb_exp_f32(float x) {
    double near = sb_within(x, 120), k = __builtin_rint(near * 0x1.71547652b82fep+0);
    double r = __builtin_fma(-k, 0x1.62e42fefa39efp-1, near);
    if (x != x) return x;
    return (float)(sb_two_to(k) * (1 + sb_series_expm1(r)));
}

float sb_exp2_f32(float x) {
    double near = sb_within(x, 170), k = __builtin_rint(near);
    if (x != x) return x;
    return (float)(sb_two_to(k) * (1 + sb_series_expm1((near - k) * 0x1.62e42fefa39efp-1)));
}

// Zero keeps its sign.
float sb_expm1_f32(float x) {
    if (x != x || x == 0) return x;
    return (float)sb_expm1_core(sb_within(x, 120));
}

float sb_tanh_f32(float x) {
    if (x != x || x == 0) return x;
    double twice = sb_expm1_core(2 * sb_within(x, 20));
    return (float)(twice / (twice + 2));
}

// ---- logarithms ---------------------------------------------------------------------------------

// 1 / d for d from 1.7 to 2.42: a line within 1.5 %, and three of Newton's steps. A division of f64
// takes more time, on GPUs many times as much.
static inline double sb_inverse(double d) {
    double near = __builtin_fma(-0x1.e98138p-3, d, 0x1.f859fcp-1);
    near = __builtin_fma(near, __builtin_fma(-d, near, 1), near);
    near = __builtin_fma(near, __builtin_fma(-d, near, 1), near);
    return __builtin_fma(near, __builtin_fma(-d, near, 1), near);
}

// log m = 2 (s + s^3/3 + s^5/5 + ...), s = f / (2 + f), f = m - 1, for m from 0.7 to 1.42.
static inline double sb_series_log1p(double f) {
    double s = f * sb_inverse(2 + f), z = s * s, sum = 1.0 / 17;
    sum = __builtin_fma(sum, z, 1.0 / 15);
    sum = __builtin_fma(sum, z, 1.0 / 13);
    sum = __builtin_fma(sum, z, 1.0 / 11);
    sum = __builtin_fma(sum, z, 1.0 / 9);
    sum = __builtin_fma(sum, z, 1.0 / 7);
    sum = __builtin_fma(sum, z, 1.0 / 5);
    sum = __builtin_fma(sum, z, 1.0 / 3);
    double twice = s + s;
    return __builtin_fma(sum * z, twice, twice);
}

// x = 2^k m, x > 0 and normal.
static inline double sb_split(double x, double *k) {
    SbBits64 is, m;
    is.value = x;
    m.bits = (is.bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    bool large = m.value > 0x1.6a09e667f3bcdp+0;
    *k = (double)((int)(is.bits >> 52) - 1023 + large);
    return large ? 0.5 * m.value : m.value;
}

// What logarithms give for an x that is not positive and finite, or else `log`.
static inline float sb_log_of(double x, double log) {
    if (x > 0 && x < (double)__builtin_inff()) return (float)log;
    if (x == 0) return -__builtin_inff();
    return x < 0 ? __builtin_inff() - __builtin_inff() : (float)x;
}

float sb_log_f32(float x) {
    double k, m = sb_split(x > 0 ? x : 1, &k);
    return sb_log_of(x, __builtin_fma(k, 0x1.62e42fefa39efp-1, sb_series_log1p(m - 1)));
}

float sb_log2_f32(float x) {
    double k, m = sb_split(x > 0 ? x : 1, &k);
    return sb_log_of(x, __builtin_fma(sb_series_log1p(m - 1), 0x1.71547652b82fep+0, k));
}

float sb_log10_f32(float x) {
    double k, m = sb_split(x > 0 ? x : 1, &k), log = sb_series_log1p(m - 1);
    return sb_log_of(x, __builtin_fma(k, 0x1.34413509f79ffp-2, log * 0x1.bcb7b1526e50ep-2));
}

// 1 + x is rounded where it leaves the middle only: there f is x itself.
float sb_log1p_f32(float x) {
    double sum = 1 + (double)x, k, m = sb_split(sum > 0 ? sum : 1, &k);
    double log = __builtin_fma(k, 0x1.62e42fefa39efp-1, sb_series_log1p(k == 0 ? x : m - 1));
    return x == 0 ? x : sb_log_of(sum, log);
}

#endif
