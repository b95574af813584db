// Keys: how values are hashed and compared as keys of groups and joins, and slots of entries.
#include "codegen/emit_stage.h"

#include "stdlib/hash.h"

enum : uint64_t { HASH_SEED = 0x243f6a8885a308d3, HASH_WORD = 0x9e3779b97f4a7c15 };

static Value defined(Emit *e, Value value) {
    if (!value.valid) return value;
    value.a = LLVMBuildSelect(e->b, value.valid, value.a, LLVMConstNull(LLVMTypeOf(value.a)), "");
    if (value.b) value.b = LLVMBuildSelect(e->b, value.valid, value.b, emit_i64(e, 0), "");
    return value;
}

static Val one_float(Emit *e, Val x) {
    Ty type = LLVMTypeOf(x);
    Val positive = LLVMBuildFAdd(e->b, x, LLVMConstReal(type, 0), "");
    Val number = LLVMBuildFCmp(e->b, LLVMRealORD, x, x, "");
    bool narrow = type == e->f32;
    Val quiet = narrow ? emit_i32(e, 0x7fc00000) : emit_i64(e, 0x7ff8000000000000);
    return LLVMBuildSelect(e->b, number, positive, LLVMConstBitCast(quiet, type), "");
}

KeyParts key_parts(Emit *e, const Type *type, Value value) {
    KeyParts key = {.value = value};
    const Type *base = type_base(type);
    if (type_is_float(base)) key.value.a = one_float(e, value.a);
    if (type_is_bytes(base) && value.valid)  // Of null: an empty text somewhere readable.
        key.value.a = LLVMBuildSelect(e->b, value.valid, value.a, emit_bytes(e, TEXT(""), "empty"),
                                      "");
    if (type_is_bytes(base) && value.valid)
        key.value.b = LLVMBuildSelect(e->b, value.valid, value.b, emit_i64(e, 0), "");
    if (!type_is_bytes(base)) {
        if (base->kind != TYPE_STRUCT) key.value = defined(e, key.value);
        return key;
    }
    key.head = emit_hotv(e, "sb_key_head", e->i64, arg(key.value.a), arg(key.value.b));
    key.tail = emit_hotv(e, "sb_key_tail", e->i64, arg(key.value.a), arg(key.value.b));
    return key;
}

static Val hash_word(Emit *e, Val hash, Val word) {
    return emit_hotv(e, "sb_key_word", e->i64, arg(hash), arg(word));
}

// The bits of a scalar as a number of at most 64 bits; a 128-bit one is folded first.
static Val scalar_word(Emit *e, Val *hash, Val value) {
    Ty type = LLVMTypeOf(value);
    if (type == e->f64) return LLVMBuildBitCast(e->b, value, e->i64, "");
    if (type == e->f32)
        return LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, value, e->i32, ""), e->i64, "");
    if (type != e->i128) return type == e->i64 ? value : LLVMBuildZExt(e->b, value, e->i64, "");
    Val high = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, value, emit_i128(e, 64), ""), e->i64, "");
    *hash = hash_word(e, *hash, high);
    return LLVMBuildTrunc(e->b, value, e->i64, "");
}

Val key_hash(Emit *e, Val hash, const Type *type, const KeyParts *key) {
    const Type *base = type_base(type);
    if (!hash) hash = emit_i64(e, (int64_t)HASH_SEED);
    if (key->value.valid) {
        Val flag = LLVMBuildZExt(e->b, key->value.valid, e->i64, "");
        hash = LLVMBuildXor(e->b, hash,
                            LLVMBuildMul(e->b, flag, emit_i64(e, (int64_t)HASH_WORD), ""), "");
    }
    if (type_is_bytes(base))
        return emit_hotv(e, "sb_key_hash", e->i64, arg(hash), arg(key->head), arg(key->tail),
                          arg_pair(key->value.a, key->value.b));
    if (type_is_nested(base))
        return emit_callv(e, "sb_hash_value", e->i64, arg(hash), arg(emit_sbtype(e, type)),
                          arg(emit_value_address(e, type, key->value)));
    Val word = scalar_word(e, &hash, key->value.a);
    return hash_word(e, hash, word);
}

static Val slot_address(Emit *e, const Slot *slot, Val entry) {
    return emit_offset(e, entry, slot->offset);
}

static Val slot_valid(Emit *e, const Slot *slot, Val entry) {
    size_t at = slot->key_str ? sizeof(SbKeyStr) : type_size(type_base(slot->type));
    Val byte = emit_load_at(e, e->i8, slot_address(e, slot, entry), at, "");
    return LLVMBuildICmp(e->b, LLVMIntNE, byte, emit_int(e, e->i8, 0), "");
}

Value slot_load(Emit *e, const Slot *slot, Val entry) {
    Val address = slot_address(e, slot, entry);
    if (!slot->key_str) return emit_load_value(e, slot->type, address);
    Val pair = emit_hotv(e, "sb_key_text", e->str_pair, arg(address));
    Value value = {LLVMBuildExtractValue(e->b, pair, 0, ""),
                   LLVMBuildExtractValue(e->b, pair, 1, ""), nullptr};
    if (slot->type->nullable) value.valid = slot_valid(e, slot, entry);
    return value;
}

void slot_store(Emit *e, const Slot *slot, Value value, Val entry) {
    emit_store_value(e, slot->type, value, slot_address(e, slot, entry));
}

// Both absent, or both present and equal. Bits of scalars: floats are in one form.
static Val same_if_valid(Emit *e, Val same, Val a, Val b) {
    if (!a) return same;
    Val both = LLVMBuildAnd(e->b, a, b, "");
    Val neither = LLVMBuildNot(e->b, LLVMBuildOr(e->b, a, b, ""), "");
    return LLVMBuildOr(e->b, neither, LLVMBuildAnd(e->b, both, same, ""), "");
}

static Val same_bits(Emit *e, Val a, Val b) {
    Ty type = LLVMTypeOf(a);
    if (type == e->f64 || type == e->f32) {
        Ty bits = type == e->f64 ? e->i64 : e->i32;
        a = LLVMBuildBitCast(e->b, a, bits, "");
        b = LLVMBuildBitCast(e->b, b, bits, "");
    }
    return LLVMBuildICmp(e->b, LLVMIntEQ, a, b, "");
}

Val key_equals_slot(Emit *e, const Type *type, const KeyParts *key, const Slot *slot, Val entry) {
    const Type *base = type_base(type);
    Val address = slot_address(e, slot, entry);
    if (type_is_nested(base)) {
        Val order = emit_callv(e, "sb_compare", e->i32, arg(emit_sbtype(e, type)), arg(address),
                               arg(emit_value_address(e, type, key->value)));
        return LLVMBuildICmp(e->b, LLVMIntEQ, order, emit_i32(e, 0), "");
    }
    Val same;
    if (slot->key_str) {
        same = emit_hotv(e, "sb_key_equal", e->i1, arg(address), arg(key->head), arg(key->tail),
                          arg_pair(key->value.a, key->value.b));
    } else {
        Value stored = emit_load_value(e, base, address);
        same = type_is_bytes(base) ? emit_equal(e, base, stored, key->value)
                                   : same_bits(e, stored.a, key->value.a);
    }
    return same_if_valid(e, same, key->value.valid,
                         slot->type->nullable ? slot_valid(e, slot, entry) : nullptr);
}

Val slots_equal(Emit *e, const Slot *slot, Val a, Val b) {
    const Type *base = type_base(slot->type);
    if (type_is_nested(base)) {
        Val order = emit_callv(e, "sb_compare", e->i32, arg(emit_sbtype(e, slot->type)),
                               arg(slot_address(e, slot, a)), arg(slot_address(e, slot, b)));
        return LLVMBuildICmp(e->b, LLVMIntEQ, order, emit_i32(e, 0), "");
    }
    Val same;
    if (slot->key_str) {
        same = emit_hotv(e, "sb_keys_equal", e->i1, arg(slot_address(e, slot, a)),
                         arg(slot_address(e, slot, b)));
    } else {
        Value x = emit_load_value(e, base, slot_address(e, slot, a));
        Value y = emit_load_value(e, base, slot_address(e, slot, b));
        same = type_is_bytes(base) ? emit_equal(e, base, x, y) : same_bits(e, x.a, y.a);
    }
    bool nullable = slot->type->nullable;
    return same_if_valid(e, same, nullable ? slot_valid(e, slot, a) : nullptr,
                         nullable ? slot_valid(e, slot, b) : nullptr);
}
