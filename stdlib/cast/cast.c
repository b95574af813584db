// Casts: text by the readers, numbers by checked conversion.
#include "stdlib/cast/cast.h"

#include "stdlib/number.h"
#include "stdlib/time.h"

#define FROM_STR(name, T)                                                                         \
    int32_t sb_cast_str_##name(SbStr x, T *out) { return sb_read_##name(x.ptr, x.len, out); }

FROM_STR(i8, int8_t)
FROM_STR(i16, int16_t)
FROM_STR(i32, int32_t)
FROM_STR(i64, int64_t)
FROM_STR(u8, uint8_t)
FROM_STR(u16, uint16_t)
FROM_STR(u32, uint32_t)
FROM_STR(u64, uint64_t)
FROM_STR(f32, float)
FROM_STR(f64, double)
FROM_STR(date, int32_t)
FROM_STR(duration, int64_t)

int32_t sb_cast_str_bool(SbStr x, bool *out) {
    uint8_t value;
    int32_t status = sb_read_bool(x.ptr, x.len, &value);
    if (status == SB_OK) *out = value;
    return status;
}

int32_t sb_cast_str_decimal(SbStr x, uint32_t precision, uint32_t scale, SbDecimal *out) {
    SbDecimalForm form = {(uint8_t)precision, (uint8_t)scale, '.', true};
    return sb_read_decimal(x.ptr, x.len, form, out);
}

int32_t sb_cast_str_timestamp(SbStr x, uint32_t unit, int64_t *out) {
    return sb_read_timestamp(x.ptr, x.len, unit, nullptr, out);
}

// ---- decimals -----------------------------------------------------------------------------------

static int32_t to_decimal(SbDecimal x, uint32_t precision, uint32_t scale, SbDecimal *out) {
    return sb_decimal_rescale(x, 0, scale, precision, out) == SB_OK ? SB_OK : SB_FAULT_BAD_CAST;
}

int32_t sb_cast_i64_decimal(int64_t x, uint32_t precision, uint32_t scale, SbDecimal *out) {
    return to_decimal(x, precision, scale, out);
}

int32_t sb_cast_u64_decimal(uint64_t x, uint32_t precision, uint32_t scale, SbDecimal *out) {
    return to_decimal(x, precision, scale, out);
}

// 0.1 is decimal 0.1, as it is written, although the float lies beside it.
int32_t sb_cast_f64_decimal(double x, uint32_t precision, uint32_t scale, SbDecimal *out) {
    char text[SB_NUMBER_MAX + SB_SLACK] = {};
    SbDecimalForm form = {(uint8_t)precision, (uint8_t)scale, '.', true};
    int32_t status = sb_read_decimal(text, sb_put_f64(text, x) - text, form, out);
    return status == SB_OK ? SB_OK : SB_FAULT_BAD_CAST;
}

static int32_t whole(SbDecimal x, uint32_t scale, SbDecimal *out) {
    SbDecimal tens = sb_decimal_tens(scale);
    *out = x / tens;
    return x % tens ? SB_FAULT_BAD_CAST : SB_OK;
}

int32_t sb_cast_decimal_i64(SbDecimal x, uint32_t scale, int64_t *out) {
    SbDecimal value;
    int32_t status = whole(x, scale, &value);
    if (status != SB_OK) return status;
    if (value < INT64_MIN || value > INT64_MAX) return SB_FAULT_BAD_CAST;
    *out = (int64_t)value;
    return SB_OK;
}

int32_t sb_cast_decimal_u64(SbDecimal x, uint32_t scale, uint64_t *out) {
    SbDecimal value;
    int32_t status = whole(x, scale, &value);
    if (status != SB_OK) return status;
    if (value < 0 || value > UINT64_MAX) return SB_FAULT_BAD_CAST;
    *out = (uint64_t)value;
    return SB_OK;
}

double sb_cast_decimal_f64(SbDecimal x, uint32_t scale) { return sb_decimal_f64(x, scale); }

float sb_cast_decimal_f32(SbDecimal x, uint32_t scale) {
    char text[SB_DECIMAL_MAX + SB_SLACK] = {};
    float value = 0;  // Every decimal is in the range of f32.
    sb_read_f32_any(text, sb_put_decimal(text, x, scale, '.') - text, '.', &value);
    return value;
}

// ---- floats -------------------------------------------------------------------------------------

int32_t sb_cast_f64_i64(double x, int64_t *out) {
    if (!(x >= -0x1p63 && x < 0x1p63)) return SB_FAULT_BAD_CAST;
    *out = (int64_t)x;
    return (double)*out == x ? SB_OK : SB_FAULT_BAD_CAST;
}

int32_t sb_cast_f64_u64(double x, uint64_t *out) {
    if (!(x >= 0 && x < 0x1p64)) return SB_FAULT_BAD_CAST;
    *out = (uint64_t)x;
    return (double)*out == x ? SB_OK : SB_FAULT_BAD_CAST;
}

int32_t sb_cast_f64_f32(double x, float *out) {
    *out = (float)x;
    bool over = __builtin_isinf(*out) && !__builtin_isinf(x);
    return over ? SB_FAULT_BAD_CAST : SB_OK;
}

// Back as 128 bits: 2^63 and 2^64 are in its range.
#define TO_FLOAT(from, From, to, To)                                                              \
    int32_t sb_cast_##from##_##to(From x, To *out) {                                              \
        *out = (To)x;                                                                             \
        return (__int128)*out == x ? SB_OK : SB_FAULT_BAD_CAST;                                   \
    }

TO_FLOAT(i64, int64_t, f64, double)
TO_FLOAT(u64, uint64_t, f64, double)
TO_FLOAT(i64, int64_t, f32, float)
TO_FLOAT(u64, uint64_t, f32, float)

// ---- dates --------------------------------------------------------------------------------------

int32_t sb_cast_date_timestamp(int32_t x, uint32_t unit, int64_t *out) {
    return sb_timestamp_of(x, 0, 0, unit, out) == SB_OK ? SB_OK : SB_FAULT_BAD_CAST;
}

int32_t sb_cast_timestamp_date(int64_t x, uint32_t unit, int32_t *out) {
    int64_t days = sb_floor_div(x, SB_DAY_S * sb_unit_scale(unit));
    if (days < INT32_MIN || days > INT32_MAX) return SB_FAULT_BAD_CAST;
    *out = (int32_t)days;
    return SB_OK;
}
