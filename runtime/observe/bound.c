#include "runtime/observe/bound.h"

#include <math.h>

static const char GPU[] = "gpu";

// Shares of the job's time: a resource that is busy so long bounds it; idle, or used, so long it is
// worth a word; what stages wait for so long bounds it.
static const double BUSY = 0.85, IDLE = 0.10, WAITED = 0.20;

static double share(const Bound *bound, const BoundResource *resource) {
    double all = resource->supply * bound->seconds;
    return all > 0 ? resource->used / all : 0;
}

static double cpu_seconds(const BoundStage *stage) { return stage->cpus; }
static double memory_seconds(const BoundStage *stage) { return stage->memory; }
static double finish_seconds(const BoundStage *stage) { return stage->finish; }
static double write_seconds(const BoundStage *stage) { return stage->write; }
static double work_seconds(const BoundStage *stage) { return stage->at_work; }

static const BoundStage *greatest(const Bound *bound, double (*of)(const BoundStage *)) {
    const BoundStage *best = &bound->stages[0];
    for (uint32_t s = 1; s < bound->stage_count; s++)
        if (of(&bound->stages[s]) > of(best)) best = &bound->stages[s];
    return best;
}

static int percent(double part) { return (int)lround(part * 100); }

static void add_label(Text *text, const BoundStage *stage) {
    sb_text_add_short(text, stage->label.ptr, stage->label.len, 60);
}

// A stage is many steps: the one that takes the time is named where it is known.
static void add_bottleneck(Text *text, const Bound *bound, const BoundStage *stage) {
    if (bound->step.ptr) sb_text_add_short(text, bound->step.ptr, bound->step.len, 60);
    else add_label(text, stage);
}

static BoundResource gpus(const Bound *bound) {
    return (BoundResource){{GPU, 3}, bound->gpu.count, bound->gpu.busy};
}

// Of the resources beside the cpus the busiest: what the job was given to keep busy.
static BoundResource busiest(const Bound *bound) {
    BoundResource best = gpus(bound);
    for (uint32_t i = 1; i < bound->resource_count; i++)
        if (share(bound, &bound->resources[i]) > share(bound, &best)) best = bound->resources[i];
    return best;
}

// The cpus are busy and something dearer waits for them.
static bool explain_idle(const Bound *bound, Text *text) {
    const BoundResource *cpus = &bound->resources[0], dear = busiest(bound);
    bool some = share(bound, &dear) > IDLE && share(bound, &dear) < 1 - IDLE;
    if (!some || share(bound, cpus) < BUSY) return false;
    double saturated = dear.used / dear.supply;
    double more = ceil(cpus->used / saturated - cpus->supply - 1e-6);
    sb_text_format(text, "%.*s idle %d %%: ", (int)dear.name.len, dear.name.ptr,
                   percent(1 - share(bound, &dear)));
    add_bottleneck(text, bound, greatest(bound, cpu_seconds));
    sb_text_format(text, " is the bottleneck; %.0f more cpu%s would saturate it", more,
                   more == 1 ? "" : "s");
    return true;
}

// Copies share the bus, and kernels the processors: whichever went on longest.
static void add_gpu(const Bound *bound, Text *text) {
    const BoundGpu *gpu = &bound->gpu;
    double all = gpu->count * bound->seconds;
    bool bus = gpu->copies_in > gpu->kernels || gpu->copies_out > gpu->kernels;
    sb_text_format(text, ": copies in %d %%, kernels %d %%, copies out %d %%; %s would help",
                   percent(gpu->copies_in / all), percent(gpu->kernels / all),
                   percent(gpu->copies_out / all),
                   bus ? "fewer columns, or --device=cpu," : "more GPUs");
}

// A task that waits for its launch holds cpus all the while: where GPUs are busy they are named.
static bool explain_busy(const Bound *bound, Text *text) {
    const BoundResource *cpus = &bound->resources[0], gpu = gpus(bound), dear = busiest(bound);
    const BoundResource *best = share(bound, &dear) > share(bound, cpus) ? &dear : cpus;
    if (share(bound, &gpu) >= BUSY) best = &gpu;
    if (share(bound, best) < BUSY) return false;
    const BoundStage *stage = greatest(bound, cpu_seconds);
    sb_text_format(text, "%.*s busy %d %%", (int)best->name.len, best->name.ptr,
                   percent(share(bound, best)));
    if (best->name.ptr == GPU) {
        add_gpu(bound, text);
    } else if (best == cpus) {
        sb_text_str(text, ": ");
        add_bottleneck(text, bound, stage);
        double part = bound->step.ptr ? bound->step_share : stage->cpus / cpus->used;
        sb_text_format(text, " takes %d %% of that; more cpus would help", percent(part));
    } else {
        sb_text_format(text, ": more %.*s would help", (int)best->name.len, best->name.ptr);
    }
    return true;
}

static bool explain_waits(const Bound *bound, Text *text) {
    const BoundStage *memory = greatest(bound, memory_seconds);
    const BoundStage *finish = greatest(bound, finish_seconds);
    const BoundStage *write = greatest(bound, write_seconds);
    double threads = bound->seconds * bound->threads;
    if (memory->memory > WAITED * bound->seconds) {
        add_label(text, memory);
        sb_text_format(text, " waited for memory %d %% of the time; more --memory would help",
                       percent(memory->memory / bound->seconds));
    } else if (write->write > WAITED * threads) {
        sb_text_format(text, "threads wrote %d %% of the time: the disk of the output is the bound",
                       percent(write->write / threads));
    } else if (finish->finish > WAITED * bound->seconds) {
        sb_text_str(text, "sorting and merging after ");
        add_label(text, finish);
        sb_text_format(text, " took %.1f thread seconds while little else could run",
                       finish->finish);
    } else {
        return false;
    }
    return true;
}

void bound_explain(const Bound *bound, Text *text) {
    if (bound->stage_count == 0 || bound->seconds <= 0) return;
    if (explain_idle(bound, text) || explain_busy(bound, text) || explain_waits(bound, text))
        return;
    const BoundStage *longest = greatest(bound, work_seconds);
    double cpus = share(bound, &bound->resources[0]);
    sb_text_format(text, "cpus idle %d %%: ", percent(1 - cpus));
    add_label(text, longest);
    sb_text_format(text, " was at work %d %% of the time, and had too few tasks at once, or slow "
                   "input", percent(longest->at_work / bound->seconds));
}
