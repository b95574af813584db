// The short cuts of date and timestamp readers: the fixed layout that nearly all files have. Stages
// inline them.
#include "stdlib/date.h"

#include "stdlib/number.h"

#define LIKELY(condition) __builtin_expect((condition), 1)

static inline unsigned two_digits(uint64_t word, unsigned byte) {
    return (unsigned)(word >> 8 * byte & 0xff) * 10 + (unsigned)(word >> (8 * byte + 8) & 0xff);
}

static inline uint64_t load_xor(const char *ptr, uint64_t pattern) {
    uint64_t word;
    __builtin_memcpy(&word, ptr, sizeof word);
    return word ^ pattern;
}

// "YYYY-MM-DD" at ptr, whatever follows. False: another form, or no such day.
static inline bool read_short_date(const char *ptr, int64_t *days) {
    uint64_t year = load_xor(ptr, 0x3030303030303030);  // "YYYY...."
    uint64_t tail = load_xor(ptr + 2, 0x30302d30302d3030);                   // "YY-MM-DD"
    if (!LIKELY((sb_digits_wrong(tail) | (tail & 0x0000ff0000ff0000)) == 0)) return false;
    if (!LIKELY(sb_digits_wrong(year & 0xffff) == 0)) return false;
    unsigned y = two_digits(year, 0) * 100 + two_digits(tail, 0);
    unsigned month = two_digits(tail, 3), day = two_digits(tail, 6);
    if (!LIKELY(month - 1 < 12 && day - 1 < 28)) {
        if (month - 1 >= 12 || day - 1 >= sb_month_days(y, month)) return false;
    }
    *days = sb_days_of(y, month, day);
    return true;
}

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
        uint64_t time = load_xor(ptr + 11, 0x30303a30303a3030);
        unsigned hour = two_digits(time, 0), minute = two_digits(time, 3);
        unsigned second = two_digits(time, 6);
        bool good = (sb_digits_wrong(time) | (time & 0x0000ff0000ff0000)) == 0 && hour < 24 &&
                    minute < 60 && second < 60;
        int64_t seconds = days * SB_DAY_S + hour * 3600 + minute * 60 + second;
        if (LIKELY(good && !__builtin_mul_overflow(seconds, sb_unit_scale(unit), out)))
            return SB_OK;
    }
    return sb_read_timestamp_any(ptr, len, unit, zone, out);
}
