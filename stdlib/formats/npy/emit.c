// npy: values of one width, loaded where they lie, in the byte order of their file.
#include "stdlib/formats/npy/npy.h"

#include "codegen/emit_format.h"

static NpyRow row_of(const Type *type) {
    return npy_row(type_element(type)->kind, type->rank, type->shape);
}

static NpyRow row_of_source(const Op *op) { return row_of(op->source.columns[0].type); }

// What emitted code has of the file's fields.
typedef struct Own {
    Val fields;
    Val big;    // Is the file's byte order the other one?
    Val width;  // Of a row, where files differ.
} Own;

static void open_npy(Emit *e, TextRow *row) {
    Own *own = row->own = arena_new_of(e->arena, Own);
    own->fields = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, input.fields), "fields");
    Val order = emit_load(e, e->i32, own->fields, "order");
    own->big = LLVMBuildICmp(e->b, LLVMIntNE, order, emit_i32(e, 0), "big");
    NpyRow layout = row_of_source(row->op);
    if (!npy_is_open(&layout)) return;
    Val width = emit_load_at(e, e->i32, own->fields, NPY_FIELD_WIDTH * sizeof(uint32_t), "width");
    own->width = LLVMBuildZExt(e->b, width, e->i64, "");
}

static Val big_of(const TextRow *row) { return ((const Own *)row->own)->big; }

static int64_t width_of(const Op *op) {
    NpyRow layout = row_of_source(op);
    return npy_is_open(&layout) ? TEXT_WIDTH_OF_FILE : npy_width(&layout);
}

static Val stride_of(const TextRow *row) { return ((const Own *)row->own)->width; }

// A tensor whose shape the file has.
static Value open_tensor(Emit *e, Frame *frame) {
    const TextRow *row = frame->text;
    const SourceColumn *column = &row->op->source.columns[0];
    Val slot = emit_alloca(e, LLVMArrayType2(e->i8, sizeof(SbList)), "tensor");
    Val status = emit_callv(e, "sb_npy_open", e->i32, arg(emit_call_context(e)),
                            arg(emit_sbtype(e, column->type)),
                            arg(emit_index(e, e->i8, row->text, row->begin)),
                            arg(((const Own *)row->own)->fields), arg(slot));
    Val bad = LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, SB_OK), "");
    emit_column_fault_if(e, frame->step, column->name, bad, status, (Detail){0});
    return emit_load_value(e, column->type, slot);
}

// Elements are read where they lie, unless the machine wants others.
static Value tensor(Emit *e, Frame *frame, const NpyRow *layout) {
    const TextRow *row = frame->text;
    Val at = emit_index(e, e->i8, row->text, row->begin), count = emit_i64(e, npy_values(layout));
    Val big = LLVMBuildZExt(e->b, big_of(row), e->i32, "");
    Val elements = emit_callv(e, "sb_npy_elements", e->ptr, arg(emit_call_context(e)), arg(at),
                              arg(count), arg(emit_i32(e, layout->type->kind)), arg(big));
    emit_column_fault_if(e, frame->step, row->op->source.columns[0].name,
                         emit_is_nullptr(e, elements), emit_i32(e, SB_FAULT_TOO_LARGE),
                         (Detail){0});
    return (Value){.a = elements, .b = count};
}

static Value column_npy(Emit *e, Frame *frame, uint32_t) {
    const TextRow *row = frame->text;
    NpyRow layout = row_of_source(row->op);
    const NpyType *type = layout.type;
    if (npy_is_open(&layout)) return open_tensor(e, frame);
    if (layout.rank) return tensor(e, frame, &layout);
    Ty bits = LLVMIntTypeInContext(e->ctx, 8u * type->size);
    Val value = emit_load(e, bits, emit_index(e, e->i8, row->text, row->begin), "value");
    LLVMSetAlignment(value, 1);
    if (type->size > 1) {
        Val swapped = emit_intrinsic(e, "llvm.bswap", &bits, 1, &value, 1);
        value = LLVMBuildSelect(e->b, big_of(row), swapped, value, "");
    }
    if (type->kind == TYPE_BOOL)
        value = LLVMBuildICmp(e->b, LLVMIntNE, value, emit_int(e, bits, 0), "");
    else if (type->letter == 'f')
        value = emit_float_of_bits(e, row->op->source.columns[0].type, value);
    return (Value){.a = value};
}

static void lay_npy(Emit *e, TextRow *row, const LaidRows *rows, Val to) {
    NpyRow layout = row_of_source(row->op);
    int64_t values = npy_values(&layout);
    Val big = LLVMBuildZExt(e->b, big_of(row), e->i32, "");
    emit_callv(e, "sb_npy_lay", e->type_void, arg(to),
               arg(emit_index(e, e->i8, row->text, rows->first)), arg(rows->count),
               arg(emit_i64(e, values)), arg(emit_i64(e, rows->room ? rows->room : values)),
               arg(emit_i32(e, layout.type->kind)), arg(big));
}

// As sb_npy_floats has it.
static Val float_bits(Emit *e, const Type *type, Val value) {
    Val bits = emit_float_bits(e, type, value);
    Val nan = emit_int(e, LLVMTypeOf(bits), npy_nan(npy_type_of(type->kind)));
    Val is_nan = LLVMBuildFCmp(e->b, LLVMRealUNO, value, value, "");
    return LLVMBuildSelect(e->b, is_nan, nan, bits, "");
}

static Val number_bits(Emit *e, const Type *type, Value value) {
    const NpyType *npy = npy_type_of(type->kind);
    if (type->kind == TYPE_BOOL) return LLVMBuildZExt(e->b, value.a, e->i8, "");
    return npy->letter == 'f' ? float_bits(e, type, value.a) : value.a;
}

static Val put_values(Emit *e, const NpyType *type, Val from, Val count, Val at) {
    Val bytes = LLVMBuildMul(e->b, count, emit_i64(e, type->size), "");
    if (type->letter == 'f')
        emit_callv(e, "sb_npy_floats", e->type_void, arg(at), arg(from), arg(count),
                   arg(emit_i32(e, (int32_t)type->size)));
    else LLVMBuildMemCpy(e->b, at, 1, from, 1, bytes);
    return emit_index(e, e->i8, at, bytes);
}

static Val put_tensor(Emit *e, const NpyRow *layout, Value tensor, Val at) {
    Val count = npy_is_open(layout) ? tensor.b : emit_i64(e, npy_values(layout));
    return put_values(e, layout->type, tensor.a, count, at);
}

static Val put_column(Emit *e, const Type *type, Val from, Val rows, Val at) {
    NpyRow layout = row_of(type);
    Val count = LLVMBuildMul(e->b, rows, emit_i64(e, npy_values(&layout)), "");
    return put_values(e, layout.type, from, count, at);
}

// Of a row that is a file: its header.
static Val put_header(Emit *e, SinkEmit *sink, Val at) {
    const Type *type = sink_base(e, sink, 0);
    emit_callv(e, "sb_npy_header", e->type_void, arg(at), arg(emit_sbtype(e, type)),
               arg(emit_value_address(e, type, sink->values[0])));
    return emit_offset(e, at, NPY_WRITTEN);
}

static Val put_value(Emit *e, SinkEmit *sink, Val at) {
    NpyRow layout = row_of(sink_base(e, sink, 0));
    const NpyType *type = layout.type;
    if (sink->op->sink.options.apart) at = put_header(e, sink, at);
    if (layout.rank) return put_tensor(e, &layout, sink->values[0], at);
    Val bits = number_bits(e, sink_base(e, sink, 0), sink->values[0]);
    LLVMSetAlignment(LLVMBuildStore(e->b, bits, at), 1);
    return emit_offset(e, at, type->size);
}

static const TextFormat read_npy = {.open = open_npy, .width = width_of, .stride = stride_of,
                                    .column = column_npy, .lay = lay_npy};
static const SinkFormat write_npy = {.widens = 1, .nested_room = "sb_npy_room",
                                     .apart = NPY_WRITTEN, .row = put_value,
                                     .bits = number_bits, .column = put_column};

const FormatEmit format_emit_npy = {&read_npy, &write_npy};
