#include "runtime/job/flow_job.h"

#include <stdlib.h>

uint32_t job_lanes(const SbJob *what, const Options *options, uint32_t threads) {
    return flow_lanes(what, threads) * (options->resume ? 2 : 1);
}

// Of one stage there is nothing to pace: what it makes goes to the sinks at once.
PolicyId job_policy(const SbJob *what, const Options *options) {
    return what->stage_count > 1 ? options->schedule : POLICY_PESSIMISTIC;
}

static bool is_stream(const Source *source) {
    for (uint32_t f = 0; f < source->file_count; f++) {
        if (source->files[f].stream) return true;
    }
    return false;
}

static bool has_limits(const Job *job) {
    bool limited = job->options.first_rows != INT64_MAX;
    for (uint32_t b = 0; b < job->what->breaker_count; b++) limited |= job->edges[b].limited;
    return limited;
}

bool flow_job_keeps(const Job *job) {
    const SbJob *what = job->what;
    bool once = false;
    for (uint32_t b = 0; b < what->breaker_count; b++)
        once |= what->breakers[b].kind != SB_BREAK_EDGE;
    for (uint32_t s = 0; s < what->stage_count; s++)
        once |= what->stages[s].input == SB_INPUT_TEXT || what->stages[s].right_index != UINT32_MAX;
    return once && has_limits(job);
}

// A partition ends once its records are as large as it, but not within a block of a thousand rows.
int64_t flow_job_record_bytes(const RejectLimits *limits) {
    enum : int64_t { BLOCK_BYTES = 320 << 10 };
    return limits->rows == 0 ? 0 : BLOCK_BYTES;
}

// What stays in memory of a partition on disk: what the schedule knows of it, a LivePartition with
// its batches and runs; of its unit what was counted in front of limits, and the tally for commits.
// About what was measured.
static int64_t stub_bytes(const Job *job) {
    enum : int64_t { STUB = 1024, DOUBT = 512, TALLY = 512 };
    return STUB + (has_limits(job) ? DOUBT : 0) + (job->resume ? TALLY : 0);
}

// What the plan takes from the state of the job, in arrays as long as its parts are many.
typedef struct Parts {
    int64_t cuts[STAGES_MAX];
    bool    streams[STAGES_MAX], limited[STAGES_MAX * 2], leaves[STAGES_MAX];
} Parts;

static bool fits(const SbJob *job) {
    return job->stage_count + job->sink_count <= STAGES_MAX && job->source_count <= STAGES_MAX &&
           job->breaker_count <= 2 * STAGES_MAX;
}

static void fill_parts(const Job *job, int64_t partition, Parts *parts) {
    for (uint32_t s = 0; s < job->what->stage_count; s++) {
        int64_t bytes = job->setup.stage_bytes[s];
        parts->cuts[s] = bytes > 0 && bytes != INT64_MAX ? bytes : partition;
    }
    for (uint32_t s = 0; s < job->what->source_count; s++)
        parts->streams[s] = is_stream(&job->sources[s]);
    for (uint32_t b = 0; b < job->what->breaker_count; b++)
        parts->limited[b] = job->edges[b].limited;
    for (uint32_t s = 0; s < job->what->sink_count; s++)
        parts->leaves[s] = job->sinks[s].to_stream || job->options.first_rows != INT64_MAX;
}

FlowFault flow_job_make(const Job *job, const FlowSizes *sizes, FlowPlan *plan) {
    Parts *parts = calloc(1, sizeof *parts);
    FlowFault fault = parts ? FLOW_TOO_WIDE : FLOW_NO_MEMORY;
    if (parts && fits(job->what)) {
        fill_parts(job, sizes->partition, parts);
        FlowNumbers numbers = {.cpus = job->slots.cpus, .supply = job->slots.supply,
                               .memory = sizes->ledger, .cuts = parts->cuts,
                               .stub_bytes = stub_bytes(job),
                               .stubs_free = sb_memory_rest(job->memory_whole) / 2,
                               .streams = parts->streams, .limited = parts->limited,
                               .leaves = parts->leaves, .completes = job->resumed,
                               .block_bytes = sizes->block_bytes,
                               .record_bytes = flow_job_record_bytes(&job->limits),
                               .lanes = sizes->threads,
                               .parts = job_lanes(job->what, &job->options, sizes->threads),
                               .part_bytes = sizes->spill_bytes};
        fault = flow_plan_make(plan, job->what, &numbers);
    }
    free(parts);
    return fault;
}
