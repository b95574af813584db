// Resume cut: the state of a stage between two units, on its way into the journal and back.
#include "runtime/resume_run.h"

#include <stdlib.h>
#include <string.h>

// ---- rejects ----------------------------------------------------------------------------------

static void pack_reject(Text *text, const Reject *reject) {
    pack_number(text, reject->behind | reject->has_place << 1 | reject->has_line << 2 |
                          (reject->path != nullptr) << 3);
    pack_number(text, reject->source);
    pack_number(text, reject->file);
    pack_number(text, reject->step);
    pack_number(text, (int64_t)reject->sequence);
    pack_number(text, reject->offset);
    pack_number(text, reject->length);
    pack_number(text, reject->line);
    pack_number(text, reject->row);
    pack_number(text, reject->weight);
    pack_number(text, reject->site);
    pack_number(text, reject->fault);
    pack_bytes(text, reject->message, reject->message_len);
    pack_bytes(text, reject->raw, reject->raw_len);
}

static bool unpack_reject(const Job *job, Unpack *from, RejectList *list) {
    Reject reject = {0};
    int64_t is = unpack_number(from);
    reject.behind = is & 1;
    reject.has_place = is & 2;
    reject.has_line = is & 4;
    reject.source = (uint32_t)unpack_number(from);
    reject.file = (uint32_t)unpack_number(from);
    reject.step = (uint32_t)unpack_number(from);
    reject.sequence = (uint64_t)unpack_number(from);
    reject.offset = unpack_number(from);
    reject.length = unpack_number(from);
    reject.line = unpack_number(from);
    reject.row = unpack_number(from);
    reject.weight = unpack_number(from);
    reject.site = (uint32_t)unpack_number(from);
    reject.fault = (int32_t)unpack_number(from);
    SbStr message = unpack_bytes(from), raw = unpack_bytes(from);
    if (from->bad || reject.step >= job->what->step_count) return false;
    if (is & 8) {
        if (reject.source >= job->what->source_count) return false;
        const Source *source = &job->sources[reject.source];
        if (reject.file >= source->file_count) return false;
        reject.path = source->files[reject.file].path;
    }
    reject.message = (char *)(uintptr_t)message.ptr;
    reject.message_len = message.len;
    reject.raw = (char *)(uintptr_t)raw.ptr;
    reject.raw_len = raw.len;
    return rejects_copy(list, &reject);
}

// ---- cuts -------------------------------------------------------------------------------------

// Where the next unit begins.
static void cut_units(StageRun *run, const Unit *unit, StageCut *cut) {
    bool text = run->stage->input == SB_INPUT_TEXT;
    bool files = run->setup.files && run->setup.files->what->format == SB_FILES;
    cut->units = unit->ordinal + 1;
    cut->next = unit->range_end;
    if (files) cut->file = (uint32_t)unit->range_end;
    else if (text) cut->file = unit->file;
    if (!text) return;
    cut->chain_begin = unit->next;
    cut->chain_lines = unit->next_lines;
    const SourceFile *file = &run->setup.files->files[unit->file];
    cut->known_offset = file->known_offset;
    cut->known_lines = file->known_lines;
    if (!unit->last) return;
    cut->file++;
    cut->next = cut->known_offset = cut->known_lines = 0;
}

static bool cut_files(StageRun *run, StageCut *cut) {
    const Source *source = run->setup.files;
    uint32_t count = source ? cut->file + 1 : 0;
    if (source && count > source->file_count) count = source->file_count;
    FileCut *files = realloc(cut->files, ((size_t)count + 1) * sizeof *files);
    if (!files) return false;
    for (uint32_t f = cut->file_count; f < count; f++) files[f] = (FileCut){0};
    cut->files = files;
    cut->file_count = count;
    return true;
}

bool resume_settled(StageRun *run, const Partition *partition, Trouble *trouble) {
    Resume *resume = run->job->resume;
    if (!resume || !resume->logs) return true;
    StageLog *log = &resume->logs[run->index];
    pthread_mutex_lock(&resume->lock);
    bool mine = log->state == PENDING_MARKED && partition->last &&
                partition->unit.ordinal == log->unit;
    pthread_mutex_unlock(&resume->lock);
    if (!mine) return resume_written(run->job, trouble);
    StageCut *cut = &log->cut;
    const RejectList *rejects = &run->rejects;
    size_t bytes = resume->state.figure_count * sizeof *cut->counts;
    if (!cut->counts) cut->counts = malloc(bytes + 1);
    cut_units(run, &partition->unit, cut);
    if (!cut->counts || !cut_files(run, cut))
        return trouble_set(trouble, TROUBLE_MEMORY, "no memory for the journal");
    memcpy(cut->counts, run->counts, bytes);
    for (uint32_t f = log->file_from; f < cut->file_count; f++) {
        const SourceFile *file = &run->setup.files->files[f];
        cut->files[f] = (FileCut){file->rows, file->bytes};
    }
    cut->rows = run->rows;
    cut->rejects.len = 0;
    cut->reject_count = rejects->count - log->reject_from;
    for (uint32_t i = log->reject_from; i < rejects->count; i++)
        pack_reject(&cut->rejects, &rejects->items[i]);
    if (cut->rejects.failed)
        return trouble_set(trouble, TROUBLE_MEMORY, "no memory for the journal");
    resume_set_state(resume, log, PENDING_READY);
    return resume_written(run->job, trouble);
}

// ---- the way back -----------------------------------------------------------------------------

static const StageCut *cut_of(const StageRun *run) {
    const Resume *resume = run->job->resume;
    const StageCut *cut = resume && resume->logs ? &resume->state.stages[run->index] : nullptr;
    return cut && cut->is && resume->logs[run->index].goes_on ? cut : nullptr;
}

bool resume_stage(StageRun *run, Trouble *trouble) {
    const StageCut *cut = cut_of(run);
    if (!cut) return true;
    Job *job = run->job;
    StageLog *log = &job->resume->logs[run->index];
    memcpy(run->counts, cut->counts, job->resume->state.figure_count * sizeof *run->counts);
    run->rows = run->made = cut->rows;
    Unpack from = {cut->rejects.ptr, cut->rejects.ptr + cut->rejects.len, false};
    bool good = true;
    for (uint32_t i = 0; good && i < cut->reject_count; i++)
        good = unpack_reject(job, &from, &run->rejects);
    if (!good)
        return trouble_set(trouble, TROUBLE_MEMORY, "no memory for the rejects of the journal");
    run->weight = run->rejects.weight;
    Source *source = &job->sources[run->stage->input_index];
    for (uint32_t f = 0; f < cut->file_count && f < source->file_count; f++) {
        source->files[f].rows = cut->files[f].rows;
        source->files[f].bytes = cut->files[f].bytes;
        atomic_fetch_add(&job->progress.bytes, cut->files[f].bytes);
    }
    atomic_fetch_add(&job->progress.rows, cut->rows);
    if (cut->file < source->file_count) {
        source->files[cut->file].known_offset = cut->known_offset;
        source->files[cut->file].known_lines = cut->known_lines;
    }
    log->reject_from = run->rejects.count;
    log->file_from = cut->file_count > 0 ? cut->file_count - 1 : 0;
    FileCut *files = malloc(((size_t)cut->file_count + 1) * sizeof *files);
    if (!files) return trouble_set(trouble, TROUBLE_MEMORY, "no memory for the journal");
    if (cut->file_count > 0) memcpy(files, cut->files, cut->file_count * sizeof *files);
    log->cut.files = files;
    log->cut.file_count = cut->file_count;
    return true;
}

void resume_units(const StageRun *run, UnitsStart *start) {
    const StageCut *cut = cut_of(run);
    if (!cut) return;
    *start = (UnitsStart){.ordinal = cut->units, .file = cut->file, .next = cut->next,
                          .chain_begin = cut->chain_begin, .chain_lines = cut->chain_lines};
}
