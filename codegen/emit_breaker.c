// Functions of breakers: merging groups, comparing rows of sorts, equality of join keys.
#include "codegen/emit_part.h"
#include "codegen/emit_sort.h"
#include "codegen/emit_stage.h"

#include <stdio.h>

static Val begin_function(Emit *e, const char *what, uint32_t index, Ty result, unsigned params) {
    Ty types[] = {e->ptr, e->ptr, e->ptr};
    char name[40];
    snprintf(name, sizeof name, "sb_%s_%u", what, index);
    emit_function_open(e, LLVMAddFunction(e->module, name,
                                          LLVMFunctionType(result, types, params, false)));
    emit_debug_function(e, graph_op_at(e->graph, e->plan->breakers[index].op)->span, name);
    Block begin = emit_block(e, "begin");
    emit_at(e, e->entry);
    emit_jump(e, begin);
    emit_at(e, begin);
    return e->fn;
}

static Val emit_join_equal(Emit *e, const Breaker *breaker, uint32_t index) {
    Val fn = begin_function(e, "equal", index, e->i32, 2);
    Val a = LLVMGetParam(fn, 0), b = LLVMGetParam(fn, 1), same = emit_i1(e, true);
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        part_split(e);
        same = LLVMBuildAnd(e->b, same, slots_equal(e, &breaker->slots[k], a, b), "");
    }
    LLVMBuildRet(e->b, LLVMBuildZExt(e->b, same, e->i32, ""));
    part_join(e, 0);
    return fn;
}

// The key as a number; null: it is none, or there are several.
static Val emit_join_number(Emit *e, const Breaker *breaker, uint32_t index) {
    const Slot *slot = &breaker->slots[0];
    if (!join_by_number(breaker)) return nullptr;
    Val fn = begin_function(e, "number", index, e->i64, 1);
    Value key = slot_load(e, slot, LLVMGetParam(fn, 0));
    LLVMBuildRet(e->b, join_number(e, slot->type, key.a));
    return fn;
}

// The greater, the sooner does the row match. Null does not.
static Val emit_join_bounds(Emit *e, const Breaker *breaker, uint32_t index) {
    if (!breaker->bound_count) return nullptr;
    Val fn = begin_function(e, "bounds", index, e->type_void, 2);
    for (uint32_t i = 0; i < breaker->bound_count; i++) {
        const JoinBound *bound = &breaker->bounds[i];
        const Slot *slot = &breaker->slots[breaker->slot_of[bound->column]];
        Value value = slot_load(e, slot, LLVMGetParam(fn, 0));
        Val bits = emit_order_bits(e, type_base(slot->type), value);
        if (bound->at_most) bits = LLVMBuildNot(e->b, bits, "");
        if (value.valid) bits = LLVMBuildSelect(e->b, value.valid, bits, emit_i64(e, 0), "");
        emit_store_at(e, bits, LLVMGetParam(fn, 1), sizeof(uint64_t) * i);
    }
    LLVMBuildRetVoid(e->b);
    return fn;
}

// ---- sorting ------------------------------------------------------------------------------------

Val emit_order_bits(Emit *e, const Type *base, Value value) {
    if (type_is_bytes(base))
        return emit_callv(e, "sb_str_prefix", e->i64, arg_pair(value.a, value.b));
    if (type_is_nested(base) || emit_type(e, base) == e->i128) return nullptr;
    if (type_is_float(base)) {
        Val wide = base->kind == TYPE_F64 ? value.a : LLVMBuildFPExt(e->b, value.a, e->f64, "");
        return emit_callv(e, "sb_order_f64", e->i64, arg(wide));
    }
    bool is_unsigned = base->kind == TYPE_BOOL || (type_is_integer(base) && !type_is_signed(base));
    if (is_unsigned) return LLVMBuildZExtOrBitCast(e->b, value.a, e->i64, "");
    Val wide = LLVMTypeOf(value.a) == e->i64 ? value.a : LLVMBuildSExt(e->b, value.a, e->i64, "");
    return LLVMBuildXor(e->b, wide, emit_i64(e, INT64_MIN), "");
}

// The bits of a value left-aligned in 64, in the key's direction; null: it has none. Of a null
// value the bits are zero.
static Val prefix_part(Emit *e, const Type *base, Value value, bool descending) {
    uint32_t width = sort_key_bits(base);
    if (value.valid && type_is_bytes(base))
        value.a = LLVMBuildSelect(e->b, value.valid, value.a, emit_bytes(e, TEXT(""), "empty"), "");
    Val bits = emit_order_bits(e, base, value);
    if (!bits) return nullptr;
    bool is_aligned = type_is_float(base) || type_is_bytes(base);
    Val mask = emit_i64(e, width == 64 ? -1 : (int64_t)(UINT64_MAX << (64 - width)));
    if (is_aligned) {
        bits = LLVMBuildAnd(e->b, bits, mask, "");
    } else {  // Bit 63 was inverted for the sign, which is now that of the narrow value.
        bool is_unsigned = base->kind == TYPE_BOOL ||
                           (type_is_integer(base) && !type_is_signed(base));
        bits = LLVMBuildShl(e->b, bits, emit_i64(e, 64 - width), "");
        if (!is_unsigned && width < 64) bits = LLVMBuildXor(e->b, bits, emit_i64(e, INT64_MIN), "");
    }
    if (descending) bits = LLVMBuildXor(e->b, bits, mask, "");
    return value.valid ? LLVMBuildSelect(e->b, value.valid, bits, emit_i64(e, 0), "") : bits;
}

static Val shift_up(Emit *e, Val bits, uint32_t count) {
    Ty wide = LLVMTypeOf(bits);
    return LLVMBuildShl(e->b, bits, LLVMConstInt(wide, count, false), "");
}

static Val shift_down(Emit *e, Val bits, uint32_t count) {
    Ty wide = LLVMTypeOf(bits);
    return LLVMBuildLShr(e->b, bits, LLVMConstInt(wide, count, false), "");
}

// The bytes of a text after the first eight.
static Value text_rest(Emit *e, Value text) {
    enum { FIRST = 8 };
    Val more = LLVMBuildICmp(e->b, LLVMIntSGT, text.b, emit_i64(e, FIRST), "");
    Val len = LLVMBuildSub(e->b, text.b, emit_i64(e, FIRST), "");
    text.b = LLVMBuildSelect(e->b, more, len, emit_i64(e, 0), "");
    text.a = LLVMBuildSelect(e->b, more, emit_offset(e, text.a, FIRST), text.a, "");
    return text;
}

// The bits of a number of 128.
static Val prefix_of_wide(Emit *e, Value value, bool descending) {
    Val zero = LLVMConstNull(e->i128), top = shift_up(e, LLVMConstInt(e->i128, 1, false), 127);
    Val bits = LLVMBuildXor(e->b, value.a, top, "");
    if (descending) bits = LLVMBuildNot(e->b, bits, "");
    return value.valid ? LLVMBuildSelect(e->b, value.valid, bits, zero, "") : bits;
}

// The bits of a value left-aligned in 128; null: it has none.
static Val prefix_wide(Emit *e, const Type *base, Value value, bool descending) {
    if (type_is_nested(base)) return nullptr;
    if (emit_type(e, base) == e->i128) return prefix_of_wide(e, value, descending);
    Val bits = prefix_part(e, base, value, descending);
    Val wide = shift_up(e, LLVMBuildZExt(e->b, bits, e->i128, ""), 64);
    if (!type_is_bytes(base)) return wide;
    Val rest = prefix_part(e, base, text_rest(e, value), descending);
    return LLVMBuildOr(e->b, wide, LLVMBuildZExt(e->b, rest, e->i128, ""), "");
}

// As much of the keys as 128 bits hold, the first one on top: for each a bit that tells nulls
// apart, if there can be any, then the value. The last one may be cut.
static Val emit_keys(Emit *e, const Breaker *breaker, const SortGroup *group, Val entry) {
    const Op *op = graph_op_at(e->graph, breaker->op);
    Val all = LLVMConstNull(e->i128);
    uint32_t used = 0;
    for (uint32_t k = group->first; k < group->end; k++) {
        SortKey key = op_sort_key(op, k);
        const Type *base = type_base(breaker->slots[k].type);
        Value value = slot_load(e, &breaker->slots[k], entry);
        if (value.valid && !(k == group->first && group->past_null)) {
            Val late = key.nulls_first ? value.valid : LLVMBuildNot(e->b, value.valid, "");
            Val bit = LLVMBuildZExt(e->b, late, e->i128, "");
            all = LLVMBuildOr(e->b, all, shift_up(e, bit, SORT_GROUP_BITS - 1 - used++), "");
        }
        Val bits = used < SORT_GROUP_BITS ? prefix_wide(e, base, value, key.descending) : nullptr;
        if (bits) all = LLVMBuildOr(e->b, all, shift_down(e, bits, used), "");
        used += sort_key_bits(base);
    }
    return all;
}

// `shift` 64: the first 64 bits of a group; 0: those that follow.
static Val emit_group_bits(Emit *e, uint32_t index, const SortGroup *group, uint32_t shift,
                           const char *name) {
    const Breaker *breaker = &e->plan->breakers[index];
    Val fn = begin_function(e, name, index, e->i64, 1);
    Val keys = emit_keys(e, breaker, group, LLVMGetParam(fn, 0));
    LLVMBuildRet(e->b, LLVMBuildTrunc(e->b, shift_down(e, keys, shift), e->i64, ""));
    return fn;
}

static void emit_sort_parts(Emit *e, uint32_t index, const SortParts *parts) {
    for (uint32_t i = 0; i < parts->count; i++) {
        const SortPart *part = &parts->items[i];
        if (part->kind != SB_SORT_BITS) continue;
        char name[32];
        snprintf(name, sizeof name, SORT_PART_NAME, i);
        emit_group_bits(e, index, &part->group, part->shift, name);
    }
}

// A shuffle's rows carry their draw as the hash.
static Val emit_draw(Emit *e, uint32_t index) {
    Val fn = begin_function(e, "prefix", index, e->i64, 1);
    LLVMBuildRet(e->b, emit_load_at(e, e->i64, LLVMGetParam(fn, 0), offsetof(SbEntry, hash), ""));
    return fn;
}

static Val compare_values(Emit *e, const Slot *slot, Value a, Value b) {
    const Type *base = type_base(slot->type);
    if (type_is_bytes(base))
        return emit_callv(e, "sb_str_compare", e->i32, arg_pair(a.a, a.b), arg_pair(b.a, b.b));
    if (type_is_nested(base))
        return emit_callv(e, "sb_compare", e->i32, arg(emit_sbtype(e, base)),
                          arg(emit_value_address(e, base, a)), arg(emit_value_address(e, base, b)));
    bool wide = emit_type(e, base) == e->i128;
    Val x = wide ? a.a : emit_order_bits(e, base, a), y = wide ? b.a : emit_order_bits(e, base, b);
    Val less = LLVMBuildICmp(e->b, wide ? LLVMIntSLT : LLVMIntULT, x, y, "");
    Val more = LLVMBuildICmp(e->b, wide ? LLVMIntSGT : LLVMIntUGT, x, y, "");
    return LLVMBuildSub(e->b, LLVMBuildZExt(e->b, more, e->i32, ""),
                        LLVMBuildZExt(e->b, less, e->i32, ""), "");
}

// Returns from the function when the key decides.
static void decide(Emit *e, Val order) {
    Block decided = emit_block(e, "decided"), equal = emit_block(e, "equal");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, order, emit_i32(e, 0), ""), equal, decided);
    emit_at(e, decided);
    LLVMBuildRet(e->b, order);
    emit_at(e, equal);
}

static void compare_key(Emit *e, const Slot *slot, SortKey key, Val x, Val y) {
    Value a = slot_load(e, slot, x), b = slot_load(e, slot, y);
    Block end = emit_block(e, "key_end");
    if (a.valid) {
        Val left = LLVMBuildZExt(e->b, a.valid, e->i32, ""),
            right = LLVMBuildZExt(e->b, b.valid, e->i32, "");
        Val absent = key.nulls_first ? LLVMBuildSub(e->b, left, right, "")
                                     : LLVMBuildSub(e->b, right, left, "");
        decide(e, absent);
        Block both = emit_block(e, "both");
        emit_branch(e, a.valid, both, end);
        emit_at(e, both);
    }
    Val order = compare_values(e, slot, a, b);
    if (key.descending) {  // Not negated: a comparison of bytes may give the least number.
        Val less = LLVMBuildZExt(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, order, emit_i32(e, 0), ""),
                                 e->i32, "");
        Val more = LLVMBuildZExt(e->b, LLVMBuildICmp(e->b, LLVMIntSGT, order, emit_i32(e, 0), ""),
                                 e->i32, "");
        order = LLVMBuildSub(e->b, less, more, "");
    }
    decide(e, order);
    emit_jump(e, end);
    emit_at(e, end);
}

// Compares rows by the keys from `from` to `to`. Null: there are none.
static Val emit_compare_keys(Emit *e, uint32_t index, const char *name, uint32_t from,
                             uint32_t to) {
    const Breaker *breaker = &e->plan->breakers[index];
    const Op *op = graph_op_at(e->graph, breaker->op);
    if (from == to) return nullptr;
    Val fn = begin_function(e, name, index, e->i32, 2);
    for (uint32_t k = from; k < to; k++) {
        part_split(e);
        compare_key(e, &breaker->slots[k], op_sort_key(op, k), LLVMGetParam(fn, 0),
                    LLVMGetParam(fn, 1));
    }
    LLVMBuildRet(e->b, emit_i32(e, 0));
    part_join(e, 0);
    return fn;
}

// Rows without a key are in the order in which they came.
static Val emit_came(Emit *e, uint32_t index) {
    Val fn = begin_function(e, "prefix", index, e->i64, 1);
    LLVMBuildRet(e->b, emit_load_at(e, e->i64, LLVMGetParam(fn, 0), offsetof(SbEntry, order), ""));
    return fn;
}

static BreakerFns emit_sort(Emit *e, uint32_t index) {
    const Breaker *breaker = &e->plan->breakers[index];
    if (!breaker->ordered) return (BreakerFns){.prefix = emit_came(e, index)};
    const SortParts parts = sort_parts(e->arena, breaker);
    BreakerFns fns = {.prefix = emit_group_bits(e, index, &parts.prefix, 64, "prefix")};
    if (parts.prefix.used > 64)
        fns.prefix_more = emit_group_bits(e, index, &parts.prefix, 0, "prefix_more");
    // The prefixes hold the other keys.
    fns.compare = emit_compare_keys(e, index, "compare", parts.decided, breaker->ordered);
    emit_sort_parts(e, index, &parts);
    return fns;
}

static BreakerFns emit_sort_of(Emit *e, uint32_t index, const Op *op) {
    BreakerFns fns = emit_sort(e, index);
    if (op->kind != OP_WINDOW) return fns;
    uint32_t keys = op->window.key_count;
    fns.partition = emit_compare_keys(e, index, "partition", 0, keys);
    fns.peers = emit_compare_keys(e, index, "peers", keys, keys + op->window.sort_count);
    return fns;
}

BreakerFns emit_breaker(Emit *e, uint32_t index) {
    const Breaker *breaker = &e->plan->breakers[index];
    const Op *op = graph_op_at(e->graph, breaker->op);
    switch (breaker->kind) {
    case BREAK_GROUP: return (BreakerFns){.merge = emit_group_merge(e, index)};
    case BREAK_SORT:
        if (op->kind == OP_SHUFFLE) return (BreakerFns){.prefix = emit_draw(e, index)};
        return emit_sort_of(e, index, op);
    case BREAK_JOIN:
        return (BreakerFns){.equal = emit_join_equal(e, breaker, index),
                            .number = emit_join_number(e, breaker, index),
                            .bounds = emit_join_bounds(e, breaker, index)};
    case BREAK_EDGE: break;
    }
    return (BreakerFns){0};
}
