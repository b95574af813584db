// Dates, zones and durations: the calendar day by day, texts, arithmetic, known transitions.
#include "stdlib/time/date_parts.h"
#include "tests/unit/scratch.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdlib.h>

static const SbType SECONDS = {.kind = SB_TIMESTAMP, .unit = 0},
                    MICROS = {.kind = SB_TIMESTAMP, .unit = 2},
                    NANOS = {.kind = SB_TIMESTAMP, .unit = 3};

static SbStr str(const char *text) { return (SbStr){text, (int64_t)strlen(text)}; }

// Texts live in a padded buffer: readers may look past the end.
static const char *padded(const char *text) {
    static char bytes[256];
    memset(bytes, '1', sizeof bytes);
    memcpy(bytes, text, strlen(text));
    return bytes;
}

static int64_t at(const char *text) {
    int64_t value = 0;
    CHECK_SAYS(sb_read_timestamp(padded(text), (int64_t)strlen(text), 2, nullptr, &value) == SB_OK,
               "'%s'", text);
    return value;
}

static const SbZone *zone(const char *name) {
    const SbZone *found = sb_zone_find(name, (int64_t)strlen(name));
    CHECK_SAYS(found, "'%s'", name);
    return found;
}

// Counts days forward from -4000-01-01 by the rules of months alone.
static void calendar(void) {
    int64_t days = sb_days_of(-4000, 1, 1);
    CHECK(sb_days_of(1970, 1, 1) == 0 && sb_days_of(2000, 3, 1) == 11017);
    int bad = 0;
    for (int64_t year = -4000; year < 5000; year++) {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        const unsigned lengths[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        for (unsigned month = 1; month <= 12; month++) {
            bad += sb_month_days(year, month) != lengths[month - 1];
            for (unsigned day = 1; day <= lengths[month - 1]; day++, days++) {
                SbCivil civil = sb_civil_of(days);
                bad += civil.year != year || civil.month != (int)month || civil.day != (int)day;
                bad += sb_days_of(year, month, day) != days;
            }
        }
    }
    CHECK(bad == 0);
    for (int64_t far = INT64_MIN / 200000; far < INT64_MAX / 200000; far += INT64_MAX / 20000000) {
        SbCivil civil = sb_civil_of(far);
        CHECK(sb_days_of(civil.year, (unsigned)civil.month, (unsigned)civil.day) == far);
    }
}

static void date_texts(void) {
    static const struct { const char *text; int32_t status, days;
    } cases[] = {
        {"1970-01-01", SB_OK, 0},
        {"2026-11-21", SB_OK, 20778},
        {"2024-02-29", SB_OK, 19782},
        {"0000-03-01", SB_OK, -719468},
        {"-0044-03-15", SB_OK, -735525},
        {"+12026-01-01", SB_OK, 3672879},
        {"2023-02-29", SB_FAULT_BAD_DATE, 0},
        {"2023-13-01", SB_FAULT_BAD_DATE, 0},
        {"2023-00-01", SB_FAULT_BAD_DATE, 0},
        {"2023-04-31", SB_FAULT_BAD_DATE, 0},
        {"2023-1-01", SB_FAULT_BAD_DATE, 0},
        {"2023-01-1", SB_FAULT_BAD_DATE, 0},
        {"2023/01/01", SB_FAULT_BAD_DATE, 0},
        {"2023-01-01 ", SB_FAULT_BAD_DATE, 0},
        {"20230101", SB_FAULT_BAD_DATE, 0},
        {"", SB_FAULT_BAD_DATE, 0},
        {"202a-01-01", SB_FAULT_BAD_DATE, 0},
        {"2023,01,01", SB_FAULT_BAD_DATE, 0},
        {"12026-01-01", SB_FAULT_BAD_DATE, 0},
        {"+9999999-01-01", SB_FAULT_OUT_OF_RANGE, 0},
        {"+99999999999999999999-01-01", SB_FAULT_OUT_OF_RANGE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t days = 0;
        int32_t status = sb_read_date(padded(cases[i].text), (int64_t)strlen(cases[i].text), &days);
        CHECK_SAYS(status == cases[i].status && days == cases[i].days, "'%s' is %d, %d",
                   cases[i].text, status, days);
        if (status != SB_OK) continue;
        char text[SB_DATE_MAX + 1];
        *sb_put_date(text, days) = 0;
        CHECK_SAYS(strcmp(text, cases[i].text) == 0, "'%s'", text);
    }
    char text[SB_DATE_MAX + 1];
    CHECK(sb_put_date(text, INT32_MAX) - text <= SB_DATE_MAX);
    CHECK(sb_put_date(text, INT32_MIN) - text <= SB_DATE_MAX);
}

static void timestamp_texts(void) {
    static const struct {
        const char *text;
        uint32_t unit;
        int32_t status;
        const char *canonical;
    } cases[] = {
        {"2026-11-21T09:00:00Z", 2, SB_OK, "2026-11-21T09:00:00Z"},
        {"2026-11-21 09:00:00", 2, SB_OK, "2026-11-21T09:00:00Z"},
        {"2026-11-21t09:00", 0, SB_OK, "2026-11-21T09:00:00Z"},
        {"2026-11-21T09:00:00.5+02:00", 2, SB_OK, "2026-11-21T07:00:00.500Z"},
        {"2026-11-21T09:00:00.123456-0330", 2, SB_OK, "2026-11-21T12:30:00.123456Z"},
        {"2026-11-21T09:00:00.123456789+14", 3, SB_OK, "2026-11-20T19:00:00.123456789Z"},
        {"2026-11-21T09:00:00.120000000z", 1, SB_OK, "2026-11-21T09:00:00.120Z"},
        {"1969-12-31T23:59:59.999999Z", 2, SB_OK, "1969-12-31T23:59:59.999999Z"},
        {"-0001-12-31T00:00:00Z", 2, SB_OK, "-0001-12-31T00:00:00Z"},
        {"2026-11-21T09:00:00.1Z", 0, SB_FAULT_TOO_PRECISE, ""},
        {"2026-11-21T09:00:00.0000001Z", 2, SB_FAULT_TOO_PRECISE, ""},
        {"2026-11-21T09:00:00.1234567891Z", 3, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-11-21T09:00:60Z", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-11-21T24:00:00Z", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-02-30T00:00:00Z", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-11-21", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-11-21T09", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-11-21T09:00:00.Z", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-11-21T09:00:00+1:00", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-11-21T09:00:00+01:", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-11-21  09:00:00", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"2026-11-21T09:00:00 Z", 2, SB_FAULT_BAD_TIMESTAMP, ""},
        {"3000-01-01T00:00:00Z", 3, SB_FAULT_OUT_OF_RANGE, ""},
        {"+999999999999-01-01T00:00:00Z", 0, SB_FAULT_OUT_OF_RANGE, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        int32_t status = sb_read_timestamp(padded(cases[i].text), (int64_t)strlen(cases[i].text),
                                           cases[i].unit, nullptr, &value);
        CHECK_SAYS(status == cases[i].status, "'%s' is %d", cases[i].text, status);
        if (status != SB_OK) continue;
        char text[SB_TIMESTAMP_MAX + 1];
        *sb_put_timestamp(text, value, cases[i].unit) = 0;
        CHECK_SAYS(strcmp(text, cases[i].canonical) == 0, "'%s' is '%s'", cases[i].text, text);
    }
    for (uint32_t unit = 0; unit < 4; unit++) {  // The ends of the type read back or are too far.
        char text[256];
        int64_t back = 1;
        char *end = sb_put_timestamp(text, INT64_MAX, unit);
        CHECK(end - text <= SB_TIMESTAMP_MAX);
        CHECK(sb_read_timestamp(text, end - text, unit, nullptr, &back) == SB_OK &&
              back == INT64_MAX);
        end = sb_put_timestamp(text, INT64_MIN, unit);
        CHECK(end - text <= SB_TIMESTAMP_MAX);
        if (unit == 0) continue;
        CHECK(sb_read_timestamp(text, end - text, unit, nullptr, &back) == SB_OK &&
              back == INT64_MIN);
    }
}

// Without a zone the usual forms are read eight bytes at a time, with one digit by digit.
static void usual_timestamps_read_alike(void) {
    enum { ROUNDS = 200000 };
    static const char *const offsets[] = {"", "Z", "+02:00", "-23:59", "+24:00", "+0230", "z", " "};
    static const char odd[] = "09:.-+TZ tz/;";
    const SbZone *utc = zone("UTC");
    for (int i = 0; i < ROUNDS && unit_failures < 10; i++) {
        char text[64];
        const unsigned digits = random_below(12);
        int len = sprintf(text, "%04u-%02u-%02u%c%02u:%02u:%02u", random_below(10000),
                          random_below(14), random_below(33), " Tt"[random_below(3)],
                          random_below(26), random_below(62), random_below(62));
        if (digits) text[len++] = '.';
        for (unsigned k = 1; k < digits; k++) text[len++] = (char)('0' + random_below(10));
        len += sprintf(text + len, "%s", offsets[random_below(8)]);
        if (random_below(4) == 0)
            text[random_below((uint32_t)len)] = odd[random_below(sizeof odd - 1)];
        const uint32_t unit = random_below(4);
        int64_t fast = 0, slow = 0;
        const int32_t status = sb_read_timestamp(padded(text), len, unit, nullptr, &fast);
        const int32_t other = sb_read_timestamp(padded(text), len, unit, utc, &slow);
        CHECK_SAYS(status == other && (status || fast == slow), "'%s': %d and %d", text, status,
                   other);
    }
}

static void durations(void) {
    static const struct {
        const char *text;
        int32_t status;
        int64_t micros;
        const char *canonical;
    } cases[] = {
        {"90s", SB_OK, 90000000, "90s"},
        {"1.5h", SB_OK, 5400000000, "90m"},
        {"0s", SB_OK, 0, "0s"},
        {"36h", SB_OK, 129600000000, "36h"},
        {"24h", SB_OK, 86400000000, "1d"},
        {"-1ms", SB_OK, -1000, "-1ms"},
        {"+0.000001s", SB_OK, 1, "1us"},
        {"1.0000000000000000000s", SB_OK, 1000000, "1s"},
        {"14:05:00", SB_OK, 50700000000, "845m"},
        {"14:05", SB_OK, 50700000000, "845m"},
        {"-0:00:00.5", SB_OK, -500000, "-500ms"},
        {"+9:05:07.000001", SB_OK, 32707000001, "32707000001us"},
        {"25:10:00.1234560", SB_OK, 90600123456, "90600123456us"},
        {"2562047788:00:54.775807", SB_OK, INT64_MAX, "9223372036854775807us"},
        {"-2562047788:00:54.775808", SB_OK, INT64_MIN, "-9223372036854775808us"},
        {"2562047788:00:54.775808", SB_FAULT_OUT_OF_RANGE, 0, ""},
        {"99999999999999999999999999999999999999999999:00", SB_FAULT_OUT_OF_RANGE, 0, ""},
        {"14:60", SB_FAULT_BAD_DURATION, 0, ""},
        {"14:05:60", SB_FAULT_BAD_DURATION, 0, ""},
        {"14:5", SB_FAULT_BAD_DURATION, 0, ""},
        {"14:05:0", SB_FAULT_BAD_DURATION, 0, ""},
        {"14:05:00.", SB_FAULT_BAD_DURATION, 0, ""},
        {"14:05:00.0000001", SB_FAULT_BAD_DURATION, 0, ""},
        {"14:05:00.5x", SB_FAULT_BAD_DURATION, 0, ""},
        {"14:05:00Z", SB_FAULT_BAD_DURATION, 0, ""},
        {"14:05 PM", SB_FAULT_BAD_DURATION, 0, ""},
        {"1.5:05", SB_FAULT_BAD_DURATION, 0, ""},
        {":05:00", SB_FAULT_BAD_DURATION, 0, ""},
        {"14::00", SB_FAULT_BAD_DURATION, 0, ""},
        {"14:", SB_FAULT_BAD_DURATION, 0, ""},
        {"0.5us", SB_FAULT_BAD_DURATION, 0, ""},
        {"90", SB_FAULT_BAD_DURATION, 0, ""},
        {"s", SB_FAULT_BAD_DURATION, 0, ""},
        {"1.s", SB_FAULT_BAD_DURATION, 0, ""},
        {".5s", SB_FAULT_BAD_DURATION, 0, ""},
        {"1 s", SB_FAULT_BAD_DURATION, 0, ""},
        {"1ns", SB_FAULT_BAD_DURATION, 0, ""},
        {"", SB_FAULT_BAD_DURATION, 0, ""},
        {"0.0000000000000000001s", SB_FAULT_BAD_DURATION, 0, ""},
        {"1w", SB_FAULT_BAD_DURATION, 0, ""},
        {"106751992d", SB_FAULT_OUT_OF_RANGE, 0, ""},
        {"9223372036854775807us", SB_OK, INT64_MAX, "9223372036854775807us"},
        {"-9223372036854775808us", SB_OK, INT64_MIN, "-9223372036854775808us"},
        {"9999999999999999999999999999999999999999999999999d", SB_FAULT_OUT_OF_RANGE, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        int32_t status = sb_read_duration(padded(cases[i].text), (int64_t)strlen(cases[i].text),
                                          &value);
        CHECK_SAYS(status == cases[i].status && value == cases[i].micros, "'%s' is %d, %" PRId64,
                   cases[i].text, status, value);
        if (status != SB_OK) continue;
        char text[SB_DURATION_MAX + 1];
        *sb_put_duration(text, value) = 0;
        CHECK_SAYS(strcmp(text, cases[i].canonical) == 0, "'%s' is '%s'", cases[i].text, text);
    }
}

static void parts(void) {
    int64_t t = at("2024-02-29T13:14:15.678901Z");
    int32_t d = 19782;
    CHECK(sb_year_timestamp(&MICROS, t) == 2024 && sb_month_date(d) == 2 && sb_day_date(d) == 29);
    CHECK(sb_hour_timestamp(&MICROS, t) == 13 && sb_minute_timestamp(&MICROS, t) == 14);
    CHECK(sb_second_timestamp(&MICROS, t) == 15 && sb_microsecond_timestamp(&MICROS, t) == 678901);
    CHECK(sb_quarter_date(d) == 1 && sb_weekday_date(d) == 4 && sb_day_of_year_date(d) == 60);
    CHECK(sb_microsecond_timestamp(&NANOS, 1999) == 1 && sb_hour_timestamp(&SECONDS, -1) == 23);
    // ISO weeks around new year.
    static const struct { int year; unsigned month, day; int iso_year, week;
    } weeks[] = {
        {2021, 1, 3, 2020, 53},   {2021, 1, 4, 2021, 1},  {2024, 12, 30, 2025, 1},
        {2026, 12, 31, 2026, 53}, {2027, 1, 3, 2026, 53}, {2023, 1, 1, 2022, 52},
        {2000, 1, 1, 1999, 52},
    };
    for (size_t i = 0; i < sizeof weeks / sizeof *weeks; i++) {
        int64_t days = sb_days_of(weeks[i].year, weeks[i].month, weeks[i].day);
        CHECK(sb_iso_week_date((int32_t)days) == weeks[i].week &&
              sb_iso_year_date((int32_t)days) == weeks[i].iso_year);
    }
}

static void arithmetic(void) {
    int32_t date = 0;
    int64_t value = 0;
    CHECK(sb_add_months_date((int32_t)sb_days_of(2024, 1, 31), 1, &date) == SB_OK &&
          date == sb_days_of(2024, 2, 29));
    CHECK(sb_add_months_date((int32_t)sb_days_of(2024, 2, 29), -12, &date) == SB_OK &&
          date == sb_days_of(2023, 2, 28));
    CHECK(sb_add_months_date(0, INT64_MAX, &date) == SB_FAULT_OVERFLOW);
    CHECK(sb_add_months_timestamp(&MICROS, at("2024-01-31T10:00:00Z"), 1, &value) == SB_OK &&
          value == at("2024-02-29T10:00:00Z"));
    CHECK(sb_last_day_date((int32_t)sb_days_of(2023, 2, 3), &date) == SB_OK &&
          date == sb_days_of(2023, 2, 28));
    CHECK(sb_make_date(2024, 2, 29, &date) == SB_OK && date == 19782);
    CHECK(sb_make_date(2023, 2, 29, &date) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_timestamp_add(10, 1500000, 0, &value) == SB_OK && value == 11);
    CHECK(sb_timestamp_add(10, 2, 3, &value) == SB_OK && value == 2010);
    CHECK(sb_timestamp_add(INT64_MAX, 1, 2, &value) == SB_FAULT_OVERFLOW);
    CHECK(sb_timestamp_minus(10, 1, 0, &value) == SB_OK && value == 9);
    CHECK(sb_timestamp_minus(0, INT64_MIN, 2, &value) == SB_FAULT_OVERFLOW);
    CHECK(sb_timestamp_minus(0, INT64_MIN, 1, &value) == SB_OK &&
          value == INT64_C(9223372036854775));
    CHECK(sb_timestamp_sub(3, 1, 0, &value) == SB_OK && value == 2000000);
    CHECK(sb_timestamp_sub(INT64_MAX, -1, 2, &value) == SB_FAULT_OVERFLOW);
    CHECK(sb_timestamp_rescale(1500, 1, 0, &value) == SB_FAULT_BAD_CAST);
    CHECK(sb_timestamp_rescale(1500, 1, 3, &value) == SB_OK && value == 1500000000);
    CHECK(sb_truncate_date(19782, str("quarter"), &date) == SB_OK &&
          date == sb_days_of(2024, 1, 1));
    CHECK(sb_truncate_date(19782, str("hour"), &date) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_truncate_timestamp(&MICROS, at("2024-02-29T13:14:15.5Z"), str("week"), &value) ==
              SB_OK &&
          value == at("2024-02-26T00:00:00Z"));
    CHECK(sb_truncate_timestamp(&MICROS, at("2024-02-29T13:14:15.5Z"), str("minute"), &value) ==
              SB_OK &&
          value == at("2024-02-29T13:14:00Z"));
    CHECK(sb_truncate_zone(&MICROS, at("2024-07-01T22:30:00Z"), str("day"), zone("Europe/Berlin"),
                           &value) == SB_OK &&
          value == at("2024-07-01T22:00:00Z"));
    CHECK(sb_truncate_zone(&SECONDS, INT64_MIN, str("day"), nullptr, &value) == SB_FAULT_OVERFLOW);
    CHECK(sb_from_seconds(1.5, &value) == SB_OK && value == 1500000);
    CHECK(sb_from_seconds(1e300, &value) == SB_FAULT_OVERFLOW);
}

// Offsets known from the history of each zone, its last transitions and the rules behind them.
static void zones(void) {
    static const struct { const char *zone, *utc; int32_t offset;
    } cases[] = {
        {"UTC", "2026-01-01T00:00:00Z", 0},
        {"Europe/Berlin", "2026-01-01T00:00:00Z", 3600},
        {"Europe/Berlin", "2026-03-29T00:59:59Z", 3600},
        {"Europe/Berlin", "2026-03-29T01:00:00Z", 7200},
        {"Europe/Berlin", "2026-10-25T00:59:59Z", 7200},
        {"Europe/Berlin", "2026-10-25T01:00:00Z", 3600},
        {"Europe/Berlin", "2090-07-01T00:00:00Z", 7200},
        {"Europe/Berlin", "1970-07-01T00:00:00Z", 3600},
        {"Europe/Berlin", "1945-06-01T00:00:00Z", 10800},
        {"Europe/Berlin", "1800-01-01T00:00:00Z", 3208},
        {"America/New_York", "2007-03-11T07:00:00Z", -14400},
        {"America/New_York", "2006-03-20T07:00:00Z", -18000},
        {"America/New_York", "2040-11-04T05:59:59Z", -14400},
        {"America/New_York", "2040-11-04T06:00:00Z", -18000},
        {"Asia/Kolkata", "2026-01-01T00:00:00Z", 19800},
        {"Asia/Kathmandu", "2026-01-01T00:00:00Z", 20700},
        {"Australia/Sydney", "2045-01-01T00:00:00Z", 39600},
        {"Australia/Sydney", "2045-07-01T00:00:00Z", 36000},
        {"Australia/Lord_Howe", "2045-01-01T00:00:00Z", 39600},
        {"Australia/Lord_Howe", "2045-07-01T00:00:00Z", 37800},
        {"Europe/Dublin", "2045-01-01T00:00:00Z", 0},
        {"Europe/Dublin", "2045-07-01T00:00:00Z", 3600},
        {"Pacific/Apia", "2011-12-30T09:59:59Z", -36000},
        {"Pacific/Apia", "2011-12-30T10:00:00Z", 50400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t offset = sb_zone_offset(zone(cases[i].zone), at(cases[i].utc) / 1000000);
        CHECK_SAYS(offset == cases[i].offset, "%s %s is %d", cases[i].zone, cases[i].utc, offset);
    }
    CHECK(!sb_zone_find("Europe/Berli", 12) && !sb_zone_find("", 0) &&
          !sb_zone_find("europe/berlin", 13));
    CHECK(sb_zone_version().len >= 5 && sb_zone_name(0).len > 0 && sb_zone_name(100000).len == 0);
    for (uint32_t i = 0; sb_zone_name(i).len; i++) {
        SbStr name = sb_zone_name(i);
        CHECK(sb_zone_find(name.ptr, name.len));
    }
}

static void local_times(void) {
    int64_t value = 0;
    static const struct { const char *text, *utc;
    } cases[] = {
        {"2026-01-01T00:00:00", "2025-12-31T23:00:00Z"},
        {"2026-03-29T01:59:59", "2026-03-29T00:59:59Z"},
        {"2026-03-29T02:30:00", "2026-03-29T01:30:00Z"},
        {"2026-03-29T03:00:00", "2026-03-29T01:00:00Z"},
        {"2026-10-25T02:30:00", "2026-10-25T00:30:00Z"},
        {"2026-10-25T03:00:00", "2026-10-25T02:00:00Z"},
        {"2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const SbZone *berlin = zone("Europe/Berlin");
        CHECK(sb_read_timestamp(padded(cases[i].text), (int64_t)strlen(cases[i].text), 2, berlin,
                                &value) == SB_OK);
        CHECK_SAYS(value == at(cases[i].utc), "'%s'", cases[i].text);
    }
    CHECK(sb_in_zone(&MICROS, at("2026-07-01T00:00:00Z"), zone("Europe/Berlin"), &value) == SB_OK &&
          value == at("2026-07-01T02:00:00Z"));
    CHECK(sb_to_utc(&MICROS, at("2026-07-01T02:00:00Z"), zone("Europe/Berlin"), &value) == SB_OK &&
          value == at("2026-07-01T00:00:00Z"));
    CHECK(sb_hour_zone(&MICROS, at("2026-07-01T23:00:00Z"), zone("Europe/Berlin")) == 1);
    CHECK(sb_day_zone(&MICROS, at("2026-07-01T23:00:00Z"), zone("Europe/Berlin")) == 2);
    CHECK(sb_hour_zone(&SECONDS, INT64_MAX, zone("Europe/Berlin")) >= 0);
    CHECK(sb_zone_offset_local(zone("Europe/Berlin"), INT64_MAX) >= 3600);
    CHECK(sb_zone_offset_local(zone("Europe/Berlin"), INT64_MIN) == 3208);
}

static void formats(void) {
    SbStr text = {};
    int64_t t = at("2024-02-09T13:04:05.000006Z");
    CHECK(
        sb_format_timestamp(scratch(), &MICROS, t,
                            str("%Y-%m-%d %H:%M:%S.%f %j %a %A %b %B %y %I%p %u %V %G %z %s 100%%"),
                            &text) == SB_OK);
    const char *want = "2024-02-09 13:04:05.000006 040 Fri Friday Feb February 24 01PM 5 06 2024 "
                       "+0000 1707483845 100%";
    CHECK_SAYS(text.len == (int64_t)strlen(want) && memcmp(text.ptr, want, strlen(want)) == 0,
               "%.*s", (int)text.len, text.ptr);
    CHECK(sb_format_zone(scratch(), &MICROS, t, str("%F %T%z"), zone("America/New_York"), &text) ==
          SB_OK);
    CHECK(text.len == 24 && memcmp(text.ptr, "2024-02-09 08:04:05-0500", 24) == 0);
    CHECK(sb_format_date(scratch(), 0, str("%d.%m.%Y"), &text) == SB_OK && text.len == 10 &&
          memcmp(text.ptr, "01.01.1970", 10) == 0);
    CHECK(sb_format_date(scratch(), 0, str("%Q"), &text) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_format_date(scratch(), 0, str("%"), &text) == SB_FAULT_BAD_ARGUMENT);

    int32_t date = 0;
    int64_t value = 0;
    CHECK(sb_parse_date(str("29.2.2024"), str("%d.%m.%Y"), &date) == SB_OK && date == 19782);
    CHECK(sb_parse_date(str("Feb 29, 2024"), str("%b %d, %Y"), &date) == SB_OK && date == 19782);
    CHECK(sb_parse_date(str("THURSDAY february 29 24"), str("%A %B %d %y"), &date) == SB_OK &&
          date == 19782);
    CHECK(sb_parse_date(str("2024060"), str("%Y%j"), &date) == SB_OK && date == 19782);
    CHECK(sb_parse_date(str("30.2.2024"), str("%d.%m.%Y"), &date) == SB_FAULT_BAD_FORM);
    CHECK(sb_parse_date(str("29.2.2024x"), str("%d.%m.%Y"), &date) == SB_FAULT_BAD_FORM);
    CHECK(sb_parse_date(str("29.2."), str("%d.%m.%Y"), &date) == SB_FAULT_BAD_FORM);
    CHECK(sb_parse_date(str("29"), str("%d"), &date) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_parse_timestamp(str("02/09/2024 01:04:05 PM"), str("%m/%d/%Y %I:%M:%S %p"), &value) ==
              SB_OK &&
          value == at("2024-02-09T13:04:05Z"));
    CHECK(sb_parse_timestamp(str("12:30am 2024-01-01"), str("%I:%M%p %F"), &value) == SB_OK &&
          value == at("2024-01-01T00:30:00Z"));
    CHECK(sb_parse_timestamp(str("09/Feb/2024:13:04:05 +0100"), str("%d/%b/%Y:%T %z"), &value) ==
              SB_OK &&
          value == at("2024-02-09T12:04:05Z"));
    CHECK(sb_parse_timestamp(str("1707483845.25"), str("%s.%f"), &value) == SB_OK &&
          value == at("2024-02-09T13:04:05.250Z"));
    CHECK(sb_parse_timestamp(str("2024-02-09 0.1234567"), str("%F %S.%f"), &value) ==
          SB_FAULT_TOO_PRECISE);
    CHECK(sb_parse_timestamp_zone(str("2024-07-01 00:00"), str("%F %R"), zone("Europe/Berlin"),
                                  &value) == SB_OK &&
          value == at("2024-06-30T22:00:00Z"));
    CHECK(sb_parse_timestamp(str("25:00 2024-01-01"), str("%R %F"), &value) ==
          SB_FAULT_BAD_FORM);
}

// What the compiler says of a format is what the functions do with it.
static void judged_formats(void) {
    for (char letter = '!'; letter <= '~'; letter++) {
        char form[] = {'%', 'Y', '%', letter};
        SbStr format = {form, sizeof form}, text;
        int32_t date;
        bool writes = sb_format_date(scratch(), 0, format, &text) != SB_FAULT_BAD_ARGUMENT;
        bool reads = sb_parse_date(str("2026"), format, &date) != SB_FAULT_BAD_ARGUMENT;
        CHECK(writes == (sb_time_form_fault(format, false) < 0));
        CHECK(reads == (sb_time_form_fault(format, true) < 0));
    }
    int64_t value;
    SbStr most;
    CHECK(sb_format_duration(scratch(), INT64_MIN, str("%T.%f"), &most) == SB_OK &&
          most.len == 24 && memcmp(most.ptr, "-2562047788:00:54.775808", 24) == 0);
    CHECK(sb_parse_duration(most, str("%T.%f"), &value) == SB_OK && value == INT64_MIN);
    CHECK(sb_parse_duration(str("2562047788:00:54.775808"), str("%T.%f"), &value) ==
          SB_FAULT_OUT_OF_RANGE);
    CHECK(sb_parse_duration(str("0:00:00.0000001"), str("%H:%M:%S.%f"), &value) ==
          SB_FAULT_BAD_DURATION);
    CHECK(sb_parse_duration(str("12:00 AM"), str("%I:%M %p"), &value) == SB_OK && value == 0);
    CHECK(sb_parse_duration(str("1:60"), str("%R"), &value) == SB_FAULT_BAD_FORM);
    CHECK(sb_time_of_day_zone(&SECONDS, INT64_MAX, zone("Europe/Berlin")) >= 0 &&
          sb_time_of_day_zone(&MICROS, INT64_MIN, zone("Asia/Kolkata")) >= 0);
    CHECK(sb_time_of_day(&MICROS, -1) == 86399999999);
    CHECK(sb_truncate_duration(-1, 7, &value) == SB_OK && value == -7);
    CHECK(sb_truncate_duration(INT64_MIN, 7, &value) == SB_FAULT_OVERFLOW);
    CHECK(sb_clock_form_fault(str("%d"), false) == 1 && sb_clock_form_fault(str("%p"), true) == 2);
    CHECK(sb_clock_form_fault(str("%-I:%M:%S.%3f %p%%"), true) < 0);
    CHECK(sb_time_form_fault(str("%d.%Q"), false) == 4);
    CHECK(sb_time_form_fault(str("%F%-"), true) == 2);
    CHECK(sb_time_form_fault(str("%d.%m"), true) == 5 && sb_time_form_fault(str(""), false) < 0);
    CHECK(sb_truncate_unit(4, true).len == 3 && sb_truncate_unit(5, true).len == 0);
    CHECK(sb_truncate_unit(7, false).len == 6 && sb_truncate_unit(8, false).len == 0);
}

// Where a text and its format part is inside of both, and the words have room, whatever the bytes.
static void words_of_any_text(void) {
    static const char bytes[] = "%%%%%YmdHIpMSfjbBaAuzsFTR-369 :/.,Octmonpm+0123456789"
                                "\xc3\xa4\xff\x80";
    for (int round = 0; round < 200000; round++) {
        char texts[2][100];
        SbStr both[2];
        for (int i = 0; i < 2; i++) {
            uint32_t len = random_below(random_below(8) ? 12 : 100);
            for (uint32_t k = 0; k < len; k++)
                texts[i][k] = bytes[random_below(sizeof bytes - 1)];
            both[i] = (SbStr){texts[i], len};
        }
        if (sb_time_form_fault(both[1], true) >= 0) continue;
        int32_t date = 0, status = sb_parse_date(both[0], both[1], &date);
        if (status == SB_OK) continue;
        SbStr words = sb_time_form_blame(scratch(), status, both[0], both[1]);
        bool said = status != SB_FAULT_BAD_FORM || words.len > 20;
        CHECK_SAYS(said && words.len < 400, "'%.*s' by '%.*s': %.*s", (int)both[0].len,
                   both[0].ptr, (int)both[1].len, both[1].ptr, (int)words.len, words.ptr);
    }
}

static const UnitTest TESTS[] = {
    {"words_of_any_text", words_of_any_text},
    {"calendar", calendar}, {"date_texts", date_texts}, {"timestamp_texts", timestamp_texts},
    {"usual_timestamps_read_alike", usual_timestamps_read_alike},
    {"durations", durations}, {"parts", parts}, {"arithmetic", arithmetic}, {"zones", zones},
    {"local_times", local_times}, {"formats", formats},
    {"judged_formats", judged_formats},
};

UNIT_MAIN("date_test", TESTS)
