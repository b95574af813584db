#define _GNU_SOURCE
#include "runtime/main/main.h"

#include "runtime/abi.h"
#include "runtime/abi/cpu_level.h"
#include "runtime/crash.h"
#include "runtime/device.h"
#include "runtime/dispatch.h"
#include "runtime/host.h"
#include "runtime/job.h"
#include "runtime/main/check.h"
#include "runtime/main/control.h"
#include "runtime/main/leave.h"
#include "runtime/main/licenses.h"
#include "runtime/main/tell.h"
#include "runtime/memory.h"
#include "runtime/observe.h"
#include "runtime/output.h"
#include "runtime/report.h"
#include "runtime/resume.h"
#include "runtime/rows.h"
#include "runtime/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- setup ----------------------------------------------------------------------------------

static bool open_breakers(JobBreakers *breakers, const SbJob *what) {
    size_t count = what->breaker_count + 1;
    breakers->states = calloc(count, sizeof *breakers->states);
    breakers->edges = calloc(count, sizeof *breakers->edges);
    breakers->finished = calloc(count, sizeof *breakers->finished);
    breakers->tables = calloc(count, sizeof *breakers->tables);
    breakers->first_rows = calloc(count, sizeof *breakers->first_rows);
    breakers->kept = calloc(count, sizeof *breakers->kept);
    breakers->unmatched_rows = calloc(count, sizeof *breakers->unmatched_rows);
    breakers->filters = calloc(count, sizeof *breakers->filters);
    breakers->left_out = calloc(count, sizeof *breakers->left_out);
    return breakers->states && breakers->edges && breakers->finished && breakers->tables &&
           breakers->first_rows && breakers->kept && breakers->unmatched_rows &&
           breakers->filters && breakers->left_out;
}

static void close_breakers(JobBreakers *breakers, const SbJob *what) {
    for (uint32_t i = 0; breakers->fills && i < breakers->lanes; i++)
        pthread_mutex_destroy(&breakers->fills[i]);
    for (uint32_t b = 0; breakers->states && b < what->breaker_count; b++)
        if (breakers->states[b]) sb_breaker_close(breakers->states[b]);
    free(breakers->fills);
    free(breakers->states);
    free(breakers->edges);
    free(breakers->finished);
    free(breakers->tables);
    free(breakers->first_rows);
    free(breakers->kept);
    free(breakers->unmatched_rows);
    free(breakers->filters);
    free(breakers->left_out);
}

static bool allocate_setup(SbSetup *setup, const SbJob *what) {
    size_t sources = what->source_count + 1, sinks = what->sink_count + 1;
    size_t breakers = what->breaker_count + 1, stages = what->stage_count + 1;
    setup->source_paths = calloc(sources, sizeof *setup->source_paths);
    setup->source_counts = calloc(sources, sizeof *setup->source_counts);
    setup->source_row_max = calloc(sources, sizeof *setup->source_row_max);
    setup->sink_paths = calloc(sinks, sizeof *setup->sink_paths);
    setup->sink_bytes = calloc(sinks, sizeof *setup->sink_bytes);
    setup->sink_files = calloc(sinks, sizeof *setup->sink_files);
    setup->limit_rows = calloc(breakers, sizeof *setup->limit_rows);
    setup->skip_rows = calloc(breakers, sizeof *setup->skip_rows);
    setup->stage_rows = calloc(stages, sizeof *setup->stage_rows);
    setup->stage_bytes = calloc(stages, sizeof *setup->stage_bytes);
    return setup->stage_rows && setup->stage_bytes && setup->source_paths &&
           setup->source_counts && setup->source_row_max && setup->sink_paths &&
           setup->sink_bytes && setup->sink_files && setup->limit_rows && setup->skip_rows;
}

static void free_setup(SbSetup *setup) {
    void *all[] = {setup->source_paths, setup->source_counts, setup->source_row_max,
                   setup->sink_paths,   setup->sink_bytes,    setup->sink_files,
                   setup->limit_rows,   setup->skip_rows,     setup->stage_rows,
                   setup->stage_bytes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static bool allocate(Job *job) {
    const SbJob *what = job->ask.what;
    size_t counts = (size_t)sb_figure_count(what) + 1;
    job->figures.counts = calloc(counts, sizeof *job->figures.counts);
    job->io.sources = calloc(what->source_count + 1, sizeof *job->io.sources);
    job->io.sinks = calloc(what->sink_count + 1, sizeof *job->io.sinks);
    bool good = open_breakers(&job->breakers, what) && allocate_setup(&job->ask.setup, what) &&
                job->figures.counts && job->io.sources && job->io.sinks &&
                guards_open(&job->guards, what->stage_count);
    for (uint32_t i = 0; good && i < what->sink_count + 1; i++) job->io.sinks[i].fd = -1;
    return good || trouble_no_memory(&job->trouble, "to begin");
}

// How many rows limits take, and sorts need.
static bool set_limits(const JobAsk *ask, JobBreakers *breakers, Trouble *trouble) {
    const SbSetup *setup = &ask->setup;
    for (uint32_t b = 0; b < ask->what->breaker_count; b++) {
        Edge *edge = &breakers->edges[b];
        int64_t rows = setup->limit_rows[b], skip = setup->skip_rows[b];
        bool limited = rows != INT64_MIN;
        breakers->first_rows[b] = edge->limit = INT64_MAX;
        if (!limited) continue;
        if (rows < 0 || skip < 0) {
            return trouble_set(trouble, TROUBLE_SETUP, "a number of rows is negative: %lld",
                               (long long)(rows < 0 ? rows : skip));
        }
        int64_t all;
        if (__builtin_add_overflow(rows, skip, &all)) all = INT64_MAX;
        bool sorts = ask->what->breakers[b].kind == SB_BREAK_SORT;
        if (sorts) breakers->first_rows[b] = all;
        else *edge = (Edge){.limited = true, .skip = skip, .limit = all};
    }
    return true;
}

static bool check_partitions(const JobAsk *ask, Trouble *trouble) {
    for (uint32_t s = 0; s < ask->what->stage_count; s++) {
        int64_t rows = ask->setup.stage_rows[s], bytes = ask->setup.stage_bytes[s];
        if (rows > 0 && bytes > 0) continue;
        return trouble_set(trouble, TROUBLE_SETUP, "repartition: a partition of %lld %s",
                           (long long)(rows > 0 ? bytes : rows), rows > 0 ? "bytes" : "rows");
    }
    return true;
}

static void set_reject_limits(const JobAsk *ask, JobRejects *rejects) {
    const Options *options = &ask->options;
    RejectLimits limits = {ask->setup.reject_rows, ask->setup.reject_share};
    if (options->has_reject_limit)
        limits = (RejectLimits){options->reject_rows, options->reject_share};
    if (limits.rows < 0 && limits.share < 0) limits.rows = 0;
    rejects->limits = limits;
    char *text = rejects->limit_text;
    if (limits.rows >= 0)
        snprintf(text, sizeof rejects->limit_text, "%lld", (long long)limits.rows);
    else snprintf(text, sizeof rejects->limit_text, "%g%%", limits.share * 100);
}

static bool run_setup(JobAsk *ask, Trouble *trouble) {
    const SbJob *what = ask->what;
    SbSetup *setup = &ask->setup;
    setup->call = &ask->call;
    setup->params = ask->params.values;
    setup->asked = -1;
    setup->reject_rows = -1;
    setup->reject_share = -1;
    for (uint32_t b = 0; b < what->breaker_count; b++) setup->limit_rows[b] = INT64_MIN;
    for (uint32_t s = 0; s < what->stage_count; s++)
        setup->stage_rows[s] = setup->stage_bytes[s] = INT64_MAX;
    int32_t status = what->setup ? what->setup(setup) : SB_OK;
    SbStr detail = ask->call.detail;
    return status == SB_OK ||
           trouble_set(trouble, TROUBLE_SETUP, "%s: %.*s", fault_info(status)->message,
                       (int)detail.len, detail.ptr ? detail.ptr : "");
}

// ---- opening --------------------------------------------------------------------------------

static bool open_sources(Job *job) {
    for (uint32_t s = 0; s < job->ask.what->source_count; s++) {
        SourceSetup setup = {.job = job->ask.what, .ask = &job->ask.setup,
                             .paths = job->ask.setup.source_paths[s],
                             .row_max = job->ask.setup.source_row_max[s],
                             .count = job->ask.setup.source_counts[s],
                             .partition = job->ask.options.partition,
                             .cancel_fd = job->stop.cancel_fd};
        job->io.sources[s].number = s;
        if (!source_open(&job->io.sources[s], &job->ask.what->sources[s], &setup, &job->trouble))
            return false;
    }
    return true;
}

// All of them before anything is made.
static bool check_sinks(Job *job) {
    job->io.has_rejects_sink = job_sink_setup(&job->ask, job->ask.what->sink_count).path.len > 0;
    for (uint32_t s = 0; s < job->ask.what->sink_count + job->io.has_rejects_sink; s++) {
        SinkSetup setup = job_sink_setup(&job->ask, s);
        if (!job_check_paths(&job->ask, job->io.sources, s, &job->trouble) ||
            !sink_check(&job->io.sinks[s], &setup, &job->trouble)) {
            return false;
        }
    }
    return job_check_trace(&job->ask, &job->io, &job->trouble);
}

// Where names of files come of the rows, outputs may meet.
static bool open_names(Job *job) {
    const SbJob *what = job->ask.what;
    bool by_key = false;
    for (uint32_t s = 0; s < what->sink_count; s++) by_key |= what->sinks[s].shape.len > 0;
    if (!by_key) return true;
    job->io.names = names_open();
    if (!job->io.names) return trouble_no_memory(&job->trouble, "to begin");
    for (uint32_t s = 0; s < what->source_count; s++) {
        const Source *source = &job->io.sources[s];
        for (uint32_t f = 0; f < source->file_count; f++)
            if (!names_read(job->io.names, source->files[f].path, &job->trouble)) return false;
    }
    return true;
}

static bool open_sinks(Job *job) {
    if (!open_names(job)) return false;
    for (uint32_t s = 0; s < job->ask.what->sink_count + job->io.has_rejects_sink; s++) {
        SinkSetup setup = job_sink_setup(&job->ask, s);
        setup.tag = resume_tag(job->resume);
        setup.from = resume_place(job->resume, s);
        setup.names = job->io.names;
        if (!sink_open(&job->io.sinks[s], &setup, &job->trouble)) return false;
    }
    return true;
}

// A folder that the user names is made at once: a mistake in it shows before the job has worked.
static bool open_spill(Job *job, uint32_t threads) {
    const char *folder = job->ask.options.spill, *root = folder ? folder : spill_default_root();
    JobMachine *machine = &job->machine;
    // The last writer is that of the records of rejects.
    if (!spill_open(&machine->spill, root, threads + 1, &machine->memory))
        return trouble_no_memory(&job->trouble, "to begin");
    machine->spill.journaled = job->resume;
    RejectSetSetup records = job_records(machine, job->breakers.lanes, REJECTS_BY_FILE);
    if (!reject_set_open(&job->rejects.set, &records))
        return trouble_no_memory(&job->trouble, "to begin");
    FlowParts of = flow_parts(job);
    bool make = folder && memory_plan_may_spill(&of);
    return !make || spill_make(&machine->spill) || !spill_trouble(&machine->spill, &job->trouble);
}

static bool open_fills(JobBreakers *breakers, Trouble *trouble) {
    breakers->fills = calloc(breakers->lanes, sizeof *breakers->fills);
    for (uint32_t i = 0; breakers->fills && i < breakers->lanes; i++)
        pthread_mutex_init(&breakers->fills[i], nullptr);
    return breakers->fills || trouble_no_memory(trouble, "to begin");
}

static bool open_watch(Job *job, uint32_t threads) {
    const SbJob *what = job->ask.what;
    JobFigures *figures = &job->figures;
    uint32_t workers = job->machine.workers.count;
    if (workers > 0) figures->workers = calloc(workers, sizeof *figures->workers);
    if (workers > 0 && !figures->workers) return trouble_no_memory(&job->trouble, "to begin");
    if (job->ask.options.stats != STATS_NONE) figures->samples = samples_open(what, threads);
    return watch_open(figures->watch, what->stage_count, threads, job->log.started_ns) ||
           trouble_no_memory(&job->trouble, "to begin");
}

static void open_memory(JobMachine *machine, const Options *options) {
    int64_t whole = options->memory ? options->memory : device_of(DEVICE_CPU)->memory() / 5 * 4;
    int64_t rest = sb_memory_rest(whole);
    machine->memory_whole = machine->memory_now = whole;
    sb_memory_open(&machine->memory, whole > rest ? whole - rest : 0);
}

// The fastest code for each stage that this CPU runs.
static bool choose_code(const SbJob *what, Trouble *trouble) {
    int level = sb_cpu_level();
    for (uint32_t s = 0; s < what->stage_count; s++) {
        SbStage *stage = &what->stages[s];
        if (level >= 1 && stage->run_level[1]) stage->run = stage->run_level[1];
        else if (level >= 0 && stage->run_level[0]) stage->run = stage->run_level[0];
        if (!stage->run)
            return trouble_set(trouble, TROUBLE_CPU, "this CPU is older than x86-64-v%d",
                               stage->run_level[0] ? 3 : 4);
    }
    return true;
}

static bool read_ask(JobAsk *ask, Trouble *trouble) {
    if (sb_scratch_open(&ask->call, 64 * 1024) != SB_OK)
        return trouble_no_memory(trouble, "to begin");
    return params_read(&ask->params, ask->what, &ask->options, &ask->call, trouble) &&
           run_setup(ask, trouble);
}

// All that needs no input.
static bool open_plan(Job *job) {
    open_memory(&job->machine, &job->ask.options);
    foreign_open(&job->machine.memory);
    if (!choose_code(job->ask.what, &job->trouble) || !allocate(job)) return false;
    if (!read_ask(&job->ask, &job->trouble) ||
        !set_limits(&job->ask, &job->breakers, &job->trouble) ||
        !check_partitions(&job->ask, &job->trouble)) {
        return false;
    }
    set_reject_limits(&job->ask, &job->rejects);
    return true;
}

// A job that turns out to be finished opens no outputs. One that begins a journal has looked at all
// else before: a journal binds it to its parameters.
static bool open_job(Job *job) {
    Options *options = &job->ask.options;
    if (!job_check_journal(&job->ask, &job->trouble) || !resume_open(job)) return false;
    if (resume_finished(job->resume)) return open_watch(job, 1);
    uint32_t cpus = options->threads ? options->threads : device_of(DEVICE_CPU)->count();
    if (!slots_open(&job->machine.slots, job->ask.what, options, cpus, &job->trouble)) return false;
    uint32_t threads = slots_threads(&job->machine.slots);
    job->breakers.lanes = job_lanes(job->ask.what, &job->ask.options, threads);
    if (!job_start_python(job, threads) || !job_open_gpu(job, threads)) return false;
    const char *alone = options->listen ? flow_job_why_alone(&job->ask, job->breakers.edges)
                                        : nullptr;
    if (alone) log_warn(&job->log, TROUBLE_JOIN_NONE, "no worker can join: %s", alone);
    if (!memory_plan_share_out(job) || !memory_plan_set(job, threads)) return false;
    Trouble over = {0};
    if (memory_plan_over(options, &over)) log_warn(&job->log, over.kind, "%s", over.text);
    FlowParts of = flow_parts(job);
    if (!batches_check(job->ask.what, memory_plan_ledger(&of), &job->trouble)) return false;
    sb_memory_keep(&job->machine.memory);
    job->figures.watch->keeps_spans = options->trace || options->metrics;
    if (job->machine.gpu && options->trace) gpu_keep_spans(job->machine.gpu);
    job->figures.watch->keeps_rows = options->show_rows;
    bool opened = open_sources(job), begins = !job->resumed;
    if (opened && begins && !check_sinks(job)) return false;
    if (!resume_begin(job, opened)) return false;
    if (resume_finished(job->resume)) return open_watch(job, 1);
    if ((!begins && !check_sinks(job)) || !open_sinks(job) || !resume_log(job)) return false;
    return open_spill(job, job->breakers.lanes) && open_fills(&job->breakers, &job->trouble) &&
           pool_open(&job->machine.pool, threads, &job->trouble) &&
           open_watch(job, threads + job_far_threads(&job->machine));
}

static void close_job(Job *job) {
    const SbJob *what = job->ask.what;
    job_close_python(job);
    job_close_gpu(job);
    resume_close(job);
    if (job->machine.pool.parallel.threads > 0) pool_close(&job->machine.pool);
    close_breakers(&job->breakers, what);
    watch_close(job->figures.watch);
    samples_close(job->figures.samples);
    foreign_close();
    guards_close(&job->guards);
    reject_set_close(&job->rejects.set);
    rejects_close(&job->rejects.failing_list);
    spill_close(&job->machine.spill);
    for (uint32_t s = 0; job->io.sources && s < what->source_count; s++)
        source_close(&job->io.sources[s]);
    for (uint32_t s = 0; job->io.sinks && s < what->sink_count + 1; s++)
        sink_close(&job->io.sinks[s]);
    params_close(&job->ask.params);
    options_close(&job->ask.options);
    sb_scratch_close(&job->ask.call);
    sb_memory_keep_none(&job->machine.memory);
    free_setup(&job->ask.setup);
    free(job->figures.counts);
    free(job->figures.workers);
    free(job->io.sources);
    free(job->io.sinks);
    names_close(job->io.names);
    if (job->stop.cancel_fd >= 0) close(job->stop.cancel_fd);
}

// ---- running --------------------------------------------------------------------------------

typedef struct Outcome {
    bool    data_failed;  // A limit of rejects was passed, or a record ends the job.
    int64_t over;         // Records that the rejects file gets...
    int64_t weight;       // ...and what they count as, where they pass a limit.
} Outcome;

static bool no_records(Job *job) {
    return !spill_trouble(&job->machine.spill, &job->trouble) &&
           trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the rejects");
}

static bool end_records(Job *job, RejectWalk *walk) {
    reject_walk_close(walk);
    return !spill_trouble(&job->machine.spill, &job->trouble);
}

// The shares of sources, and of all of them after those.
static RejectShare *open_shares(uint32_t count, double share) {
    RejectShare *shares = calloc((size_t)count + 1, sizeof *shares);
    for (uint32_t s = 0; shares && s <= count; s++)
        rejects_share_open(&shares[s], share, s < count ? s : UINT32_MAX);
    return shares;
}

static bool shares_over(const SbJob *what, const int64_t *counts, const RejectShare *shares) {
    uint32_t count = what->source_count;
    bool over = false;
    int64_t all = 0;
    for (uint32_t s = 0; s < count; s++) {
        int64_t made = counts[what->sources[s].step * SB_COUNTS + SB_MADE];
        all += made;
        over |= rejects_share_over(&shares[s], made);
    }
    return over || rejects_share_over(&shares[count], all);
}

// Judges the limits over all records; the first one stands for those that are too many.
static bool judge_limits(Job *job, RejectWalk *walk, Outcome *outcome) {
    const SbJob *what = job->ask.what;
    const RejectLimits *limits = &job->rejects.limits;
    RejectShare *shares = open_shares(what->source_count, limits->share);
    if (!shares) return trouble_no_memory(&job->trouble, "to begin");
    bool over = false;
    for (const Reject *next; !over && (next = reject_walk_next(walk));) {
        if (outcome->over++ == 0 && !rejects_copy(&job->rejects.failing_list, next)) {
            free(shares);
            return no_records(job);
        }
        outcome->weight += next->weight;
        over = limits->rows >= 0 && outcome->weight > limits->rows;
        for (uint32_t s = 0; limits->share >= 0 && s <= what->source_count; s++)
            rejects_share_take(&shares[s], next);
    }
    outcome->data_failed = over || (limits->share >= 0 &&
                                    shares_over(what, job->figures.counts, shares));
    free(shares);
    return true;
}

// The rejects file holds what stands before the record that ends the job.
static void count_before(const Reject *failing, RejectWalk *walk, Outcome *outcome) {
    outcome->data_failed = true;
    for (const Reject *next; (next = reject_walk_next(walk)); outcome->over++)
        if (rejects_by_file(next, failing) >= 0) break;
}

static bool judge_records(Job *job, Outcome *outcome) {
    RejectWalk walk;
    if (!reject_walk_open(&walk, &job->rejects.set)) return no_records(job);
    bool good = true;
    if (job->rejects.failing) count_before(job->rejects.failing, &walk, outcome);
    else good = judge_limits(job, &walk, outcome);
    return end_records(job, &walk) && good;
}

// Writes what the text holds, and empties it.
static bool write_text(Job *job, Text *text, int64_t rows) {
    Sink *sink = &job->io.sinks[job->ask.what->sink_count];
    ExtentList extents = {0};
    SinkRows some = {{text->ptr, text->len}, rows};
    bool good = !text->failed ? sink_take(sink, some, &extents, &job->trouble)
                              : trouble_no_memory(&job->trouble, "to begin");
    for (size_t i = 0; good && i < extents.count; i++)
        good = sink_write(&extents.items[i], &job->trouble);
    free(extents.items);
    text->len = 0;
    return good;
}

static bool write_records(Job *job, RejectWalk *walk, int64_t count, Text *text) {
    enum { TEXT_BYTES = 64 << 10 };
    SbRecords form = job_records_form(&job->ask);
    const Reject *next;
    int64_t rows = 0;
    for (int64_t i = 0; i < count && (next = reject_walk_next(walk)); i++) {
        rejects_text(next, job->ask.what, form, text);
        rows++;
        if (text->len < TEXT_BYTES) continue;
        if (!write_text(job, text, rows)) return false;
        rows = 0;
    }
    return write_text(job, text, rows);
}

static bool write_rejects(Job *job, int64_t count) {
    if (!job->io.has_rejects_sink) return true;
    RejectWalk walk;
    Text text = {0};
    if (!reject_walk_open(&walk, &job->rejects.set)) return no_records(job);
    bool good = write_records(job, &walk, count, &text);
    sb_text_close(&text);
    return end_records(job, &walk) && good &&
           sink_finish(&job->io.sinks[job->ask.what->sink_count], &job->trouble);
}

static bool publish(Job *job) {
    uint32_t count = job->ask.what->sink_count + job->io.has_rejects_sink;
    for (uint32_t s = 0; s < job->ask.what->sink_count; s++) {
        if (!sink_finish(&job->io.sinks[s], &job->trouble)) return false;
    }
    if (atomic_load(&job->stop.cancel) || !leave_settles(job, ENDING_PUBLISHES))
        return trouble_set(&job->trouble, TROUBLE_INTERRUPTED, "interrupted");
    if (job->resume) return resume_publish(job);
    for (uint32_t s = 0; s < count; s++)
        if (!sink_check_names(&job->io.sinks[s], &job->trouble)) return false;
    for (uint32_t s = 0; s < count; s++)
        if (!manifest_remove(&job->io.sinks[s], false, &job->trouble)) return false;
    for (uint32_t s = 0; s < count; s++) {
        if (!sink_publish(&job->io.sinks[s], &job->trouble)) return false;
    }
    return true;
}

// Of a job whose data made it fail they are all that it leaves.
static void publish_rejects(Job *job) {
    Sink *sink = &job->io.sinks[job->ask.what->sink_count];
    if (sink_check_names(sink, &job->trouble) && manifest_remove(sink, false, &job->trouble))
        sink_publish(sink, &job->trouble);
}

// What a job that ran all its stages or passed a limit leaves. Signals are still listened to: the
// files appear all or not at all.
static Outcome conclude(Job *job, bool ran) {
    Outcome outcome = {0};
    bool good = job->trouble.kind == TROUBLE_NONE && judge_records(job, &outcome);
    job_summary_count(&job->ask, &job->breakers, job->io.sinks, job->figures.counts);
    if (good && write_rejects(job, outcome.over)) {
        if (outcome.data_failed && job->io.has_rejects_sink) publish_rejects(job);
        if (!outcome.data_failed && ran) publish(job);
    }
    if (outcome.data_failed) resume_forget(job->resume);
    return outcome;
}

// The record that ends the job, or that stands for too many.
static void report_reject(Job *job, Outcome outcome) {
    const Reject *reject = &job->rejects.failing_list.items[0];
    const char *limit = job->rejects.failing ? nullptr : job->rejects.limit_text;
    Text text = {0};
    if (job->log.json) {
        log_begin(&job->log, &text, "trouble");
        rejects_event(reject, job->ask.what, limit, outcome.weight, &text);
        log_event(&job->log, &text);
    } else {
        rejects_explain(reject, job->ask.what, limit, outcome.weight, &text);
        log_lines(&job->log, &text, false);
        sb_text_close(&text);
    }
}

// Says how it ended. Returns the exit code.
static int report(Job *job, Outcome outcome) {
    bool done = job->trouble.kind == TROUBLE_NONE && !outcome.data_failed;
    int code = job->trouble.kind != TROUBLE_NONE ? trouble_exit_code(&job->trouble)
               : outcome.data_failed             ? 1
                                                 : 0;
    if (job->trouble.kind != TROUBLE_NONE) job_log_trouble(job, &job->trouble);
    else if (outcome.data_failed) report_reject(job, outcome);
    else null_words_warn(job);
    job_summary_print(job, done, code);
    return code;
}

// The job is about to read its input.
static void report_start(Job *job) {
    if (!job->log.json) return;
    Text text = {0};
    log_begin(&job->log, &text, "start");
    log_add_text(&text, "job", job->ask.what->name.ptr, job->ask.what->name.len);
    log_add_text(&text, "program", job->ask.what->source_hash.ptr, job->ask.what->source_hash.len);
    log_add_number(&text, "pid", getpid());
    log_add_number(&text, "threads", job->machine.pool.parallel.threads);
    log_add_number(&text, "memory", job->machine.memory_now);
    log_add_number(&text, "partition", job->ask.options.partition);
    log_event(&job->log, &text);
}

static void describe_memory(Job *job, Text *text) {
    uint32_t threads = slots_threads(&job->machine.slots);
    Trouble unknown = {0};
    MemoryNeeds needs = memory_plan_needs(job, threads);
    MemoryOthers others = {.python = job_plan_python(job, threads, &unknown)};
    needs.least += others.python.least;
    needs.full += others.python.full;
    others.gpu = job_plan_gpu(job, threads, needs);
    memory_plan_print(job, threads, &others, text);
    if (unknown.kind != TROUBLE_NONE)
        sb_text_format(text, "Python processes are not counted: %s\n", unknown.text);
    trouble_close(&unknown);
    job_print_gpu_plan(job, threads, text);
    FlowParts of = flow_parts(job);
    exchange_print(&of, threads, text);
}

// Without parameters that have to be given, sizes that they say are as if they said none.
static void describe_plan(Job *job) {
    Text text = {0};
    Trouble *trouble = &job->trouble;
    const Options *options = &job->ask.options;
    uint32_t cpus = options->threads ? options->threads : device_of(DEVICE_CPU)->count();
    bool planned = open_plan(job) || job->ask.setup.stage_bytes;
    trouble_close(trouble);
    if (planned && !slots_open(&job->machine.slots, job->ask.what, options, cpus, trouble))
        trouble_close(trouble);
    if (planned) describe_memory(job, &text);
    printf("%.*s%.*s", (int)job->ask.what->plan.len, job->ask.what->plan.ptr, (int)text.len,
           text.ptr ? text.ptr : "");
    sb_text_close(&text);
    close_job(job);
}

// What was printed about the job has to get there.
static int end_description(Job *job) {
    if (job->trouble.kind != TROUBLE_NONE) {
        log_trouble(&job->log, &job->trouble);
        return trouble_exit_code(&job->trouble);
    }
    bool lost = ferror(stdout), left = fflush(stdout) == 0;
    if (!lost && left) return 0;
    trouble_set(&job->trouble, TROUBLE_WRITE, "standard output cannot be written: %s",
                left ? "its end was not taken" : strerror(errno));
    log_trouble(&job->log, &job->trouble);
    return trouble_exit_code(&job->trouble);
}

// What the job says of itself. False: nothing of the kind was asked for.
static bool describe(Job *job) {
    const Options *options = &job->ask.options;
    if (options->help) options_print_help(job->ask.what, stdout);
    else if (options->params) options_print_params(job->ask.what, stdout);
    else if (options->plan) describe_plan(job);
    else if (options->licenses) licenses_print(stdout);
    else if (options->devices) job_print_devices(job->ask.what, stdout);
    else if (options->tells) tell_run(job);
    else return false;
    return true;
}

// A descriptor from 0 to 2 that is closed would be given to the next thing that opens: reads of
// standard input would wait for an event, messages would go into an output. /dev/null takes its
// place, open the wrong way round, so that using it is an error.
static void hold_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
    }
}

// Who hears of what happens to rows, in the order in which they do: what limits turn down is no
// matter of commits.
static bool run_stages(Job *job) {
    Limits *limits = limits_new(job);
    if (!limits) return trouble_no_memory(&job->trouble, "to begin");
    Observers observers = {.items = {limits_observer(limits)}, .count = 1};
    if (job->resume) observers.items[observers.count++] = resume_observer(job, limits);
    observers.items[observers.count++] = watch_observer(job->figures.watch, job->figures.samples);
    bool ran = engine_run(job, &observers);
    limits_free(limits);
    return ran;
}

// `inherited`: nullptr of a worker that joins.
static int run_worker(Job *job, const Inherited *inherited) {
    bool planned = open_plan(job);
    job_open_python(job, UINT32_MAX);  // The coordinator has tried the functions.
    int code = !planned    ? trouble_exit_code(&job->trouble)
               : inherited ? serve_run(job, inherited)
                           : serve_join(job);
    if (code == SERVE_AGAIN) return code;
    if (job->trouble.kind != TROUBLE_NONE) job_log_trouble(job, &job->trouble);
    return code;
}

// A key that cannot be used shows before anything else is done.
static bool has_key(const Options *options, Trouble *trouble) {
    LinkKey key;
    return !options->key_file || link_key_read(options->key_file, &key, trouble);
}

static int run_job(Job *job, const Inherited *inherited) {
    job->stop.cancel_fd = eventfd(0, EFD_CLOEXEC);
    const Options *options = &job->ask.options;
    job->machine.retry = (RetryPolicy){.retries = options->retries, .log = &job->log,
                                       .waits = options->waits_for_room,
                                       .cancel = &job->stop.cancel,
                                       .cancel_fd = job->stop.cancel_fd};
    retry_use(&job->machine.retry);
    if (inherited || options->join) return run_worker(job, inherited);
    bool planned = has_key(options, &job->trouble) && open_plan(job);
    if (planned && options->check) return check_run(job, open_sources);
    if (planned && options->journal) return resume_show(job, open_sources);
    if (!planned || !open_job(job)) {
        job_log_trouble(job, &job->trouble);
        return trouble_exit_code(&job->trouble);
    }
    if (resume_finished(job->resume)) return report(job, (Outcome){0});
    Control *control = control_open(job);
    if (!control) {
        job_log_trouble(job, &job->trouble);
        return trouble_exit_code(&job->trouble);
    }
    Told *told = told_open(job);
    report_start(job);
    control_say(control);
    leave_open(job);
    bool ran = job->trouble.kind == TROUBLE_NONE && run_stages(job);
    Outcome outcome = conclude(job, ran);
    leave_close();
    told_close(told);
    control_close(control);
    return report(job, outcome);
}

static int join_again(char *const *argv) {
    execv("/proc/self/exe", argv);
    fprintf(stderr, "error: the worker cannot begin again: %s\n", strerror(errno));
    return 3;
}

int sb_main(int argc, char **argv, const SbJob *what) {
    hold_standard_streams();
    Watch watch = {0};
    Inherited inherited;
    int code = 0;
    Job job = {.ask = {.what = what, .argv = argv}, .stop.cancel_fd = -1, .figures.watch = &watch};
    job.rejects.set.list.memory = job.rejects.failing_list.memory = &job.machine.memory;
    log_open(&job.log, stderr, false);
    pthread_mutex_init(&job.stop.engine_lock, nullptr);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);  // A file over `ulimit -f` is an error of its write.
    sb_memory_begin();
    if (what->abi_version != SB_ABI_VERSION) {
        trouble_set(&job.trouble, TROUBLE_ABI, "the job and its runtime are of different versions");
    }
    if (gpu_process(what, &code)) return code;
    bool worker = process_inherited(&inherited, &job.trouble);
    failpoint_open(worker ? inherited.node : 0);
    bool good = job.trouble.kind == TROUBLE_NONE &&
                options_read(&job.ask.options, what, argc, argv, &job.trouble);
    job.log.json = job.ask.options.log == LOG_JSON;
    if (!good) {
        log_trouble(&job.log, &job.trouble);
        code = trouble_exit_code(&job.trouble);
    } else if (describe(&job)) {
        code = end_description(&job);
    } else {
        CrashStack crash_stack;
        crash_open(what, job.log.json, worker);
        crash_stack_open(&crash_stack);
        code = run_job(&job, worker ? &inherited : nullptr);
        close_job(&job);
        retry_use(nullptr);
        crash_stack_close(&crash_stack);
    }
    options_close(&job.ask.options);
    trouble_close(&job.trouble);
    pthread_mutex_destroy(&job.stop.engine_lock);
    log_close(&job.log);
    // Nothing of its last life is left. Where the job is over it finds nobody, and ends.
    if (code == SERVE_AGAIN) code = join_again(argv);
    return code;
}
