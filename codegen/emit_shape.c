// Open dimensions of tensors: their sizes as values, the room of a result, what is compared.
#include "codegen/emit_nest.h"

void emit_sizes(Emit *e, const Type *type, Value tensor, Val *size) {
    uint32_t open = type_open_count(type), next = 0;
    uint64_t known = type_elements(type);
    for (uint32_t i = 0; open && i < type->rank; i++) {
        if (!dimension_is_open(type->shape[i])) continue;
        if (open == 1) {
            Val each = emit_i64(e, (int64_t)known);
            size[i] = known == 1 ? tensor.b : LLVMBuildExactUDiv(e->b, tensor.b, each, "size");
            return;
        }
        Val back = emit_i64(e, (int64_t)next++ - open);
        size[i] = emit_load(e, e->i64, emit_index(e, e->i64, tensor.a, back), "size");
    }
}

// A count that is no larger than the limit, and what would be is one more: sizes do not overflow.
static Val bounded(Emit *e, Val count) {
    Val most = emit_i64(e, TENSOR_BYTES_MAX);
    Val over = LLVMBuildICmp(e->b, LLVMIntUGT, count, most, "");
    return LLVMBuildSelect(e->b, over, emit_i64(e, TENSOR_BYTES_MAX + INT64_C(1)), count, "");
}

// How many elements a tensor has.
static Val count_of(Emit *e, const Type *type, const Val *size) {
    Val count = emit_i64(e, (int64_t)type_elements(type));
    for (uint32_t i = 0; i < type->rank; i++) {
        if (!dimension_is_open(type->shape[i])) continue;
        count = LLVMIsAConstantInt(count) && LLVMConstIntGetZExtValue(count) == 1
                    ? size[i]
                    : LLVMBuildMul(e->b, count, size[i], "");
        count = bounded(e, count);
    }
    return count;
}

Value emit_room(Emit *e, Frame *frame, Span span, const Type *type, const Val *size) {
    Val count = count_of(e, type, size);
    int64_t lead = (int64_t)type_lead_bytes(type), each = (int64_t)type_size(type->elem);
    Val bytes = each == 1 ? count : LLVMBuildMul(e->b, count, emit_i64(e, each), "");
    if (type_open_count(type)) {
        Val most = emit_i64(e, TENSOR_BYTES_MAX);
        Val over = LLVMBuildICmp(e->b, LLVMIntUGT, bytes, most, "");
        emit_fault_if(e, frame, span, over, emit_i32(e, SB_FAULT_TOO_LARGE), (Detail){0});
    }
    if (lead) bytes = LLVMBuildAdd(e->b, bytes, emit_i64(e, lead), "");
    Val memory = emit_scratch(e, frame, span, bytes);
    int64_t at = 0;
    for (uint32_t i = 0; lead && i < type->rank; i++) {
        if (!dimension_is_open(type->shape[i])) continue;
        emit_store(e, size[i], emit_offset(e, memory, (uint64_t)at));
        at += (int64_t)sizeof(uint64_t);
    }
    return (Value){.a = lead ? emit_offset(e, memory, (uint64_t)lead) : memory, .b = count};
}

Value emit_shape_call(Emit *e, Frame *frame, const Expr *x, const char *symbol, const Type *result,
                      const Arg *args, unsigned count) {
    Arg all[8] = {arg_context(e)};
    for (unsigned i = 0; i < count; i++) all[i + 1] = args[i];
    StatusCall call = {.span = x->span, .symbol = symbol, .args = all, .count = count + 1,
                       .type = result};
    return emit_status_call(e, frame, &call);
}

// ---- sizes that the row has in nodes ------------------------------------------------------------

Value emit_size(Emit *e, Frame *frame, const Expr *x) {
    const Type *type = graph_at(e->graph, x->args[0])->type;
    uint32_t axis = graph_axis(e->graph, x, 1);
    Val size[TENSOR_RANK_MAX];
    if (!dimension_is_open(type->shape[axis])) return (Value){.a = emit_i64(e, type->shape[axis])};
    emit_sizes(e, type, emit_expr(e, frame, x->args[0]), size);
    return (Value){.a = size[axis]};
}

// Do only names change?
static bool renames(const Type *from, const Type *to) {
    for (uint32_t i = 0; i < to->rank; i++)
        if (from->shape[i] != to->shape[i] &&
            !(dimension_is_open(from->shape[i]) && dimension_is_open(to->shape[i])))
            return false;
    return true;
}

// A tensor, or no elements of a null one.
static Arg tensor_arg(Emit *e, Value tensor) {
    Val none = emit_i64(e, 0);
    Val count = tensor.valid ? LLVMBuildSelect(e->b, tensor.valid, tensor.b, none, "") : tensor.b;
    return arg_pair(tensor.a, count);
}

Value emit_agree(Emit *e, Frame *frame, const Expr *x) {
    const Type *from = graph_at(e->graph, x->args[0])->type;
    Value tensor = emit_expr(e, frame, x->args[0]);
    if (x->type->kind == TYPE_LIST) return tensor;
    if (from->kind == TYPE_LIST) {
        Arg args[] = {arg_pair(tensor.a, tensor.b), arg(emit_sbtype(e, x->type))};
        return emit_shape_call(e, frame, x, "sb_list_as_tensor", x->type, args, countof(args));
    }
    if (x->arg_count == 1 && renames(from, x->type)) return tensor;
    Arg own = arg(emit_sbtype(e, from)), value = tensor_arg(e, tensor);
    if (x->arg_count == 1) {
        Arg args[] = {own, value, arg(emit_sbtype(e, x->type))};
        Value as = emit_shape_call(e, frame, x, "sb_shape_as", type_base(x->type), args,
                                   countof(args));
        as.valid = tensor.valid;
        return as;
    }
    Value other = emit_expr(e, frame, x->args[1]);
    Arg args[] = {own, value, arg(emit_sbtype(e, graph_at(e->graph, x->args[1])->type)),
                  tensor_arg(e, other)};
    Value same = emit_shape_call(e, frame, x, "sb_shapes_agree", type_base(x->type), args,
                                 countof(args));
    same.valid = tensor.valid;
    return same;
}

Value emit_reshape(Emit *e, Frame *frame, const Expr *x) {
    const Type *from = graph_at(e->graph, x->args[0])->type;
    Value tensor = emit_expr(e, frame, x->args[0]);
    bool fixed = !type_open_count(from) && !type_open_count(x->type);
    if (fixed || (x->arg_count == 1 && type_same_but_ones(from, x->type))) return tensor;
    Val sizes = LLVMConstNull(e->ptr);
    if (x->arg_count > 1) sizes = emit_alloca(e, LLVMArrayType2(e->i64, TENSOR_RANK_MAX), "sizes");
    for (uint32_t i = 1; i < x->arg_count; i++)
        emit_store(e, emit_expr(e, frame, x->args[i]).a, emit_offset(e, sizes, 8 * (i - 1)));
    Arg args[] = {arg(emit_sbtype(e, from)), arg_pair(tensor.a, tensor.b),
                  arg(emit_sbtype(e, x->type)), arg(sizes)};
    return emit_shape_call(e, frame, x, "sb_reshape", x->type, args, countof(args));
}

Value emit_tensor_part(Emit *e, Frame *frame, const Expr *x, Value tensor, Val index) {
    const Type *type = type_base(graph_at(e->graph, x->args[0])->type);
    Val size[TENSOR_RANK_MAX];
    emit_sizes(e, type, tensor, size);
    Extent first = extent_of_dimension(type, size, 0), elements = extent_of(1);
    for (uint32_t i = 1; i < type->rank; i++) {
        Extent own = extent_of_dimension(type, size, i);
        elements = extent_times(elements, &own);
    }
    Val outside = LLVMBuildICmp(e->b, LLVMIntUGE, index, emit_extent(e, &first), "");
    emit_fault_if(e, frame, x->span, outside, emit_i32(e, SB_FAULT_OUT_OF_BOUNDS), (Detail){0});
    Extent each = extent_of(type_size(type->elem));
    each = extent_times(elements, &each);
    Val bytes = emit_extent(e, &each);
    Val at = emit_index(e, e->i8, tensor.a, LLVMBuildMul(e->b, index, bytes, ""));
    if (type->rank == 1) return emit_load_value(e, type->elem, at);
    if (!type_lead_bytes(x->type)) return (Value){.a = at, .b = emit_extent(e, &elements)};
    Value part = emit_room(e, frame, x->span, x->type, size + 1);  // Its sizes stand before it.
    LLVMBuildMemCpy(e->b, part.a, 1, at, 1, bytes);
    return part;
}

// ---- sizes of a loop ----------------------------------------------------------------------------

static void each_size(TensorLoop *loop, void (*visit)(Emit *e, TensorLoop *loop, Val *size),
                      Emit *e) {
    for (uint32_t d = 0; d < TENSOR_RANK_MAX; d++) {
        if (loop->size[d]) visit(e, loop, &loop->size[d]);
        for (uint32_t i = 0; i < loop->out_step[d].count; i++)
            visit(e, loop, &loop->out_step[d].open[i]);
        for (size_t i = 0; i < loop->leaf_count; i++)
            if (loop->leaves[i].size[d]) visit(e, loop, &loop->leaves[i].size[d]);
    }
}

static uint32_t place_of(const TensorLoop *loop, Val size) {
    uint32_t place = 0;
    while (place < loop->size_count && loop->sizes[place] != size) place++;
    return place;
}

static void collect(Emit *e, TensorLoop *loop, Val *size) {
    if (place_of(loop, *size) < loop->size_count) return;
    size_t count = loop->size_count;
    arena_push(e->arena, loop->sizes, count, loop->size_cap, *size);
    loop->size_count++;
}

static void replace(Emit *e, TensorLoop *loop, Val *size) {
    unsigned first = PARAM_LEAVES + (unsigned)loop->leaf_count;
    *size = LLVMGetParam(e->fn, first + place_of(loop, *size));
}

void loop_sizes(Emit *e, TensorLoop *loop) { each_size(loop, collect, e); }

void loop_sizes_are_params(Emit *e, TensorLoop *loop) { each_size(loop, replace, e); }
