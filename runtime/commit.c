// Commit: what tasks made is taken over in its order, in two steps.
//
// Offering hands rows to sinks, breakers and edges. Settling makes counts and rejects final, once
// all that reads the edges has judged the rows. In between it may turn out that somebody behind
// stopped early (a limit, a fault): then the partition is made once more with the exact number of
// rows that were wanted, so that nothing behind them is judged or counted, whatever the size of
// partitions and the number of threads.
#include "runtime/stage.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- what is wanted -------------------------------------------------------------------------

static Edge *edge_of(const StageRun *run, uint32_t t) {
    const EdgeEnd *output = &run->outputs[t];
    return output->edge == SIDE_NONE || run->alone ? nullptr : &run->job->edges[output->edge];
}

int64_t stage_wants(const StageRun *run, uint32_t t) {
    const Edge *edge = edge_of(run, t);
    if (!edge) return run->sink_left[t];
    uint32_t lane = run->outputs[t].at;
    int64_t need = edge_need(edge, lane), rows = edge->lanes[lane].rows;
    return need == INT64_MAX ? INT64_MAX : need > rows ? need - rows : 0;
}

bool stage_nobody_wants(const StageRun *run) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        if (stage_wants(run, t) > 0) return false;
    }
    return run->stage->terminal_count > 0;
}

void stage_sink_left(StageRun *run, uint32_t t) {
    const Job *job = run->job;
    uint32_t terminal = run->stage->terminals[t];
    run->sink_left[t] = INT64_MAX;
    if (!(terminal & SB_TERMINAL_SINK)) return;
    const Sink *sink = &job->sinks[terminal & ~SB_TERMINAL_SINK];
    if (sink->done) run->sink_left[t] = 0;
    else if (job->options.first_rows != INT64_MAX)
        run->sink_left[t] = job->options.first_rows - sink->rows;
}

// Lets go of the rows of edges, or of those read back from disk, that a unit holds.
void stage_untake(StageRun *run, const Unit *unit) {
    for (int side = 0; side < 2; side++) {
        const EdgeSlice *slice = &unit->slices[side];
        const EdgeEnd *input = &run->inputs[side];
        if (!slice->batch) continue;
        if (input->edge == SIDE_NONE) batch_release(slice->batch);
        else edge_untake(&run->job->edges[input->edge], input->at, slice);
    }
}

// ---- making a partition once more -----------------------------------------------------------

// Breakers have the partition's rows already: those that come again go aside.
static bool open_aside(StageRun *run, SbTaskState *task) {
    const SbStage *stage = run->stage;
    task->aside = calloc(stage->terminal_count + 1, sizeof(SbBreakerState *));
    for (uint32_t t = 0; task->aside && t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        if (terminal & SB_TERMINAL_SINK || run->outputs[t].edge != SIDE_NONE) continue;
        task->aside[t] = sb_breaker_open(&run->job->what->breakers[terminal], 1,
                                         &run->job->memory, nullptr);
        if (!task->aside[t]) return false;
    }
    return task->aside;
}

static void close_aside(StageRun *run, SbTaskState *task) {
    for (uint32_t t = 0; task->aside && t < run->stage->terminal_count; t++) {
        if (task->aside[t]) sb_breaker_close(task->aside[t]);
    }
    free(task->aside);
    task->aside = nullptr;
}

// Runs the partition's rows again on `task`, with the quotas and the weight that it has now. The
// task that made it may be behind it already.
static void make_again(StageRun *run, Partition *partition, SbTaskState *task) {
    int64_t weight = partition->weight;
    Partition was = *partition;
    partition_reset(partition, &run->setup);
    partition->weight = weight;
    if (!open_aside(run, task)) {
        trouble_set(&partition->trouble, TROUBLE_MEMORY, "no memory for stage '%.*s'",
                    (int)run->stage->label.len, run->stage->label.ptr);
    } else if (task_again(task, &was, &partition->trouble)) {
        task_run(task, partition, 0);
    }
    close_aside(run, task);
    partition->unit = was.unit;
    partition->last = was.last;
}

// ---- offering -------------------------------------------------------------------------------

// The bytes of the first `rows` rows.
static int64_t first_rows(const Sink *sink, const SbOut *out, int64_t rows) {
    int64_t len = out->at - out->state->begin, end = 0;
    for (int64_t i = 0; i < rows && end < len; i++) {
        end += sink_row_end(sink, out->state->begin + end, len - end, 1);
    }
    return end;
}

static bool offer_bytes(StageRun *run, Partition *partition, uint32_t t, ExtentList *extents) {
    Job *job = run->job;
    Sink *sink = &job->sinks[run->stage->terminals[t] & ~SB_TERMINAL_SINK];
    SbOut *out = &partition->outs[t];
    if (!out->state->begin || sink->done) return true;
    int64_t rows = out->rows, wants = partition->quota[t];
    int64_t len = out->at - out->state->begin;
    if (rows > wants) {
        rows = wants;
        len = first_rows(sink, out, rows);
    }
    size_t before = extents->count;
    if (!sink_take(sink, out->state->begin, len, rows, extents, &partition->trouble)) return false;
    for (size_t i = before; i < extents->count; i++) {
        // The header is not of the partition's memory, but is written with it.
        extents->items[i].owner = partition;
        partition->extents++;
    }
    return true;
}

// A task numbers the rows of its partition: from now on their places say the number in the source.
static void number_places(const StageRun *run, const Batch *batch, uint32_t terminal) {
    uint32_t offset = run->job->what->breakers[terminal].place_offset;
    bool numbered = run->setup.wants_rows && run->stage->input == SB_INPUT_TEXT;
    if (!numbered || offset == UINT32_MAX) return;
    for (int64_t i = 0; i < batch->count; i++) {
        char *entry = (char *)(uintptr_t)batch->entries[i];
        ((SbPlace *)(void *)(entry + offset))->row += run->made;
    }
}

// Makes batches of the rows for edges; without the lock.
static bool make_batches(StageRun *run, Partition *partition) {
    Batch **batches = run->batches;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        batches[t] = nullptr;
        if (partition->rows[t] == 0 || !partition->batches[t] || !edge_of(run, t)) continue;
        batches[t] = batch_open(partition->batches[t]);
        if (!batches[t]) {
            return trouble_set(&partition->trouble, TROUBLE_MEMORY,
                               "'%.*s' needs more than --memory gives", (int)run->stage->label.len,
                               run->stage->label.ptr);
        }
        partition->batches[t] = nullptr;
        batches[t]->from = partition->from;
        number_places(run, batches[t], run->stage->terminals[t]);
    }
    return true;
}

// Sets quotas and weight to what is wanted now. True: the partition went further than that.
static bool went_too_far(StageRun *run, Partition *partition) {
    const Job *job = run->job;
    bool too_far = false;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        int64_t wants = stage_wants(run, t);
        if (!(run->stage->terminals[t] & SB_TERMINAL_SINK))
            too_far |= partition->rows[t] >= wants && partition->quota[t] != wants;
        partition->quota[t] = wants;
    }
    if (job->limits.rows < 0) return too_far;
    int64_t left = job->limits.rows - run->weight;
    too_far |= partition->rejects.weight > left && partition->weight != left;
    partition->weight = left;
    return too_far;
}

// Who wants the memory: the one breaker that the stage fills, edges aside, or the stage.
static SbStr hungry_step(const StageRun *run) {
    const SbJob *what = run->job->what;
    SbStr label = run->stage->label;
    uint32_t found = 0;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        uint32_t terminal = run->stage->terminals[t];
        if (terminal & SB_TERMINAL_SINK || what->breakers[terminal].kind == SB_BREAK_EDGE) continue;
        if (++found == 1) label = what->steps[what->breakers[terminal].step].label;
    }
    return found == 1 ? label : run->stage->label;
}

bool stage_take_failure(const StageRun *run, Partition *partition) {
    Job *job = run->job;
    const RejectList *rejects = &partition->rejects;
    bool by_record = partition->over || (rejects->count > 0 &&
                                         rejects->items[rejects->count - 1].fails);
    if (partition->status != SB_STAGE_FAULT || by_record) return true;
    if (spill_trouble(&job->spill, &partition->trouble)) return false;
    SbStr label = hungry_step(run);
    if (partition->failure.fault != SB_OK && partition->failure.site < job->what->site_count) {
        label = job->what->steps[job->what->sites[partition->failure.site].step].label;
    }
    if (partition->failure.fault == SB_FAULT_TOO_LARGE || partition->failure.fault == SB_OK) {
        return trouble_set(&partition->trouble, TROUBLE_MEMORY,
                           "'%.*s' needs more than the %lld bytes that --memory gives",
                           (int)label.len, label.ptr, (long long)job->memory.limit);
    }
    return trouble_set(&partition->trouble, TROUBLE_FAULT, "'%.*s': %s", (int)label.len, label.ptr,
                       rejects_fault_text(partition->failure.fault));
}

static bool offer_edges(StageRun *run, Partition *partition) {
    bool good = true;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        Edge *edge = edge_of(run, t);
        if (!edge) continue;
        uint32_t lane = run->outputs[t].at;
        partition->first[t] = edge->lanes[lane].rows;
        if (run->batches[t]) good &= edge_offer(edge, lane, run->batches[t]);
    }
    return good || trouble_set(&partition->trouble, TROUBLE_MEMORY, "no memory for rows");
}

static void merge_trouble(StageRun *run, const Partition *partition) {
    Trouble *trouble = &run->job->trouble;
    if (trouble->kind == TROUBLE_NONE && partition->trouble.kind != TROUBLE_NONE)
        *trouble = partition->trouble;
}

// Hands over all that needs no lock, and readies what edges get.
static bool offer_rows(StageRun *run, Partition *partition, ExtentList *writes) {
    if (partition->trouble.kind != TROUBLE_NONE || !stage_take_failure(run, partition) ||
        !make_batches(run, partition)) {
        return false;
    }
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        if (!(run->stage->terminals[t] & SB_TERMINAL_SINK)) continue;
        if (!offer_bytes(run, partition, t, writes)) return false;
    }
    return true;
}

static void end_flight(StageRun *run, Flight *flight) {
    if (run->repeats) stage_spare_task(run, flight->task);
    flight->task = nullptr;
    flight->state = FLIGHT_FREE;
    run->bytes -= flight->bytes;
    flight->bytes = 0;
    run->offered++;
}

void stage_offer(StageRun *run, pthread_mutex_t *lock, ExtentList *writes) {
    Flight *flight = &run->flights[run->offered % run->window];
    Partition *partition = partition_pop(&flight->made);
    run->offering = true;
    run->bytes -= partition->bytes;
    bool again = partition->trouble.kind == TROUBLE_NONE && went_too_far(run, partition);
    SbTaskState *task = again ? stage_task(run) : nullptr;
    pthread_mutex_unlock(lock);
    if (task) make_again(run, partition, task);
    bool good = (task || !again) && offer_rows(run, partition, writes);
    pthread_mutex_lock(lock);
    stage_spare_task(run, task);
    run->offering = false;
    good = good && offer_edges(run, partition);
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) stage_sink_left(run, t);
    partition->frees = partition->last && partition->keeps;
    partition->releases = partition->last;
    partition_push(&run->out, partition);
    run->weight += partition->rejects.weight;
    run->made += partition->made;
    merge_trouble(run, partition);
    run->broke |= partition->status == SB_STAGE_FAULT;
    if (!good || run->broke || stage_nobody_wants(run)) run->stopped = true;
    if (partition->last) end_flight(run, flight);
}

void stage_discard(StageRun *run) {
    while (run->offered < run->launched) {
        Flight *flight = &run->flights[run->offered % run->window];
        for (Partition *made; (made = partition_pop(&flight->made));) {
            run->bytes -= made->bytes;
            made->keeps = nullptr;
            stage_spare(run, made);
        }
        // What is offered of the unit may still be made once more.
        Partition *offered = run->out.last;
        bool needed = offered && !offered->last &&
                      offered->unit.ordinal == flight->unit.ordinal;
        if (needed) offered->releases = true;
        else stage_untake(run, &flight->unit);
        if (needed && !run->repeats) offered->frees = true;
        else if (!run->repeats) stage_spare_task(run, flight->task);
        end_flight(run, flight);
    }
}

// ---- settling -------------------------------------------------------------------------------

bool stage_can_settle(const StageRun *run) {
    const Partition *partition = run->out.first;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        const Edge *edge = edge_of(run, t);
        if (!edge) continue;
        int64_t end = partition->first[t] + partition->rows[t];
        int64_t need = edge_need(edge, run->outputs[t].at);
        if (edge_consumed(edge, run->outputs[t].at) < (need < end ? need : end)) return false;
    }
    return true;
}

typedef enum Verdict { VERDICT_EXACT, VERDICT_AGAIN, VERDICT_DISCARD } Verdict;

// What those behind wanted of the rows that were offered.
static Verdict judge(StageRun *run, Partition *partition) {
    bool exact = true, wanted = false;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        const Edge *edge = edge_of(run, t);
        int64_t need = edge ? edge_need(edge, run->outputs[t].at) : INT64_MAX;
        int64_t most = need == INT64_MAX ? need : need - partition->first[t];
        if (most < 0) most = 0;
        wanted |= most > 0;
        if (most > partition->rows[t] || partition->quota[t] == most) continue;
        partition->quota[t] = most;
        exact = false;
    }
    return !wanted ? VERDICT_DISCARD : exact ? VERDICT_EXACT : VERDICT_AGAIN;
}

// Lines before the unit; plain files are counted only when there is a record to place.
static bool base_line(StageRun *run, Partition *partition, int64_t *lines) {
    const Unit *unit = &partition->unit;
    *lines = unit->lines;
    if (unit->lines >= 0 || run->stage->input != SB_INPUT_TEXT) return true;
    SourceFile *file = &run->setup.files->files[unit->file];
    return source_lines(file, unit->offset + unit->begin, lines, &partition->trouble);
}

// Where rejects are many, the next unit's lines follow from those of this one.
static void hand_lines_on(StageRun *run, const Partition *partition) {
    const Unit *unit = &partition->unit;
    if (partition->lines < 0 || run->stage->input != SB_INPUT_TEXT) return;
    SourceFile *file = &run->setup.files->files[unit->file];
    if (file->known_offset != unit->offset + unit->begin) return;
    file->known_lines += partition->lines;
    file->known_offset = unit->next;
}

static bool take_rejects(StageRun *run, Partition *partition) {
    Job *job = run->job;
    RejectList *list = &partition->rejects;
    if (list->count == 0) return true;
    int64_t lines = 0;
    if (!base_line(run, partition, &lines)) return false;
    const Reject *last_one = &list->items[list->count - 1];
    watch_reject(&job->watch, list->weight, (SbStr){last_one->message, last_one->message_len},
                 (SbStr){last_one->raw, last_one->raw_len});
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].line > 0 && !list->items[i].has_line) list->items[i].line += lines;
        list->items[i].row += run->rows;
        list->items[i].origin = 0;  // Partitions come in order: `sequence` says it all.
    }
    hand_lines_on(run, partition);
    bool good = true;
    if (list->items[list->count - 1].fails) {
        RejectList last = {
            .items = &list->items[list->count - 1], .count = 1, .memory = &job->memory};
        good = rejects_move(&run->failing, &last);
        list->count -= good;
    }
    return (good && rejects_move(&run->rejects, list)) ||
           trouble_set(&partition->trouble, TROUBLE_MEMORY, "no memory for the rejects");
}

// A unit of whole files: each is one row.
static bool take_whole_files(StageRun *run, Partition *partition) {
    SourceFile *files = &run->setup.files->files[partition->unit.file + run->unit_files];
    run->unit_files += (uint32_t)partition->made;
    if (partition->last) run->unit_files = 0;
    for (int64_t i = 0; i < partition->made; i++) {
        files[i].rows = 1;
        files[i].bytes = files[i].size;
        if (!source_file_check(&files[i], &partition->trouble)) return false;
    }
    return true;
}

static bool take_source(StageRun *run, Partition *partition) {
    Job *job = run->job;
    const Unit *unit = &partition->unit;
    if (run->stage->input == SB_INPUT_UNMATCHED) run->rows += partition->end - partition->begin;
    if (run->setup.source) atomic_fetch_add(&job->progress.rows, partition->made);
    if (!run->setup.files || run->setup.files->file_count == 0) return true;
    run->rows += partition->made;
    if (run->stage->input != SB_INPUT_TEXT) return take_whole_files(run, partition);
    SourceFile *file = &run->setup.files->files[unit->file];
    file->rows += partition->made;
    bool whole = partition->last && !partition->stopped && partition->status == SB_STAGE_DONE;
    int64_t end = whole ? unit->next : unit->offset + partition->end;
    if (end > file->bytes) file->bytes = end;
    atomic_fetch_add(&job->progress.bytes, partition->end - partition->begin);
    if (!unit->last || !whole) return true;
    if (!file->stream) {
        file->bytes = file->size;
        close(file->fd);
        file->fd = -1;
    }
    return source_file_check(file, &partition->trouble);
}

// Tells the edges that the stage reads how far it has judged them.
static void consume(StageRun *run, const Partition *partition) {
    for (int side = 0; side < 2; side++) {
        const EdgeSlice *slice = &partition->unit.slices[side];
        if (!slice->batch) continue;
        const EdgeEnd *input = &run->inputs[side];
        if (input->edge != SIDE_NONE)
            edge_consume(&run->job->edges[input->edge], input->at, slice, partition->end,
                         partition->releases);
        else if (partition->releases)
            batch_release(slice->batch);
    }
}

static void retire(StageRun *run, Partition *partition) {
    if (partition->frees) stage_spare_task(run, partition->keeps);
    partition->keeps = nullptr;
    partition->frees = false;
    if (partition->extents > 0) partition_push(&run->writing, partition);
    else stage_spare(run, partition);
}

// Are partitions offered long before they are settled?
static bool waits_long(const StageRun *run) {
    bool keeps = false;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        const Edge *edge = edge_of(run, t);
        keeps |= edge && edge->keeps;
    }
    return keeps;
}

void stage_written(Partition *partition) {
    StageRun *run = partition->run;
    Partition *first = nullptr;
    PartitionList left = {0};
    bool found = false;
    while ((first = partition_pop(&run->writing))) {
        if (first != partition) partition_push(&left, first);
        else found = true;
    }
    run->writing = left;
    if (found) stage_spare(run, partition);
    else if (waits_long(run)) partition_close_outs(partition, &run->setup);
}

void stage_abandon(StageRun *run) {
    for (Partition *partition; (partition = partition_pop(&run->out));) {
        if (partition->releases) stage_untake(run, &partition->unit);
        retire(run, partition);
    }
}

// Counts and rejects of the rows that were wanted. The partition's bytes may be on their way to a
// file, so they are left as they are.
static bool judge_again(StageRun *run, Partition *partition, Partition *exact, SbTaskState *task) {
    exact->unit = partition->unit;
    exact->begin = partition->begin;
    exact->end = partition->end;
    exact->order = partition->order;
    exact->records = partition->records;
    exact->keeps = partition->keeps;
    exact->weight = partition->weight;
    exact->last = partition->last;
    size_t bytes = run->stage->terminal_count * sizeof *exact->quota;
    memcpy(exact->quota, partition->quota, bytes);
    make_again(run, exact, task);
    memcpy(partition->counts, exact->counts,
           (size_t)run->job->what->step_count * SB_COUNTS * sizeof *partition->counts);
    RejectList rejects = partition->rejects;
    partition->rejects = exact->rejects;
    exact->rejects = rejects;
    exact->keeps = nullptr;
    partition->end = exact->end;
    partition->made = exact->made;
    partition->status = exact->status;
    partition->stopped = exact->stopped;
    partition->over = exact->over;
    partition->trouble = exact->trouble;
    partition->failure = exact->failure;
    return partition->trouble.kind == TROUBLE_NONE && stage_take_failure(run, partition);
}

// Whether the fault ends the job is decided later: see policy_judge.
static void freeze_inputs(StageRun *run) {
    for (int side = 0; side < 2; side++) {
        const EdgeEnd *input = &run->inputs[side];
        if (input->edge != SIDE_NONE) edge_freeze(&run->job->edges[input->edge], input->at);
    }
}

void stage_settle(StageRun *run, pthread_mutex_t *lock) {
    Job *job = run->job;
    Partition *partition = run->out.first, *exact = nullptr;
    SbTaskState *task = nullptr;
    run->settling = true;
    Verdict verdict = judge(run, partition);
    if (verdict == VERDICT_AGAIN) {
        task = stage_task(run);
        exact = stage_partition(run);
    }
    pthread_mutex_unlock(lock);
    bool good = verdict != VERDICT_AGAIN ||
                (task && exact && judge_again(run, partition, exact, task));
    if (verdict != VERDICT_DISCARD && good) {
        for (uint32_t i = 0; i < job->what->step_count * SB_COUNTS; i++)
            run->counts[i] += partition->counts[i];
        if (take_rejects(run, partition)) take_source(run, partition);
    }
    pthread_mutex_lock(lock);
    stage_spare_task(run, task);
    if (exact) stage_spare(run, exact);
    merge_trouble(run, partition);
    partition_pop(&run->out);
    run->settling = false;
    run->stopped |= verdict != VERDICT_EXACT && stage_nobody_wants(run);
    if (verdict != VERDICT_DISCARD) {
        consume(run, partition);
        run->faulted |= partition->status == SB_STAGE_FAULT;
        run->stopped |= run->faulted;
        if (run->faulted) freeze_inputs(run);
        run->over |= partition->over;
    } else if (partition->releases) {
        stage_untake(run, &partition->unit);
    }
    retire(run, partition);
}
