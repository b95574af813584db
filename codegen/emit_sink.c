// Sinks: a row becomes bytes in the unit's output buffer. Room for the whole row is taken once.
#include "codegen/emit_format.h"
#include "codegen/emit_part.h"

#include <stdio.h>

enum {
    SCALAR_ROOM = 64,
    COLUMNS_HELD = 64,  // Of a row with more, values in memory stay there until they are written.
};

static bool is_nested_or_bytes(const Type *base) {
    return type_is_nested(base) || base->kind == TYPE_BYTES || base->kind == TYPE_JSON;
}

// ---- values -------------------------------------------------------------------------------------

static bool needs_value(const Emit *e, const SinkColumn *column) {
    return expr_is_none(column->spelling) || !column->verbatim ||
           graph_at(e->graph, column->value)->type->nullable;
}

static bool is_late(const Emit *e, const SinkEmit *sink, const SinkColumn *column) {
    if (sink->op->sink.column_count <= COLUMNS_HELD) return false;
    if (needs_value(e, column) && !emit_reloads(e, sink->frame, column->value)) return false;
    return expr_is_none(column->spelling) || emit_reloads(e, sink->frame, column->spelling);
}

static void load_values(Emit *e, SinkEmit *sink, uint32_t i) {
    const SinkColumn *column = &sink->op->sink.columns[i];
    if (needs_value(e, column)) sink->values[i] = emit_expr(e, sink->frame, column->value);
    if (!expr_is_none(column->spelling))
        sink->spellings[i] = emit_expr(e, sink->frame, column->spelling);
}

// Around the code that needs the values of a column.
size_t sink_column_begin(Emit *e, SinkEmit *sink, uint32_t i) {
    part_split(e);
    size_t mark = emit_region_begin(e);
    if (sink->late[i]) load_values(e, sink, i);
    return mark;
}

void sink_column_end(Emit *e, SinkEmit *sink, uint32_t i, size_t mark) {
    if (sink->late[i]) sink->values[i] = sink->spellings[i] = (Value){0};
    emit_region_end(e, mark);
}

// ---- room ---------------------------------------------------------------------------------------

static Val text_room(Emit *e, Val len, uint32_t widens) {
    Val times = LLVMBuildMul(e->b, len, emit_i64(e, widens), "");
    return LLVMBuildAdd(e->b, times, emit_i64(e, 2), "");
}

static Val column_room(Emit *e, const SinkEmit *sink, uint32_t i) {
    const Type *type = graph_at(e->graph, sink->op->sink.columns[i].value)->type,
               *base = type_base(type);
    uint32_t widens = sink->format->widens;
    Val room = emit_i64(e, SCALAR_ROOM);
    const Value *value = &sink->values[i];
    if (value->a && is_nested_or_bytes(base)) {
        Value present = *value;
        present.valid = nullptr;
        Val bytes = emit_callv(e, sink->format->nested_room, e->i64, arg(emit_sbtype(e, base)),
                               arg(emit_value_address(e, base, present)));
        if (value->valid) bytes = LLVMBuildSelect(e->b, value->valid, bytes, emit_i64(e, 0), "");
        room = LLVMBuildAdd(e->b, room, bytes, "");
    } else if (value->a && type_is_bytes(base)) {
        room = LLVMBuildAdd(e->b, room, text_room(e, value->b, widens), "");
    }
    if (sink->spellings[i].a)
        room = LLVMBuildAdd(e->b, room, text_room(e, sink->spellings[i].b, widens), "");
    return room;
}

Val sink_room(Emit *e, Val out, Val bytes, Block failed) {
    Val begin = emit_load_at(e, e->i64, out, offsetof(SbOut, at), "at");
    Val end = emit_load_at(e, e->i64, out, offsetof(SbOut, end), "end");
    Block grow = emit_block(e, "grow"), ready = emit_block(e, "ready");
    Val fits = LLVMBuildICmp(e->b, LLVMIntSLE, bytes, LLVMBuildSub(e->b, end, begin, ""), "");
    emit_branch_likely(e, fits, ready, grow);
    emit_at(e, grow);
    Val status = emit_callv(e, "sb_out_grow", e->i32, arg(e->task), arg(out), arg(bytes));
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, 0), ""), ready,
                       failed);
    emit_at(e, ready);
    return emit_load_at(e, e->ptr, out, offsetof(SbOut, at), "at");
}

Val sink_takes(Emit *e, uint32_t terminal, Val rows) {
    const StageEmit *s = e->stage;
    Val left;
    if (s->left[terminal]) {
        left = emit_load(e, e->i64, s->left[terminal], "left");
    } else {
        Val written = emit_load_at(e, e->i64, s->terminals[terminal], offsetof(SbOut, rows), "");
        left = LLVMBuildSub(e->b, s->most, written, "left");
    }
    return LLVMBuildICmp(e->b, LLVMIntSLT, rows, left, "");
}

void sink_count(Emit *e, uint32_t terminal, Val rows, Val at) {
    const StageEmit *s = e->stage;
    Val out = s->terminals[terminal];
    emit_store_at(e, at, out, offsetof(SbOut, at));
    Val written = emit_load_at(e, e->i64, out, offsetof(SbOut, rows), "");
    emit_store_at(e, LLVMBuildAdd(e->b, written, rows, ""), out, offsetof(SbOut, rows));
    if (!s->left[terminal]) return;
    Val left = emit_load(e, e->i64, s->left[terminal], "");
    emit_store(e, LLVMBuildSub(e->b, left, rows, ""), s->left[terminal]);
}

static Val take_room(Emit *e, SinkEmit *sink) {
    const SinkOp *op = &sink->op->sink;
    size_t fixed = SB_SLACK + (op->options.apart ? sink->format->apart : 0);
    Val need = emit_i64(e, 0);
    for (uint32_t i = 0; i < op->column_count; i++) {
        fixed += 2 * op->columns[i].name.len * 6 + 8 + op->options.csv.null_count;
        for (uint32_t n = 0; n < op->options.csv.null_count; n++)
            fixed += op->options.csv.nulls[n].len;
        size_t mark = sink_column_begin(e, sink, i);
        need = LLVMBuildAdd(e->b, need, column_room(e, sink, i), "");
        sink_column_end(e, sink, i, mark);
    }
    need = LLVMBuildAdd(e->b, need, emit_i64(e, (int64_t)fixed), "");
    return sink_room(e, sink->out, need, e->stage->stop);
}

// ---- fields -------------------------------------------------------------------------------------

Val sink_bytes(Emit *e, Val at, Text text) {
    if (!text.len) return at;
    Val bytes = emit_bytes(e, text, "piece");
    LLVMBuildMemCpy(e->b, at, 1, bytes, 1, emit_i64(e, (int64_t)text.len));
    return emit_offset(e, at, text.len);
}

// The short ways of common types; null: none.
Val sink_scalar(Emit *e, const Type *base, Value value, Val at, FloatPuts puts) {
    switch ((int)base->kind) {
    case TYPE_BOOL: return emit_callv(e, "sb_put_bool", e->ptr, arg(at), arg(value.a));
    case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
        return emit_callv(e, "sb_put_i64", e->ptr, arg(at),
                          arg(LLVMBuildIntCast2(e->b, value.a, e->i64, true, "")));
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
        return emit_callv(e, "sb_put_u64", e->ptr, arg(at),
                          arg(LLVMBuildIntCast2(e->b, value.a, e->i64, false, "")));
    case TYPE_F16: return emit_callv(e, puts.f16, e->ptr, arg(at), arg(value.a));
    case TYPE_BF16: return emit_callv(e, puts.bf16, e->ptr, arg(at), arg(value.a));
    case TYPE_F32: return emit_callv(e, puts.f32, e->ptr, arg(at), arg(value.a));
    case TYPE_F64: return emit_callv(e, puts.f64, e->ptr, arg(at), arg(value.a));
    default: return nullptr;
    }
}

const Type *sink_base(const Emit *e, const SinkEmit *sink, uint32_t i) {
    return type_base(graph_at(e->graph, sink->op->sink.columns[i].value)->type);
}

// As spelled where that is usable, else canonical.
static Val put_spelled(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    const SinkColumn *column = &sink->op->sink.columns[i];
    Value raw = sink->spellings[i];
    if (column->verbatim)
        return emit_callv(e, "sb_put_copy", e->ptr, arg(at), arg(raw.a), arg(raw.b));
    Val end = sink->format->spelled(e, sink, i, at);
    Block from = emit_here(e), canonical = emit_block(e, "canonical"),
          done = emit_block(e, "spelled");
    Val usable = LLVMBuildICmp(e->b, LLVMIntNE, end, LLVMConstNull(e->ptr), "");
    emit_branch_likely(e, usable, done, canonical);
    emit_at(e, canonical);
    size_t mark = emit_region_begin(e);
    Val instead = sink->format->value(e, sink, i, at);
    emit_region_end(e, mark);
    Block canonical_end = emit_here(e);
    emit_jump(e, done);
    emit_at(e, done);
    Val phi = emit_phi(e, e->ptr, "");
    emit_phi_add(phi, end, from);
    emit_phi_add(phi, instead, canonical_end);
    return phi;
}

static Val put_present(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    size_t mark = emit_region_begin(e);
    Val end = sink->spellings[i].a ? put_spelled(e, sink, i, at)
                                   : sink->format->value(e, sink, i, at);
    emit_region_end(e, mark);
    return end;
}

static Val put_field(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    Val valid = sink->values[i].valid;
    if (!valid) return put_present(e, sink, i, at);
    Block none = emit_block(e, "null"), some = emit_block(e, "some"), done = emit_block(e, "field");
    emit_branch(e, valid, some, none);
    emit_at(e, some);
    Val end = put_present(e, sink, i, at);
    Block some_end = emit_here(e);
    emit_jump(e, done);
    emit_at(e, none);
    Val null_end = sink_bytes(e, at, sink->format->null_word(sink));
    emit_jump(e, done);
    emit_at(e, done);
    Val phi = emit_phi(e, e->ptr, "");
    emit_phi_add(phi, end, some_end);
    emit_phi_add(phi, null_end, none);
    return phi;
}

// ---- fields of wide rows ------------------------------------------------------------------------

// Writes the fields of all columns of a sink that are of one kind: ptr field(at, parts...).
struct SinkField {
    SinkEmit  sink;
    uint32_t  column;    // The first of them.
    Val       fn;
    struct SinkField *next;
};

enum { FIELD_PARTS_MAX = 5 };

// What there is of a column's value and spelling. Gives the number of parts.
static unsigned field_parts(const SinkEmit *sink, uint32_t i, Val *parts[FIELD_PARTS_MAX]) {
    Value *value = &sink->values[i], *spelling = &sink->spellings[i];
    Val *all[FIELD_PARTS_MAX] = {&value->a, &value->b, &value->valid, &spelling->a, &spelling->b};
    unsigned count = 0;
    for (size_t k = 0; k < countof(all); k++)
        if (*all[k]) parts[count++] = all[k];
    return count;
}

static bool same_field(const Emit *e, const struct SinkField *field, const SinkEmit *sink,
                       uint32_t i) {
    const SinkColumn *columns = sink->op->sink.columns;
    uint32_t first = field->column;
    const Value *x = &field->sink.values[first], *y = &sink->values[i];
    return field->sink.op == sink->op &&
           graph_at(e->graph, columns[first].value)->type ==
               graph_at(e->graph, columns[i].value)->type &&
           columns[first].verbatim == columns[i].verbatim && !x->a == !y->a && !x->b == !y->b &&
           !x->valid == !y->valid && !field->sink.spellings[first].a == !sink->spellings[i].a;
}

static struct SinkField *find_field(Emit *e, const SinkEmit *sink, uint32_t i) {
    struct SinkField *field = e->sink_fields;
    while (field && !same_field(e, field, sink, i)) field = field->next;
    if (field) return field;
    field = arena_new_of(e->arena, struct SinkField);
    *field = (struct SinkField){.sink = *sink, .column = i, .next = e->sink_fields};
    field->sink.values = arena_new_array(e->arena, Value, i + 1);
    field->sink.spellings = arena_new_array(e->arena, Value, i + 1);
    field->sink.values[i] = sink->values[i];
    field->sink.spellings[i] = sink->spellings[i];
    e->sink_fields = field;
    Ty types[1 + FIELD_PARTS_MAX] = {e->ptr};
    Val *parts[FIELD_PARTS_MAX];
    unsigned count = field_parts(sink, i, parts);
    for (unsigned k = 0; k < count; k++) types[1 + k] = LLVMTypeOf(*parts[k]);
    char name[32];
    snprintf(name, sizeof name, "sb_field_%u", e->name_count++);
    field->fn = LLVMAddFunction(e->module, name, LLVMFunctionType(e->ptr, types, 1 + count, false));
    LLVMSetLinkage(field->fn, LLVMInternalLinkage);
    const unsigned all = (unsigned)LLVMAttributeFunctionIndex;
    emit_attribute(e, field->fn, all, "noinline", nullptr);
    emit_attribute(e, field->fn, all, "nounwind", nullptr);
    return field;
}

static Val call_field(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    Val fn = find_field(e, sink, i)->fn, args[1 + FIELD_PARTS_MAX] = {at};
    Val *parts[FIELD_PARTS_MAX];
    unsigned count = field_parts(sink, i, parts);
    for (unsigned k = 0; k < count; k++) args[1 + k] = *parts[k];
    return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(fn), fn, args, 1 + count, "");
}

static void emit_field(Emit *e, const struct SinkField *field) {
    const SinkEmit *sink = &field->sink;
    emit_function_open(e, field->fn);
    emit_debug_function(e, sink->op->span, "field");
    Val *parts[FIELD_PARTS_MAX];
    unsigned count = field_parts(sink, field->column, parts);
    for (unsigned k = 0; k < count; k++) *parts[k] = LLVMGetParam(e->fn, 1 + k);
    emit_at(e, e->entry);
    Block body = emit_block(e, "field");
    emit_jump(e, body);
    emit_at(e, body);
    LLVMBuildRet(e->b, put_field(e, sink, field->column, LLVMGetParam(e->fn, 0)));
}

void sink_fields_emit(Emit *e) {
    for (struct SinkField *field = e->sink_fields; field; field = field->next) emit_field(e, field);
    e->sink_fields = nullptr;
}

Val sink_field(Emit *e, const SinkEmit *sink, uint32_t i, Val at) {
    bool shared = sink->format->shares_fields && sink->op->sink.column_count > COLUMNS_HELD;
    return shared ? call_field(e, sink, i, at) : put_field(e, sink, i, at);
}

// ---- rows ---------------------------------------------------------------------------------------

// The file that the row goes to.
static void turn_to_key(Emit *e, const SinkEmit *sink) {
    Value key = emit_expr(e, sink->frame, sink->op->sink.key);
    Block ready = emit_block(e, "turned");
    Val failed = emit_callv(e, "sb_out_key", e->i32, arg(e->task), arg(sink->out), arg(key.a),
                            arg(key.b));
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, failed, emit_i32(e, 0), ""), ready,
                       e->stage->stop);
    emit_at(e, ready);
}

void terminal_sink(Emit *e, Frame *frame, uint32_t terminal, Block next) {
    const Op *op = graph_op_at(e->graph, e->stage->stage->terminals[terminal].consumer);
    uint32_t count = op->sink.column_count;
    size_t depth = part_depth(e);
    SinkEmit sink = {
        .op = op, .format = sink_format_of(&op->sink), .frame = frame_new(e, op, frame, nullptr),
        .out = e->stage->terminals[terminal]};
    sink.values = arena_new_array(e->arena, Value, count + 1);
    sink.spellings = arena_new_array(e->arena, Value, count + 1);
    sink.late = arena_new_array(e->arena, bool, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const SinkColumn *column = &op->sink.columns[i];
        if (column->within) continue;
        part_split(e);
        sink.late[i] = is_late(e, &sink, column);
        if (!sink.late[i]) load_values(e, &sink, i);
    }
    if (!expr_is_none(op->sink.key)) turn_to_key(e, &sink);
    if (sink.format->open) sink.format->open(e, &sink);
    Val at = sink.format->row(e, &sink, take_room(e, &sink));
    emit_store_at(e, at, sink.out, offsetof(SbOut, at));
    Val rows = emit_load_at(e, e->i64, sink.out, offsetof(SbOut, rows), "");
    emit_store_at(e, LLVMBuildAdd(e->b, rows, emit_i64(e, 1), ""), sink.out, offsetof(SbOut, rows));
    emit_jump(e, next);
    part_join(e, depth);
}
