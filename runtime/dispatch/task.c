// Tasks of stages: from a launch to what the schedule is told.
#include "runtime/dispatch/corrupt.h"
#include "runtime/dispatch/far.h"
#include "runtime/dispatch/far_breaker.h"
#include "runtime/dispatch/state.h"
#include "runtime/host.h"
#include "runtime/input.h"
#include "runtime/job.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- input ----------------------------------------------------------------------------------

static void note_file(Dispatch *d, Flow *flow) {
    StageRun *run = flow->run;
    if (run->stage->input != SB_INPUT_TEXT) return;
    SourceFile *file = &run->setup.files->files[flow->unit.file];
    file->units_open++;
    file->all_cut |= flow->unit.last;
    bool tells = file->stream && !file->begun;
    file->begun = true;
    if (tells) far_tell_header(d, run->setup.files, flow->unit.file);
}

// The unit of the flow cannot be read. Perhaps nobody wants its rows: then who keeps the trouble
// lets the others go on.
static void end_unreadable(Dispatch *d, const Flow *flow, const Trouble *trouble) {
    if (d->stop || trouble->kind == TROUBLE_NONE || tell_unreadable(&d->observers, flow, trouble))
        dispatch_trouble(d, TROUBLE_MEMORY, trouble);
}

// What units_take said.
static void judge_take(Dispatch *d, Flow *flow, UnitTake taken, Trouble *trouble) {
    flow->cut = taken == UNIT_TAKEN;
    flow->empty = !flow->cut;
    // Rows are never left out without a word.
    if (taken == UNIT_TROUBLE)
        trouble_set(trouble, TROUBLE_MEMORY, "no memory to read '%.*s'",
                    (int)flow->run->stage->label.len, flow->run->stage->label.ptr);
    if (taken == UNIT_TROUBLE) end_unreadable(d, flow, trouble);
    if (flow->cut) note_file(d, flow);
    // Units are taken in their order: the first one that is not there says how many there are.
    if (flow->cut || flow->run->exhausted) return;
    flow->run->exhausted = true;
    StageId stage = {(uint16_t)flow->run->index};
    dispatch_tell(d, (Event){.kind = EVENT_UNITS, .stage = stage, .count = flow->number});
}

void flow_launch(Dispatch *d, Flow *flow) {
    StageRun *run = flow->run;
    if (run->state == RUN_WAITING) {
        run->state = RUN_OPEN;
        if (!stage_open_breakers(run)) dispatch_stop(d);
    }
    run->running++;
    spool_make_room(d);
    if ((!flow->input || flow->other) && run->launched <= flow->number)
        run->launched = flow->number + 1;
    if (d->plan->plan.stages[run->index].open_max) flow->lane = d->own->lanes[--d->own->lane_count];
    if (flow->input) {
        flow_find_rows(d, flow);
        if (flow->batches[0]) tell_taken(&d->observers, flow);
        flow->empty = flow->rows == 0;
        if (!flow->empty) flow_take_rows(d, flow);
        if (flow->cut && !attempt_takes(flow)) attempt_took(flow);
    } else if (again_is_known(flow) || attempt_takes(flow)) {
        // It is known where its unit lies.
    } else if (run->exhausted) {
        flow->empty = true;  // Perhaps what comes next cannot be read.
    } else if (!d->plan->plan.stages[run->index].serial) {
        Trouble trouble;
        trouble_clear(&trouble);
        judge_take(d, flow, units_take(&run->units, &flow->unit, nullptr, &trouble), &trouble);
        if (flow->cut) attempt_took(flow);
        // Where its rows begin a worker says to all.
        if (flow->cut && flow_is_far(flow)) again_note(d, flow);
    }
}

// The unit was found once more, or not.
static void again_found(Dispatch *d, Flow *flow, UnitTake found, Trouble *trouble) {
    flow->cut = found == UNIT_TAKEN && again_holds(flow, trouble);
    if (!flow->cut) end_unreadable(d, flow, trouble);
}

// A unit that is read from where the one before ended, or once more. There may be no memory for it
// now: then it asks for some first.
static void take_in_turn(Dispatch *d, Flow *flow) {
    enum { WAIT_MICROS = 1000 };
    StageRun *run = flow->run;
    Trouble trouble;
    trouble_clear(&trouble);
    UnitTake taken = run->exhausted && !flow->again ? UNIT_NONE : UNIT_LATER;
    while (taken == UNIT_LATER && !d->stop) {
        run->units.must = flow->asked && d->own->busy == 1 && d->own->far_count == 0;
        flow_limit_buffer(d, flow);
        run->taking++;
        pthread_mutex_unlock(&d->lock);
        taken = flow->again ? again_find(flow, &trouble)
                            : units_take(&run->units, &flow->unit, &flow->task->buffer, &trouble);
        bool text = flow->task->buffer.asks > 0;
        if (taken == UNIT_LATER && flow->asked && !text) usleep(WAIT_MICROS);
        pthread_mutex_lock(&d->lock);
        run->taking--;
        if (taken == UNIT_LATER && (flow_wants_text(flow) || flow_wants_back(flow))) return;
    }
    if (flow->again) again_found(d, flow, taken, &trouble);
    else judge_take(d, flow, taken, &trouble);
    if (flow->cut && !flow->again) dispatch_tell(d, (Event){.kind = EVENT_CUT, .task = flow->id});
}

bool flow_reads(const Flow *flow) {
    const StageRun *run = flow->run;
    bool files = run->stage->input == SB_INPUT_FILES;
    return flow->loads || files || run->stage->input == SB_INPUT_TEXT;
}

// Fixes the unit's rows. Who comes next in a chain waits for that, so it is done for units that
// nobody wants, too. Of rows that are there it takes less than to let go of the lock.
static void prepare(Dispatch *d, Flow *flow) {
    StageRun *run = flow->run;
    bool reads = flow_reads(flow) || spill_units_reads(&flow->unit);
    Trouble trouble;
    trouble_clear(&trouble);
    flow_limit_buffer(d, flow);
    if (reads) pthread_mutex_unlock(&d->lock);
    bool good = flow->again ? again_prepare(flow, &trouble)
                            : units_prepare(&run->units, &flow->unit, &flow->task->buffer,
                                            &trouble);
    good = good && (flow_is_far(flow) || task_begin(flow->task, &flow->unit, &trouble));
    if (reads) pthread_mutex_lock(&d->lock);
    stage_note_buffer(run, flow->task->buffer.cap);
    flow->prepared = good;
    if (good) again_note(d, flow);
    // Who says at which group a worker found no memory looks there.
    if (good && flow_is_far(flow)) flow->task->task.input.entries = flow->unit.entries;
    if (!good && flow_wants_text(flow)) return;
    if (!good && trouble.kind != TROUBLE_NONE) end_unreadable(d, flow, &trouble);
}

// ---- figures --------------------------------------------------------------------------------

// A unit of whole files: each is one row.
static bool count_files(StageRun *run, const Judged *judged, Trouble *trouble) {
    SourceFile *files = &run->setup.files->files[judged->unit->file + judged->files];
    for (int64_t i = 0; i < judged->made; i++) {
        files[i].rows = 1;
        files[i].bytes = files[i].size;
        if (!source_file_check(&files[i], trouble)) return false;
    }
    return true;
}

// The unit is judged to its end: perhaps the file is.
static bool end_unit(SourceFile *file, Trouble *trouble) {
    if (--file->units_open > 0 || !file->all_cut) return true;
    if (!file->stream) {
        file->bytes = file->size;
        source_file_shut(file);
    }
    return source_file_check(file, trouble);
}

bool flow_hold_file(const StageRun *run, const Unit *unit, Trouble *trouble) {
    if (run->stage->input != SB_INPUT_TEXT) return true;
    SourceFile *file = &run->setup.files->files[unit->file];
    file->units_open++;
    return file->stream || source_file_open(file, trouble);
}

bool flow_let_file(const StageRun *run, const Unit *unit, Trouble *trouble) {
    return run->stage->input != SB_INPUT_TEXT ||
           end_unit(&run->setup.files->files[unit->file], trouble);
}

static bool no_memory_for_rejects(Trouble *trouble) {
    return trouble_set(trouble, TROUBLE_MEMORY, "no memory for the rejects");
}

// Rows of the units before one say which number its rows have in the source.
bool flow_count_rows(StageRun *run, uint64_t unit, int64_t made, Trouble *trouble) {
    uint64_t room = run->unit_room ? run->unit_room : 64;
    while (room <= unit) room *= 2;
    if (room > run->unit_room) {
        int64_t *rows = realloc(run->unit_rows, room * sizeof *rows);
        if (!rows) return no_memory_for_rejects(trouble);
        memset(rows + run->unit_room, 0, (room - run->unit_room) * sizeof *rows);
        run->unit_rows = rows;
        run->unit_room = room;
    }
    run->unit_rows[unit] += made;
    return true;
}

bool flow_count_source(StageRun *run, const Judged *judged, Trouble *trouble) {
    Progress *progress = &run->job->figures.progress;
    if (stage_numbers_rows(run) &&
        !flow_count_rows(run, judged->unit->ordinal, judged->made, trouble))
        return false;
    if (run->stage->input == SB_INPUT_UNMATCHED) run->rows += judged->bytes;
    if (run->setup.source) atomic_fetch_add(&progress->rows, judged->made);
    if (!run->setup.files || run->setup.files->file_count == 0) return true;
    if (run->stage->input != SB_INPUT_TEXT) return count_files(run, judged, trouble);
    SourceFile *file = &run->setup.files->files[judged->unit->file];
    int64_t end = judged->whole ? judged->unit->next : judged->unit->offset + judged->end;
    file->rows += judged->made;
    if (end > file->bytes) file->bytes = end;
    atomic_fetch_add(&progress->bytes, judged->bytes);
    return !judged->whole || end_unit(file, trouble);
}

static bool count_source(Flow *flow, const Partition *partition, Trouble *trouble) {
    Judged judged = {.unit = &flow->unit, .made = partition->made, .end = partition->end,
                     .bytes = partition->end - partition->begin, .files = flow->files,
                     .whole = partition->last && partition->status == SB_STAGE_DONE};
    flow->files += partition->made;
    return flow_count_source(flow->run, &judged, trouble);
}

// Of plain files the lines before a record are counted at the end of the job.
void flow_place_lines(const Unit *unit, RejectList *list) {
    for (uint32_t i = 0; i < list->count && unit->lines >= 0; i++) {
        Reject *record = &list->items[i];
        if (record->line > 0 && !record->has_line) record->line += unit->lines;
        record->has_line = true;
    }
}

// What the partition says of the rows that it judged is final. False: the job ends.
static bool take_over(Dispatch *d, Flow *flow, Partition *partition) {
    StageRun *run = flow->run;
    Trouble *trouble = &flow->task->trouble;
    flow->weight += partition->rejects.weight;
    flow->repeats = !attempt_counts(flow);
    if (flow->repeats && flow_is_far(flow)) workers_made_again(d->own->workers, flow->place);
    if (flow->repeats) {
        flow->files += partition->made;
        return true;
    }
    flow_place_lines(&flow->unit, &partition->rejects);
    Keeping keeping = KEEP_NOT;
    bool good = trouble->kind == TROUBLE_NONE &&
                stage_take_failure(run, &flow->task->task, partition, trouble);
    if (good) keeping = tell_keep(&d->observers, flow, partition);
    if (good && keeping == KEEP_NOT) good = count_source(flow, partition, trouble);
    if (keeping == KEEP_NO_MEMORY) good = no_memory_for_rejects(trouble);
    if (!good) {
        dispatch_trouble(d, TROUBLE_MEMORY, trouble);
        return false;
    }
    if (keeping == KEEP_ALL) return true;
    tell_rejected(&d->observers, &partition->rejects);
    VerdictPlace place = flow_verdict_place(d, flow->root, flow->node);
    for (uint32_t i = 0; i < sb_figure_count(d->what); i++)
        run->counts[i] += partition->counts[i];
    if (tell_counted(&d->observers, flow, partition) &&
        verdict_take(&d->verdict, &partition->rejects, place))
        return true;
    no_memory_for_rejects(trouble);
    dispatch_trouble(d, TROUBLE_MEMORY, trouble);
    return false;
}

// Records that are too many for the memory go to disk, a list of them at a time. Who finds that it
// has grown too long again waits.
static void put_records_away(Dispatch *d, uint32_t thread) {
    Verdict *verdict = &d->verdict;
    while (verdict->writing && verdict_is_full(verdict) && !d->stop)
        pthread_cond_wait(&d->own->asked, &d->lock);
    if (!verdict_is_full(verdict) || d->stop) return;
    RejectList list = verdict_begin_write(verdict);
    tell_turn(&d->observers, thread, WORK_WRITE);
    pthread_mutex_unlock(&d->lock);
    bool good = reject_set_write(&verdict->records, &list);
    pthread_mutex_lock(&d->lock);
    tell_turn(&d->observers, thread, WORK_TASK);
    verdict_end_write(verdict);
    pthread_cond_broadcast(&d->own->asked);
    if (good) return;
    spill_trouble(d->own->spill, d->own->trouble);
    dispatch_stop(d);
}

// ---- running --------------------------------------------------------------------------------

Partition *flow_partition(Dispatch *d, const Flow *flow) {
    Partition *partition = stage_partition(flow->run);
    if (!partition) return nullptr;
    partition_reset(partition, &flow->run->setup);
    partition->run = flow->run;
    partition->keeps = nullptr;
    for (uint32_t t = 0; t < flow->run->stage->terminal_count; t++)
        partition->quota[t] = tell_quota(&d->observers, flow, t);
    bool stops = d->verdict.rows_max >= 0 &&
                 !verdict_goes_on(&d->verdict, flow->run->index, flow->root);
    if (stops) partition->weight = d->verdict.rows_max - flow->weight;
    return partition;
}

static bool has_rows(const Partition *partition) {
    const SbStage *stage = partition->run->stage;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        if (partition->handed[t] || partition->outs[t].rows > 0) return true;
    }
    return false;
}

// Runs it on the lane. What breakers have already does not come to them again. False: no memory.
static bool run_on_lane(Dispatch *d, Flow *flow, Partition *partition, uint32_t lane, bool *back) {
    bool good = !flow->aside || stage_open_aside(flow->run, flow->task);
    if (good) task_run(flow->task, partition, lane);
    flow->task->live = nullptr;
    *back = good && flow_goes_back(d, flow, partition);
    if (flow->aside) stage_close_aside(flow->run, flow->task);
    return good;
}

// The inputs of the launch that come after this one, as far as they are in memory.
static void look_ahead(Flow *flow) {
    KernelAhead *ahead = &flow->task->ahead;
    ahead->at = ahead->count = 0;
    if (flow->rows > 0 || !kernel_takes_more(&flow->run->setup)) return;
    for (const FlowMore *more = flow->more; more; more = more->next) {
        if (more->empty || more->loads || ahead->count == KERNEL_AHEAD_MAX) return;
        ahead->items[ahead->count++] = (KernelPiece){
            .entries = more->unit.entries, .begin = more->unit.begin, .end = more->unit.end};
        if (more->rows > 0) return;
    }
}

// Runs the task until it hands something over. nullptr: the job ends.
static Partition *run_task(Dispatch *d, Flow *flow, uint32_t thread, int64_t *busy) {
    Partition *partition = flow_partition(d, flow);
    if (!partition) {
        dispatch_trouble(d, TROUBLE_MEMORY, d->own->trouble);
        return nullptr;
    }
    uint32_t lane = flow->lane == LANE_OF_THREAD ? thread : flow->lane;
    lane += tell_lane(&d->observers, flow);
    flow->aside = attempt_is_again(flow);
    look_ahead(flow);
    pthread_mutex_unlock(&d->lock);
    pthread_mutex_lock(&d->own->fills[lane]);
    tell_running(&d->observers, flow, thread);
    // Who judges how far a limit lets rows come counts whole ones.
    flow->task->task.splits = !flow->doubt;
    bool back, good = run_on_lane(d, flow, partition, lane, &back);
    pthread_mutex_unlock(&d->own->fills[lane]);
    if (good && !back) {
        stage_number_records(flow->run, &partition->rejects, flow->made);
        stage_make_batches(flow->run, partition, flow->made, &flow->task->trouble);
        if (flow->run->sums) stage_sum(flow->run, partition, false);
        flow->made += partition->made;
    }
    *busy = log_clock_ns() - flow->task->task.call.hold.from;
    pthread_mutex_lock(&d->lock);
    tell_made(&d->observers, flow, partition, thread);
    if (good) return partition;
    stage_spare(flow->run, partition);
    stage_no_memory(flow->run, d->own->trouble);
    dispatch_stop(d);
    return nullptr;
}

// The same task goes on with rows after those of the unit.
static void go_on_with_rows(Dispatch *d, Flow *flow) {
    uint64_t order = flow->task->task.order, records = flow->task->records;
    uint64_t ordinal = flow->unit.ordinal;
    flow_take_rows(d, flow);
    if (!flow->cut) return;
    flow->unit.ordinal = ordinal;
    if (flow_is_far(flow)) {
        flow->far_rows = ASK_MORE;
        return;
    }
    task_go_on(flow->task, &flow->unit, d->own->trouble);
    flow->task->task.order = order;
    flow->task->records = records;
}

void flow_go_on_with_unit(Dispatch *d, Flow *flow) {
    if (flow_is_far(flow)) flow->far_rows = flow->far_begun ? ASK_MORE : ASK_BEGIN;
    else task_go_on(flow->task, &flow->unit, d->own->trouble);
}

void flow_end(Dispatch *d, Flow *flow) {
    StageRun *run = flow->run;
    run->running--;
    if (flow_is_far(flow)) far_leave(d, flow);
    far_fill_ends(d, flow);
    // It was dropped before it knew where its unit ends. What stands after it is not wanted.
    if (flow->task && flow->cut && !flow->prepared && !flow->again)
        units_drop(&run->units, &flow->unit);
    again_ends(flow);
    if (attempt_ends(flow, flow->lost)) {
        tell_ended(&d->observers, flow);
        tell_leaves(&d->observers, flow);
    }
    stage_spare_task(run, flow->task);
    flow_drop_more(d, flow);
    for (int side = 0; side < 2; side++) spool_close(&flow->loaded[side], d->own->memory);
    if (!flow->input && flow->unit.slices[0].batch) batch_release(flow->unit.slices[0].batch);
    if (flow->lane != LANE_OF_THREAD) d->own->lanes[d->own->lane_count++] = flow->lane;
    d->own->flows[flow->id.i] = nullptr;
    flow->next = d->own->unused;
    d->own->unused = flow;
}

// Rows by output of the stage with their bytes, and all of them. What the summary says of steps
// between edges is known by the rows that passed these.
static void count_rows(Dispatch *d, const Flow *flow, const Partition *partition, Event *event) {
    StageRun *run = partition->run;
    const CoreStage *stage = &d->plan->plan.stages[run->index];
    for (uint8_t o = 0; o < stage->output_count; o++) {
        uint32_t t = d->plan->terminals[stage->outputs[o].i];
        event->output_rows[o] = partition->rows[t];
        if (partition->handed[t]) event->output_bytes[o] = partition->handed[t]->used;
    }
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        uint32_t edge = run->edges[t];
        event->rows += partition->rows[t];
        if (edge != EDGE_NONE && !flow->repeats && !tell_counts_taken(&d->observers, edge))
            run->job->breakers.edges[edge].rows += partition->rows[t];
    }
}

// What the task does after a partition.
typedef enum FlowStep : uint8_t {
    STEP_ON,    // It goes on with the same rows,
    STEP_ROWS,  // with more of its input,
    STEP_NEXT,  // with the next input of its launch,
    STEP_END,   // or ends.
} FlowStep;

static FlowStep step_behind(const Flow *flow, const Partition *partition) {
    if (flow->canceled) return STEP_END;
    if (!partition->last) return STEP_ON;
    if (partition->status != SB_STAGE_DONE) return STEP_END;
    return flow->rows > 0 ? STEP_ROWS : flow->more ? STEP_NEXT : STEP_END;
}

static void take_step(Dispatch *d, Flow *flow, FlowStep step) {
    switch (step) {
    case STEP_ON: break;
    case STEP_ROWS: go_on_with_rows(d, flow); break;
    case STEP_NEXT: flow_next(d, flow); break;
    case STEP_END: flow_end(d, flow); break;
    }
}

// Tells the schedule of the partition. True: the task goes on.
static bool hand_over(Dispatch *d, Flow *flow, Partition *partition, int64_t busy) {
    bool hands = d->plan->plan.stages[flow->run->index].output_count > 0 && has_rows(partition);
    FlowStep step = step_behind(flow, partition);
    Event event = {.kind = step == STEP_NEXT ? EVENT_NEXT : EVENT_DONE, .task = flow->id,
                   .busy = busy, .last = step == STEP_END, .next = step == STEP_NEXT};
    bool tells = step == STEP_NEXT || step == STEP_END;
    LivePartition *live = hands && !flow->canceled ? live_open(d, flow, partition) : nullptr;
    if (live) {
        tells = true;
        event.kind = EVENT_OUTPUT;
        event.bytes = partition->bytes;
        event.data = (uintptr_t)live;
        if (flow->run->sums || flow_is_far(flow)) event.checksum = corrupt_checksum(partition);
        count_rows(d, flow, partition, &event);
    } else {
        stage_spare(flow->run, partition);
    }
    flow->goes_on = false;
    take_step(d, flow, step);
    if (!tells) return !d->stop;
    dispatch_tell(d, event);
    // A launch that came to what nobody wants is canceled, and says so.
    return step != STEP_END && (flow->goes_on || (flow->canceled && !flow->waits));
}

// The partition that the task has come to has no rows for it. True: the task goes on.
static bool pass_over(Dispatch *d, Flow *flow) {
    FlowStep step = flow->more ? STEP_NEXT : STEP_END;
    Event event = {.kind = step == STEP_NEXT ? EVENT_NEXT : EVENT_DONE, .task = flow->id};
    flow->goes_on = false;
    take_step(d, flow, step);
    dispatch_tell(d, event);
    return step != STEP_END && (flow->goes_on || (flow->canceled && !flow->waits));
}

// The crew, if nobody leads it, or the thread alone. Gives the lock back.
static SbParallel *lead(Dispatch *d, uint32_t thread, SbAlone *alone) {
    bool crew = !d->own->crew_busy;
    *alone = sb_alone(thread);
    if (crew) d->own->crew_busy = true;
    d->own->crew.leader = crew ? thread : d->own->crew.leader;
    pthread_mutex_unlock(&d->lock);
    if (!crew) pthread_mutex_lock(&d->own->fills[thread]);
    return crew ? &d->own->crew.parallel : &alone->parallel;
}

static void led(Dispatch *d, uint32_t thread, const SbParallel *parallel) {
    bool crew = parallel == &d->own->crew.parallel;
    if (!crew) pthread_mutex_unlock(&d->own->fills[thread]);
    pthread_mutex_lock(&d->lock);
    if (crew) d->own->crew_busy = false;
    if (d->own->due_count > 0) pthread_cond_signal(&d->changed);
}

// Who reads a breaker opens it when its first task begins; the next one waits for that one's unit.
static void open_reader(Dispatch *d, StageRun *run, uint32_t thread) {
    Trouble trouble;
    SbAlone alone;
    trouble_clear(&trouble);
    SbParallel *parallel = lead(d, thread, &alone);
    bool good = stage_open(run, parallel, &trouble);
    led(d, thread, parallel);
    if (!good) dispatch_trouble(d, TROUBLE_MEMORY, &trouble);
}

// Before its first unit a stage says what it looks up in joins on disk.
static void ask_ahead(Dispatch *d, StageRun *run, uint32_t thread) {
    SbAlone alone;
    run->asked = run->asking = true;
    SbParallel *parallel = lead(d, thread, &alone);
    stage_ask_ahead(run, parallel);
    led(d, thread, parallel);
    run->asking = false;
    pthread_cond_broadcast(&d->own->asked);
}

// Before its first unit a stage that fills the right side of a join learns what is looked up there.
static void open_filters(Dispatch *d, StageRun *run, uint32_t thread) {
    SbAlone alone;
    run->filtered = true;
    if (!filters_pay(d->runs, run)) return;
    run->asking = true;
    SbParallel *parallel = lead(d, thread, &alone);
    filters_open(d->runs, run, parallel);
    led(d, thread, parallel);
    far_tell_filters(d, run);
    run->asking = false;
    pthread_cond_broadcast(&d->own->asked);
}

// Another thread asks for the stage: this one helps, or waits.
static void wait_for_asking(Dispatch *d, const StageRun *run, uint32_t thread) {
    while (run->asking) {
        if (crew_has_work(&d->own->crew)) crew_help(&d->own->crew, thread);
        else pthread_cond_wait(&d->own->asked, &d->lock);
    }
}

static bool open_task(Dispatch *d, Flow *flow, uint32_t thread) {
    StageRun *run = flow->run;
    if (!stage_is_open(run)) open_reader(d, run, thread);
    if (!run->filtered && !d->stop) open_filters(d, run, thread);
    if (!run->asked && !d->stop && stage_asks_ahead(run)) ask_ahead(d, run, thread);
    wait_for_asking(d, run, thread);
    if (!d->stop) flow->task = stage_task(run);
    if (!flow->task) dispatch_trouble(d, TROUBLE_MEMORY, d->own->trouble);
    return flow->task;
}

static bool reads_breaker(const Dispatch *d, const Flow *flow) {
    return d->plan->plan.stages[flow->run->index].kind == STAGE_READER;
}

// The first part of a task: its rows are found. False: it has to ask for memory first (flow->need),
// it has none, or nobody wants them.
static bool begin(Dispatch *d, Flow *flow, uint32_t thread) {
    if (flow->empty || (flow->canceled && !flow->cut)) return false;
    if (!flow->task && !open_task(d, flow, thread)) return false;
    if (!flow->cut) take_in_turn(d, flow);
    if (flow->cut && !d->stop && !flow->canceled && !flow_load(d, flow)) return false;
    // A worker prepares what it runs, but for rows of a breaker: these lie here.
    if (flow_is_far(flow) && !reads_breaker(d, flow)) flow->prepared = flow->cut;
    else if (flow->cut && !d->stop) prepare(d, flow);
    return flow->prepared && !flow->canceled && !d->stop;
}

// It is over: nobody wants its rows, or none were found.
static void end_early(Dispatch *d, Flow *flow) {
    Event event = {.kind = EVENT_DONE, .task = flow->id};
    flow_end(d, flow);
    if (!d->stop) dispatch_tell(d, event);
}

// Up to where its rows are there. False: it is over, or waits.
static bool begin_flow(Dispatch *d, Flow *flow, uint32_t thread) {
    // Its launch stays one: other work may count on it that is in order.
    while (flow->begins && flow->empty && flow->more)
        if (!pass_over(d, flow)) return false;
    while (flow->begins && !begin(d, flow, thread)) {
        if (flow->need > 0 && !d->stop) {
            if (flow_ask(d, flow)) continue;
            return false;
        }
        end_early(d, flow);
        return false;
    }
    flow->begins = false;
    failpoint("task");
    if (thread == THREAD_OF_LINKS) return true;
    tell_turn(&d->observers, thread, WORK_TASK);
    if (flow->input) tell_from(&d->observers, thread, 0, flow->input->from);
    if (flow->other) tell_from(&d->observers, thread, 1, flow->other->from);
    return true;
}

// What follows once a task has made a partition, or none. True: the task goes on.
static bool take_made(Dispatch *d, Flow *flow, Partition *partition, int64_t busy,
                      uint32_t thread) {
    if (partition && flow->need > 0 && !d->stop) {
        stage_spare(flow->run, partition);
        return flow_ask(d, flow);
    }
    bool of_links = thread == THREAD_OF_LINKS;
    if (partition && partition->last && !of_links) tell_whole(&d->observers, flow, thread);
    if (!partition || d->stop || (!flow->canceled && !take_over(d, flow, partition))) {
        if (partition) stage_spare(flow->run, partition);
        flow_end(d, flow);
        return false;
    }
    if (!of_links) put_records_away(d, thread);
    // First: when the task ends, what stands after a fault of it is not to follow.
    dispatch_tell_bounds(d);
    return hand_over(d, flow, partition, busy);
}

// Makes a partition of its rows and hands it over. True: the task goes on.
static bool make_partition(Dispatch *d, Flow *flow, uint32_t thread) {
    if (flow_is_far(flow)) {
        far_ask(d, flow);
        return false;
    }
    int64_t busy = 0;
    Partition *partition = run_task(d, flow, thread, &busy);
    return take_made(d, flow, partition, busy, thread);
}

// The same, of a partition that a worker has made.
static bool take_answer(Dispatch *d, Flow *flow, uint32_t thread) {
    int64_t busy = 0;
    Partition *partition = far_take(d, flow, &busy);
    if (!partition && flow->need > 0 && !d->stop) return flow_ask(d, flow);
    if (!partition && flow->corrupt && !flow->canceled && !d->stop) {
        corrupt_fail(d, flow);
        return false;
    }
    // It gave way because nobody wants its rows.
    if (!partition && flow->canceled) {
        end_early(d, flow);
        return false;
    }
    return take_made(d, flow, partition, busy, thread);
}

// One step of a task that has begun. True: it goes on.
static bool go_on(Dispatch *d, Flow *flow, uint32_t thread) {
    if (flow->canceled) {
        end_early(d, flow);
        return false;
    }
    if (flow->empty) return pass_over(d, flow);
    if (!flow_arrive(d, flow)) {
        flow_end(d, flow);
        return false;
    }
    return flow_wants_rows(flow) ? flow_ask(d, flow) : make_partition(d, flow, thread);
}

void flow_work(Dispatch *d, Flow *flow, uint32_t thread) {
    NodeId node = flow->place;
    flow->waits = false;
    bool answered = flow->answer, far = flow_is_far(flow);
    // The worker is not lost while a thread is at its flow. Of an answer it is held already.
    if (far && !answered) workers_hold(d->own->workers, node, true);
    bool on = answered ? take_answer(d, flow, thread) : begin_flow(d, flow, thread);
    while (on && !dispatch_is_paused(d)) on = go_on(d, flow, thread);
    if (on) {
        flow->waits = true;
        dispatch_queue(d, flow);
    }
    if (far) workers_hold(d->own->workers, node, false);
}
