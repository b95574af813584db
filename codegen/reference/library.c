#include "codegen/reference/half.h"
#include "codegen/reference/library.h"

#include "stdlib/regex.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void *library_symbol(Text symbol) {
    char name[256];
    if (symbol.len >= sizeof name) return nullptr;
    memcpy(name, symbol.at, symbol.len);
    name[symbol.len] = 0;
    return dlsym(RTLD_DEFAULT, name);
}

void *library_function(const FnRef *fn) {
    char name[256];
    if (!(fn->traits & FN_EXTERN)) return library_symbol(fn->symbol);
    int len = snprintf(name, sizeof name, SB_USER_PREFIX "%.*s", TEXT_ARG(fn->symbol));
    return len < (int)sizeof name ? library_symbol((Text){name, (size_t)len}) : nullptr;
}

// ---- types ------------------------------------------------------------------------------------

static SbKind kind_of(TypeKind kind) {
    static_assert((int)TYPE_BOOL == (int)SB_BOOL && (int)TYPE_MAP == (int)SB_MAP);
    return (SbKind)kind;
}

static void open_dimensions(Arena *arena, const Type *type, SbType *out) {
    uint32_t *shape = arena_new_array(arena, uint32_t, type->rank);
    SbStr *names = arena_new_array(arena, SbStr, type->rank);
    for (uint32_t i = 0; i < type->rank; i++) {
        bool open = dimension_is_open(type->shape[i]);
        shape[i] = open ? 0 : type->shape[i];
        if (open) names[i] = (SbStr){type->names[i].at, (int64_t)type->names[i].len};
    }
    out->shape = shape;
    out->names = names;
}

const SbType *library_type(Arena *arena, const Type *type) {
    SbType *out = arena_new_of(arena, SbType);
    const Type *base = type_base(type);
    *out = (SbType){
        .kind = (uint8_t)kind_of(type->kind), .nullable = type->nullable,
        .precision = type->precision, .scale = type->scale, .unit = (uint8_t)type->unit,
        .size = (uint32_t)type_size(type), .align = (uint32_t)type_align(type),
        .valid_offset = (uint32_t)type_size(base), .field_count = type->field_count,
    };
    if (type_is_sequence(type)) out->elem = library_type(arena, type->elem);
    out->rank = type->rank;
    out->shape = type->shape;
    if (type->names) open_dimensions(arena, type, out);
    if (type->kind != TYPE_STRUCT) return out;
    SbField *fields = arena_new_array(arena, SbField, type->field_count ? type->field_count : 1);
    for (uint32_t i = 0; i < type->field_count; i++) {
        Text name = type->fields[i].name;
        fields[i] = (SbField){
            .name = {name.at, (int64_t)name.len},
            .type = library_type(arena, type->fields[i].type),
            .offset = (int64_t)type_field_offset(base, i),
        };
    }
    out->fields = fields;
    return out;
}

// ---- values -----------------------------------------------------------------------------------

static void put_text(Arena *arena, Text text, void *memory) {
    char *copy = arena_alloc(arena, text.len + SB_SLACK, 1);
    if (text.len) memcpy(copy, text.at, text.len);
    SbStr str = {copy, (int64_t)text.len};
    memcpy(memory, &str, sizeof str);
}

static void put_decimal(const Type *type, __int128 decimal, void *memory) {
    int64_t narrow = (int64_t)decimal;
    if (type->precision <= DECIMAL_PRECISION_I64) memcpy(memory, &narrow, sizeof narrow);
    else memcpy(memory, &decimal, sizeof decimal);
}

static void put_list(Arena *arena, const Type *type, const Value *value, void *memory) {
    size_t size = type_size(type->elem), lead = type_lead_bytes(type), at = 0;
    char *items = (char *)arena_alloc(arena, lead + value->item_count * size + SB_SLACK, 16);
    for (uint32_t i = 0; lead && i < type->rank; i++) {
        if (!dimension_is_open(type->shape[i])) continue;
        memcpy(items + at, &(uint64_t){value->sizes[i]}, sizeof(uint64_t));
        at += sizeof(uint64_t);
    }
    items += lead;
    for (uint32_t i = 0; i < value->item_count; i++)
        library_put(arena, type->elem, &value->items[i], items + i * size);
    SbList list = {items, value->item_count};
    memcpy(memory, &list, sizeof list);
}

// Little-endian: the low bytes of `i` or `u` are the narrower integer.
static void put_base(Arena *arena, const Type *type, const Value *value, void *memory) {
    float single = (float)value->f;
    switch (type->kind) {
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        memcpy(memory, &value->i, type_size(type));
        return;
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        memcpy(memory, &value->u, type_size(type));
        return;
    case TYPE_F32:
        memcpy(memory, &single, sizeof single);
        return;
    case TYPE_F64:
        memcpy(memory, &value->f, sizeof value->f);
        return;
    case TYPE_DECIMAL:
        put_decimal(type, value->decimal, memory);
        return;
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON:
        put_text(arena, value->text, memory);
        return;
    case TYPE_LIST: case TYPE_TENSOR: case TYPE_MAP:
        put_list(arena, type, value, memory);
        return;
    case TYPE_STRUCT:
        for (uint32_t i = 0; i < type->field_count; i++)
            library_put(arena, type->fields[i].type, &value->items[i],
                        (char *)memory + type_field_offset(type, i));
        return;
    case TYPE_F16: case TYPE_BF16:
        memcpy(memory, &(uint16_t){half_bits(half_form(type->kind), value->f)}, sizeof(uint16_t));
        return;
    case TYPE_NULL: case TYPE_ERROR:
        return;
    }
}

void library_put(Arena *arena, const Type *type, const Value *value, void *memory) {
    const Type *base = type_base(type);
    memset(memory, 0, type_size(type));
    if (type->nullable) ((uint8_t *)memory)[type_size(base)] = !value->is_null;
    if (!value->is_null) put_base(arena, base, value, memory);
}

static Value get_integer(const Type *type, const void *memory) {
    uint64_t word = 0;
    size_t size = type_size(type);
    memcpy(&word, memory, size);
    if (type->kind >= TYPE_U8 && type->kind <= TYPE_U64) return (Value){.u = word};
    unsigned shift = (unsigned)(64 - 8 * size);
    return value_i64((int64_t)(word << shift) >> shift);
}

static Value get_decimal(const Type *type, const void *memory) {
    Value value = {0};
    int64_t narrow = 0;
    if (type->precision <= DECIMAL_PRECISION_I64) {
        memcpy(&narrow, memory, sizeof narrow);
        value.decimal = narrow;
    } else {
        memcpy(&value.decimal, memory, sizeof value.decimal);
    }
    return value;
}

static Value get_text(Arena *arena, const void *memory) {
    SbStr str;
    memcpy(&str, memory, sizeof str);
    char *copy = arena_alloc(arena, (size_t)str.len + SB_SLACK, 1);
    if (str.len) memcpy(copy, str.ptr, (size_t)str.len);
    return value_text((Text){copy, (size_t)str.len});
}

// Of a tensor with open dimensions; else null.
static const uint32_t *get_sizes(Arena *arena, const Type *type, const SbList *list) {
    int64_t sizes[SB_RANK_MAX];
    if (!type_open_count(type)) return nullptr;
    uint32_t *own = arena_new_array(arena, uint32_t, type->rank);
    sb_tensor_sizes(library_type(arena, type), list, sizes);
    for (uint32_t i = 0; i < type->rank; i++) own[i] = (uint32_t)sizes[i];
    return own;
}

static Value get_list(Arena *arena, const Type *type, const void *memory) {
    SbList list;
    memcpy(&list, memory, sizeof list);
    Value *items = arena_new_array(arena, Value, list.len ? (size_t)list.len : 1);
    for (int64_t i = 0; i < list.len; i++)
        items[i] = library_get(arena, type->elem,
                               (const char *)list.ptr + (size_t)i * type_size(type->elem));
    return (Value){.items = items, .item_count = (uint32_t)list.len,
                   .sizes = get_sizes(arena, type, &list)};
}

static Value get_struct(Arena *arena, const Type *type, const void *memory) {
    Value *items = arena_new_array(arena, Value, type->field_count ? type->field_count : 1);
    for (uint32_t i = 0; i < type->field_count; i++)
        items[i] = library_get(arena, type->fields[i].type,
                               (const char *)memory + type_field_offset(type, i));
    return (Value){.items = items, .item_count = type->field_count};
}

static Value get_float(const Type *type, const void *memory) {
    float single;
    double value;
    uint16_t bits;
    if (half_form(type->kind)) {
        memcpy(&bits, memory, sizeof bits);
        return value_f64(half_of_bits(half_form(type->kind), bits));
    }
    if (type->kind == TYPE_F64) {
        memcpy(&value, memory, sizeof value);
        return value_f64(value);
    }
    memcpy(&single, memory, sizeof single);
    return value_f64((double)single);
}

Value library_get(Arena *arena, const Type *type, const void *memory) {
    const Type *base = type_base(type);
    if (type->nullable && !((const uint8_t *)memory)[type_size(base)]) return value_null();
    switch (base->kind) {
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        return get_integer(base, memory);
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        return get_float(base, memory);
    case TYPE_DECIMAL:
        return get_decimal(base, memory);
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON:
        return get_text(arena, memory);
    case TYPE_LIST: case TYPE_TENSOR: case TYPE_MAP:
        return get_list(arena, base, memory);
    case TYPE_STRUCT:
        return get_struct(arena, base, memory);
    case TYPE_NULL: case TYPE_ERROR:
        break;
    }
    return value_null();
}

// ---- what a program's constants need ----------------------------------------------------------

// A C function pointer from what dlsym gives.
#define FUNCTION(type, symbol)                                                                    \
    ({                                                                                            \
        void *found = library_symbol(TEXT(symbol));                                               \
        type *function = nullptr;                                                                 \
        memcpy(&function, &found, sizeof function);                                               \
        function;                                                                                 \
    })

typedef const struct SbZone *ZoneFind(const char *name, int64_t len);
typedef const struct SbZone *ZoneAt(int64_t number);
typedef int32_t              ZoneOffset(const struct SbZone *zone, int64_t local);

const struct SbZone *library_zone(Text name) {
    ZoneFind *find = FUNCTION(ZoneFind, "sb_zone_find");
    return find ? find(name.at, (int64_t)name.len) : nullptr;
}

const struct SbZone *library_zone_at(int64_t number) {
    ZoneAt *at = FUNCTION(ZoneAt, "sb_zone_at");
    return at ? at(number) : nullptr;
}

int64_t library_zone_to_utc(const struct SbZone *zone, int64_t local) {
    ZoneOffset *offset = FUNCTION(ZoneOffset, "sb_zone_offset_local");
    return local - (offset ? offset(zone, local) : 0);
}

struct SbRegex *library_regex(Text pattern) {
    typeof(sb_regex_compile) *compile = FUNCTION(typeof(sb_regex_compile), "sb_regex_compile");
    SbRegexError error;
    return compile ? compile(pattern.at, (int64_t)pattern.len, &error) : nullptr;
}

void library_regex_free(struct SbRegex *regex) {
    typeof(sb_regex_free) *release = FUNCTION(typeof(sb_regex_free), "sb_regex_free");
    if (release) release(regex);
}
