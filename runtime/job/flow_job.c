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

static bool has_limits(const JobAsk *ask, const Edge *edges) {
    bool limited = ask->options.first_rows != INT64_MAX;
    for (uint32_t b = 0; b < ask->what->breaker_count; b++) limited |= edges[b].limited;
    return limited;
}

static bool writes_to_stdout(const JobAsk *ask, uint32_t sink) {
    SbStr path = ask->setup.sink_paths[sink];
    return path.len == 1 && path.ptr[0] == '-';
}

// What of a job may run in workers.
typedef struct MayRun {
    bool any;
    bool timed;  // Calls with a time limit.
} MayRun;

static MayRun may_run(const JobAsk *ask) {
    const SbJob *what = ask->what;
    bool leaves[STAGES_MAX] = {0};
    FlowLeaving leaving = {leaves, ask->options.first_rows != INT64_MAX};
    MayRun may = {0};
    if (what->sink_count > STAGES_MAX) return may;
    for (uint32_t s = 0; s < what->sink_count; s++)
        leaves[s] = leaving.first_rows || writes_to_stdout(ask, s);
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        bool runs = stage->home.len == 0 && !flow_is_left(what, stage, &leaving);
        may.any |= runs;
        may.timed |= runs && stage->timeout > 0;
    }
    return may;
}

bool flow_job_has_timeouts(const SbJob *what) {
    bool any = false;
    for (uint32_t s = 0; s < what->stage_count; s++) any |= what->stages[s].timeout > 0;
    return any;
}

WorkerPlan flow_job_workers(const JobAsk *ask) {
    const WorkerKinds *wanted = &ask->options.workers;
    MayRun may = may_run(ask);
    if (!may.any) return (WorkerPlan){0};
    // Foreign code is ended with its process: one is needed even if nobody asked for it.
    bool own = may.timed && wanted->count == 0;
    uint32_t places = may.timed ? 0 : wanted->places;
    return (WorkerPlan){.count = (own ? 1 : wanted->most) + places,
                        .begins = own ? 1 : wanted->count, .places = places};
}

const char *flow_job_why_alone(const JobAsk *ask, const Edge *edges) {
    MayRun may = may_run(ask);
    if (may.timed) return "only workers of this machine keep time limits";
    if (may.any) return nullptr;
    if (has_limits(ask, edges)) return "a limit counts all rows of the job";
    for (uint32_t s = 0; s < ask->what->sink_count; s++)
        if (writes_to_stdout(ask, s)) return "all rows of the job go to standard output";
    return "the job runs all of its tasks itself";
}

bool flow_job_keeps(const JobAsk *ask, const Edge *edges) {
    const SbJob *what = ask->what;
    bool once = false;
    for (uint32_t b = 0; b < what->breaker_count; b++)
        once |= what->breakers[b].kind != SB_BREAK_EDGE;
    for (uint32_t s = 0; s < what->stage_count; s++)
        once |= what->stages[s].input == SB_INPUT_TEXT || what->stages[s].right_index != UINT32_MAX;
    return once && has_limits(ask, edges);
}

// A partition ends once its records are as large as it, but not within a block of a thousand rows.
int64_t flow_job_record_bytes(const RejectLimits *limits) {
    enum : int64_t { BLOCK_BYTES = 320 << 10 };
    return limits->rows == 0 ? 0 : BLOCK_BYTES;
}

// What stays in memory of a partition on disk: what the schedule knows of it, a LivePartition with
// its batches and runs; of its unit what was counted in front of limits, and the tally for commits.
// About what was measured.
static int64_t stub_bytes(const FlowParts *of) {
    enum : int64_t { STUB = 1024, DOUBT = 512, TALLY = 512 };
    return STUB + (has_limits(of->ask, of->edges) ? DOUBT : 0) + (of->journaled ? TALLY : 0);
}

// What the plan takes from the state of the job, in arrays as long as its parts are many.
typedef struct Parts {
    int64_t cuts[STAGES_MAX];
    bool    streams[STAGES_MAX], chained[STAGES_MAX];
    bool    limited[STAGES_MAX * 2], leaves[STAGES_MAX];
} Parts;

static bool fits(const SbJob *job) {
    return job->stage_count + job->sink_count <= STAGES_MAX && job->source_count <= STAGES_MAX &&
           job->breaker_count <= 2 * STAGES_MAX;
}

static void fill_parts(const FlowParts *of, int64_t partition, Parts *parts) {
    const SbJob *what = of->ask->what;
    bool first_rows = of->ask->options.first_rows != INT64_MAX;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        int64_t bytes = of->ask->setup.stage_bytes[s];
        parts->cuts[s] = bytes > 0 && bytes != INT64_MAX ? bytes : partition;
    }
    for (uint32_t s = 0; s < what->source_count; s++) {
        const Source *source = &of->io->sources[s];
        parts->streams[s] = is_stream(source);
        bool text = source->what && source->what->reader;
        parts->chained[s] = text && (source_spans_lines(source) || source->what->wants_lines);
    }
    for (uint32_t b = 0; b < what->breaker_count; b++) parts->limited[b] = of->edges[b].limited;
    for (uint32_t s = 0; s < what->sink_count; s++)
        parts->leaves[s] = of->io->sinks[s].to_stream || first_rows;
}

FlowParts flow_parts(Job *job) {
    return (FlowParts){.ask = &job->ask, .machine = &job->machine, .io = &job->io,
                       .edges = job->breakers.edges, .limits = job->rejects.limits,
                       .journaled = job->resume != nullptr, .resumed = job->resumed,
                       .trouble = &job->trouble};
}

FlowFault flow_job_make(const FlowParts *of, const FlowSizes *sizes, FlowPlan *plan) {
    const SbJob *what = of->ask->what;
    const JobMachine *machine = of->machine;
    Parts *parts = calloc(1, sizeof *parts);
    FlowFault fault = parts ? FLOW_TOO_WIDE : FLOW_NO_MEMORY;
    if (parts && fits(what)) {
        fill_parts(of, sizes->partition, parts);
        FlowNumbers numbers = {.cpus = machine->slots.cpus, .supply = machine->slots.supply,
                               .memory = sizes->ledger, .cuts = parts->cuts,
                               .stub_bytes = stub_bytes(of),
                               .stubs_free = sb_memory_rest(machine->memory_whole) / 2,
                               .streams = parts->streams, .chained = parts->chained,
                               .limited = parts->limited,
                               .leaves = parts->leaves,
                               .first_rows = of->ask->options.first_rows != INT64_MAX,
                               .completes = of->resumed,
                               .workers = machine->workers.count,
                               .places = machine->workers.places,
                               .worker_cpus = machine->workers.own_cpus * WHOLE,
                               .place_cpus = machine->workers.place_threads * WHOLE,
                               .timed_only = of->ask->options.workers.count == 0 &&
                                             machine->workers.places == 0,
                               .kinds = of->ask->options.workers.kinds,
                               .covered_max = machine->workers.covered_max,
                               .worker_memory = machine->workers.ledger,
                               .block_bytes = sizes->block_bytes,
                               .record_bytes = flow_job_record_bytes(&of->limits),
                               .lanes = sizes->threads,
                               .parts = job_lanes(what, &of->ask->options, sizes->threads),
                               .part_bytes = sizes->spill_bytes};
        fault = flow_plan_make(plan, what, &numbers);
    }
    free(parts);
    return fault;
}
