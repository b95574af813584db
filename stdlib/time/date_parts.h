// Date functions of the language: parts, truncation, calendar arithmetic, zones, epochs.
//
// Functions of timestamps are typed: the unit is in the SbType. Zones give local parts.
#ifndef SBC_STDLIB_DATE_PARTS_H
#define SBC_STDLIB_DATE_PARTS_H

#include "stdlib/time/date.h"

// NAME(date), NAME(timestamp), NAME(timestamp, zone): each an i64.
#define DATE_PARTS(X)                                                                             \
    X(year) X(quarter) X(month) X(day) X(weekday) X(day_of_year) X(iso_week) X(iso_year)
#define TIME_PARTS(X)                                                                             \
    X(hour) X(minute) X(second) X(millisecond) X(microsecond) X(nanosecond)

#define DECLARE_DATE(name) int64_t sb_##name##_date(int32_t date);
#define DECLARE_TIMESTAMP(name)                                                                   \
    int64_t sb_##name##_timestamp(const SbType *type, int64_t timestamp);                         \
    int64_t sb_##name##_zone(const SbType *type, int64_t timestamp, const SbZone *zone);
DATE_PARTS(DECLARE_DATE)
DATE_PARTS(DECLARE_TIMESTAMP)
TIME_PARTS(DECLARE_TIMESTAMP)
#undef DECLARE_DATE
#undef DECLARE_TIMESTAMP

// The units of sb_truncate_..., from the longest on; empty after the last one.
SbStr   sb_truncate_unit(uint32_t index, bool of_date);
int32_t sb_truncate_date(int32_t date, SbStr unit, int32_t *out);
int32_t sb_truncate_timestamp(const SbType *type, int64_t timestamp, SbStr unit, int64_t *out);
int32_t sb_truncate_zone(const SbType *type, int64_t timestamp, SbStr unit, const SbZone *zone,
                         int64_t *out);

// To a multiple of `width` months since January 1970.
int32_t sb_truncate_months_date(int32_t date, int64_t width, int32_t *out);
int32_t sb_truncate_months_timestamp(const SbType *type, int64_t timestamp, int64_t width,
                                     int64_t *out);
int32_t sb_truncate_months_zone(const SbType *type, int64_t timestamp, int64_t width,
                                const SbZone *zone, int64_t *out);

int32_t sb_truncate_duration(int64_t duration, int64_t width, int64_t *out);
int32_t sb_truncate_width(const SbType *type, int64_t timestamp, int64_t width, int64_t *out);

int32_t sb_make_date(int64_t year, int64_t month, int64_t day, int32_t *out);
int32_t sb_add_days_date(int32_t date, int64_t days, int32_t *out);
// The same day so many months on, or the last day of that month if it has none. Days since 1970.
int32_t sb_shift_months(int64_t days, int64_t months, int64_t *out);
// The first day of the span of `width` months since January 1970.
int32_t sb_floor_months(int64_t days, int64_t width, int64_t *out);
int32_t sb_add_months_date(int32_t date, int64_t months, int32_t *out);
int32_t sb_add_months_zone(const SbType *type, int64_t timestamp, int64_t months,
                           const SbZone *zone, int64_t *out);
int32_t sb_add_months_timestamp(const SbType *type, int64_t timestamp, int64_t months,
                                int64_t *out);
int64_t sb_days_between(int32_t from, int32_t to);
int32_t sb_last_day_date(int32_t date, int32_t *out);
int64_t sb_days_in_month_date(int32_t date);
int64_t sb_months_between(int32_t from, int32_t to);
int64_t sb_years_between(int32_t from, int32_t to);
int32_t sb_make_timestamp(int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute,
                          int64_t second, int64_t *out);
bool sb_is_leap_year(int64_t year);

int32_t sb_date_zone(const SbType *type, int64_t timestamp, const SbZone *zone, int32_t *out);
// Since midnight by the clocks of the zone, in full microseconds.
int64_t sb_time_of_day(const SbType *type, int64_t timestamp);
int64_t sb_time_of_day_zone(const SbType *type, int64_t timestamp, const SbZone *zone);
int32_t sb_in_zone(const SbType *type, int64_t timestamp, const SbZone *zone, int64_t *out);
int32_t sb_to_utc(const SbType *type, int64_t local, const SbZone *zone, int64_t *out);
int64_t sb_zone_offset_at(const SbType *type, int64_t timestamp, const SbZone *zone);

double sb_seconds(int64_t duration);
double sb_milliseconds(int64_t duration);
double sb_minutes(int64_t duration);
double sb_hours(int64_t duration);
double sb_days(int64_t duration);
int64_t sb_microseconds(int64_t duration);
int32_t sb_from_seconds(double seconds, int64_t *out);
int64_t sb_epoch(const SbType *type, int64_t timestamp);
int32_t sb_epoch_ms(const SbType *type, int64_t timestamp, int64_t *out);
int32_t sb_epoch_us(const SbType *type, int64_t timestamp, int64_t *out);
int32_t sb_epoch_ns(const SbType *type, int64_t timestamp, int64_t *out);
int32_t sb_from_epoch(int64_t seconds, int64_t *out);
int32_t sb_from_epoch_ms(int64_t millis, int64_t *out);
int64_t sb_from_epoch_us(int64_t micros);
int64_t sb_from_epoch_ns(int64_t nanos);  // A timestamp[ns].

// ---- by format (stdlib/time/date_format.c) ------------------------------------------------------

// Where a format that times are read (written) by has a letter that it may not have, or a % without
// a letter; format.len if it reads no year. -1: it is good.
int64_t sb_time_form_fault(SbStr format, bool reads);
// The same of a format of durations, which is read by an hour, a minute or a second.
int64_t sb_clock_form_fault(SbStr format, bool reads);

int32_t sb_format_date(SbCall *call, int32_t date, SbStr format, SbStr *out);
int32_t sb_format_timestamp(SbCall *call, const SbType *type, int64_t timestamp, SbStr format,
                            SbStr *out);
int32_t sb_format_zone(SbCall *call, const SbType *type, int64_t timestamp, SbStr format,
                       const SbZone *zone, SbStr *out);
int32_t sb_parse_date(SbStr text, SbStr format, int32_t *out);
// What to say of a text that one of the parsers refused with `status`: where the text and the
// format part, or the text itself. In scratch memory.
SbStr sb_time_form_blame(SbCall *call, int32_t status, SbStr text, SbStr format);

// Durations as hours, minutes and seconds; a sign stands in front.
int32_t sb_format_duration(SbCall *call, int64_t duration, SbStr format, SbStr *out);
int32_t sb_parse_duration(SbStr text, SbStr format, int64_t *out);
SbStr sb_clock_form_blame(SbCall *call, int32_t status, SbStr text, SbStr format);

#define DECLARE_PARSE(name)                                                                       \
    int32_t sb_parse_##name(SbStr text, SbStr format, int64_t *out);                              \
    int32_t sb_parse_##name##_zone(SbStr text, SbStr format, const SbZone *zone, int64_t *out);
DECLARE_PARSE(timestamp_s)
DECLARE_PARSE(timestamp_ms)
DECLARE_PARSE(timestamp)
DECLARE_PARSE(timestamp_ns)
#undef DECLARE_PARSE

#endif
