// Months of the calendar, in days. Apart from date_math.c: windows count in them, so that each job
// has this file.
#include "stdlib/time/date.h"
#include "stdlib/time/date_parts.h"

enum : int64_t { MONTHS_MAX = 12000000000000 };

int32_t sb_shift_months(int64_t days, int64_t months, int64_t *out) {
    if (months < -MONTHS_MAX || months > MONTHS_MAX) return SB_FAULT_OVERFLOW;
    SbCivil civil = sb_civil_of(days);
    int64_t month = civil.year * 12 + civil.month - 1 + months;
    int64_t year = sb_floor_div(month, 12);
    unsigned of_year = (unsigned)sb_floor_mod(month, 12) + 1;
    unsigned last = sb_month_days(year, of_year);
    *out = sb_days_of(year, of_year, (unsigned)civil.day < last ? (unsigned)civil.day : last);
    return SB_OK;
}

int32_t sb_add_months_date(int32_t date, int64_t months, int32_t *out) {
    int64_t days;
    int32_t status = sb_shift_months(date, months, &days);
    return status == SB_OK ? sb_date_of_days(days, out) : status;
}

int32_t sb_floor_months(int64_t days, int64_t width, int64_t *out) {
    if (width <= 0) return SB_FAULT_BAD_ARGUMENT;
    if (width > MONTHS_MAX) return SB_FAULT_OVERFLOW;
    SbCivil civil = sb_civil_of(days);
    int64_t month = (civil.year - 1970) * 12 + civil.month - 1;
    month -= sb_floor_mod(month, width);
    *out = sb_days_of(1970 + sb_floor_div(month, 12), (unsigned)sb_floor_mod(month, 12) + 1, 1);
    return SB_OK;
}

int32_t sb_truncate_months_date(int32_t date, int64_t width, int32_t *out) {
    int64_t days;
    int32_t status = sb_floor_months(date, width, &days);
    return status == SB_OK ? sb_date_of_days(days, out) : status;
}
