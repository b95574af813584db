// Setup: what the job must know before it opens anything, computed from its parameters.
#include "codegen/emit_job.h"
#include "codegen/emit_scan.h"

typedef struct SetupEmit {
    Val     setup;
    Frame  *frame;
} SetupEmit;

static Val array_at(Emit *e, const SetupEmit *s, size_t field, size_t stride, uint32_t index) {
    Val array = emit_load_at(e, e->ptr, s->setup, field, "");
    return emit_offset(e, array, stride * index);
}

// [str] as it is; a str as a list of one.
static void store_paths(Emit *e, const SetupEmit *s, ExprId path, uint32_t index) {
    const Type *type = graph_at(e->graph, path)->type;
    Value value = emit_expr(e, s->frame, path);
    Val out = array_at(e, s, offsetof(SbSetup, source_paths), sizeof(SbList), index);
    if (type->kind != TYPE_LIST) {
        Val call = emit_offset(e, e->task,
                               offsetof(SbTask, call));  // As the text itself, not setup's copy.
        Val one = emit_callv(e, "sb_take", e->ptr, arg(call), arg(emit_i64(e, sizeof(SbStr))));
        emit_store(e, value.a, one);
        emit_store_at(e, value.b, one, 8);
        value = (Value){.a = one, .b = emit_i64(e, 1)};
    }
    emit_store(e, value.a, out);
    emit_store_at(e, value.b, out, 8);
}

static void store_i64(Emit *e, const SetupEmit *s, size_t field, uint32_t index, ExprId expr,
                      int64_t instead) {
    Val value = expr_is_none(expr) ? emit_i64(e, instead) : emit_expr(e, s->frame, expr).a;
    emit_store(e, value, array_at(e, s, field, sizeof(int64_t), index));
}

static void setup_sources(Emit *e, const SetupEmit *s) {
    enum : int64_t { ROW_MAX = 16 * 1024 * 1024 };
    for (uint32_t i = 0; i < e->plan->source_count; i++) {
        const SourceOp *source = &graph_op_at(e->graph, e->plan->sources[i])->source;
        if (source->kind == SOURCE_RANGE)
            store_i64(e, s, offsetof(SbSetup, source_counts), i, source->path, 0);
        if (source->kind != SOURCE_FILES) continue;
        store_paths(e, s, source->path, i);
        store_i64(e, s, offsetof(SbSetup, source_row_max), i, source->options.row_max, ROW_MAX);
    }
}

static void setup_sinks(Emit *e, const SetupEmit *s) {
    enum : int64_t { PART_BYTES = 256 * 1024 * 1024 };
    for (uint32_t i = 0; i < e->plan->sink_count; i++) {
        const SinkOp *sink = &graph_op_at(e->graph, e->plan->sinks[i])->sink;
        Value path = emit_expr(e, s->frame, sink->path);
        Val out = array_at(e, s, offsetof(SbSetup, sink_paths), sizeof(SbStr), i);
        emit_store(e, path.a, out);
        emit_store_at(e, path.b, out, 8);
        store_i64(e, s, offsetof(SbSetup, sink_bytes), i, sink->options.bytes, PART_BYTES);
        store_i64(e, s, offsetof(SbSetup, sink_files), i, sink->options.files, SINK_FILES_MAX);
    }
}

// Of limits, and of sorts of which the first rows are wanted.
static void setup_limits(Emit *e, const SetupEmit *s) {
    for (uint32_t i = 0; i < e->plan->breaker_count; i++) {
        const Breaker *breaker = &e->plan->breakers[i];
        OpId from = breaker->limited ? breaker->op : breaker->first;
        if (from.i == OP_NONE.i) continue;
        const Op *op = graph_op_at(e->graph, from);
        bool window = op->kind == OP_WINDOW;
        store_i64(e, s, offsetof(SbSetup, limit_rows), i,
                  window ? op->window.most : op->limit.count, window ? 1 : INT64_MAX);
        store_i64(e, s, offsetof(SbSetup, skip_rows), i, window ? EXPR_NONE : op->limit.skip, 0);
    }
}

static void setup_stages(Emit *e, const SetupEmit *s) {
    for (uint32_t i = 0; i < e->plan->stage_count; i++) {
        const Stage *stage = &e->plan->stages[i];
        store_i64(e, s, offsetof(SbSetup, stage_rows), i, stage->unit_rows, INT64_MAX);
        store_i64(e, s, offsetof(SbSetup, stage_bytes), i, stage->cut_bytes, INT64_MAX);
    }
}

static void setup_rejects(Emit *e, const SetupEmit *s) {
    const RejectsSink *rejects = &e->graph->rejects;
    if (!rejects->present) return;
    if (!expr_is_none(rejects->path)) {
        Value path = emit_expr(e, s->frame, rejects->path);
        emit_store_at(e, path.a, s->setup, offsetof(SbSetup, rejects_path));
        emit_store_at(e, path.b, s->setup, offsetof(SbSetup, rejects_path) + 8);
    }
    if (rejects->has_rows)
        emit_store_at(e, emit_expr(e, s->frame, rejects->limit_rows).a, s->setup,
                      offsetof(SbSetup, reject_rows));
    if (rejects->has_share)
        emit_store_at(e, emit_expr(e, s->frame, rejects->limit_share).a, s->setup,
                      offsetof(SbSetup, reject_share));
}

// ---- one file -----------------------------------------------------------------------------------

static void store_verdict(Emit *e, const SetupEmit *s, SbPathVerdict verdict) {
    emit_store_at(e, emit_i32(e, (uint32_t)verdict), s->setup, offsetof(SbSetup, verdict));
}

// The keys in the path of a file, then the conditions that it decides.
static void judge_path(Emit *e, const SetupEmit *s, const Op *op, Block done) {
    size_t mark = emit_region_begin(e);
    Frame *file = frame_new(e, op, nullptr, nullptr), *frame = frame_over(e, file, STEP_NONE);
    file->text = arena_new_of(e->arena, TextRow);
    *file->text = (TextRow){.op = op};
    for (uint32_t i = 0; i < op->source.key_count; i++) {
        emit_store_at(e, emit_i32(e, i), s->setup, offsetof(SbSetup, asked_key));
        emit_expr(e, frame, op->source.keys[i].expr);
    }
    store_verdict(e, s, SB_PATH_FITS);
    PathConditions conditions = source_path_conditions(e->graph, &op->source);
    Block refused = emit_block(e, "refused");
    for (uint32_t i = 0; i < conditions.count; i++) {
        Block next = emit_block(e, "next");
        emit_branch(e, emit_expr(e, frame, conditions.items[i]).a, next, refused);
        emit_at(e, next);
    }
    store_verdict(e, s, SB_PATH_OPENS);
    emit_jump(e, done);
    emit_at(e, refused);
    store_verdict(e, s, SB_PATH_REFUSED);
    emit_jump(e, done);
    emit_region_end(e, mark);
}

// Setup is asked for one file of a source, or for all else, at `whole`.
static void setup_paths(Emit *e, const SetupEmit *s, Block whole, Block done) {
    Val asked = emit_load_at(e, e->i32, s->setup, offsetof(SbSetup, asked), "asked");
    Val choice = LLVMBuildSwitch(e->b, asked, whole, 1);
    for (uint32_t i = 0; i < e->plan->source_count; i++) {
        const Op *op = graph_op_at(e->graph, e->plan->sources[i]);
        if (op->source.key_count == 0) continue;
        Block block = emit_block(e, "path");
        LLVMAddCase(choice, emit_i32(e, i), block);
        emit_at(e, block);
        Val name = emit_offset(e, e->task,
                               offsetof(SbTask, input) + offsetof(SbInput, source_name));
        LLVMBuildMemCpy(e->b, name, 8, emit_offset(e, s->setup, offsetof(SbSetup, asked_path)), 8,
                        emit_i64(e, sizeof(SbStr)));
        judge_path(e, s, op, done);
    }
}

// Expressions over parameters load them through e->task; a task with nothing but call and params
// stands in for it.
static Val stand_in_task(Emit *e, Val setup) {
    Val task = emit_alloca(e, LLVMArrayType2(e->i8, sizeof(SbTask)), "task");
    Val call = emit_load_at(e, e->ptr, setup, offsetof(SbSetup, call), "call");
    LLVMBuildMemCpy(e->b, emit_offset(e, task, offsetof(SbTask, call)), 16, call, 8,
                    emit_i64(e, sizeof(SbCall)));
    Val params = emit_load_at(e, e->ptr, setup, offsetof(SbSetup, params), "params");
    emit_store_at(e, params, task, offsetof(SbTask, params));
    return task;
}

// A fault ends setup with its status; what was at fault stands in call->detail.
static void close_setup(Emit *e, FaultTarget *target, Val setup, Val task) {
    Val call = emit_load_at(e, e->ptr, setup, offsetof(SbSetup, call), "call");
    Val used = emit_offset(e, task, offsetof(SbTask, call));
    LLVMBuildMemCpy(e->b, call, 8, used, 8, emit_i64(e, sizeof(SbCall)));
    LLVMBuildRet(e->b, emit_i32(e, SB_OK));
    if (!target->block) return;
    emit_at(e, target->block);
    LLVMBuildMemCpy(e->b, call = emit_load_at(e, e->ptr, setup, offsetof(SbSetup, call), "call"), 8,
                    used, 8, emit_i64(e, sizeof(SbCall)));
    emit_store_at(e, target->detail, call, offsetof(SbCall, detail));
    emit_store_at(e, target->detail_len, call, offsetof(SbCall, detail) + 8);
    LLVMBuildRet(e->b, target->status);
}

Val emit_setup(Emit *e) {
    emit_function_open(e, LLVMAddFunction(e->module, "sb_setup",
                                          LLVMFunctionType(e->i32, &e->ptr, 1, false)));
    emit_debug_function(e, (Span){.file = SPAN_NONE}, "sb_setup");
    Block begin = emit_block(e, "begin");
    emit_at(e, e->entry);
    emit_jump(e, begin);
    emit_at(e, begin);
    Val setup = LLVMGetParam(e->fn, 0);
    e->task = stand_in_task(e, setup);
    FaultTarget target;
    fault_target_open(e, &target, nullptr, false);
    e->faults = &target;
    Op none = {.kind = OP_HINT, .step = STEP_NONE};
    SetupEmit s = {setup, frame_new(e, arena_copy(e->arena, &none, sizeof none, alignof(Op)),
                                    nullptr, nullptr)};
    Block whole = emit_block(e, "whole"), done = emit_block(e, "done");
    setup_paths(e, &s, whole, done);
    emit_at(e, whole);
    setup_sources(e, &s);
    setup_sinks(e, &s);
    setup_limits(e, &s);
    setup_stages(e, &s);
    setup_rejects(e, &s);
    emit_jump(e, done);
    emit_at(e, done);
    close_setup(e, &target, setup, e->task);
    emit_region_end(e, 0);
    e->faults = nullptr;
    return e->fn;
}
