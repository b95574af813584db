// The row of a reject after a meeting, as JSON.
#include "runtime/report/text.h"
#include "stdlib/number.h"
#include "stdlib/time.h"

#include <stdio.h>
#include <string.h>

static void add_value(Text *text, const SbType *type, const char *at);

static void add_decimal(Text *text, const SbType *type, const char *at) {
    SbDecimal value;
    if (type->precision > 18) {
        memcpy(&value, at, sizeof value);
    } else {
        int64_t narrow;
        memcpy(&narrow, at, sizeof narrow);
        value = narrow;
    }
    unsigned __int128 rest = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    char digits[48];
    int begin = sizeof digits, scale = type->scale;
    for (int i = 0; rest != 0 || i <= scale; i++) {
        if (i == scale && scale > 0) digits[--begin] = '.';
        digits[--begin] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    }
    if (value < 0) digits[--begin] = '-';
    sb_text_add(text, digits + begin, (int64_t)sizeof digits - begin);
}

static void add_base64(Text *text, SbStr bytes) {
    static const char signs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = (const unsigned char *)bytes.ptr;
    sb_text_str(text, "\"");
    for (int64_t i = 0; i < bytes.len; i += 3) {
        int64_t left = bytes.len - i;
        uint32_t group = (uint32_t)b[i] << 16 | (left > 1 ? (uint32_t)b[i + 1] << 8 : 0) |
                         (left > 2 ? b[i + 2] : 0);
        char four[4] = {signs[group >> 18], signs[group >> 12 & 63],
                        left > 1 ? signs[group >> 6 & 63] : '=',
                        left > 2 ? signs[group & 63] : '='};
        sb_text_add(text, four, 4);
    }
    sb_text_str(text, "\"");
}

static int64_t integer_at(const SbType *type, const char *at) {
    switch (type->size - (type->nullable ? type->size - type->valid_offset : 0)) {
    case 1: return type->kind == SB_U8 ? *(const uint8_t *)at : *(const int8_t *)at;
    case 2: return type->kind == SB_U16 ? *(const uint16_t *)at : *(const int16_t *)at;
    case 4: return type->kind == SB_U32 ? (int64_t)*(const uint32_t *)at : *(const int32_t *)at;
    default: return *(const int64_t *)at;
    }
}

// Numbers that are no numbers stand in quotes.
static void add_float(Text *text, const char *put, char *end, double value) {
    bool finite = value - value == 0;
    if (!finite) sb_text_str(text, "\"");
    sb_text_add(text, put, end - put);
    if (!finite) sb_text_str(text, "\"");
}

static void add_list(Text *text, const SbType *type, SbList list) {
    sb_text_str(text, "[");
    for (int64_t i = 0; i < list.len; i++) {
        if (i > 0) sb_text_str(text, ",");
        add_value(text, type->elem, (const char *)list.ptr + i * type->elem->size);
    }
    sb_text_str(text, "]");
}

static void add_map(Text *text, const SbType *type, SbList map) {
    const SbField *value = &type->elem->fields[1];
    sb_text_str(text, "{");
    for (int64_t i = 0; i < map.len; i++) {
        const char *entry = (const char *)map.ptr + i * type->elem->size;
        const SbStr *key = (const SbStr *)(const void *)entry;
        if (i > 0) sb_text_str(text, ",");
        sb_text_add_json(text, key->ptr, key->len);
        sb_text_str(text, ":");
        add_value(text, value->type, entry + value->offset);
    }
    sb_text_str(text, "}");
}

// The part of a tensor that begins with dimension `depth`, whose elements begin at *from.
static void add_tensor(Text *text, const SbType *type, const int64_t *sizes, const char **from,
                       uint32_t depth) {
    sb_text_str(text, "[");
    for (int64_t i = 0; i < sizes[depth]; i++) {
        if (i > 0) sb_text_str(text, ",");
        if (depth + 1 < type->rank) {
            add_tensor(text, type, sizes, from, depth + 1);
        } else {
            add_value(text, type->elem, *from);
            *from += type->elem->size;
        }
    }
    sb_text_str(text, "]");
}

static void add_number(Text *text, const SbType *type, const char *at) {
    char put[SB_NUMBER_MAX];
    if (sb_is_float(type)) {
        add_float(text, put, sb_put_float(put, type, at), sb_float_value(type, at));
    } else {
        char *end = type->kind == SB_U64 ? sb_put_u64(put, *(const uint64_t *)at)
                                         : sb_put_i64(put, integer_at(type, at));
        sb_text_add(text, put, end - put);
    }
}

static void add_time(Text *text, const SbType *type, const char *at) {
    char put[SB_TIMESTAMP_MAX + 2], *end = put;
    *end++ = '"';
    if (type->kind == SB_DATE) end = sb_put_date(end, *(const int32_t *)at);
    else if (type->kind == SB_DURATION) end = sb_put_duration(end, *(const int64_t *)at);
    else end = sb_put_timestamp(end, *(const int64_t *)at, type->unit);
    *end++ = '"';
    sb_text_add(text, put, end - put);
}

static void add_value(Text *text, const SbType *type, const char *at) {
    if (type->nullable && !at[type->valid_offset]) {
        sb_text_str(text, "null");
        return;
    }
    SbStr str;
    switch ((SbKind)type->kind) {
    case SB_BOOL: sb_text_str(text, *at ? "true" : "false"); break;
    case SB_I8: case SB_I16: case SB_I32: case SB_I64:
    case SB_U8: case SB_U16: case SB_U32: case SB_U64:
    case SB_F16: case SB_BF16: case SB_F32: case SB_F64: add_number(text, type, at); break;
    case SB_DECIMAL: add_decimal(text, type, at); break;
    case SB_STR:
        str = *(const SbStr *)at;
        sb_text_add_json(text, str.ptr, str.len);
        break;
    case SB_JSON:
        str = *(const SbStr *)at;
        sb_text_add(text, str.ptr, str.len);
        break;
    case SB_BYTES: add_base64(text, *(const SbStr *)at); break;
    case SB_DATE: case SB_TIMESTAMP: case SB_DURATION: add_time(text, type, at); break;
    case SB_LIST: add_list(text, type, *(const SbList *)at); break;
    case SB_STRUCT: sb_text_add_row(text, type, at); break;
    case SB_MAP: add_map(text, type, *(const SbList *)at); break;
    case SB_TENSOR: {
        int64_t sizes[SB_RANK_MAX];
        sb_tensor_sizes(type, (const SbList *)(const void *)at, sizes);
        at = ((const SbList *)(const void *)at)->ptr;
        add_tensor(text, type, sizes, &at, 0);
        break;
    }
    }
}

void sb_text_add_row(Text *text, const SbType *row, const void *entry) {
    sb_text_str(text, "{");
    for (uint32_t i = 0; i < row->field_count; i++) {
        const SbField *field = &row->fields[i];
        if (i > 0) sb_text_str(text, ",");
        sb_text_add_json(text, field->name.ptr, field->name.len);
        sb_text_str(text, ":");
        add_value(text, field->type, (const char *)entry + field->offset);
    }
    sb_text_str(text, "}");
}
