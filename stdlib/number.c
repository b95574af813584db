// The short cuts of the number readers: up to eight characters in one word. Stages inline them.
#include "stdlib/number.h"

#define LIKELY(condition) __builtin_expect((condition), 1)

// A sign and one to eight digits: the usual integer. False: not of this form.
static inline bool read_short(const char *ptr, int64_t len, int64_t *value) {
    uint64_t minus = *ptr == '-';
    uint64_t count = (uint64_t)len - minus;
    if (!LIKELY(count - 1 < 8)) return false;
    uint64_t word = sb_digits_load(ptr + minus) << (64 - 8 * count);
    if (!LIKELY(sb_digits_wrong(word) == 0)) return false;
    int64_t digits = (int64_t)sb_digits_value(word);
    *value = minus ? -digits : digits;
    return true;
}

#define READ_SIGNED(name, T, low, high)                                                           \
    int32_t name(const char *ptr, int64_t len, T *out) {                                          \
        int64_t value;                                                                            \
        if (!LIKELY(read_short(ptr, len, &value) && value >= (low) && value <= (high))) {         \
            int32_t status = sb_read_signed(ptr, len, low, high, &value);                         \
            if (status != SB_OK) return status;                                                   \
        }                                                                                         \
        *out = (T)value;                                                                          \
        return SB_OK;                                                                             \
    }

#define READ_UNSIGNED(name, T, high)                                                              \
    int32_t name(const char *ptr, int64_t len, T *out) {                                          \
        int64_t small;                                                                            \
        if (LIKELY(read_short(ptr, len, &small) && (uint64_t)small <= (high))) {                  \
            *out = (T)small;                                                                      \
            return SB_OK;                                                                         \
        }                                                                                         \
        uint64_t value;                                                                           \
        int32_t status = sb_read_unsigned(ptr, len, high, &value);                                \
        if (status == SB_OK) *out = (T)value;                                                     \
        return status;                                                                            \
    }

READ_SIGNED(sb_read_i8, int8_t, INT8_MIN, INT8_MAX)
READ_SIGNED(sb_read_i16, int16_t, INT16_MIN, INT16_MAX)
READ_SIGNED(sb_read_i32, int32_t, INT32_MIN, INT32_MAX)
READ_SIGNED(sb_read_i64, int64_t, INT64_MIN, INT64_MAX)
READ_UNSIGNED(sb_read_u8, uint8_t, UINT8_MAX)
READ_UNSIGNED(sb_read_u16, uint16_t, UINT16_MAX)
READ_UNSIGNED(sb_read_u32, uint32_t, UINT32_MAX)

int32_t sb_read_u64(const char *ptr, int64_t len, uint64_t *out) {
    int64_t small;
    if (LIKELY(read_short(ptr, len, &small) && small >= 0)) {
        *out = (uint64_t)small;
        return SB_OK;
    }
    return sb_read_unsigned(ptr, len, UINT64_MAX, out);
}

// A sign and up to eight digits and point: digits are below 2^53 and the power of ten is exact, so
// one division rounds correctly (Clinger 1990). Of these at most 7 digits stand behind the point;
// then rounding to double first and to float next gives the same float as rounding once, since no
// quotient that is not a midpoint of floats itself lies within 2^-48 of one, relatively.
//
// No branch depends on the sign, on the length or on where the point stands: they come in no order.
[[gnu::always_inline]] static inline bool read_short_float(const char *ptr, int64_t len, char point,
                                                           double *value) {
    static const double powers[2][8] = {  // By sign and byte of the point in the word.
        {1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1e0},
        {-1e7, -1e6, -1e5, -1e4, -1e3, -1e2, -1e1, -1e0},
    };
    uint64_t minus = *ptr == '-';
    uint64_t count = (uint64_t)len - minus;
    if (!LIKELY(count - 1 < 8)) return false;
    uint64_t word = sb_digits_load(ptr + minus) << (64 - 8 * count);
    // Points, and what else is no digit, have this bit.
    uint64_t points = word & 0x1010101010101010, wrong = 0;
    unsigned at = 56;  // Of the point's byte; without one, as if it stood behind the last digit.
    if (LIKELY(points != 0)) {
        if (!LIKELY(count > 1)) return false;
        at = (unsigned)__builtin_ctzll(points) - 4;
        word ^= (uint64_t)(uint8_t)(point ^ '0') << at;
        wrong = word >> at & 0xff;  // It was another character.
        uint64_t before = word & ((UINT64_C(1) << at) - 1);
        wrong |= sb_digits_wrong(word);
        word = (word ^ before) | before << 8;  // What stands before the point moves up.
    } else {
        wrong = sb_digits_wrong(word);
    }
    if (!LIKELY(wrong == 0)) return false;
    *value = (double)(int64_t)sb_digits_value(word) / powers[minus][at / 8];
    return true;
}

[[gnu::always_inline]] static inline int32_t read_f64(const char *ptr, int64_t len, char point,
                                                       double *out) {
    if (LIKELY(read_short_float(ptr, len, point, out))) return SB_OK;
    return sb_read_f64_any(ptr, len, point, out);
}

int32_t sb_read_f64(const char *ptr, int64_t len, double *out) {
    return read_f64(ptr, len, '.', out);
}

int32_t sb_read_f64_point(const char *ptr, int64_t len, char point, double *out) {
    return read_f64(ptr, len, point, out);
}

[[gnu::always_inline]] static inline int32_t read_f32(const char *ptr, int64_t len, char point,
                                                       float *out) {
    double value;
    if (!LIKELY(read_short_float(ptr, len, point, &value))) {
        return sb_read_f32_any(ptr, len, point, out);
    }
    *out = (float)value;
    return SB_OK;
}

int32_t sb_read_f32(const char *ptr, int64_t len, float *out) {
    return read_f32(ptr, len, '.', out);
}

int32_t sb_read_f32_point(const char *ptr, int64_t len, char point, float *out) {
    return read_f32(ptr, len, point, out);
}

int32_t sb_read_bool(const char *ptr, int64_t len, uint8_t *out) {
    uint64_t word;
    __builtin_memcpy(&word, ptr, sizeof word);
    word |= 0x2020202020202020;
    if (len == 4 && (uint32_t)word == 0x65757274) {  // "true", first letter lowest.
        *out = 1;
        return SB_OK;
    }
    if (len == 5 && (word & 0xffffffffff) == 0x65736c6166) {  // "false"
        *out = 0;
        return SB_OK;
    }
    return SB_FAULT_BAD_BOOL;
}
