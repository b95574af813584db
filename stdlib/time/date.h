// Dates, timestamps and durations: calendar arithmetic, and their texts (docs/text_forms.md).
//
// date: days since 1970-01-01; timestamp: units (s, ms, us, ns: SbType.unit) since then, UTC;
// duration: microseconds. The calendar is the proleptic Gregorian one; years count through 0.
#ifndef SBC_STDLIB_DATE_H
#define SBC_STDLIB_DATE_H

#include "stdlib/time/zone.h"

enum : int64_t { SB_DAY_S = 86400, SB_DAY_US = 86400000000 };

typedef struct SbCivil {
    int64_t year;
    int32_t month, day;  // From 1.
} SbCivil;

static inline int64_t sb_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t sb_floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

// ---- the calendar ------------------------------------------------------------------------------

// The calendar repeats after 400 years. Years begin in March here, so that the leap day is the
// last: C. Neri and L. Schneider, "Euclidean affine functions", arXiv 2102.06959.
enum : int64_t { SB_CYCLE_YEARS = 400, SB_CYCLE_DAYS = 146097, SB_EPOCH_DAY = 719468 };

// Days since 1970-01-01 of a valid year, month and day, |year| < 2^53.
static inline int64_t sb_days_of(int64_t year, unsigned month, unsigned day) {
    bool early = month <= 2;
    unsigned m = early ? month + 12 : month;
    int64_t cycle = sb_floor_div(year - early, SB_CYCLE_YEARS);
    uint32_t y = (uint32_t)(year - early - cycle * SB_CYCLE_YEARS);
    uint32_t days = 1461 * y / 4 - y / 100 + (979 * m - 2919) / 32 + day - 1;
    return cycle * SB_CYCLE_DAYS + days - SB_EPOCH_DAY;
}

static inline SbCivil sb_civil_of(int64_t days) {
    int64_t cycle = sb_floor_div(days + SB_EPOCH_DAY, SB_CYCLE_DAYS);
    uint32_t quarters = 4 * (uint32_t)(days + SB_EPOCH_DAY - cycle * SB_CYCLE_DAYS) + 3;
    uint32_t century = quarters / 146097;
    uint64_t product = UINT64_C(2939745) * (quarters % 146097 | 3);  // 2^32 / 1461, rounded up.
    uint32_t of_year = (uint32_t)product / 2939745 / 4;              // From the first of March.
    uint32_t month = 2141 * of_year + 197913;                        // In 1/2^16 of a month.
    bool late = of_year >= 306;
    return (SbCivil){
        .year = cycle * SB_CYCLE_YEARS + 100 * century + (int64_t)(product >> 32) + late,
        .month = (int32_t)(month >> 16) - (late ? 12 : 0),
        .day = (int32_t)((month & 0xffff) / 2141) + 1,
    };
}

static inline bool sb_is_leap(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static inline unsigned sb_month_days(int64_t year, unsigned month) {
    if (month == 2) return 28 + sb_is_leap(year);
    return 30 + ((month ^ month >> 3) & 1);
}

// Days since 1970 as a date.
static inline int32_t sb_date_of_days(int64_t days, int32_t *out) {
    if (days < INT32_MIN || days > INT32_MAX) return SB_FAULT_OVERFLOW;
    *out = (int32_t)days;
    return SB_OK;
}

// Units a second.
static inline int64_t sb_unit_scale(unsigned unit) {
    return unit == 0 ? 1 : unit == 1 ? 1000 : unit == 2 ? 1000000 : 1000000000;
}

// Monday is 1, Sunday 7, as in ISO 8601.
static inline int32_t sb_weekday_of(int64_t days) { return (int32_t)sb_floor_mod(days + 3, 7) + 1; }

typedef struct SbIsoWeek {
    int64_t year;
    int32_t week;
} SbIsoWeek;

SbIsoWeek sb_iso_week_of(int64_t days);

// ---- text --------------------------------------------------------------------------------------

// SB_OK, or BAD_DATE, BAD_TIMESTAMP, BAD_DURATION, OUT_OF_RANGE, TOO_PRECISE. Text that names no
// offset is local time of `zone`; null is UTC.
int32_t sb_read_date(const char *ptr, int64_t len, int32_t *out);
int32_t sb_read_timestamp(const char *ptr, int64_t len, uint32_t unit, const SbZone *zone,
                          int64_t *out);
int32_t sb_read_duration(const char *ptr, int64_t len, int64_t *out);

enum { SB_DATE_MAX = 16, SB_TIMESTAMP_MAX = 40, SB_DURATION_MAX = 24 };  // Bytes that put writes.

char *sb_put_date(char *out, int32_t value);
char *sb_put_timestamp(char *out, int64_t value, uint32_t unit);
char *sb_put_duration(char *out, int64_t value);

// What the short cuts leave.
int32_t sb_read_date_any(const char *ptr, int64_t len, int32_t *out);
int32_t sb_read_timestamp_any(const char *ptr, int64_t len, uint32_t unit, const SbZone *zone,
                              int64_t *out);

// Days and nanoseconds of the day, local to the given offset in seconds, as a timestamp.
// OUT_OF_RANGE; TOO_PRECISE when the unit cannot hold the nanoseconds.
int32_t sb_timestamp_of(int64_t days, int64_t nanos, int64_t offset, uint32_t unit, int64_t *out);

// ---- arithmetic: what ADD and SUB compile to; OVERFLOW ---------------------------

int32_t sb_timestamp_add(int64_t timestamp, int64_t duration, uint32_t unit, int64_t *out);
int32_t sb_timestamp_minus(int64_t timestamp, int64_t duration, uint32_t unit, int64_t *out);
int32_t sb_timestamp_sub(int64_t a, int64_t b, uint32_t unit, int64_t *out);  // A duration.

// Between units: BAD_CAST when digits would be lost or the value does not fit.
int32_t sb_timestamp_rescale(int64_t timestamp, uint32_t from, uint32_t to, int64_t *out);

#endif
