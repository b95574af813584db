// Big: exact sums of floats and of their squares, as one wide integer of a fixed unit.
#ifndef SBC_CODEGEN_REFERENCE_BIG_H
#define SBC_CODEGEN_REFERENCE_BIG_H

#include <stdint.h>

// 2^-2160 is below the square of the least f64; 2^2448 is above n times a sum of 2^63 squares of
// the greatest.
enum { BIG_LIMBS = 144, BIG_UNIT = -2160, BIG_HALF_UNIT = -1080 };

// A number in two's complement, lowest limb first; its unit is known by who uses it.
typedef struct Big {
    uint32_t limb[BIG_LIMBS];
} Big;

void big_add(Big *into, const Big *from);
void big_negate(Big *big);
bool big_is_negative(const Big *big);
// Adds the finite `f` in units of 2^BIG_HALF_UNIT.
void big_add_f64(Big *into, double f);
void big_add_i128(Big *into, __int128 number, unsigned shift);
// a * b, which must fit.
Big  big_product(const Big *a, const Big *b);
Big  big_of(uint64_t number);
// big * 10^-scale, rounded to the nearest f64.
double big_decimal(const Big *big, unsigned scale);
// big * 2^unit, rounded to the nearest number of `bits` binary digits (53 or 24), ties to even;
// infinite beyond the type.
double big_round(const Big *big, int unit, int bits);

#endif
