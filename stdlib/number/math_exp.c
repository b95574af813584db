// exp, log and what is made of them, both in pairs where digits would be lost.
//
//   exp  x = k ln 2 + r, and the series of e^r
//   log  x = 2^k m, and the series of 2 atanh(f / (2 + f)), f = m - 1
#include "stdlib/number/math.h"
#include "stdlib/number/math_f64.h"

static const double INF = (double)__builtin_inff();
static const double LN2[3] = {SB_LN2_HIGH, SB_LN2_MIDDLE, SB_LN2_LOW};
static const SbPair LN2_PAIR = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const SbPair LOG2_E = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
static const SbPair LOG10_E = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
static const SbPair LOG10_2 = {0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59};

static double nan_value(void) { return (double)__builtin_nanf(""); }

double sb_exp2(double x) {
    if (x != x) return x;
    if (x >= 1024) return INF;
    if (x < -1075) return 0;
    double n = __builtin_rint(x);
    SbPair y = sb_exp_series(sb_pair_multiply((SbPair){x - n, 0}, LN2_PAIR));
    SbPair sum = sb_pair_fast(1, y.high);
    return sb_exp_scale(sum.high + (sum.low + y.low), (int)n);
}

double sb_expm1(double x) {
    if (x != x || x == 0) return x;
    if (x > 709.8) return INF;
    if (x < -40) return -1;
    if (__builtin_fabs(x) < 0x1p-54) return x;
    int k;
    SbPair y = sb_exp_series(sb_exp_reduce((SbPair){x, 0}, &k));
    if (k == 0) return y.high + y.low;
    if (k > 60) return sb_exp_pair((SbPair){x, 0});
    SbPair one = sb_pair_sum(1 - sb_pair_of_bits((uint64_t)(1023 - k) << 52), 0);
    SbPair sum = sb_pair_add(one, y);
    return sb_exp_scale(sum.high + sum.low, k);
}

// ---- logarithms ---------------------------------------------------------------------------------

// log(1 + f) for 1 + f from 0.7 to 1.42: 2 s (1 + s^2/3 + s^4/5 + ...), s = f / (2 + f).
static SbPair series_log1p(SbPair f) {
    SbPair s = sb_pair_divide(f, sb_pair_add((SbPair){2, 0}, f));
    SbPair square = sb_pair_multiply(s, s);
    double z = square.high, sum = 1.0 / 27;
    for (int i = 25; i >= 7; i -= 2) sum = sum * z + 1.0 / i;
    SbPair third = {0x1.5555555555555p-2, 0x1.5555555555555p-56},
           fifth = {0.2, -0x1.999999999999ap-57};
    SbPair tail = sb_pair_add(fifth, (SbPair){z * sum, 0});
    tail = sb_pair_add(third, sb_pair_multiply(square, tail));
    tail = sb_pair_multiply(sb_pair_multiply(square, tail), s);
    SbPair log = sb_pair_add(s, tail);
    return (SbPair){2 * log.high, 2 * log.low};
}

// x = 2^k m, x > 0 and finite: m - 1 and k, m from 0.7 to 1.42.
static double split(double x, int *k) {
    *k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        *k = -54;
    }
    uint64_t bits = sb_pair_bits(x);
    *k += (int)(bits >> 52) - 1023;
    double m = sb_pair_of_bits((bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        ++*k;
    }
    return m - 1;
}

static SbPair log_pair(double x) {
    int k;
    double f = split(x, &k);
    SbPair whole = {k * LN2[0], 0};
    whole = sb_pair_add(whole, sb_pair_sum(k * LN2[1], k * LN2[2]));
    return sb_pair_add(whole, series_log1p((SbPair){f, 0}));
}

// What logarithms give for x that is not positive and finite; true if x is such.
static bool log_special(double x, double *out) {
    if (x > 0 && x < INF) return false;
    *out = x == 0 ? -INF : x == INF ? INF : nan_value();
    return true;
}

double sb_log(double x) {
    double special;
    if (log_special(x, &special)) return special;
    SbPair log = log_pair(x);
    return log.high + log.low;
}

double sb_log2(double x) {
    double special;
    if (log_special(x, &special)) return special;
    int k;
    double f = split(x, &k);
    SbPair log = sb_pair_multiply(series_log1p((SbPair){f, 0}), LOG2_E);
    log = sb_pair_add((SbPair){k, 0}, log);
    return log.high + log.low;
}

double sb_log10(double x) {
    double special;
    if (log_special(x, &special)) return special;
    int k;
    double f = split(x, &k);
    SbPair log = sb_pair_multiply(series_log1p((SbPair){f, 0}), LOG10_E);
    log = sb_pair_add(sb_pair_multiply((SbPair){k, 0}, LOG10_2), log);
    return log.high + log.low;
}

double sb_log_base(double x, double base) {
    if (base == 2) return sb_log2(x);
    return base == 10 ? sb_log10(x) : sb_log(x) / sb_log(base);
}

double sb_log1p(double x) {
    double special;
    if (__builtin_fabs(x) < 0x1p-54) return x;
    if (log_special(1 + x, &special)) return special;
    SbPair log;
    if (x > -0.29 && x < 0.41) {
        log = series_log1p((SbPair){x, 0});
    } else {
        SbPair sum = sb_pair_sum(1, x);  // log(high) + low / high
        log = sb_pair_add(log_pair(sum.high), (SbPair){sum.low / sum.high, 0});
    }
    return log.high + log.low;
}

// ---- powers -------------------------------------------------------------------------------------

// 0: no integer; 1: odd; 2: even.
static int parity(double y) {
    if (__builtin_fabs(y) >= 0x1p53) return 2;
    int64_t whole = (int64_t)y;
    return (double)whole != y ? 0 : whole & 1 ? 1 : 2;
}

// x is zero, infinite or y is: what remains is decided by size and sign.
static double pow_special(double x, double y) {
    double size = __builtin_fabs(x);
    if (__builtin_fabs(y) == INF) {
        if (size == 1) return 1;
        return (size > 1) == (y > 0) ? INF : 0;
    }
    double value = (size == 0) == (y > 0) ? 0 : INF;
    return __builtin_signbit(x) && parity(y) == 1 ? -value : value;
}

double sb_pow(double x, double y) {
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return nan_value();
    if (x == 0 || __builtin_fabs(x) == INF || __builtin_fabs(y) == INF) return pow_special(x, y);
    if (x < 0 && parity(y) == 0) return nan_value();
    double sign = x < 0 && parity(y) == 1 ? -1 : 1;
    SbPair log = log_pair(__builtin_fabs(x));
    double about = log.high * y;
    if (about > 710) return sign * INF;
    if (about < -746) return sign * 0.0;
    if (__builtin_fabs(about) < 0x1p-60) return sign;
    SbPair product = sb_pair_product(log.high, y);
    return sign * sb_exp_pair(sb_pair_fast(product.high, product.low + log.low * y));
}

// Newton's step for t^3 = x from a good t, with t^3 as a pair.
double sb_cbrt(double x) {
    if (x == 0 || x != x || __builtin_fabs(x) == INF) return x;
    double size = __builtin_fabs(x), factor = 1;
    if (size < 0x1p-900) size *= 0x1p900, factor = 0x1p-300;
    if (size > 0x1p900) size *= 0x1p-900, factor = 0x1p300;
    SbPair log = log_pair(size);
    double t = sb_exp_pair((SbPair){log.high / 3, 0});
    SbPair square = sb_pair_product(t, t);
    SbPair cube = sb_pair_multiply(square, (SbPair){t, 0});
    t += ((size - cube.high) - cube.low) / (3 * square.high);
    return x < 0 ? -t * factor : t * factor;
}

double sb_hypot(double x, double y) {
    x = __builtin_fabs(x);
    y = __builtin_fabs(y);
    if (x == INF || y == INF) return INF;
    if (x != x || y != y) return nan_value();
    if (x < y) {
        double swap = x;
        x = y;
        y = swap;
    }
    if (y == 0 || x * 0x1p-60 > y) return x;
    double factor = 1;
    if (x > 0x1p500) factor = 0x1p600;
    if (y < 0x1p-400) factor = 0x1p-600;
    x /= factor;
    y /= factor;
    SbPair root = sb_pair_root(sb_pair_add(sb_pair_product(x, x), sb_pair_product(y, y)));
    return (root.high + root.low) * factor;
}

// ---- hyperbolic ---------------------------------------------------------------------------------

// e^x as a pair, x from 0 to 700.
static SbPair exp_both(double x) {
    int k;
    SbPair y = sb_pair_add((SbPair){1, 0}, sb_exp_series(sb_exp_reduce((SbPair){x, 0}, &k)));
    double power = sb_pair_of_bits((uint64_t)(1023 + k) << 52);
    return (SbPair){y.high * power, y.low * power};
}

// sinh x for 0 <= x < 1: x + x^3/6 + ...
static SbPair small_sinh(double x) {
    double z = x * x, sum = 1.0 / 121645100408832000;
    static const double inverse[] = {1.0 / 355687428096000, 1.0 / 1307674368000, 1.0 / 6227020800,
                                     1.0 / 39916800, 1.0 / 362880, 1.0 / 5040, 1.0 / 120};
    for (int i = 0; i < 7; i++) sum = sum * z + inverse[i];
    SbPair cube = sb_pair_multiply(sb_pair_product(x, x), (SbPair){x, 0});
    SbPair sixth = sb_pair_multiply(cube, (SbPair){0x1.5555555555555p-3, 0x1.5555555555555p-57});
    return sb_pair_add((SbPair){x, 0}, sb_pair_fast(sixth.high, sixth.low + cube.high * z * sum));
}

static SbPair both(double x, double sign) {
    SbPair up = exp_both(x), down = sb_pair_divide((SbPair){1, 0}, up);
    SbPair sum = sb_pair_add(up, (SbPair){sign * down.high, sign * down.low});
    return (SbPair){sum.high / 2, sum.low / 2};
}

double sb_sinh(double x) {
    double size = __builtin_fabs(x);
    if (!(size >= 0x1p-28 && size < INF)) return x;
    if (size > 700) {
        double half = sb_exp(size / 2);
        return __builtin_copysign(half / 2 * half, x);
    }
    SbPair value = size < 1 ? small_sinh(size) : both(size, -1);
    return __builtin_copysign(value.high + value.low, x);
}

double sb_cosh(double x) {
    double size = __builtin_fabs(x);
    if (size != size) return x;
    if (size > 700) {
        double half = sb_exp(size / 2);
        return half / 2 * half;
    }
    SbPair value = both(size, 1);
    return value.high + value.low;
}

double sb_tanh(double x) {
    double size = __builtin_fabs(x);
    if (!(size >= 0x1p-28)) return x;
    if (size > 22) return __builtin_copysign(1, x);
    SbPair value = sb_pair_divide(size < 1 ? small_sinh(size) : both(size, -1), both(size, 1));
    return __builtin_copysign(value.high + value.low, x);
}
