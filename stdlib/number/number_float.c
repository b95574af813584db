// Floats of any width by their type.
#include "stdlib/number/number.h"

#include <string.h>

static uint16_t half_bits(const void *value) {
    uint16_t bits;
    memcpy(&bits, value, sizeof bits);
    return bits;
}

double sb_float_value(const SbType *type, const void *value) {
    switch ((int)type->kind) {
    case SB_F16: return (double)sb_f16_f32(half_bits(value));
    case SB_BF16: return (double)sb_bf16_f32(half_bits(value));
    case SB_F32: return (double)*(const float *)value;
    default: return *(const double *)value;
    }
}

int32_t sb_read_float(const SbType *type, const char *ptr, int64_t len, void *out) {
    switch ((int)type->kind) {
    case SB_F16: return sb_read_f16(ptr, len, out);
    case SB_BF16: return sb_read_bf16(ptr, len, out);
    case SB_F32: return sb_read_f32(ptr, len, out);
    default: return sb_read_f64(ptr, len, out);
    }
}

char *sb_put_float(char *out, const SbType *type, const void *value) {
    switch ((int)type->kind) {
    case SB_F16: return sb_put_f16(out, sb_f16_f32(half_bits(value)));
    case SB_BF16: return sb_put_bf16(out, sb_bf16_f32(half_bits(value)));
    case SB_F32: return sb_put_f32(out, *(const float *)value);
    default: return sb_put_f64(out, *(const double *)value);
    }
}

void sb_store_half(const SbType *type, double x, void *out) {
    uint16_t bits = type->kind == SB_F16 ? sb_f64_f16(x) : sb_f64_bf16(x);
    memcpy(out, &bits, sizeof bits);
}
