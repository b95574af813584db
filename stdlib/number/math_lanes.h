// Functions with the trait `columns`: so little code that loops over columns take them in.
//
// This is their one source. math.c includes it for jobs and for sbc, and kernels for GPUs include
// it as device code (codegen/cuda/device.cuh).
#ifndef SBC_STDLIB_MATH_LANES_H
#define SBC_STDLIB_MATH_LANES_H

#include "stdlib/number/math_f32.h"

double sb_floor(double x) { return __builtin_floor(x); }
double sb_ceil(double x) { return __builtin_ceil(x); }
double sb_trunc(double x) { return __builtin_trunc(x); }
double sb_sqrt(double x) { return __builtin_sqrt(x); }
bool sb_is_nan(double x) { return x != x; }
bool sb_is_finite(double x) { return __builtin_fabs(x) < (double)__builtin_inff(); }

// x - trunc(x) is exact, so the half is met exactly.
double sb_round(double x) {
    double whole = __builtin_trunc(x);
    if (__builtin_fabs(x - whole) >= 0.5) whole += __builtin_copysign(1, x);
    return __builtin_copysign(whole, x);
}

int64_t sb_sign_i64(int64_t x) { return (x > 0) - (x < 0); }
double sb_abs_f64(double x) { return __builtin_fabs(x); }
double sb_sign_f64(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

int64_t sb_least_i64(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t sb_greatest_i64(int64_t a, int64_t b) { return a > b ? a : b; }
double sb_least_f64(double a, double b) { return a != a ? b : b != b ? a : a < b ? a : b; }
double sb_greatest_f64(double a, double b) { return a != a ? a : b != b ? b : a > b ? a : b; }

int64_t sb_clamp_i64(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

double sb_clamp_f64(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

#endif
