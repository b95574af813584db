// Dates and timestamps that a program writes out: date("2026-11-21") is judged at compile time.
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
