// Dates, timestamps and durations as text, in every form that docs/text_forms.md allows.
#include "stdlib/number.h"
#include "stdlib/time/date.h"
#include "stdlib/time/date_short.h"

#include <string.h>

// ---- reading -----------------------------------------------------------------------------------

typedef struct Cursor {
    const char *at, *end;
} Cursor;

static bool take(Cursor *cursor, char c) {
    if (cursor->at == cursor->end || *cursor->at != c) return false;
    cursor->at++;
    return true;
}

static bool take_two(Cursor *cursor, unsigned *value) {
    const char *at = cursor->at;
    if (cursor->end - at < 2 || !sb_is_digit(at[0]) || !sb_is_digit(at[1])) return false;
    *value = (unsigned)(at[0] - '0') * 10 + (unsigned)(at[1] - '0');
    cursor->at += 2;
    return true;
}

enum : int64_t { YEAR_TOO_FAR = 1000000000000 };  // More than an int64 of seconds reaches.

// YYYY, or a sign and at least four digits. Years too far are cut to YEAR_TOO_FAR.
static bool take_year(Cursor *cursor, int64_t *year) {
    bool minus = false, sign = take(cursor, '+') || (minus = take(cursor, '-'));
    const char *start = cursor->at;
    int64_t value = 0;
    for (; cursor->at < cursor->end && sb_is_digit(*cursor->at); cursor->at++) {
        if (value < YEAR_TOO_FAR) value = value * 10 + (*cursor->at - '0');
    }
    int64_t digits = cursor->at - start;
    if (value > YEAR_TOO_FAR) value = YEAR_TOO_FAR;
    *year = minus ? -value : value;
    return sign ? digits >= 4 : digits == 4;
}

static bool take_date(Cursor *cursor, int64_t *days) {
    int64_t year;
    unsigned month, day;
    if (!take_year(cursor, &year) || !take(cursor, '-') || !take_two(cursor, &month) ||
        !take(cursor, '-') || !take_two(cursor, &day)) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > sb_month_days(year, month)) return false;
    *days = sb_days_of(year, month, day);
    return true;
}

int32_t sb_read_date_any(const char *ptr, int64_t len, int32_t *out) {
    Cursor cursor = {ptr, ptr + len};
    int64_t days;
    if (!take_date(&cursor, &days) || cursor.at != cursor.end) return SB_FAULT_BAD_DATE;
    if (days < INT32_MIN || days > INT32_MAX) return SB_FAULT_OUT_OF_RANGE;
    *out = (int32_t)days;
    return SB_OK;
}

// HH:MM[:SS[.fraction]]
static bool take_time(Cursor *cursor, int64_t *nanos) {
    unsigned hour, minute, second = 0;
    if (!take_two(cursor, &hour) || !take(cursor, ':') || !take_two(cursor, &minute)) return false;
    int64_t fraction = 0;
    if (take(cursor, ':')) {
        if (!take_two(cursor, &second)) return false;
        if (take(cursor, '.')) {
            int digits = 0;
            for (; cursor->at < cursor->end && sb_is_digit(*cursor->at); cursor->at++, digits++) {
                if (digits < 9) fraction = fraction * 10 + (*cursor->at - '0');
            }
            if (digits < 1 || digits > 9) return false;
            for (; digits < 9; digits++) fraction *= 10;
        }
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    *nanos = (int64_t)(hour * 3600 + minute * 60 + second) * 1000000000 + fraction;
    return true;
}

// Z, +HH, +HHMM, +HH:MM. False: none of these.
static bool take_offset(Cursor *cursor, int64_t *seconds) {
    *seconds = 0;
    if (take(cursor, 'Z') || take(cursor, 'z')) return true;
    bool minus = take(cursor, '-');
    if (!minus && !take(cursor, '+')) return false;
    unsigned hour, minute = 0;
    if (!take_two(cursor, &hour)) return false;
    bool colon = take(cursor, ':');
    if ((colon || cursor->at < cursor->end) && !take_two(cursor, &minute)) return false;
    if (hour > 23 || minute > 59) return false;
    *seconds = (int64_t)(hour * 3600 + minute * 60) * (minus ? -1 : 1);
    return true;
}

int32_t sb_timestamp_of(int64_t days, int64_t nanos, int64_t offset, uint32_t unit, int64_t *out) {
    int64_t scale = sb_unit_scale(unit), step = 1000000000 / scale;
    if (nanos % step) return SB_FAULT_TOO_PRECISE;
    __int128 value = ((__int128)days * SB_DAY_S - offset) * scale + nanos / step;
    if (value < INT64_MIN || value > INT64_MAX) return SB_FAULT_OUT_OF_RANGE;
    *out = (int64_t)value;
    return SB_OK;
}

// Passes "." and up to nine digits: their nanoseconds. False: another form.
static bool take_fraction(Cursor *cursor, int64_t *nanos) {
    *nanos = 0;
    if (cursor->at == cursor->end || *cursor->at != '.') return true;
    const char *at = cursor->at + 1;
    uint64_t word = sb_digits_load(at);
    const uint64_t wrong = sb_digits_wrong(word), count = wrong ? __builtin_ctzll(wrong) / 8u : 8;
    if (count == 0) return false;
    if (wrong) word &= (UINT64_C(1) << 8 * count) - 1;  // Zeros take the places that are left.
    *nanos = (int64_t)sb_digits_value(word) * 10;
    at += count;
    if (!wrong && sb_is_digit(*at)) *nanos += *at++ - '0';
    cursor->at = at;
    return at <= cursor->end;
}

typedef struct Moment {
    int64_t days, nanos, offset;  // As sb_timestamp_of takes them.
} Moment;

// "YYYY-MM-DD?HH:MM:SS", perhaps a fraction, then nothing, "Z" or "+HH:MM". False: another form,
// which may be right all the same.
static bool read_usual(const char *ptr, int64_t len, Moment *out) {
    if (len < 19 || (ptr[10] != 'T' && ptr[10] != ' ')) return false;
    int64_t days, seconds, nanos, offset = 0;
    if (!read_short_date(ptr, &days) || !read_short_time(ptr + 11, &seconds)) return false;
    Cursor rest = {ptr + 19, ptr + len};
    if (!take_fraction(&rest, &nanos)) return false;
    const int64_t left = rest.end - rest.at;
    const char sign = *rest.at;
    if (left == 6 && (sign == '+' || sign == '-')) {
        const uint64_t word = load_xor(rest.at + 1, 0x30303a3030) & 0xffffffffff;
        const uint64_t pairs = pairs_of(word);
        const unsigned hour = byte_of(pairs, 0), minute = byte_of(pairs, 3);
        if (sb_digits_wrong(word) || word & 0xff0000 || hour > 23 || minute > 59) return false;
        offset = (int64_t)(hour * 3600 + minute * 60) * (sign == '-' ? -1 : 1);
    } else if (left && !(left == 1 && sign == 'Z')) {
        return false;
    }
    *out = (Moment){days, seconds * 1000000000 + nanos, offset};
    return true;
}

int32_t sb_read_timestamp_any(const char *ptr, int64_t len, uint32_t unit, const SbZone *zone,
                              int64_t *out) {
    Moment usual;
    if (!zone && read_usual(ptr, len, &usual))
        return sb_timestamp_of(usual.days, usual.nanos, usual.offset, unit, out);
    Cursor cursor = {ptr, ptr + len};
    int64_t days, nanos, offset, midnight;
    if (!take_date(&cursor, &days)) return SB_FAULT_BAD_TIMESTAMP;
    if (!take(&cursor, 'T') && !take(&cursor, 't') && !take(&cursor, ' ')) {
        return SB_FAULT_BAD_TIMESTAMP;
    }
    if (!take_time(&cursor, &nanos)) return SB_FAULT_BAD_TIMESTAMP;
    bool local = cursor.at == cursor.end;
    if (!local && !take_offset(&cursor, &offset)) return SB_FAULT_BAD_TIMESTAMP;
    if (cursor.at != cursor.end) return SB_FAULT_BAD_TIMESTAMP;
    if (__builtin_mul_overflow(days, SB_DAY_S, &midnight)) return SB_FAULT_OUT_OF_RANGE;
    if (local) offset = sb_zone_offset_local(zone, midnight + nanos / 1000000000);
    return sb_timestamp_of(days, nanos, offset, unit, out);
}

// ---- durations ---------------------------------------------------------------------------------

static const struct {
    char    name[3];
    int64_t micros;
} UNITS[] = {  // The largest first.
    {"d", SB_DAY_US}, {"h", 3600000000}, {"m", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1},
};

static int32_t signed_micros(unsigned __int128 micros, bool minus, int64_t *out) {
    if (micros > (uint64_t)INT64_MAX + minus) return SB_FAULT_OUT_OF_RANGE;
    *out = (int64_t)(minus ? -(uint64_t)micros : (uint64_t)micros);
    return SB_OK;
}

// The rest of HOURS:MM[:SS[.digits]] from the colon on.
static int32_t read_clock(Cursor cursor, unsigned __int128 hours, bool minus, int64_t *out) {
    unsigned minute = 0, second = 0, micros = 0;
    cursor.at++;
    if (!take_two(&cursor, &minute) || minute > 59) return SB_FAULT_BAD_DURATION;
    if (take(&cursor, ':')) {
        if (!take_two(&cursor, &second) || second > 59) return SB_FAULT_BAD_DURATION;
        const char *point = cursor.at;
        unsigned place = 1000000;
        for (bool more = take(&cursor, '.'); more && cursor.at < cursor.end; cursor.at++) {
            if (!sb_is_digit(*cursor.at)) return SB_FAULT_BAD_DURATION;
            if (place == 1 && *cursor.at != '0') return SB_FAULT_BAD_DURATION;
            place = place > 1 ? place / 10 : 1;
            micros += (unsigned)(*cursor.at - '0') * place;
        }
        if (cursor.at == point + 1) return SB_FAULT_BAD_DURATION;
    }
    if (cursor.at != cursor.end) return SB_FAULT_BAD_DURATION;
    if (hours > INT64_MAX) return SB_FAULT_OUT_OF_RANGE;
    return signed_micros(((hours * 60 + minute) * 60 + second) * 1000000 + micros, minus, out);
}

// [+-] digits [. digits] unit, a whole number of microseconds; or [+-] hours:MM[:SS[.digits]].
int32_t sb_read_duration(const char *ptr, int64_t len, int64_t *out) {
    Cursor cursor = {ptr, ptr + len};
    bool minus = take(&cursor, '-');
    if (!minus) take(&cursor, '+');
    unsigned __int128 value = 0, divisor = 1;
    bool point = false, over = false, lost = false;
    int digits = 0;
    for (; cursor.at < cursor.end; cursor.at++) {
        if (*cursor.at == '.' && !point && digits) {
            point = true;
            digits = 0;
            continue;
        }
        if (!sb_is_digit(*cursor.at)) break;
        unsigned digit = (unsigned)(*cursor.at - '0');
        digits++;
        if (point && digits > 15) {  // A day has 11 digits of microseconds.
            lost |= digit != 0;
            continue;
        }
        over |= value > (unsigned __int128)1 << 110;
        if (!over) value = value * 10 + digit;
        if (point) divisor *= 10;
    }
    bool clock = digits && !point && cursor.at < cursor.end && *cursor.at == ':';
    if (clock) return read_clock(cursor, value, minus, out);
    for (size_t i = 0; digits && i < sizeof UNITS / sizeof *UNITS; i++) {
        int64_t name = (int64_t)strlen(UNITS[i].name);
        if (cursor.end - cursor.at != name || memcmp(cursor.at, UNITS[i].name, (size_t)name) != 0) {
            continue;
        }
        unsigned __int128 micros;
        over |= __builtin_mul_overflow(value, (unsigned __int128)UNITS[i].micros, &micros);
        if (over) return SB_FAULT_OUT_OF_RANGE;
        if (lost || micros % divisor) return SB_FAULT_BAD_DURATION;
        return signed_micros(micros / divisor, minus, out);
    }
    return SB_FAULT_BAD_DURATION;
}

char *sb_put_duration(char *out, int64_t value) {
    if (value == 0) {
        memcpy(out, "0s", 2);
        return out + 2;
    }
    size_t unit = 0;
    while (value % UNITS[unit].micros) unit++;
    out = sb_put_i64(out, value / UNITS[unit].micros);
    size_t name = strlen(UNITS[unit].name);
    memcpy(out, UNITS[unit].name, name);
    return out + name;
}

// ---- writing -----------------------------------------------------------------------------------

static char *put_two(char *out, int64_t value) {
    out[0] = (char)('0' + value / 10);
    out[1] = (char)('0' + value % 10);
    return out + 2;
}

// `count` digits of value, zeros in front.
static char *put_padded(char *out, int64_t value, int count) {
    for (int i = count - 1; i >= 0; i--, value /= 10) out[i] = (char)('0' + value % 10);
    return out + count;
}

static char *put_days(char *out, int64_t days) {
    SbCivil civil = sb_civil_of(days);
    int64_t year = civil.year;
    if (year < 0 || year > 9999) *out++ = year < 0 ? '-' : '+';
    if (year < 0) year = -year;
    out = year > 9999 ? sb_put_i64(out, year) : put_padded(out, year, 4);
    *out++ = '-';
    out = put_two(out, civil.month);
    *out++ = '-';
    return put_two(out, civil.day);
}

char *sb_put_date(char *out, int32_t value) { return put_days(out, value); }

char *sb_put_timestamp(char *out, int64_t value, uint32_t unit) {
    int64_t scale = sb_unit_scale(unit);
    int64_t seconds = sb_floor_div(value, scale), fraction = sb_floor_mod(value, scale);
    int64_t days = sb_floor_div(seconds, SB_DAY_S), of_day = sb_floor_mod(seconds, SB_DAY_S);
    out = put_days(out, days);
    *out++ = 'T';
    out = put_two(out, of_day / 3600);
    *out++ = ':';
    out = put_two(out, of_day / 60 % 60);
    *out++ = ':';
    out = put_two(out, of_day % 60);
    if (fraction) {
        int digits = unit == 1 ? 3 : unit == 2 ? 6 : 9;
        for (; fraction % 1000 == 0; digits -= 3) fraction /= 1000;
        *out++ = '.';
        out = put_padded(out, fraction, digits);
    }
    *out++ = 'Z';
    return out;
}
