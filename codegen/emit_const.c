// Constants of a module: texts, values in registers and in memory, type descriptors.
#include "codegen/emit.h"

#include "stdlib/number.h"
#include "stdlib/regex.h"
#include "stdlib/time.h"

#include <assert.h>
#include <string.h>

struct ConstCache {
    const Type **types;
    Val         *globals;
    size_t       count, types_cap, globals_cap;
};

static Val private_global(Emit *e, Val initializer, const char *name, unsigned align) {
    Val global = LLVMAddGlobal(e->module, LLVMTypeOf(initializer), name);
    LLVMSetInitializer(global, initializer);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, align);
    return global;
}

// Padded with SB_SLACK zero bytes: readers may look past the end.
Val emit_bytes(Emit *e, Text bytes, const char *name) {
    char *padded = arena_alloc(e->arena, bytes.len + SB_SLACK, 1);
    if (bytes.len) memcpy(padded, bytes.at, bytes.len);
    Val string = LLVMConstStringInContext2(e->ctx, padded, bytes.len + SB_SLACK, true);
    return private_global(e, string, name, 16);
}

Val emit_null_words(Emit *e, const CsvOptions *csv) {
    Val *words = arena_new_array(e->arena, Val, csv->null_count + 1);
    for (uint32_t i = 0; i < csv->null_count; i++) {
        Val pair[] = {emit_bytes(e, csv->nulls[i], "null"),
                      emit_i64(e, (int64_t)csv->nulls[i].len)};
        words[i] = LLVMConstNamedStruct(e->str_pair, pair, 2);
    }
    return private_global(e, LLVMConstArray2(e->str_pair, words, csv->null_count), "nulls", 16);
}

Value emit_text(Emit *e, Text text) {
    return (Value){.a = emit_bytes(e, text, "text"), .b = emit_i64(e, (int64_t)text.len)};
}

// Patterns and zones are blocks of bytes without addresses in them: emitted as they are. The
// checker has refused what does not compile and what there is not.
Val emit_regex(Emit *e, Text pattern, const Text *with) {
    SbRegexError error;
    SbRegex *regex = sb_regex_compile(pattern.at, (int64_t)pattern.len, &error);
    bool has_groups;
    const SbStr text = with ? (SbStr){with->at, (int64_t)with->len} : (SbStr){0};
    if (with && sb_regex_replacement_fault(regex, text, &has_groups) < 0)
        regex = sb_regex_with(regex, text);
    Val block = emit_bytes(e, (Text){(const char *)regex, regex->bytes}, "regex");
    sb_regex_free(regex);
    return block;
}

bool emit_regex_is_runs(Text pattern) {
    SbRegexError error;
    SbRegex *regex = sb_regex_compile(pattern.at, (int64_t)pattern.len, &error);
    bool runs = regex->flags & REGEX_RUNS;
    sb_regex_free(regex);
    return runs;
}

Val emit_zone(Emit *e, Text name) {
    const SbZone *zone = sb_zone_find(name.at, (int64_t)name.len);
    return emit_bytes(e, (Text){(const char *)zone, zone->bytes}, "zone");
}

static Val scalar_const(Emit *e, const Type *base, const Const *value) {
    switch (base->kind) {
    case TYPE_BOOL: return emit_i1(e, value->i != 0);
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        return emit_int(e, emit_type(e, base), value->u);
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64:
        return LLVMConstReal(emit_type(e, base), value->f);
    case TYPE_DECIMAL: {
        Val wide = emit_i128(e, value->decimal);
        return base->precision <= DECIMAL_PRECISION_I64 ? LLVMConstTrunc(wide, e->i64) : wide;
    }
    case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
        return emit_int(e, emit_type(e, base), (uint64_t)value->i);
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON: case TYPE_LIST: case TYPE_STRUCT:
    case TYPE_TENSOR: case TYPE_MAP: case TYPE_NULL: case TYPE_ERROR:
        break;
    }
    return LLVMConstNull(emit_type(e, base));
}

Value emit_const(Emit *e, const Type *type, const Const *value) {
    const Type *base = type_base(type);
    Value out = {0};
    bool pair = type_is_bytes(base) || type_is_sequence(base);
    if (type->nullable) out.valid = emit_i1(e, !value->is_null);
    if (value->is_null || base->kind == TYPE_NULL) {
        out.a = LLVMConstNull(emit_type(e, base));
        if (base->kind == TYPE_STRUCT)
            out.a = private_global(e, LLVMConstNull(LLVMArrayType2(e->i8, type_size(base))), "zero",
                                   16);
        if (pair) out.b = emit_i64(e, 0);
        return out;
    }
    if (type_is_bytes(base)) {
        Value text = emit_text(e, value->text);
        out.a = text.a;
        out.b = text.b;
    } else if (type_is_nested(base)) {
        Val memory = private_global(e, emit_const_memory(e, base, value), "value", 16);
        if (base->kind == TYPE_STRUCT) {
            out.a = memory;
        } else {  // The list itself is a constant {address, length} in that memory.
            out.a = LLVMGetAggregateElement(LLVMGetInitializer(memory), 0);
            out.b = emit_i64(e, value->item_count);
        }
    } else {
        out.a = scalar_const(e, base, value);
    }
    return out;
}

static void pad_to(Emit *e, Parts *parts, size_t offset) {
    if (offset <= parts->end) return;
    Val zeros = LLVMConstNull(LLVMArrayType2(e->i8, offset - parts->end));
    arena_push(e->arena, parts->values, parts->count, parts->cap, zeros);
    parts->end = offset;
}

void part_add(Emit *e, Parts *parts, size_t offset, Val value, size_t size) {
    assert(offset >= parts->end);
    pad_to(e, parts, offset);
    arena_push(e->arena, parts->values, parts->count, parts->cap, value);
    parts->end = offset + size;
}

void part_add_text(Emit *e, Parts *parts, size_t offset, Text text) {
    part_add(e, parts, offset, emit_bytes(e, text, "text"), 8);
    part_add(e, parts, offset + 8, emit_i64(e, (int64_t)text.len), 8);
}

Val parts_struct(Emit *e, Parts *parts, size_t size) {
    pad_to(e, parts, size);
    return LLVMConstStructInContext(e->ctx, parts->values, (unsigned)parts->count, true);
}

Val emit_global(Emit *e, Val initializer, const char *name) {
    return private_global(e, initializer, name, 16);
}

Val emit_sequence(Emit *e, Val *items, uint32_t count, const char *name) {
    if (!count) return LLVMConstNull(e->ptr);
    return emit_global(e, LLVMConstStructInContext(e->ctx, items, count, true), name);
}

static Val list_items(Emit *e, const Type *elem, const Const *value) {
    Val *items = arena_new_array(e->arena, Val, value->item_count + 1);
    for (uint32_t i = 0; i < value->item_count; i++)
        items[i] = emit_const_memory(e, elem, &value->items[i]);
    // Nulls and texts differ in LLVM type only by name: all are packed structs of equal size.
    Val all = LLVMConstStructInContext(e->ctx, items, value->item_count, true);
    return private_global(e, all, "items", 16);
}

// A number as it lies in memory.
static void put_number(const Type *elem, const Const *value, char *to) {
    union { double f; uint64_t u; } wide = {.u = value->u};
    union { float f; uint32_t u; } narrow;
    switch (elem->kind) {
    case TYPE_F64: wide.f = value->f; break;
    case TYPE_F32: narrow.f = (float)value->f, wide.u = narrow.u; break;
    case TYPE_F16: wide.u = sb_f64_f16(value->f); break;
    case TYPE_BF16: wide.u = sb_f64_bf16(value->f); break;
    case TYPE_BOOL: wide.u = value->i != 0; break;
    default:
        if (type_is_signed(elem)) wide.u = (uint64_t)value->i;
    }
    memcpy(to, &wide.u, type_size(elem));
}

// The elements of a tensor. There may be a million of them.
static Val tensor_items(Emit *e, const Type *elem, const Const *value) {
    size_t size = type_size(elem);
    char *bytes = arena_alloc(e->arena, value->item_count * size + 1, 1);
    for (uint32_t i = 0; i < value->item_count; i++)
        put_number(elem, &value->items[i], bytes + i * size);
    return emit_bytes(e, (Text){bytes, value->item_count * size}, "elements");
}

static void base_parts(Emit *e, const Type *base, const Const *value, Parts *parts) {
    if (value->is_null) {
        part_add(e, parts, 0, LLVMConstNull(LLVMArrayType2(e->i8, type_size(base))),
                 type_size(base));
    } else if (type_is_bytes(base)) {
        part_add(e, parts, 0, emit_bytes(e, value->text, "text"), 8);
        part_add(e, parts, 8, emit_i64(e, (int64_t)value->text.len), 8);
    } else if (type_is_sequence(base)) {
        Val items = base->kind == TYPE_TENSOR ? tensor_items(e, base->elem, value)
                                              : list_items(e, base->elem, value);
        part_add(e, parts, 0, items, 8);
        part_add(e, parts, 8, emit_i64(e, value->item_count), 8);
    } else if (base->kind == TYPE_STRUCT) {
        for (uint32_t i = 0; i < base->field_count; i++) {
            const Type *field = base->fields[i].type;
            part_add(e, parts, type_field_offset(base, i),
                     emit_const_memory(e, field, &value->items[i]), type_size(field));
        }
        pad_to(e, parts, type_size(base));
    } else if (base->kind == TYPE_BOOL) {
        part_add(e, parts, 0, emit_int(e, e->i8, value->i != 0), 1);
    } else if (type_is_half(base)) {
        uint16_t bits = base->kind == TYPE_F16 ? sb_f64_f16(value->f) : sb_f64_bf16(value->f);
        part_add(e, parts, 0, emit_int(e, e->i16, bits), sizeof bits);
    } else {
        part_add(e, parts, 0, scalar_const(e, base, value), type_size(base));
    }
}

Val emit_const_memory(Emit *e, const Type *type, const Const *value) {
    Parts *parts = arena_new_of(e->arena, Parts);
    const Type *base = type_base(type);
    base_parts(e, base, value, parts);
    if (type->nullable)
        part_add(e, parts, type_size(base), emit_int(e, e->i8, !value->is_null), 1);
    return parts_struct(e, parts, type_size(type));
}

// ---- type descriptors ---------------------------------------------------------------------------

static Val struct_fields(Emit *e, const Type *type) {
    Val *fields = arena_new_array(e->arena, Val, type->field_count + 1);
    for (uint32_t i = 0; i < type->field_count; i++) {
        Parts *parts = arena_new_of(e->arena, Parts);
        const Field *field = &type->fields[i];
        part_add_text(e, parts, offsetof(SbField, name), field->name);
        part_add(e, parts, offsetof(SbField, type), emit_sbtype(e, field->type), 8);
        part_add(e, parts, offsetof(SbField, offset),
                 emit_i64(e, (int64_t)type_field_offset(type, i)), 8);
        fields[i] = parts_struct(e, parts, sizeof(SbField));
    }
    return private_global(e, LLVMConstStructInContext(e->ctx, fields, type->field_count, true),
                          "fields", 16);
}

static Val tensor_shape(Emit *e, const Type *type) {
    Val sizes[TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < type->rank; i++)
        sizes[i] = emit_i32(e, dimension_is_open(type->shape[i]) ? 0 : type->shape[i]);
    return private_global(e, LLVMConstArray2(e->i32, sizes, type->rank), "shape", 16);
}

static Val dimension_names(Emit *e, const Type *type) {
    Val names[TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < type->rank; i++) {
        Parts *parts = arena_new_of(e->arena, Parts);
        part_add_text(e, parts, 0, type->names[i]);
        names[i] = parts_struct(e, parts, sizeof(SbStr));
    }
    return emit_sequence(e, names, type->rank, "names");
}

static Val sbtype_constant(Emit *e, const Type *type) {
    const Type *base = type_base(type);
    Parts *parts = arena_new_of(e->arena, Parts);
    part_add(e, parts, offsetof(SbType, kind), emit_int(e, e->i8, (uint64_t)type->kind), 1);
    part_add(e, parts, offsetof(SbType, nullable), emit_int(e, e->i8, type->nullable), 1);
    part_add(e, parts, offsetof(SbType, precision), emit_int(e, e->i8, type->precision), 1);
    part_add(e, parts, offsetof(SbType, scale), emit_int(e, e->i8, type->scale), 1);
    part_add(e, parts, offsetof(SbType, unit), emit_int(e, e->i8, (uint64_t)type->unit), 1);
    part_add(e, parts, offsetof(SbType, size), emit_i32(e, (uint32_t)type_size(type)), 4);
    part_add(e, parts, offsetof(SbType, align), emit_i32(e, (uint32_t)type_align(type)), 4);
    part_add(e, parts, offsetof(SbType, valid_offset), emit_i32(e, (uint32_t)type_size(base)), 4);
    if (type->elem) part_add(e, parts, offsetof(SbType, elem), emit_sbtype(e, type->elem), 8);
    if (type->kind == TYPE_STRUCT) {
        part_add(e, parts, offsetof(SbType, fields), struct_fields(e, type), 8);
        part_add(e, parts, offsetof(SbType, field_count), emit_i32(e, type->field_count), 4);
    }
    if (type->kind == TYPE_TENSOR) {
        part_add(e, parts, offsetof(SbType, rank), emit_i32(e, type->rank), 4);
        part_add(e, parts, offsetof(SbType, shape), tensor_shape(e, type), 8);
        if (type->names)
            part_add(e, parts, offsetof(SbType, names), dimension_names(e, type), 8);
    }
    return parts_struct(e, parts, sizeof(SbType));
}

static_assert((int)SB_BOOL == (int)TYPE_BOOL && (int)SB_F64 == (int)TYPE_F64 &&
              (int)SB_DECIMAL == (int)TYPE_DECIMAL && (int)SB_DATE == (int)TYPE_DATE &&
              (int)SB_LIST == (int)TYPE_LIST && (int)SB_MAP == (int)TYPE_MAP,
              "SbKind mirrors TypeKind");

Val emit_sbtype(Emit *e, const Type *type) {
    if (!e->types) e->types = arena_new_of(e->arena, struct ConstCache);
    struct ConstCache *cache = e->types;
    for (size_t i = 0; i < cache->count; i++)
        if (cache->types[i] == type) return cache->globals[i];
    Val global = private_global(e, sbtype_constant(e, type), "type", 16);
    size_t count = cache->count;
    arena_push(e->arena, cache->types, count, cache->types_cap, type);
    arena_push(e->arena, cache->globals, cache->count, cache->globals_cap, global);
    return global;
}
