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

// Where a row's values go.
typedef struct KeepInto {
    Val   rows, entry;
    Value whole;  // A text that other texts of the row are pieces of, as it came; or none,
    Val   copy;   // and where its copy is.
} KeepInto;

static Val copy_text(Emit *e, Val rows, Val ptr, Val len) {
    Val copy = emit_callv(e, "sb_rows_text", e->ptr, arg(e->task), arg(rows), arg(ptr), arg(len));
    out_of_memory(e, emit_is_nullptr(e, copy));
    return copy;
}

// The copy of a text: a piece of that of the whole, or its own.
static Val keep_text(Emit *e, const KeepInto *into, Value text) {
    if (!into->copy) return copy_text(e, into->rows, text.a, text.b);
    Block own = emit_block(e, "own"), end = emit_block(e, "kept");
    Val from_whole = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, text.a, e->i64, ""),
                                  LLVMBuildPtrToInt(e->b, into->whole.a, e->i64, ""), "");
    Val after = LLVMBuildAdd(e->b, from_whole, text.b, "");
    Val begins = LLVMBuildICmp(e->b, LLVMIntULE, from_whole, into->whole.b, "");
    Val ends = LLVMBuildICmp(e->b, LLVMIntULE, after, into->whole.b, "");
    Val piece = emit_index(e, e->i8, into->copy, from_whole);
    Block from = emit_here(e);
    emit_branch_likely(e, LLVMBuildAnd(e->b, begins, ends, ""), end, own);
    emit_at(e, own);
    Val copy = copy_text(e, into->rows, text.a, text.b);
    Block own_end = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    Val phi = emit_phi(e, e->ptr, "");
    emit_phi_add(phi, piece, from);
    emit_phi_add(phi, copy, own_end);
    return phi;
}

// Texts and nested values move into the rows' own memory.
static void keep_value(Emit *e, const KeepInto *into, const Slot *slot, Value value) {
    const Type *base = type_base(slot->type);
    if (type_is_bytes(base)) {
        if (value.valid) value.b = LLVMBuildSelect(e->b, value.valid, value.b, emit_i64(e, 0), "");
        value.a = keep_text(e, into, value);
    }
    slot_store(e, slot, value, into->entry);
    if (!type_is_nested(base)) return;
    Val status = emit_callv(e, "sb_rows_nested", e->i32, arg(e->task), arg(into->rows),
                            arg(emit_sbtype(e, slot->type)),
                            arg(emit_offset(e, into->entry, slot->offset)));
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
    parts.raw = copy_text(e, rows, parts.raw, kept);
    place_store(e, &parts, place);
}

// The meeting whose columns the edge keeps: in this stage, or before the edge that it reads from.
static Meeting kept_meeting(const Emit *e, const Breaker *breaker, Frame *frame) {
    const Op *op = graph_op_at(e->graph, breaker->meeting);
    Frame *root = frame_root(frame);
    while (frame && frame->op != op) frame = frame->input[0];
    return (Meeting){op, frame ? frame : root};
}

// By slot: what a reject after an edge shows of the meeting before it; null: nothing.
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

// Of a window of which few rows are wanted: rows of one partition have one hash.
static Val partition_hash(Emit *e, const Breaker *breaker, const Op *op, const KeyParts *keys) {
    Val hash = nullptr;
    if (breaker->kind != BREAK_SORT || op->kind != OP_WINDOW || !op->window.keeps) return nullptr;
    for (uint32_t k = 0; k < op->window.key_count; k++) {
        const Type *type = breaker->slots[k].type;
        const KeyParts key = key_parts(e, type, keys[k].value);
        hash = key_hash(e, hash, type, &key);
    }
    return hash;
}

// A row on its way into a breaker.
typedef struct Keeping {
    Frame          *frame;    // The row.
    const Breaker  *breaker;
    const Op       *op;       // The breaker's.
    KeepInto        into;
    KeyParts       *keys;
    Val             keyed;    // JOIN: is no key null?
    const uint32_t *source;   // By column that is kept: the row's column. Null: the same one.
    uint32_t        columns;  // How many slot_of has.
    Value          *values;   // By column that is kept, unless it is late.
    bool           *late;     // Stays in memory until it is copied.
    uint32_t        whole;    // The column that is kept first; SLOT_NONE: none.
} Keeping;

// Reads the keys. Gives the hash of the entry.
static Val keep_hash(Emit *e, Keeping *keep) {
    const Breaker *breaker = keep->breaker;
    Frame *frame = keep->frame;
    Frame *over = frame_new(e, keep->op, breaker->input ? nullptr : frame,
                            breaker->input ? frame : nullptr);
    over->input[0] = frame;  // Keys of a right side speak of input 1, all others of input 0.
    over->input[1] = frame;
    keep->keys = arena_new_array(e->arena, KeyParts, breaker->key_count + 1);
    Val hash = kept_keys(e, over, breaker, keep->keys);
    if (breaker->kind == BREAK_JOIN) {
        // Such a row is in no table. Its place among the hashes is the same in each run of the job.
        keep->keyed = no_key_is_null(e, keep->keys, breaker->key_count);
        hash = LLVMBuildSelect(e->b, keep->keyed, hash, emit_i64(e, 0), "");
    }
    if (keep->op->kind == OP_SHUFFLE)
        hash = emit_callv(e, "sb_identity_draw", e->i64,
                          arg(emit_expr(e, over, keep->op->shuffle.seed).a),
                          arg(frame_identity(e, frame)));
    if (breaker->kind == BREAK_EDGE) hash = frame_origin(e, frame);
    if (!hash) hash = partition_hash(e, breaker, keep->op, keep->keys);
    return hash ? hash : emit_i64(e, 0);
}

// The nearest row is sought from the last right row to the first.
static Val order_of(Emit *e, const Keeping *keep) {
    Val order = frame_order(e, keep->frame, keep->breaker);
    bool backwards = keep->breaker->kind == BREAK_JOIN && join_is_nearest(keep->op);
    return backwards ? LLVMBuildNot(e->b, order, "backwards") : order;
}

static Value kept_column(Emit *e, const Keeping *keep, uint32_t c) {
    return frame_column(e, keep->frame, keep->source ? keep->source[c] : c);
}

// Which columns of the row the breaker's map is of.
static void find_columns(const Emit *e, const Terminal *terminal, Keeping *keep) {
    const Breaker *breaker = keep->breaker;
    bool merged = keep->op->kind == OP_UNION && !breaker->keeps_op;
    if (merged && terminal->input == 1) keep->source = keep->op->union_.right_columns;
    // An edge's map is of its own operator's columns, the first of those that come in.
    bool edge = breaker->kind == BREAK_EDGE && (breaker->keeps_op || keep->op->kind != OP_ZIP);
    keep->columns = (merged || edge ? keep->op : keep->frame->op)->column_count;
    keep->values = arena_new_array(e->arena, Value, keep->columns + 1);
    keep->late = arena_new_array(e->arena, bool, keep->columns + 1);
}

// Reads what is kept besides keys. Of many columns those in memory stay there.
static void read_columns(Emit *e, Keeping *keep) {
    const Breaker *breaker = keep->breaker;
    bool many = keep->columns > COLUMNS_HELD;
    for (uint32_t c = 0; c < keep->columns && breaker->slot_of; c++) {
        if (breaker->slot_of[c] == SLOT_NONE || breaker->slot_of[c] < breaker->key_count) continue;
        part_split(e);
        uint32_t from = keep->source ? keep->source[c] : c;
        keep->late[c] = many && frame_reloads(e, keep->frame, from);
        if (!keep->late[c]) keep->values[c] = kept_column(e, keep, c);
    }
}

static const Slot *kept_slot(const Keeping *keep, uint32_t c) {
    return &keep->breaker->slots[keep->breaker->slot_of[c]];
}

// The bytes of the source that are written as they were: keys and columns are often pieces of them.
static void keep_whole(Emit *e, Keeping *keep) {
    keep->whole = SLOT_NONE;
    if (keep->source || !keep->breaker->slot_of) return;
    for (uint32_t c = 0; c < keep->columns && keep->whole == SLOT_NONE; c++) {
        const Value *value = &keep->values[c];
        bool carried = value->a && !value->valid && keep->frame->op->columns[c].hidden;
        if (carried && type_is_bytes(kept_slot(keep, c)->type)) keep->whole = c;
    }
    if (keep->whole == SLOT_NONE) return;
    part_split(e);
    KeepInto *into = &keep->into;
    Value copy = into->whole = keep->values[keep->whole];
    copy.a = into->copy = copy_text(e, into->rows, copy.a, copy.b);
    slot_store(e, kept_slot(keep, keep->whole), copy, into->entry);
}

static void copy_columns(Emit *e, const Keeping *keep) {
    for (uint32_t c = 0; c < keep->columns; c++) {
        if ((!keep->values[c].a && !keep->late[c]) || c == keep->whole) continue;
        part_split(e);
        size_t mark = emit_region_begin(e);
        Value value = keep->late[c] ? kept_column(e, keep, c) : keep->values[c];
        keep_value(e, &keep->into, kept_slot(keep, c), value);
        emit_region_end(e, mark);
    }
}

// What an entry has besides keys and columns.
static void keep_rest(Emit *e, const Keeping *keep) {
    const Breaker *breaker = keep->breaker;
    Val entry = keep->into.entry;
    if (breaker->identity_offset != SIZE_MAX)
        emit_store_at(e, frame_identity(e, keep->frame), entry, breaker->identity_offset);
    if (breaker->place_offset != SIZE_MAX)
        keep_place(e, keep->frame, keep->into.rows, emit_offset(e, entry, breaker->place_offset));
    if (breaker->kind != BREAK_JOIN) return;
    emit_store_at(e, LLVMConstNull(e->ptr), entry, breaker->next_offset);
    for (size_t i = 0; i < sizeof(SbJump) && breaker->jump_offset != SIZE_MAX; i += sizeof(void *))
        emit_store_at(e, LLVMConstNull(e->ptr), entry, breaker->jump_offset + i);
    Val mark = LLVMBuildSelect(e->b, keep->keyed, emit_int(e, e->i8, 0), emit_int(e, e->i8, 2), "");
    emit_store_at(e, mark, entry, breaker->matched_offset);
}

// Results that are not there yet point nowhere.
static void clear_results(Emit *e, const Keeping *keep) {
    const Breaker *breaker = keep->breaker;
    size_t begin = SIZE_MAX, end = 0;
    uint32_t count = keep->op->kind == OP_WINDOW && !breaker->keeps_op ? keep->op->window.fn_count
                                                                       : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (breaker->result_slots[i] == SLOT_NONE) continue;
        const Slot *slot = &breaker->slots[breaker->result_slots[i]];
        if (slot->offset < begin) begin = slot->offset;
        if (slot->offset + type_size(slot->type) > end) end = slot->offset + type_size(slot->type);
    }
    if (begin >= end) return;
    LLVMBuildMemSet(e->b, emit_offset(e, keep->into.entry, begin), emit_int(e, e->i8, 0),
                    emit_i64(e, (int64_t)(end - begin)), 1);
}

// Goes on with a row whose key a left row may look up, with others at `next` (SbKeyFilter). What
// the row has was judged before.
static void leave_out(Emit *e, const Keeping *keep, Val hash, Block next) {
    if (keep->breaker->asker == STAGE_NONE) return;
    Block filtered = emit_block(e, "filtered"), out = emit_block(e, "left_out"),
          wanted = emit_block(e, "wanted");
    Val rows = keep->into.rows;
    Val filter = emit_load_at(e, e->ptr, rows, offsetof(SbRows, filter), "filter");
    emit_branch(e, emit_is_nullptr(e, filter), wanted, filtered);
    emit_at(e, filtered);
    Val words = emit_load_at(e, e->ptr, filter, offsetof(SbKeyFilter, words), "words");
    Val count = emit_load_at(e, e->i64, filter, offsetof(SbKeyFilter, count), "words_count");
    Val half = emit_i64(e, 32), one = emit_i64(e, 1), bits = nullptr;
    Val at = LLVMBuildMul(e->b, LLVMBuildLShr(e->b, hash, half, ""), count, "");
    at = LLVMBuildLShr(e->b, at, half, "");
    for (int i = 0; i < SB_FILTER_BITS; i++) {
        Val place = LLVMBuildLShr(e->b, hash, emit_i64(e, (int64_t)i * SB_FILTER_SHIFT), "");
        place = LLVMBuildAnd(e->b, place, emit_i64(e, 63), "");
        Val bit = LLVMBuildShl(e->b, one, place, "");
        bits = bits ? LLVMBuildOr(e->b, bits, bit, "") : bit;
    }
    Val word = emit_load(e, e->i64, emit_index(e, e->i64, words, at), "word");
    Val has = LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildAnd(e->b, word, bits, ""), bits, "");
    // No row looks up null.
    emit_branch(e, LLVMBuildAnd(e->b, has, keep->keyed, ""), wanted, out);
    emit_at(e, out);
    Val left = emit_load_at(e, e->i64, rows, offsetof(SbRows, left_out), "");
    emit_store_at(e, LLVMBuildAdd(e->b, left, one, ""), rows, offsetof(SbRows, left_out));
    emit_jump(e, next);
    emit_at(e, wanted);
}

void terminal_keep(Emit *e, Frame *frame, uint32_t index, Block next) {
    const Terminal *terminal = &e->stage->stage->terminals[index];
    const Breaker *breaker = &e->plan->breakers[terminal->index];
    size_t depth = part_depth(e);
    Keeping keep = {.frame = frame, .breaker = breaker, .op = graph_op_at(e->graph, breaker->op),
                    .into.rows = e->stage->terminals[index]};
    Val hash = keep_hash(e, &keep);
    find_columns(e, terminal, &keep);
    read_columns(e, &keep);
    Value *shown = shown_values(e, breaker, frame);
    leave_out(e, &keep, hash, next);
    Val rows = keep.into.rows, entry = take_entry(e, rows, breaker->entry_bytes);
    keep.into.entry = entry;
    emit_store_at(e, hash, entry, offsetof(SbEntry, hash));
    emit_store_at(e, order_of(e, &keep), entry, offsetof(SbEntry, order));
    keep_whole(e, &keep);
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        part_split(e);
        keep_value(e, &keep.into, &breaker->slots[k], keep.keys[k].value);
    }
    copy_columns(e, &keep);
    for (uint32_t i = 0; i < breaker->slot_count && shown; i++)
        if (shown[i].a) keep_value(e, &keep.into, &breaker->slots[i], shown[i]);
    clear_results(e, &keep);
    keep_rest(e, &keep);
    Val count = emit_load_at(e, e->i64, rows, offsetof(SbRows, count), "");
    emit_store_at(e, LLVMBuildAdd(e->b, count, emit_i64(e, 1), ""), rows, offsetof(SbRows, count));
    emit_jump(e, next);
    part_join(e, depth);
}
