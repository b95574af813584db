// Faults: each ends in the one cold block of its row, with the number of its site.
#include "codegen/emit_part.h"
#include "codegen/emit_scan.h"

uint32_t emit_site(Emit *e, Site site) {
    for (size_t i = 0; i < e->site_count; i++) {
        const Site *old = &e->sites[i];
        if (old->step == site.step && old->span.start == site.span.start &&
            old->span.end == site.span.end && old->span.file == site.span.file &&
            old->fails == site.fails && old->merges == site.merges && text_eq(old->what, site.what))
            return (uint32_t)i;
    }
    arena_push(e->arena, e->sites, e->site_count, e->site_cap, site);
    return (uint32_t)(e->site_count - 1);
}

FaultTarget *emit_faults(const Emit *e) { return e->faults; }

void fault_target_open(Emit *e, FaultTarget *target, FaultTarget *outer, bool silent) {
    *target = (FaultTarget){.fn = e->fn, .silent = silent, .outer = outer};
}

void fault_target_row(const Emit *e, FaultTarget *target, const Frame *frame, Block next) {
    target->frame = frame;
    target->next = next;
    target->stop = e->stage->stop;
}

static Block target_block(Emit *e, FaultTarget *target) {
    if (target->block) return target->block;
    Block here = emit_here(e);
    target->block = emit_block(e, "fault");
    if (!target->silent) {
        emit_at(e, target->block);
        target->site = emit_phi(e, e->i32, "site");
        target->status = emit_phi(e, e->i32, "status");
        target->detail = emit_phi(e, e->ptr, "detail");
        target->detail_len = emit_phi(e, e->i64, "detail_len");
    }
    emit_at(e, here);
    return target->block;
}

static void raise_lane(Emit *e, Val *raised, Val bad) {
    if (e->lanes->active) bad = LLVMBuildAnd(e->b, bad, e->lanes->active, "");
    *raised = *raised ? LLVMBuildOr(e->b, *raised, bad, "") : bad;
}

void emit_doubt_if(Emit *e, Val bad) { raise_lane(e, &e->lanes->raised, bad); }

Val emit_narrow(Emit *e, Val condition) {
    Val outer = e->lanes->active;
    e->lanes->active = outer ? LLVMBuildAnd(e->b, outer, condition, "") : condition;
    return outer;
}

static void tell_target(Emit *e, FaultTarget *target, Val site, Val status, Detail detail,
                        Block from) {
    emit_phi_add(target->site, site, from);
    emit_phi_add(target->status, status, from);
    emit_phi_add(target->detail, detail.ptr ? detail.ptr : LLVMConstNull(e->ptr), from);
    emit_phi_add(target->detail_len, detail.len ? detail.len : emit_i64(e, 0), from);
}

static void fault_at(Emit *e, FaultTarget *target, Site site, Val bad, Val status, Detail detail) {
    if (e->lanes) {
        raise_lane(e, target->silent ? &target->raised : &e->lanes->raised, bad);
        return;
    }
    target = part_target(e, target);
    Block fault = target_block(e, target), from = emit_here(e), go_on = emit_block(e, "");
    emit_branch_likely(e, LLVMBuildNot(e->b, bad, ""), go_on, fault);
    if (!target->silent) {
        Val number = site.known ? site.known : emit_i32(e, emit_site(e, site));
        tell_target(e, target, number, status, detail, from);
    }
    emit_at(e, go_on);
}

void fault_pass_on(Emit *e, FaultTarget *target, Val site, Val status, Detail detail) {
    target = part_target(e, target);
    Block fault = target_block(e, target);
    tell_target(e, target, site, status, detail, emit_here(e));
    emit_jump(e, fault);
}

static bool is_of_step(const Emit *e, uint32_t breaker, BreakerKind kind, StepId step) {
    const Breaker *found = &e->plan->breakers[breaker];
    return found->kind == kind && graph_op_at(e->graph, found->op)->step.i == step.i;
}

static bool feeds(const Stage *stage, uint32_t breaker) {
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        if (!stage->terminals[t].is_sink && stage->terminals[t].index == breaker) return true;
    return false;
}

// The stage in which a step began that goes on in `stage`.
static const Stage *step_begins(const Emit *e, const Stage *stage, StepId step) {
    const Plan *plan = e->plan;
    while (stage->kind == STAGE_ROWS && plan->breakers[stage->breaker].keeps_op &&
           is_of_step(e, stage->breaker, BREAK_EDGE, step)) {
        const Stage *feeder = plan->stages;
        while (!feeds(feeder, stage->breaker)) feeder++;
        stage = feeder;
    }
    return stage;
}

// Is the row a group that its own step has finished, or comes it to the right side of a join?
static int8_t merges(const Emit *e, StepId step) {
    const Stage *stage = e->stage ? e->stage->stage : nullptr;
    if (!stage || step.i == STEP_NONE.i) return 0;
    const Stage *first = step_begins(e, stage, step);
    if (first->kind == STAGE_ROWS && is_of_step(e, first->breaker, BREAK_GROUP, step)) return 1;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        const Terminal *terminal = &stage->terminals[t];
        if (!terminal->is_sink && is_of_step(e, terminal->index, BREAK_JOIN, step)) return -1;
    }
    return 0;
}

void emit_fault_if(Emit *e, Frame *frame, Span span, Val bad, Val status, Detail detail) {
    Site site = {.step = frame->step.i, .span = span, .fails = e->faults_fail,
                 .merges = merges(e, frame->step)};
    fault_at(e, e->faults, site, bad, status, detail);
}

static Site column_site(const Emit *e, StepId step, Text column) {
    Text what = column.len ? text_format(e->arena, "column '%.*s'", TEXT_ARG(column)) : column;
    return (Site){.step = step.i, .span = {.file = SPAN_NONE}, .what = what,
                  .fails = e->plan->fails[e->stage->stage->root.i],
                  .known = e->stage->column_site};
}

uint32_t emit_column_site(Emit *e, StepId step, Text column) {
    return emit_site(e, column_site(e, step, column));
}

void emit_column_fault_if(Emit *e, StepId step, Text column, Val bad, Val status, Detail detail) {
    Site site = column_site(e, step, column);
    // A filter of the reader may be the first to ask: no `else` of it handles what the read finds.
    FaultTarget *row = e->faults;
    while (row->silent) row = row->outer;
    fault_at(e, row, site, bad, status, detail);
}

Meeting meeting_of(const Emit *e, Frame *frame) {
    Frame *root = frame_root(frame);
    while (frame && !op_is_meeting(frame->op->kind)) frame = frame->input[0];
    if (frame) return (Meeting){frame->op, frame};
    bool kept = root->breaker && root->breaker->meeting.i != OP_NONE.i;
    return kept ? (Meeting){graph_op_at(e->graph, root->breaker->meeting), root} : (Meeting){0};
}

Value meeting_column(Emit *e, Meeting meeting, uint32_t column) {
    Frame *frame = meeting.frame;
    if (frame->op == meeting.op) return frame_column(e, frame, column);
    const Breaker *edge = frame->breaker;
    return slot_load(e, &edge->slots[edge->meeting_slots[column]], frame->entry);
}

// The columns that the meeting passed on and somebody reads, as a struct in memory.
static const Type *meeting_row(Emit *e, Meeting meeting, Val *memory) {
    const Op *op = meeting.op;
    Field *fields = arena_new_array(e->arena, Field, op->column_count + 1);
    uint32_t *columns = arena_new_array(e->arena, uint32_t, op->column_count + 1), count = 0;
    for (uint32_t i = 0; i < op->column_count; i++) {
        if (op->columns[i].hidden || op->columns[i].unread) continue;
        fields[count] = (Field){op->columns[i].name, op->columns[i].type};
        columns[count++] = i;
    }
    const Type *type = type_struct(e->graph->types, fields, count);
    *memory = emit_alloca(e, LLVMArrayType2(e->i8, type_size(type)), "row");
    for (uint32_t i = 0; i < count; i++)
        emit_store_value(e, fields[i].type, meeting_column(e, meeting, columns[i]),
                         emit_offset(e, *memory, type_field_offset(type, i)));
    return type;
}

static bool is_numbered(const Op *op) {
    return op && op->kind == OP_SOURCE && op->source.kind != SOURCE_FILES;
}

// The SbPlace of a row that has one and no text.
static Val place_of(Emit *e, Frame *root) {
    if (root->breaker) return emit_offset(e, root->entry, root->breaker->place_offset);
    Val place = emit_alloca(e, LLVMArrayType2(e->i64, sizeof(SbPlace) / sizeof(int64_t)), "place");
    PlaceParts parts = frame_place_parts(e, root);
    place_store(e, &parts, place);
    return place;
}

static Val reject(Emit *e, const FaultTarget *target, Frame *frame) {
    Val site = target->site, status = target->status, detail = target->detail,
        len = target->detail_len, none = LLVMConstNull(e->ptr);
    Frame *root = frame ? frame_root(frame) : nullptr;
    Meeting meeting = root ? meeting_of(e, frame) : (Meeting){0};
    frame_store_place(e, frame);
    // Where only a lack of memory can reject, the meeting keeps nothing for it.
    if (!root || (meeting.op && !e->plan->usage.shown[meeting.op->id.i]))
        return emit_callv(e, "sb_reject_row", e->i32, arg(e->task), arg(site), arg(status),
                          arg(none), arg(none), arg(detail), arg(len));
    if (meeting.op) {
        Val memory;
        const Type *type = meeting_row(e, meeting, &memory);
        Val place = is_numbered(meeting.op) ? place_of(e, root) : none;
        return emit_callv(e, "sb_reject_made", e->i32, arg(e->task), arg(site), arg(status),
                          arg(place), arg(emit_sbtype(e, type)), arg(memory), arg(detail),
                          arg(len));
    }
    if (root->text)
        return emit_callv(e, "sb_reject_text", e->i32, arg(e->task), arg(site), arg(status),
                          arg(root->text->begin), arg(root->text->end), arg(detail), arg(len));
    if (is_numbered(root->op) || !root->breaker)
        return emit_callv(e, "sb_reject_row", e->i32, arg(e->task), arg(site), arg(status),
                          arg(place_of(e, root)), arg(root->entry), arg(detail), arg(len));
    return emit_callv(e, "sb_reject_kept", e->i32, arg(e->task), arg(site), arg(status),
                      arg(place_of(e, root)), arg(detail), arg(len));
}

void fault_target_close(Emit *e, FaultTarget *target, Frame *frame, Block next, Block stop) {
    if (!target->block) return;
    Block here = emit_here(e);
    emit_at(e, target->block);
    if (e->stage->asks) {  // The row is judged when it comes again.
        emit_jump(e, next);
        emit_at(e, here);
        return;
    }
    // Columns that the reject shows were judged before: what could fault again there cannot.
    FaultTarget *outer = e->faults, again;
    fault_target_open(e, &again, outer, true);
    again.block = stop;
    e->faults = &again;
    size_t mark = emit_region_begin(e);
    Val stops = reject(e, target, frame);
    emit_region_end(e, mark);
    e->faults = outer;
    emit_cold(e, stops);
    Val bad = LLVMBuildICmp(e->b, LLVMIntNE, stops, emit_i32(e, 0), "");
    emit_branch_likely(e, bad, stop, next);
    emit_at(e, here);
}

Val emit_call_context(Emit *e) { return emit_offset(e, e->task, offsetof(SbTask, call)); }
