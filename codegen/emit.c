#include "codegen/emit.h"

#include <llvm-c/DebugInfo.h>

#include <string.h>

// ---- types and constants ---------------------------------------------------------------------

Ty emit_type(const Emit *e, const Type *type) {
    switch (type->kind) {
    case TYPE_BOOL: return e->i1;
    case TYPE_I8: case TYPE_U8: return e->i8;
    case TYPE_I16: case TYPE_U16: return e->i16;
    case TYPE_I32: case TYPE_U32: case TYPE_DATE: return e->i32;
    case TYPE_I64: case TYPE_U64: case TYPE_TIMESTAMP: case TYPE_DURATION: return e->i64;
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: return e->f32;
    case TYPE_F64: return e->f64;
    case TYPE_DECIMAL: return type->precision <= DECIMAL_PRECISION_I64 ? e->i64 : e->i128;
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON: case TYPE_LIST: case TYPE_STRUCT:
    case TYPE_TENSOR: case TYPE_MAP: case TYPE_NULL: case TYPE_ERROR:
        return e->ptr;
    }
    return e->ptr;
}

Val emit_int(const Emit *e, Ty type, uint64_t value) {
    (void)e;
    return LLVMConstInt(type, value, false);
}

Val emit_i128(const Emit *e, __int128 value) {
    uint64_t words[2] = {(uint64_t)value, (uint64_t)(value >> 64)};
    return LLVMConstIntOfArbitraryPrecision(e->i128, 2, words);
}

// ---- control flow ----------------------------------------------------------------------------

Block emit_block(Emit *e, const char *name) {
    e->weight++;
    return LLVMAppendBasicBlockInContext(e->ctx, e->fn, name);
}

void emit_branch(Emit *e, Val condition, Block yes, Block no) {
    LLVMBuildCondBr(e->b, condition, yes, no);
}

void emit_keep_rolled(Emit *e, Val branch) {
    static const char name[] = "llvm.loop.unroll.disable", kind[] = "llvm.loop";
    LLVMMetadataRef text = LLVMMDStringInContext2(e->ctx, name, sizeof name - 1);
    LLVMMetadataRef hint = LLVMMDNodeInContext2(e->ctx, &text, 1);
    LLVMMetadataRef itself = LLVMTemporaryMDNode(e->ctx, nullptr, 0);
    LLVMMetadataRef loop = LLVMMDNodeInContext2(e->ctx, (LLVMMetadataRef[]){itself, hint}, 2);
    LLVMMetadataReplaceAllUsesWith(itself, loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->ctx, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(e->ctx, loop));
}

void emit_branch_likely(Emit *e, Val condition, Block likely, Block rare) {
    enum { LIKELY = 2000, RARE = 1 };
    Val branch = LLVMBuildCondBr(e->b, condition, likely, rare);
    LLVMMetadataRef weights[] = {
        LLVMMDStringInContext2(e->ctx, "branch_weights", 14),
        LLVMValueAsMetadata(emit_i32(e, LIKELY)), LLVMValueAsMetadata(emit_i32(e, RARE)),
    };
    LLVMValueRef node = LLVMMetadataAsValue(e->ctx, LLVMMDNodeInContext2(e->ctx, weights, 3));
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->ctx, "prof", 4), node);
}

Val emit_alloca(Emit *e, Ty type, const char *name) {
    Block here = emit_here(e);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(e->b);
    Val first = LLVMGetFirstInstruction(e->entry);
    // This takes the line of that instruction, too.
    if (first) LLVMPositionBuilderBefore(e->b, first);
    else emit_at(e, e->entry);
    Val slot = LLVMBuildAlloca(e->b, type, name);
    LLVMSetAlignment(slot, 16);
    emit_at(e, here);
    LLVMSetCurrentDebugLocation2(e->b, line);
    return slot;
}

Val emit_alloca_of(Emit *e, Val value, const char *name) {
    Block entry = e->entry, here = emit_here(e);
    e->entry = emit_outermost_entry(e);
    Val slot = emit_alloca(e, LLVMTypeOf(value), name);
    e->entry = entry;
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(e->b);
    LLVMPositionBuilderBefore(e->b, LLVMGetNextInstruction(slot));
    emit_store(e, value, slot);
    emit_at(e, here);
    LLVMSetCurrentDebugLocation2(e->b, line);
    return slot;
}

Val emit_phi(Emit *e, Ty type, const char *name) { return LLVMBuildPhi(e->b, type, name); }

void emit_phi_add(Val phi, Val value, Block from) { LLVMAddIncoming(phi, &value, &from, 1); }

void emit_region_end(Emit *e, size_t mark) {
    while (e->undo_count > mark) *e->undo[--e->undo_count] = (Value){0};
}

void emit_memo(Emit *e, Value *slot, Value value) {
    *slot = value;
    arena_push(e->arena, e->undo, e->undo_count, e->undo_cap, slot);
}

// ---- memory ------------------------------------------------------------------------------------

Val emit_offset(Emit *e, Val address, size_t bytes) {
    if (!bytes) return address;
    Val index = emit_i64(e, (int64_t)bytes);
    return LLVMBuildInBoundsGEP2(e->b, e->i8, address, &index, 1, "");
}

Val emit_index(Emit *e, Ty element, Val address, Val index) {
    return LLVMBuildInBoundsGEP2(e->b, element, address, &index, 1, "");
}

Val emit_load(Emit *e, Ty type, Val address, const char *name) {
    e->weight++;
    return LLVMBuildLoad2(e->b, type, address, name);
}

Val emit_load_at(Emit *e, Ty type, Val address, size_t offset, const char *name) {
    return emit_load(e, type, emit_offset(e, address, offset), name);
}

void emit_store(Emit *e, Val value, Val address) {
    e->weight++;
    LLVMBuildStore(e->b, value, address);
}

void emit_store_at(Emit *e, Val value, Val address, size_t offset) {
    emit_store(e, value, emit_offset(e, address, offset));
}

static bool is_pair(const Type *type) { return type_is_bytes(type) || type_is_sequence(type); }

Value emit_load_value(Emit *e, const Type *type, Val address) {
    Value value = {0};
    const Type *base = type_base(type);
    if (base->kind == TYPE_STRUCT) {
        value.a = address;
    } else if (base->kind == TYPE_BOOL) {
        Val byte = emit_load(e, e->i8, address, "");
        value.a = LLVMBuildICmp(e->b, LLVMIntNE, byte, emit_int(e, e->i8, 0), "");
    } else if (type_is_half(base)) {
        Val bits = emit_load(e, e->i16, address, "");
        value.a = emit_float_of_bits(e, base, bits);
    } else {
        value.a = emit_load(e, emit_type(e, base), address, "");
        LLVMSetAlignment(value.a, (unsigned)type_align(base));
    }
    if (is_pair(base)) value.b = emit_load_at(e, e->i64, address, 8, "");
    if (type->nullable) {
        Val byte = emit_load_at(e, e->i8, address, type_size(base), "");
        value.valid = LLVMBuildICmp(e->b, LLVMIntNE, byte, emit_int(e, e->i8, 0), "");
    }
    return value;
}

void emit_store_value(Emit *e, const Type *type, Value value, Val address) {
    const Type *base = type_base(type);
    if (base->kind == TYPE_STRUCT) {
        LLVMBuildMemCpy(e->b, address, (unsigned)type_align(base), value.a,
                        (unsigned)type_align(base), emit_i64(e, (int64_t)type_size(base)));
    } else if (base->kind == TYPE_BOOL) {
        emit_store(e, LLVMBuildZExt(e->b, value.a, e->i8, ""), address);
    } else if (type_is_half(base)) {
        emit_store(e, emit_float_bits(e, base, value.a), address);
    } else {
        Val store = LLVMBuildStore(e->b, value.a, address);
        LLVMSetAlignment(store, (unsigned)type_align(base));
    }
    if (is_pair(base)) emit_store_at(e, value.b, address, 8);
    if (type->nullable)
        emit_store_at(e, LLVMBuildZExt(e->b, value.valid, e->i8, ""), address, type_size(base));
}

Val emit_value_address(Emit *e, const Type *type, Value value) {
    if (type->kind == TYPE_STRUCT && !type->nullable) return value.a;
    Val slot = emit_alloca(e, LLVMArrayType2(e->i8, type_size(type)), "");
    emit_store_value(e, type, value, slot);
    return slot;
}

// ---- calls --------------------------------------------------------------------------------------

void emit_attribute(Emit *e, Val fn, unsigned index, const char *name, Ty type) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAttributeRef attribute = type ? LLVMCreateTypeAttribute(e->ctx, kind, type)
                                      : LLVMCreateEnumAttribute(e->ctx, kind, 0);
    LLVMAddAttributeAtIndex(fn, index, attribute);
}

static void add_call_attribute(Emit *e, Val call, unsigned index, const char *name, Ty type) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAttributeRef attribute = type ? LLVMCreateTypeAttribute(e->ctx, kind, type)
                                      : LLVMCreateEnumAttribute(e->ctx, kind, 0);
    LLVMAddCallSiteAttribute(call, index, attribute);
}

static const char *extension(const Emit *e, Ty type, bool is_signed) {
    if (type == e->i1) return "zeroext";
    if (type == e->i8 || type == e->i16) return is_signed ? "signext" : "zeroext";
    return nullptr;
}

// The System V x86-64 convention as clang writes it in IR: pairs of words in two registers while
// six integer registers last, else by value in memory.
typedef struct Lowered {
    Ty   types[24];
    Val  values[24];
    bool by_memory[24];
    const char *extend[24];
    unsigned count;
} Lowered;

static void lower_args(Emit *e, const Arg *args, unsigned count, Lowered *out) {
    unsigned left = 6;
    for (unsigned i = 0; i < count; i++) {
        Ty type = LLVMTypeOf(args[i].a);
        bool is_float = type == e->f32 || type == e->f64;
        unsigned words = is_float ? 0 : args[i].b || type == e->i128 ? 2 : 1;
        unsigned at = out->count;
        if (args[i].b && left < 2) {
            Val slot = emit_alloca(e, e->str_pair, "");
            emit_store(e, args[i].a, slot);
            emit_store_at(e, args[i].b, slot, 8);
            out->types[at] = e->ptr;
            out->values[at] = slot;
            out->by_memory[at] = true;
            out->count++;
            continue;
        }
        left = words > left ? 0 : left - words;
        out->types[at] = type;
        out->values[at] = args[i].a;
        out->extend[at] = extension(e, type, args[i].is_signed);
        out->count++;
        if (!args[i].b) continue;
        out->types[at + 1] = LLVMTypeOf(args[i].b);
        out->values[at + 1] = args[i].b;
        out->count++;
    }
}

Val emit_call(Emit *e, const char *symbol, Ty result, const Arg *args, unsigned count) {
    Lowered lowered = {0};
    e->weight++;
    lower_args(e, args, count, &lowered);
    Ty type = LLVMFunctionType(result, lowered.types, lowered.count, false);
    Val fn = LLVMGetNamedFunction(e->module, symbol);
    const char *extend = extension(e, result, false);
    if (!fn) {
        fn = LLVMAddFunction(e->module, symbol, type);
        emit_attribute(e, fn, LLVMAttributeFunctionIndex, "nounwind", nullptr);
        if (extend) emit_attribute(e, fn, LLVMAttributeReturnIndex, extend, nullptr);
        for (unsigned i = 0; i < lowered.count; i++) {
            if (lowered.by_memory[i]) emit_attribute(e, fn, i + 1, "byval", e->str_pair);
            if (lowered.extend[i]) emit_attribute(e, fn, i + 1, lowered.extend[i], nullptr);
        }
    }
    Val call = LLVMBuildCall2(e->b, type, fn, lowered.values, lowered.count, "");
    if (extend) add_call_attribute(e, call, LLVMAttributeReturnIndex, extend, nullptr);
    for (unsigned i = 0; i < lowered.count; i++) {
        if (lowered.by_memory[i]) add_call_attribute(e, call, i + 1, "byval", e->str_pair);
        if (lowered.extend[i]) add_call_attribute(e, call, i + 1, lowered.extend[i], nullptr);
    }
    return call;
}

Val emit_intrinsic(Emit *e, const char *name, Ty *types, unsigned type_count, Val *args,
                   unsigned count) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    Val fn = LLVMGetIntrinsicDeclaration(e->module, id, types, type_count);
    Ty type = LLVMIntrinsicGetType(e->ctx, id, types, type_count);
    return LLVMBuildCall2(e->b, type, fn, args, count, "");
}

void emit_cold(Emit *e, Val call) {
    add_call_attribute(e, call, LLVMAttributeFunctionIndex, "cold", nullptr);
    add_call_attribute(e, call, LLVMAttributeFunctionIndex, "noinline", nullptr);
}

void emit_no_builtin(Emit *e, Val call) {
    add_call_attribute(e, call, LLVMAttributeFunctionIndex, "nobuiltin", nullptr);
}

Val emit_hot(Emit *e, Val call) {
    enum { INLINED = 8 };  // Blocks, and more.
    e->weight += INLINED;
    add_call_attribute(e, call, LLVMAttributeFunctionIndex, "alwaysinline", nullptr);
    return call;
}
