// Parts of dates and timestamps. Stages inline them, the unit being a constant there.
#include "stdlib/time/date_parts.h"

// A timestamp cut into days and the time of the day.
typedef struct Moment {
    int64_t days, seconds, fraction;  // Fraction in units.
} Moment;

static inline Moment moment_of(const SbType *type, int64_t timestamp, const SbZone *zone) {
    int64_t scale = sb_unit_scale(type->unit);
    int64_t seconds = sb_floor_div(timestamp, scale);
    Moment moment = {.fraction = sb_floor_mod(timestamp, scale)};
    if (zone && __builtin_add_overflow(seconds, sb_zone_offset(zone, seconds), &seconds)) {
        seconds = timestamp;  // The last day of all that a timestamp[s] holds.
    }
    moment.days = sb_floor_div(seconds, SB_DAY_S);
    moment.seconds = sb_floor_mod(seconds, SB_DAY_S);
    return moment;
}

static inline int64_t year_of(int64_t days) { return sb_civil_of(days).year; }
static inline int64_t month_of(int64_t days) { return sb_civil_of(days).month; }
static inline int64_t day_of(int64_t days) { return sb_civil_of(days).day; }
static inline int64_t quarter_of(int64_t days) { return (month_of(days) + 2) / 3; }
static inline int64_t weekday_of(int64_t days) { return sb_weekday_of(days); }
static inline int64_t iso_week_of(int64_t days) { return sb_iso_week_of(days).week; }
static inline int64_t iso_year_of(int64_t days) { return sb_iso_week_of(days).year; }

static inline int64_t day_of_year_of(int64_t days) {
    return days - sb_days_of(year_of(days), 1, 1) + 1;
}

SbIsoWeek sb_iso_week_of(int64_t days) {
    int64_t thursday = days + 4 - sb_weekday_of(days);  // The week's year is that of its Thursday.
    int64_t year = year_of(thursday);
    return (SbIsoWeek){year, (int32_t)((thursday - sb_days_of(year, 1, 1)) / 7 + 1)};
}

static inline int64_t hour_of(Moment m, const SbType *type) { return (void)type, m.seconds / 3600; }
static inline int64_t minute_of(Moment m, const SbType *type) {
    return (void)type, m.seconds / 60 % 60;
}
static inline int64_t second_of(Moment m, const SbType *type) { return (void)type, m.seconds % 60; }

static inline int64_t fraction_of(Moment m, const SbType *type, int64_t per_second) {
    int64_t scale = sb_unit_scale(type->unit);
    return scale > per_second ? m.fraction / (scale / per_second)
                              : m.fraction * (per_second / scale);
}
static inline int64_t millisecond_of(Moment m, const SbType *type) {
    return fraction_of(m, type, 1000);
}
static inline int64_t microsecond_of(Moment m, const SbType *type) {
    return fraction_of(m, type, 1000000);
}
static inline int64_t nanosecond_of(Moment m, const SbType *type) {
    return fraction_of(m, type, 1000000000);
}

#define DATE_PART(name)                                                                           \
    int64_t sb_##name##_date(int32_t date) { return name##_of(date); }                            \
    int64_t sb_##name##_timestamp(const SbType *type, int64_t timestamp) {                        \
        return name##_of(moment_of(type, timestamp, nullptr).days);                               \
    }                                                                                             \
    int64_t sb_##name##_zone(const SbType *type, int64_t timestamp, const SbZone *zone) {         \
        return name##_of(moment_of(type, timestamp, zone).days);                                  \
    }
#define TIME_PART(name)                                                                           \
    int64_t sb_##name##_timestamp(const SbType *type, int64_t timestamp) {                        \
        return name##_of(moment_of(type, timestamp, nullptr), type);                              \
    }                                                                                             \
    int64_t sb_##name##_zone(const SbType *type, int64_t timestamp, const SbZone *zone) {         \
        return name##_of(moment_of(type, timestamp, zone), type);                                 \
    }

DATE_PARTS(DATE_PART)
TIME_PARTS(TIME_PART)

int64_t sb_days_between(int32_t from, int32_t to) { return (int64_t)to - from; }

double sb_seconds(int64_t duration) { return (double)duration / 1e6; }
double sb_milliseconds(int64_t duration) { return (double)duration / 1e3; }
double sb_minutes(int64_t duration) { return (double)duration / 6e7; }
double sb_hours(int64_t duration) { return (double)duration / 3.6e9; }
double sb_days(int64_t duration) { return (double)duration / 8.64e10; }
int64_t sb_microseconds(int64_t duration) { return duration; }

int64_t sb_epoch(const SbType *type, int64_t timestamp) {
    return sb_floor_div(timestamp, sb_unit_scale(type->unit));
}

int64_t sb_from_epoch_us(int64_t micros) { return micros; }
int64_t sb_from_epoch_ns(int64_t nanos) { return nanos; }
