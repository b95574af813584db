// Writes values of any type as compact JSON. Recurses by the depth of the type.
#include "stdlib/number.h"
#include "stdlib/text.h"
#include "stdlib/time.h"
#include "stdlib/value.h"

#include <math.h>
#include <string.h>

int64_t sb_json_size_max(const SbType *type, const void *value) {
    enum { NULL_SIZE = 4, SCALAR_SIZE = SB_DECIMAL_MAX };
    if (!sb_is_valid(type, value)) return NULL_SIZE;
    switch ((SbKind)type->kind) {
    case SB_STR:
        return 6 * ((const SbStr *)value)->len + 2;
    case SB_BYTES:
        return sb_base64_size(((const SbStr *)value)->len) + 2;
    case SB_JSON:
        return ((const SbStr *)value)->len;
    case SB_LIST: case SB_MAP: {  // An entry as a struct is longer than its key and value.
        const SbList *list = value;
        int64_t size = 2 + list->len;
        for (int64_t i = 0; i < list->len; i++) {
            size += sb_json_size_max(type->elem, (const char *)list->ptr + i * type->elem->size);
        }
        return size;
    }
    case SB_STRUCT: {
        int64_t size = 2;
        for (uint32_t i = 0; i < type->field_count; i++) {
            const SbField *field = &type->fields[i];
            size += 6 * field->name.len + 4;
            size += sb_json_size_max(field->type, (const char *)value + field->offset);
        }
        return size;
    }
    case SB_TENSOR: {
        const SbList *list = value;  // A bracket and a comma for each dimension, at most.
        return 2 + list->len * (SCALAR_SIZE + 3 * (int64_t)type->rank);
    }
    case SB_BOOL: case SB_I8: case SB_I16: case SB_I32: case SB_I64:
    case SB_U8: case SB_U16: case SB_U32: case SB_U64:
    case SB_F16: case SB_BF16: case SB_F32: case SB_F64: case SB_DECIMAL:
    case SB_DATE: case SB_TIMESTAMP: case SB_DURATION:
        break;
    }
    return SCALAR_SIZE;
}

static char *put_word(char *out, const char *word) {
    size_t len = strlen(word);
    memcpy(out, word, len);
    return out + len;
}

static char *put_float(char *out, const SbType *type, const void *at) {
    double value = sb_float_value(type, at);
    if (isnan(value)) return put_word(out, "\"nan\"");
    if (isinf(value)) return put_word(out, value < 0 ? "\"-inf\"" : "\"inf\"");
    return sb_put_float(out, type, at);
}

static char *put_decimal(char *out, const SbType *type, const void *value) {
    SbDecimal x = type->precision > 18 ? *(const SbDecimal *)value : *(const int64_t *)value;
    return sb_put_decimal(out, x, type->scale, '.');
}

static char *put_list(char *out, const SbType *type, const SbList *list) {
    *out++ = '[';
    for (int64_t i = 0; i < list->len; i++) {
        if (i) *out++ = ',';
        out = sb_json_put_value(out, type->elem, (const char *)list->ptr + i * type->elem->size);
    }
    *out++ = ']';
    return out;
}

// The part of a tensor that begins with dimension `depth`, whose elements begin at *from.
static char *put_tensor(char *out, const SbType *type, const int64_t *sizes, const char **from,
                        uint32_t depth) {
    *out++ = '[';
    for (int64_t i = 0; i < sizes[depth]; i++) {
        if (i) *out++ = ',';
        if (depth + 1 < type->rank) {
            out = put_tensor(out, type, sizes, from, depth + 1);
        } else {
            out = sb_json_put_value(out, type->elem, *from);
            *from += type->elem->size;
        }
    }
    *out++ = ']';
    return out;
}

static char *put_struct(char *out, const SbType *type, const char *value) {
    *out++ = '{';
    for (uint32_t i = 0; i < type->field_count; i++) {
        const SbField *field = &type->fields[i];
        if (i) *out++ = ',';
        out = sb_json_put(out, field->name.ptr, field->name.len);
        *out++ = ':';
        out = sb_json_put_value(out, field->type, value + field->offset);
    }
    *out++ = '}';
    return out;
}

static char *put_map(char *out, const SbType *type, const SbList *map) {
    const SbField *value = &type->elem->fields[1];
    *out++ = '{';
    for (int64_t i = 0; i < map->len; i++) {
        const char *entry = (const char *)map->ptr + i * type->elem->size;
        const SbStr *key = (const SbStr *)(const void *)entry;
        if (i) *out++ = ',';
        out = sb_json_put(out, key->ptr, key->len);
        *out++ = ':';
        out = sb_json_put_value(out, value->type, entry + value->offset);
    }
    *out++ = '}';
    return out;
}

static char *put_time(char *out, const SbType *type, const void *value) {
    *out++ = '"';
    if (type->kind == SB_DATE) out = sb_put_date(out, *(const int32_t *)value);
    else if (type->kind == SB_DURATION) out = sb_put_duration(out, *(const int64_t *)value);
    else out = sb_put_timestamp(out, *(const int64_t *)value, type->unit);
    *out++ = '"';
    return out;
}

char *sb_json_put_value(char *out, const SbType *type, const void *value) {
    if (!sb_is_valid(type, value)) return put_word(out, "null");
    const SbStr *text = value;
    switch ((SbKind)type->kind) {
    case SB_BOOL: return put_word(out, *(const uint8_t *)value ? "true" : "false");
    case SB_I8: return sb_put_i64(out, *(const int8_t *)value);
    case SB_I16: return sb_put_i64(out, *(const int16_t *)value);
    case SB_I32: return sb_put_i64(out, *(const int32_t *)value);
    case SB_I64: return sb_put_i64(out, *(const int64_t *)value);
    case SB_U8: return sb_put_u64(out, *(const uint8_t *)value);
    case SB_U16: return sb_put_u64(out, *(const uint16_t *)value);
    case SB_U32: return sb_put_u64(out, *(const uint32_t *)value);
    case SB_U64: return sb_put_u64(out, *(const uint64_t *)value);
    case SB_F16: case SB_BF16: case SB_F32: case SB_F64: return put_float(out, type, value);
    case SB_DECIMAL: return put_decimal(out, type, value);
    case SB_STR: return sb_json_put(out, text->ptr, text->len);
    case SB_BYTES:
        *out = '"';
        out = sb_base64_put(out + 1, text->ptr, text->len);
        *out = '"';
        return out + 1;
    case SB_JSON:
        memcpy(out, text->ptr, (size_t)text->len);
        return out + text->len;
    case SB_DATE: case SB_TIMESTAMP: case SB_DURATION: return put_time(out, type, value);
    case SB_LIST: return put_list(out, type, value);
    case SB_STRUCT: return put_struct(out, type, value);
    case SB_MAP: return put_map(out, type, value);
    case SB_TENSOR: {
        int64_t sizes[SB_RANK_MAX];
        const char *from = ((const SbList *)value)->ptr;
        sb_tensor_sizes(type, value, sizes);
        return put_tensor(out, type, sizes, &from, 0);
    }
    }
    return put_word(out, "null");
}
