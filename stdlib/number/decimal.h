// Decimals: an integer times 10^-scale. Text, alignment, checked arithmetic.
//
// Here every decimal is 128 bits wide; one of precision <= 18 fits an int64_t. Arithmetic works on
// operands of one scale (sb_decimal_rescale) and checks the result against the precision.
#ifndef SBC_STDLIB_DECIMAL_H
#define SBC_STDLIB_DECIMAL_H

#include "runtime/abi/value.h"

enum { SB_DECIMAL_DIGITS = 38, SB_DECIMAL_MAX = 48 };  // Bytes that put writes.

extern const SbDecimal sb_powers_of_ten_128[SB_DECIMAL_DIGITS + 1];

static inline SbDecimal sb_decimal_tens(unsigned power) { return sb_powers_of_ten_128[power]; }

// |x| < 10^precision
static inline bool sb_decimal_fits(SbDecimal x, unsigned precision) {
    SbDecimal limit = sb_decimal_tens(precision);
    return x < limit && x > -limit;
}

// ---- text ---------------------------------------------------------------------------------------

// [+-] digits [point digits], spaces around it ignored; with `exponent` also [e [+-] digits], as in
// JSON. Digits after the scale must be zeros. SB_OK or SB_FAULT_BAD_DECIMAL.
typedef struct SbDecimalForm {
    uint8_t precision, scale;
    char    point;
    bool    exponent;
} SbDecimalForm;

int32_t sb_read_decimal(const char *ptr, int64_t len, SbDecimalForm form, SbDecimal *out);
// Of precision <= 18. The first inlines what money looks like, up to sixteen digits and point, and
// leaves the rest to the second.
int32_t sb_read_decimal64(const char *ptr, int64_t len, SbDecimalForm form, int64_t *out);
int32_t sb_read_decimal64_any(const char *ptr, int64_t len, SbDecimalForm form, int64_t *out);

// Exactly `scale` digits after the point; no point when there are none.
char *sb_put_decimal(char *out, SbDecimal x, unsigned scale, char point);

// ---- arithmetic: SB_OK or SB_FAULT_OVERFLOW -----------------------------------------------------

int32_t sb_decimal_add(SbDecimal a, SbDecimal b, uint32_t precision, SbDecimal *out);
int32_t sb_decimal_sub(SbDecimal a, SbDecimal b, uint32_t precision, SbDecimal *out);
// Scales add up: no alignment.
int32_t sb_decimal_mul(SbDecimal a, SbDecimal b, uint32_t precision, SbDecimal *out);

// To another scale. OVERFLOW when it does not fit, BAD_CAST when digits other than zero would be
// lost.
int32_t sb_decimal_rescale(SbDecimal x, uint32_t from, uint32_t to, uint32_t precision,
                           SbDecimal *out);

// -1, 0, 1 for any two scales; never overflows.
int32_t sb_decimal_compare(SbDecimal a, uint32_t a_scale, SbDecimal b, uint32_t b_scale);

// Rounded to `digits` after the point, halves away from zero; the scale stays.
int32_t sb_decimal_round(SbDecimal x, uint32_t scale, int64_t digits, SbDecimal *out);

// The nearest f64, ties to even.
double sb_decimal_f64(SbDecimal x, uint32_t scale);
// The same, where the units fit 64 bits; stages inline it.
double sb_decimal64_f64(int64_t x, uint32_t scale);

// The same of a number of up to SB_DECIMAL_WORDS words, lowest first, times 10^-scale, scale <= 76.
enum { SB_DECIMAL_WORDS = 6 };
double sb_words_f64(const uint64_t *words, int count, uint32_t scale);

#endif
