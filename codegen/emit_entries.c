// Stages over rows in memory: what a breaker finished, records of a source, a range of numbers, and
// text whose rows have one width. Numbers of the latter are places in the text.
#include "codegen/emit_part.h"
#include "codegen/emit_scan.h"
#include "codegen/emit_stage.h"

#include <stdio.h>

enum { BLOCK_ROWS = COLUMN_ROWS };

// ---- columns of each kind of root ---------------------------------------------------------------

static Value load_kept(Emit *e, Frame *frame, uint32_t column) {
    const Breaker *breaker = frame->breaker;
    return slot_load(e, &breaker->slots[breaker->slot_of[column]], frame->entry);
}

// After the aggregates' end functions. A fault there fails the job.
static Value load_aggregate(Emit *e, Frame *frame, const Agg *agg, size_t offset) {
    Val state = emit_offset(e, frame->entry, offset);
    if (!agg->fn) return (Value){.a = emit_load(e, e->i64, state, "rows")};
    uint32_t traits = agg->fn->traits;
    const char *symbol = text_c(e->arena,
                                text_format(e->arena, "%.*s_end", TEXT_ARG(agg->fn->symbol)));
    Arg args[8];
    unsigned count = 0;
    if (traits & AGG_CALL) args[count++] = arg_context(e);
    args[count++] = arg(state);
    if (traits & AGG_TYPED)
        args[count++] = arg(emit_sbtype(e, group_value_type(e, agg)));
    if (!expr_is_none(agg->option)) {
        Value option = emit_expr(e, frame, agg->option);
        args[count++] = option.b ? arg_pair(option.a, option.b) : arg(option.a);
    }
    const Type *base = type_base(agg->type);
    bool by_status = traits & (AGG_MAYBE | AGG_FALLIBLE) || base->kind == TYPE_STRUCT;
    if (by_status) {
        bool fails = e->faults_fail;
        e->faults_fail = true;
        Value value = emit_status_call(
            e, frame, &(StatusCall){agg->span, symbol, args, count, agg->type, {0}, {0}});
        e->faults_fail = fails;
        return value;
    }
    if (type_is_bytes(base) || type_is_sequence(base)) {
        Val pair = emit_call(e, symbol, e->str_pair, args, count);
        return (Value){LLVMBuildExtractValue(e->b, pair, 0, ""),
                       LLVMBuildExtractValue(e->b, pair, 1, ""), nullptr};
    }
    return (Value){.a = emit_call(e, symbol, emit_type(e, base), args, count)};
}

static Value load_group(Emit *e, Frame *frame, uint32_t column) {
    const Op *op = frame->op;
    uint32_t keys = op->group.key_count;
    if (column < keys) return slot_load(e, &frame->breaker->slots[column], frame->entry);
    const Agg *agg = &op->group.aggs[column - keys];
    Value value = load_aggregate(e, frame, agg, frame->breaker->state_offsets[column - keys]);
    return emit_as_type(e, op->columns[column].type, value);
}

static Value load_windowed(Emit *e, Frame *frame, uint32_t column) {
    const Breaker *breaker = frame->breaker;
    const WindowFn *fn = window_fn(frame->op, column);
    uint32_t slot = fn ? breaker->result_slots[fn - frame->op->window.fns]
                       : breaker->slot_of[frame->op->window.from[column]];
    return slot_load(e, &breaker->slots[slot], frame->entry);
}

// A join's right rows without a match: the left side is null.
static Value load_unmatched(Emit *e, Frame *frame, uint32_t column) {
    const Op *op = frame->op;
    const JoinColumn *from = &op->join.columns[column];
    const Type *type = op->columns[column].type;
    if (from->side == 0 && !from->merged) return emit_const(e, type, &(Const){.is_null = true});
    uint32_t right = from->side == 0 ? from->merged_index : from->index;
    const Breaker *breaker = frame->breaker;
    return emit_as_type(e, type,
                      slot_load(e, &breaker->slots[breaker->slot_of[right]], frame->entry));
}

// Rows of `files` and of inline tables: the columns as a C struct after the SbEntry.
size_t record_offset(const SourceOp *source, uint32_t column) {
    size_t offset = sizeof(SbEntry);
    for (uint32_t i = 0;; i++) {
        size_t align = type_align(source->columns[i].type);
        offset = align_up(offset, align);
        if (i == column) return offset;
        offset += type_size(source->columns[i].type);
    }
}

static Value load_record(Emit *e, Frame *frame, uint32_t column) {
    const SourceOp *source = &frame->op->source;
    return emit_load_value(e, source->columns[column].type,
                           emit_offset(e, frame->entry, record_offset(source, column)));
}

static bool in_entry(const Emit *, const Frame *, uint32_t) { return true; }

static Value load_number(Emit *e, Frame *frame, uint32_t column) {
    (void)e, (void)column;
    return (Value){.a = frame->number};
}

static Value load_zipped(Emit *e, Frame *frame, uint32_t column) {
    const Op *op = frame->op;
    uint32_t left = graph_op_at(e->graph, op->inputs[0])->column_count;
    const Breaker *side =
        &e->plan->breakers[column < left ? e->stage->stage->breaker : e->stage->stage->zip_breaker];
    uint32_t at = column < left ? column : column - left;
    return slot_load(e, &side->slots[side->slot_of[at]],
                     column < left ? frame->entry : frame->right);
}

static Val identify_record(Emit *e, Frame *frame) {
    bool files = frame->op->source.kind == SOURCE_FILES;
    Val file = files ? frame_file(e, frame) : emit_i64(e, 0);
    return emit_callv(e, "sb_identity_text", e->i64, arg(emit_i64(e, e->stage->stage->source)),
                      arg(file), arg(files ? emit_i64(e, 0) : frame->number));
}

static Val identify_kept(Emit *e, Frame *frame) {
    return emit_load_at(e, e->i64, frame->entry, frame->breaker->identity_offset, "identity");
}

static Val identify_zipped(Emit *e, Frame *frame) {
    const Breaker *right = &e->plan->breakers[e->stage->stage->zip_breaker];
    Val number = emit_load_at(e, e->i64, frame->right, right->identity_offset, "identity");
    return emit_callv(e, "sb_identity_next", e->i64, arg(identify_kept(e, frame)), arg(number));
}

static void set_loader(Emit *e, Frame *frame) {
    const Stage *stage = e->stage->stage;
    const Op *op = frame->op;
    if (stage->kind == STAGE_SCAN) {
        frame->load = op->source.kind == SOURCE_RANGE ? load_number : load_record;
        frame->identify = identify_record;
        return;
    }
    frame->breaker = &e->plan->breakers[stage->breaker];
    frame->identify = stage->zip_breaker == BREAKER_NONE ? identify_kept : identify_zipped;
    if (stage->kind == STAGE_UNMATCHED) frame->load = load_unmatched;
    else if (stage->zip_breaker != BREAKER_NONE) frame->load = load_zipped;
    else if (frame->breaker->kind == BREAK_GROUP && op->kind == OP_GROUP) frame->load = load_group;
    else if (frame->breaker->kind == BREAK_SORT && op->kind == OP_WINDOW)
        frame->load = load_windowed;
    else frame->load = load_kept;
    if (frame->load != load_group) frame->reloads = in_entry;
}

// ---- loops --------------------------------------------------------------------------------------

typedef struct RowLoop {
    Val   number;    // Of the row.
    Block body, next, done;
    Block begin;     // The start of a block of rows: must go on at chunk.rows.
    Chunk chunk;
} RowLoop;

Val stage_stride(Emit *e) {
    return e->stage->text ? text_stride(e, e->stage->text) : emit_i64(e, 1);
}

bool stage_strides(const Emit *e) {
    return e->stage->text && text_width(e->stage->text->op) != 1;
}

// Rows from one number to another.
static Val rows_between(Emit *e, Val from, Val to) {
    return LLVMBuildSDiv(e->b, LLVMBuildSub(e->b, to, from, ""), stage_stride(e), "");
}

// A file of rows of one width that is cut short ends in less than a row, which is none.
static void leave_cut_row(Emit *e, Val count, Val end, const RowLoop *loop) {
    if (!stage_strides(e)) return;
    Block cut = emit_block(e, "cut_row"), whole = emit_block(e, "whole_rows");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSGT, count, emit_i64(e, 0), ""), whole, cut);
    emit_at(e, cut);
    emit_store(e, end, e->stage->cursor);
    emit_jump(e, loop->done);
    emit_at(e, whole);
}

// Rows cursor..end in blocks: `body` is entered for each, and goes on at `next`.
static RowLoop begin_loop(Emit *e) {
    StageEmit *s = e->stage;
    Val end = emit_load_at(e, e->i64, e->task, offsetof(SbTask, input.end), "end");
    Block block = emit_block(e, "block"), some = emit_block(e, "rows"),
          head = emit_block(e, "row_head");
    Block behind = emit_block(e, "behind"), rows = emit_block(e, "by_row");
    Val row = emit_alloca(e, e->i64, "at_row");
    RowLoop loop = {.body = emit_block(e, "row"), .next = emit_block(e, "row_next"),
                    .done = emit_block(e, "done"), .begin = some};
    emit_jump(e, block);
    emit_at(e, block);
    Val first = emit_load(e, e->i64, s->cursor, "first");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSLT, first, end, ""), some, loop.done);
    emit_at(e, some);
    Val left = rows_between(e, first, end), stride = stage_stride(e);
    Val small = LLVMBuildICmp(e->b, LLVMIntSLT, left, emit_i64(e, BLOCK_ROWS), "");
    Val count = LLVMBuildSelect(e->b, small, left, emit_i64(e, BLOCK_ROWS), "");
    leave_cut_row(e, count, end, &loop);
    loop.begin = emit_here(e);
    Val last = LLVMBuildAdd(e->b, first, LLVMBuildMul(e->b, count, stride, ""), "");
    loop.chunk = (Chunk){first, count, row, rows, behind};
    emit_at(e, rows);
    emit_jump(e, head);
    emit_at(e, head);
    loop.number = emit_phi(e, e->i64, "row");
    emit_phi_add(loop.number, first, rows);
    emit_store(e, loop.number, row);
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSLT, loop.number, last, ""), loop.body, behind);
    emit_at(e, loop.next);
    emit_phi_add(loop.number, LLVMBuildAdd(e->b, loop.number, stride, ""), loop.next);
    stage_row_border(e, head);
    emit_at(e, behind);
    emit_store(e, last, s->cursor);
    const Op *root = graph_op_at(e->graph, s->stage->root);
    if (s->stage->kind == STAGE_SCAN) stage_count(e, root->step, SB_MADE, count);
    stage_block_border(e, block);
    // Left in the middle of a block: the row that has all, that fills the partition, or that stops
    // the stage, is counted too; one inside which the stage goes on comes once more.
    Block stop = emit_block(e, "stop_row"), leaves[] = {stop, s->satisfied, s->full, s->inside};
    for (size_t i = 0; i < countof(leaves); i++) {
        if (!leaves[i]) continue;
        emit_at(e, leaves[i]);
        Val taken = emit_load(e, e->i64, row, "");
        if (leaves[i] != s->inside) taken = LLVMBuildAdd(e->b, taken, stride, "");
        emit_store(e, taken, s->cursor);
        if (s->stage->kind == STAGE_SCAN)
            stage_count(e, root->step, SB_MADE, rows_between(e, first, taken));
        if (leaves[i] == stop) emit_jump(e, s->stop);
        else if (leaves[i] == s->full || leaves[i] == s->inside) stage_leave_full(e);
        else stage_leave(e, SB_STAGE_DONE);
    }
    s->stop = stop;
    emit_at(e, loop.done);
    stage_leave(e, SB_STAGE_DONE);
    return loop;
}

// Results of aggregates are judged for every row, whatever follows. A fault there has no row.
static void judge_results(Emit *e, Frame *frame, FaultTarget *target) {
    const Breaker *breaker = frame->breaker;
    FaultTarget *outer = e->faults;
    e->faults = target;
    for (uint32_t i = 0; i < frame->op->group.agg_count; i++) {
        if (breaker->state_offsets[i] == SIZE_MAX) continue;
        part_split(e);
        frame_column(e, frame, frame->op->group.key_count + i);
    }
    e->faults = outer;
}

void stage_push_root(Emit *e, Frame *frame, uint32_t filter, Block next) {
    StageEmit *s = e->stage;
    FaultTarget target, results;
    fault_target_open(e, &target, nullptr, false);
    fault_target_open(e, &results, nullptr, false);
    fault_target_row(e, &target, frame, next);
    size_t mark = emit_region_begin(e), depth = part_depth(e);
    e->faults = &target;
    e->faults_fail = e->plan->fails[frame->op->id.i];
    if (s->stage->kind == STAGE_SCAN) stage_judge_filters(e, frame, filter, next);
    if (frame->text) text_judge_columns(e, frame);
    if (frame->load == load_group) judge_results(e, frame, &results);
    stage_push(e, frame, next);
    part_join(e, depth);
    emit_region_end(e, mark);
    fault_target_close(e, &results, nullptr, next, s->stop);
    fault_target_close(e, &target, frame, next, s->stop);
}

// Before a row whose batch has not been called for yet. Rows that wait may hold its results: they
// go on first.
static void fill_batch(Emit *e, Val number) {
    Block fill = emit_block(e, "batch"), there = emit_block(e, "in_batch");
    Val first = emit_load_at(e, e->i64, e->task, offsetof(SbTask, batch.first), "");
    Val count = emit_load_at(e, e->i64, e->task, offsetof(SbTask, batch.count), "");
    Val inside = LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, number, first, ""), count, "");
    emit_branch_likely(e, inside, there, fill);
    emit_at(e, fill);
    batches_flush(e);
    emit_callv(e, "sb_batch_fill", e->type_void, arg(e->task), arg(number));
    emit_jump(e, there);
    emit_at(e, there);
}

// Rows in order lie anywhere: a later row is asked for, so that few are waited for.
static void ask_entry(Emit *e, Val entries, Val number) {
    enum { AHEAD = 8, LINE = 64, LINES = 2, FOR_READING = 0, KEEP = 3, DATA = 1 };
    Val end = emit_load_at(e, e->i64, e->task, offsetof(SbTask, input.end), "end");
    Val later = LLVMBuildAdd(e->b, number, emit_i64(e, AHEAD), "");
    Val last = LLVMBuildSub(e->b, end, emit_i64(e, 1), "");
    Val at = emit_intrinsic(e, "llvm.smin", &e->i64, 1, (Val[]){later, last}, 2);
    Val entry = emit_load(e, e->ptr, emit_index(e, e->ptr, entries, at), "later");
    for (size_t line = 0; line < LINES; line++) {
        Val args[] = {emit_offset(e, entry, line * LINE), emit_i32(e, FOR_READING),
                      emit_i32(e, KEEP), emit_i32(e, DATA)};
        emit_intrinsic(e, "llvm.prefetch", &e->ptr, 1, args, countof(args));
    }
}

static void push_entry(Emit *e, Val entries, Val right, const RowLoop *loop) {
    Frame *frame = frame_new(e, graph_op_at(e->graph, e->stage->stage->root), nullptr, nullptr);
    frame->number = loop->number;
    ask_entry(e, entries, loop->number);
    frame->entry = emit_load(e, e->ptr, emit_index(e, e->ptr, entries, loop->number), "entry");
    if (right)
        frame->right = emit_load(e, e->ptr, emit_index(e, e->ptr, right, loop->number),
                                 "right_entry");
    set_loader(e, frame);
    stage_push_root(e, frame, 0, loop->next);
}

// True: the builder goes on with rows that a kernel has worked on. `judged` gets all others.
static bool asks_kernels(Emit *e, RowLoop *loop, Block judged) {
    kernels_ask(e, loop->number, judged, loop->next);
    e->stage->by_kernel = !stage_kernel_groups(e, e->stage->stage);
    if (e->stage->by_kernel) return true;
    emit_jump(e, loop->next);
    loop->next = kernel_groups_next(e, loop->next);
    return false;
}

void stage_loop_entries(Emit *e) {
    StageEmit *s = e->stage;
    Val entries = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, input.entries), "entries");
    bool zip = s->stage->kind == STAGE_ROWS && s->stage->zip_breaker != BREAKER_NONE;
    Val right = zip ? emit_load_at(e, e->ptr, e->task, offsetof(SbTask, input.right), "right")
                    : nullptr;
    RowLoop loop = begin_loop(e);
    emit_at(e, loop.begin);
    emit_jump(e, loop.chunk.rows);
    emit_at(e, loop.body);
    stage_rewind(e);
    if (stage_batch_call(e, s->stage)) fill_batch(e, loop.number);
    if (stage_has_kernels(e, s->stage) && !s->asks) {
        Block judged = emit_block(e, "judged_row");
        if (asks_kernels(e, &loop, judged)) push_entry(e, entries, nullptr, &loop);
        s->by_kernel = false;
        emit_at(e, judged);
    }
    push_entry(e, entries, right, &loop);
}

Frame *stage_number_row(Emit *e, Val number) {
    if (e->stage->text) return text_row_at(e, number);
    Frame *frame = frame_new(e, graph_op_at(e->graph, e->stage->stage->root), nullptr, nullptr);
    frame->number = number;
    set_loader(e, frame);
    if (e->lanes) return frame;
    frame->entry = emit_alloca(e, LLVMArrayType2(e->i8, sizeof(SbEntry) + sizeof(int64_t)),
                               "range_row");
    emit_store_at(e, number, frame->entry, sizeof(SbEntry));  // What a reject shows.
    return frame;
}

struct ColumnEmit *stage_loop_numbers(Emit *e) {
    StageEmit *s = e->stage;
    const Op *root = graph_op_at(e->graph, s->stage->root);
    if (text_width(root)) s->text = text_open(e, root);
    RowLoop loop = begin_loop(e);
    bool kernels = stage_has_kernels(e, s->stage) && !s->asks;
    emit_at(e, loop.body);
    stage_rewind(e);
    if (kernels) {
        Block judged = emit_block(e, "judged_row");
        if (asks_kernels(e, &loop, judged))
            stage_push_root(e, stage_number_row(e, loop.number), 0, loop.next);
        s->by_kernel = false;
        emit_at(e, judged);
    }
    stage_push_root(e, stage_number_row(e, loop.number), 0, loop.next);
    emit_at(e, loop.begin);
    if (kernels) {
        Block judged = emit_block(e, "judged_chunk");
        kernels_take_chunk(e, &loop.chunk, judged);
        emit_at(e, judged);
    }
    if (!s->stage->columns.op_count) {
        emit_jump(e, loop.chunk.rows);
        return nullptr;
    }
    return stage_columns(e, &loop.chunk);
}
