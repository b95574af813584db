#include "runtime/task.h"

#include "runtime/files.h"
#include "stdlib/lines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    INDEX_ROWS = 1024,
    INDEX_ENDS_MAX = 1 << 18,
    SCRATCH_BYTES = 256 * 1024,
    OUT_BYTES_MIN = 64 * 1024,
};

static bool is_sink(uint32_t terminal) { return terminal & SB_TERMINAL_SINK; }

static bool is_edge(const SbJob *job, uint32_t terminal) {
    return !is_sink(terminal) && job->breakers[terminal].kind == SB_BREAK_EDGE;
}

// ---- results --------------------------------------------------------------------------------

bool result_open(UnitResult *result, const TaskSetup *setup) {
    uint32_t terminals = setup->stage->terminal_count;
    *result = (UnitResult){.rejects.memory = setup->memory};
    result->counts = calloc((size_t)setup->job->step_count * SB_COUNTS + 1, sizeof *result->counts);
    result->outs = calloc(terminals + 1, sizeof *result->outs);
    result->out_states = calloc(terminals + 1, sizeof *result->out_states);
    result->batches = calloc(terminals + 1, sizeof *result->batches);
    result->quota = calloc(terminals + 1, sizeof *result->quota);
    result->left = calloc(terminals + 1, sizeof *result->left);
    if (!result->counts || !result->outs || !result->out_states || !result->batches ||
        !result->quota || !result->left) {
        return false;
    }
    for (uint32_t t = 0; t < terminals; t++) {
        result->out_states[t].memory = setup->memory;
        result->outs[t].state = &result->out_states[t];
    }
    return true;
}

void result_close(UnitResult *result, const TaskSetup *setup) {
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        if (result->out_states) {
            sb_memory_release(setup->memory, result->out_states[t].cap);
            free(result->out_states[t].begin);
        }
        if (result->batches && result->batches[t]) sb_rows_close(result->batches[t]);
    }
    rejects_close(&result->rejects);
    free(result->counts);
    free(result->outs);
    free(result->out_states);
    free(result->batches);
    free(result->quota);
    free(result->left);
}

void result_reset(UnitResult *result, const TaskSetup *setup) {
    memset(result->counts, 0, (size_t)setup->job->step_count * SB_COUNTS * sizeof *result->counts);
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        SbOut *out = &result->outs[t];
        out->at = out->state->begin;
        out->rows = 0;
        if (result->batches[t]) sb_rows_close(result->batches[t]);
        result->batches[t] = nullptr;
    }
    SbMemory *memory = result->rejects.memory;
    rejects_close(&result->rejects);
    result->rejects.memory = memory;
    result->status = SB_STAGE_DONE;
    result->stopped = false;
    result->failure = (SbFailure){0};
    result->trouble.kind = TROUBLE_NONE;
}

int32_t sb_task_border(SbTask *task) {
    return __atomic_load_n(&task->cancel, __ATOMIC_RELAXED);
}

int32_t sb_out_grow(SbTask *task, SbOut *out, int64_t bytes) {
    SbOutState *state = out->state;
    int64_t used = state->begin ? out->at - state->begin : 0;
    int64_t cap = state->cap ? 2 * state->cap : OUT_BYTES_MIN;
    while (cap < used + bytes + SB_SLACK) cap *= 2;
    char *begin = nullptr;
    if (sb_memory_charge(state->memory, cap - state->cap)) {
        begin = realloc(state->begin, (size_t)cap);
        if (!begin) sb_memory_release(state->memory, cap - state->cap);
    }
    if (!begin) {
        task->failure = (SbFailure){
            .site = UINT32_MAX, .fault = SB_FAULT_TOO_LARGE, .order = task->order};
        return SB_FAULT_TOO_LARGE;
    }
    state->begin = begin;
    state->cap = cap;
    out->at = begin + used;
    out->end = begin + cap - SB_SLACK;
    return SB_OK;
}

// ---- rejects --------------------------------------------------------------------------------

// Line ends between the unit's first row and `at`.
static int64_t lines_before(SbTaskState *state, int64_t at) {
    const Unit *unit = &state->result->unit;
    if (at < state->lined_at) {
        state->lined_at = unit->begin;
        state->lined_lines = 0;
    }
    state->lined_lines += source_count_lines(unit->text + state->lined_at, at - state->lined_at);
    state->lined_at = at;
    return state->lined_lines;
}

static bool is_row(const Source *source, const SourceFile *file, const char *text, int64_t at,
                   int64_t end) {
    const SbSource *what = source->what;
    SbStr comment = source->dialect.comment;
    while (end > at && (text[end - 1] == '\n' || text[end - 1] == '\r')) end--;
    if (what->format == SB_TEXT) return true;
    if (what->format == SB_CSV) {
        bool skip = comment.len > 0 && end - at >= comment.len &&
                    memcmp(text + at, comment.ptr, (size_t)comment.len) == 0;
        return !skip && (end > at || file->field_count == 1);
    }
    for (; at < end; at++) {
        if (text[at] != ' ' && text[at] != '\t' && text[at] != '\r') return true;
    }
    return false;
}

// Rows of the unit before the one at `at`; needed only where a share limits the rejects.
static int64_t rows_before(SbTaskState *state, int64_t at) {
    const Unit *unit = &state->result->unit;
    const Source *source = state->setup->files;
    if (at < state->counted_at) {
        state->counted_at = unit->begin;
        state->counted_rows = 0;
    }
    while (state->counted_at < at) {
        int64_t pos = state->counted_at;
        int64_t end = source->what->format == SB_CSV
                          ? sb_csv_row_end(unit->text, pos, pos + 1, unit->end, &source->dialect)
                          : sb_lines_end(unit->text, pos, pos + 1, unit->end);
        if (end < 0) end = unit->end;
        state->counted_rows += is_row(source, &source->files[unit->file], unit->text, pos, end);
        state->counted_at = end;
    }
    return state->counted_rows;
}

// The order of the unit's first row among the rows of all stages that feed one terminal.
static uint64_t first_order(const SbTaskState *state) {
    return (uint64_t)state->setup->stage->rank << 56 | state->result->unit.ordinal << 32;
}

int32_t task_reject(SbTaskState *state, RejectFacts *facts) {
    const TaskSetup *setup = state->setup;
    SbTask *task = &state->task;
    Reject *place = &facts->place;
    RejectList *list = &state->result->rejects;
    if (place->site < setup->job->site_count) {
        const SbSite *site = &setup->job->sites[place->site];
        place->step = site->step;
        place->fails = site->fails;
    }
    place->sequence = first_order(state) | list->count;
    if (place->weight == 0) place->weight = 1;
    if (!rejects_add(list, setup->job, facts)) {
        task->failure = (SbFailure){place->site, SB_FAULT_TOO_LARGE, task->order};
        return SB_FAULT_TOO_LARGE;
    }
    task->counts[place->step * SB_COUNTS + SB_REJECTED]++;
    if (place->fails) {
        task->failure = (SbFailure){place->site, place->fault, task->order};
        return place->fault;
    }
    // More than the whole job may have: what follows does not matter.
    return setup->reject_rows >= 0 && list->weight > setup->reject_rows ? place->fault : SB_OK;
}

int32_t sb_reject_text(SbTask *task, uint32_t site, int32_t fault, int64_t begin, int64_t end,
                       const char *detail, int64_t detail_len) {
    SbTaskState *state = task->state;
    const Unit *unit = &state->result->unit;
    const Source *source = state->setup->files;
    const char *text = task->input.text;
    if (end > begin && text[end - 1] == '\n') end -= 1 + (end - 1 > begin && text[end - 2] == '\r');
    RejectFacts facts = {
        .place = {
            .has_place = true,
            .source = source->number,
            .file = unit->file,
            .offset = unit->offset + begin,
            .length = end - begin,
            .line = 1 + lines_before(state, begin),
            .row = state->setup->wants_rows ? rows_before(state, begin) : 0,
            .site = site,
            .fault = fault,
            .path = source->files[unit->file].path,
        },
        .detail = detail, .detail_len = detail_len,
        .raw = text + begin, .raw_len = end - begin,
    };
    if (fault == SB_FAULT_OPEN_QUOTE) {
        facts.place.weight = source_count_lines(text + begin, unit->end - begin) +
                             (unit->end > begin && text[unit->end - 1] != '\n');
    }
    int32_t stop = task_reject(state, &facts);
    if (stop) state->stopped_at = begin;
    return stop;
}

int32_t sb_reject_row(SbTask *task, uint32_t site, int32_t fault, const SbEntry *entry,
                      const char *detail, int64_t detail_len) {
    SbTaskState *state = task->state;
    const TaskSetup *setup = state->setup;
    RejectFacts facts = {
        .place = {.behind = setup->behind, .site = site, .fault = fault},
        .detail = detail, .detail_len = detail_len,
    };
    Text row = {0};
    if (setup->files && setup->files->what->format == SB_FILES) {
        SbStr path = files_path(setup->files, entry, &facts.place.file);
        facts.place.source = setup->files->number;
        facts.place.path = path.ptr;
        facts.raw = path.ptr;
        facts.raw_len = path.len;
    } else {
        if (setup->files) facts.place.source = setup->files->number;
        if (setup->row && entry) sb_text_add_row(&row, setup->row, entry);
        facts.raw = row.ptr;
        facts.raw_len = row.len;
        facts.place.offset = (int64_t)task->order;
    }
    int32_t stop = task_reject(state, &facts);
    sb_text_close(&row);
    return stop;
}

int32_t sb_reject_made(SbTask *task, uint32_t site, int32_t fault, const SbType *row_type,
                       const void *memory, const char *detail, int64_t detail_len) {
    Text row = {0};
    sb_text_add_row(&row, row_type, memory);
    RejectFacts facts = {
        .place = {.behind = true, .site = site, .fault = fault, .offset = (int64_t)task->order},
        .detail = detail, .detail_len = detail_len,
        .raw = row.ptr, .raw_len = row.len,
    };
    int32_t stop = task_reject(task->state, &facts);
    sb_text_close(&row);
    return stop;
}

int32_t sb_reject_kept(SbTask *task, uint32_t site, int32_t fault, const SbPlace *kept,
                       const char *detail, int64_t detail_len) {
    const Source *source = &task->state->setup->sources[kept->source];
    RejectFacts facts = {
        .place = {
            .has_place = true, .has_line = true, .source = kept->source, .file = kept->file,
            .offset = kept->offset, .length = kept->raw.len, .line = kept->line, .site = site,
            .fault = fault, .path = source->files[kept->file].path,
        },
        .detail = detail, .detail_len = detail_len,
        .raw = kept->raw.ptr,
        .raw_len = kept->raw.len < SB_PLACE_RAW ? kept->raw.len : SB_PLACE_RAW,
    };
    return task_reject(task->state, &facts);
}

SbStr sb_source_name(SbTask *task, uint32_t source, uint32_t file) {
    const char *path = task->state->setup->sources[source].files[file].path;
    return (SbStr){path, (int64_t)strlen(path)};
}

int64_t sb_row_line(SbTask *task, int64_t offset) {
    return 1 + task->state->result->unit.lines + lines_before(task->state, offset);
}

// The row over row_max at the end of a unit, which no stage saw.
static void reject_long_row(SbTaskState *state) {
    UnitResult *result = state->result;
    const Unit *unit = &result->unit;
    const Source *source = state->setup->files;
    const LongRow *row = &unit->long_row;
    uint32_t step = source->what->step;
    RejectFacts facts = {
        .place = {
            .has_place = true,
            .source = source->number,
            .file = unit->file,
            .step = step,
            .offset = unit->offset + row->begin,
            .length = row->length,
            .line = 1 + lines_before(state, row->begin),
            .row = state->setup->wants_rows ? rows_before(state, row->begin) : 0,
            .site = UINT32_MAX,
            .weight = row->open ? row->lines : 1,
            .fails = source->what->fails,
            .fault = row->open ? SB_FAULT_OPEN_QUOTE : SB_FAULT_ROW_TOO_LONG,
            .path = source->files[unit->file].path,
        },
        .raw = unit->text + row->begin,
        .raw_len = row->length < RAW_BYTES_MAX + 4 ? row->length : RAW_BYTES_MAX + 4,
    };
    result->counts[step * SB_COUNTS + SB_MADE]++;
    if (task_reject(state, &facts) != SB_OK) result->status = SB_STAGE_FAULT;
}

// ---- running --------------------------------------------------------------------------------

bool task_open(SbTaskState *state, const TaskSetup *setup, uint32_t thread, Trouble *trouble) {
    *state = (SbTaskState){.setup = setup, .thread = thread, .buffer.memory = setup->memory};
    SbIndex *index = &state->index;
    uint32_t fields = 1;
    for (uint32_t i = 0; setup->files && i < setup->files->file_count; i++) {
        if (setup->files->files[i].field_count > fields)
            fields = setup->files->files[i].field_count;
    }
    index->rows_max = INDEX_ROWS;
    index->ends_max = fields > INDEX_ENDS_MAX / INDEX_ROWS ? INDEX_ENDS_MAX : INDEX_ROWS * fields;
    if (index->ends_max < fields) index->ends_max = fields;
    index->ends_max += SB_CSV_SPARE;
    index->ends = malloc(index->ends_max * sizeof *index->ends);
    index->starts = malloc((INDEX_ROWS + SB_CSV_SPARE) * sizeof *index->starts);
    state->terminals = calloc(setup->stage->terminal_count + 1, sizeof *state->terminals);
    if (!index->ends || !index->starts || !state->terminals ||
        sb_scratch_open(&state->task.call, SCRATCH_BYTES) != SB_OK) {
        return trouble_set(trouble, TROUBLE_MEMORY, "no memory for a thread's work");
    }
    return true;
}

void task_close(SbTaskState *state) {
    sb_scratch_close(&state->task.call);
    sb_scratch_close(&state->files);
    unit_buffer_close(&state->buffer);
    free(state->index.ends);
    free(state->index.starts);
    free(state->terminals);
}

static bool set_terminals(SbTaskState *state, UnitResult *result) {
    const TaskSetup *setup = state->setup;
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        uint32_t terminal = setup->stage->terminals[t];
        if (is_sink(terminal)) {
            state->terminals[t] = &result->outs[t];
        } else if (is_edge(setup->job, terminal)) {
            result->batches[t] = sb_rows_open(setup->memory,
                                              setup->job->breakers[terminal].entry_bytes);
            if (!result->batches[t]) return false;
            state->terminals[t] = result->batches[t];
        } else {
            state->terminals[t] = sb_breaker_part(setup->breakers[terminal], state->thread);
        }
        result->left[t] = result->quota[t];
    }
    return true;
}

static void set_input(SbTaskState *state, const Unit *unit) {
    const TaskSetup *setup = state->setup;
    SbInput *input = &state->task.input;
    *input = (SbInput){.begin = unit->begin, .end = unit->end, .index = &state->index,
                       .entries = unit->entries, .right = setup->right};
    if (setup->files && setup->files->file_count > 0) {
        const SourceFile *file = &setup->files->files[unit->file];
        input->source_file = unit->file;
        input->source_name = (SbStr){file->path, (int64_t)strlen(file->path)};
        input->fields = file->fields;
        input->field_count = file->field_count;
    }
    if (setup->stage->input == SB_INPUT_TEXT) {
        input->text = unit->text;
        input->offset = unit->offset;
        input->line = unit->lines >= 0 ? unit->lines + 1 : 0;
    }
}

// A stage that wants `need` bytes more gets them from the account or fails.
static bool grant(SbTaskState *state, int64_t *granted) {
    SbTask *task = &state->task;
    if (task->need <= 0 || !sb_memory_charge(state->setup->memory, task->need)) return false;
    *granted += task->need;
    task->need = 0;
    return true;
}

void task_run(SbTaskState *state, UnitResult *result) {
    const TaskSetup *setup = state->setup;
    Unit *unit = &result->unit;
    SbTask *task = &state->task;
    state->result = result;
    state->lined_at = state->counted_at = unit->begin;
    state->lined_lines = state->counted_rows = 0;
    state->stopped_at = -1;
    if (!set_terminals(state, result)) {
        trouble_set(&result->trouble, TROUBLE_MEMORY,
                    "stage '%.*s' needs more memory than --memory gives",
                    (int)setup->stage->label.len, setup->stage->label.ptr);
        return;
    }
    set_input(state, unit);
    task->cursor = unit->begin;
    task->order = first_order(state);
    task->params = setup->params;
    task->terminals = state->terminals;
    task->limits = result->left;
    task->tables = setup->tables;
    task->counts = result->counts;
    task->need = 0;
    task->stopped = 0;
    task->failure = (SbFailure){0};
    task->state = state;
    if (setup->files && setup->files->what->format == SB_FILES &&
        !files_load(state, unit, &result->trouble)) {
        return;
    }
    int64_t granted = 0;
    int32_t status;
    do {
        status = setup->stage->run(task);
        // A unit's output waits in memory for its turn: FULL only asks to go on.
        assert(status >= SB_STAGE_DONE && status <= SB_STAGE_FAULT);
    } while ((status == SB_STAGE_FULL && !sb_task_border(task)) ||
             (status == SB_STAGE_NEED && grant(state, &granted)));
    if (granted > 0) sb_memory_release(setup->memory, granted);
    if (status == SB_STAGE_NEED)
        task->failure = (SbFailure){UINT32_MAX, SB_FAULT_TOO_LARGE, task->order};
    result->status = status == SB_STAGE_NEED ? SB_STAGE_FAULT : status;
    // A block's rows are counted at its end: this one has none.
    if (result->status == SB_STAGE_FAULT && state->stopped_at >= 0)
        result->counts[setup->source->step * SB_COUNTS + SB_MADE] = rows_before(state,
                                                                                state->stopped_at) +
                                                                    1;
    result->stopped = task->stopped;
    result->cursor = task->cursor;
    if (result->status == SB_STAGE_DONE && unit->long_row.is && !task->stopped)
        reject_long_row(state);
    result->failure = task->failure;
    sb_scratch_rewind(&task->call);
}
