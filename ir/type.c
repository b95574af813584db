#include "ir/type.h"

#include <assert.h>
#include <string.h>

static const char *const kind_names[] = {
#define X(kind, name, bytes) [TYPE_##kind] = name,
    TYPE_KINDS(X)
#undef X
};

static const uint8_t kind_bytes[] = {
#define X(kind, name, bytes) [TYPE_##kind] = bytes,
    TYPE_KINDS(X)
#undef X
};

static const char *const unit_names[] = {"s", "ms", "us", "ns"};

enum { BUCKETS = 256 };

typedef struct Node {
    struct Node *next;
    Type         type;
} Node;

struct TypeTable {
    Arena *arena;
    Node  *buckets[BUCKETS];
    Text  *names;  // Of open dimensions, by number.
    size_t name_count, name_cap;
};

TypeTable *type_table_new(Arena *arena) {
    TypeTable *types = arena_new_of(arena, TypeTable);
    types->arena = arena;
    arena_push(arena, types->names, types->name_count, types->name_cap, TEXT("_"));
    return types;
}

uint32_t type_dimension(TypeTable *types, Text name) {
    uint32_t number = 0;
    while (number < types->name_count && !text_eq(types->names[number], name)) number++;
    if (number == types->name_count)
        arena_push(types->arena, types->names, types->name_count, types->name_cap,
                   text_copy(types->arena, name));
    return DIMENSION_OPEN | number;
}

static const Text *dimension_names(const TypeTable *types, const Type *type) {
    if (!type_open_count(type)) return nullptr;
    Text *names = arena_new_array(types->arena, Text, type->rank);
    for (uint32_t i = 0; i < type->rank; i++)
        if (dimension_is_open(type->shape[i]))
            names[i] = types->names[type->shape[i] & ~DIMENSION_OPEN];
    return names;
}

static uint64_t type_hash(const Type *type) {
    uint64_t hash = hash_mix((uint64_t)type->kind, (uint64_t)type->unit);
    hash = hash_mix(hash, (uint64_t)type->precision << 8 | type->scale);
    hash = hash_mix(hash, (uintptr_t)type->elem);
    for (uint32_t i = 0; i < type->rank; i++) hash = hash_mix(hash, type->shape[i]);
    for (uint32_t i = 0; i < type->field_count; i++) {
        hash = hash_mix(hash, text_hash(type->fields[i].name));
        hash = hash_mix(hash, (uintptr_t)type->fields[i].type);
    }
    return hash;
}

static bool same(const Type *a, const Type *b) {
    if (a->kind != b->kind || a->unit != b->unit || a->precision != b->precision ||
        a->scale != b->scale || a->elem != b->elem || a->field_count != b->field_count ||
        a->rank != b->rank)
        return false;
    if (a->rank && memcmp(a->shape, b->shape, sizeof *a->shape * a->rank) != 0) return false;
    for (uint32_t i = 0; i < a->field_count; i++)
        if (a->fields[i].type != b->fields[i].type ||
            !text_eq(a->fields[i].name, b->fields[i].name))
            return false;
    return true;
}

// The one type equal to `wanted`, which is not nullable; made at the first asking, T? with it.
static const Type *intern(TypeTable *types, Type wanted) {
    Node **bucket = &types->buckets[type_hash(&wanted) >> 40 & (BUCKETS - 1)];
    for (Node *node = *bucket; node; node = node->next)
        if (same(&node->type, &wanted)) return &node->type;
    Field *fields = arena_copy(types->arena, wanted.fields, sizeof(Field) * wanted.field_count,
                               alignof(Field));
    for (uint32_t i = 0; i < wanted.field_count; i++)
        fields[i].name = text_copy(types->arena, fields[i].name);
    wanted.fields = fields;
    wanted.shape = arena_copy(types->arena, wanted.shape, sizeof *wanted.shape * wanted.rank,
                              alignof(uint32_t));
    wanted.names = dimension_names(types, &wanted);
    Node *node = arena_new_of(types->arena, Node);
    Type *nullable = arena_new_of(types->arena, Type);
    *node = (Node){*bucket, wanted};
    *nullable = wanted;
    nullable->nullable = true;
    nullable->flip = &node->type;
    node->type.flip = nullable;
    *bucket = node;
    return &node->type;
}

const Type *type_of(TypeTable *types, TypeKind kind) {
    assert(kind != TYPE_DECIMAL && kind != TYPE_LIST && kind != TYPE_STRUCT &&
           kind != TYPE_TENSOR && kind != TYPE_MAP);
    return intern(types, (Type){.kind = kind, .unit = kind == TYPE_TIMESTAMP ? UNIT_US : UNIT_S});
}

const Type *type_decimal(TypeTable *types, unsigned precision, unsigned scale) {
    assert(precision >= 1 && precision <= DECIMAL_PRECISION_MAX && scale <= precision);
    return intern(types, (Type){.kind = TYPE_DECIMAL,
                                .precision = (uint8_t)precision, .scale = (uint8_t)scale});
}

const Type *type_timestamp(TypeTable *types, TimeUnit unit) {
    return intern(types, (Type){.kind = TYPE_TIMESTAMP, .unit = unit});
}

const Type *type_list(TypeTable *types, const Type *elem) {
    return intern(types, (Type){.kind = TYPE_LIST, .elem = elem});
}

const Type *type_struct(TypeTable *types, const Field *fields, uint32_t count) {
    return intern(types, (Type){.kind = TYPE_STRUCT, .fields = fields, .field_count = count});
}

const Type *type_entry(TypeTable *types, const Type *value) {
    const Field fields[] = {{TEXT("key"), type_of(types, TYPE_STR)}, {TEXT("value"), value}};
    return type_struct(types, fields, countof(fields));
}

const Type *type_map(TypeTable *types, const Type *value) {
    return intern(types, (Type){.kind = TYPE_MAP, .elem = type_entry(types, value)});
}

const Type *type_tensor(TypeTable *types, const Type *elem, const uint32_t *shape, uint32_t rank) {
    assert(type_is_element(elem) && type_shape_fits(elem, shape, rank));
    return intern(types,
                  (Type){.kind = TYPE_TENSOR, .elem = elem, .shape = shape, .rank = rank});
}

const Type *type_nullable(const Type *type) {
    bool none = type->nullable || type->kind == TYPE_ERROR || type->kind == TYPE_NULL;
    return none ? type : type->flip;
}

const Type *type_base(const Type *type) { return type->nullable ? type->flip : type; }

const Type *type_map_value(const Type *map) {
    assert(map->kind == TYPE_MAP);
    return map->elem->fields[1].type;
}

const Type *type_entry_value(const Type *type) {
    bool entry = type->kind == TYPE_STRUCT && !type->nullable && type->field_count == 2 &&
                 text_is(type->fields[0].name, "key") && text_is(type->fields[1].name, "value") &&
                 type->fields[0].type->kind == TYPE_STR && !type->fields[0].type->nullable;
    return entry ? type->fields[1].type : nullptr;
}

const char *type_kind_name(TypeKind kind) { return kind_names[kind]; }

bool type_kind_find(Text name, TypeKind *kind) {
    for (unsigned i = TYPE_BOOL; i < TYPE_LIST; i++) {
        if (i == TYPE_DECIMAL || !text_is(name, kind_names[i])) continue;
        *kind = (TypeKind)i;
        return true;
    }
    return false;
}

bool type_is_integer(const Type *type) { return type->kind >= TYPE_I8 && type->kind <= TYPE_U64; }
bool type_is_signed(const Type *type) { return type->kind >= TYPE_I8 && type->kind <= TYPE_I64; }
bool type_is_float(const Type *type) { return type->kind >= TYPE_F16 && type->kind <= TYPE_F64; }
bool type_is_half(const Type *type) {
    return type->kind == TYPE_F16 || type->kind == TYPE_BF16;
}
bool type_is_numeric(const Type *type) {
    return type_is_integer(type) || type_is_float(type) || type->kind == TYPE_DECIMAL;
}

bool type_is_plain_number(const Type *type) {
    return type_is_integer(type) || type_is_float(type) || type->kind == TYPE_DURATION ||
           type->kind == TYPE_BOOL;
}
bool type_cast_scales(const Type *from, const Type *to) {
    bool narrow = from->kind == TYPE_DECIMAL && from->precision <= DECIMAL_PRECISION_I64;
    if (to->kind != TYPE_DECIMAL) return narrow && type_is_integer(to);
    if (from->kind != TYPE_DECIMAL) return type_is_integer(from);
    return narrow || to->scale >= from->scale;
}
bool type_is_bytes(const Type *type) {
    return type->kind == TYPE_STR || type->kind == TYPE_BYTES || type->kind == TYPE_JSON;
}
bool type_is_nested(const Type *type) {
    return type->kind == TYPE_STRUCT || type_is_sequence(type);
}
bool type_is_sequence(const Type *type) {
    return type->kind == TYPE_LIST || type->kind == TYPE_TENSOR || type->kind == TYPE_MAP;
}
unsigned type_bits(const Type *type) { return kind_bytes[type->kind] * 8u; }

static size_t base_align(const Type *type) {
    if (type->kind == TYPE_DECIMAL) return type->precision <= DECIMAL_PRECISION_I64 ? 8 : 16;
    if (type_is_sequence(type) || type_is_bytes(type)) return 8;
    if (type->kind != TYPE_STRUCT) return kind_bytes[type->kind] ? kind_bytes[type->kind] : 1;
    size_t align = 1;
    for (uint32_t i = 0; i < type->field_count; i++) {
        size_t field = type_align(type->fields[i].type);
        if (field > align) align = field;
    }
    return align;
}

static size_t base_size(const Type *type) {
    if (type->kind == TYPE_DECIMAL) return type->precision <= DECIMAL_PRECISION_I64 ? 8 : 16;
    if (type->kind != TYPE_STRUCT) return kind_bytes[type->kind] ? kind_bytes[type->kind] : 1;
    if (!type->field_count) return 1;
    uint32_t last = type->field_count - 1;
    size_t end = type_field_offset(type, last) + type_size(type->fields[last].type);
    return align_up(end, base_align(type));
}

size_t type_align(const Type *type) { return base_align(type); }

size_t type_size(const Type *type) {
    size_t size = base_size(type);
    return type->nullable ? align_up(size + 1, base_align(type)) : size;
}

size_t type_field_offset(const Type *type, uint32_t index) {
    assert(type->kind == TYPE_STRUCT && index < type->field_count);
    size_t offset = 0;
    for (uint32_t i = 0;; i++) {
        offset = align_up(offset, type_align(type->fields[i].type));
        if (i == index) return offset;
        offset += type_size(type->fields[i].type);
    }
}

int type_field_find(const Type *type, Text name) {
    for (uint32_t i = 0; i < type->field_count; i++)
        if (text_eq(type->fields[i].name, name)) return (int)i;
    return -1;
}

void type_print_name(TextBuf *buf, Text name) {
    bool word = name.len && !(name.at[0] >= '0' && name.at[0] <= '9');
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        word &= c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                (c >= 'A' && c <= 'Z');
    }
    if (!word) text_buf_char(buf, '`');
    for (size_t i = 0; i < name.len; i++) {
        if (!word && name.at[i] == '`') text_buf_char(buf, '`');
        text_buf_char(buf, name.at[i]);
    }
    if (!word) text_buf_char(buf, '`');
}

// A struct whose only field is called `str` would read as a map.
static void print_struct(TextBuf *buf, const Type *type) {
    bool like_map = type->field_count == 1 && text_is(type->fields[0].name, "str");
    text_buf_char(buf, '{');
    if (like_map) text_buf_add(buf, TEXT("`str`"));
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (i) text_buf_add(buf, TEXT(", "));
        if (!like_map) type_print_name(buf, type->fields[i].name);
        text_buf_add(buf, TEXT(": "));
        type_print(buf, type->fields[i].type);
    }
    text_buf_char(buf, '}');
}

void type_print_dimension(TextBuf *buf, const Type *type, uint32_t i) {
    if (dimension_is_open(type->shape[i])) text_buf_add(buf, type->names[i]);
    else text_buf_format(buf, "%u", type->shape[i]);
}

void type_print(TextBuf *buf, const Type *type) {
    switch (type->kind) {
    case TYPE_DECIMAL:
        text_buf_format(buf, "decimal(%u,%u)", type->precision, type->scale);
        break;
    case TYPE_TIMESTAMP:
        text_buf_add(buf, TEXT("timestamp"));
        if (type->unit != UNIT_US) text_buf_format(buf, "[%s]", unit_names[type->unit]);
        break;
    case TYPE_LIST:
        text_buf_char(buf, '[');
        type_print(buf, type->elem);
        text_buf_char(buf, ']');
        break;
    case TYPE_STRUCT: print_struct(buf, type); break;
    case TYPE_MAP:
        text_buf_add(buf, TEXT("{str: "));
        type_print(buf, type_map_value(type));
        text_buf_char(buf, '}');
        break;
    case TYPE_TENSOR:
        type_print(buf, type->elem);
        for (uint32_t i = 0; i < type->rank; i++) {
            text_buf_add(buf, i ? TEXT(", ") : TEXT("["));
            type_print_dimension(buf, type, i);
        }
        text_buf_char(buf, ']');
        break;
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
    case TYPE_STR: case TYPE_BYTES: case TYPE_DATE: case TYPE_DURATION: case TYPE_JSON:
    case TYPE_NULL: case TYPE_ERROR:
        text_buf_add(buf, text_of(kind_names[type->kind]));
        break;
    }
    if (type->nullable) text_buf_char(buf, '?');
}

Text type_text(Arena *arena, const Type *type) {
    TextBuf buf = {0};
    type_print(&buf, type);
    return text_buf_take(&buf, arena);
}
