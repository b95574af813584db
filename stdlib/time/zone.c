// Offsets of a time zone: a binary search of its transitions, then the yearly rule after them.
#include "stdlib/time/zone.h"

#include "stdlib/time/date.h"

static const int64_t *instants(const SbZone *zone) { return (const int64_t *)(zone + 1); }

static const int32_t *offsets(const SbZone *zone) {
    return (const int32_t *)(instants(zone) + zone->count);
}

// The day of a year on which a change happens.
static int64_t change_day(const SbZoneChange *change, int64_t year) {
    int64_t new_year = sb_days_of(year, 1, 1);
    if (change->kind == 1)
        return new_year + change->day - 1 + (sb_is_leap(year) && change->day >= 60);
    if (change->kind == 2) return new_year + change->day;
    int64_t first = sb_days_of(year, (unsigned)change->month, 1);
    int64_t at = (change->day - (first + 4)) % 7;  // 1970-01-01 was a Thursday.
    at = (at + 7) % 7 + 7 * (change->week - 1);
    return first + (at < sb_month_days(year, (unsigned)change->month) ? at : at - 7);
}

static int32_t rule_offset(const SbZone *zone, int64_t seconds) {
    if (zone->standard == zone->summer) return zone->standard;
    // The rule repeats with the calendar; years near 1970 keep the sums small.
    seconds = sb_floor_mod(seconds, SB_CYCLE_DAYS * SB_DAY_S);
    int64_t year = sb_civil_of(sb_floor_div(seconds + zone->standard, SB_DAY_S)).year;
    int64_t begin = change_day(&zone->begin, year) * SB_DAY_S + zone->begin.time - zone->standard;
    int64_t end = change_day(&zone->end, year) * SB_DAY_S + zone->end.time - zone->summer;
    bool summer = begin < end ? seconds >= begin && seconds < end
                              : seconds >= begin || seconds < end;
    return summer ? zone->summer : zone->standard;
}

int32_t sb_zone_offset(const SbZone *zone, int64_t seconds) {
    if (!zone) return 0;
    const int64_t *at = instants(zone);
    if (zone->count == 0 || seconds >= at[zone->count - 1]) return rule_offset(zone, seconds);
    if (seconds < at[0]) return zone->before;
    uint32_t low = 0, high = zone->count - 1;  // at[low] <= seconds < at[high]
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (at[middle] <= seconds) low = middle;
        else high = middle;
    }
    return offsets(zone)[low];
}

int32_t sb_zone_offset_local(const SbZone *zone, int64_t local) {
    if (!zone) return 0;
    // Far from the epoch only the place within a cycle of the calendar counts.
    enum : int64_t { FAR = INT64_C(1) << 61, CYCLE = SB_CYCLE_DAYS * SB_DAY_S };
    if (local < -FAR) local = -FAR;
    if (local > FAR) local = local % CYCLE + 1000 * CYCLE;
    // A day is more than any offset and less than the time between two transitions.
    int32_t before = sb_zone_offset(zone, local - SB_DAY_S);
    int32_t after = sb_zone_offset(zone, local + SB_DAY_S);
    if (before == after || sb_zone_offset(zone, local - before) == before) return before;
    return sb_zone_offset(zone, local - after) == after ? after : before;
}
