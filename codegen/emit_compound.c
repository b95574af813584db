// Values that are made of others: joined texts, structs, lists; and what a row carries of its
// source.
#include "codegen/emit_tensor.h"

#include <string.h>

Val emit_scratch(Emit *e, Frame *frame, Span span, Val bytes) {
    Val memory = emit_callv(e, "sb_take", e->ptr, arg(emit_call_context(e)), arg(bytes));
    Val none = LLVMBuildICmp(e->b, LLVMIntEQ, memory, LLVMConstNull(e->ptr), "");
    emit_fault_if(e, frame, span, none, emit_i32(e, SB_FAULT_TOO_LARGE), (Detail){0});
    return memory;
}

static Value emit_concat(Emit *e, Frame *frame, const Expr *x) {
    Value *parts = arena_new_array(e->arena, Value, x->arg_count + 1);
    Val total = emit_i64(e, 0);
    for (uint32_t i = 0; i < x->arg_count; i++) {
        parts[i] = emit_expr(e, frame, x->args[i]);
        total = LLVMBuildAdd(e->b, total, parts[i].b, "");
    }
    Val memory = emit_scratch(e, frame, x->span, total), at = memory;
    for (uint32_t i = 0; i < x->arg_count; i++) {
        LLVMBuildMemCpy(e->b, at, 1, parts[i].a, 1, parts[i].b);
        at = emit_index(e, e->i8, at, parts[i].b);
    }
    return (Value){.a = memory, .b = total};
}

static Value emit_text_of(Emit *e, Frame *frame, const Expr *x) {
    Value value = emit_expr(e, frame, x->args[0]);
    const Type *type = graph_at(e->graph, x->args[0])->type;
    Arg args[] = {arg_context(e), arg(emit_sbtype(e, type)),
                  arg(emit_value_address(e, type, value))};
    return emit_status_call(e, frame, &(StatusCall){x->span, "sb_value_text", args,
                                                    countof(args), x->type, {0}});
}

static Value emit_struct(Emit *e, Frame *frame, const Expr *x) {
    const Type *type = type_base(x->type);
    Val memory = emit_alloca(e, LLVMArrayType2(e->i8, type_size(type)), "struct");
    for (uint32_t i = 0; i < x->arg_count; i++) {
        Value value = emit_expr(e, frame, x->args[i]);
        emit_store_value(e, type->fields[i].type, value,
                         emit_offset(e, memory, type_field_offset(type, i)));
    }
    return (Value){.a = memory, .valid = x->type->nullable ? emit_i1(e, true) : nullptr};
}

// A list of constants is one, however long: stores of each would be as much code.
static bool emit_constants(Emit *e, const Expr *x, Value *value) {
    Const all = {.items = arena_new_array(e->arena, Const, x->arg_count + 1),
                 .item_count = x->arg_count};
    for (uint32_t i = 0; i < x->arg_count; i++) {
        const Expr *item = graph_at(e->graph, x->args[i]);
        if (item->op != EXPR_CONST) return false;
        all.items[i] = item->value;
    }
    *value = emit_const(e, x->type, &all);
    return true;
}

static Value emit_list(Emit *e, Frame *frame, const Expr *x) {
    const Type *elem = type_base(x->type)->elem;
    Value constants;
    if (emit_constants(e, x, &constants)) return constants;
    size_t stride = type_size(elem);
    Val memory = emit_scratch(e, frame, x->span, emit_i64(e, (int64_t)(stride * x->arg_count)));
    for (uint32_t i = 0; i < x->arg_count; i++) {
        Value value = emit_expr(e, frame, x->args[i]);
        emit_store_value(e, elem, value, emit_offset(e, memory, stride * i));
    }
    return (Value){.a = memory, .b = emit_i64(e, x->arg_count),
                   .valid = x->type->nullable ? emit_i1(e, true) : nullptr};
}

static Value emit_field(Emit *e, Frame *frame, const Expr *x) {
    Value whole = emit_expr(e, frame, x->args[0]);
    const Type *type = type_base(graph_at(e->graph, x->args[0])->type);
    const Type *field = type->fields[x->index].type;
    Value value = emit_load_value(e, field,
                                  emit_offset(e, whole.a, type_field_offset(type, x->index)));
    if (whole.valid)
        value.valid = value.valid ? LLVMBuildAnd(e->b, value.valid, whole.valid, "") : whole.valid;
    return value;
}

static Value emit_element(Emit *e, Frame *frame, const Expr *x) {
    Value list = emit_expr(e, frame, x->args[0]), index = emit_expr(e, frame, x->args[1]);
    const Type *type = type_base(graph_at(e->graph, x->args[0])->type);
    if (type->kind == TYPE_TENSOR) return emit_tensor_part(e, frame, x, list, index.a);
    const Type *elem = type->elem;
    Val outside = LLVMBuildICmp(e->b, LLVMIntUGE, index.a, list.b, "");
    emit_fault_if(e, frame, x->span, outside, emit_i32(e, SB_FAULT_OUT_OF_BOUNDS), (Detail){0});
    Val offset = LLVMBuildMul(e->b, index.a, emit_i64(e, (int64_t)type_size(elem)), "");
    return emit_load_value(e, elem, emit_index(e, e->i8, list.a, offset));
}

Value emit_compound(Emit *e, Frame *frame, const Expr *x) {
    switch ((int)x->op) {
    case EXPR_RAW: return frame_raw(e, frame->input[x->input], x->index);
    case EXPR_PLACE: return frame_place(e, frame->input[0], (PlaceKind)x->index);
    case EXPR_CONCAT: return emit_concat(e, frame, x);
    case EXPR_TEXT: return emit_text_of(e, frame, x);
    case EXPR_STRUCT: return emit_struct(e, frame, x);
    case EXPR_LIST: return emit_list(e, frame, x);
    case EXPR_FIELD: return emit_field(e, frame, x);
    case EXPR_INDEX: return emit_element(e, frame, x);
    default: return (Value){0};  // REGEX and ZONE are arguments of calls only.
    }
}
