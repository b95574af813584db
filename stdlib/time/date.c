// The short cuts of date and timestamp readers: the fixed layout that nearly all files have. Stages
// inline them.
#include "stdlib/time/date.h"

#include "stdlib/time/date_short.h"

#define LIKELY(condition) __builtin_expect((condition), 1)

int32_t sb_read_date(const char *ptr, int64_t len, int32_t *out) {
    int64_t days;
    if (!LIKELY(len == 10 && read_short_date(ptr, &days))) return sb_read_date_any(ptr, len, out);
    *out = (int32_t)days;
    return SB_OK;
}

// "YYYY-MM-DD?HH:MM:SS" and perhaps "Z".
int32_t sb_read_timestamp(const char *ptr, int64_t len, uint32_t unit, const SbZone *zone,
                          int64_t *out) {
    int64_t days;
    bool form = (len == 19 && !zone) || (len == 20 && ptr[19] == 'Z');
    if (LIKELY(form && (ptr[10] == 'T' || ptr[10] == ' ') && read_short_date(ptr, &days))) {
        int64_t time;
        const bool good = read_short_time(ptr + 11, &time);
        int64_t seconds = days * SB_DAY_S + time;
        if (LIKELY(good && !__builtin_mul_overflow(seconds, sb_unit_scale(unit), out)))
            return SB_OK;
    }
    return sb_read_timestamp_any(ptr, len, unit, zone, out);
}
