// Stages over text: blocks of about a thousand indexed rows; in a block, the rows.
//
//   block: index rows ─▶ row 0, 1, ... ─▶ bad row after them? reject it ─▶ border ─▶ block
#include "codegen/emit_part.h"
#include "codegen/emit_scan.h"

Val emit_offset_at(Emit *e, Val array, Val index) {
    Val offset = emit_load(e, e->i32, emit_index(e, e->i32, array, index), "");
    return LLVMBuildZExt(e->b, offset, e->i64, "");
}

void text_begin_line(Emit *e, TextRow *row) {
    row->begin = emit_offset_at(e, row->starts, row->row);
    row->end = emit_offset_at(e, row->ends, row->row);
}

static Value load_column(Emit *e, Frame *frame, uint32_t column) {
    const SourceOp *source = &frame->op->source;
    const TextFormat *format = text_format_of(source);
    if (wide_has(frame->text, column)) return wide_column(e, frame, column);
    if (column < source->column_count) return format->column(e, frame, column);
    uint32_t hidden = column - source->column_count;  // It carries the spelling of others.
    RawSpan raw = source->raw_of[hidden];
    return raw.first == raw.last ? frame_raw(e, frame, raw.first) : format->span(e, frame, hidden);
}

static bool column_reloads(const Emit *, const Frame *frame, uint32_t column) {
    const SourceOp *source = &frame->op->source;
    if (column < source->column_count) return wide_has(frame->text, column);
    RawSpan raw = source->raw_of[column - source->column_count];
    return row_is_wide(source) && raw.first == raw.last && text_format_of(source)->raw_reloads;
}

static Val identify_text(Emit *e, Frame *frame) {
    if (frame->identity) return frame->identity;
    Val base = emit_load_at(e, e->i64, e->task, offsetof(SbTask, input.offset), "");
    Val file = emit_load_at(e, e->i32, e->task, offsetof(SbTask, input.source_file), "");
    Val offset = LLVMBuildAdd(e->b, base, frame->text->begin, "");
    return emit_callv(e, "sb_identity_text", e->i64, arg(emit_i64(e, e->stage->stage->source)),
                      arg(LLVMBuildZExt(e->b, file, e->i64, "")), arg(offset));
}

TextRow *text_open(Emit *e, const Op *op) {
    TextRow *row = arena_new_of(e->arena, TextRow);
    row->op = op;
    row->text = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, input.text), "text");
    text_format_of(&op->source)->open(e, row);
    return row;
}

static TextRow *open_indexed(Emit *e, const Op *op) {
    TextRow *row = text_open(e, op);
    row->index = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, input.index), "index");
    row->starts = emit_load_at(e, e->ptr, row->index, offsetof(SbIndex, starts), "starts");
    row->ends = emit_load_at(e, e->ptr, row->index, offsetof(SbIndex, ends), "ends");
    return row;
}

int64_t text_width(const Op *op) {
    const TextFormat *format = op->kind == OP_SOURCE ? text_format_of(&op->source) : nullptr;
    return format && format->width ? format->width(op) : 0;
}

Val text_stride(Emit *e, const TextRow *row) {
    int64_t width = text_width(row->op);
    return width == TEXT_WIDTH_OF_FILE ? text_format_of(&row->op->source)->stride(row)
                                       : emit_i64(e, width);
}

static Frame *text_frame(Emit *e, TextRow *row) {
    Frame *frame = frame_new(e, row->op, nullptr, nullptr);
    frame->text = row;
    frame->load = load_column;
    frame->reloads = column_reloads;
    frame->identify = identify_text;
    return frame;
}

Frame *text_row_at(Emit *e, Val begin) {
    TextRow *row = arena_new_of(e->arena, TextRow);
    *row = *e->stage->text;
    row->begin = begin;
    row->end = LLVMBuildAdd(e->b, begin, text_stride(e, row), "");
    return text_frame(e, row);
}

void text_judge_columns(Emit *e, Frame *frame) {
    const SourceOp *source = &frame->op->source;
    if (row_is_wide(source)) wide_judge(e, frame);
    else
        for (uint32_t i = 0; i < source->column_count; i++)
            if (source->columns[i].read) frame_column(e, frame, i);
}

// Filters directly after the read come first, each with the columns that it asks for.
static void judge_row(Emit *e, Frame *frame, Block next) {
    stage_judge_filters(e, frame, 0, next);
    text_judge_columns(e, frame);
    text_count_words(e, frame);
    stage_push(e, frame, next);
}

static void emit_text_row(Emit *e, TextRow *row, Block next) {
    StageEmit *s = e->stage;
    text_format_of(&row->op->source)->begin_row(e, row);
    Frame *frame = text_frame(e, row);
    FaultTarget target;
    fault_target_open(e, &target, nullptr, false);
    fault_target_row(e, &target, frame, next);
    size_t mark = emit_region_begin(e), depth = part_depth(e);
    e->faults = &target;
    e->faults_fail = e->plan->fails[row->op->id.i];
    const TextFormat *format = text_format_of(&row->op->source);
    if (format->judge) format->judge(e, frame);
    judge_row(e, frame, next);
    part_join(e, depth);
    emit_region_end(e, mark);
    fault_target_close(e, &target, frame, next, s->stop);
}

// The bad row after the good ones of a block.
static void emit_bad_row(Emit *e, TextRow *row, Block after) {
    if (e->stage->asks) {
        emit_jump(e, after);
        return;
    }
    Val fault = emit_load_at(e, e->i32, row->index, offsetof(SbIndex, fault), "fault");
    Block bad = emit_block(e, "bad_row");
    emit_branch_likely(e, LLVMBuildICmp(e->b, LLVMIntEQ, fault, emit_i32(e, SB_OK), ""), after,
                       bad);
    emit_at(e, bad);
    bool fails = e->plan->fails[row->op->id.i];
    uint32_t site = emit_site(
        e, (Site){.step = row->op->step.i, .span = {.file = SPAN_NONE}, .fails = fails});
    Val begin = emit_load_at(e, e->i64, row->index, offsetof(SbIndex, fault_begin), "");
    Val end = emit_load_at(e, e->i64, row->index, offsetof(SbIndex, fault_end), "");
    frame_store_place(e, nullptr);
    Val stops = emit_callv(e, "sb_reject_text", e->i32, arg(e->task), arg(emit_i32(e, site)),
                           arg(fault), arg(begin), arg(end), arg(LLVMConstNull(e->ptr)),
                           arg(emit_i64(e, 0)));
    stage_count(e, row->op->step, SB_MADE, emit_i64(e, 1));
    Val stop = LLVMBuildICmp(e->b, LLVMIntNE, stops, emit_i32(e, 0), "");
    emit_branch_likely(e, stop, e->stage->stop, after);
}

// The loop is left in the middle of a block, after `row`.
static void count_until(Emit *e, TextRow *row) {
    stage_count(e, row->op->step, SB_MADE, LLVMBuildAdd(e->b, row->row, emit_i64(e, 1), ""));
    emit_store(e, row->end, e->stage->cursor);
}

// Where the row after `row` begins, good or bad; or, of the last one, the next block.
static Val place_behind(Emit *e, const TextRow *row) {
    Val fault = emit_load_at(e, e->i32, row->index, offsetof(SbIndex, fault), "fault");
    Val bad = emit_load_at(e, e->i64, row->index, offsetof(SbIndex, fault_begin), "bad");
    Val next = emit_load_at(e, e->i64, row->index, offsetof(SbIndex, next), "next");
    Val good = LLVMBuildICmp(e->b, LLVMIntEQ, fault, emit_i32(e, SB_OK), "");
    Val last = LLVMBuildSelect(e->b, good, next, bad, "");
    Val behind = LLVMBuildAdd(e->b, row->row, emit_i64(e, 1), "");
    Val start = emit_offset_at(e, row->starts, behind);  // There is room for one more.
    Val rows = emit_load_at(e, e->i32, row->index, offsetof(SbIndex, rows), "rows");
    Val more = LLVMBuildICmp(e->b, LLVMIntSLT, behind, LLVMBuildZExt(e->b, rows, e->i64, ""), "");
    return LLVMBuildSelect(e->b, more, start, last, "");
}

static void emit_leaves(Emit *e, TextRow *row) {
    Block satisfied = e->stage->satisfied, full = e->stage->full, inside = e->stage->inside;
    if (satisfied) {
        emit_at(e, satisfied);
        count_until(e, row);
        stage_leave(e, SB_STAGE_DONE);
    }
    if (full) {
        emit_at(e, full);
        count_until(e, row);
        emit_store(e, place_behind(e, row), e->stage->cursor);
        stage_leave_full(e);
    }
    if (inside) {
        emit_at(e, inside);
        stage_count(e, row->op->step, SB_MADE, row->row);
        emit_store(e, row->begin, e->stage->cursor);
        stage_leave_full(e);
    }
}

// A row that stops the stage is counted too.
static void emit_counted_row(Emit *e, TextRow *row, Block next) {
    Block outer = e->stage->stop, stop = emit_block(e, "stop_row");
    e->stage->stop = stop;
    emit_text_row(e, row, next);
    e->stage->stop = outer;
    emit_at(e, stop);
    count_until(e, row);
    emit_jump(e, outer);
}

void stage_loop_text(Emit *e) {
    StageEmit *s = e->stage;
    const Op *op = graph_op_at(e->graph, s->stage->root);
    TextRow *row = open_indexed(e, op);
    Val end = emit_load_at(e, e->i64, e->task, offsetof(SbTask, input.end), "end");
    Block block = emit_block(e, "block"), index = emit_block(e, "index"),
          head = emit_block(e, "row_head");
    Block body = emit_block(e, "row"), next = emit_block(e, "row_next"),
          behind = emit_block(e, "behind");
    Block border = emit_block(e, "border"), done = emit_block(e, "done");
    emit_jump(e, block);

    emit_at(e, block);
    Val pos = emit_load(e, e->i64, s->cursor, "pos");
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSLT, pos, end, ""), index, done);
    emit_at(e, index);
    text_format_of(&op->source)->index(e, row, pos, end);
    Val rows32 = emit_load_at(e, e->i32, row->index, offsetof(SbIndex, rows), "rows");
    Val rows = LLVMBuildZExt(e->b, rows32, e->i64, "");
    emit_jump(e, head);

    emit_at(e, head);
    row->row = emit_phi(e, e->i64, "row");
    emit_phi_add(row->row, emit_i64(e, 0), index);
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntSLT, row->row, rows, ""), body, behind);
    emit_at(e, body);
    stage_rewind(e);
    emit_counted_row(e, row, next);
    emit_at(e, next);
    emit_phi_add(row->row, LLVMBuildAdd(e->b, row->row, emit_i64(e, 1), ""), next);
    stage_row_border(e, head);

    emit_at(e, behind);
    stage_count(e, op->step, SB_MADE, rows);
    emit_store(e, emit_load_at(e, e->i64, row->index, offsetof(SbIndex, next), ""), s->cursor);
    emit_bad_row(e, row, border);
    emit_at(e, border);
    stage_block_border(e, block);
    emit_leaves(e, row);
    emit_at(e, done);
    stage_leave(e, SB_STAGE_DONE);
}
