#include "runtime/dispatch.h"
#include "runtime/policy.h"
#include "runtime/resume.h"

#include <stdlib.h>
#include <string.h>

enum { PARTITIONS_A_THREAD = 2, EDGE_SHARE = 8, STAGE_SHARE = 2 };

// ---- opening --------------------------------------------------------------------------------

// The readers of an edge, or only their number.
static uint32_t find_readers(Engine *e, uint32_t breaker, EdgeReader *readers) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < e->count; s++) {
        StageRun *run = &e->runs[s];
        bool reads = run->stage->input == SB_INPUT_ROWS;
        uint32_t inputs[2] = {reads ? run->stage->input_index : SIDE_NONE, run->stage->right_index};
        for (int side = 0; side < 2; side++) {
            if (inputs[side] != breaker) continue;
            if (readers) {
                readers[count].stage = s;
                run->inputs[side] = (EdgeEnd){breaker, count};
            }
            count++;
        }
    }
    return count;
}

// A lane for each producer, by rank.
static uint32_t find_lanes(Engine *e, uint32_t breaker, Lane *lanes) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < e->count; s++) {
        const SbStage *stage = e->runs[s].stage;
        for (uint32_t t = 0; t < stage->terminal_count; t++) {
            if (stage->terminals[t] != breaker) continue;
            uint32_t at = count++;
            for (; lanes && at > 0 && e->runs[lanes[at - 1].stage].stage->rank > stage->rank; at--)
                lanes[at].stage = lanes[at - 1].stage;
            if (lanes) lanes[at].stage = s;
        }
    }
    for (uint32_t l = 0; lanes && l < count; l++) {
        StageRun *run = &e->runs[lanes[l].stage];
        for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
            if (run->stage->terminals[t] == breaker) run->outputs[t] = (EdgeEnd){breaker, l};
        }
    }
    return count;
}

static bool open_edges(Engine *e) {
    const SbJob *what = e->job->what;
    for (uint32_t b = 0; b < what->breaker_count; b++) {
        if (what->breakers[b].kind != SB_BREAK_EDGE) continue;
        Edge *edge = &e->job->edges[b];
        if (!edge_open(edge, find_lanes(e, b, nullptr), find_readers(e, b, nullptr))) return false;
        find_lanes(e, b, edge->lanes);
        find_readers(e, b, edge->readers);
    }
    return true;
}

static bool open_engine(Engine *e, Job *job) {
    const SbJob *what = job->what;
    // Stages may all be at work at once.
    int64_t bytes = job->memory.limit / (what->stage_count + 1) / EDGE_SHARE;
    uint32_t threads = job->pool.parallel.threads;
    *e = (Engine){.job = job, .count = what->stage_count,
                  .edge_bytes = PARTITIONS_A_THREAD * threads * job->options.partition,
                  .stage_bytes = job->memory.limit / (what->stage_count + 1) / STAGE_SHARE,
                  .changed_plan = true, .finishing = SIDE_NONE};
    if (e->edge_bytes > bytes) e->edge_bytes = bytes;
    pthread_mutex_init(&e->lock, nullptr);
    pthread_cond_init(&e->changed, nullptr);
    crew_open(&e->crew, threads, &e->lock, &e->changed, job->fills);
    e->runs = calloc(what->stage_count + 1, sizeof *e->runs);
    e->due = calloc(what->breaker_count + 1, sizeof *e->due);
    bool good = e->runs && e->due;
    for (uint32_t s = 0; good && s < e->count; s++) good = stage_prepare(&e->runs[s], job, s);
    if (!good || !open_edges(e))
        return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the stages");
    return policy_turns(e) ||
           trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the stages");
}

static void close_engine(Engine *e) {
    for (uint32_t s = 0; e->runs && s < e->count; s++) stage_finish(&e->runs[s]);
    free(e->runs);
    free(e->due);
    free(e->writes.items);
    crew_close(&e->crew);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
}

// ---- what follows from what was done; the lock is held ----------------------------------------

static void interrupt(StageRun *run) {
    if (run->window == 0) return;
    units_break(&run->units);
    for (uint32_t i = 0; i < run->window; i++) {
        Flight *flight = &run->flights[i];
        if (flight->state == FLIGHT_RUNNING && flight->task)
            __atomic_store_n(&flight->task->task.cancel, 1, __ATOMIC_RELAXED);
    }
}

static void stop_all(Engine *e) {
    if (e->stop) return;
    e->stop = true;
    for (uint32_t s = 0; s < e->count; s++) {
        if (e->runs[s].state >= RUN_OPEN) interrupt(&e->runs[s]);
    }
}

static bool is_working(const StageRun *run) {
    return run->running > 0 || run->taking || run->offering || run->settling;
}

// Tells those behind that no more rows come. After a fault they would take that for the end.
static void end_outputs(Engine *e, StageRun *run) {
    for (uint32_t t = 0; t < run->stage->terminal_count && !run->broke && !run->dropped; t++) {
        uint32_t terminal = run->stage->terminals[t];
        if (run->outputs[t].edge != SIDE_NONE)
            edge_end(&e->job->edges[run->outputs[t].edge], run->outputs[t].at);
        else if (!(terminal & SB_TERMINAL_SINK) && --e->job->producers[terminal] == 0)
            e->due[terminal] = true;
    }
}

// Does a stage that is not done still fill the breaker, or use it?
static bool is_used(const Engine *e, uint32_t breaker) {
    for (uint32_t s = 0; s < e->count; s++) {
        const StageRun *run = &e->runs[s];
        const SbStage *stage = run->stage;
        if (run->state == RUN_ENDED) continue;
        bool reads = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
        if (reads && stage->input_index == breaker) return true;
        for (uint32_t n = 0; n < stage->need_count; n++) {
            if (stage->needs[n] == breaker) return true;
        }
        bool fills = run->state == RUN_OPENING || run->state == RUN_OPEN;
        for (uint32_t t = 0; fills && t < stage->terminal_count; t++) {
            if (stage->terminals[t] == breaker) return true;
        }
    }
    return e->finishing == breaker;
}

static void release_breaker(Engine *e, uint32_t breaker) {
    Job *job = e->job;
    if (!job->breakers[breaker] || is_used(e, breaker)) return;
    sb_breaker_close(job->breakers[breaker]);
    job->breakers[breaker] = nullptr;
    e->due[breaker] = false;
}

// Of a job that fails the readers may end before those that fill the breaker.
static void release_breakers(Engine *e, const StageRun *run) {
    const SbStage *stage = run->stage;
    if (stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED)
        release_breaker(e, stage->input_index);
    for (uint32_t n = 0; n < stage->need_count; n++) release_breaker(e, stage->needs[n]);
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        if (!(stage->terminals[t] & SB_TERMINAL_SINK)) release_breaker(e, stage->terminals[t]);
    }
}

static void end_run(Engine *e, StageRun *run) {
    run->state = RUN_ENDED;
    for (int side = 0; side < 2; side++) {
        const EdgeEnd *input = &run->inputs[side];
        if (input->edge == SIDE_NONE) continue;
        if (run->dropped) edge_forget(&e->job->edges[input->edge], input->at);
        else edge_stop(&e->job->edges[input->edge], input->at, !run->stopped);
    }
    stage_close(run);
    release_breakers(e, run);
}

// Moves the run on to the state that it has reached. True: it was another.
static bool move_on(Engine *e, StageRun *run) {
    bool decided = e->failed || !policy_broken(e);
    if (run->state == RUN_WAITING && decided && !policy_wanted(e, run)) {
        // Who feeds it may be at work for others, and waits for nobody.
        run->stopped = true;
        end_run(e, run);
        return true;
    }
    if (run->state == RUN_OPEN) {
        bool stops = !run->stopped && stage_nobody_wants(run);
        run->stopped |= stops;
        if (run->stopped && run->running > 0) interrupt(run);
        if (is_working(run) || !(run->stopped || run->exhausted)) return stops;
        if (run->stopped) stage_discard(run);
        if (run->offered < run->launched) return stops;
        run->state = RUN_OUT;
        end_outputs(e, run);
        return true;
    }
    if (run->state != RUN_OUT || is_working(run) || run->writing.first) return false;
    if (run->faulted && !e->failed) return false;
    if (run->dropped) stage_abandon(run);
    // What was abandoned may still be on its way to a file.
    if (run->out.first || run->writing.first) return false;
    end_run(e, run);
    return true;
}

static void refresh(Engine *e) {
    Job *job = e->job;
    if (job->trouble.kind == TROUBLE_NONE && atomic_load(&job->cancel))
        trouble_set(&job->trouble, TROUBLE_INTERRUPTED, "interrupted");
    if (job->trouble.kind != TROUBLE_NONE) stop_all(e);
    if (e->stop || !e->changed_plan) return;
    e->changed_plan = false;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t s = e->count; s-- > 0;) more |= move_on(e, &e->runs[s]);
        StageRun *failed = e->failed;
        policy_judge(e, false);
        more |= e->failed != failed;
    }
    policy_admit(e);
}

// ---- what the watch is told; the lock is held -------------------------------------------------

// The stage that does the action; of a breaker's finish the first that filled it.
static uint32_t stage_of(const Engine *e, Action action) {
    if (action.run) return action.run->index;
    if (action.kind == ACTION_WRITE) {
        const Partition *partition = e->writes.items[e->write_at].owner;
        return partition->run->index;
    }
    uint32_t breaker = action.kind == ACTION_FINISH ? action.number : e->finishing;
    for (uint32_t s = 0; s < e->count; s++) {
        const SbStage *stage = e->runs[s].stage;
        for (uint32_t t = 0; t < stage->terminal_count; t++)
            if (stage->terminals[t] == breaker) return s;
    }
    return 0;
}

static void watch_action(Engine *e, Action action, uint32_t thread) {
    static const WatchWork works[] = {
        [ACTION_WRITE] = WORK_WRITE,   [ACTION_SETTLE] = WORK_HAND,   [ACTION_OFFER] = WORK_HAND,
        [ACTION_HELP] = WORK_FINISH,   [ACTION_FINISH] = WORK_FINISH, [ACTION_OPEN] = WORK_READ,
        [ACTION_RESUME] = WORK_TASK,   [ACTION_TAKE] = WORK_READ,
    };
    Watch *watch = &e->job->watch;
    watch_begin(watch, thread, works[action.kind], stage_of(e, action));
    if (action.kind != ACTION_WRITE) return;
    const Partition *partition = e->writes.items[e->write_at].owner;
    watch_from(watch, thread, 0, partition->from);
}

static void watch_stages(Engine *e) {
    Job *job = e->job;
    int64_t now = log_clock_ns();
    for (uint32_t s = 0; s < e->count; s++) {
        const StageRun *run = &e->runs[s];
        int64_t queued = 0;
        for (int side = 0; side < 2; side++)
            if (run->inputs[side].edge != SIDE_NONE)
                queued += job->edges[run->inputs[side].edge].bytes;
        watch_queue(&job->watch, s, queued);
        watch_state(&job->watch, s, policy_state(e, run), now);
    }
}

static void watch_input(Engine *e, const Unit *unit, uint32_t thread) {
    for (int side = 0; side < 2; side++)
        if (unit->slices[side].batch)
            watch_from(&e->job->watch, thread, side, unit->slices[side].batch->from);
}

// Of text the bytes are those that were judged; of rows those of the batches, once they are read.
static void watch_partition(Engine *e, const StageRun *run, Partition *partition, uint32_t thread) {
    WatchMade made = {.rows_in = run->setup.source ? partition->made
                                                   : partition->end - partition->begin,
                      .bytes_out = partition->used};
    if (run->stage->input == SB_INPUT_TEXT) made.bytes_in = partition->end - partition->begin;
    for (int side = 0; side < 2 && partition->last; side++) {
        const EdgeSlice *slice = &partition->unit.slices[side];
        if (!slice->batch || slice->batch->count == 0) continue;
        double share = (double)slice->count / (double)slice->batch->count;
        made.bytes_in += (int64_t)((double)slice->batch->bytes * share);
    }
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) made.rows_out += partition->rows[t];
    partition->from = watch_made(&e->job->watch, thread, &made);
}

// ---- actions; the lock is held before and after -------------------------------------------------

// With the crew, unless that has something to do.
static void ask_ahead(Engine *e, StageRun *run, uint32_t thread) {
    SbAlone alone = sb_alone(thread);
    bool crew = e->finishing == SIDE_NONE;
    if (crew) {
        e->finishing = run->stage->needs[0];  // It is finished: that keeps others from the crew.
        e->crew.leader = thread;
    }
    pthread_mutex_unlock(&e->lock);
    if (!crew) pthread_mutex_lock(&e->job->fills[thread]);
    stage_ask_ahead(run, crew ? &e->crew.parallel : &alone.parallel);
    if (!crew) pthread_mutex_unlock(&e->job->fills[thread]);
    pthread_mutex_lock(&e->lock);
    if (crew) e->finishing = SIDE_NONE;
}

static void do_open(Engine *e, StageRun *run, uint32_t thread) {
    Job *job = e->job;
    Trouble trouble = {0};
    run->state = RUN_OPENING;
    if (stage_open_breakers(run)) {
        pthread_mutex_unlock(&e->lock);
        bool asks = stage_open(run, &trouble) && stage_asks_ahead(run);
        pthread_mutex_lock(&e->lock);
        if (asks) ask_ahead(e, run, thread);
    }
    run->state = RUN_OPEN;
    if (job->trouble.kind == TROUBLE_NONE) job->trouble = trouble;
}

static void do_write(Engine *e) {
    Extent extent = e->writes.items[e->write_at++];
    if (e->write_at == e->writes.count) e->write_at = e->writes.count = 0;
    pthread_mutex_unlock(&e->lock);
    Trouble trouble = {0};
    bool good = sink_write(&extent, &trouble);
    pthread_mutex_lock(&e->lock);
    if (!good && e->job->trouble.kind == TROUBLE_NONE) e->job->trouble = trouble;
    Partition *partition = extent.owner;
    if (--partition->extents == 0) stage_written(partition);
}

static void do_offer(Engine *e, StageRun *run) {
    ExtentList extents = {0};
    stage_offer(run, &e->lock, &extents);
    for (size_t i = 0; i < extents.count; i++) {
        if (e->writes.count == e->writes.cap) {
            size_t cap = e->writes.cap ? 2 * e->writes.cap : 64;
            Extent *items = realloc(e->writes.items, cap * sizeof *items);
            if (!items) {
                trouble_set(&e->job->trouble, TROUBLE_MEMORY, "no memory for writes");
                break;
            }
            e->writes.items = items;
            e->writes.cap = cap;
        }
        e->writes.items[e->writes.count++] = extents.items[i];
    }
    free(extents.items);
}

static void slot_take(Engine *e, StageRun *run) {
    run->running++;
    slots_take(&e->job->slots, run->stage);
}

static void slot_give(Engine *e, StageRun *run) {
    run->running--;
    slots_give(&e->job->slots, run->stage);
}

// Runs the flight's task until it hands something over.
static void run_task(Engine *e, StageRun *run, Flight *flight, uint32_t thread) {
    SbTaskState *task = flight->task;
    Partition *partition = stage_partition(run);
    flight->state = FLIGHT_RUNNING;
    flight->needs = false;
    slot_take(e, run);
    watch_turn(&e->job->watch, thread, WORK_TASK);
    watch_input(e, &flight->unit, thread);
    if (partition) {
        partition_reset(partition, &run->setup);
        partition->run = run;
        partition->keeps = run->repeats ? nullptr : task;
        for (uint32_t t = 0; t < run->stage->terminal_count; t++)
            partition->quota[t] = stage_wants(run, t);
        if (e->job->limits.rows >= 0) partition->weight = e->job->limits.rows - run->weight;
    }
    pthread_mutex_unlock(&e->lock);
    int32_t status = SB_STAGE_FAULT;
    if (partition) {
        pthread_mutex_lock(&e->job->fills[thread]);
        status = task_run(task, partition, thread);
        pthread_mutex_unlock(&e->job->fills[thread]);
    }
    pthread_mutex_lock(&e->lock);
    slot_give(e, run);
    flight->state = FLIGHT_DONE;
    if (!partition) return;
    watch_partition(e, run, partition, thread);
    bool lowest = flight == &run->flights[run->offered % run->window] && !flight->made.first;
    if (status == SB_STAGE_NEED && lowest) {
        partition->status = SB_STAGE_FAULT;
        partition->failure = (SbFailure){UINT32_MAX, SB_FAULT_TOO_LARGE, task->task.order};
        partition->last = true;
    }
    flight->needs = status == SB_STAGE_NEED;
    if (!partition->last) flight->state = FLIGHT_PARKED;
    partition_push(&flight->made, partition);
    run->bytes += partition->bytes;
}

// A zip one of whose sides has rows where the other has ended.
static void fail_zip(StageRun *run, Flight *flight) {
    Job *job = run->job;
    Partition *partition = stage_partition(run);
    if (!partition) return;
    partition_reset(partition, &run->setup);
    partition->run = run;
    uint32_t site = run->stage->zip_site;
    RejectFacts facts = {.place = {.behind = true,
                                   .fails = true,
                                   .site = site,
                                   .fault = SB_FAULT_ZIP_LENGTH,
                                   .step = job->what->sites[site].step}};
    if (!rejects_add(&partition->rejects, job->what, &facts))
        trouble_set(&partition->trouble, TROUBLE_MEMORY, "no memory for the rejects");
    partition->unit = flight->unit = (Unit){.ordinal = run->units.ordinal};
    partition->keeps = nullptr;
    partition->begin = partition->end = 0;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        partition->rows[t] = 0;
        partition->quota[t] = INT64_MAX;
    }
    partition->status = SB_STAGE_FAULT;
    partition->last = true;
    partition_push(&flight->made, partition);
    flight->state = FLIGHT_DONE;
    run->launched++;
}

// Takes rows of edges for the next unit. False: there are none.
static bool take_slices(StageRun *run, Flight *flight) {
    Job *job = run->job;
    int64_t rows = job->setup.stage_rows[run->index];
    bool over = true;
    for (int side = 0; side < 2; side++) {
        const EdgeEnd *input = &run->inputs[side];
        if (input->edge == SIDE_NONE) continue;
        int64_t ready = edge_ready(&job->edges[input->edge], input->at);
        if (ready < rows) rows = ready;
        over &= ready == 0;
    }
    if (rows == 0) {
        run->exhausted = true;
        if (!over) fail_zip(run, flight);
        return false;
    }
    EdgeSlice slices[2] = {0};
    for (int side = 0; side < 2; side++) {
        const EdgeEnd *input = &run->inputs[side];
        if (input->edge != SIDE_NONE)
            slices[side] = edge_take(&job->edges[input->edge], input->at, rows);
    }
    if (units_take_slices(&run->units, &flight->unit, slices, &job->trouble) != UNIT_TAKEN)
        run->exhausted = true;
    return true;
}

// Cuts the next unit from the stage's own input. False: there is none, or trouble.
static bool take_unit(Engine *e, StageRun *run, Flight *flight) {
    Trouble trouble = {0};
    run->taking = true;
    pthread_mutex_unlock(&e->lock);
    UnitTake taken = units_take(&run->units, &flight->unit, &flight->task->buffer, &trouble);
    pthread_mutex_lock(&e->lock);
    run->taking = false;
    run->later = taken == UNIT_LATER;
    if (taken == UNIT_TAKEN || taken == UNIT_LATER) return taken == UNIT_TAKEN;
    // A reader that was woken up because nothing is to be read any more.
    bool drained = trouble.kind == TROUBLE_INTERRUPTED && atomic_load(&e->job->drain);
    if (drained) return false;
    run->exhausted = true;
    if (taken == UNIT_TROUBLE && e->job->trouble.kind == TROUBLE_NONE) e->job->trouble = trouble;
    return false;
}

static void do_take(Engine *e, StageRun *run, uint32_t thread) {
    Flight *flight = &run->flights[run->launched % run->window];
    bool edge = run->inputs[0].edge != SIDE_NONE;
    if (edge && !take_slices(run, flight)) return;
    flight->task = stage_task(run);
    if (flight->task && !edge && !take_unit(e, run, flight)) {
        stage_spare_task(run, flight->task);
        flight->task = nullptr;
    }
    if (!flight->task) {
        if (edge) stage_untake(run, &flight->unit);
        return;
    }
    flight->state = FLIGHT_RUNNING;
    flight->thread = thread;
    for (int side = 0; side < 2; side++) {
        const Batch *batch = flight->unit.slices[side].batch;
        if (batch) flight->bytes += batch->bytes;
    }
    run->bytes += flight->bytes;
    run->launched++;
    slot_take(e, run);
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    Trouble trouble = {0};
    bool good = units_prepare(&run->units, &flight->unit, &flight->task->buffer, &trouble) &&
                task_begin(flight->task, &flight->unit, &trouble);
    pthread_mutex_lock(&e->lock);
    slot_give(e, run);
    flight->state = FLIGHT_PARKED;
    stage_note_buffer(run, flight->task->buffer.cap);
    if (!good && trouble.kind != TROUBLE_NONE && e->job->trouble.kind == TROUBLE_NONE)
        e->job->trouble = trouble;
    if (good && !e->stop && !run->stopped) run_task(e, run, flight, thread);
}

static void do_finish(Engine *e, uint32_t breaker, uint32_t thread) {
    Job *job = e->job;
    e->due[breaker] = false;
    e->finishing = breaker;
    e->crew.leader = thread;
    pthread_mutex_unlock(&e->lock);
    int32_t status = sb_breaker_finish(job->breakers[breaker], &e->crew.parallel);
    pthread_mutex_lock(&e->lock);
    e->finishing = SIDE_NONE;
    stage_breaker_finished(job, breaker, status);
    release_breaker(e, breaker);
}

// ---- threads --------------------------------------------------------------------------------

static void act(Engine *e, Action action, uint32_t thread) {
    StageRun *run = action.run;
    switch (action.kind) {
    case ACTION_WAIT: case ACTION_END: break;
    case ACTION_WRITE: do_write(e); break;
    case ACTION_SETTLE: stage_settle(run, &e->lock); break;
    case ACTION_OFFER: do_offer(e, run); break;
    case ACTION_HELP: crew_help(&e->crew, thread); break;
    case ACTION_FINISH: do_finish(e, action.number, thread); break;
    case ACTION_OPEN: do_open(e, run, thread); break;
    case ACTION_RESUME: run_task(e, run, &run->flights[action.number], thread); break;
    case ACTION_TAKE: do_take(e, run, thread); break;
    }
}

// Something was done: there may be memory for units again.
static void ask_again(Engine *e) {
    for (uint32_t s = 0; s < e->count; s++) e->runs[s].later = false;
}

static void engine_thread(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Engine *e = arg;
    pthread_mutex_lock(&e->lock);
    for (;;) {
        refresh(e);
        Action action = policy_next(e, thread);
        watch_stages(e);
        if (action.kind == ACTION_END) break;
        if (action.kind == ACTION_WAIT) {
            bool idle = e->busy == 0 && !e->stop;
            if (idle && policy_next(e, THREAD_ANY).kind != ACTION_WAIT) {
                pthread_cond_broadcast(&e->changed);  // Another thread can, and it waits.
            } else if (idle) {
                if (!policy_relax(e))
                    trouble_set(&e->job->trouble, TROUBLE_FAULT, "no stage can go on: report this");
                continue;
            }
            pthread_cond_wait(&e->changed, &e->lock);
            continue;
        }
        e->busy++;
        watch_action(e, action, thread);
        act(e, action, thread);
        watch_end(&e->job->watch, thread);
        e->busy--;
        if (action.kind != ACTION_TAKE || !action.run->later) ask_again(e);
        e->changed_plan = true;
        pthread_cond_broadcast(&e->changed);
    }
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

// What was settled, of all stages that the job came to.
static bool gather(Engine *e) {
    Job *job = e->job;
    bool good = true;
    for (uint32_t s = 0; s < e->count; s++) {
        StageRun *run = &e->runs[s];
        if (run->dropped) {
            Source *files = run->setup.files;
            for (uint32_t f = 0; files && f < files->file_count; f++)
                files->files[f].rows = files->files[f].bytes = 0;
            continue;
        }
        for (uint32_t i = 0; i < job->what->step_count * SB_COUNTS; i++)
            job->counts[i] += run->counts[i];
        if (run->stage->input == SB_INPUT_UNMATCHED)
            job->unmatched_rows[run->stage->input_index] = run->rows;
        good &= rejects_move(&job->rejects, &run->rejects);
    }
    if (!good) return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the rejects");
    if (!e->failed) return true;
    job->over_limit = e->failed->over;
    if (job->over_limit) return false;
    if (e->failed->failing.count == 0)
        return trouble_set(&job->trouble, TROUBLE_FAULT, "'%.*s' failed",
                           (int)e->failed->stage->label.len, e->failed->stage->label.ptr);
    job->failing_list = e->failed->failing;
    e->failed->failing = (RejectList){.memory = &job->memory};
    job->failing = &job->failing_list.items[0];
    return false;
}

static void set_engine(Job *job, Engine *e, Dispatch *d) {
    pthread_mutex_lock(&job->engine_lock);
    job->engine = e;
    job->dispatch = d;
    pthread_mutex_unlock(&job->engine_lock);
}

void engine_wake(Job *job) {
    pthread_mutex_lock(&job->engine_lock);
    Engine *e = job->engine;
    if (e) {
        pthread_mutex_lock(&e->lock);
        e->changed_plan = true;
        refresh(e);
        pthread_cond_broadcast(&e->changed);
        pthread_mutex_unlock(&e->lock);
    }
    if (job->dispatch) dispatch_wake(job->dispatch);
    pthread_mutex_unlock(&job->engine_lock);
}

static void run_engine(Engine *e) {
    SbParallel *parallel = &e->job->pool.parallel;
    set_engine(e->job, e, nullptr);
    parallel->each(parallel, parallel->threads, engine_thread, e);
    set_engine(e->job, nullptr, nullptr);
}

static bool run_dispatch(Engine *e, Dispatch *d) {
    set_engine(e->job, nullptr, d);
    bool good = dispatch_run(d);
    set_engine(e->job, nullptr, nullptr);
    dispatch_close(d);
    return good;
}

bool engine_run(Job *job) {
    Engine engine;
    bool good = open_engine(&engine, job);
    FlowPlan *plan = good ? dispatch_plan(job) : nullptr;
    Dispatch *dispatch = plan ? dispatch_open(job, engine.runs, plan) : nullptr;
    // Where the sinks go on only the dispatch knows.
    if (good && !dispatch && resume_in_the_middle(job))
        good = trouble_set(&job->trouble, TROUBLE_MEMORY,
                           "the run that is resumed needs more than the %lld bytes of --memory",
                           (long long)job->memory.limit);
    if (dispatch) good = run_dispatch(&engine, dispatch);
    else if (good) run_engine(&engine);
    watch_stop(&job->watch);
    good = gather(&engine) && good;
    close_engine(&engine);
    return good && job->trouble.kind == TROUBLE_NONE;
}
