// Text to integers and floats and back: readers for fields of text formats, and shortest printing.
//
// Readers take the bytes of a field (readable SB_SLACK past its end), and ignore spaces and tabs
// around a number. They return SB_OK or a fault. BAD_INTEGER, BAD_FLOAT or BAD_BOOL is for what is
// no such value, OUT_OF_RANGE for a number that the type cannot hold. `out` is written only on
// SB_OK.
//
//   integer  [+-] digits
//   float    [+-] digits [point digits] [e [+-] digits], digits on one side of the point suffice;
//            [+-] inf, infinity or nan in any case. Rounded to nearest, ties to even, at any
// length;
//            what is too small becomes a subnormal or zero.
//   bool     true or false in any case, without spaces
// JSON numbers are a subset of both forms: what a JSON scanner found valid is read by the same
// calls.
#ifndef SBC_STDLIB_NUMBER_H
#define SBC_STDLIB_NUMBER_H

#include "runtime/abi/value.h"

#include "stdlib/number/half.h"

int32_t sb_read_bool(const char *ptr, int64_t len, uint8_t *out);
int32_t sb_read_i8(const char *ptr, int64_t len, int8_t *out);
int32_t sb_read_i16(const char *ptr, int64_t len, int16_t *out);
int32_t sb_read_i32(const char *ptr, int64_t len, int32_t *out);
int32_t sb_read_i64(const char *ptr, int64_t len, int64_t *out);
int32_t sb_read_u8(const char *ptr, int64_t len, uint8_t *out);
int32_t sb_read_u16(const char *ptr, int64_t len, uint16_t *out);
int32_t sb_read_u32(const char *ptr, int64_t len, uint32_t *out);
int32_t sb_read_u64(const char *ptr, int64_t len, uint64_t *out);
int32_t sb_read_f32(const char *ptr, int64_t len, float *out);
int32_t sb_read_f64(const char *ptr, int64_t len, double *out);
int32_t sb_read_f16(const char *ptr, int64_t len, uint16_t *out);  // Bits: stdlib/number/half.h.
int32_t sb_read_bf16(const char *ptr, int64_t len, uint16_t *out);

// With another decimal point: ',' or any other single byte that is no digit, sign or letter.
int32_t sb_read_f32_point(const char *ptr, int64_t len, char point, float *out);
int32_t sb_read_f64_point(const char *ptr, int64_t len, char point, double *out);
int32_t sb_read_f16_point(const char *ptr, int64_t len, char point, uint16_t *out);
int32_t sb_read_bf16_point(const char *ptr, int64_t len, char point, uint16_t *out);

// Writers put at most SB_NUMBER_MAX bytes and return the end. Floats are the fewest digits that
// read back to the same value, of those the closest, laid out as Python's repr: 1.0, 0.0001, 1e-05,
// 1e+16, nan, -inf.
enum { SB_NUMBER_MAX = 32 };

char *sb_put_i64(char *out, int64_t value);
char *sb_put_u64(char *out, uint64_t value);
char *sb_put_f32(char *out, float value);
char *sb_put_f64(char *out, double value);
char *sb_put_f16(char *out, float value);   // One that the type holds.
char *sb_put_bf16(char *out, float value);

// Floats of any width by their type, which is not nullable.
double  sb_float_value(const SbType *type, const void *value);
int32_t sb_read_float(const SbType *type, const char *ptr, int64_t len, void *out);
char   *sb_put_float(char *out, const SbType *type, const void *value);
// The f16 or bf16 nearest to x.
void    sb_store_half(const SbType *type, double x, void *out);

// ---- the parts after, for stdlib/ -------------------------------------------------------------

// Any text of an integer, of any length, within low..high. What the short cuts leave.
int32_t sb_read_signed(const char *ptr, int64_t len, int64_t low, int64_t high, int64_t *out);
int32_t sb_read_unsigned(const char *ptr, int64_t len, uint64_t high, uint64_t *out);
int32_t sb_read_f32_any(const char *ptr, int64_t len, char point, float *out);
int32_t sb_read_f64_any(const char *ptr, int64_t len, char point, double *out);

// A number as RFC 8259 spells it, without spaces: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]?
// [0-9]+)?
bool sb_is_json_number(const char *ptr, int64_t len);

// Decimal digits of the value, at least 1.
int  sb_digit_count(uint64_t value);
// The last `count` digits of the value, and zeros before them if it has fewer. No more is written.
void sb_put_digits(char *out, uint64_t value, int count);

// The 128-bit power of ten: 10^q = (high * 2^64 + low) * 2^(floor(q log2 10) - 127), rounded down;
// exact for 0 <= q <= SB_POWER_EXACT_MAX.
typedef struct SbPower {
    uint64_t high, low;
} SbPower;

enum { SB_POWER_MIN = -342, SB_POWER_MAX = 324, SB_POWER_EXACT_MAX = 55 };

extern const SbPower sb_powers_of_ten[SB_POWER_MAX - SB_POWER_MIN + 1];

// Eight digits at a time. A word holds eight characters xor '0', the first one lowest; characters
// before the first digit are zero.
static inline uint64_t sb_digits_load(const char *ptr) {
    uint64_t word;
    __builtin_memcpy(&word, ptr, sizeof word);
    return word ^ 0x3030303030303030;
}

// Bit 7 of each byte that is no digit. Carries only ever leave a byte that is marked itself, so
// the lowest mark is always right.
static inline uint64_t sb_digits_wrong(uint64_t word) {
    return ((word + 0x7676767676767676) | word) & 0x8080808080808080;
}

static inline uint64_t sb_digits_value(uint64_t word) {
    word = word * 10 + (word >> 8);
    return ((word & 0x000000ff000000ff) * 0x000f424000000064 +
            ((word >> 16) & 0x000000ff000000ff) * 0x0000271000000001) >> 32;
}

static inline bool sb_is_digit(char c) { return (unsigned char)(c - '0') < 10; }

#endif
