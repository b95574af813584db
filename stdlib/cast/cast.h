// Casts between types other than plain integers and floats: sb_cast_FROM_TO.
//
// SB_OK, or the fault of the target's reader for text (BAD_INTEGER, ... OUT_OF_RANGE), BAD_CAST for
// a value that the target cannot hold (docs/casts.md).
//
//   str -> bool i8..u64 f32 f64 decimal date timestamp duration   as a CSV field is read
//   bool -> i64 (0, 1)      i64, u64 -> decimal      f64 -> decimal: by its shortest digits
//   decimal -> i64 u64 (whole numbers)  f64 f32 (nearest)  decimal (sb_decimal_rescale)
//   f64 -> i64 u64 (whole numbers)  f32 (nearest; BAD_CAST beyond)
//   i64, u64 -> f64, f32 (BAD_CAST unless exact)
//   date -> timestamp (midnight UTC)   timestamp -> date (the day that holds it)
//   timestamp -> timestamp: sb_timestamp_rescale of stdlib/time/date.h
// Narrower integers widen to i64 or u64 first; narrower targets are range checks of generated code.
#ifndef SBC_STDLIB_CAST_H
#define SBC_STDLIB_CAST_H

#include "runtime/abi/call.h"

// Any of these by the two types, neither nullable; a fault leaves the offending text in
// call->detail. `value` and `out` are in memory layout. What docs/casts.md gives BAD_CAST is
// BAD_CAST.
int32_t sb_cast(SbCall *call, const SbType *from, const void *value, const SbType *to, void *out);

int32_t sb_cast_str_bool(SbStr x, bool *out);
int32_t sb_cast_str_i8(SbStr x, int8_t *out);
int32_t sb_cast_str_i16(SbStr x, int16_t *out);
int32_t sb_cast_str_i32(SbStr x, int32_t *out);
int32_t sb_cast_str_i64(SbStr x, int64_t *out);
int32_t sb_cast_str_u8(SbStr x, uint8_t *out);
int32_t sb_cast_str_u16(SbStr x, uint16_t *out);
int32_t sb_cast_str_u32(SbStr x, uint32_t *out);
int32_t sb_cast_str_u64(SbStr x, uint64_t *out);
int32_t sb_cast_str_f32(SbStr x, float *out);
int32_t sb_cast_str_f64(SbStr x, double *out);
int32_t sb_cast_str_decimal(SbStr x, uint32_t precision, uint32_t scale, SbDecimal *out);
int32_t sb_cast_str_date(SbStr x, int32_t *out);
int32_t sb_cast_str_timestamp(SbStr x, uint32_t unit, int64_t *out);
int32_t sb_cast_str_duration(SbStr x, int64_t *out);

int32_t sb_cast_i64_decimal(int64_t x, uint32_t precision, uint32_t scale, SbDecimal *out);
int32_t sb_cast_u64_decimal(uint64_t x, uint32_t precision, uint32_t scale, SbDecimal *out);
int32_t sb_cast_f64_decimal(double x, uint32_t precision, uint32_t scale, SbDecimal *out);

int32_t sb_cast_decimal_i64(SbDecimal x, uint32_t scale, int64_t *out);
int32_t sb_cast_decimal_u64(SbDecimal x, uint32_t scale, uint64_t *out);
double  sb_cast_decimal_f64(SbDecimal x, uint32_t scale);
float   sb_cast_decimal_f32(SbDecimal x, uint32_t scale);

int32_t sb_cast_f64_i64(double x, int64_t *out);
int32_t sb_cast_f64_u64(double x, uint64_t *out);
int32_t sb_cast_f64_f32(double x, float *out);
int32_t sb_cast_i64_f64(int64_t x, double *out);
int32_t sb_cast_u64_f64(uint64_t x, double *out);
int32_t sb_cast_i64_f32(int64_t x, float *out);
int32_t sb_cast_u64_f32(uint64_t x, float *out);

int32_t sb_cast_date_timestamp(int32_t x, uint32_t unit, int64_t *out);
int32_t sb_cast_timestamp_date(int64_t x, uint32_t unit, int32_t *out);

#endif
