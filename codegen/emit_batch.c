// Batches: rows wait for their groups while the table is large (emit_group.h).
#include "codegen/emit_group.h"

#include <assert.h>
#include <stdio.h>

enum {
    BATCH_HEAD = 16,
    SLOTS_LARGE = 1 << 15,        // Slots and entries of fewer fit a core's cache.
    REWIND_BYTES = 16 * 1024,     // Scratch memory that rows may fill before it is wound back.
    WAITING_SLOTS_MAX = 16,       // Keys and kept columns of a row that waits,
    WAITING_AGGS_MAX = 48,        // and what it adds to: a record of more costs what it saves.
    LATE_BYTES = 8,               // What a function makes of a text when the batch is full.
};

static bool is_kept_as_registers(const Emit *e, ExprId id) {
    return !type_is_nested(type_base(graph_at(e->graph, id)->type));
}

// Without keys rows do not look for their group; they may for what an aggregate holds.
static bool has_to_look(const Emit *e, const Breaker *breaker) {
    const Op *op = graph_op_at(e->graph, breaker->op);
    for (uint32_t i = 0; i < group_agg_count(e, breaker); i++)
        if (op->group.aggs[i].fn && op->group.aggs[i].fn->traits & AGG_LOOKS) return true;
    return breaker->key_count;
}

// Values of nested types may lie in memory of the row. Wide rows would wait for nothing but their
// own copies: of them only a new group needs more than the key.
static bool can_wait(const Emit *e, const Breaker *breaker) {
    if (breaker->kind != BREAK_GROUP || !has_to_look(e, breaker)) return false;
    if (breaker->slot_count > WAITING_SLOTS_MAX || breaker->identity_offset != SIZE_MAX ||
        group_agg_count(e, breaker) > WAITING_AGGS_MAX)
        return false;
    for (uint32_t s = 0; s < breaker->slot_count; s++)
        if (type_is_nested(type_base(breaker->slots[s].type))) return false;
    const Op *op = graph_op_at(e->graph, breaker->op);
    for (uint32_t i = 0; i < group_agg_count(e, breaker); i++)
        for (uint32_t a = 0; a < op->group.aggs[i].arg_count; a++)
            if (!is_kept_as_registers(e, op->group.aggs[i].args[a])) return false;
    return true;
}

static Val first_record(Emit *e, Val memory) { return emit_offset(e, memory, BATCH_HEAD); }

void batches_open(Emit *e) {
    StageEmit *s = e->stage;
    s->batches = arena_new_array(e->arena, Batch, s->stage->terminal_count + 1);
    if (stage_has_kernels(e, s->stage)) return;  // Rows reach the terminals in two ways.
    for (uint32_t i = 0; i < s->stage->terminal_count; i++) {
        const Terminal *terminal = &s->stage->terminals[i];
        if (terminal->is_sink || !can_wait(e, &e->plan->breakers[terminal->index])) continue;
        Batch *batch = &s->batches[i];
        char name[48];
        snprintf(name, sizeof name, "sb_flush_%u_%u", terminal->index, e->name_count++);
        Ty params[] = {e->ptr, e->ptr, e->ptr};
        batch->breaker = &e->plan->breakers[terminal->index];
        batch->flush = LLVMAddFunction(e->module, name, LLVMFunctionType(e->i32, params, 3, false));
        LLVMSetLinkage(batch->flush, LLVMInternalLinkage);
        // Its length, the operand, is known when the stage is complete.
        batch->memory = LLVMBuildArrayAlloca(e->b, e->i8, emit_i32(e, 0), "batch");
        LLVMSetAlignment(batch->memory, 16);
        emit_store(e, first_record(e, batch->memory), batch->memory);
        s->has_batches = true;
    }
}

// ---- records ------------------------------------------------------------------------------------

typedef void EachFn(Emit *e, Batch *batch, Val *part);

static void each_value(Emit *e, Batch *batch, Value *value, EachFn *fn) {
    Val *parts[] = {&value->a, &value->b, &value->valid};
    for (size_t i = 0; i < countof(parts); i++)
        if (*parts[i]) fn(e, batch, parts[i]);
}

static void each_part(Emit *e, Batch *batch, GroupRow *row, EachFn *fn) {
    fn(e, batch, &row->hash);
    fn(e, batch, &row->order);
    for (uint32_t k = 0; k < row->breaker->key_count; k++) {
        each_value(e, batch, &row->keys[k].value, fn);
        if (row->keys[k].head) fn(e, batch, &row->keys[k].head);
        if (row->keys[k].tail) fn(e, batch, &row->keys[k].tail);
    }
    for (uint32_t i = row->breaker->key_count; i < row->breaker->slot_count; i++)
        each_value(e, batch, &row->columns[i - row->breaker->key_count], fn);
    for (uint32_t i = 0; i < group_agg_count(e, row->breaker); i++) {
        AggRow *agg = &row->aggs[i];
        if (agg->where) fn(e, batch, &agg->where);
        for (size_t a = 0; a < countof(agg->args); a++)
            each_value(e, batch, agg->late[a] ? &agg->texts[a] : &agg->args[a], fn);
    }
}

// Goes through the arguments that are computed when the batch is full.
typedef void LateFn(Emit *e, Batch *batch, AggRow *agg, size_t index, size_t offset);

static void each_late(Emit *e, Batch *batch, LateFn *fn) {
    size_t offset = batch->late_offset;
    for (uint32_t i = 0; i < group_agg_count(e, batch->breaker); i++)
        for (size_t a = 0; a < countof(batch->row.aggs[i].late); a++) {
            if (!batch->row.aggs[i].late[a]) continue;
            fn(e, batch, &batch->row.aggs[i], a, offset);
            offset += LATE_BYTES;
        }
}

// Which of the kept ones; kept_count: none.
static size_t find_kept(const Batch *batch, Val value) {
    size_t i = 0;
    while (i < batch->kept_count && batch->kept[i] != value) i++;
    return i;
}

// Constants need no place, and what several aggregates take needs one.
static void keep_part(Emit *e, Batch *batch, Val *part) {
    if (LLVMIsConstant(*part) || find_kept(batch, *part) < batch->kept_count) return;
    arena_push(e->arena, batch->kept, batch->kept_count, batch->kept_cap, *part);
}

static void count_late(Emit *, Batch *batch, AggRow *, size_t, size_t) {
    batch->bytes += LATE_BYTES;
}

static void place_parts(Emit *e, Batch *batch) {
    batch->offsets = arena_new_array(e->arena, size_t, batch->kept_count + 1);
    for (size_t i = 0; i < batch->kept_count; i++) {
        bool wide = LLVMTypeOf(batch->kept[i]) == e->i128;
        size_t align = wide ? 16 : 8;
        batch->bytes = align_up(batch->bytes, align);
        batch->offsets[i] = batch->bytes;
        batch->bytes += align;
    }
    batch->late_offset = align_up(batch->bytes, LATE_BYTES);
    batch->bytes = batch->late_offset;
    each_late(e, batch, count_late);
    batch->bytes = (batch->bytes + 15) & ~(size_t)15;
}

static void flush_call(Emit *e, const Batch *batch, Block fine) {
    const StageEmit *s = e->stage;
    Val groups = s->terminals[batch - s->batches];
    Val args[] = {e->task, groups, batch->memory};
    Val status = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(batch->flush), batch->flush, args, 3,
                                "");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, SB_OK), ""), fine,
                       s->stop);
}

static void ask(Emit *e, Val address) {
    enum { FOR_READING = 0, KEEP = 3, DATA = 1 };
    Val args[] = {address, emit_i32(e, FOR_READING), emit_i32(e, KEEP), emit_i32(e, DATA)};
    emit_intrinsic(e, "llvm.prefetch", &e->ptr, 1, args, countof(args));
}

// Asks for the row's slot and for those after it; sb_groups_ask goes on from there.
static void ask_slot(Emit *e, Val groups, Val mask, Val hash) {
    enum { SLOTS_BEHIND = 5 };
    Val slots = emit_load_at(e, e->ptr, groups, offsetof(SbGroups, slots), "slots");
    Val slot = emit_index(e, e->i64, slots, LLVMBuildAnd(e->b, hash, mask, ""));
    ask(e, slot);
    ask(e, emit_offset(e, slot, SLOTS_BEHIND * sizeof(uint64_t)));
}

// Behind column loops the rows of a chunk that may fault come by another way. None waits then, as a
// chunk ends with a flush.
bool batch_takes(const Emit *e, const Batch *batch) {
    return batch->flush && (!e->stage->stage->columns.op_count || e->stage->behind);
}

void batch_row(Emit *e, Batch *batch, const GroupRow *row, Block next) {
    batch->row = *row;
    batch->row.frame = nullptr;
    batch->row.only = nullptr;
    assert(!batch->kept_count);  // Rows reach a terminal in one way: so they come in order.
    if (row->breaker->key_count)  // sb_groups_ask finds it there.
        arena_push(e->arena, batch->kept, batch->kept_count, batch->kept_cap, row->hash);
    each_part(e, batch, &batch->row, keep_part);
    place_parts(e, batch);
    Block wait = emit_block(e, "wait"), full = emit_block(e, "batch_full"),
          direct = emit_block(e, "direct");
    Val groups = e->stage->terminals[batch - e->stage->batches];
    Val mask = emit_load_at(e, e->i64, groups, offsetof(SbGroups, mask), "mask");
    Val is_large = LLVMBuildICmp(e->b, LLVMIntUGE, mask, emit_i64(e, SLOTS_LARGE - 1), "");
    emit_branch(e, row->breaker->key_count ? is_large : emit_i1(e, true), wait, direct);
    emit_at(e, wait);
    if (row->breaker->key_count) ask_slot(e, groups, mask, row->hash);
    Val record = emit_load(e, e->ptr, batch->memory, "free");
    for (size_t i = 0; i < batch->kept_count; i++)
        emit_store_at(e, batch->kept[i], record, batch->offsets[i]);
    Val behind = emit_offset(e, record, batch->bytes);
    emit_store(e, behind, batch->memory);
    Val end = emit_offset(e, first_record(e, batch->memory), batch->bytes * SB_BATCH_ROWS);
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntNE, behind, end, ""), next, full);
    emit_at(e, full);
    flush_call(e, batch, next);
    emit_at(e, direct);
}

static bool passes_on(const Frame *frame) {
    return !frame->load && (frame->op->kind == OP_FILTER || frame->op->kind == OP_HINT);
}

// The call that computes the column of `frame`, over the columns of the frame that it becomes;
// null: something else does, or it is there already.
static const Expr *computing_call(Emit *e, Frame **frame, ExprId id) {
    const Expr *x = graph_at(e->graph, id);
    while (x->op == EXPR_COLUMN) {
        Frame *from = (*frame)->input[0];
        while (passes_on(from)) from = from->input[0];
        bool computes = from->op->kind == OP_PROJECT && !from->load;
        if (!computes || from->columns[x->index].a) return nullptr;
        *frame = from;
        x = graph_at(e->graph, from->op->project.items[x->index].expr);
    }
    return x->op == EXPR_CALL ? x : nullptr;
}

bool batch_leaves_late(Emit *e, Frame *over, const Agg *agg, uint32_t i, AggRow *row) {
    Frame *frame = over;
    const Expr *call = expr_is_none(agg->where) ? computing_call(e, &frame, agg->args[i]) : nullptr;
    if (!call || call->fn->traits != FN_EACH || emit_type(e, call->type) != e->i64) return false;
    Value text = emit_expr(e, frame, call->args[0]);
    if (LLVMIsConstant(text.a) || LLVMIsConstant(text.b)) return false;  // It has no place.
    row->texts[i] = text;
    row->late[i] = call->fn;
    return true;
}

Value batch_late_now(Emit *e, const AggRow *row, uint32_t i) {
    return (Value){.a = emit_callv(e, text_c(e->arena, row->late[i]->symbol), e->i64,
                                   arg_pair(row->texts[i].a, row->texts[i].b))};
}

// ---- flushing -----------------------------------------------------------------------------------

void batches_flush(Emit *e) {
    const StageEmit *s = e->stage;
    for (uint32_t i = 0; i < s->stage->terminal_count; i++) {
        if (!s->batches[i].flush) continue;
        Block some = emit_block(e, "flush"), end = emit_block(e, "flushed");
        Val memory = s->batches[i].memory, free = emit_load(e, e->ptr, memory, "free");
        emit_branch(e, LLVMBuildICmp(e->b, LLVMIntEQ, free, first_record(e, memory), ""), end,
                    some);
        emit_at(e, some);
        flush_call(e, &s->batches[i], end);
        emit_at(e, end);
    }
}

void stage_rewind(Emit *e) {
    Val call = emit_offset(e, e->task, offsetof(SbTask, call));
    Val at = emit_load_at(e, e->ptr, call, offsetof(SbCall, at), "");
    Val begin = emit_load_at(e, e->ptr, call, offsetof(SbCall, begin), "");
    Val used = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, at, e->i64, ""),
                            LLVMBuildPtrToInt(e->b, begin, e->i64, ""), "used");
    Val bytes = emit_i64(e, e->stage->has_batches ? REWIND_BYTES : 0);
    Block rewind = emit_block(e, "rewind"), fresh = emit_block(e, "fresh");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntULE, used, bytes, ""), fresh, rewind);
    emit_at(e, rewind);
    batches_flush(e);
    emit_callv(e, "sb_scratch_rewind", e->type_void, arg(call));
    emit_jump(e, fresh);
    emit_at(e, fresh);
}

static void load_part(Emit *e, Batch *batch, Val *part) {
    size_t i = find_kept(batch, *part);
    if (i < batch->kept_count)
        *part = emit_load_at(e, LLVMTypeOf(*part), batch->record, batch->offsets[i], "");
}

// The constant SbWaiting. Of a key that is a constant no long text is asked for.
static Val waiting_layout(Emit *e, const Batch *batch) {
    const Breaker *breaker = batch->breaker;
    int64_t text_offset = -1, len_offset = 0;
    for (uint32_t k = 0; k < breaker->key_count && text_offset < 0; k++) {
        if (!breaker->slots[k].key_str) continue;
        size_t i = find_kept(batch, batch->row.keys[k].value.b);
        if (i == batch->kept_count) continue;
        text_offset = (int64_t)breaker->slots[k].offset;
        len_offset = (int64_t)batch->offsets[i];
    }
    Parts parts = {0};
    part_add(e, &parts, offsetof(SbWaiting, record_bytes), emit_i64(e, (int64_t)batch->bytes), 8);
    part_add(e, &parts, offsetof(SbWaiting, text_offset), emit_i64(e, text_offset), 8);
    part_add(e, &parts, offsetof(SbWaiting, len_offset), emit_i64(e, len_offset), 8);
    return emit_global(e, parts_struct(e, &parts, sizeof(SbWaiting)), "waiting");
}

static int64_t place_of(const Batch *batch, Val value) {
    return (int64_t)batch->offsets[find_kept(batch, value)];
}

// Computes an argument for all records.
static void compute_late(Emit *e, Batch *batch, AggRow *agg, size_t index, size_t offset) {
    const FnRef *fn = agg->late[index];
    const char *symbol = text_c(e->arena,
                                text_format(e->arena, "%.*s_each", TEXT_ARG(fn->symbol)));
    Value text = agg->texts[index];
    Parts parts = {0};
    part_add(e, &parts, offsetof(SbEach, record_bytes), emit_i64(e, (int64_t)batch->bytes), 8);
    part_add(e, &parts, offsetof(SbEach, ptr_offset), emit_i64(e, place_of(batch, text.a)), 8);
    part_add(e, &parts, offsetof(SbEach, len_offset), emit_i64(e, place_of(batch, text.b)), 8);
    part_add(e, &parts, offsetof(SbEach, out_offset), emit_i64(e, (int64_t)offset), 8);
    Val layout = emit_global(e, parts_struct(e, &parts, sizeof(SbEach)), "each");
    emit_hotv(e, symbol, e->type_void, arg(batch->records), arg(batch->count), arg(layout));
}

static void load_late(Emit *e, Batch *batch, AggRow *agg, size_t index, size_t offset) {
    agg->args[index] = (Value){.a = emit_load_at(e, e->i64, batch->record, offset, "late")};
    agg->late[index] = nullptr;
}

// Adds the rows of all records, of which there is one at least.
static void add_records(Emit *e, Batch *batch, Val groups, Val end) {
    Block body = emit_block(e, "row"), latch = emit_block(e, "row_next"),
          done = emit_block(e, "done"), from = emit_here(e);
    emit_jump(e, body);
    emit_at(e, body);
    batch->record = emit_phi(e, e->ptr, "record");
    emit_phi_add(batch->record, batch->records, from);
    each_part(e, batch, &batch->row, load_part);
    each_late(e, batch, load_late);
    group_add_row(e, &batch->row, groups, latch);
    emit_at(e, latch);
    Val behind = emit_offset(e, batch->record, batch->bytes);
    emit_phi_add(batch->record, behind, latch);
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, behind, end, ""), body, done);
    emit_at(e, done);
    LLVMBuildRet(e->b, emit_i32(e, SB_OK));
}

static Val count_records(Emit *e, const Batch *batch, Val end) {
    Val bytes = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, end, e->i64, ""),
                             LLVMBuildPtrToInt(e->b, batch->records, e->i64, ""), "");
    return LLVMBuildExactUDiv(e->b, bytes, emit_i64(e, (int64_t)batch->bytes), "count");
}

static void emit_flush(Emit *e, Batch *batch) {
    size_t len;
    const Op *op = graph_op_at(e->graph, batch->breaker->op);
    StageEmit inner = {.stage = e->stage->stage};
    emit_function_open(e, batch->flush);
    e->stage = &inner;
    e->task = LLVMGetParam(e->fn, 0);
    emit_debug_function(e, op->span, LLVMGetValueName2(batch->flush, &len));
    Block begin = emit_block(e, "begin");
    emit_at(e, e->entry);
    emit_jump(e, begin);
    inner.stop = emit_block(e, "stop");
    emit_at(e, inner.stop);
    LLVMBuildRet(e->b, emit_i32(e, SB_FAULT_TOO_LARGE));
    emit_at(e, begin);
    Val groups = LLVMGetParam(e->fn, 1), memory = LLVMGetParam(e->fn, 2);
    Val end = emit_load(e, e->ptr, memory, "end");
    batch->records = first_record(e, memory);
    batch->count = count_records(e, batch, end);
    emit_store(e, batch->records, memory);
    if (batch->breaker->key_count)
        emit_callv(e, "sb_groups_ask", e->type_void, arg(groups), arg(batch->records),
                   arg(batch->count), arg(waiting_layout(e, batch)));
    each_late(e, batch, compute_late);
    add_records(e, batch, groups, end);
}

void batches_close(Emit *e) {
    StageEmit *s = e->stage;
    for (uint32_t i = 0; i < s->stage->terminal_count; i++) {
        Batch *batch = &s->batches[i];
        if (!batch->flush) continue;
        LLVMSetOperand(batch->memory, 0,
                       emit_i32(e, BATCH_HEAD + (uint32_t)batch->bytes * SB_BATCH_ROWS));
        e->stage = s;
        emit_flush(e, batch);
    }
    e->stage = s;
}
