#include "codegen/reference/big.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { F64_DIGITS = 53, F32_DIGITS = 24 };

void big_add(Big *into, const Big *from) {
    uint64_t carry = 0;
    for (int i = 0; i < BIG_LIMBS; i++) {
        carry += (uint64_t)into->limb[i] + from->limb[i];
        into->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

void big_negate(Big *big) {
    uint64_t carry = 1;
    for (int i = 0; i < BIG_LIMBS; i++) {
        carry += (uint32_t)~big->limb[i];
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

bool big_is_negative(const Big *big) { return big->limb[BIG_LIMBS - 1] >> 31; }

void big_add_i128(Big *into, __int128 number, unsigned shift) {
    Big term = {0};
    bool negative = number < 0;
    unsigned __int128 size = negative ? -(unsigned __int128)number : (unsigned __int128)number;
    for (unsigned i = shift / 32, bits = shift % 32; size; i++, bits = 0) {
        uint64_t low = (uint64_t)(uint32_t)(size << bits);
        term.limb[i] = (uint32_t)low;
        size >>= 32 - bits;
    }
    if (negative) big_negate(&term);
    big_add(into, &term);
}

void big_add_f64(Big *into, double f) {
    int exponent;
    double fraction = frexp(f, &exponent);
    if (f == 0) return;
    // f = mantissa * 2^(exponent - 53); the least exponent of an f64 is -1073.
    int64_t mantissa = (int64_t)ldexp(fraction, F64_DIGITS);
    int shift = exponent - F64_DIGITS - BIG_HALF_UNIT;
    // Of a subnormal the low bits are zero: shift them out.
    while (shift < 0) mantissa /= 2, shift++;
    big_add_i128(into, mantissa, (unsigned)shift);
}

Big big_of(uint64_t number) {
    return (Big){.limb = {(uint32_t)number, (uint32_t)(number >> 32)}};
}

Big big_product(const Big *a, const Big *b) {
    Big x = *a, y = *b, out = {0};
    bool negative = big_is_negative(a) != big_is_negative(b);
    if (big_is_negative(a)) big_negate(&x);
    if (big_is_negative(b)) big_negate(&y);
    for (int i = 0; i < BIG_LIMBS; i++) {
        uint64_t carry = 0;
        for (int k = 0; x.limb[i] && i + k < BIG_LIMBS; k++) {
            carry += (uint64_t)x.limb[i] * y.limb[k] + out.limb[i + k];
            out.limb[i + k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    if (negative) big_negate(&out);
    return out;
}

// strtod of the digits.
double big_decimal(const Big *big, unsigned scale) {
    enum { DIGITS_MAX = 32 * BIG_LIMBS / 3, EXPONENT_MAX = 16 };
    char text[DIGITS_MAX + EXPONENT_MAX], *end = text + DIGITS_MAX, *at = end;
    Big rest = *big;
    bool negative = big_is_negative(big), more = true;
    if (negative) big_negate(&rest);
    while (more) {
        uint64_t digit = 0;
        more = false;
        for (int i = BIG_LIMBS - 1; i >= 0; i--) {
            digit = digit << 32 | rest.limb[i];
            rest.limb[i] = (uint32_t)(digit / 10);
            more |= rest.limb[i] != 0;
            digit %= 10;
        }
        *--at = (char)('0' + digit);
    }
    snprintf(end, EXPONENT_MAX, "e-%u", scale);
    double f = strtod(at, nullptr);
    return negative ? -f : f;
}

static bool bit_at(const Big *big, int i) {
    return i >= 0 && (big->limb[i / 32] >> (i % 32) & 1);
}

static bool any_below(const Big *big, int i) {
    for (int k = 0; k < i; k++) {
        if (bit_at(big, k)) return true;
    }
    return false;
}

double big_round(const Big *big, int unit, int bits) {
    Big size = *big;
    bool negative = big_is_negative(big);
    if (negative) big_negate(&size);
    int top = BIG_LIMBS * 32 - 1;
    while (top >= 0 && !bit_at(&size, top)) top--;
    if (top < 0) return 0.0;
    // Subnormal results have fewer digits: the last one is never below the type's least.
    int least = bits == F64_DIGITS ? -1074 : -149;
    int last = top - bits + 1;
    if (last + unit < least) last = least - unit;
    uint64_t mantissa = 0;
    for (int i = top; i >= last; i--) mantissa = mantissa << 1 | bit_at(&size, i);
    bool half = bit_at(&size, last - 1);
    if (half && (mantissa & 1 || any_below(&size, last - 1))) mantissa++;
    double f = ldexp((double)mantissa, last + unit);
    if (bits == F32_DIGITS && f > 0x1.fffffep127) f = (double)INFINITY;
    return negative ? -f : f;
}
