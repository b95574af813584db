// Casts, as docs/casts.md fixes them.
#include "codegen/reference/eval.h"
#include "codegen/reference/half.h"
#include "codegen/reference/read_json.h"

#include <math.h>
#include <stdlib.h>

static int32_t bad_cast(Eval *eval, const Type *from, const Value *value) {
    return eval_fault(eval, SB_FAULT_BAD_CAST, eval_text(eval->arena, from, value));
}

static bool integer_like(const Type *type) {
    return type_is_integer(type) || type->kind == TYPE_BOOL || type->kind == TYPE_DURATION;
}

// value * 10^scale as decimal(type), if that is exact and fits.
static bool rescale(const Type *to, __int128 number, unsigned scale, Value *out) {
    for (; scale < to->scale; scale++) {
        if (__builtin_mul_overflow(number, (__int128)10, &number)) return false;
    }
    for (; scale > to->scale; scale--) {
        if (number % 10) return false;
        number /= 10;
    }
    __int128 limit = (__int128)power_of_ten(to->precision);
    *out = (Value){.decimal = number};
    return number > -limit && number < limit;
}

// Works the exponent of a canonical float text into its digits.
static bool decimal_of_float(Eval *eval, const Type *from, const Type *to, const Value *value,
                             Value *out) {
    if (!isfinite(value->f)) return false;
    Text text = eval_text(eval->arena, from, value);
    __int128 number = 0;
    int scale = 0, exponent = 0;
    bool point = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == 'e') {
            exponent = atoi(text_c(eval->arena, (Text){text.at + i + 1, text.len - i - 1}));
            break;
        }
        if (c == '.') point = true;
        if (c < '0' || c > '9') continue;
        number = number * 10 + (c - '0');
        scale += point;
    }
    if (signbit(value->f)) number = -number;
    scale -= exponent;
    for (; scale < 0; scale++) {
        if (__builtin_mul_overflow(number, (__int128)10, &number)) return false;
    }
    // A scale beyond that of any decimal leaves only zero.
    if (scale > 2 * DECIMAL_PRECISION_MAX) return number == 0 && rescale(to, 0, 0, out);
    return rescale(to, number, (unsigned)scale, out);
}

static bool to_integer(const Type *from, const Type *to, const Value *value, Value *out) {
    __int128 number = 0;
    if (type_is_float(from)) {
        if (!isfinite(value->f) || trunc(value->f) != value->f || fabs(value->f) > 0x1p65)
            return false;
        number = (__int128)value->f;
    } else if (from->kind == TYPE_DECIMAL) {
        __int128 unit = (__int128)power_of_ten(from->scale);
        if (value->decimal % unit) return false;
        number = value->decimal / unit;
    } else {
        number = value_integer(from, value);
    }
    *out = value_of_integer(to, number);
    return integer_fits(to, number);
}

// Not by way of f64 to a narrower type: that would round twice.
static double decimal_to_float(const Type *from, const Type *to, const Value *value) {
    if (to->kind == TYPE_F64) return decimal_to_f64(value->decimal, from->scale);
    TextBuf buf = {0};
    value_print(&buf, from, value, '.');
    text_buf_char(&buf, 0);
    const char *text = text_buf_view(&buf).at;
    double nearest = type_is_half(to) ? half_read(to, text) : (double)strtof(text, nullptr);
    text_buf_free(&buf);
    return nearest;
}

static bool to_float(const Type *from, const Type *to, const Value *value, Value *out) {
    if (from->kind == TYPE_DECIMAL) {
        *out = value_f64(decimal_to_float(from, to, value));
        return isfinite(out->f);
    }
    if (type_is_float(from)) {
        *out = value_f64(type_round(to, value->f));
        return isfinite(out->f) || !isfinite(value->f);
    }
    __int128 number = value_integer(from, value);
    *out = value_f64(to->kind == TYPE_F32 ? (double)(float)number
                                          : type_round(to, (double)number));
    return isfinite(out->f) && (__int128)out->f == number;
}

static bool to_decimal(Eval *eval, const Type *from, const Type *to, const Value *value,
                       Value *out) {
    if (type_is_float(from)) return decimal_of_float(eval, from, to, value, out);
    if (from->kind == TYPE_DECIMAL) return rescale(to, value->decimal, from->scale, out);
    return rescale(to, value_integer(from, value), 0, out);
}

static bool to_timestamp(const Type *from, const Type *to, const Value *value, Value *out) {
    __int128 to_unit = unit_per_second(to->unit), at = 0;
    if (from->kind == TYPE_DATE) {
        at = (__int128)value->i * 86400 * to_unit;
    } else {
        __int128 from_unit = unit_per_second(from->unit);
        at = (__int128)value->i * to_unit;
        if (at % from_unit) return false;
        at /= from_unit;
    }
    *out = value_i64((int64_t)at);
    return integer_fits(to, at);
}

static bool to_date(const Type *from, const Value *value, Value *out) {
    if (from->kind == TYPE_DATE) {
        *out = *value;
        return true;
    }
    int64_t day = 86400 * unit_per_second(from->unit);
    *out = value_i64(value->i / day - (value->i % day < 0));
    return out->i >= INT32_MIN && out->i <= INT32_MAX;
}

static int32_t cast_text(Eval *eval, const Type *to, const Value *value, Value *out) {
    if (to->kind == TYPE_STR || to->kind == TYPE_BYTES) {
        *out = *value;
        return SB_OK;
    }
    if (to->kind == TYPE_JSON) {
        JsonFault fault = json_read_any(eval->arena, value->text, out);
        return fault.status ? eval_fault(eval, fault.status, fault.text) : SB_OK;
    }
    int32_t status = value_read(eval->arena, to, value->text, (ReadOptions){.point = '.'}, out);
    return status ? eval_fault(eval, status, value->text) : SB_OK;
}

int32_t eval_cast(Eval *eval, const Type *from, const Type *to, const Value *value, Value *out) {
    bool fits = false;
    if (from == to) {
        *out = *value;
        return SB_OK;
    }
    if (from->kind == TYPE_STR) return cast_text(eval, to, value, out);
    if (to->kind == TYPE_STR && from->kind == TYPE_BYTES && !utf8_valid(value->text))
        return eval_fault(eval, SB_FAULT_BAD_UTF8, (Text){0});
    if (type_is_bytes(from) && type_is_bytes(to)) {
        *out = *value;
        return SB_OK;
    }
    if (to->kind == TYPE_STR) {
        *out = value_text(eval_text(eval->arena, from, value));
        return SB_OK;
    }
    if (to->kind == TYPE_TIMESTAMP) fits = to_timestamp(from, to, value, out);
    else if (to->kind == TYPE_DATE) fits = to_date(from, value, out);
    else if (integer_like(to)) fits = to_integer(from, to, value, out);
    else if (type_is_float(to)) fits = to_float(from, to, value, out);
    else if (to->kind == TYPE_DECIMAL) fits = to_decimal(eval, from, to, value, out);
    return fits ? SB_OK : bad_cast(eval, from, value);
}
