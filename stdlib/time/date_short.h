// Date short: dates and times of the fixed layout that nearly all files have, eight bytes at once.
// Private to stdlib/time.
#ifndef SBC_STDLIB_DATE_SHORT_H
#define SBC_STDLIB_DATE_SHORT_H

#include "stdlib/number.h"
#include "stdlib/time/date.h"

static inline uint64_t load_xor(const char *ptr, uint64_t pattern) {
    uint64_t word;
    __builtin_memcpy(&word, ptr, sizeof word);
    return word ^ pattern;
}

// Of digits in a word, the first lowest: at byte i ten times the digit there plus the next one.
static inline uint64_t pairs_of(uint64_t digits) { return digits * 10 + (digits >> 8); }

static inline unsigned byte_of(uint64_t word, unsigned byte) {
    return (unsigned)(word >> 8 * byte & 0xff);
}

// As sb_days_of, for years from 0 to 9999: one cycle of 400 years more keeps March of year 0
// positive.
static inline int64_t short_days(unsigned year, unsigned month, unsigned day) {
    const bool early = month <= 2;
    const unsigned y = year - early + SB_CYCLE_YEARS, m = early ? month + 12 : month;
    const unsigned centuries = y / 100;
    const unsigned days = 1461 * y / 4 - centuries + centuries / 4 + (979 * m - 2919) / 32 + day;
    return (int64_t)days - (1 + SB_CYCLE_DAYS + SB_EPOCH_DAY);
}

// "YYYY-MM-DD" at ptr, whatever follows. False: another form, or no such day.
[[gnu::always_inline]] static inline bool read_short_date(const char *ptr, int64_t *days) {
    const uint64_t century = load_xor(ptr, 0x3030303030303030) & 0xffff;  // "YY"
    const uint64_t tail = load_xor(ptr + 2, 0x30302d30302d3030);          // "YY-MM-DD"
    const uint64_t wrong = sb_digits_wrong(tail) | (tail & 0x0000ff0000ff0000);
    if (__builtin_expect((wrong | sb_digits_wrong(century)) != 0, 0)) return false;
    const uint64_t pairs = pairs_of(tail);
    const unsigned year = byte_of(pairs_of(century), 0) * 100 + byte_of(pairs, 0);
    const unsigned month = byte_of(pairs, 3), day = byte_of(pairs, 6);
    if (__builtin_expect(month - 1 >= 12 || day - 1 >= 28, 0)) {
        if (month - 1 >= 12 || day - 1 >= sb_month_days(year, month)) return false;
    }
    *days = short_days(year, month, day);
    return true;
}

// "HH:MM:SS" at ptr as seconds, whatever follows. False: another form, or no such time.
[[gnu::always_inline]] static inline bool read_short_time(const char *ptr, int64_t *seconds) {
    const uint64_t time = load_xor(ptr, 0x30303a30303a3030), pairs = pairs_of(time);
    const unsigned hour = byte_of(pairs, 0), minute = byte_of(pairs, 3), second = byte_of(pairs, 6);
    *seconds = hour * 3600 + minute * 60 + second;
    return (sb_digits_wrong(time) | (time & 0x0000ff0000ff0000)) == 0 && hour < 24 && minute < 60 &&
           second < 60;
}

#endif
