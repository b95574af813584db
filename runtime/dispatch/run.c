// The life of a dispatch: from the plan of a job to its figures.
#define _GNU_SOURCE
#include "runtime/dispatch/corrupt.h"
#include "runtime/dispatch/far_breaker.h"
#include "runtime/dispatch/state.h"
#include "runtime/job.h"
#include "runtime/worker.h"

#include <stdlib.h>
#include <string.h>

// ---- the plan -------------------------------------------------------------------------------

// Whether the memory is enough was judged before (memory_plan.h).
static FlowPlan *make_plan(Job *job) {
    FlowParts of = flow_parts(job);
    FlowSizes sizes = {.ledger = memory_plan_ledger(&of), .partition = job->ask.options.partition,
                       .block_bytes = job->machine.memory.block_max,
                       .spill_bytes = spill_buffer_bytes(job->machine.memory.limit,
                                                          job->breakers.lanes),
                       .threads = job->machine.pool.parallel.threads};
    FlowPlan *plan = malloc(sizeof *plan);
    FlowFault fault = plan ? flow_job_make(&of, &sizes, plan) : FLOW_NO_MEMORY;
    if (fault == FLOW_OK) return plan;
    if (fault == FLOW_TOO_WIDE)
        trouble_set(&job->trouble, TROUBLE_TOO_WIDE,
                    "the program has %u stages and %u sinks, or too many ways between them",
                    job->ask.what->stage_count, job->ask.what->sink_count);
    else trouble_no_memory(&job->trouble, "for the plan");
    free(plan);
    return nullptr;
}

// ---- opening --------------------------------------------------------------------------------

static Schedule *make_schedule(const CorePlan *plan, PolicyId policy, int64_t *minimum) {
    Schedule *schedule = malloc(schedule_bytes(plan));
    if (schedule && schedule_init(schedule, plan, policy, minimum) == CORE_OK) return schedule;
    free(schedule);
    return nullptr;
}

static Schedule *open_schedule(const Job *job, FlowPlan *plan) {
    PolicyId policy = job_policy(job->ask.what, &job->ask.options);
    int64_t minimum = 0;
    Schedule *schedule = make_schedule(&plan->plan, policy, &minimum);
    if (!schedule || !job->machine.memory.eager || schedule_spools(schedule) == 0) return schedule;
    // A test of what goes to disk: with the least memory nearly all that waits in spools does.
    free(schedule);
    plan->plan.nodes[0].memory = minimum;
    return make_schedule(&plan->plan, policy, &minimum);
}

// What reads no breaker is ready from the start.
static void open_stages(Dispatch *d) {
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        StageRun *run = &d->runs[s];
        if (d->plan->plan.stages[s].kind == STAGE_READER) continue;
        Trouble trouble = {0};
        SbAlone alone = sb_alone(0);
        if (!stage_open(run, &alone.parallel, &trouble))
            dispatch_trouble(d, TROUBLE_MEMORY, &trouble);
    }
}

// The lock is held for a microsecond: who waits for it does better to try again than to sleep.
static bool open_lock(pthread_mutex_t *lock) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    bool good = pthread_mutex_init(lock, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    return good;
}

static bool open_locks(Dispatch *d) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool good = open_lock(&d->lock) &&
                pthread_cond_init(&d->changed, &attributes) == 0 &&
                pthread_cond_init(&d->own->asked, nullptr) == 0;
    pthread_condattr_destroy(&attributes);
    return good;
}

static Dispatch *new_dispatch(void) {
    typedef struct Whole {
        Dispatch    dispatch;
        DispatchOwn own;
    } Whole;
    Whole *whole = calloc(1, sizeof *whole);
    if (!whole) return nullptr;
    whole->dispatch.own = &whole->own;
    return &whole->dispatch;
}

static void warn_of_timeouts(Job *job, const FlowPlan *plan) {
    const SbJob *what = job->ask.what;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        bool far = job->machine.workers.count > 0 && !plan->plan.stages[s].home;
        if (!far) far_warn_untimed(job, &what->stages[s]);
    }
}

Dispatch *dispatch_open(Job *job, StageRun *runs, const Observers *observers) {
    enum : uint32_t { EVENTS_MORE = 8 };
    FlowPlan *plan = make_plan(job);
    Schedule *schedule = plan ? open_schedule(job, plan) : nullptr;
    Dispatch *d = schedule ? new_dispatch() : nullptr;
    if (plan && !d && job->trouble.kind == TROUBLE_NONE)
        trouble_no_memory(&job->trouble, "for the schedule");
    if (!d) {
        free(schedule);
        free(plan);
        return nullptr;
    }
    warn_of_timeouts(job, plan);
    const SbJob *what = job->ask.what;
    uint32_t threads = job->machine.pool.parallel.threads;
    uint32_t lanes = flow_lanes(what, threads) - threads;
    *d->own = (DispatchOwn){.job = job, .breakers = job->breakers.states,
                            .fills = job->breakers.fills,
                            .spill = &job->machine.spill, .memory = &job->machine.memory,
                            .trouble = &job->trouble};
    *d = (Dispatch){.what = what, .runs = runs, .plan = plan, .schedule = schedule,
                    .observers = *observers, .own = d->own};
    d->own->sinks = calloc(what->sink_count + 1, sizeof *d->own->sinks);
    d->own->taking = calloc(what->sink_count + 1, sizeof *d->own->taking);
    d->own->lanes = calloc(lanes + 1, sizeof *d->own->lanes);
    d->own->spools = calloc(plan_node_count(&plan->plan) * SPILLS_MAX, sizeof *d->own->spools);
    d->own->event_max = 2 * (uint32_t)plan->plan.stage_count + EVENTS_MORE;
    d->own->events = calloc(d->own->event_max, sizeof *d->own->events);
    RejectSetSetup records =
        job_records(&job->machine, job->breakers.lanes, REJECTS_BY_PLACE);
    bool good = open_locks(d) && accounts_open(d) && d->own->sinks && d->own->taking &&
                d->own->lanes && d->own->spools && d->own->events &&
                verdict_open(&d->verdict, what, job->rejects.limits.rows, &records);
    good = tell_open(observers, d) && good && spool_open(d);
    for (uint32_t i = 0; good && i < lanes; i++) d->own->lanes[d->own->lane_count++] = threads + i;
    if (good) return d;
    if (job->trouble.kind == TROUBLE_NONE)
        trouble_no_memory(&job->trouble, "for the schedule");
    dispatch_close(d);
    return nullptr;
}

// ---- closing --------------------------------------------------------------------------------

// What a job that stopped early has left in queues and with the schedule.
static void drop_flows(Dispatch *d) {
    for (uint32_t i = 0; i < d->own->flow_max; i++) {
        Flow *flow = d->own->flows[i];
        if (flow && flow->run) flow_end(d, flow);
        else free(flow);
    }
    while (d->own->alive) live_free(d, d->own->alive);
    while (d->own->unused) {
        Flow *flow = d->own->unused;
        d->own->unused = flow->next;
        free(flow);
    }
}

// All that rows take.
static void let_go(Dispatch *d) {
    // Of a job that ends before all right sides are there.
    for (uint32_t b = 0; b < d->what->breaker_count; b++) filters_close(d->own->job, b);
    drop_flows(d);
    tell_close(&d->observers);
    // Who reads breakers takes memory from their accounts.
    for (uint32_t s = 0; s < d->what->stage_count; s++) stage_close(&d->runs[s]);
    for (uint32_t b = 0; b < d->what->breaker_count; b++) {
        if (d->own->breakers[b]) sb_breaker_close(d->own->breakers[b]);
        d->own->breakers[b] = nullptr;
    }
}

void dispatch_close(Dispatch *d) {
    let_go(d);
    workers_close(d->own->workers);
    accounts_close(d);
    verdict_close(&d->verdict);
    pthread_cond_destroy(&d->changed);
    pthread_cond_destroy(&d->own->asked);
    pthread_mutex_destroy(&d->lock);
    attempts_close(d);
    far_fills_close(d);
    free(d->own->flows);
    free(d->own->sinks);
    free(d->own->taking);
    free(d->own->lanes);
    free(d->own->spools);
    free(d->own->events);
    free(d->schedule);
    free(d->plan);
    free(d);
}

// ---- running --------------------------------------------------------------------------------

// The stage that reads the source; nullptr: none does.
static const StageRun *reader_of(const Dispatch *d, uint32_t source) {
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        const StageRun *run = &d->runs[s];
        if (run->setup.source && run->setup.files->number == source) return run;
    }
    return nullptr;
}

// Rows are numbered within their unit: the rows before each one.
static void sum_rows(const Dispatch *d) {
    for (uint32_t s = 0; s < d->what->stage_count; s++) {
        int64_t sum = 0;
        for (uint64_t u = 0; u < d->runs[s].unit_room; u++) {
            int64_t rows = d->runs[s].unit_rows[u];
            d->runs[s].unit_rows[u] = sum;
            sum += rows;
        }
    }
}

// From now on the row is numbered within its source.
static void number_record(const Dispatch *d, Reject *record) {
    const StageRun *run = record->behind ? nullptr : reader_of(d, record->source);
    uint64_t unit = verdict_unit(record);
    if (run && unit < run->unit_room) record->row += run->unit_rows[unit];
}

// The line of a record, where its task did not know it: the file is read once more up to there.
static bool place_record(const Dispatch *d, Reject *record, SourceLines *lines) {
    Job *job = d->own->job;
    bool relative = record->has_place && !record->behind && !record->has_line;
    const Source *source = &job->io.sources[record->source];
    if (!relative || record->line <= 0 || !source->is_text) return true;
    int64_t before;
    if (!source_lines(lines, &source->files[record->file], record->offset, &before, &job->trouble))
        return false;
    record->line = before + 1;
    record->has_line = true;
    return true;
}

static bool complete_record(const Dispatch *d, Reject *record, SourceLines *lines) {
    if (d->own->job->rejects.limits.share >= 0) number_record(d, record);
    return place_record(d, record, lines);
}

// Those in memory stay where they are.
static bool complete_list(const Dispatch *d, RejectList *list, SourceLines *lines) {
    for (uint32_t i = 0; i < list->count; i++)
        if (!complete_record(d, &list->items[i], lines)) return false;
    return true;
}

// Records on disk are copied: their order is another one from now on.
static bool copy_records(const Dispatch *d, RejectSet *from, RejectSet *to, SourceLines *lines) {
    RejectWalk walk;
    bool good = reject_set_write(from, &from->list) && reject_walk_open(&walk, from);
    if (!good) return from->runs.spill->failed ? false : spill_no_merge(&from->runs);
    for (const Reject *next; good && (next = reject_walk_next(&walk));) {
        if (!verdict_keeps(&d->verdict, next)) break;
        Reject record = *next;
        good = complete_record(d, &record, lines) && reject_set_add(to, &record);
    }
    reject_walk_close(&walk);
    return good && !from->runs.spill->failed;
}

static bool take_records(Dispatch *d, SourceLines *lines) {
    Job *job = d->own->job;
    RejectSet *records = &d->verdict.records;
    if (records->runs.count == 0) {
        if (!complete_list(d, &records->list, lines)) return false;
        return rejects_move(&job->rejects.set.list, &records->list);
    }
    if (copy_records(d, records, &job->rejects.set, lines)) return true;
    if (job->trouble.kind == TROUBLE_NONE && !spill_trouble(&job->machine.spill, &job->trouble))
        trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the rejects");
    return false;
}

static bool conclude(Dispatch *d) {
    Job *job = d->own->job;
    Verdict *verdict = &d->verdict;
    SourceLines lines = {0};
    if (job->rejects.limits.share >= 0) sum_rows(d);
    bool ends = verdict_settle(verdict);
    bool good = take_records(d, &lines) && complete_list(d, &verdict->failing, &lines);
    source_lines_close(&lines);
    if (verdict->failing.count > 0) {
        job->rejects.failing_list = verdict->failing;
        verdict->failing = (RejectList){.memory = &job->machine.memory};
        job->rejects.failing = &job->rejects.failing_list.items[0];
    }
    job->rejects.over_limit = verdict->over;
    return good && !ends;
}

bool dispatch_run(Dispatch *d) {
    Worker worker = worker_of_threads(&d->own->job->machine.pool.parallel);
    again_open(d);
    corrupt_open(d);
    if (!far_fills_open(d) || !workers_open(d, &d->own->workers)) return false;
    crew_open(&d->own->crew, worker.threads, &d->lock, &d->changed, &d->own->asked,
              d->own->fills);
    pthread_mutex_lock(&d->lock);
    tell_restore(&d->observers);
    open_stages(d);
    tell_start(&d->observers);
    workers_await(d->own->workers);
    dispatch_tell(d, (Event){.kind = EVENT_START});
    d->own->begun = true;
    pthread_mutex_unlock(&d->lock);
    worker.run(&worker, dispatch_thread, d);
    crew_close(&d->own->crew);
    pthread_mutex_lock(&d->lock);
    tell_end(&d->observers);
    if ((flow_is_cut_short(d) || d->own->gave_up) && d->own->trouble->kind == TROUBLE_NONE)
        trouble_set(d->own->trouble, TROUBLE_INTERRUPTED, "interrupted");
    // A signal that comes from now on finds nothing to stop.
    d->own->over = true;
    workers_end(d->own->workers);
    pthread_mutex_unlock(&d->lock);
    if (d->own->trouble->kind != TROUBLE_NONE) return false;
    tell_conclude(&d->observers);
    let_go(d);
    return conclude(d);
}
