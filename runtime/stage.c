#include "runtime/stage.h"

#include <stdlib.h>
#include <string.h>

enum { UNITS_A_THREAD = 4 };

// ---- opening --------------------------------------------------------------------------------

static bool is_source_input(const SbStage *stage) {
    return stage->input == SB_INPUT_TEXT || stage->input == SB_INPUT_RANGE ||
           stage->input == SB_INPUT_RECORDS;
}

// The rows of a join's build side that no probe marked.
static bool find_unmatched(Job *job, const SbStage *stage, const SbBreaker *what,
                           UnitsSetup *setup) {
    const SbEntry **rows = malloc(((size_t)setup->entry_count + 1) * sizeof(const SbEntry *));
    if (!rows) return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for rows");
    int64_t kept = 0;
    for (int64_t i = 0; i < setup->entry_count; i++) {
        const SbEntry *entry = setup->entries[i];
        if (((const uint8_t *)entry)[what->matched_offset] != 1) rows[kept++] = entry;
    }
    job->unmatched = rows;
    job->unmatched_rows[stage->input_index] = kept;
    setup->entries = rows;
    setup->entry_count = kept;
    return true;
}

// The finished rows that the stage reads.
static bool find_rows(Job *job, const SbStage *stage, UnitsSetup *setup) {
    const SbBreaker *breaker = &job->what->breakers[stage->input_index];
    if (breaker->kind == SB_BREAK_EDGE) {
        const Edge *edge = &job->edges[stage->input_index];
        setup->entries = edge->entries;
        setup->entry_count = edge->entry_count;
        return true;
    }
    SbBreakerState *state = job->breakers[stage->input_index];
    setup->entries = sb_breaker_entries(state, &setup->entry_count);
    if (stage->input == SB_INPUT_UNMATCHED) return find_unmatched(job, stage, breaker, setup);
    return setup->entries || setup->entry_count == 0 ||
           trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the rows of '%.*s'",
                       (int)stage->label.len, stage->label.ptr);
}

// The right side of a zip must have as many rows as the left one.
static bool find_right(StageRun *run, int64_t left_count) {
    Job *job = run->job;
    if (run->stage->right_index == UINT32_MAX) return true;
    const Edge *edge = &job->edges[run->stage->right_index];
    run->setup.right = edge->entries;
    if (edge->entry_count == left_count) return true;
    uint32_t site = run->stage->zip_site;
    RejectFacts facts = {.place = {.behind = true,
                                   .fails = true,
                                   .site = site,
                                   .fault = SB_FAULT_ZIP_LENGTH,
                                   .step = job->what->sites[site].step}};
    job->failing_list.memory = &job->memory;
    if (!rejects_add(&job->failing_list, job->what, &facts)) {
        return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the rejects");
    }
    job->failing = &job->failing_list.items[0];
    return false;
}

static bool open_breakers(Job *job, const SbStage *stage) {
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        if (terminal & SB_TERMINAL_SINK || job->breakers[terminal]) continue;
        const SbBreaker *what = &job->what->breakers[terminal];
        if (what->kind == SB_BREAK_EDGE) continue;
        job->breakers[terminal] = sb_breaker_open(what, job->pool.parallel.threads, &job->memory);
        if (!job->breakers[terminal]) {
            return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for '%.*s'",
                               (int)job->what->steps[what->step].label.len,
                               job->what->steps[what->step].label.ptr);
        }
    }
    return true;
}

// Weight of the records that come before those of this stage.
static int64_t weight_before(const Job *job, const TaskSetup *setup) {
    int64_t weight = 0;
    for (uint32_t i = 0; i < job->rejects.count; i++) {
        const Reject *reject = &job->rejects.items[i];
        bool before = setup->behind ? !reject->behind
                                    : !reject->behind && reject->source < setup->files->number;
        if (before) weight += reject->weight;
    }
    return weight;
}

static bool open_run(StageRun *run, Job *job, uint32_t index) {
    const SbStage *stage = &job->what->stages[index];
    *run = (StageRun){.job = job, .stage = stage, .index = index};
    bool source = is_source_input(stage);
    run->setup = (TaskSetup){
        .job = job->what, .stage = stage,
        .source = source ? &job->what->sources[stage->input_index] : nullptr,
        .files = source ? &job->sources[stage->input_index] : nullptr,
        .sources = job->sources,
        .behind = !source,
        .row = source ? &run->source_row : job->what->breakers[stage->input_index].row,
        .params = job->params.values, .tables = job->tables, .breakers = job->breakers,
        .memory = &job->memory, .reject_rows = job->limits.rows,
        .wants_rows = job->limits.share >= 0, .units = &run->units,
    };
    if (source) {
        // Of a range and of inline tables; offsets count from the entry, as a breaker's do.
        run->source_row = (SbType){.kind = SB_STRUCT, .fields = run->setup.source->columns,
                                   .field_count = run->setup.source->column_count};
    }
    UnitsSetup units = {.source = run->setup.files, .input = stage->input, .memory = &job->memory,
                        .cancel = &job->cancel};
    if (source) {
        units.entries = run->setup.source->rows;
        units.entry_count = run->setup.source->row_count;
    } else if (!find_rows(job, stage, &units) || !find_right(run, units.entry_count)) {
        return false;
    }
    if (!open_breakers(job, stage) || !units_open(&run->units, &units, &job->trouble)) return false;
    pthread_mutex_init(&run->lock, nullptr);
    pthread_cond_init(&run->changed, nullptr);
    bool limited = stage->terminal_count > 0;
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        limited &= stage_wants(run, t) != INT64_MAX;
    run->repeats = limited && units_can_repeat(&run->units);
    uint32_t threads = job->pool.parallel.threads;
    // What cannot be read again is run one unit at a time: then each quota is exact.
    run->window = limited && !run->repeats ? 1 : UNITS_A_THREAD * threads;
    run->weight = weight_before(job, &run->setup);
    run->tasks = calloc(threads, sizeof *run->tasks);
    run->ring = calloc(run->window, sizeof *run->ring);
    run->remaining = calloc(stage->terminal_count + 1, sizeof *run->remaining);
    bool good = run->tasks && run->ring && run->remaining;
    for (uint32_t i = 0; good && i < run->window; i++)
        good = result_open(&run->ring[i], &run->setup);
    if (!good) return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for a stage");
    for (; run->opened < threads; run->opened++) {
        if (!task_open(&run->tasks[run->opened], &run->setup, run->opened, &job->trouble))
            return false;
    }
    for (uint32_t t = 0; t < stage->terminal_count; t++) run->remaining[t] = stage_wants(run, t);
    run->stop = stage_nobody_wants(run);
    return true;
}

static void close_run(StageRun *run) {
    for (uint32_t i = 0; run->tasks && i < run->opened; i++) task_close(&run->tasks[i]);
    for (uint32_t i = 0; run->ring && i < run->window; i++) {
        if (run->ring[i].counts) result_close(&run->ring[i], &run->setup);
    }
    free(run->tasks);
    free(run->ring);
    free(run->remaining);
    free(run->writes.items);
    if (run->window > 0) {
        units_close(&run->units);
        pthread_cond_destroy(&run->changed);
        pthread_mutex_destroy(&run->lock);
    }
}

// ---- the loop of a thread; the lock is held between these ---------------------------------------

static void stop(StageRun *run) {
    run->stop = true;
    units_break(&run->units);
    for (uint32_t i = 0; i < run->opened; i++) {
        __atomic_store_n(&run->tasks[i].task.cancel, 1, __ATOMIC_RELAXED);
    }
}

static void do_write(StageRun *run) {
    Extent extent = run->writes.items[run->write_at++];
    if (run->write_at == run->writes.count) run->write_at = run->writes.count = 0;
    run->writing++;
    pthread_mutex_unlock(&run->lock);
    Trouble trouble = {0};
    bool good = sink_write(&extent, &trouble);
    pthread_mutex_lock(&run->lock);
    run->writing--;
    UnitResult *owner = extent.owner;
    if (--owner->extents == 0) owner->state = RESULT_FREE;
    if (!good && run->job->trouble.kind == TROUBLE_NONE) run->job->trouble = trouble;
    if (!good) stop(run);
    pthread_cond_broadcast(&run->changed);
}

static void do_commit(StageRun *run, uint32_t thread) {
    run->committing = true;
    for (;;) {
        UnitResult *result = &run->ring[run->committed % run->window];
        if (run->stop || result->state != RESULT_READY || run->committed == run->launched) break;
        pthread_mutex_unlock(&run->lock);
        ExtentList extents = {0};
        bool more = stage_commit(run, result, thread, &extents);
        pthread_mutex_lock(&run->lock);
        run->committed++;
        result->state = result->extents > 0 ? RESULT_COMMITTED : RESULT_FREE;
        for (uint32_t t = 0; t < run->stage->terminal_count; t++)
            run->remaining[t] = stage_wants(run, t);
        for (size_t i = 0; i < extents.count; i++) {
            if (run->writes.count == run->writes.cap) {
                size_t cap = run->writes.cap ? 2 * run->writes.cap : 64;
                Extent *items = realloc(run->writes.items, cap * sizeof *items);
                if (!items) {
                    trouble_set(&run->job->trouble, TROUBLE_MEMORY, "no memory for writes");
                    more = false;
                    break;
                }
                run->writes.items = items;
                run->writes.cap = cap;
            }
            run->writes.items[run->writes.count++] = extents.items[i];
        }
        free(extents.items);
        if (!more) stop(run);
        pthread_cond_broadcast(&run->changed);
    }
    run->committing = false;
    pthread_cond_broadcast(&run->changed);
}

// Takes the next unit and runs the stage on it.
static void do_unit(StageRun *run, uint32_t thread) {
    SbTaskState *state = &run->tasks[thread];
    UnitResult *result = &run->ring[run->launched % run->window];
    run->taking = true;
    run->running++;
    result->state = RESULT_RUNNING;
    pthread_mutex_unlock(&run->lock);
    result_reset(result, &run->setup);
    UnitTake taken = units_take(&run->units, &result->unit, &state->buffer, &result->trouble);
    pthread_mutex_lock(&run->lock);
    run->taking = false;
    if (taken != UNIT_TAKEN) run->exhausted = true;
    if (taken == UNIT_NONE) {
        result->state = RESULT_FREE;
        run->running--;
        pthread_cond_broadcast(&run->changed);
        return;
    }
    run->launched++;
    memcpy(result->quota, run->remaining, run->stage->terminal_count * sizeof *result->quota);
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    if (taken == UNIT_TAKEN &&
        units_prepare(&run->units, &result->unit, &state->buffer, &result->trouble)) {
        task_run(state, result);
    }
    pthread_mutex_lock(&run->lock);
    run->running--;
    result->state = RESULT_READY;
    pthread_cond_broadcast(&run->changed);
}

static void stage_thread(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    StageRun *run = arg;
    pthread_mutex_lock(&run->lock);
    for (;;) {
        if (!run->stop && atomic_load(&run->job->cancel)) stop(run);
        bool ready = !run->stop && !run->committing && run->committed < run->launched &&
                     run->ring[run->committed % run->window].state == RESULT_READY;
        bool launch = !run->stop && !run->exhausted && !run->taking &&
                      run->ring[run->launched % run->window].state == RESULT_FREE;
        bool failed = run->job->trouble.kind != TROUBLE_NONE;
        if (ready) do_commit(run, thread);
        else if (run->write_at < run->writes.count && !failed) do_write(run);
        else if (launch) do_unit(run, thread);
        else if (run->running == 0 && !run->committing && run->writing == 0 &&
                 (run->stop || (run->exhausted && run->committed == run->launched))) break;
        else pthread_cond_wait(&run->changed, &run->lock);
    }
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

// ---- breakers -------------------------------------------------------------------------------

static bool finish_breaker(Job *job, uint32_t breaker) {
    const SbBreaker *what = &job->what->breakers[breaker];
    if (what->kind == SB_BREAK_EDGE) return edge_finish(job, breaker);
    int32_t status = sb_breaker_finish(job->breakers[breaker], &job->pool.parallel);
    SbStr step = job->what->steps[what->step].label;
    if (status == SB_FAULT_TOO_LARGE) {
        return trouble_set(&job->trouble, TROUBLE_MEMORY,
                           "'%.*s' needs more than the %lld bytes that --memory gives",
                           (int)step.len, step.ptr, (long long)job->memory.limit);
    }
    if (status != SB_OK) {
        return trouble_set(&job->trouble, TROUBLE_FAULT, "'%.*s': %s", (int)step.len, step.ptr,
                           rejects_fault_text(status));
    }
    if (what->kind == SB_BREAK_JOIN)
        job->tables[breaker] = sb_breaker_table(job->breakers[breaker]);
    return true;
}

// Does a stage behind `index` still use the breaker?
static bool used_later(const Job *job, uint32_t index, uint32_t breaker) {
    for (uint32_t s = index + 1; s < job->what->stage_count; s++) {
        const SbStage *stage = &job->what->stages[s];
        if (!is_source_input(stage) && stage->input_index == breaker) return true;
        for (uint32_t n = 0; n < stage->need_count; n++) {
            if (stage->needs[n] == breaker) return true;
        }
    }
    return false;
}

static void release_breaker(Job *job, uint32_t index, uint32_t breaker) {
    if (used_later(job, index, breaker)) return;
    edge_close(job, breaker);
    if (job->breakers[breaker]) {
        sb_breaker_close(job->breakers[breaker]);
    }
    job->breakers[breaker] = nullptr;
}

bool stage_run(Job *job, uint32_t index) {
    StageRun run;
    const SbStage *stage = &job->what->stages[index];
    atomic_store(&job->progress.stage, index);
    bool good = open_run(&run, job, index);
    if (good) {
        SbParallel *parallel = &job->pool.parallel;
        parallel->each(parallel, parallel->threads, stage_thread, &run);
    }
    close_run(&run);
    free(job->unmatched);
    job->unmatched = nullptr;
    if (atomic_load(&job->cancel)) trouble_set(&job->trouble, TROUBLE_INTERRUPTED, "interrupted");
    good = good && job->trouble.kind == TROUBLE_NONE && !job->failing;
    for (uint32_t t = 0; good && !job->over_limit && t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        if (terminal & SB_TERMINAL_SINK || --job->producers[terminal] > 0) continue;
        good = finish_breaker(job, terminal);
        if (good && job->breakers[terminal]) {
            sb_breaker_entries(job->breakers[terminal], &job->kept[terminal]);
        }
    }
    if (!good || job->over_limit) return false;
    if (!is_source_input(stage)) release_breaker(job, index, stage->input_index);
    for (uint32_t n = 0; n < stage->need_count; n++) release_breaker(job, index, stage->needs[n]);
    return true;
}
