// Calendar arithmetic, truncation, zones and epochs: what may fault or is rarely hot.
#include "stdlib/time/date_parts.h"

#include <string.h>

// ---- ADD and SUB -------------------------------------------------------------------------------

// A duration in units; rounds towards the past what the unit cannot hold.
static __int128 in_units(__int128 duration, uint32_t unit) {
    if (unit == 3) return duration * 1000;
    int64_t factor = 1000000 / sb_unit_scale(unit);
    return duration / factor - (duration % factor < 0);
}

int32_t sb_timestamp_add(int64_t timestamp, int64_t duration, uint32_t unit, int64_t *out) {
    __int128 sum = timestamp + in_units(duration, unit);
    if (sum < INT64_MIN || sum > INT64_MAX) return SB_FAULT_OVERFLOW;
    *out = (int64_t)sum;
    return SB_OK;
}

int32_t sb_timestamp_minus(int64_t timestamp, int64_t duration, uint32_t unit, int64_t *out) {
    __int128 sum = timestamp + in_units(-(__int128)duration, unit);
    if (sum < INT64_MIN || sum > INT64_MAX) return SB_FAULT_OVERFLOW;
    *out = (int64_t)sum;
    return SB_OK;
}

int32_t sb_timestamp_sub(int64_t a, int64_t b, uint32_t unit, int64_t *out) {
    __int128 units = (__int128)a - b;
    __int128 micros = unit == 3 ? units / 1000 : units * (1000000 / sb_unit_scale(unit));
    if (unit == 3 && units % 1000 < 0) micros--;
    if (micros < INT64_MIN || micros > INT64_MAX) return SB_FAULT_OVERFLOW;
    *out = (int64_t)micros;
    return SB_OK;
}

int32_t sb_timestamp_rescale(int64_t timestamp, uint32_t from, uint32_t to, int64_t *out) {
    int64_t old = sb_unit_scale(from), new = sb_unit_scale(to);
    if (new >= old) {
        return __builtin_mul_overflow(timestamp, new / old, out) ? SB_FAULT_BAD_CAST : SB_OK;
    }
    *out = timestamp / (old / new);
    return timestamp % (old / new) ? SB_FAULT_BAD_CAST : SB_OK;
}

// ---- the calendar ------------------------------------------------------------------------------

int32_t sb_make_date(int64_t year, int64_t month, int64_t day, int32_t *out) {
    if (year < -10000000 || year > 10000000) return SB_FAULT_OVERFLOW;
    if (month < 1 || month > 12 || day < 1 || day > sb_month_days(year, (unsigned)month)) {
        return SB_FAULT_BAD_ARGUMENT;
    }
    return sb_date_of_days(sb_days_of(year, (unsigned)month, (unsigned)day), out);
}

int32_t sb_make_timestamp(int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute,
                          int64_t second, int64_t *out) {
    int32_t date, status = sb_make_date(year, month, day, &date);
    if (status != SB_OK) return status;
    bool good = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
    if (!good) return SB_FAULT_BAD_ARGUMENT;
    int64_t seconds = date * SB_DAY_S + hour * 3600 + minute * 60 + second;
    return sb_from_epoch(seconds, out);
}

int32_t sb_add_days_date(int32_t date, int64_t days, int32_t *out) {
    int64_t sum;
    if (__builtin_add_overflow((int64_t)date, days, &sum)) return SB_FAULT_OVERFLOW;
    return sb_date_of_days(sum, out);
}

int32_t sb_add_months_zone(const SbType *type, int64_t timestamp, int64_t months,
                           const SbZone *zone, int64_t *out) {
    int64_t local, later;
    int32_t status = sb_in_zone(type, timestamp, zone, &local);
    if (status == SB_OK) status = sb_add_months_timestamp(type, local, months, &later);
    return status == SB_OK ? sb_to_utc(type, later, zone, out) : status;
}

int32_t sb_add_months_timestamp(const SbType *type, int64_t timestamp, int64_t months,
                                int64_t *out) {
    int64_t day = SB_DAY_S * sb_unit_scale(type->unit), days;
    int32_t status = sb_shift_months(sb_floor_div(timestamp, day), months, &days);
    if (status != SB_OK) return status;
    if (__builtin_mul_overflow(days, day, out) ||
        __builtin_add_overflow(*out, sb_floor_mod(timestamp, day), out)) {
        return SB_FAULT_OVERFLOW;
    }
    return SB_OK;
}

int32_t sb_last_day_date(int32_t date, int32_t *out) {
    SbCivil civil = sb_civil_of(date);
    return sb_date_of_days(
        (int64_t)date + sb_month_days(civil.year, (unsigned)civil.month) - civil.day, out);
}

int64_t sb_days_in_month_date(int32_t date) {
    SbCivil civil = sb_civil_of(date);
    return sb_month_days(civil.year, (unsigned)civil.month);
}

// Whole months: `to` is at least so many months on as add_months counts them.
int64_t sb_months_between(int32_t from, int32_t to) {
    SbCivil a = sb_civil_of(from), b = sb_civil_of(to);
    int64_t months = (b.year - a.year) * 12 + b.month - a.month;
    bool from_last = a.day == (int32_t)sb_month_days(a.year, (unsigned)a.month);
    bool to_last = b.day == (int32_t)sb_month_days(b.year, (unsigned)b.month);
    if (months > 0) return months - (b.day < a.day && !to_last);
    if (months < 0) return months + (b.day > a.day && !from_last);
    return 0;
}

int64_t sb_years_between(int32_t from, int32_t to) { return sb_months_between(from, to) / 12; }

bool sb_is_leap_year(int64_t year) { return sb_is_leap(year); }

// ---- truncation --------------------------------------------------------------------------------

typedef enum Truncation { TO_YEAR, TO_QUARTER, TO_MONTH, TO_WEEK, TO_DAY, TO_HOUR, TO_MINUTE,
                          TO_SECOND, TO_NOTHING } Truncation;

SbStr sb_truncate_unit(uint32_t index, bool of_date) {
    static const char *const names[] = {"year", "quarter", "month", "week", "day", "hour", "minute",
                                        "second"};
    if (index >= (of_date ? TO_DAY + 1 : TO_NOTHING)) return (SbStr){0};
    return (SbStr){names[index], (int64_t)strlen(names[index])};
}

static Truncation truncation_of(SbStr unit) {
    for (uint32_t i = 0; i < TO_NOTHING; i++) {
        SbStr name = sb_truncate_unit(i, false);
        if (name.len == unit.len && memcmp(name.ptr, unit.ptr, (size_t)unit.len) == 0)
            return (Truncation)i;
    }
    return TO_NOTHING;
}

static int64_t truncate_days(int64_t days, Truncation to) {
    if (to == TO_WEEK) return days + 1 - sb_weekday_of(days);
    if (to >= TO_DAY) return days;
    SbCivil civil = sb_civil_of(days);
    unsigned month = (unsigned)civil.month;
    if (to == TO_YEAR) month = 1;
    if (to == TO_QUARTER) month = (month - 1) / 3 * 3 + 1;
    return sb_days_of(civil.year, month, 1);
}

int32_t sb_truncate_date(int32_t date, SbStr unit, int32_t *out) {
    Truncation to = truncation_of(unit);
    if (to > TO_DAY) return SB_FAULT_BAD_ARGUMENT;
    return sb_date_of_days(truncate_days(date, to), out);
}

int32_t sb_truncate_zone(const SbType *type, int64_t timestamp, SbStr unit, const SbZone *zone,
                         int64_t *out) {
    Truncation to = truncation_of(unit);
    if (to == TO_NOTHING) return SB_FAULT_BAD_ARGUMENT;
    int64_t scale = sb_unit_scale(type->unit), seconds = sb_floor_div(timestamp, scale);
    if (seconds < INT64_MIN / 2 || seconds > INT64_MAX / 2) return SB_FAULT_OVERFLOW;
    int32_t offset = sb_zone_offset(zone, seconds);
    int64_t local = seconds + offset, days = sb_floor_div(local, SB_DAY_S);
    int64_t time = local - days * SB_DAY_S;
    if (to <= TO_DAY) {
        local = truncate_days(days, to) * SB_DAY_S;
        offset = sb_zone_offset_local(zone, local);
    } else {  // Within an hour that occurs twice, the hour stays the same one.
        local = days * SB_DAY_S + time - time % (to == TO_HOUR ? 3600 : to == TO_MINUTE ? 60 : 1);
    }
    return __builtin_mul_overflow(local - offset, scale, out) ? SB_FAULT_OVERFLOW : SB_OK;
}

int32_t sb_truncate_timestamp(const SbType *type, int64_t timestamp, SbStr unit, int64_t *out) {
    return sb_truncate_zone(type, timestamp, unit, nullptr, out);
}

int32_t sb_truncate_months_zone(const SbType *type, int64_t timestamp, int64_t width,
                                const SbZone *zone, int64_t *out) {
    int64_t scale = sb_unit_scale(type->unit), seconds = sb_floor_div(timestamp, scale), days;
    if (seconds < INT64_MIN / 2 || seconds > INT64_MAX / 2) return SB_FAULT_OVERFLOW;
    int64_t local = seconds + sb_zone_offset(zone, seconds);
    int32_t status = sb_floor_months(sb_floor_div(local, SB_DAY_S), width, &days);
    if (status != SB_OK) return status;
    local = days * SB_DAY_S;
    return __builtin_mul_overflow(local - sb_zone_offset_local(zone, local), scale, out)
               ? SB_FAULT_OVERFLOW : SB_OK;
}

int32_t sb_truncate_months_timestamp(const SbType *type, int64_t timestamp, int64_t width,
                                     int64_t *out) {
    return sb_truncate_months_zone(type, timestamp, width, nullptr, out);
}

// To a multiple of `width` since the epoch; rounded towards the past where the unit cannot hold it.
int32_t sb_truncate_width(const SbType *type, int64_t timestamp, int64_t width, int64_t *out) {
    if (width <= 0) return SB_FAULT_BAD_ARGUMENT;
    int64_t unit = 1000000000 / sb_unit_scale(type->unit);  // In nanoseconds.
    __int128 nanos = (__int128)timestamp * unit, step = (__int128)width * 1000;
    __int128 rest = nanos % step, start = nanos - rest - (rest < 0 ? step : 0);
    __int128 units = start / unit - (start % unit < 0);
    if (units < INT64_MIN || units > INT64_MAX) return SB_FAULT_OVERFLOW;
    *out = (int64_t)units;
    return SB_OK;
}

int32_t sb_truncate_duration(int64_t duration, int64_t width, int64_t *out) {
    if (width <= 0) return SB_FAULT_BAD_ARGUMENT;
    return __builtin_sub_overflow(duration, sb_floor_mod(duration, width), out) ? SB_FAULT_OVERFLOW
                                                                                : SB_OK;
}

int64_t sb_time_of_day_zone(const SbType *type, int64_t timestamp, const SbZone *zone) {
    int64_t scale = sb_unit_scale(type->unit), seconds = sb_floor_div(timestamp, scale);
    int64_t of_day = sb_floor_mod(seconds, SB_DAY_S) + sb_zone_offset(zone, seconds);
    int64_t nanos = sb_floor_mod(timestamp, scale) * (1000000000 / scale);
    return sb_floor_mod(of_day, SB_DAY_S) * 1000000 + nanos / 1000;
}

int64_t sb_time_of_day(const SbType *type, int64_t timestamp) {
    return sb_time_of_day_zone(type, timestamp, nullptr);
}

// ---- zones and epochs --------------------------------------------------------------------------

int64_t sb_zone_offset_at(const SbType *type, int64_t timestamp, const SbZone *zone) {
    return sb_zone_offset(zone, sb_epoch(type, timestamp)) * INT64_C(1000000);
}

int32_t sb_date_zone(const SbType *type, int64_t timestamp, const SbZone *zone, int32_t *out) {
    int64_t seconds = sb_epoch(type, timestamp);
    if (__builtin_add_overflow(seconds, sb_zone_offset(zone, seconds), &seconds)) {
        return SB_FAULT_OVERFLOW;
    }
    return sb_date_of_days(sb_floor_div(seconds, SB_DAY_S), out);
}

int32_t sb_in_zone(const SbType *type, int64_t timestamp, const SbZone *zone, int64_t *out) {
    int64_t shift = sb_zone_offset(zone, sb_epoch(type, timestamp)) * sb_unit_scale(type->unit);
    return __builtin_add_overflow(timestamp, shift, out) ? SB_FAULT_OVERFLOW : SB_OK;
}

int32_t sb_to_utc(const SbType *type, int64_t local, const SbZone *zone, int64_t *out) {
    int64_t shift = sb_zone_offset_local(zone, sb_epoch(type, local)) * sb_unit_scale(type->unit);
    return __builtin_sub_overflow(local, shift, out) ? SB_FAULT_OVERFLOW : SB_OK;
}

int32_t sb_from_seconds(double seconds, int64_t *out) {
    double micros = __builtin_rint(seconds * 1e6);
    if (!(micros >= -0x1p63 && micros < 0x1p63)) return SB_FAULT_OVERFLOW;
    *out = (int64_t)micros;
    return SB_OK;
}

// Full units of 1 / per_second since the epoch.
static int32_t epoch_in(const SbType *type, int64_t timestamp, int64_t per_second, int64_t *out) {
    int64_t scale = sb_unit_scale(type->unit);
    if (scale > per_second) {
        *out = sb_floor_div(timestamp, scale / per_second);
        return SB_OK;
    }
    return __builtin_mul_overflow(timestamp, per_second / scale, out) ? SB_FAULT_OVERFLOW : SB_OK;
}

int32_t sb_epoch_ms(const SbType *type, int64_t timestamp, int64_t *out) {
    return epoch_in(type, timestamp, 1000, out);
}

int32_t sb_epoch_us(const SbType *type, int64_t timestamp, int64_t *out) {
    return epoch_in(type, timestamp, 1000000, out);
}

int32_t sb_epoch_ns(const SbType *type, int64_t timestamp, int64_t *out) {
    return epoch_in(type, timestamp, 1000000000, out);
}

int32_t sb_from_epoch(int64_t seconds, int64_t *out) {
    return __builtin_mul_overflow(seconds, INT64_C(1000000), out) ? SB_FAULT_OVERFLOW : SB_OK;
}

int32_t sb_from_epoch_ms(int64_t millis, int64_t *out) {
    return __builtin_mul_overflow(millis, INT64_C(1000), out) ? SB_FAULT_OVERFLOW : SB_OK;
}
