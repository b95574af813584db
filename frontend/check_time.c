// Dates, timestamps and durations that a program writes out: date("2026-11-21") is judged at
// compile time.
#include "frontend/checker.h"

typedef struct Scan {
    Text   text;
    size_t at;
} Scan;

static bool digits(Scan *scan, unsigned count, int *value) {
    *value = 0;
    for (unsigned i = 0; i < count; i++, scan->at++) {
        if (scan->at >= scan->text.len) return false;
        char c = scan->text.at[scan->at];
        if (c < '0' || c > '9') return false;
        *value = *value * 10 + (c - '0');
    }
    return true;
}

static bool mark(Scan *scan, char c) {
    if (scan->at >= scan->text.len || scan->text.at[scan->at] != c) return false;
    scan->at++;
    return true;
}

static bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

// Days since 1970-01-01 of the proleptic Gregorian calendar: years are counted from March, so
// that the leap day is the last of its year.
static int64_t days_of(int year, int month, int day) {
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static bool scan_date(Scan *scan, int64_t *days) {
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    if (!digits(scan, 4, &year) || !mark(scan, '-') || !digits(scan, 2, &month) ||
        !mark(scan, '-') || !digits(scan, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1) return false;
    if (day > month_days[month - 1] + (month == 2 && is_leap(year))) return false;
    *days = days_of(year, month, day);
    return true;
}

bool date_parse(Text text, int64_t *days) {
    Scan scan = {.text = text};
    return scan_date(&scan, days) && scan.at == text.len;
}

// The fraction after the seconds, in nanoseconds; `count` digits were written.
static bool scan_fraction(Scan *scan, int64_t *nanos, int *count) {
    *nanos = 0;
    *count = 0;
    if (!mark(scan, '.')) return true;
    int digit;
    while (scan->at < scan->text.len && *count < 9 && scan->text.at[scan->at] >= '0' &&
           scan->text.at[scan->at] <= '9' && digits(scan, 1, &digit)) {
        *nanos = *nanos * 10 + digit;
        ++*count;
    }
    for (int i = *count; i < 9; i++) *nanos *= 10;
    return *count > 0;
}

// Z, +hh:mm or nothing (UTC), in minutes.
static bool scan_offset(Scan *scan, int *minutes) {
    *minutes = 0;
    if (scan->at == scan->text.len || mark(scan, 'Z')) return true;
    bool west = mark(scan, '-');
    int hour, minute;
    if (!west && !mark(scan, '+')) return false;
    if (!digits(scan, 2, &hour) || !mark(scan, ':') || !digits(scan, 2, &minute)) return false;
    if (hour > 23 || minute > 59) return false;
    *minutes = (west ? -1 : 1) * (hour * 60 + minute);
    return true;
}

bool timestamp_parse(Text text, TimeUnit unit, int64_t *value) {
    static const int64_t per_second[] = {1, 1000, 1000000, 1000000000};
    Scan scan = {.text = text};
    int64_t days, nanos = 0;
    int hour = 0, minute = 0, second = 0, count = 0, offset = 0;
    if (!scan_date(&scan, &days)) return false;
    if (scan.at < text.len) {
        if (!mark(&scan, 'T') && !mark(&scan, ' ')) return false;
        if (!digits(&scan, 2, &hour) || !mark(&scan, ':') || !digits(&scan, 2, &minute))
            return false;
        if (mark(&scan, ':') &&
            (!digits(&scan, 2, &second) || !scan_fraction(&scan, &nanos, &count)))
            return false;
        if (!scan_offset(&scan, &offset) || scan.at != text.len) return false;
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    int64_t seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset * 60;
    int64_t units = per_second[unit], part = 1000000000 / units;
    if (nanos % part) return false;
    return !__builtin_mul_overflow(seconds, units, value) &&
           !__builtin_add_overflow(*value, nanos / part, value);
}

// The fraction of a second, or of `unit` microseconds: false, if it is no whole number of them.
static bool scan_part(Scan *scan, int64_t unit, int64_t *micros) {
    size_t first = scan->at;
    __int128 scale = 1, part = 0;
    int digit;
    for (; scan->at < scan->text.len && scale < 1000000000000000 && digits(scan, 1, &digit);
         scale *= 10)
        part = part * 10 + digit;
    *micros = (int64_t)(part * unit / scale);
    return scan->at > first && part * unit % scale == 0;
}

static bool is_figure(const Scan *scan) {
    return scan->at < scan->text.len && scan->text.at[scan->at] >= '0' &&
           scan->text.at[scan->at] <= '9';
}

// MM, or MM:SS with or without a fraction, to the end.
static bool scan_clock(Scan *scan, __int128 hours, __int128 *micros) {
    int minute, second = 0;
    int64_t part = 0;
    if (!digits(scan, 2, &minute) || minute > 59) return false;
    if (mark(scan, ':')) {
        if (!digits(scan, 2, &second) || second > 59) return false;
        if (mark(scan, '.') && !scan_part(scan, 1000000, &part)) return false;
    }
    *micros = ((hours * 60 + minute) * 60 + second) * 1000000 + part;
    return scan->at == scan->text.len;
}

bool duration_parse(Text text, int64_t *value) {
    static const struct {
        const char *name;
        int64_t     micros;
    } units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"m", 60000000}, {"h", 3600000000},
                 {"d", 86400000000}};
    Scan scan = {.text = text};
    bool minus = mark(&scan, '-');
    if (!minus) mark(&scan, '+');
    size_t first = scan.at;
    __int128 whole = 0, micros = 0, most = (__int128)INT64_MAX + minus;
    for (int digit; is_figure(&scan) && whole <= most && digits(&scan, 1, &digit);)
        whole = whole * 10 + digit;
    if (scan.at == first || whole > most) return false;
    bool good = false;
    if (mark(&scan, ':')) {
        good = scan_clock(&scan, whole, &micros);
    } else {
        Scan point = scan;
        bool fraction = mark(&scan, '.');
        while (fraction && is_figure(&scan)) scan.at++;
        Text unit = {text.at + scan.at, text.len - scan.at};
        for (size_t i = 0; i < countof(units); i++) {
            int64_t part = 0;
            if (!text_is(unit, units[i].name)) continue;
            good = !fraction || (mark(&point, '.') && scan_part(&point, units[i].micros, &part) &&
                                 point.at == scan.at);
            micros = whole * units[i].micros + part;
        }
    }
    *value = (int64_t)(minus ? -micros : micros);
    return good && micros <= most;
}
