// exp of f64, in pairs where digits would be lost, and its parts.
//
//   exp  x = k ln 2 + r, and the series of e^r
//
// This is the one source for jobs (math_exp.c) and for kernels (codegen/cuda/device.cuh).
#ifndef SBC_STDLIB_MATH_F64_H
#define SBC_STDLIB_MATH_F64_H

#include "stdlib/number/math_pair.h"

// ln 2 in three parts, of which the first two have zeros at their ends.
#define SB_LN2_HIGH 0x1.62e42feep-1
#define SB_LN2_MIDDLE 0x1.a39ef356p-33
#define SB_LN2_LOW 0x1.93c7673007e5fp-65

// x 2^k, rounded once; |k| <= 2200.
static inline double sb_exp_scale(double x, int k) {
    for (; k > 1000; k -= 1000) x *= 0x1p1000;
    // The last step alone may round: before it x stays normal.
    for (; k < -1020; k += 960) x *= 0x1p-960;
    return x * sb_pair_of_bits((uint64_t)(k + 1023) << 52);
}

// e^r - 1 for |r| <= 0.36, a pair: r + r^2 (1/2 + r/6 + ...).
static inline SbPair sb_exp_series(SbPair r) {
    double x = r.high, sum = 1.0 / 6227020800;
    sum = sum * x + 1.0 / 479001600;
    sum = sum * x + 1.0 / 39916800;
    sum = sum * x + 1.0 / 3628800;
    sum = sum * x + 1.0 / 362880;
    sum = sum * x + 1.0 / 40320;
    sum = sum * x + 1.0 / 5040;
    sum = sum * x + 1.0 / 720;
    sum = sum * x + 1.0 / 120;
    sum = sum * x + 1.0 / 24;
    sum = sum * x + 1.0 / 6;
    SbPair square = sb_pair_product(x, x);
    SbPair tail = sb_pair_fast(0.5 * square.high,
                               0.5 * square.low + square.high * x * sum + r.low + x * r.low);
    return sb_pair_add(sb_pair(x, 0), tail);
}

// x - k ln 2 for k near x / ln 2.
static inline SbPair sb_exp_reduce(SbPair x, int *k) {
    double n = __builtin_rint(x.high * 0x1.71547652b82fep+0);
    *k = (int)n;
    SbPair r = sb_pair_sum(x.high - n * SB_LN2_HIGH, -n * SB_LN2_MIDDLE);
    return sb_pair_fast(r.high, r.low + (x.low - n * SB_LN2_LOW));
}

// e^x; x.high within 1100.
static inline double sb_exp_pair(SbPair x) {
    int k;
    SbPair y = sb_exp_series(sb_exp_reduce(x, &k));
    SbPair sum = sb_pair_fast(1, y.high);
    return sb_exp_scale(sum.high + (sum.low + y.low), k);
}

double sb_exp(double x) {
    if (x != x) return x;
    if (x > 709.8) return (double)__builtin_inff();
    return x < -745.2 ? 0 : sb_exp_pair(sb_pair(x, 0));
}

#endif
