// Mathematics: the same bits on every CPU, within one unit in the last place.
//
// Elementary functions work on pairs of doubles where a double alone would lose digits, and never
// call the host's libm. Special values are those of C and IEEE 754.
#ifndef SBC_STDLIB_MATH_H
#define SBC_STDLIB_MATH_H

#include "runtime/abi/value.h"

double sb_exp(double x);
double sb_exp2(double x);
double sb_expm1(double x);
double sb_log(double x);
double sb_log2(double x);
double sb_log10(double x);
double sb_log1p(double x);
double sb_pow(double x, double y);
double sb_sqrt(double x);
double sb_cbrt(double x);
double sb_hypot(double x, double y);
double sb_sinh(double x);
double sb_cosh(double x);
double sb_tanh(double x);

// Of f32 (math_f32.h).
float sb_exp_f32(float x);
float sb_exp2_f32(float x);
float sb_expm1_f32(float x);
float sb_log_f32(float x);
float sb_log2_f32(float x);
float sb_log10_f32(float x);
float sb_log1p_f32(float x);
float sb_tanh_f32(float x);
float sb_sqrt_f32(float x);
float sb_abs_f32(float x);
float sb_sign_f32(float x);
float sb_floor_f32(float x);
float sb_ceil_f32(float x);
float sb_trunc_f32(float x);
float sb_round_f32(float x);
float sb_least_f32(float a, float b);
float sb_greatest_f32(float a, float b);
float sb_clamp_f32(float x, float low, float high);

double sb_sin(double x);
double sb_cos(double x);
double sb_tan(double x);
double sb_asin(double x);
double sb_acos(double x);
double sb_atan(double x);
double sb_atan2(double y, double x);
double sb_radians(double degrees);
double sb_degrees(double radians);

double sb_floor(double x);
double sb_ceil(double x);
double sb_trunc(double x);
double sb_round(double x);                            // Halves away from zero.
double sb_round_digits(double x, int64_t digits);     // Of the exact value of x; digits may be < 0.
int32_t sb_round_decimal(const SbType *type, SbDecimal x, int64_t digits, SbDecimal *out);
int32_t sb_floor_decimal(const SbType *type, SbDecimal x, SbDecimal *out);
int32_t sb_ceil_decimal(const SbType *type, SbDecimal x, SbDecimal *out);
SbDecimal sb_trunc_decimal(const SbType *type, SbDecimal x);
int32_t sb_round_whole_decimal(const SbType *type, SbDecimal x, SbDecimal *out);
bool sb_is_nan(double x);
bool sb_is_finite(double x);
bool sb_is_inf(double x);
double sb_round_even(double x);
double sb_log_base(double x, double base);
double sb_pi(void);

int32_t sb_abs_i64(int64_t x, int64_t *out);
int64_t sb_sign_i64(int64_t x);
double sb_abs_f64(double x);
double sb_sign_f64(double x);
SbDecimal sb_abs_decimal(SbDecimal x);
int64_t sb_sign_decimal(SbDecimal x);
int32_t sb_gcd(int64_t a, int64_t b, int64_t *out);
int32_t sb_lcm(int64_t a, int64_t b, int64_t *out);
int32_t sb_floor_div_i64(int64_t a, int64_t b, int64_t *out);
int32_t sb_floor_mod_i64(int64_t a, int64_t b, int64_t *out);
int32_t sb_parse_int(SbStr s, int64_t base, int64_t *out);
uint64_t sb_bit_and(uint64_t a, uint64_t b);
uint64_t sb_bit_or(uint64_t a, uint64_t b);
uint64_t sb_bit_xor(uint64_t a, uint64_t b);
uint64_t sb_bit_not(uint64_t x);
int64_t sb_bit_count(uint64_t x);
int32_t sb_shift_left(uint64_t x, int64_t bits, uint64_t *out);  // Bits fall off.
int32_t sb_shift_right_i64(int64_t x, int64_t bits, int64_t *out);
int32_t sb_shift_right_u64(uint64_t x, int64_t bits, uint64_t *out);
int32_t sb_pow_i64(int64_t base, int64_t exponent, int64_t *out);

// Of two values; nan is greatest, as in sort.
int64_t sb_least_i64(int64_t a, int64_t b);
int64_t sb_greatest_i64(int64_t a, int64_t b);
double sb_least_f64(double a, double b);
double sb_greatest_f64(double a, double b);
int64_t sb_clamp_i64(int64_t x, int64_t low, int64_t high);
double sb_clamp_f64(double x, double low, double high);

#endif
