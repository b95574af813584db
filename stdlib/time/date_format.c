// Dates, timestamps and durations by a format: the letters of strftime that mean the same
// everywhere.
//
//   %Y year, four digits or more   %y its last two (read: 69..99 are 19xx, 00..68 are 20xx)
//   %m %d %H %M %S two digits (read: one or two)    %j day of the year, three
//   %I hour of twelve with %p AM or PM              %f fraction of a second: six digits, of %3f and
//                                                   %9f three and nine (read: 1..9)
//   %b %B month's name, short, long                 %a %A weekday's name (read: not compared)
//   %u weekday, Monday 1   %V %G ISO week and its year (written only)
//   %z offset +0100 (read: also +01:00, +01, Z)     %s seconds since the epoch
//   %F is %Y-%m-%d, %T is %H:%M:%S, %R is %H:%M, %% is %     %-d drops leading zeros, of any letter
// Names are English; they are read in any case, short or long. Spaces match as they are.
// Of a duration, %H has all hours, with two digits at least; what is negative has one sign in
// front of everything.
#include "stdlib/number.h"
#include "stdlib/time/date_parts.h"

#include <string.h>

static const char MONTHS[12][10] = {"January", "February", "March", "April", "May", "June", "July",
                                    "August", "September", "October", "November", "December"};
static const char DAYS[7][10] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
                                 "Sunday"};

// What %F, %T and %R stand for; else null.
static const char *longer(char letter) {
    return letter == 'F'   ? "%Y-%m-%d"
           : letter == 'T' ? "%H:%M:%S"
           : letter == 'R' ? "%H:%M"
                           : nullptr;
}

// ---- writing -----------------------------------------------------------------------------------

typedef struct Fields {
    SbCivil civil;
    int64_t days, seconds, nanos, epoch;
    int32_t offset;
} Fields;

enum { LETTER_MAX = 24 };  // The most bytes that a letter writes.

static char *put_number(char *out, int64_t value, int width) {
    char text[SB_NUMBER_MAX], *digits = text;
    int64_t count = sb_put_i64(text, value) - text;
    if (value < 0) {
        *out++ = *digits++;
        count--;
    }
    for (; width > count; width--) *out++ = '0';
    memcpy(out, digits, (size_t)count);
    return out + count;
}

static char *put_name(char *out, const char *name, bool is_short) {
    size_t len = is_short ? 3 : strlen(name);
    memcpy(out, name, len);
    return out + len;
}

static char *put_offset(char *out, int32_t offset) {
    *out++ = offset < 0 ? '-' : '+';
    int32_t size = offset < 0 ? -offset : offset;
    return put_number(put_number(out, size / 3600, 2), size / 60 % 60, 2);
}

// nullptr: no such letter.
static char *put_letter(char *out, const Fields *f, char letter) {
    int64_t hour = f->seconds / 3600;
    switch (letter) {
    case 'Y': return put_number(out, f->civil.year, 4);
    case 'y': return put_number(out, sb_floor_mod(f->civil.year, 100), 2);
    case 'm': return put_number(out, f->civil.month, 2);
    case 'd': return put_number(out, f->civil.day, 2);
    case 'H': return put_number(out, hour, 2);
    case 'I': return put_number(out, hour % 12 ? hour % 12 : 12, 2);
    case 'p': return put_name(out, hour % 24 < 12 ? "AM" : "PM", false);
    case 'M': return put_number(out, f->seconds / 60 % 60, 2);
    case 'S': return put_number(out, f->seconds % 60, 2);
    case 'j': return put_number(out, f->days - sb_days_of(f->civil.year, 1, 1) + 1, 3);
    case 'b': return put_name(out, MONTHS[f->civil.month - 1], true);
    case 'B': return put_name(out, MONTHS[f->civil.month - 1], false);
    case 'a': return put_name(out, DAYS[sb_weekday_of(f->days) - 1], true);
    case 'A': return put_name(out, DAYS[sb_weekday_of(f->days) - 1], false);
    case 'u': return put_number(out, sb_weekday_of(f->days), 1);
    case 'V': return put_number(out, sb_iso_week_of(f->days).week, 2);
    case 'G': return put_number(out, sb_iso_week_of(f->days).year, 4);
    case 'z': return put_offset(out, f->offset);
    case 's': return put_number(out, f->epoch, 1);
    case '%': return *out = '%', out + 1;
    default: return nullptr;
    }
}

// What stands between % and its letter: the digits of %f, or a '-'.
typedef struct Flags {
    int  digits;
    bool bare;   // No leading zeros.
} Flags;

// The flags at `at`, which is left on the letter; false at the end of the format.
static bool take_flags(const char **at, const char *end, Flags *flags) {
    *flags = (Flags){.digits = 6};
    if (*at < end && **at == '-') {
        flags->bare = true;
        ++*at;
    } else if (end - *at >= 2 && (**at == '3' || **at == '6' || **at == '9') && (*at)[1] == 'f') {
        flags->digits = **at - '0';
        ++*at;
    }
    return *at < end;
}

static char *put_fraction(char *out, int64_t nanos, int digits) {
    for (int i = 9; i > digits; i--) nanos /= 10;
    return put_number(out, nanos, digits);
}

static char *drop_zeros(char *begin, char *end) {
    char *first = begin;
    while (first + 1 < end && *first == '0' && sb_is_digit(first[1])) first++;
    memmove(begin, first, (size_t)(end - first));
    return end - (first - begin);
}

static char *put_format(char *out, const Fields *fields, const char *at, const char *end) {
    for (; at < end; at++) {
        if (*at != '%') {
            *out++ = *at;
            continue;
        }
        at++;
        Flags flags;
        if (!take_flags(&at, end, &flags)) return nullptr;
        const char *more = longer(*at);
        char *begin = out;
        if (more) out = put_format(out, fields, more, more + strlen(more));
        else if (*at == 'f') out = put_fraction(out, fields->nanos, flags.digits);
        else out = put_letter(out, fields, *at);
        if (!out) return nullptr;
        if (flags.bare) out = drop_zeros(begin, out);
    }
    return out;
}

static int32_t format_fields(SbCall *call, Fields fields, SbStr format, SbStr *out) {
    int64_t bytes = format.len;
    for (int64_t i = 0; i < format.len; i++) bytes += format.ptr[i] == '%' ? 3 * LETTER_MAX : 0;
    fields.civil = sb_civil_of(fields.days);
    char *text = sb_alloc(call, bytes);
    if (!text) return SB_FAULT_TOO_LARGE;
    char *end = put_format(text, &fields, format.ptr, format.ptr + format.len);
    if (!end) return SB_FAULT_BAD_ARGUMENT;
    *out = (SbStr){text, end - text};
    return SB_OK;
}

int32_t sb_format_date(SbCall *call, int32_t date, SbStr format, SbStr *out) {
    Fields fields = {.days = date, .epoch = date * SB_DAY_S};
    return format_fields(call, fields, format, out);
}

int32_t sb_format_zone(SbCall *call, const SbType *type, int64_t timestamp, SbStr format,
                       const SbZone *zone, SbStr *out) {
    int64_t scale = sb_unit_scale(type->unit), seconds = sb_floor_div(timestamp, scale), local;
    Fields fields = {.epoch = seconds, .offset = sb_zone_offset(zone, seconds)};
    if (__builtin_add_overflow(seconds, fields.offset, &local)) return SB_FAULT_OVERFLOW;
    fields.days = sb_floor_div(local, SB_DAY_S);
    fields.seconds = sb_floor_mod(local, SB_DAY_S);
    fields.nanos = sb_floor_mod(timestamp, scale) * (1000000000 / scale);
    return format_fields(call, fields, format, out);
}

int32_t sb_format_timestamp(SbCall *call, const SbType *type, int64_t timestamp, SbStr format,
                            SbStr *out) {
    return sb_format_zone(call, type, timestamp, format, nullptr, out);
}

int32_t sb_format_duration(SbCall *call, int64_t duration, SbStr format, SbStr *out) {
    uint64_t size = duration < 0 ? -(uint64_t)duration : (uint64_t)duration;
    Fields fields = {.seconds = (int64_t)(size / 1000000),
                     .nanos = (int64_t)(size % 1000000) * 1000};
    int32_t status = format_fields(call, fields, format, out);
    if (status != SB_OK || duration >= 0) return status;
    char *text = sb_alloc(call, out->len + 1);
    if (!text) return SB_FAULT_TOO_LARGE;
    *text = '-';
    memcpy(text + 1, out->ptr, (size_t)out->len);
    *out = (SbStr){text, out->len + 1};
    return SB_OK;
}

// ---- reading -----------------------------------------------------------------------------------

typedef struct Parsed {
    const char *at, *end;
    int64_t year, epoch;
    int64_t month, day, day_of_year, hour, minute, second, nanos, offset;
    bool has_year, has_day_of_year, has_offset, has_epoch, twelve, afternoon;
    bool of_duration;  // %H takes any number of hours.
} Parsed;

// Up to `width` digits, of a value from low to high.
static bool take_number(Parsed *p, int width, int64_t low, int64_t high, int64_t *value) {
    const char *start = p->at;
    int64_t sum = 0;
    while (p->at < p->end && p->at - start < width && sb_is_digit(*p->at)) {
        sum = sum * 10 + (*p->at++ - '0');
    }
    *value = sum;
    return p->at > start && sum >= low && sum <= high;
}

static bool take_signed(Parsed *p, int width, int64_t *value) {
    bool minus = p->at < p->end && *p->at == '-';
    if (minus || (p->at < p->end && *p->at == '+')) p->at++;
    if (!take_number(p, width, 0, INT64_MAX, value)) return false;
    if (minus) *value = -*value;
    return true;
}

static bool take_fraction(Parsed *p) {
    const char *start = p->at;
    if (!take_number(p, 9, 0, 999999999, &p->nanos)) return false;
    for (int64_t digits = p->at - start; digits < 9; digits++) p->nanos *= 10;
    return true;
}

static bool same_letters(const char *text, const char *name, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if ((text[i] | 0x20) != (name[i] | 0x20)) return false;
    }
    return true;
}

// The long name if it is there, else its first three letters. Zero: neither.
static int64_t take_name(Parsed *p, const char (*names)[10], int count) {
    size_t left = (size_t)(p->end - p->at);
    for (int i = 0; i < count; i++) {
        size_t len = strlen(names[i]);
        if (left < len || !same_letters(p->at, names[i], len)) len = 3;
        if (left < len || !same_letters(p->at, names[i], len)) continue;
        p->at += len;
        return i + 1;
    }
    return 0;
}

static bool take_half(Parsed *p) {
    if (p->end - p->at < 2 || (p->at[1] | 0x20) != 'm') return false;
    char half = p->at[0] | 0x20;
    p->at += 2;
    p->afternoon = half == 'p';
    p->twelve = true;
    return half == 'a' || half == 'p';
}

static bool take_offset(Parsed *p) {
    p->has_offset = true;
    if (p->at < p->end && (*p->at | 0x20) == 'z') return p->at++, true;
    if (p->at == p->end || (*p->at != '+' && *p->at != '-')) return false;
    int64_t sign = *p->at++ == '-' ? -1 : 1, hour, minute = 0;
    const char *start = p->at;
    if (!take_number(p, 2, 0, 23, &hour) || p->at - start != 2) return false;
    bool colon = p->at < p->end && *p->at == ':';
    p->at += colon;
    bool more = p->end - p->at >= 2 && sb_is_digit(p->at[0]) && sb_is_digit(p->at[1]);
    if (more ? !take_number(p, 2, 0, 59, &minute) : colon) return false;
    p->offset = sign * (hour * 3600 + minute * 60);
    return true;
}

enum { HOUR_DIGITS = 10 };  // The hours of the longest duration.

// SB_OK, SB_NULL when the text does not fit, BAD_ARGUMENT for an unknown letter.
static int32_t take_letter(Parsed *p, char letter) {
    int64_t ignored;
    bool good = false;
    switch (letter) {
    case 'Y': good = p->has_year = take_signed(p, 4, &p->year); break;
    case 'y':
        good = p->has_year = take_number(p, 2, 0, 99, &p->year);
        p->year += p->year < 69 ? 2000 : 1900;
        break;
    case 'm': good = take_number(p, 2, 1, 12, &p->month); break;
    case 'd': good = take_number(p, 2, 1, 31, &p->day); break;
    case 'H':
        good = p->of_duration ? take_number(p, HOUR_DIGITS, 0, INT64_MAX, &p->hour)
                              : take_number(p, 2, 0, 23, &p->hour);
        break;
    case 'I': good = take_number(p, 2, 1, 12, &p->hour); break;
    case 'p': good = take_half(p); break;
    case 'M': good = take_number(p, 2, 0, 59, &p->minute); break;
    case 'S': good = take_number(p, 2, 0, 59, &p->second); break;
    case 'f': good = take_fraction(p); break;
    case 'j': good = p->has_day_of_year = take_number(p, 3, 1, 366, &p->day_of_year); break;
    case 'b': case 'B': good = (p->month = take_name(p, MONTHS, 12)) != 0; break;
    case 'a': case 'A': good = take_name(p, DAYS, 7) != 0; break;
    case 'u': good = take_number(p, 1, 1, 7, &ignored); break;
    case 'z': good = take_offset(p); break;
    case 's': good = p->has_epoch = take_signed(p, 15, &p->epoch); break;
    case '%': good = p->at < p->end && *p->at++ == '%'; break;
    default: return SB_FAULT_BAD_ARGUMENT;
    }
    return good ? SB_OK : SB_NULL;
}

static int32_t take_format(Parsed *p, const char *at, const char *end) {
    for (; at < end; at++) {
        int32_t status = SB_OK;
        if (*at != '%') {
            status = p->at < p->end && *p->at++ == *at ? SB_OK : SB_NULL;
        } else {
            Flags flags;
            at++;
            if (!take_flags(&at, end, &flags)) return SB_FAULT_BAD_ARGUMENT;
            const char *more = longer(*at);
            status = more ? take_format(p, more, more + strlen(more)) : take_letter(p, *at);
        }
        if (status != SB_OK) return status;
    }
    return SB_OK;
}

// The calendar day; false if there is none such.
static bool parsed_days(const Parsed *p, int64_t *days) {
    if (p->has_day_of_year) {
        *days = sb_days_of(p->year, 1, 1) + p->day_of_year - 1;
        return p->day_of_year <= 365 + sb_is_leap(p->year);
    }
    *days = sb_days_of(p->year, (unsigned)p->month, (unsigned)p->day);
    return p->day <= sb_month_days(p->year, (unsigned)p->month);
}

static int32_t parse(SbStr text, SbStr format, Parsed *p, int64_t *days) {
    *p = (Parsed){.at = text.ptr, .end = text.ptr + text.len, .month = 1, .day = 1};
    int32_t status = take_format(p, format.ptr, format.ptr + format.len);
    if (status != SB_OK) return status;
    if (p->at != p->end) return SB_NULL;
    if (p->twelve) p->hour = p->hour % 12 + (p->afternoon ? 12 : 0);
    if (p->has_epoch) {
        *days = sb_floor_div(p->epoch, SB_DAY_S);
        p->second = sb_floor_mod(p->epoch, SB_DAY_S);
        p->hour = p->minute = p->offset = 0;
        p->has_offset = true;
        return SB_OK;
    }
    if (!p->has_year) return SB_FAULT_BAD_ARGUMENT;
    return parsed_days(p, days) ? SB_OK : SB_NULL;
}

int32_t sb_parse_date(SbStr text, SbStr format, int32_t *out) {
    Parsed p;
    int64_t days;
    int32_t status = parse(text, format, &p, &days);
    if (status != SB_OK) return status == SB_NULL ? (int32_t)SB_FAULT_BAD_FORM : status;
    if (days < INT32_MIN || days > INT32_MAX) return SB_FAULT_OUT_OF_RANGE;
    *out = (int32_t)days;
    return SB_OK;
}

static int32_t parse_timestamp(SbStr text, SbStr format, const SbZone *zone, uint32_t unit,
                               int64_t *out) {
    Parsed p;
    int64_t days;
    int32_t status = parse(text, format, &p, &days);
    if (status != SB_OK) return status == SB_NULL ? (int32_t)SB_FAULT_BAD_FORM : status;
    int64_t seconds = p.hour * 3600 + p.minute * 60 + p.second;
    if (!p.has_offset) p.offset = sb_zone_offset_local(zone, days * SB_DAY_S + seconds);
    return sb_timestamp_of(days, seconds * 1000000000 + p.nanos, p.offset, unit, out);
}

// The text after its sign, ready to be read as a duration.
static Parsed parsed_duration(SbStr text, bool *minus) {
    Parsed p = {.at = text.ptr, .end = text.ptr + text.len, .month = 1, .day = 1,
                .of_duration = true};
    *minus = text.len && *text.ptr == '-';
    p.at += *minus || (text.len && *text.ptr == '+');
    return p;
}

int32_t sb_parse_duration(SbStr text, SbStr format, int64_t *out) {
    bool minus;
    Parsed p = parsed_duration(text, &minus);
    int32_t status = take_format(&p, format.ptr, format.ptr + format.len);
    if (status == SB_FAULT_BAD_ARGUMENT) return status;
    if (status != SB_OK || p.at != p.end) return SB_FAULT_BAD_FORM;
    if (p.nanos % 1000) return SB_FAULT_BAD_DURATION;
    if (p.twelve) p.hour = p.hour % 12 + (p.afternoon ? 12 : 0);
    __int128 seconds = (__int128)p.hour * 3600 + p.minute * 60 + p.second;
    __int128 micros = seconds * 1000000 + p.nanos / 1000;
    if (minus) micros = -micros;
    if (micros < INT64_MIN || micros > INT64_MAX) return SB_FAULT_OUT_OF_RANGE;
    *out = (int64_t)micros;
    return SB_OK;
}

#define PARSE(name, unit)                                                                         \
    int32_t sb_parse_##name(SbStr text, SbStr format, int64_t *out) {                             \
        return parse_timestamp(text, format, nullptr, unit, out);                                 \
    }                                                                                             \
    int32_t sb_parse_##name##_zone(SbStr text, SbStr format, const SbZone *zone, int64_t *out) {  \
        return parse_timestamp(text, format, zone, unit, out);                                    \
    }

PARSE(timestamp_s, 0)
PARSE(timestamp_ms, 1)
PARSE(timestamp, 2)
PARSE(timestamp_ns, 3)

// ---- what does not fit -------------------------------------------------------------------------

// The first place where a text and its format part.
typedef struct Parting {
    const char *text;           // What stands there.
    const char *item, *behind;  // What the format has there: a letter with its %, or a character.
    char        whole;          // The item is a part of %F, %T or %R: its letter, or 0.
} Parting;

// The end of the letter, or the byte, that begins at `at`.
static const char *item_end(const char *at, const char *end) {
    Flags flags;
    if (*at++ != '%') return at;
    return take_flags(&at, end, &flags) ? at + 1 : end;
}

static bool find_parting(Parsed *p, const char *at, const char *end, Parting *out) {
    for (const char *next; at < end; at = next) {
        next = item_end(at, end);
        const char *more = *at == '%' ? longer(next[-1]) : nullptr;
        if (more) {
            out->whole = next[-1];
            if (find_parting(p, more, more + strlen(more), out)) return true;
            out->whole = 0;
            continue;
        }
        out->text = p->at;
        out->item = at;
        out->behind = next;
        if (take_format(p, at, next) != SB_OK) return true;
    }
    return false;
}

static const struct {
    char        letter;
    const char *takes;
} letter_takes[] = {
    {'Y', "a year"}, {'y', "a year of two digits"}, {'m', "a month from 1 to 12"},
    {'d', "a day from 1 to 31"}, {'H', "an hour from 0 to 23"}, {'I', "an hour from 1 to 12"},
    {'p', "AM or PM"}, {'M', "a minute from 0 to 59"}, {'S', "a second from 0 to 59"},
    {'f', "a fraction of a second"}, {'j', "a day of the year"}, {'b', "the name of a month"},
    {'B', "the name of a month"}, {'a', "the name of a day"}, {'A', "the name of a day"},
    {'u', "a weekday from 1 to 7"}, {'z', "an offset such as +0100 or Z"},
    {'s', "seconds since 1970"}, {'%', "a %"},
};

enum { TEXT_SHOWN = 60, REST_SHOWN = 20, WORDS_MAX = 512 };

static char *put_words(char *out, const char *words) {
    size_t len = strlen(words);
    memcpy(out, words, len);
    return out + len;
}

static bool is_inside_character(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

// In quotes, cut at a character.
static char *put_quoted(char *out, SbStr text, int64_t max) {
    int64_t len = text.len;
    if (len > max) {
        len = max;
        for (int back = 0; back < 3 && is_inside_character(text.ptr[len]); back++) len--;
    }
    *out++ = '\'';
    memcpy(out, text.ptr, (size_t)len);
    return put_words(out + len, len < text.len ? "...'" : "'");
}

static char *put_rest(char *out, const char *at, SbStr text) {
    const char *end = text.ptr + text.len;
    if (at == end) return put_words(out, "where the text ends");
    out = put_quoted(put_words(out, "where "), (SbStr){at, end - at}, REST_SHOWN);
    return put_words(out, " stands");
}

// "%d takes a day from 1 to 31", or "the format has '/'".
static char *put_item(char *out, const Parting *parting, SbStr format, bool of_duration) {
    const char *item = parting->item, *behind = parting->behind;
    if (*item != '%') {
        if (parting->whole) format = (SbStr){item, behind - item};
        while (item > format.ptr && is_inside_character(*item)) item--;
        while (behind < format.ptr + format.len && is_inside_character(*behind)) behind++;
        out = put_words(out, "the format has ");
        out = put_quoted(out, (SbStr){item, behind - item}, REST_SHOWN);
    } else {
        memcpy(out, item, (size_t)(behind - item));
        out = put_words(out + (behind - item), " takes ");
        bool hours = of_duration && behind[-1] == 'H';
        if (hours) out = put_words(out, "hours");
        for (size_t i = 0; i < sizeof letter_takes / sizeof *letter_takes && !hours; i++)
            if (letter_takes[i].letter == behind[-1]) out = put_words(out, letter_takes[i].takes);
    }
    if (!parting->whole) return out;
    out = put_words(out, ", as a part of %");
    *out++ = parting->whole;
    return out;
}

// "'10/13/2000' and '%d/%b/%Y' part at character 4, where '13/2000' stands and %b takes the name of
// a month"
static char *put_parting(char *out, SbStr text, SbStr format, bool of_duration) {
    Parsed p = {.at = text.ptr, .end = text.ptr + text.len, .month = 1, .day = 1};
    bool minus;
    if (of_duration) p = parsed_duration(text, &minus);
    Parting parting = {0};
    bool parts = find_parting(&p, format.ptr, format.ptr + format.len, &parting);
    out = put_quoted(out, text, TEXT_SHOWN);
    if (!parts && p.at == p.end) {
        out = put_quoted(put_words(out, " by "), format, TEXT_SHOWN);
        return put_words(out, " is a day that no calendar has");
    }
    const char *at = parts ? parting.text : p.at;
    while (at > text.ptr && at < p.end && is_inside_character(*at)) at--;
    int64_t character = 1;
    for (const char *c = text.ptr; c < at; c++) character += !is_inside_character(*c);
    out = put_quoted(put_words(out, " and "), format, TEXT_SHOWN);
    out = put_number(put_words(out, " part at character "), character, 1);
    out = put_words(put_rest(put_words(out, ", "), at, text), " and ");
    return parts ? put_item(out, &parting, format, of_duration)
                 : put_words(out, "the format ends");
}

static SbStr blame(SbCall *call, int32_t status, SbStr text, SbStr format, bool of_duration) {
    if (status == SB_FAULT_BAD_ARGUMENT) return (SbStr){"the format reads no time", 24};
    if (status != SB_FAULT_BAD_FORM) return text;
    char *words = sb_alloc(call, WORDS_MAX);
    if (!words) return (SbStr){"no memory to say where", 22};
    return (SbStr){words, put_parting(words, text, format, of_duration) - words};
}

SbStr sb_time_form_blame(SbCall *call, int32_t status, SbStr text, SbStr format) {
    return blame(call, status, text, format, false);
}

SbStr sb_clock_form_blame(SbCall *call, int32_t status, SbStr text, SbStr format) {
    return blame(call, status, text, format, true);
}

// ---- judging a format --------------------------------------------------------------------------

// Every letter has to be among `known`, and of those that are needed one has to be there.
static int64_t form_fault(SbStr format, const char *known, const char *needed) {
    const char *at = format.ptr, *end = format.ptr + format.len;
    bool found = !needed;
    for (; at < end; at++) {
        if (*at != '%') continue;
        const char *percent = at++;
        Flags flags;
        if (!take_flags(&at, end, &flags)) return percent - format.ptr;
        if (!*at || !strchr(known, *at)) return at - format.ptr;
        found |= needed && strchr(needed, *at);
    }
    return found ? -1 : format.len;
}

int64_t sb_time_form_fault(SbStr format, bool reads) {
    return form_fault(format, reads ? "YymdHIpMSfjbBaAuzs%FTR" : "YymdHIpMSfjbBaAuzs%FTRVG",
                      reads ? "YysF" : nullptr);
}

int64_t sb_clock_form_fault(SbStr format, bool reads) {
    return form_fault(format, "HIpMSf%TR", reads ? "HIMSfTR" : nullptr);
}
