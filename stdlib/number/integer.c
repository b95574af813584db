// Integers: quotients that round down, bits, other bases.
#include "stdlib/number/math.h"
#include "stdlib/number/number.h"

int32_t sb_floor_div_i64(int64_t a, int64_t b, int64_t *out) {
    if (b == 0) return SB_FAULT_DIVIDE_BY_ZERO;
    if (a == INT64_MIN && b == -1) return SB_FAULT_OVERFLOW;
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return SB_OK;
}

int32_t sb_floor_mod_i64(int64_t a, int64_t b, int64_t *out) {
    if (b == 0) return SB_FAULT_DIVIDE_BY_ZERO;
    int64_t rest = b == -1 ? 0 : a % b;
    *out = rest && (rest < 0) != (b < 0) ? rest + b : rest;
    return SB_OK;
}

int32_t sb_lcm(int64_t a, int64_t b, int64_t *out) {
    *out = 0;
    if (a == 0 || b == 0) return SB_OK;
    int32_t status = sb_gcd(a, b, out);
    if (status != SB_OK) return status;
    int64_t product;
    if (__builtin_mul_overflow(a / *out, b, &product)) return SB_FAULT_OVERFLOW;
    return sb_abs_i64(product, out);
}

uint64_t sb_bit_and(uint64_t a, uint64_t b) { return a & b; }
uint64_t sb_bit_or(uint64_t a, uint64_t b) { return a | b; }
uint64_t sb_bit_xor(uint64_t a, uint64_t b) { return a ^ b; }
uint64_t sb_bit_not(uint64_t x) { return ~x; }
int64_t sb_bit_count(uint64_t x) { return __builtin_popcountll(x); }

int32_t sb_shift_left(uint64_t x, int64_t bits, uint64_t *out) {
    if (bits < 0 || bits > 63) return SB_FAULT_BAD_ARGUMENT;
    *out = x << bits;
    return SB_OK;
}

int32_t sb_shift_right_i64(int64_t x, int64_t bits, int64_t *out) {
    if (bits < 0 || bits > 63) return SB_FAULT_BAD_ARGUMENT;
    *out = x >> bits;
    return SB_OK;
}

int32_t sb_shift_right_u64(uint64_t x, int64_t bits, uint64_t *out) {
    if (bits < 0 || bits > 63) return SB_FAULT_BAD_ARGUMENT;
    *out = x >> bits;
    return SB_OK;
}

// [+-] digits of the base, letters in either case; nothing else.
int32_t sb_parse_int(SbStr s, int64_t base, int64_t *out) {
    if (base < 2 || base > 36) return SB_FAULT_BAD_ARGUMENT;
    bool minus = s.len && s.ptr[0] == '-';
    int64_t at = s.len && (minus || s.ptr[0] == '+'), value = 0;
    if (at == s.len) return SB_FAULT_BAD_INTEGER;
    for (; at < s.len; at++) {
        char c = s.ptr[at], letter = c | 0x20;
        bool is_letter = letter >= 'a' && letter <= 'z';
        int digit = sb_is_digit(c) ? c - '0' : is_letter ? letter - 'a' + 10 : 36;
        if (digit >= base) return SB_FAULT_BAD_INTEGER;
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, minus ? -digit : digit, &value))
            return SB_FAULT_OUT_OF_RANGE;
    }
    *out = value;
    return SB_OK;
}
