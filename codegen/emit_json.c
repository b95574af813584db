// Objects of JSON: keys that are wanted are found once a row; columns are read from their slots.
#include "codegen/emit_json.h"

#include "stdlib/json.h"

// Where a value's SbJsonSlot is, and those of the members of one that is a struct.
typedef struct JsonSlot {
    uint32_t         number;
    struct JsonSlot *members;  // By field; null: it is no struct.
} JsonSlot;

// A key of an object that is wanted.
typedef struct Wanted {
    Text        name;
    const Type *type;
    JsonSlot   *slot;
} Wanted;

// What a row of JSON lines is found by.
typedef struct JsonRow {
    Val       form;     // SbJsonForms
    Val       memory;   // SbJsonSlot[]
    JsonSlot *slots;    // By column, for those that are read.
} JsonRow;

static JsonRow *json_of(const TextRow *row) { return row->own; }

static Val constant(Emit *e, Val value, const char *name) { return emit_global(e, value, name); }

static Val emit_shape(Emit *e, const Wanted *wanted, uint32_t count, uint32_t *slot_count);

// The shape of a struct's members; null for another type.
static Val emit_members(Emit *e, const Type *type, JsonSlot *slot, uint32_t *slot_count) {
    if (type->kind != TYPE_STRUCT) return LLVMConstNull(e->ptr);
    Wanted *wanted = arena_new_array(e->arena, Wanted, type->field_count + 1);
    slot->members = arena_new_array(e->arena, JsonSlot, type->field_count + 1);
    for (uint32_t i = 0; i < type->field_count; i++)
        wanted[i] = (Wanted){type->fields[i].name, type->fields[i].type, &slot->members[i]};
    return emit_shape(e, wanted, type->field_count, slot_count);
}

// The address of an SbJsonShape. Its keys take the next slots, then those of members.
static Val emit_shape(Emit *e, const Wanted *wanted, uint32_t count, uint32_t *slot_count) {
    const uint32_t first = *slot_count;
    *slot_count += count;
    Val *keys = arena_new_array(e->arena, Val, count + 1);
    uint64_t lengths = 0;
    for (uint32_t i = 0; i < count; i++) {
        const Text name = wanted[i].name;
        const uint64_t head = sb_json_head((SbStr){name.at, (int64_t)name.len});
        wanted[i].slot->number = first + i;
        Parts parts = {0};
        part_add_text(e, &parts, offsetof(SbJsonKey, name), name);
        part_add(e, &parts, offsetof(SbJsonKey, head), emit_i64(e, (int64_t)head), 8);
        part_add(e, &parts, offsetof(SbJsonKey, members),
                 emit_members(e, type_base(wanted[i].type), wanted[i].slot, slot_count), 8);
        keys[i] = parts_struct(e, &parts, sizeof(SbJsonKey));
        lengths |= UINT64_C(1) << (name.len < 63 ? name.len : 63);
    }
    Parts shape = {0};
    Val list = count ? constant(e, LLVMConstStructInContext(e->ctx, keys, count, true), "keys")
                     : LLVMConstNull(e->ptr);
    part_add(e, &shape, offsetof(SbJsonShape, keys), list, 8);
    part_add(e, &shape, offsetof(SbJsonShape, count), emit_i32(e, count), 4);
    part_add(e, &shape, offsetof(SbJsonShape, first), emit_i32(e, first), 4);
    part_add(e, &shape, offsetof(SbJsonShape, lengths), emit_i64(e, (int64_t)lengths), 8);
    return constant(e, parts_struct(e, &shape, sizeof(SbJsonShape)), "shape");
}

// The keys of the columns that count as read.
void json_open(Emit *e, TextRow *row) {
    const SourceOp *source = &row->op->source;
    row->own = arena_new_of(e->arena, JsonRow);
    json_of(row)->slots = arena_new_array(e->arena, JsonSlot, source->column_count + 1);
    Wanted *wanted = arena_new_array(e->arena, Wanted, source->column_count + 1);
    uint32_t count = 0, slot_count = 0;
    for (uint32_t i = 0; i < source->column_count; i++) {
        const SourceColumn *column = &source->columns[i];
        if (column->read) wanted[count++] = (Wanted){column->name, column->type,
                                                     &json_of(row)->slots[i]};
    }
    Val shape = emit_shape(e, wanted, count, &slot_count);
    Ty slots = LLVMArrayType2(e->i8, sizeof(SbJsonSlot) * (slot_count + 1));
    json_of(row)->memory = emit_alloca(e, slots, "slots");
    json_of(row)->form = emit_alloca(e, LLVMArrayType2(e->i64, sizeof(SbJsonForms) / 8), "form");
    emit_callv(e, "sb_json_forms_open", e->type_void, arg(json_of(row)->form), arg(shape),
               arg(json_of(row)->memory));
}

// Finds the keys before anything else is judged.
void json_judge(Emit *e, Frame *frame, SbStatus bad_row) {
    TextRow *row = frame->text;
    Val line = emit_index(e, e->i8, row->text, row->begin);
    Val status = emit_callv(e, "sb_json_row_like", e->i32, arg(emit_call_context(e)), arg(line),
                            arg(LLVMBuildSub(e->b, row->end, row->begin, "")),
                            arg(json_of(row)->form));
    Val bad = LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, SB_OK), "");
    if (bad_row != SB_FAULT_BAD_JSON) {
        Val none = LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, SB_FAULT_BAD_JSON), "");
        status = LLVMBuildSelect(e->b, none, emit_i32(e, bad_row), status, "");
    }
    emit_column_fault_if(e, frame->step, TEXT(""), bad, status, (Detail){0});
}

static Val slot_of(Emit *e, const TextRow *row, const JsonSlot *slot) {
    if (row->number)
        return emit_index(e, LLVMArrayType2(e->i8, sizeof(SbJsonSlot)), json_of(row)->memory,
                          row->number);
    return emit_offset(e, json_of(row)->memory, sizeof(SbJsonSlot) * slot->number);
}

Value json_raw(Emit *e, Frame *frame, uint32_t column) {
    Val slot = slot_of(e, frame->text, &json_of(frame->text)->slots[column]);
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
    if (base->kind == TYPE_STRUCT) return (Usual){true, SB_JSON_OBJECT | WHOLE, 0};
    bool text = base->kind == TYPE_STR || base->kind == TYPE_DATE || base->kind == TYPE_TIMESTAMP;
    return (Usual){text, SB_JSON_STRING, 0};
}

static Val emit_json_value(Emit *e, Frame *frame, const Type *type, Val slot, Val out) {
    return emit_callv(e, "sb_json_value", e->i32, arg(emit_call_context(e)),
                      arg_pair(emit_sbtype(e, type), emit_source_zone(e, &frame->op->source)),
                      arg(slot), arg(out));
}

// Anything else: checked and read by the library, which knows all types.
static void read_slot(Emit *e, Frame *frame, const SourceColumn *column, Val slot, Val out) {
    Val whole = emit_callv(e, "sb_json_check", e->i32, arg(slot));
    Val wrong = LLVMBuildICmp(e->b, LLVMIntNE, whole, emit_i32(e, SB_OK), "");
    emit_column_fault_if(e, frame->step, column->name, wrong, whole, (Detail){0});
    Val status = emit_json_value(e, frame, column->type, slot, out);
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

static void go_on_if_ok(Emit *e, Val status, Block slow) {
    Block fine = emit_block(e, "fine");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, SB_OK), ""), fine,
                       slow);
    emit_at(e, fine);
}

// A row whose values are read in place.
typedef struct InPlace {
    Frame *frame;
    Block  slow;  // Where the row goes whose value cannot be read so.
} InPlace;

static void read_in_place(Emit *e, InPlace row, const Type *type, const JsonSlot *slot, Val out);

// The value of a usual slot, not null.
static void read_usual(Emit *e, InPlace row, const Type *base, const JsonSlot *slot, Val out) {
    if (base->kind == TYPE_STRUCT) {
        for (uint32_t i = 0; i < base->field_count; i++)
            read_in_place(e, row, base->fields[i].type, &slot->members[i],
                          emit_offset(e, out, type_field_offset(base, i)));
        return;
    }
    const SourceOp *source = &row.frame->op->source;
    Value text = slot_text(e, slot_of(e, row.frame->text, slot), !type_is_numeric(base));
    if (base->kind == TYPE_STR) emit_store_value(e, base, text, out);
    else go_on_if_ok(e, emit_read_text(e, source, base, text, out, true), row.slow);
}

// A number, a string without escapes, or an object whose members have slots, of a key that stands
// there once: read in place, and so is null where it may be. A member of any other type is read by
// the library. Goes to `slow` when it is not read so, else on with the value in `out`.
static void read_in_place(Emit *e, InPlace row, const Type *type, const JsonSlot *slot, Val out) {
    const Type *base = type_base(type);
    const Usual usual = usual_slot(base);
    Val address = slot_of(e, row.frame->text, slot);
    if (!usual.is) {
        go_on_if_ok(e, emit_json_value(e, row.frame, type, address, out), row.slow);
        return;
    }
    Val flags = emit_load_at(e, e->i32, address, offsetof(SbJsonSlot, kind), "flags");
    Val known = LLVMBuildAnd(e->b, flags, emit_i32(e, ~usual.ignored), "");
    Block plain = emit_block(e, "usual"), other = row.slow;
    if (type->nullable) other = emit_block(e, "other");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, known, emit_i32(e, usual.flags), ""),
                       plain, other);
    emit_at(e, plain);
    read_usual(e, row, base, slot, out);
    if (!type->nullable) return;
    emit_store_at(e, emit_int(e, e->i8, 1), out, type_size(base));
    Block none = emit_block(e, "null"), end = emit_block(e, "value");
    emit_jump(e, end);
    emit_at(e, other);
    static_assert(SB_JSON_MISSING == 0 && SB_JSON_NULL == 1, "the least flags");
    Val is_null = LLVMBuildICmp(e->b, LLVMIntULE, flags, emit_i32(e, SB_JSON_NULL), "");
    emit_branch(e, is_null, none, row.slow);
    emit_at(e, none);
    emit_store(e, LLVMConstNull(LLVMArrayType2(e->i8, type_size(type))), out);
    emit_jump(e, end);
    emit_at(e, end);
}

Value json_column(Emit *e, Frame *frame, uint32_t index) {
    const SourceColumn *column = &frame->op->source.columns[index];
    Val out = emit_alloca(e, LLVMArrayType2(e->i8, type_size(column->type)), "value");
    const JsonSlot *json = &json_of(frame->text)->slots[index];
    Val slot = slot_of(e, frame->text, json);
    if (!usual_slot(type_base(column->type)).is) {
        read_slot(e, frame, column, slot, out);
        return emit_load_value(e, column->type, out);
    }
    Block slow = emit_block(e, "slow"), end = emit_block(e, "column");
    read_in_place(e, (InPlace){frame, slow}, column->type, json, out);
    emit_jump(e, end);
    emit_at(e, slow);
    read_slot(e, frame, column, slot, out);
    emit_jump(e, end);
    emit_at(e, end);
    return emit_load_value(e, column->type, out);
}

uint32_t json_number(const TextRow *row, uint32_t column) {
    return json_of(row)->slots[column].number;
}
