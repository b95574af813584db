// The short cuts of the number readers: up to sixteen characters in one vector. Stages inline them.
#include "stdlib/number/number.h"

#include "stdlib/number/decimal.h"
#include "stdlib/number/digits.h"

#define LIKELY(condition) __builtin_expect((condition), 1)

// A sign and one to sixteen digits: the usual integer. False: not of this form.
static inline bool read_short(const char *ptr, int64_t len, int64_t *value) {
    const int64_t minus = *ptr == '-', count = len - minus;
    if (!LIKELY((uint64_t)count - 1 < PLACES)) return false;
    const __m128i digits = digits_of(load(ptr + minus), load(move_last + count));
    if (!LIKELY(all_digits(digits))) return false;
    *value = ((int64_t)value_of(digits) ^ -minus) + minus;
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

// What is read in short: `len` characters, after a sign at most `most` digits and `point`.
typedef struct ShortForm {
    int64_t  len;
    uint64_t most;
    char     point;
} ShortForm;

typedef struct ShortDigits {
    uint64_t whole;   // All digits as one number.
    uint64_t behind;  // How many of the digits stand after the point.
    uint64_t minus;   // 1: a minus stands before the digits.
} ShortDigits;

// A sign and up to `most` digits and point, `most` up to sixteen. False: not of this form.
//
// No branch depends on the sign, on the length or on where the point stands: they come in no order.
[[gnu::always_inline]] static inline bool read_short_digits(const char *ptr, ShortForm form,
                                                            ShortDigits *out) {
    const uint64_t minus = *ptr == '-', count = (uint64_t)form.len - minus;
    if (!LIKELY(count - 1 < form.most)) return false;
    const __m128i text = load(ptr + minus);
    const __m128i points = _mm_cmpeq_epi8(text, _mm_set1_epi8(form.point));
    // Where the first point is; without one, after the last digit.
    const uint64_t at = _tzcnt_u32((uint32_t)_mm_movemask_epi8(points) | UINT32_C(1) << count);
    const uint64_t digit_count = count - (at < count), behind = digit_count - at;
    // What stands after the point is one character further on.
    const __m128i moves = _mm_sub_epi8(load(move_last + digit_count), load(are_last + behind));
    const __m128i digits = digits_of(text, moves);
    if (!LIKELY(all_digits(digits) && digit_count)) return false;
    *out = (ShortDigits){value_of(digits), behind, minus};
    return true;
}

// Digits up to 2^53 and the power of ten are exact, so one division rounds correctly (Clinger
// 1990).
[[gnu::always_inline]] static inline bool read_short_float(const char *ptr, ShortForm form,
                                                           double *value) {
    static const double powers[2][PLACES] = {  // By sign and digits after the point.
        {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15},
        {-1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8, -1e9, -1e10, -1e11, -1e12, -1e13,
         -1e14, -1e15},
    };
    ShortDigits digits;
    if (!LIKELY(read_short_digits(ptr, form, &digits))) return false;
    if (!LIKELY(digits.whole <= UINT64_C(1) << 53)) return false;
    *value = (double)(int64_t)digits.whole / powers[digits.minus][digits.behind];
    return true;
}

[[gnu::always_inline]] static inline int32_t read_f64(const char *ptr, int64_t len, char point,
                                                       double *out) {
    const ShortForm form = {len, PLACES, point};
    if (LIKELY(read_short_float(ptr, form, out))) return SB_OK;
    return sb_read_f64_any(ptr, len, point, out);
}

int32_t sb_read_f64(const char *ptr, int64_t len, double *out) {
    return read_f64(ptr, len, '.', out);
}

int32_t sb_read_f64_point(const char *ptr, int64_t len, char point, double *out) {
    return read_f64(ptr, len, point, out);
}

// Of eight digits and point at most 7 digits stand after the point; then rounding to double first
// and to float next gives the same float as rounding once, since no quotient that is not a midpoint
// of floats itself lies within 2^-48 of one, relatively.
[[gnu::always_inline]] static inline int32_t read_f32(const char *ptr, int64_t len, char point,
                                                       float *out) {
    const ShortForm form = {len, 8, point};
    double value;
    if (!LIKELY(read_short_float(ptr, form, &value))) {
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

// The digits count units of the scale: those that the text leaves out are zeros.
int32_t sb_read_decimal64(const char *ptr, int64_t len, SbDecimalForm form, int64_t *out) {
    static const uint64_t tens[] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
        100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
        10000000000000000, 100000000000000000, 1000000000000000000,
    };
    ShortDigits digits;
    const ShortForm shape = {len, PLACES, form.point};
    if (LIKELY(read_short_digits(ptr, shape, &digits) && digits.behind <= form.scale)) {
        const uint64_t zeros = form.scale - digits.behind;
        if (LIKELY(digits.whole < tens[form.precision - zeros])) {
            const int64_t value = (int64_t)(digits.whole * tens[zeros]);
            *out = (value ^ -(int64_t)digits.minus) + (int64_t)digits.minus;
            return SB_OK;
        }
    }
    return sb_read_decimal64_any(ptr, len, form, out);
}

double sb_decimal64_f64(int64_t x, uint32_t scale) {
    static const double powers[PLACES] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const int64_t exact = INT64_C(1) << 53;
    if (LIKELY(scale < PLACES && x <= exact && x >= -exact)) return (double)x / powers[scale];
    return sb_decimal_f64(x, scale);
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
