#include "runtime/task/task.h"

#include "runtime/abi/calls.h"
#include "runtime/breakers.h"
#include "runtime/rows.h"
#include "runtime/task/files.h"
#include "stdlib/text.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_ROWS = 1024, INDEX_ENDS_MAX = 1 << 18, SCRATCH_BYTES = 256 * 1024 };
// EAGER: tests want partitions that end inside rows.
enum { ROW_BORDER_BYTES = 64 * 1024, EAGER_BORDER_BYTES = 4 * 1024 };

static bool reads_files(const TaskSetup *setup) {
    return setup->stage->input == SB_INPUT_FILES;
}

// ---- rejects --------------------------------------------------------------------------------

// Line ends between the unit's first row and `at`.
static int64_t lines_before(SbTaskState *state, int64_t at) {
    const Unit *unit = &state->unit;
    if (at < state->lined_at) {
        state->lined_at = unit->begin;
        state->lined_lines = 0;
    }
    state->lined_lines += sb_lines_count(unit->text + state->lined_at, at - state->lined_at);
    state->lined_at = at;
    return state->lined_lines;
}

// Rows of the partition before the one at `at`, which lies in the block that is indexed or after
// it; needed only where a share limits the rejects.
static int64_t rows_before(const SbTaskState *state, int64_t at) {
    const SbIndex *index = &state->index;
    uint32_t low = 0, high = index->rows;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index->starts[middle] < at) low = middle + 1;
        else high = middle;
    }
    return index->rows_before + low + (index->fault != SB_OK && index->fault_begin < at);
}

// The order of the unit's first row among the rows of all stages that feed one terminal.
static uint64_t first_order(const SbTaskState *state) {
    return (uint64_t)state->setup->stage->rank << 56 | state->unit.ordinal << 32;
}

// A stage that feeds the terminal.
static const SbStage *feeder(const SbJob *job, uint32_t terminal) {
    for (uint32_t s = 0; s < job->stage_count; s++)
        for (uint32_t t = 0; t < job->stages[s].terminal_count; t++)
            if (job->stages[s].terminals[t] == terminal) return &job->stages[s];
    return nullptr;
}

// Does the stage read what the step has gathered, or did the stage where the step began?
static bool is_result(const SbJob *job, const SbStage *stage, uint32_t step) {
    while (stage && sb_goes_on_step(job, stage) == step) stage = feeder(job, stage->input_index);
    if (!stage || stage->input != SB_INPUT_ROWS) return false;
    const SbBreaker *from = &job->breakers[stage->input_index];
    return from->kind != SB_BREAK_EDGE && from->step == step;
}

int32_t task_reject(SbTaskState *state, RejectFacts *facts) {
    const TaskSetup *setup = state->setup;
    SbTask *task = &state->task;
    Reject *place = &facts->place;
    Partition *into = state->into;
    RejectList *list = &into->rejects;
    if (place->site < setup->job->site_count) {
        const SbSite *site = &setup->job->sites[place->site];
        place->step = site->step;
        place->fails = site->fails;
        place->result = is_result(setup->job, setup->stage, site->step);
        place->goes_on = sb_goes_on_step(setup->job, setup->stage) == site->step;
        task->counts[site->step * SB_COUNTS + SB_MERGED] += site->merges;
    }
    place->origin = task->origin;
    place->came = place->goes_on ? task->came : task->order;
    place->sequence = first_order(state) | state->records++;
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
    into->over = list->weight > into->weight;
    return into->over ? place->fault : SB_OK;
}

// "2 instead of 3", of the fields of a row.
static void add_field_count(Text *out, const SbTaskState *state, const char *row, int64_t len) {
    const Source *source = state->setup->files;
    SbCsvText in = {.text = row, .end = len, .dialect = &source->dialect};
    SbCsvRow found;
    sb_csv_row(&in, 0, nullptr, &found);
    sb_text_format(out, "%u instead of %u", found.fields,
                   source->files[state->unit.file].field_count);
}

// The bytes of a row in facts->raw, as its format shows them.
static void show_row(RejectFacts *facts, const Source *source, Text *shown) {
    const SbReader *reader = source->what->reader;
    if (!reader->show) return;
    Window row = {source, &source->files[facts->place.file], facts->raw, facts->raw_len,
                  facts->place.offset};
    reader->show(&row, shown);
    facts->raw = shown->ptr;
    facts->raw_len = shown->len;
}

int32_t sb_reject_text(SbTask *task, uint32_t site, int32_t fault, int64_t begin, int64_t end,
                       const char *detail, int64_t detail_len) {
    SbTaskState *state = task->state;
    const Unit *unit = &state->unit;
    const Source *source = state->setup->files;
    const char *text = task->input.text;
    const SbReader *reader = source->what->reader;
    if (reader->lines && end > begin && text[end - 1] == '\n')
        end -= 1 + (end - 1 > begin && text[end - 2] == '\r');
    RejectFacts facts = {
        .place = {
            .has_place = true,
            .source = source->number,
            .file = unit->file,
            .offset = unit->offset + begin,
            .length = end - begin,
            .line = reader->lines ? 1 + lines_before(state, begin) : 0,
            .row = sb_row_number(task, begin),
            .site = site,
            .fault = fault,
            .path = source->files[unit->file].path,
        },
        .detail = detail, .detail_len = detail_len,
        .raw = text + begin, .raw_len = end - begin,
    };
    if (fault == SB_FAULT_OPEN_QUOTE) {
        facts.place.weight = sb_lines_count(text + begin, unit->end - begin) +
                             (unit->end > begin && text[unit->end - 1] != '\n');
    }
    Text figures = {0};
    if (fault == SB_FAULT_FIELD_COUNT) {
        add_field_count(&figures, state, text + begin, end - begin);
        facts.detail = figures.ptr;
        facts.detail_len = figures.len;
        facts.bare = true;
    }
    Text shown = {0};
    show_row(&facts, source, &shown);
    int32_t stop = task_reject(state, &facts);
    sb_text_close(&figures);
    sb_text_close(&shown);
    if (stop) state->stopped_at = begin;
    return stop;
}

// Of a row of `files` a reject shows the path.
static void show_file(RejectFacts *facts, const Source *source, uint32_t file, int64_t bytes) {
    const SourceFile *shown = &source->files[file];
    facts->place.has_place = true;
    facts->place.source = source->number;
    facts->place.file = file;
    facts->place.length = bytes;
    facts->place.row = 0;
    facts->place.path = facts->raw = shown->path;
    facts->raw_len = (int64_t)strlen(shown->path);
}

int32_t sb_reject_row(SbTask *task, uint32_t site, int32_t fault, const SbPlace *place,
                      const SbEntry *entry, const char *detail, int64_t detail_len) {
    const TaskSetup *setup = task->state->setup;
    if (!entry || !reads_files(setup)) {
        return sb_reject_made(task, site, fault, place, entry ? setup->row : nullptr, entry, detail,
                              detail_len);
    }
    RejectFacts facts = {
        .place = {.site = site, .fault = fault}, .detail = detail, .detail_len = detail_len};
    show_file(&facts, setup->files, (uint32_t)entry->order, (int64_t)entry->hash);
    return task_reject(task->state, &facts);
}

int32_t sb_reject_made(SbTask *task, uint32_t site, int32_t fault, const SbPlace *place,
                       const SbType *row_type, const void *memory, const char *detail,
                       int64_t detail_len) {
    Text row = {0};
    if (row_type) sb_text_add_row(&row, row_type, memory);
    RejectFacts facts = {
        .place = {.behind = !place, .site = site, .fault = fault},
        .detail = detail, .detail_len = detail_len,
        .raw = row.ptr, .raw_len = row.len,
    };
    if (place) {
        facts.place.source = place->source;
        facts.place.offset = place->offset;
        facts.place.row = place->row;
    }
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
            .offset = kept->offset, .length = kept->raw.len, .line = kept->line, .row = kept->row,
            .site = site, .fault = fault, .path = source->files[kept->file].path,
        },
        .detail = detail, .detail_len = detail_len,
        .raw = kept->raw.ptr,
        .raw_len = kept->raw.len < SB_PLACE_RAW ? kept->raw.len : SB_PLACE_RAW,
    };
    if (!source->what->reader->lines) {
        facts.place.has_line = false;
        facts.place.line = 0;
    }
    if (source->what->reader->fill) show_file(&facts, source, kept->file, kept->row);
    Text shown = {0};
    show_row(&facts, source, &shown);
    int32_t stop = task_reject(task->state, &facts);
    sb_text_close(&shown);
    return stop;
}

SbStr sb_source_name(SbTask *task, uint32_t source, uint32_t file) {
    const char *path = task->state->setup->sources[source].files[file].path;
    return (SbStr){path, (int64_t)strlen(path)};
}

int64_t sb_row_line(SbTask *task, int64_t offset) {
    return 1 + task->state->unit.lines + lines_before(task->state, offset);
}

int64_t sb_row_number(SbTask *task, int64_t offset) {
    return task->state->setup->wants_rows ? rows_before(task->state, offset) : 0;
}

// The row over row_max at the end of a unit, which no stage saw.
static void reject_long_row(SbTaskState *state) {
    const Unit *unit = &state->unit;
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
            .row = sb_row_number(&state->task, row->begin),
            .site = UINT32_MAX,
            .weight = row->open ? row->lines : 1,
            .fails = source->what->fails,
            .fault = row->open ? SB_FAULT_OPEN_QUOTE : SB_FAULT_ROW_TOO_LONG,
            .path = source->files[unit->file].path,
        },
        .raw = unit->text + row->begin,
        .raw_len = row->length < RAW_BYTES_MAX + 4 ? row->length : RAW_BYTES_MAX + 4,
    };
    state->into->counts[step * SB_COUNTS + SB_MADE]++;
    state->task.origin = state->task.order;
    if (task_reject(state, &facts) != SB_OK) state->into->status = SB_STAGE_FAULT;
}

// ---- a task's life --------------------------------------------------------------------------

bool task_open(SbTaskState *state, const TaskSetup *setup, Trouble *trouble) {
    *state = (SbTaskState){.setup = setup,
                            .buffer = {.memory = setup->memory, .relief = setup->relief}};
    state->task.tells_marks = setup->tells_marks;
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
    state->handed = calloc(setup->stage->terminal_count + 1, sizeof *state->handed);
    if (!index->ends || !index->starts || !state->terminals || !state->handed ||
        sb_scratch_open(&state->task.call, SCRATCH_BYTES) != SB_OK ||
        !probe_open(&state->probe, setup)) {
        return trouble_no_memory(trouble, "for a task");
    }
    sb_scratch_charge(&state->task.call, setup->memory);
    if (!setup->stage->calls) return true;
    if (sb_scratch_open(&state->results, SCRATCH_BYTES) != SB_OK)
        return trouble_no_memory(trouble, "for a task");
    sb_scratch_charge(&state->results, setup->memory);
    return true;
}

void task_close(SbTaskState *state) {
    kernel_end(state);
    if (state->granted > 0) sb_memory_release(state->setup->memory, state->granted);
    probe_close(&state->probe);
    candidates_close(state);
    if (state->task.call.scratch) sb_scratch_close(&state->task.call);
    if (state->files.scratch) sb_scratch_close(&state->files);
    if (state->results.scratch) sb_scratch_close(&state->results);
    unit_buffer_close(&state->buffer);
    free(state->index.ends);
    free(state->index.starts);
    free(state->terminals);
    free(state->handed);
}

static void set_input(SbTaskState *state) {
    const TaskSetup *setup = state->setup;
    state->task.batch = (SbBatchRows){0};  // Other rows come.
    kernel_next(state);
    const Unit *unit = &state->unit;
    SbInput *input = &state->task.input;
    *input = (SbInput){.begin = unit->begin, .end = unit->end, .index = &state->index,
                       .entries = unit->entries, .right = unit->right};
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

static void set_place(SbTaskState *state, int64_t cursor, uint64_t order, uint64_t records) {
    SbTask *task = &state->task;
    task->cursor = cursor;
    task->insides = 0;
    task->splits = false;  // Unless who runs it says so.
    task->order = order;
    task->params = state->setup->params;
    task->tables = state->setup->tables;
    probe_begin(&state->probe);
    candidates_begin(state);
    task->terminals = state->terminals;
    task->state = state;
    state->records = records;
    state->lined_at = state->unit.begin;
    state->lined_lines = 0;
}

bool task_begin(SbTaskState *state, const Unit *unit, Trouble *trouble) {
    const TaskSetup *setup = state->setup;
    state->unit = *unit;
    state->again = false;
    set_input(state);
    if (reads_files(setup) && !files_load(state, trouble)) return false;
    set_place(state, state->unit.begin, first_order(state), 0);
    memset(state->handed, 0, setup->stage->terminal_count * sizeof *state->handed);
    memset(state->task.call.hold.counts, 0, sizeof state->task.call.hold.counts);
    return true;
}

bool task_go_on(SbTaskState *state, const Unit *unit, Trouble *trouble) {
    SbHold hold = state->task.call.hold;
    bool good = task_begin(state, unit, trouble);
    state->task.call.hold = hold;
    return good;
}

// The breaker that the terminal is; nullptr: it is none, or one of its own.
static SbBreakerState *breaker_of(const SbTaskState *state, uint32_t t) {
    const TaskSetup *setup = state->setup;
    uint32_t terminal = setup->stage->terminals[t];
    bool other = terminal & SB_TERMINAL_SINK || sb_is_edge(setup->job, terminal) || state->aside;
    return other ? nullptr : setup->breakers[terminal];
}

static void mark_breakers(SbTaskState *state, uint32_t lane) {
    state->lane = lane;
    state->marked = state->setup->goes_back;
    for (uint32_t t = 0; state->marked && t < state->setup->stage->terminal_count; t++)
        if (breaker_of(state, t)) sb_breaker_mark(breaker_of(state, t), lane);
}

static bool keep_breakers(SbTaskState *state) {
    bool good = true;
    for (uint32_t t = 0; state->marked && t < state->setup->stage->terminal_count; t++)
        if (breaker_of(state, t)) good = sb_breaker_keep(breaker_of(state, t), state->lane) && good;
    state->marked = false;
    return good;
}

void task_keep(SbTaskState *state) { keep_breakers(state); }

void task_back(SbTaskState *state, const Partition *partition) {
    for (uint32_t t = 0; state->marked && t < state->setup->stage->terminal_count; t++)
        if (breaker_of(state, t)) sb_breaker_back(breaker_of(state, t), state->lane);
    state->marked = false;
    set_place(state, partition->begin, partition->order, partition->records);
    state->task.insides = partition->insides;
    memcpy(state->task.inside, partition->inside, sizeof partition->inside);
    state->task.call.hold = state->held;
    for (uint32_t t = 0; t < state->setup->stage->terminal_count; t++) {
        const SbRows *rows = partition->batches[t];
        int64_t batch = rows ? rows->state->batch : 0;
        if (batch) state->handed[t] = (state->handed[t] + batch - rows->count % batch) % batch;
    }
}

bool task_again(SbTaskState *state, const Partition *partition, Trouble *trouble) {
    state->unit = partition->unit;
    if (!partition->keeps &&
        !units_again(state->setup->units, &state->unit, &state->buffer, trouble)) {
        return false;
    }
    set_input(state);
    if (reads_files(state->setup) && !files_load(state, trouble)) return false;
    state->again = true;
    // What cancelled it the first time does not concern the rows that are made again.
    __atomic_store_n(&state->task.cancel, 0, __ATOMIC_RELAXED);
    if (!partition->last) {
        // It has fewer rows now and would not be full where it was.
        state->task.input.end = partition->end;
        state->unit.long_row.is = false;
    }
    set_place(state, partition->begin, partition->order, partition->records);
    return true;
}

// ---- running --------------------------------------------------------------------------------

// Bytes that wait in the partition for a terminal.
static int64_t bytes_made(const Partition *into, const TaskSetup *setup) {
    int64_t bytes = 0;
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        const SbOut *out = &into->outs[t];
        if (out->state->begin) bytes += out->at - out->state->begin;
        if (into->batches[t]) bytes += sb_rows_used(into->batches[t]);
    }
    return bytes;
}

// States of groups grow without new groups.
static void relieve_groups(const SbTaskState *state) {
    const SbStage *stage = state->setup->stage;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        if (!(terminal & SB_TERMINAL_SINK) &&
            state->setup->job->breakers[terminal].kind == SB_BREAK_GROUP)
            sb_groups_relieve_if_short(state->terminals[t]);
    }
}

// Records of rejects count too, though they go elsewhere: the rows of a partition may all be bad.
static bool is_full(const SbTaskState *state, int64_t bytes) {
    int64_t made = bytes_made(state->into, state->setup) + state->into->rejects.bytes;
    return !state->again && made >= bytes;
}

// In the middle of a block of rows only partitions end that are worth it.
static int64_t cut_behind_row(const SbTaskState *state) {
    int64_t bytes = state->setup->partition_bytes;
    return bytes > ROW_BORDER_BYTES ? bytes : ROW_BORDER_BYTES;
}

void task_grew(SbTask *task) {
    bool eager = task->splits && task->state->setup->memory->eager;
    task->full |= is_full(task->state, eager ? EAGER_BORDER_BYTES : cut_behind_row(task->state));
}

void task_piece(SbTask *task, int64_t rows, int64_t next) {
    if (rows == 1) return;
    double row_bytes = (double)bytes_made(task->state->into, task->state->setup) /
                       (double)(rows - 1);
    task->full |= !task->state->again &&
                  row_bytes * (double)next > (double)cut_behind_row(task->state);
}

// How far the partition is, for who watches.
static void say_live(const SbTaskState *state) {
    const SbTask *task = &state->task;
    const Partition *into = state->into;
    int64_t judged = task->cursor - into->begin;
    int64_t made = state->setup->source ? task->made : judged;
    bool text = state->setup->stage->input == SB_INPUT_TEXT;
    atomic_store_explicit(&state->live->rows, made, memory_order_relaxed);
    atomic_store_explicit(&state->live->bytes, text ? judged : 0, memory_order_relaxed);
}

int32_t sb_task_border(SbTask *task) {
    if (task->state->live) say_live(task->state);
    if (__atomic_load_n(&task->cancel, __ATOMIC_RELAXED)) return true;
    if (task->state->probe.asking) return false;
    relieve_groups(task->state);
    return is_full(task->state, task->state->setup->partition_bytes);
}

static SbRows *open_batch(const TaskSetup *setup, uint32_t edge) {
    SbRows *rows = sb_rows_open(setup->memory, setup->job->breakers[edge].entry_bytes,
                                setup->partition_bytes);
    if (rows) rows->state->batch = batches_wanted(setup->job, edge);
    return rows;
}

static bool set_terminals(SbTaskState *state, uint32_t thread) {
    const TaskSetup *setup = state->setup;
    Partition *into = state->into;
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        uint32_t terminal = setup->stage->terminals[t];
        if (terminal & SB_TERMINAL_SINK) {
            state->terminals[t] = &into->outs[t];
        } else if (sb_is_edge(setup->job, terminal)) {
            into->batches[t] = into->spare[t];
            into->spare[t] = nullptr;
            if (!into->batches[t]) into->batches[t] = open_batch(setup, terminal);
            if (!into->batches[t]) return false;
            into->batches[t]->state->begin = state->handed[t];
            state->terminals[t] = into->batches[t];
        } else if (state->aside) {
            state->terminals[t] = sb_breaker_part(state->aside[t], 0);
        } else {
            state->terminals[t] = sb_breaker_part(setup->breakers[terminal], thread);
        }
        into->left[t] = into->quota[t];
    }
    return true;
}

// A stage that wants `need` bytes more gets them from the account, or waits.
static bool grant(SbTaskState *state) {
    SbTask *task = &state->task;
    if (task->need <= 0 || !sb_memory_charge(state->setup->memory, task->need)) return false;
    state->granted += task->need;
    task->need = 0;
    return true;
}

// What the partition holds now that the stage has returned.
static void finish_partition(SbTaskState *state) {
    const TaskSetup *setup = state->setup;
    const SbTask *task = &state->task;
    Partition *into = state->into;
    // A block's rows are counted at its end: this one has none.
    if (into->status == SB_STAGE_FAULT && state->stopped_at >= 0)
        into->counts[setup->source->step * SB_COUNTS + SB_MADE] =
            rows_before(state, state->stopped_at) + 1;
    into->stopped = task->stopped;
    into->end = task->cursor;
    into->failure = task->failure;
    if (into->status == SB_STAGE_DONE && state->unit.long_row.is && !task->stopped)
        reject_long_row(state);
    if (setup->source) into->made = into->counts[setup->source->step * SB_COUNTS + SB_MADE];
    into->last = into->status == SB_STAGE_DONE || into->status == SB_STAGE_FAULT;
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        const SbRows *rows = into->batches[t];
        into->rows[t] = rows ? rows->count : into->outs[t].rows;
        if (rows && rows->state->batch)
            state->handed[t] = (state->handed[t] + rows->count) % rows->state->batch;
    }
    into->used = bytes_made(into, setup);
    partition_trim_outs(into, setup);
    into->bytes = 0;
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        into->bytes += into->out_states[t].cap;
        if (into->batches[t]) into->bytes += sb_rows_bytes(into->batches[t]);
    }
}

// Did it end for lack of memory, and for no other reason?
static bool lacks_memory(const SbTaskState *state) {
    const Partition *into = state->into;
    const RejectList *rejects = &into->rejects;
    const SbFailure *failure = &into->failure;
    bool by_record = into->over || (rejects->count > 0 && rejects->items[rejects->count - 1].fails);
    bool no_room = failure->fault == SB_OK || (failure->fault == SB_FAULT_TOO_LARGE &&
                                               failure->site >= state->setup->job->site_count);
    return into->status == SB_STAGE_FAULT && no_room && (!by_record || into->starved);
}

static bool begins_unit(const SbTaskState *state) {
    const Partition *into = state->into;
    return state->records == 0 && into->begin == state->unit.begin && into->insides == 0;
}

static void run_stage(SbTaskState *state, uint32_t thread) {
    const TaskSetup *setup = state->setup;
    SbTask *task = &state->task;
    Partition *into = state->into;
    into->status = SB_STAGE_DONE;
    if (begins_unit(state) && state->long_file_count > 0 && !files_reject_long(state)) {
        into->status = SB_STAGE_FAULT;
        return;
    }
    do {
        into->status = state->probe.count > 0 ? probe_run(state, thread) : setup->stage->run(task);
        assert(into->status >= SB_STAGE_DONE && into->status <= SB_STAGE_FAULT);
    } while (into->status == SB_STAGE_NEED && grant(state));
    // Full after its last row: it would be resumed to find no more.
    if (into->status == SB_STAGE_FULL && task->cursor >= task->input.end)
        into->status = SB_STAGE_DONE;
    sb_hold_wait(&task->call);
    // A row whose values find no memory is no bad row: it may find some when it goes alone.
    into->starved = sb_scratch_take_denied(&task->call);
    if (state->results.scratch && sb_scratch_take_denied(&state->results)) into->starved = true;
    if (!into->starved && into->status != SB_STAGE_NEED) return;
    into->status = SB_STAGE_FAULT;
    task->failure = (SbFailure){UINT32_MAX, SB_FAULT_TOO_LARGE, task->order};
}

static void set_guard(SbTaskState *state) {
    const TaskSetup *setup = state->setup;
    SbGuard *guard = &state->guard;
    guard->all = setup->guards;
    guard->stage = setup->stage;
    guard->number = (uint32_t)(setup->stage - setup->job->stages);
    state->task.call.guard = guard_watches(guard) ? guard : nullptr;
}

int32_t task_run(SbTaskState *state, Partition *into, uint32_t thread) {
    const TaskSetup *setup = state->setup;
    SbTask *task = &state->task;
    state->into = into;
    sb_hold_begin(&task->call, &task->cancel);
    trouble_clear(&state->trouble);
    into->unit = state->unit;
    into->begin = task->cursor;
    into->order = task->order;
    into->records = state->records;
    into->insides = task->insides;
    memcpy(into->inside, task->inside, sizeof into->inside);
    state->held = task->call.hold;
    state->index.rows = 0;
    state->index.fault = SB_OK;
    state->index.rows_before = 0;
    state->stopped_at = -1;
    set_guard(state);
    task->limits = into->left;
    task->counts = into->counts;
    task->stopped = task->full = 0;
    task->failure = (SbFailure){0};
    if (!set_terminals(state, thread)) {
        trouble_set(&state->trouble, TROUBLE_MEMORY,
                    "stage '%.*s' needs more memory than --memory gives",
                    (int)setup->stage->label.len, setup->stage->label.ptr);
        into->last = into->lacks = true;
        return into->status = SB_STAGE_FAULT;
    }
    mark_breakers(state, thread);
    run_stage(state, thread);
    finish_partition(state);
    bool over = into->status != SB_STAGE_FULL && !kernel_goes_on(state);
    if (over || kernel_is_awaited(state)) kernel_end(state);
    sb_scratch_rewind(&task->call);
    into->lacks = lacks_memory(state);
    if (!into->lacks && !keep_breakers(state)) into->status = SB_STAGE_FAULT;
    return into->status;
}
