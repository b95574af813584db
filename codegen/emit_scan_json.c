// JSON lines: the keys that are wanted are found once a row; columns are read from their slots.
#include "codegen/emit_scan.h"

#include "stdlib/json.h"
#include "stdlib/lines.h"

static Val constant(Emit *e, Val value, const char *name) { return emit_global(e, value, name); }

// The keys of the columns that count as read; `slot_numbers` tells where each column finds its
// slot.
static void open_jsonl(Emit *e, TextRow *row) {
    const SourceOp *source = &row->op->source;
    row->slot_numbers = arena_new_array(e->arena, uint32_t, source->column_count + 1);
    Val *keys = arena_new_array(e->arena, Val, source->column_count + 1);
    uint32_t count = 0;
    uint64_t lengths = 0;
    for (uint32_t i = 0; i < source->column_count; i++) {
        if (!source->columns[i].read) continue;
        Text name = source->columns[i].name;
        Parts parts = {0};
        part_add_text(e, &parts, offsetof(SbJsonKey, name), name);
        uint64_t head = sb_json_head((SbStr){name.at, (int64_t)name.len});
        part_add(e, &parts, offsetof(SbJsonKey, head), emit_i64(e, (int64_t)head), 8);
        keys[count] = parts_struct(e, &parts, sizeof(SbJsonKey));
        lengths |= UINT64_C(1) << (name.len < 63 ? name.len : 63);
        row->slot_numbers[i] = count++;
    }
    Parts shape = {0};
    Val list = count ? constant(e, LLVMConstStructInContext(e->ctx, keys, count, true), "keys")
                     : LLVMConstNull(e->ptr);
    part_add(e, &shape, offsetof(SbJsonShape, keys), list, 8);
    part_add(e, &shape, offsetof(SbJsonShape, count), emit_i32(e, count), 4);
    part_add(e, &shape, offsetof(SbJsonShape, lengths), emit_i64(e, (int64_t)lengths), 8);
    row->slot_memory = emit_alloca(e, LLVMArrayType2(e->i8, sizeof(SbJsonSlot) * (count + 1)),
                                   "slots");
    row->form = emit_alloca(e, LLVMArrayType2(e->i64, sizeof(SbJsonForm) / 8), "form");
    emit_callv(e, "sb_json_form_open", e->type_void, arg(row->form),
               arg(constant(e, parts_struct(e, &shape, sizeof(SbJsonShape)), "shape")),
               arg(row->slot_memory));
}

static void index_lines(Emit *e, TextRow *row, Val pos, Val end) {
    emit_callv(e, "sb_lines_index", e->type_void, arg(row->index), arg(row->text), arg(pos),
               arg(end), arg(emit_i32(e, SB_LINES_SKIP_BLANK)));
}

static void begin_jsonl(Emit *e, TextRow *row) {
    row->begin = emit_offset_at(e, row->starts, row->row);
    row->end = emit_offset_at(e, row->ends, row->row);
}

// Finds the keys before anything else is judged.
static void judge_jsonl(Emit *e, Frame *frame) {
    TextRow *row = frame->text;
    Val line = emit_index(e, e->i8, row->text, row->begin);
    Val status = emit_callv(e, "sb_json_row_like", e->i32, arg(emit_call_context(e)), arg(line),
                            arg(LLVMBuildSub(e->b, row->end, row->begin, "")), arg(row->form));
    Val bad = LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, SB_OK), "");
    emit_column_fault_if(e, frame->step, TEXT(""), bad, status, (Detail){0});
}

static Val slot_of(Emit *e, const TextRow *row, uint32_t column) {
    return emit_offset(e, row->slot_memory, sizeof(SbJsonSlot) * row->slot_numbers[column]);
}

static Value raw_jsonl(Emit *e, Frame *frame, uint32_t column) {
    Val slot = slot_of(e, frame->text, column);
    return (Value){.a = emit_load_at(e, e->ptr, slot, offsetof(SbJsonSlot, ptr), ""),
                   .b = emit_load_at(e, e->i64, slot, offsetof(SbJsonSlot, len), "")};
}

// The usual slot of a type: its four flag bytes, but for those of `ignored`, are `flags`.
typedef struct Usual {
    bool     is;
    uint32_t flags, ignored;
} Usual;

static Usual usual_slot(const Type *base) {
    static_assert(offsetof(SbJsonSlot, kind) + 1 == offsetof(SbJsonSlot, escapes) &&
                      offsetof(SbJsonSlot, kind) + 2 == offsetof(SbJsonSlot, whole) &&
                      offsetof(SbJsonSlot, kind) + 3 == offsetof(SbJsonSlot, twice),
                  "the flags are read as one word");
    enum : uint32_t { WHOLE = 1u << 16 };
    if (type_is_integer(base)) return (Usual){true, SB_JSON_NUMBER | WHOLE, 0};
    if (type_is_float(base)) return (Usual){true, SB_JSON_NUMBER, WHOLE};
    bool text = base->kind == TYPE_STR || base->kind == TYPE_DATE || base->kind == TYPE_TIMESTAMP;
    return (Usual){text, SB_JSON_STRING, 0};
}

// Anything else: checked and read by the library, which knows all types.
static void read_slot(Emit *e, Frame *frame, const SourceColumn *column, Val slot, Val out) {
    Val whole = emit_callv(e, "sb_json_check", e->i32, arg(slot));
    Val wrong = LLVMBuildICmp(e->b, LLVMIntNE, whole, emit_i32(e, SB_OK), "");
    emit_column_fault_if(e, frame->step, column->name, wrong, whole, (Detail){0});
    Val status = emit_callv(e, "sb_json_value", e->i32, arg(emit_call_context(e)),
                            arg_pair(emit_sbtype(e, column->type),
                                     emit_source_zone(e, &frame->op->source)),
                            arg(slot), arg(out));
    Val bad = LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, SB_OK), "");
    Val call = emit_call_context(e);
    Detail detail = {emit_load_at(e, e->ptr, call, offsetof(SbCall, detail), ""),
                     emit_load_at(e, e->i64, call, offsetof(SbCall, detail) + 8, "")};
    emit_column_fault_if(e, frame->step, column->name, bad, status, detail);
}

static Value slot_text(Emit *e, Val slot, bool quoted) {
    Value text = {.a = emit_load_at(e, e->ptr, slot, offsetof(SbJsonSlot, ptr), ""),
                  .b = emit_load_at(e, e->i64, slot, offsetof(SbJsonSlot, len), "")};
    if (!quoted) return text;
    text.a = emit_offset(e, text.a, 1);
    text.b = LLVMBuildSub(e->b, text.b, emit_i64(e, 2), "");
    return text;
}

// A number, or a string without escapes, of a key that stands there once: read in place. Goes to
// `slow` when it is not read so, else on with the value in `out`.
static void read_usual(Emit *e, Frame *frame, const SourceColumn *column, Val slot, Val out,
                       Block slow) {
    const Type *base = type_base(column->type);
    Usual usual = usual_slot(base);
    Val flags = emit_load_at(e, e->i32, slot, offsetof(SbJsonSlot, kind), "flags");
    flags = LLVMBuildAnd(e->b, flags, emit_i32(e, ~usual.ignored), "");
    Block plain = emit_block(e, "usual");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, flags, emit_i32(e, usual.flags), ""),
                       plain, slow);
    emit_at(e, plain);
    Value text = slot_text(e, slot, !type_is_numeric(base));
    if (base->kind == TYPE_STR) {
        emit_store_value(e, base, text, out);
    } else {
        Val status = emit_read_text(e, &frame->op->source, base, text, out, true);
        Block read = emit_block(e, "read");
        emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, SB_OK), ""), read,
                           slow);
        emit_at(e, read);
    }
    if (column->type->nullable) emit_store_at(e, emit_int(e, e->i8, 1), out, type_size(base));
}

static Value column_jsonl(Emit *e, Frame *frame, uint32_t index) {
    const SourceColumn *column = &frame->op->source.columns[index];
    Val out = emit_alloca(e, LLVMArrayType2(e->i8, type_size(column->type)), "value");
    Val slot = slot_of(e, frame->text, index);
    if (!usual_slot(type_base(column->type)).is) {
        read_slot(e, frame, column, slot, out);
        return emit_load_value(e, column->type, out);
    }
    Block slow = emit_block(e, "slow"), end = emit_block(e, "column");
    read_usual(e, frame, column, slot, out, slow);
    emit_jump(e, end);
    emit_at(e, slow);
    read_slot(e, frame, column, slot, out);
    emit_jump(e, end);
    emit_at(e, end);
    return emit_load_value(e, column->type, out);
}

const TextFormat text_format_jsonl = {open_jsonl,  index_lines,  begin_jsonl,
                                      judge_jsonl, column_jsonl, raw_jsonl};
