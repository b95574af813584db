#define _GNU_SOURCE
#include "runtime/options/params.h"

#include "stdlib/number.h"
#include "stdlib/time.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// ---- names of types -------------------------------------------------------------------------

static const char *const kind_names[] = {
    "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16",
    "f32", "f64", "decimal", "str", "bytes", "date", "timestamp", "duration", "json",
    "list", "struct", "tensor", "map",
};
static_assert(sizeof kind_names / sizeof *kind_names == SB_MAP + 1);

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

// One scalar without its null byte; the text may be read SB_SLACK bytes past its end.
static bool read_scalar(const char *text, const SbType *type, void *value) {
    int64_t len = (int64_t)strlen(text);
    switch ((SbKind)type->kind) {
    case SB_BOOL: return sb_read_bool(text, len, value) == SB_OK;
    case SB_I8: return sb_read_i8(text, len, value) == SB_OK;
    case SB_I16: return sb_read_i16(text, len, value) == SB_OK;
    case SB_I32: return sb_read_i32(text, len, value) == SB_OK;
    case SB_I64: return sb_read_i64(text, len, value) == SB_OK;
    case SB_U8: return sb_read_u8(text, len, value) == SB_OK;
    case SB_U16: return sb_read_u16(text, len, value) == SB_OK;
    case SB_U32: return sb_read_u32(text, len, value) == SB_OK;
    case SB_U64: return sb_read_u64(text, len, value) == SB_OK;
    case SB_F16: case SB_BF16: case SB_F32: case SB_F64:
        return sb_read_float(type, text, len, value) == SB_OK;
    case SB_DECIMAL: return read_decimal(text, type, value);
    case SB_DATE: return sb_read_date(text, len, value) == SB_OK;
    case SB_TIMESTAMP: return sb_read_timestamp(text, len, type->unit, nullptr, value) == SB_OK;
    case SB_DURATION: return sb_read_duration(text, len, value) == SB_OK;
    case SB_STR: case SB_BYTES: case SB_JSON: *(SbStr *)value = (SbStr){text, len}; return true;
    case SB_LIST: case SB_STRUCT: case SB_TENSOR: case SB_MAP:
        return false;
    }
    return false;
}

// ---- all parameters -------------------------------------------------------------------------

static bool bad_value(const SbParam *param, const ParamText *text, const SbType *type,
                      Trouble *trouble) {
    char name[160];
    params_type_text(type, name, sizeof name);
    if (text->from_config) {
        trouble_set(trouble, TROUBLE_PARAM_VALUE, "'%s' is no %s, the type of '%.*s'\n%s",
                    text->text, name, (int)param->name.len, param->name.ptr,
                    text->shown ? text->shown : "");
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

enum { PLAIN_MAX = 64 };

// The number that stands for one with a unit, as in a program: 16MiB where a whole number is
// wanted, 2% where a float is. Every other text as it is.
static const char *plain_number(const char *text, const SbType *type,
                                char plain[PLAIN_MAX + SB_SLACK]) {
    size_t len = strlen(text);
    bool whole = type->kind >= SB_I8 && type->kind <= SB_U64;
    bool fraction = sb_is_float(type);
    int64_t bytes;
    if (whole && len > 1 && text[len - 1] == 'B' && options_size(text, &bytes)) {
        snprintf(plain, PLAIN_MAX, "%lld", (long long)bytes);
        return plain;
    }
    if (!fraction || len >= PLAIN_MAX - 4 || len < 2 || text[len - 1] != '%') return text;
    snprintf(plain, PLAIN_MAX, "%.*se-2", (int)len - 1, text);
    return plain;
}

// `text` has slack after it.
static bool read_value(const char *text, const SbType *type, void *value) {
    char plain[PLAIN_MAX + SB_SLACK] = {0};
    return read_scalar(plain_number(text, type, plain), type, value);
}

static const SbType *value_type(const SbParam *param) {
    return param->type->kind == SB_LIST ? param->type->elem : param->type;
}

bool params_check(const SbJob *job, const ParamText *text, Trouble *trouble) {
    const SbParam *param = &job->params[text->param];
    const SbType *type = value_type(param);
    size_t len = text->text ? strlen(text->text) : 0;
    char *copy = calloc(1, len + SB_SLACK);
    if (!copy) return trouble_no_memory(trouble, "for the parameters");
    alignas(16) char value[sizeof(SbStr) + sizeof(SbDecimal)];
    if (text->text) memcpy(copy, text->text, len);
    bool good = !text->text || read_value(copy, type, value);
    free(copy);
    return good || bad_value(param, text, type, trouble);
}

// What parameters are read from, and where their values live.
typedef struct Reading {
    const SbJob   *job;
    const Options *options;
    SbCall        *call;
} Reading;

// All texts of parameter `index`, in order.
static bool read_param(Params *params, const Reading *from, uint32_t index, Trouble *trouble) {
    const Options *options = from->options;
    SbCall *call = from->call;
    const SbParam *param = &from->job->params[index];
    const SbType *type = param->type, *elem = value_type(param);
    uint32_t count = 0;
    bool typed = false;
    for (uint32_t i = 0; i < options->text_count; i++) {
        count += options->texts[i].param == index;
        typed |= options->texts[i].param == index && !options->texts[i].from_config;
    }
    if (count == 0) {
        params->values[index] = param->value;
        if (!param->required) return true;
        char name[160];
        params_type_text(type, name, sizeof name);
        trouble_set(trouble, TROUBLE_PARAM_MISSING, "the parameter --%.*s must be given",
                    (int)param->name.len, param->name.ptr);
        return trouble_fix(trouble, "give it a value of type %s: --%.*s=VALUE", name,
                           (int)param->name.len, param->name.ptr), false;
    }
    char *value = sb_alloc(call, type->size), *elems = sb_alloc(call, (int64_t)elem->size * count);
    if (!value || !elems)
        return trouble_no_memory(trouble, "for the parameters");
    memset(value, 0, type->size);
    memset(elems, 0, (size_t)elem->size * count);
    int64_t taken = 0;
    for (uint32_t i = 0; i < options->text_count; i++) {
        ParamText text = options->texts[i];
        if (text.param != index || (typed && text.from_config)) continue;
        if (!text.text) break;
        if (!(text.text = slack_copy(call, text.text))) {
            return trouble_no_memory(trouble, "for the parameters");
        }
        void *at = type->kind == SB_LIST ? elems + (int64_t)elem->size * taken : value;
        if (type->kind != SB_LIST && taken > 0) {
            trouble_set(trouble, TROUBLE_PARAM_VALUE, "--%.*s is given twice",
                        (int)param->name.len, param->name.ptr);
            trouble_fix(trouble, "give it once: only a list takes several values");
            return false;
        }
        bool good = read_value(text.text, elem, at);
        assert(good && "options_add_text checked it");
        if (elem->nullable) ((uint8_t *)at)[elem->valid_offset] = 1;
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
    if (!params->values)
        return trouble_no_memory(trouble, "for the parameters");
    Reading from = {job, options, call};
    bool good = true;
    for (uint32_t i = 0; i < job->param_count; i++)
        good &= read_param(params, &from, i, trouble_more(trouble));
    return good;
}

void params_close(Params *params) {
    free(params->values);
    params->values = nullptr;
}
