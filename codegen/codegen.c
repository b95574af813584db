// From plan to objects: the stages are emitted once, then specialised for each CPU level on a
// thread of its own; the constant data is a small object besides.
#include "codegen/codegen.h"

#include "codegen/emit_job.h"
#include "codegen/emit_sink.h"
#include "codegen/emit_tensor.h"
#include "codegen/target.h"

#include <assert.h>
#include <llvm-c/BitWriter.h>
#include <pthread.h>
#include <stdio.h>

static Emit emit_open(Arena *arena, const Plan *plan, const CodegenOptions *options,
                      const char *name) {
    Emit e = {.arena = arena, .plan = plan, .graph = plan->graph, .options = options};
    e.ctx = LLVMContextCreate();
    e.module = LLVMModuleCreateWithNameInContext(name, e.ctx);
    e.b = LLVMCreateBuilderInContext(e.ctx);
    e.type_void = LLVMVoidTypeInContext(e.ctx);
    e.i1 = LLVMInt1TypeInContext(e.ctx);
    e.i8 = LLVMInt8TypeInContext(e.ctx);
    e.i16 = LLVMInt16TypeInContext(e.ctx);
    e.i32 = LLVMInt32TypeInContext(e.ctx);
    e.i64 = LLVMInt64TypeInContext(e.ctx);
    e.i128 = LLVMInt128TypeInContext(e.ctx);
    e.f32 = LLVMFloatTypeInContext(e.ctx);
    e.f64 = LLVMDoubleTypeInContext(e.ctx);
    e.ptr = LLVMPointerTypeInContext(e.ctx, 0);
    e.str_pair = LLVMStructTypeInContext(e.ctx, (Ty[]){e.ptr, e.i64}, 2, false);
    return e;
}

static LLVMMemoryBufferRef emit_close(Emit *e) {
    LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(e->module);
    LLVMDisposeBuilder(e->b);
    LLVMDisposeModule(e->module);
    LLVMContextDispose(e->ctx);
    return bitcode;
}

typedef struct StageModule {
    LLVMMemoryBufferRef bitcode;
    BreakerHas *breakers;
    uint32_t   *zip_sites;
    Site       *sites;
    size_t      site_count;
} StageModule;

static StageModule stages_bitcode(Arena *arena, const Plan *plan, const CodegenOptions *options) {
    Emit e = emit_open(arena, plan, options, options->job_name);
    StageModule out = {.breakers = arena_new_array(arena, BreakerHas, plan->breaker_count + 1)};
    emit_debug_open(&e);
    out.zip_sites = arena_new_array(arena, uint32_t, plan->stage_count + 1);
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        emit_stage(&e, i);
        if (stage_probes(&e, i)) emit_ask(&e, i);
        if (stage_lays_columns(&e, &plan->stages[i])) emit_kernel_lay(&e, i);
        if (plan->stages[i].kind != STAGE_ROWS || plan->stages[i].zip_breaker == BREAKER_NONE)
            continue;
        const Op *zip = graph_op_at(e.graph, plan->stages[i].root);
        out.zip_sites[i] = emit_site(&e,
                                     (Site){.step = zip->step.i, .span = zip->span, .fails = true});
    }
    for (uint32_t i = 0; i < plan->breaker_count; i++) {
        BreakerFns fns = emit_breaker(&e, i);
        out.breakers[i] = (BreakerHas){fns.merge, fns.prefix, fns.prefix_more, fns.compare,
                                        fns.equal, fns.number, fns.bounds, fns.partition,
                                        fns.peers};
    }
    emit_setup(&e);
    emit_tensor_loops(&e);
    sink_fields_emit(&e);
    emit_debug_close(&e);
    out.sites = e.sites;
    out.site_count = e.site_count;
    out.bitcode = emit_close(&e);
    return out;
}

static LLVMMemoryBufferRef data_bitcode(Arena *arena, const Plan *plan,
                                        const CodegenOptions *options, const StageModule *stages) {
    Emit e = emit_open(arena, plan, options, "sb_job");
    JobData data = {.breakers = stages->breakers,
                    .zip_sites = stages->zip_sites,
                    .sites = stages->sites,
                    .site_count = stages->site_count};
    for (int i = 0; i < TARGET_LEVELS; i++)
        if (options->levels >> i & 1) data.level_names[i] = target_levels[i].name;
    data.lowest_level = data.level_names[0] ? data.level_names[0] : data.level_names[1];
    char setup[32];
    snprintf(setup, sizeof setup, "sb_setup_%s", data.lowest_level);
    data.setup_name = setup;
    emit_job_data(&e, &data);
    emit_job_main(&e);
    return emit_close(&e);
}

static void *run_target(void *work) {
    target_run(work);
    return nullptr;
}

// The first work runs here, the others on threads of their own.
static void run_all(TargetWork *work, size_t count) {
    pthread_t threads[TARGET_LEVELS + 1];
    bool started[TARGET_LEVELS + 1] = {0};
    for (size_t i = 1; i < count; i++)
        started[i] = pthread_create(&threads[i], nullptr, run_target, &work[i]) == 0;
    target_run(&work[0]);
    for (size_t i = 1; i < count; i++) {
        if (started[i]) pthread_join(threads[i], nullptr);
        else target_run(&work[i]);
    }
}

static bool collect(TargetWork *work, size_t count, CodegenOutput *out, TextBuf *error) {
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        if (work[i].error.len) {
            text_buf_add(error, text_buf_view(&work[i].error));
            ok = false;
        } else if (work[i].result) {
            size_t len = LLVMGetBufferSize(work[i].result);
            text_buf_add(&out->bytes, (Text){LLVMGetBufferStart(work[i].result), len});
            out->lengths[i] = len;
        }
        text_buf_free(&work[i].error);
        if (work[i].result) LLVMDisposeMemoryBuffer(work[i].result);
    }
    return ok;
}

__attribute__((visibility("default"))) bool codegen_run(
    const Plan *plan, const CodegenOptions *options, CodegenOutput *out, TextBuf *error) {
    assert(!(FACTS_OF_CODE & ~plan->facts));
    Arena *arena = arena_new();
    StageModule stages = stages_bitcode(arena, plan, options);
    LLVMMemoryBufferRef data = data_bitcode(arena, plan, options, &stages);
    target_init(LLVMGetBufferSize(stages.bitcode));
    TargetWork work[TARGET_LEVELS + 1] = {0};
    size_t count = 0;
    CodegenForm form = options->form;
    bool text = form != CODEGEN_OBJECT;
    for (int i = 0; i < TARGET_LEVELS; i++) {
        bool lowest = count == 0;
        if (options->levels >> i & 1 && !(text && count))
            work[count++] = (TargetWork){.bitcode = stages.bitcode,
                                         .level = &target_levels[i],
                                         .form = form,
                                         .verify = options->verify,
                                         .lowest = lowest};
    }
    if (!text)
        work[count++] = (TargetWork){.bitcode = data, .form = form, .verify = options->verify};
    run_all(work, count);
    bool ok = collect(work, count, out, error);
    LLVMDisposeMemoryBuffer(stages.bitcode);
    LLVMDisposeMemoryBuffer(data);
    arena_free(arena);
    return ok;
}
