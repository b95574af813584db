// Terminals that keep rows: sorts, build sides of joins, edges.
#include "codegen/emit_part.h"
#include "codegen/emit_stage.h"

enum { COLUMNS_HELD = 64 };

static void out_of_memory(Emit *e, Val failed) {
    Block fine = emit_block(e, "");
    emit_branch_likely(e, LLVMBuildNot(e->b, failed, ""), fine, e->stage->stop);
    emit_at(e, fine);
}

// Room for one entry: the next in the block, or the first of a new one.
static Val take_entry(Emit *e, Val rows, size_t bytes) {
    Block here = emit_block(e, "here"), grow = emit_block(e, "grow"), end = emit_block(e, "entry");
    Val at = emit_load_at(e, e->ptr, rows, offsetof(SbRows, at), "at");
    Val limit = emit_load_at(e, e->ptr, rows, offsetof(SbRows, end), "limit");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntNE, at, limit, ""), here, grow);
    emit_at(e, here);
    emit_store_at(e, emit_offset(e, at, bytes), rows, offsetof(SbRows, at));
    emit_jump(e, end);
    emit_at(e, grow);
    Val fresh = emit_callv(e, "sb_rows_grow", e->ptr, arg(e->task), arg(rows),
                           arg(emit_i64(e, (int64_t)bytes)));
    out_of_memory(e, emit_is_nullptr(e, fresh));
    Block grow_end = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    Val entry = emit_phi(e, e->ptr, "entry");
    emit_phi_add(entry, at, here);
    emit_phi_add(entry, fresh, grow_end);
    return entry;
}

// Texts and nested values move into the rows' own memory.
static void keep_value(Emit *e, Val rows, const Slot *slot, Value value, Val entry) {
    const Type *base = type_base(slot->type);
    if (type_is_bytes(base)) {
        if (value.valid) value.b = LLVMBuildSelect(e->b, value.valid, value.b, emit_i64(e, 0), "");
        value.a = emit_callv(e, "sb_rows_text", e->ptr, arg(e->task), arg(rows), arg(value.a),
                             arg(value.b));
        out_of_memory(e, emit_is_nullptr(e, value.a));
    }
    slot_store(e, slot, value, entry);
    if (!type_is_nested(base)) return;
    Val status = emit_callv(e, "sb_rows_nested", e->i32, arg(e->task), arg(rows),
                            arg(emit_sbtype(e, slot->type)),
                            arg(emit_offset(e, entry, slot->offset)));
    out_of_memory(e, LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, 0), ""));
}

static Val no_key_is_null(Emit *e, const KeyParts *keys, uint32_t count) {
    Val all = emit_i1(e, true);
    for (uint32_t i = 0; i < count; i++)
        if (keys[i].value.valid) all = LLVMBuildAnd(e->b, all, keys[i].value.valid, "");
    return all;
}

// The place of the source's row (SbPlace), from the input text or from the edge that kept it
// before.
static void keep_place(Emit *e, Frame *frame, Val rows, Val place) {
    Frame *root = frame_root(frame);
    if (!frame_has_place(root)) {
        emit_store_at(e, emit_i64(e, 0), place, offsetof(SbPlace, raw) + 8);  // Nothing is held.
        return;
    }
    PlaceParts parts = frame_place_parts(e, root);
    Val fits = LLVMBuildICmp(e->b, LLVMIntSLT, parts.length, emit_i64(e, SB_PLACE_RAW), "");
    Val kept = LLVMBuildSelect(e->b, fits, parts.length, emit_i64(e, SB_PLACE_RAW), "");
    Val raw = emit_callv(e, "sb_rows_text", e->ptr, arg(e->task), arg(rows), arg(parts.raw),
                         arg(kept));
    out_of_memory(e, emit_is_nullptr(e, raw));
    parts.raw = raw;
    place_store(e, &parts, place);
}

// The meeting whose columns the edge keeps: in this stage, or before the edge that it reads from.
static Meeting kept_meeting(const Emit *e, const Breaker *breaker, Frame *frame) {
    const Op *op = graph_op_at(e->graph, breaker->meeting);
    Frame *root = frame_root(frame);
    while (frame && frame->op != op) frame = frame->input[0];
    return (Meeting){op, frame ? frame : root};
}

// By slot: what a reject behind an edge shows of the meeting before it; null: nothing.
static Value *shown_values(Emit *e, const Breaker *breaker, Frame *frame) {
    if (breaker->meeting.i == OP_NONE.i) return nullptr;
    Meeting meeting = kept_meeting(e, breaker, frame);
    Value *values = arena_new_array(e->arena, Value, breaker->slot_count);
    for (uint32_t i = 0; i < meeting.op->column_count; i++) {
        uint32_t slot = breaker->meeting_slots[i];
        if (slot != SLOT_NONE) values[slot] = meeting_column(e, meeting, i);
    }
    return values;
}

// The keys, and of a join their hash; else null.
static Val kept_keys(Emit *e, Frame *over, const Breaker *breaker, KeyParts *keys) {
    Val hash = nullptr;
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        part_split(e);
        Value value = emit_expr(e, over, breaker->keys[k]);
        keys[k] = (KeyParts){.value = value};
        if (breaker->kind != BREAK_JOIN) continue;
        keys[k] = key_parts(e, breaker->slots[k].type, value);
        KeyParts present = keys[k];
        present.value.valid = nullptr;
        hash = key_hash(e, hash, type_base(breaker->slots[k].type), &present);
    }
    return hash;
}

void terminal_keep(Emit *e, Frame *frame, uint32_t terminal, Block next) {
    StageEmit *s = e->stage;
    size_t depth = part_depth(e);
    const Breaker *breaker = &e->plan->breakers[s->stage->terminals[terminal].index];
    const Op *op = graph_op_at(e->graph, breaker->op);
    Val rows = s->terminals[terminal];
    Frame *over = frame_new(e, op, breaker->input ? nullptr : frame,
                            breaker->input ? frame : nullptr);
    over->input[0] = frame;  // Keys of a right side speak of input 1, all others of input 0.
    over->input[1] = frame;
    bool join = breaker->kind == BREAK_JOIN;
    KeyParts *keys = arena_new_array(e->arena, KeyParts, breaker->key_count + 1);
    Val hash = kept_keys(e, over, breaker, keys);
    // Such a row is in no table. Its place among the hashes is the same in each run of the job.
    Val keyed = join ? no_key_is_null(e, keys, breaker->key_count) : nullptr;
    if (join) hash = LLVMBuildSelect(e->b, keyed, hash, emit_i64(e, 0), "");
    if (op->kind == OP_SHUFFLE)
        hash = emit_callv(e, "sb_identity_draw", e->i64,
                          arg(emit_expr(e, over, op->shuffle.seed).a),
                          arg(frame_identity(e, frame)));
    if (breaker->kind == BREAK_EDGE) hash = frame_origin(e, frame);
    bool merged = op->kind == OP_UNION && !breaker->keeps_op;
    const uint32_t *source = merged && s->stage->terminals[terminal].input == 1
                                 ? op->union_.right_columns
                                 : nullptr;
    // An edge's map is of its own operator's columns, the first of those that come in.
    bool own = merged || (breaker->kind == BREAK_EDGE && (breaker->keeps_op || op->kind != OP_ZIP));
    uint32_t columns = (own ? op : frame->op)->column_count;
    Value *values = arena_new_array(e->arena, Value, columns + 1);
    // Of many columns those in memory stay there until they are copied.
    bool many = columns > COLUMNS_HELD, *late = arena_new_array(e->arena, bool, columns + 1);
    for (uint32_t c = 0; c < columns && breaker->slot_of; c++) {
        if (breaker->slot_of[c] == SLOT_NONE || breaker->slot_of[c] < breaker->key_count) continue;
        part_split(e);
        late[c] = many && frame_reloads(e, frame, source ? source[c] : c);
        if (!late[c]) values[c] = frame_column(e, frame, source ? source[c] : c);
    }
    Value *shown = shown_values(e, breaker, frame);
    Val entry = take_entry(e, rows, breaker->entry_bytes);
    emit_store_at(e, hash ? hash : emit_i64(e, 0), entry, offsetof(SbEntry, hash));
    emit_store_at(e, stage_next_order(e), entry, offsetof(SbEntry, order));
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        part_split(e);
        keep_value(e, rows, &breaker->slots[k], keys[k].value, entry);
    }
    for (uint32_t c = 0; c < columns; c++) {
        if (!values[c].a && !late[c]) continue;
        part_split(e);
        size_t mark = emit_region_begin(e);
        if (late[c]) values[c] = frame_column(e, frame, source ? source[c] : c);
        keep_value(e, rows, &breaker->slots[breaker->slot_of[c]], values[c], entry);
        emit_region_end(e, mark);
    }
    for (uint32_t i = 0; i < breaker->slot_count && shown; i++)
        if (shown[i].a) keep_value(e, rows, &breaker->slots[i], shown[i], entry);
    if (breaker->identity_offset != SIZE_MAX)
        emit_store_at(e, frame_identity(e, frame), entry, breaker->identity_offset);
    if (breaker->place_offset != SIZE_MAX)
        keep_place(e, frame, rows, emit_offset(e, entry, breaker->place_offset));
    if (join) {
        emit_store_at(e, LLVMConstNull(e->ptr), entry, breaker->next_offset);
        Val mark = LLVMBuildSelect(e->b, keyed, emit_int(e, e->i8, 0), emit_int(e, e->i8, 2), "");
        emit_store_at(e, mark, entry, breaker->matched_offset);
    }
    Val count = emit_load_at(e, e->i64, rows, offsetof(SbRows, count), "");
    emit_store_at(e, LLVMBuildAdd(e->b, count, emit_i64(e, 1), ""), rows, offsetof(SbRows, count));
    emit_jump(e, next);
    part_join(e, depth);
}
