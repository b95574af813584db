#define _GNU_SOURCE
#include "runtime/params.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- names of types -------------------------------------------------------------------------

static const char *const kind_names[] = {
    "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16",
    "f32", "f64", "decimal", "str", "bytes", "date", "timestamp", "duration", "json",
    "list", "struct",
};
static_assert(sizeof kind_names / sizeof *kind_names == SB_STRUCT + 1);

void params_type_text(const SbType *type, char *text, size_t size) {
    static const char *const units[] = {"(s)", "(ms)", "", "(ns)"};
    const char *maybe = type->nullable ? "?" : "";
    if (type->kind == SB_LIST) {
        char elem[128];
        params_type_text(type->elem, elem, sizeof elem);
        snprintf(text, size, "[%s]%s", elem, maybe);
    } else if (type->kind == SB_DECIMAL) {
        snprintf(text, size, "decimal(%d,%d)%s", type->precision, type->scale, maybe);
    } else {
        const char *unit = type->kind == SB_TIMESTAMP ? units[type->unit & 3] : "";
        snprintf(text, size, "%s%s%s", kind_names[type->kind], unit, maybe);
    }
}

// ---- one value ------------------------------------------------------------------------------

static bool read_integer(const char *text, const SbType *type, void *value) {
    uint32_t bits = 8 * (type->kind >= SB_U8 ? 1u << (type->kind - SB_U8) : 1u << (type->kind - SB_I8));
    char *end;
    errno = 0;
    const char *digits = *text == '-' || *text == '+' ? text + 1 : text;
    if (*digits < '0' || *digits > '9') return false;
    if (type->kind >= SB_U8) {
        if (*text == '-') return false;
        uint64_t number = strtoull(text, &end, 10);
        if (errno != 0 || *end != '\0' || (bits < 64 && number >> bits != 0)) return false;
        memcpy(value, &number, bits / 8);
        return true;
    }
    int64_t number = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0') return false;
    int64_t limit = bits < 64 ? INT64_C(1) << (bits - 1) : 0;
    if (bits < 64 && (number < -limit || number >= limit)) return false;
    memcpy(value, &number, bits / 8);
    return true;
}

static bool read_float(const char *text, const SbType *type, void *value) {
    char *end;
    bool hex = strpbrk(text, "xXpP") != nullptr;
    if (hex || *text == '\0' || strchr(" \t\n", *text)) return false;
    if (type->kind == SB_F32) {
        float number = strtof(text, &end);
        if (*end != '\0' || (isinf(number) && !strchr("iI", text[strcspn(text, "iI")]))) return false;
        memcpy(value, &number, sizeof number);
        return true;
    }
    double number = strtod(text, &end);
    if (*end != '\0' || (isinf(number) && strpbrk(text, "iI") == nullptr)) return false;
    memcpy(value, &number, sizeof number);
    return true;
}

static bool read_decimal(const char *text, const SbType *type, void *value) {
    const char *at = text;
    bool minus = *at == '-';
    if (*at == '-' || *at == '+') at++;
    unsigned __int128 number = 0, limit = 1;
    for (int i = 0; i < type->precision; i++) limit *= 10;
    int digits = 0, behind = -1;
    for (; *at != '\0'; at++) {
        if (*at == '.' && behind < 0) {
            behind = 0;
            continue;
        }
        if (*at < '0' || *at > '9') return false;
        digits++;
        if (behind >= type->scale) {
            if (*at != '0') return false;
            continue;
        }
        if (behind >= 0) behind++;
        number = number * 10 + (unsigned)(*at - '0');
        if (number >= limit) return false;
    }
    if (digits == 0) return false;
    for (int i = behind < 0 ? 0 : behind; i < type->scale; i++) number *= 10;
    if (number >= limit) return false;
    SbDecimal wide = minus ? -(SbDecimal)number : (SbDecimal)number;
    memcpy(value, &wide, type->precision > 18 ? 16 : 8);
    return true;
}

// Days since 1970-01-01 of a day of the proleptic Gregorian calendar.
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

// Exactly `count` digits.
static bool read_digits(const char **at, int count, int64_t *number) {
    *number = 0;
    for (int i = 0; i < count; i++, ++*at) {
        if (**at < '0' || **at > '9') return false;
        *number = *number * 10 + (**at - '0');
    }
    return true;
}

static bool read_date_part(const char **at, int64_t *days) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t year, month, day;
    if (!read_digits(at, 4, &year) || *(*at)++ != '-' || !read_digits(at, 2, &month) ||
        *(*at)++ != '-' || !read_digits(at, 2, &day)) {
        return false;
    }
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month < 1 || month > 12 || day < 1) return false;
    if (day > lengths[month - 1] + (month == 2 && leap)) return false;
    *days = days_of(year, month, day);
    return true;
}

// "Z", "+HH", "+HHMM", "+HH:MM" or nothing, to the end of the text.
static bool read_offset(const char *at, int64_t *seconds) {
    *seconds = 0;
    if (*at == '\0') return true;
    if (*at == 'Z' || *at == 'z') return at[1] == '\0';
    if (*at != '+' && *at != '-') return false;
    int64_t sign = *at++ == '-' ? -1 : 1, hours, minutes = 0;
    if (!read_digits(&at, 2, &hours)) return false;
    if (*at == ':') at++;
    if (*at != '\0' && !read_digits(&at, 2, &minutes)) return false;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return *at == '\0' && hours <= 23 && minutes <= 59;
}

static bool read_timestamp(const char *text, const SbType *type, void *value) {
    static const int64_t per_second[] = {1, 1000, 1000000, 1000000000};
    int64_t days, hour, minute, second = 0, nanos = 0, offset;
    const char *at = text;
    if (!read_date_part(&at, &days) || !strchr("Tt ", *at) || *at++ == '\0') return false;
    if (!read_digits(&at, 2, &hour) || *at++ != ':' || !read_digits(&at, 2, &minute)) return false;
    if (*at == ':') {
        at++;
        if (!read_digits(&at, 2, &second)) return false;
        if (*at == '.') {
            at++;
            int64_t scale = 100000000;
            if (*at < '0' || *at > '9') return false;
            for (; *at >= '0' && *at <= '9'; at++, scale /= 10) nanos += (*at - '0') * scale;
        }
    }
    if (!read_offset(at, &offset) || hour > 23 || minute > 59 || second > 59) return false;
    int64_t unit = per_second[type->unit & 3];
    if (nanos % (1000000000 / unit) != 0) return false;
    int64_t total = days * 86400 + hour * 3600 + minute * 60 + second - offset, stamp;
    if (__builtin_mul_overflow(total, unit, &stamp)) return false;
    stamp += nanos / (1000000000 / unit);
    memcpy(value, &stamp, sizeof stamp);
    return true;
}

static bool read_duration(const char *text, void *value) {
    static const struct { const char *name; double micros; } units[] = {
        {"d", 86400e6}, {"h", 3600e6}, {"m", 60e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1},
    };
    char *end;
    long double number = strtold(text, &end);
    if (end == text || strpbrk(text, "xXnNpPiI")) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name) != 0) continue;
        long double micros = number * units[i].micros;
        long double whole = rintl(micros);
        if (fabsl(micros - whole) > 1e-6L || fabsl(whole) > 9e18L) return false;
        int64_t result = (int64_t)whole;
        memcpy(value, &result, sizeof result);
        return true;
    }
    return false;
}

// One scalar without its null byte.
static bool read_scalar(const char *text, const SbType *type, void *value) {
    switch ((SbKind)type->kind) {
    case SB_BOOL: {
        bool is_true = strcasecmp(text, "true") == 0;
        if (!is_true && strcasecmp(text, "false") != 0) return false;
        *(uint8_t *)value = is_true;
        return true;
    }
    case SB_I8: case SB_I16: case SB_I32: case SB_I64:
    case SB_U8: case SB_U16: case SB_U32: case SB_U64:
        return read_integer(text, type, value);
    case SB_F32: case SB_F64: return read_float(text, type, value);
    case SB_DECIMAL: return read_decimal(text, type, value);
    case SB_DATE: {
        int64_t days;
        const char *at = text;
        if (!read_date_part(&at, &days) || *at != '\0') return false;
        *(int32_t *)value = (int32_t)days;
        return true;
    }
    case SB_TIMESTAMP: return read_timestamp(text, type, value);
    case SB_DURATION: return read_duration(text, value);
    case SB_STR: case SB_BYTES: case SB_JSON:
        *(SbStr *)value = (SbStr){text, (int64_t)strlen(text)};
        return true;
    case SB_F16: case SB_BF16: case SB_LIST: case SB_STRUCT: return false;
    }
    return false;
}

// ---- all parameters -------------------------------------------------------------------------

static bool bad_value(const SbParam *param, const ParamText *text, const SbType *type,
                      Trouble *trouble) {
    char name[160];
    params_type_text(type, name, sizeof name);
    if (text->from_config) {
        trouble_set(trouble, TROUBLE_PARAM_VALUE, "'%s' is no %s, the type of '%.*s'\n%s", text->text,
                    name, (int)param->name.len, param->name.ptr, text->shown ? text->shown : "");
    } else {
        trouble_set(trouble, TROUBLE_PARAM_VALUE, "--%.*s=%s: '%s' is no %s", (int)param->name.len,
                    param->name.ptr, text->text, text->text, name);
    }
    trouble_fix(trouble, "give a value of type %s%s", name,
                param->required ? "" : ", or leave the option out");
    return false;
}

// A text whose bytes past the end may be read.
static const char *slack_copy(SbCall *call, const char *text) {
    size_t len = strlen(text);
    char *copy = sb_alloc(call, (int64_t)len + SB_SLACK);
    if (copy) {
        memcpy(copy, text, len);
        memset(copy + len, 0, SB_SLACK);
    }
    return copy;
}

static bool read_value(const SbParam *param, const ParamText *text, const SbType *type, void *value,
                       Trouble *trouble) {
    if (!read_scalar(text->text, type, value)) return bad_value(param, text, type, trouble);
    if (type->nullable) ((uint8_t *)value)[type->valid_offset] = 1;
    return true;
}

// All texts of parameter `index`, in order.
static bool read_param(Params *params, const SbJob *job, const Options *options, uint32_t index,
                       SbCall *call, Trouble *trouble) {
    const SbParam *param = &job->params[index];
    const SbType *type = param->type, *elem = type->kind == SB_LIST ? type->elem : type;
    uint32_t count = 0;
    bool typed = false;
    for (uint32_t i = 0; i < options->text_count; i++) {
        count += options->texts[i].param == index;
        typed |= options->texts[i].param == index && !options->texts[i].from_config;
    }
    if (count == 0) {
        params->values[index] = param->value;
        if (!param->required) return true;
        return trouble_set(trouble, TROUBLE_PARAM_MISSING, "the parameter --%.*s must be given",
                           (int)param->name.len, param->name.ptr);
    }
    char *value = sb_alloc(call, type->size), *elems = sb_alloc(call, (int64_t)elem->size * count);
    if (!value || !elems) return trouble_set(trouble, TROUBLE_MEMORY, "no memory for the parameters");
    memset(value, 0, type->size);
    memset(elems, 0, (size_t)elem->size * count);
    int64_t taken = 0;
    for (uint32_t i = 0; i < options->text_count; i++) {
        ParamText text = options->texts[i];
        if (text.param != index || (typed && text.from_config)) continue;
        if (!(text.text = slack_copy(call, text.text))) {
            return trouble_set(trouble, TROUBLE_MEMORY, "no memory for the parameters");
        }
        void *at = type->kind == SB_LIST ? elems + (int64_t)elem->size * taken : value;
        if (type->kind != SB_LIST && taken > 0) {
            return trouble_set(trouble, TROUBLE_PARAM_VALUE, "--%.*s is given twice",
                               (int)param->name.len, param->name.ptr);
        }
        if (!read_value(param, &text, elem, at, trouble)) return false;
        taken++;
    }
    if (type->kind == SB_LIST) *(SbList *)value = (SbList){elems, taken};
    if (type->kind == SB_LIST && type->nullable) value[type->valid_offset] = 1;
    params->values[index] = value;
    return true;
}

bool params_read(Params *params, const SbJob *job, const Options *options, SbCall *call,
                 Trouble *trouble) {
    params->values = calloc(job->param_count + 1, sizeof *params->values);
    if (!params->values) return trouble_set(trouble, TROUBLE_MEMORY, "no memory for the parameters");
    for (uint32_t i = 0; i < job->param_count; i++) {
        if (!read_param(params, job, options, i, call, trouble)) return false;
    }
    return true;
}

void params_close(Params *params) {
    free(params->values);
    params->values = nullptr;
}
