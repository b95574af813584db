// Generic: one switch over the kind for comparing, one for hashing.
#include "stdlib/value/generic.h"

#include "stdlib/hash.h"

#include <string.h>

#define COMPARE(T)                                                                                \
    do {                                                                                          \
        T x, y;                                                                                   \
        memcpy(&x, a, sizeof x);                                                                  \
        memcpy(&y, b, sizeof y);                                                                  \
        return (x > y) - (x < y);                                                                 \
    } while (0)

int32_t sb_compare_bytes(SbStr a, SbStr b) {
    int64_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.ptr, b.ptr, (size_t)common) : 0;
    if (order) return order < 0 ? -1 : 1;
    return (a.len > b.len) - (a.len < b.len);
}

static int32_t compare_f64(double a, double b) {
    if (a < b) return -1;
    if (a > b) return 1;
    return (a != a) - (b != b);  // Equal, or a NaN: the greatest.
}

// A 16-bit float as a number of the same order; `inf` is the pattern of its infinity.
static int32_t half_key(uint16_t bits, uint16_t inf) {
    uint16_t magnitude = bits & 0x7fff;
    if (magnitude > inf) return 0x8000;
    return bits & 0x8000 ? -(int32_t)magnitude : magnitude;
}

static int32_t half_read(const SbType *type, const void *value) {
    uint16_t bits;
    memcpy(&bits, value, sizeof bits);
    return half_key(bits, type->kind == SB_F16 ? 0x7c00 : 0x7f80);
}

static int32_t compare_lists(const SbType *elem, const SbList *a, const SbList *b) {
    int64_t common = a->len < b->len ? a->len : b->len;
    const char *x = a->ptr, *y = b->ptr;
    for (int64_t i = 0; i < common; i++, x += elem->size, y += elem->size) {
        int32_t order = sb_compare(elem, x, y);
        if (order) return order;
    }
    return (a->len > b->len) - (a->len < b->len);
}

static int32_t compare_structs(const SbType *type, const char *a, const char *b) {
    for (uint32_t i = 0; i < type->field_count; i++) {
        const SbField *field = &type->fields[i];
        int32_t order = sb_compare(field->type, a + field->offset, b + field->offset);
        if (order) return order;
    }
    return 0;
}

int32_t sb_compare(const SbType *type, const void *a, const void *b) {
    if (type->nullable) {
        int valid_a = sb_is_valid(type, a), valid_b = sb_is_valid(type, b);
        if (!valid_a || !valid_b) return valid_b - valid_a;
    }
    switch ((SbKind)type->kind) {
    case SB_BOOL: case SB_U8: COMPARE(uint8_t);
    case SB_I8: COMPARE(int8_t);
    case SB_I16: COMPARE(int16_t);
    case SB_I32: case SB_DATE: COMPARE(int32_t);
    case SB_I64: case SB_TIMESTAMP: case SB_DURATION: COMPARE(int64_t);
    case SB_U16: COMPARE(uint16_t);
    case SB_U32: COMPARE(uint32_t);
    case SB_U64: COMPARE(uint64_t);
    case SB_F16: case SB_BF16: {
        int32_t x = half_read(type, a), y = half_read(type, b);
        return (x > y) - (x < y);
    }
    case SB_F32: return compare_f64((double)*(const float *)a, (double)*(const float *)b);
    case SB_F64: return compare_f64(*(const double *)a, *(const double *)b);
    case SB_DECIMAL:
        if (type->precision <= 18) COMPARE(int64_t);
        COMPARE(SbDecimal);
    case SB_STR: case SB_BYTES: case SB_JSON:
        return sb_compare_bytes(*(const SbStr *)a, *(const SbStr *)b);
    case SB_LIST: case SB_TENSOR: case SB_MAP: return compare_lists(type->elem, a, b);
    case SB_STRUCT: return compare_structs(type, a, b);
    }
    __builtin_trap();
}

static uint64_t f64_key_bits(double x) {
    if (x == 0.0) return 0;
    if (x != x) return UINT64_C(0x7ff8000000000000);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

uint64_t sb_float_key(const SbType *type, const void *value) {
    if (type->kind == SB_F64) return f64_key_bits(*(const double *)value);
    if (type->kind == SB_F32) return f64_key_bits((double)*(const float *)value);
    return (uint64_t)half_read(type, value);
}

static uint64_t hash_list(uint64_t hash, const SbType *elem, const SbList *list) {
    hash = sb_hash_word(hash, (uint64_t)list->len);
    const char *at = list->ptr;
    for (int64_t i = 0; i < list->len; i++, at += elem->size) {
        hash = sb_hash_value(hash, elem, at);
    }
    return hash;
}

static uint64_t hash_decimal(uint64_t hash, SbDecimal x) {
    return sb_hash_word(sb_hash_word(hash, (uint64_t)x), (uint64_t)(x >> 64));
}

#define HASH(T)                                                                                   \
    do {                                                                                          \
        T x;                                                                                      \
        memcpy(&x, value, sizeof x);                                                              \
        return sb_hash_word(hash, (uint64_t)x);                                                   \
    } while (0)

uint64_t sb_hash_value(uint64_t hash, const SbType *type, const void *value) {
    if (!sb_is_valid(type, value)) return sb_hash_word(hash, UINT64_C(0x6e756c6c6e756c6c));
    switch ((SbKind)type->kind) {
    case SB_BOOL: case SB_U8: HASH(uint8_t);
    case SB_I8: HASH(int8_t);
    case SB_I16: HASH(int16_t);
    case SB_I32: case SB_DATE: HASH(int32_t);
    case SB_I64: case SB_TIMESTAMP: case SB_DURATION: HASH(int64_t);
    case SB_U16: HASH(uint16_t);
    case SB_U32: HASH(uint32_t);
    case SB_U64: HASH(uint64_t);
    case SB_F16: case SB_BF16: case SB_F32: case SB_F64:
        return sb_hash_word(hash, sb_float_key(type, value));
    case SB_DECIMAL:
        if (type->precision <= 18) HASH(int64_t);
        return hash_decimal(hash, *(const SbDecimal *)value);
    case SB_STR: case SB_BYTES: case SB_JSON: {
        const SbStr *text = value;
        return sb_hash_bytes(hash, text->ptr, text->len);
    }
    case SB_LIST: case SB_TENSOR: case SB_MAP: return hash_list(hash, type->elem, value);
    case SB_STRUCT:
        for (uint32_t i = 0; i < type->field_count; i++) {
            const SbField *field = &type->fields[i];
            hash = sb_hash_value(hash, field->type, (const char *)value + field->offset);
        }
        return hash;
    }
    __builtin_trap();
}
