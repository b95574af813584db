// GPUs, as the job opens them: without one the CPU does their work, unless that is ruled out.
#include "runtime/device.h"
#include "runtime/main/main.h"
#include "runtime/report.h"

// One of a block comes before those that the compiler has placed.
static const SbStage *first_for_gpu(const SbJob *what) {
    const SbStage *placed = nullptr;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        if (stage->gpu == SB_GPU_ASKED) return stage;
        if (stage->gpu && !placed) placed = stage;
    }
    return placed;
}

enum : int64_t { LITTLE = 256 << 20, SHARE = 8, LITTLE_SHARE = 32 };

static uint32_t slots_for(uint32_t threads) { return 2 * threads; }

// Columns of launches are part of --memory, as far as it has more than rows need. Where that is
// little, they are part of what nobody counts.
static void open_all(Job *job, uint32_t threads, char why[GPU_WHY_BYTES]) {
    JobMachine *machine = &job->machine;
    int64_t whole = machine->memory_whole;
    int64_t most = whole - memory_plan_needs(job, threads).least;
    int64_t part = most < whole / SHARE ? most : whole / SHARE;
    bool little = whole < LITTLE || part < whole / LITTLE_SHARE;
    GpuSetup setup = {.job = job->ask.what, .argv = job->ask.argv, .slots = slots_for(threads),
                      .memory = little ? whole / LITTLE_SHARE : part,
                      .device_memory = job->ask.options.gpu_memory};
    machine->gpu = gpu_open(&setup, why);
    if (!machine->gpu || little) return;
    int64_t bytes = gpu_bytes(machine->gpu);
    machine->memory_gpu = bytes < most ? bytes : most;
    machine->memory_whole -= machine->memory_gpu;
}

static bool wants_gpu(const JobAsk *ask) {
    return ask->options.device != DEVICE_ONLY_CPU && first_for_gpu(ask->what);
}

// An eighth of all is a seventh of the rest.
MemoryNeeds job_plan_gpu(const Job *job, uint32_t threads, MemoryNeeds others) {
    int64_t most = gpu_bytes_most(job->ask.what, slots_for(threads));
    int64_t bytes = others.full / (SHARE - 1);
    bool little = others.full + bytes < LITTLE || !wants_gpu(&job->ask);
    return (MemoryNeeds){.full = little ? 0 : bytes < most ? bytes : most};
}

void job_print_gpu_plan(const Job *job, uint32_t threads, Text *text) {
    GpuSetup setup = {.job = job->ask.what, .slots = slots_for(threads),
                      .device_memory = job->ask.options.gpu_memory};
    if (wants_gpu(&job->ask)) gpu_print_plan(&setup, text);
}

// Stages with products need their library besides.
static bool judge_products(Job *job) {
    const char *why = gpu_no_products(job->machine.gpu);
    for (uint32_t s = 0; s < job->ask.what->stage_count && why; s++) {
        const SbStage *stage = &job->ask.what->stages[s];
        if (!stage->kernels || !stage->kernels->approx) continue;
        if (job->ask.options.device == DEVICE_ONLY_GPU)
            return trouble_set(&job->trouble, TROUBLE_GPU_NEEDED,
                               "'%.*s' is to run on a GPU, but %s", (int)stage->label.len,
                               stage->label.ptr, why);
        log_warn(&job->log, TROUBLE_GPU_ABSENT, "'%.*s' runs on the CPU: %s",
                 (int)stage->label.len, stage->label.ptr, why);
        break;
    }
    return true;
}

bool job_open_gpu(Job *job, uint32_t threads) {
    const JobAsk *ask = &job->ask;
    const SbStage *first = first_for_gpu(ask->what);
    if (!first || ask->options.device == DEVICE_ONLY_CPU) return true;
    char why[GPU_WHY_BYTES];
    open_all(job, threads, why);
    if (job->machine.gpu) return judge_products(job);
    if (ask->options.device == DEVICE_ONLY_GPU)
        return trouble_set(&job->trouble, TROUBLE_GPU_NEEDED, "'%.*s' is to run on a GPU, but %s",
                           (int)first->label.len, first->label.ptr, why);
    // Nobody asked for one where the compiler has placed steps.
    if (first->gpu == SB_GPU_ASKED)
        log_warn(&job->log, TROUBLE_GPU_ABSENT, "'%.*s' runs on the CPU: %s",
                 (int)first->label.len, first->label.ptr, why);
    return true;
}

// Launches of fewer rows than the program says leave the same output, in more time.
static void warn_of_short(Job *job) {
    GpuShort is = gpu_short(job->machine.gpu);
    if (!is.asked || job->trouble.kind != TROUBLE_NONE) return;
    const SbStage *stage = &job->ask.what->stages[is.stage];
    int len = (int)stage->label.len;
    if (is.fits)
        log_warn(&job->log, TROUBLE_GPU_SHORT, "'%.*s' says batch = %lld, but the GPU has memory "
                 "for %lld rows of it at a time", len, stage->label.ptr,
                 (long long)stage->kernels->rows, (long long)is.fits);
    else
        log_warn(&job->log, TROUBLE_GPU_SHORT, "the GPU has no memory for a row of '%.*s', and "
                 "the CPU took some", len, stage->label.ptr);
}

// The CPU, or another GPU, has gone on where one was lost.
void job_close_gpu(Job *job) {
    Gpu *gpu = job->machine.gpu;
    if (!gpu) return;
    GpuFaults faults = gpu_faults(gpu);
    bool all = gpu_lost(gpu), only = job->ask.options.device == DEVICE_ONLY_GPU;
    if (all && !only && job->trouble.kind == TROUBLE_NONE)
        log_warn(&job->log, TROUBLE_GPU_ABSENT, "the GPU was lost, and the CPU went on: %s",
                 faults.why);
    if (!all && faults.lost)
        log_warn(&job->log, TROUBLE_GPU_AGAIN, "%u GPU%s lost, and others went on: %s", faults.lost,
                 faults.lost == 1 ? " was" : "s were", faults.why);
    else if (!all && faults.restarts)
        log_warn(&job->log, TROUBLE_GPU_AGAIN, "a GPU was started anew %u time%s: %s",
                 faults.restarts, faults.restarts == 1 ? "" : "s", faults.why);
    warn_of_short(job);
    gpu_close(gpu);
    job->machine.gpu = nullptr;
}

void job_print_devices(const SbJob *what, FILE *file) {
    Text text = {0};
    gpu_describe(what, &text);
    fwrite(text.ptr, 1, (size_t)text.len, file);
    sb_text_close(&text);
}
