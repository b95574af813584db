#include "codegen/reference/value.h"

#include <math.h>

static int sign_of(bool less, bool greater) { return (int)greater - (int)less; }

static int compare_floats(double a, double b) {
    if (isnan(a) || isnan(b)) return (isnan(a) != 0) - (isnan(b) != 0);
    return sign_of(a < b, a > b);
}

static int compare_lists(const Type *type, const Value *a, const Value *b) {
    for (uint32_t i = 0; i < a->item_count && i < b->item_count; i++) {
        int order = value_compare(type->elem, &a->items[i], &b->items[i]);
        if (order) return order;
    }
    return sign_of(a->item_count < b->item_count, a->item_count > b->item_count);
}

static int compare_structs(const Type *type, const Value *a, const Value *b) {
    for (uint32_t i = 0; i < type->field_count; i++) {
        int order = value_compare(type->fields[i].type, &a->items[i], &b->items[i]);
        if (order) return order;
    }
    return 0;
}

int value_compare(const Type *type, const Value *a, const Value *b) {
    if (a->is_null || b->is_null) return (int)a->is_null - (int)b->is_null;
    switch (type->kind) {
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        return sign_of(a->i < b->i, a->i > b->i);
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        return sign_of(a->u < b->u, a->u > b->u);
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        return compare_floats(a->f, b->f);
    case TYPE_DECIMAL:
        return sign_of(a->decimal < b->decimal, a->decimal > b->decimal);
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON:
        return text_cmp(a->text, b->text);
    case TYPE_LIST: case TYPE_TENSOR: case TYPE_MAP:
        return compare_lists(type, a, b);
    case TYPE_STRUCT:
        return compare_structs(type, a, b);
    case TYPE_NULL: case TYPE_ERROR:
        return 0;
    }
    return 0;
}

const Type *value_shape(Arena *arena, const Type *type, const Value *value) {
    if (!type_open_count(type) || !value->sizes) return type;
    Type *known = arena_new_of(arena, Type);
    *known = *type;
    known->shape = value->sizes;
    return known;
}

bool value_same(const Type *type, const Value *a, const Value *b) {
    return value_compare(type, a, b) == 0;
}

static void key_raw(TextBuf *buf, const void *bytes, size_t size) {
    text_buf_add(buf, (Text){bytes, size});
}

static void key_float(TextBuf *buf, double f) {
    if (isnan(f)) f = (double)NAN;
    if (f == 0) f = 0;
    key_raw(buf, &f, sizeof f);
}

void value_key(TextBuf *buf, const Type *type, const Value *value) {
    text_buf_char(buf, value->is_null ? 'n' : 'v');
    if (value->is_null) return;
    switch (type->kind) {
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        key_raw(buf, &value->i, sizeof value->i);
        return;
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        key_raw(buf, &value->u, sizeof value->u);
        return;
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        key_float(buf, value->f);
        return;
    case TYPE_DECIMAL:
        key_raw(buf, &value->decimal, sizeof value->decimal);
        return;
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON:
        key_raw(buf, &value->text.len, sizeof value->text.len);
        text_buf_add(buf, value->text);
        return;
    case TYPE_LIST: case TYPE_TENSOR: case TYPE_MAP:
        key_raw(buf, &value->item_count, sizeof value->item_count);
        for (uint32_t i = 0; i < value->item_count; i++)
            value_key(buf, type->elem, &value->items[i]);
        return;
    case TYPE_STRUCT:
        for (uint32_t i = 0; i < type->field_count; i++)
            value_key(buf, type->fields[i].type, &value->items[i]);
        return;
    case TYPE_NULL: case TYPE_ERROR:
        return;
    }
}

__int128 value_integer(const Type *type, const Value *value) {
    if (type->kind >= TYPE_U8 && type->kind <= TYPE_U64) return (__int128)value->u;
    return value->i;
}

Value value_of_integer(const Type *type, __int128 integer) {
    if (type->kind >= TYPE_U8 && type->kind <= TYPE_U64) return (Value){.u = (uint64_t)integer};
    return (Value){.i = (int64_t)integer};
}

bool integer_fits(const Type *type, __int128 integer) {
    // Dates are 32 bits wide, timestamps and durations 64.
    unsigned bits = type->kind == TYPE_DATE ? 32 : type_is_integer(type) ? type_bits(type) : 64;
    if (type_is_integer(type) && !type_is_signed(type))
        return integer >= 0 && integer < (__int128)1 << bits;
    return integer >= -((__int128)1 << (bits - 1)) && integer < (__int128)1 << (bits - 1);
}

unsigned __int128 power_of_ten(unsigned exponent) {
    unsigned __int128 power = 1;
    while (exponent--) power *= 10;
    return power;
}

int64_t unit_per_second(TimeUnit unit) {
    switch (unit) {
    case UNIT_S: return 1;
    case UNIT_MS: return 1000;
    case UNIT_US: return 1000000;
    case UNIT_NS: return 1000000000;
    }
    return 1;
}
