// f16 and bf16: floats of 16 bits. Their values are computed with as f32, which holds all of them.
//
//   f16   1 sign  5 exponent  10 fraction     up to 65,504, from 2^-24 on
//   bf16  1 sign  8 exponent   7 fraction     the upper half of an f32
//
// Rounding is to nearest, ties to even, once from the f64 that is given. Adding 1.5 * 2^(e + 52 -
// digits) leaves a number so many digits of its own. There e is its exponent, or the least one of a
// normal number. What is beyond the largest becomes infinite. A NaN becomes the quiet one without a
// sign.
//
// The library, the interpreter's tests and kernels for GPUs take these functions in.
#ifndef SBC_STDLIB_HALF_H
#define SBC_STDLIB_HALF_H

typedef struct SbHalf {
    int fraction, least;  // Bits of the fraction; the exponent of the least normal number.
    double most;          // The largest number.
} SbHalf;

#define SB_HALF_F16 {10, -14, 65504.0}
#define SB_HALF_BF16 {7, -126, 0x1.fep127}

typedef union SbHalfBits64 {
    double   value;
    uint64_t bits;
} SbHalfBits64;

typedef union SbHalfBits32 {
    float    value;
    uint32_t bits;
} SbHalfBits32;

// The nearest value of the type.
static inline double sb_half_round(double x, SbHalf half) {
    const int bias = 1023, digits = 52;
    SbHalfBits64 own, add;
    own.value = x;
    int e = (int)(own.bits >> digits & 0x7ff) - bias;
    if (e < half.least) e = half.least;
    if (e > 128) e = 128;  // Beyond the largest, or no number.
    add.bits = (uint64_t)(e + digits - half.fraction + bias) << digits;
    add.bits |= (uint64_t)1 << (digits - 1);
    double size = __builtin_fabs(x + add.value - add.value);
    if (size > half.most) size = (double)__builtin_inff();
    return __builtin_copysign(size, x);
}

static inline float sb_f16_f32(uint16_t x) {
    SbHalfBits32 wide;
    uint32_t size = x & 0x7fffu, sign = (uint32_t)(x & 0x8000u) << 16;
    wide.bits = size << 13;  // Too small by the difference of the biases.
    wide.value *= 0x1p112f;
    if (size >= 0x7c00u) wide.bits = size > 0x7c00u ? 0x7fc00000u : 0x7f800000u;
    if (size <= 0x7c00u) wide.bits |= sign;
    return wide.value;
}

static inline float sb_bf16_f32(uint16_t x) {
    SbHalfBits32 wide;
    wide.bits = (x & 0x7fffu) > 0x7f80u ? 0x7fc00000u : (uint32_t)x << 16;
    return wide.value;
}

static inline uint16_t sb_f64_f16(double x) {
    const SbHalf half = SB_HALF_F16;
    SbHalfBits32 wide;
    wide.value = (float)sb_half_round(x, half);
    uint16_t sign = (uint16_t)(wide.bits >> 16 & 0x8000u);
    if (x != x) return 0x7e00;
    wide.bits &= 0x7fffffffu;
    if (wide.bits == 0x7f800000u) return sign | 0x7c00;
    wide.value *= 0x1p-112f;
    return (uint16_t)(sign | wide.bits >> 13);
}

static inline uint16_t sb_f64_bf16(double x) {
    const SbHalf half = SB_HALF_BF16;
    SbHalfBits32 wide;
    wide.value = (float)sb_half_round(x, half);
    return x != x ? 0x7fc0 : (uint16_t)(wide.bits >> 16);
}

#endif
