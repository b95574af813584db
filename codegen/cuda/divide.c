// Division of f32 by a constant c in two operations: fma(x, high, x * low). The sum of high and low
// is 1 / c to 48 bits and more.
//
// Source: Brisebarre, Muller and Raina, Accelerating correctly rounded floating-point division when
// the divisor is known in advance. IEEE Transactions on Computers 53, 2004.
//
// Before its last rounding the sum is within 2^-46 of x / c, relative to it. So it rounds as x / c
// does, unless the quotient is as near as that to a number halfway between two floats. With the
// significands X and C of x and c as whole numbers, the odd N halfway, and N / 2^s near X / C:
//
//   X * 2^s = C * N + R,   R is not 0,   |R| < 8,   s = 24 for X >= C, else 25
//
// Few X solve that, as N is known modulo a power of two once R is. Each is tried.
#include "codegen/cuda/divide.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { REST_MAX = 9, SIGNIFICAND = 24 };

static CudaInverse inverse_of(float c, bool cut) {
    double inverse = 1 / (double)c;
    CudaInverse is = {.high = (float)inverse, .signs = cut};
    // What is left is exact: the first product has 48 bits, and fma rounds it once.
    double rest = -fma((double)is.high, c, -1.0) / c;
    if (cut && rest != 0 && (rest < 0) != (c < 0)) {
        is.high = nextafterf(is.high, 0);
        rest = -fma((double)is.high, c, -1.0) / c;
    }
    is.low = (float)rest;
    return is;
}

static bool divides(float x, float c, CudaInverse by) {
    return fmaf(x, by.high, x * by.low) == x / c;
}

// The number whose product with an odd one is 1 modulo 2^64.
static uint64_t odd_inverse(uint64_t odd) {
    uint64_t is = odd;  // It is right for 3 bits, and each turn doubles them.
    for (int turn = 0; turn < 5; turn++) is *= 2 - odd * is;
    return is;
}

// Are all quotients right whose X and s leave the rest?
static bool divides_near(uint64_t c, int s, int64_t rest, CudaInverse by) {
    int zeros = __builtin_ctzll(c);
    if (rest % (1 << zeros)) return true;
    uint64_t step = UINT64_C(1) << (s - zeros), first = UINT64_C(1) << SIGNIFICAND;
    uint64_t r = (uint64_t)(-rest / (1 << zeros));
    uint64_t n = (r * odd_inverse(c >> zeros)) & (step - 1);
    if (!(n & 1)) return true;
    n += (first - n + step - 1) / step * step * (n < first);
    for (; n < 2 * first; n += step) {
        uint64_t x = (c * n + (uint64_t)rest) >> s;
        bool is_significand = x >= first / 2 && x < first && (x << s) == c * n + (uint64_t)rest;
        if (is_significand && !divides((float)x, (float)c, by)) return false;
    }
    return true;
}

static bool divides_all(float c, bool cut) {
    int exponent;
    float significand = ldexpf(frexpf(fabsf(c), &exponent), SIGNIFICAND);
    CudaInverse by = inverse_of(significand, cut);
    bool good = true;
    for (int64_t rest = -REST_MAX; good && rest <= REST_MAX; rest++)
        for (int s = SIGNIFICAND; rest && good && s <= SIGNIFICAND + 1; s++)
            good = divides_near((uint64_t)significand, s, rest, by);
    return good;
}

bool cuda_inverse(float c, CudaInverse *to) {
    int exponent;
    if (!isfinite(c) || c == 0 || (frexpf(c, &exponent), abs(exponent) > 26)) return false;
    bool cut = divides_all(c, true);
    *to = inverse_of(c, cut);
    return cut || divides_all(c, false);
}
