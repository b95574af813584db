// Commit: what units made is taken over in their order, so that outputs, rejects and counts are
// the same for any number of threads.
#include "runtime/stage.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t stage_wants(const StageRun *run, uint32_t t) {
    const Job *job = run->job;
    uint32_t terminal = run->stage->terminals[t];
    if (terminal & SB_TERMINAL_SINK) {
        const Sink *sink = &job->sinks[terminal & ~SB_TERMINAL_SINK];
        if (sink->done) return 0;
        return job->options.first_rows == INT64_MAX ? INT64_MAX
                                                    : job->options.first_rows - sink->rows;
    }
    const Edge *edge = &job->edges[terminal];
    if (job->what->breakers[terminal].kind != SB_BREAK_EDGE || edge->limit == INT64_MAX)
        return INT64_MAX;
    return edge->limit > edge->rows ? edge->limit - edge->rows : 0;
}

bool stage_nobody_wants(const StageRun *run) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        if (stage_wants(run, t) > 0) return false;
    }
    return run->stage->terminal_count > 0;
}

static int64_t taken(const UnitResult *result, uint32_t t) {
    return result->batches[t] ? result->batches[t]->count : result->outs[t].rows;
}

// Did the unit run past the row that fills the last terminal?
static bool ran_past(const StageRun *run, const UnitResult *result) {
    bool exact = true;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        int64_t wants = stage_wants(run, t);
        if (wants == INT64_MAX || taken(result, t) < wants) return false;
        exact &= result->quota[t] == wants;
    }
    return !exact;
}

// Rows behind what is wanted are neither judged nor counted: the unit is run again to stop there.
static bool run_exactly(StageRun *run, UnitResult *result, uint32_t thread) {
    SbTaskState *state = &run->tasks[thread];
    result_reset(result, &run->setup);
    for (uint32_t t = 0; t < run->stage->terminal_count; t++)
        result->quota[t] = stage_wants(run, t);
    if (!units_again(&run->units, &result->unit, &state->buffer, &result->trouble)) return false;
    task_run(state, result);
    return true;
}

// ---- rejects --------------------------------------------------------------------------------

// Lines before the unit; plain files are counted only when there is a record to place.
static bool base_line(StageRun *run, const UnitResult *result, int64_t *lines) {
    const Unit *unit = &result->unit;
    *lines = unit->lines;
    if (unit->lines >= 0 || run->stage->input != SB_INPUT_TEXT) return true;
    SourceFile *file = &run->setup.files->files[unit->file];
    return source_lines(file, unit->offset + unit->begin, lines, &run->job->trouble);
}

static bool take_rejects(StageRun *run, UnitResult *result) {
    Job *job = run->job;
    RejectList *list = &result->rejects;
    if (list->count == 0) return true;
    int64_t lines = 0;
    if (!base_line(run, result, &lines)) return false;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].line > 0 && !list->items[i].has_line) list->items[i].line += lines;
        list->items[i].row += run->rows;
    }
    bool fails = list->items[list->count - 1].fails;
    if (fails) {
        job->failing_list.memory = &job->memory;
        RejectList last = {
            .items = &list->items[list->count - 1], .count = 1, .memory = &job->memory};
        if (!rejects_move(&job->failing_list, &last)) {
            return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the rejects");
        }
        list->count--;
        job->failing = &job->failing_list.items[0];
    }
    run->weight += list->weight;
    if (!rejects_move(&job->rejects, list)) {
        return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the rejects");
    }
    atomic_fetch_add(&job->progress.rejects, run->weight);
    job->over_limit |= job->limits.rows >= 0 && run->weight > job->limits.rows;
    return !fails && !job->over_limit;
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

static bool take_failure(StageRun *run, const UnitResult *result) {
    Job *job = run->job;
    if (result->status != SB_STAGE_FAULT) return true;
    SbStr label = hungry_step(run);
    if (result->failure.fault != SB_OK && result->failure.site < job->what->site_count) {
        label = job->what->steps[job->what->sites[result->failure.site].step].label;
    }
    if (result->failure.fault == SB_FAULT_TOO_LARGE || result->failure.fault == SB_OK) {
        return trouble_set(&job->trouble, TROUBLE_MEMORY,
                           "'%.*s' needs more than the %lld bytes that --memory gives",
                           (int)label.len, label.ptr, (long long)job->memory.limit);
    }
    return trouble_set(&job->trouble, TROUBLE_FAULT, "'%.*s': %s", (int)label.len, label.ptr,
                       rejects_fault_text(result->failure.fault));
}

// ---- rows and figures -----------------------------------------------------------------------

// A unit of whole files: each is one row.
static bool take_whole_files(StageRun *run, SourceFile *files, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        files[i].rows = 1;
        files[i].bytes = files[i].size;
        if (!source_file_check(&files[i], &run->job->trouble)) return false;
    }
    return true;
}

static bool take_source(StageRun *run, const UnitResult *result) {
    Job *job = run->job;
    const Unit *unit = &result->unit;
    if (!run->setup.files || run->setup.files->file_count == 0) return true;
    int64_t made = result->counts[run->setup.source->step * SB_COUNTS + SB_MADE];
    SourceFile *file = &run->setup.files->files[unit->file];
    run->rows += made;
    if (run->stage->input != SB_INPUT_TEXT) return take_whole_files(run, file, made);
    file->rows += made;
    int64_t end = result->stopped ? unit->offset + result->cursor : unit->next;
    if (end > file->bytes) file->bytes = end;
    atomic_store(&job->progress.rows, run->rows);
    atomic_fetch_add(&job->progress.bytes, unit->end - unit->begin);
    if (!unit->last || result->stopped) return true;
    if (!file->stream) {
        file->bytes = file->size;
        close(file->fd);
        file->fd = -1;
    }
    return source_file_check(file, &job->trouble);
}

// The bytes of the first `rows` rows.
static int64_t first_rows(const Sink *sink, const SbOut *out, int64_t rows) {
    int64_t len = out->at - out->state->begin, end = 0;
    for (int64_t i = 0; i < rows && end < len; i++) {
        end += sink_row_end(sink, out->state->begin + end, len - end, 1);
    }
    return end;
}

static bool take_output(StageRun *run, UnitResult *result, uint32_t t, ExtentList *extents) {
    Job *job = run->job;
    Sink *sink = &job->sinks[run->stage->terminals[t] & ~SB_TERMINAL_SINK];
    SbOut *out = &result->outs[t];
    if (!out->state->begin || sink->done) return true;
    int64_t rows = out->rows, wants = stage_wants(run, t);
    int64_t len = out->at - out->state->begin;
    if (rows > wants) {
        rows = wants;
        len = first_rows(sink, out, rows);
    }
    size_t before = extents->count;
    if (!sink_take(sink, out->state->begin, len, rows, extents, &job->trouble)) return false;
    for (size_t i = before; i < extents->count; i++) {
        // The header is not of the unit's memory, but is written with it.
        extents->items[i].owner = result;
        result->extents++;
    }
    return true;
}

static bool take_rows(StageRun *run, UnitResult *result, ExtentList *extents) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        uint32_t terminal = run->stage->terminals[t];
        if (terminal & SB_TERMINAL_SINK) {
            if (!take_output(run, result, t, extents)) return false;
        } else if (result->batches[t]) {
            if (!edge_add(run->job, terminal, (EdgeBatch){result->batches[t], run->stage->rank}))
                return false;
            result->batches[t] = nullptr;
        }
    }
    return true;
}

bool stage_commit(StageRun *run, UnitResult *result, uint32_t thread, ExtentList *extents) {
    Job *job = run->job;
    result->extents = 0;
    if (result->trouble.kind == TROUBLE_NONE && run->repeats && ran_past(run, result)) {
        run_exactly(run, result, thread);
    }
    if (result->trouble.kind != TROUBLE_NONE) {
        if (job->trouble.kind == TROUBLE_NONE) job->trouble = result->trouble;
        return false;
    }
    for (uint32_t i = 0; i < job->what->step_count * SB_COUNTS; i++)
        job->counts[i] += result->counts[i];
    bool good = take_rejects(run, result) && take_failure(run, result);
    if (!take_source(run, result) || !good || !take_rows(run, result, extents)) return false;
    return !stage_nobody_wants(run);
}
