// Pairs of doubles, high + low, that carry about 106 bits: Dekker 1971, without fused operations.
// Kernels for GPUs compile them too: who includes this file says what uint64_t is.
#ifndef SBC_STDLIB_MATH_PAIR_H
#define SBC_STDLIB_MATH_PAIR_H

typedef struct SbPair {
    double high, low;
} SbPair;

static inline SbPair sb_pair(double high, double low) {
    SbPair pair = {high, low};
    return pair;
}

static inline uint64_t sb_pair_bits(double x) {
    union { double value; uint64_t bits; } as = {x};
    return as.bits;
}

static inline double sb_pair_of_bits(uint64_t bits) {
    union { uint64_t bits; double value; } as = {bits};
    return as.value;
}

// a + b exactly, |a| >= |b|.
static inline SbPair sb_pair_fast(double a, double b) {
    double sum = a + b;
    return sb_pair(sum, b - (sum - a));
}

static inline SbPair sb_pair_sum(double a, double b) {
    double sum = a + b, part = sum - a;
    return sb_pair(sum, (a - (sum - part)) + (b - part));
}

// The upper 26 bits of a.
static inline double sb_pair_upper(double a) {
    return sb_pair_of_bits(sb_pair_bits(a) & ~(uint64_t)0x7ffffff);
}

// a b exactly, barring overflow and results under 2^-969.
static inline SbPair sb_pair_product(double a, double b) {
    double product = a * b, ah = sb_pair_upper(a), bh = sb_pair_upper(b), al = a - ah, bl = b - bh;
    return sb_pair(product, ((ah * bh - product) + ah * bl + al * bh) + al * bl);
}

static inline SbPair sb_pair_add(SbPair a, SbPair b) {
    SbPair sum = sb_pair_sum(a.high, b.high);
    return sb_pair_fast(sum.high, sum.low + a.low + b.low);
}

static inline SbPair sb_pair_multiply(SbPair a, SbPair b) {
    SbPair product = sb_pair_product(a.high, b.high);
    return sb_pair_fast(product.high, product.low + (a.high * b.low + a.low * b.high));
}

static inline SbPair sb_pair_divide(SbPair a, SbPair b) {
    double quotient = a.high / b.high;
    SbPair back = sb_pair_product(quotient, b.high);
    double rest = (a.high - back.high) - back.low + a.low - quotient * b.low;
    return sb_pair_fast(quotient, rest / b.high);
}

static inline SbPair sb_pair_root(SbPair a) {
    double root = __builtin_sqrt(a.high);
    if (root == 0) return sb_pair(0, 0);
    SbPair back = sb_pair_product(root, root);
    return sb_pair_fast(root, ((a.high - back.high) - back.low + a.low) / (2 * root));
}

static inline SbPair sb_pair_negate(SbPair a) { return sb_pair(-a.high, -a.low); }

#endif
