// Faults: each ends in the one cold block of its row, with the number of its site.
#include "codegen/emit_row.h"

uint32_t emit_site(Emit *e, Site site) {
    for (size_t i = 0; i < e->site_count; i++) {
        const Site *old = &e->sites[i];
        if (old->step == site.step && old->span.start == site.span.start &&
            old->span.end == site.span.end && old->span.file == site.span.file &&
            old->fails == site.fails && text_eq(old->what, site.what))
            return (uint32_t)i;
    }
    arena_push(e->arena, e->sites, e->site_count, e->site_cap, site);
    return (uint32_t)(e->site_count - 1);
}

FaultTarget *emit_faults(const Emit *e) { return e->faults; }

void emit_faults_set(Emit *e, FaultTarget *target) { e->faults = target; }

void fault_target_open(FaultTarget *target, FaultTarget *outer, bool silent) {
    *target = (FaultTarget){.silent = silent, .outer = outer};
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

static void fault_at(Emit *e, FaultTarget *target, Site site, Val bad, Val status, Detail detail) {
    Block fault = target_block(e, target), from = emit_here(e), go_on = emit_block(e, "");
    emit_branch_likely(e, LLVMBuildNot(e->b, bad, ""), go_on, fault);
    if (!target->silent) {
        emit_phi_add(target->site, emit_i32(e, emit_site(e, site)), from);
        emit_phi_add(target->status, status, from);
        emit_phi_add(target->detail, detail.ptr ? detail.ptr : LLVMConstNull(e->ptr), from);
        emit_phi_add(target->detail_len, detail.len ? detail.len : emit_i64(e, 0), from);
    }
    emit_at(e, go_on);
}

void emit_fault_if(Emit *e, Frame *frame, Span span, Val bad, Val status, Detail detail) {
    Site site = {.step = frame->step.i, .span = span, .fails = e->faults_fail};
    fault_at(e, e->faults, site, bad, status, detail);
}

void emit_column_fault_if(Emit *e, StepId step, Text column, Val bad, Val status, Detail detail) {
    Site site = {.step = step.i, .span = {.file = SPAN_NONE}, .what = column, .fails = e->faults_fail};
    fault_at(e, e->faults, site, bad, status, detail);
}

void fault_target_close(Emit *e, FaultTarget *target, const RowOrigin *origin, Block next,
                        Block stop) {
    if (!target->block) return;
    Block here = emit_here(e);
    emit_at(e, target->block);
    Val rest[] = {target->site, target->status, target->detail, target->detail_len};
    Val stops;
    if (origin->text)
        stops = emit_callv(e, "sb_reject_text", e->i32, arg(e->task), arg(rest[0]), arg(rest[1]),
                           arg(origin->begin), arg(origin->end), arg(rest[2]), arg(rest[3]));
    else
        stops = emit_callv(e, "sb_reject_row", e->i32, arg(e->task), arg(rest[0]), arg(rest[1]),
                           arg(origin->entry), arg(rest[2]), arg(rest[3]));
    emit_cold(e, stops);
    Val bad = LLVMBuildICmp(e->b, LLVMIntNE, stops, emit_i32(e, 0), "");
    emit_branch_likely(e, bad, stop, next);
    emit_at(e, here);
}

Val emit_call_context(Emit *e) { return emit_offset(e, e->task, offsetof(SbTask, call)); }
