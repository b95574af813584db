// sb_cast: any cast that generated code does not do in place, by the two types.
#include "stdlib/cast/cast.h"
#include "stdlib/field.h"
#include "stdlib/json.h"
#include "stdlib/number.h"
#include "stdlib/text.h"
#include "stdlib/time.h"

#include <string.h>

// An integer of any width, a bool or a duration.
typedef struct Whole {
    bool     is_signed;
    int64_t  i;
    uint64_t u;
} Whole;

static bool is_whole(const SbType *type) {
    return type->kind <= SB_U64 || type->kind == SB_DURATION;
}

static Whole load_whole(const SbType *type, const void *value) {
    switch ((int)type->kind) {
    case SB_BOOL: case SB_U8: return (Whole){.u = *(const uint8_t *)value};
    case SB_U16: return (Whole){.u = *(const uint16_t *)value};
    case SB_U32: return (Whole){.u = *(const uint32_t *)value};
    case SB_U64: return (Whole){.u = *(const uint64_t *)value};
    case SB_I8: return (Whole){.is_signed = true, .i = *(const int8_t *)value};
    case SB_I16: return (Whole){.is_signed = true, .i = *(const int16_t *)value};
    case SB_I32: return (Whole){.is_signed = true, .i = *(const int32_t *)value};
    default: return (Whole){.is_signed = true, .i = *(const int64_t *)value};
    }
}

static int32_t store_signed(const SbType *type, int64_t i, void *out) {
    if (type->kind == SB_I64 || type->kind == SB_DURATION) return memcpy(out, &i, 8), SB_OK;
    int64_t high = (INT64_C(1) << (8 * type->size - 1)) - 1;
    if (i > high || i < -high - 1) return SB_FAULT_BAD_CAST;
    memcpy(out, &i, type->size);  // Little endian: the low bytes.
    return SB_OK;
}

static int32_t store_unsigned(const SbType *type, uint64_t u, void *out) {
    if (type->kind != SB_U64 && u >> (8 * type->size)) return SB_FAULT_BAD_CAST;
    memcpy(out, &u, type->size);
    return SB_OK;
}

static bool is_unsigned(const SbType *type) { return type->kind >= SB_U8 && type->kind <= SB_U64; }

static SbDecimal load_decimal(const SbType *type, const void *value) {
    if (type->precision <= 18) return *(const int64_t *)value;
    SbDecimal x;
    memcpy(&x, value, sizeof x);
    return x;
}

static int32_t store_decimal(const SbType *type, int32_t status, SbDecimal x, void *out) {
    if (!status) memcpy(out, &x, type->precision <= 18 ? 8 : 16);
    return status;
}

static int32_t text_to_whole(SbStr x, const SbType *to, void *out) {
    switch ((int)to->kind) {
    case SB_BOOL: return sb_cast_str_bool(x, out);
    case SB_I8: return sb_cast_str_i8(x, out);
    case SB_I16: return sb_cast_str_i16(x, out);
    case SB_I32: return sb_cast_str_i32(x, out);
    case SB_I64: return sb_cast_str_i64(x, out);
    case SB_U8: return sb_cast_str_u8(x, out);
    case SB_U16: return sb_cast_str_u16(x, out);
    case SB_U32: return sb_cast_str_u32(x, out);
    case SB_U64: return sb_cast_str_u64(x, out);
    default: return sb_cast_str_duration(x, out);
    }
}

static int32_t text_to_json(SbCall *call, SbStr x, void *out) {
    SbJsonSlot slot;
    int32_t status = sb_json_slot(call, x.ptr, x.len, &slot);
    if (!status) status = sb_json_check(&slot);
    return status ? status : sb_json_compact(call, &slot, out);
}

static int32_t from_text(SbCall *call, SbStr x, const SbType *to, void *out) {
    SbDecimal decimal = 0;
    if (is_whole(to)) return text_to_whole(x, to, out);
    switch ((int)to->kind) {
    case SB_F16: case SB_BF16: return sb_read_float(to, x.ptr, x.len, out);
    case SB_F32: return sb_cast_str_f32(x, out);
    case SB_F64: return sb_cast_str_f64(x, out);
    case SB_DECIMAL: {
        int32_t status = sb_cast_str_decimal(x, to->precision, to->scale, &decimal);
        return store_decimal(to, status, decimal, out);
    }
    case SB_DATE: return sb_cast_str_date(x, out);
    case SB_TIMESTAMP: return sb_cast_str_timestamp(x, to->unit, out);
    case SB_JSON: return text_to_json(call, x, out);
    default: memcpy(out, &x, sizeof x); return SB_OK;  // bytes, str
    }
}

static int32_t from_whole(Whole x, const SbType *to, void *out) {
    SbDecimal decimal = 0;
    int32_t status = x.is_signed ? sb_cast_i64_decimal(x.i, to->precision, to->scale, &decimal)
                                 : sb_cast_u64_decimal(x.u, to->precision, to->scale, &decimal);
    return store_decimal(to, status, decimal, out);
}

// Read from its text, which rounds once. Of f16 a decimal may be out of range.
static int32_t decimal_to_half(SbDecimal x, const SbType *from, const SbType *to, void *out) {
    char text[SB_DECIMAL_MAX + SB_SLACK] = {};
    int64_t len = sb_put_decimal(text, x, from->scale, '.') - text;
    return sb_read_float(to, text, len, out) ? SB_FAULT_BAD_CAST : SB_OK;
}

static int32_t from_decimal(SbDecimal x, const SbType *from, const SbType *to, void *out) {
    SbDecimal decimal = 0;
    if (to->kind == SB_DECIMAL) {
        int32_t status = sb_decimal_rescale(x, from->scale, to->scale, to->precision, &decimal);
        return store_decimal(to, status == SB_FAULT_OVERFLOW ? SB_FAULT_BAD_CAST : status, decimal,
                             out);
    }
    if (to->kind == SB_F64) return *(double *)out = sb_cast_decimal_f64(x, from->scale), SB_OK;
    if (to->kind == SB_F32) return *(float *)out = sb_cast_decimal_f32(x, from->scale), SB_OK;
    if (sb_is_float(to)) return decimal_to_half(x, from, to, out);
    int64_t i = 0;
    uint64_t u = 0;
    int32_t status = is_unsigned(to) ? sb_cast_decimal_u64(x, from->scale, &u)
                                     : sb_cast_decimal_i64(x, from->scale, &i);
    if (status) return SB_FAULT_BAD_CAST;
    return is_unsigned(to) ? store_unsigned(to, u, out) : store_signed(to, i, out);
}

// By its canonical text, which is that of its own width.
static int32_t from_float(const SbType *from, const void *x, const SbType *to, void *out) {
    SbDecimal decimal = 0;
    char text[SB_NUMBER_MAX + SB_SLACK] = {};
    SbDecimalForm form = {to->precision, to->scale, '.', true};
    int32_t status = sb_read_decimal(text, sb_put_float(text, from, x) - text, form, &decimal);
    return store_decimal(to, status ? SB_FAULT_BAD_CAST : SB_OK, decimal, out);
}

static int32_t from_bytes(SbStr x, const SbType *to, void *out) {
    if (to->kind == SB_STR && !sb_utf8_valid(x.ptr, x.len)) return SB_FAULT_BAD_UTF8;
    memcpy(out, &x, sizeof x);
    return SB_OK;
}

static int32_t from_time(const SbType *from, const void *value, const SbType *to, void *out) {
    if (from->kind == SB_DATE)
        return sb_cast_date_timestamp(*(const int32_t *)value, to->unit, out) ? SB_FAULT_BAD_CAST
                                                                              : SB_OK;
    int64_t time = *(const int64_t *)value;
    int32_t status = to->kind == SB_DATE ? sb_cast_timestamp_date(time, from->unit, out)
                                         : sb_timestamp_rescale(time, from->unit, to->unit, out);
    return status ? SB_FAULT_BAD_CAST : SB_OK;
}

static int32_t cast(SbCall *call, const SbType *from, const void *value, const SbType *to,
                    void *out) {
    if (to->kind == SB_STR && !sb_is_text(from)) return sb_value_text(call, from, value, out);
    if (from->kind == SB_STR) return from_text(call, *(const SbStr *)value, to, out);
    if (from->kind == SB_BYTES || from->kind == SB_JSON)
        return from_bytes(*(const SbStr *)value, to, out);
    if (from->kind == SB_DATE || from->kind == SB_TIMESTAMP) return from_time(from, value, to, out);
    if (from->kind == SB_DECIMAL) return from_decimal(load_decimal(from, value), from, to, out);
    if (sb_is_float(from)) return from_float(from, value, to, out);
    return from_whole(load_whole(from, value), to, out);
}

int32_t sb_cast(SbCall *call, const SbType *from, const void *value, const SbType *to, void *out) {
    int32_t status = cast(call, from, value, to, out);
    if (status == SB_OK) return status;
    call->detail = from->kind == SB_STR ? *(const SbStr *)value : sb_cast_detail(call, from, value);
    return status;
}
