// Resume cut: what is known of a root's first units, on its way into the journal and back.
#include "runtime/resume/run.h"

#include <stdlib.h>
#include <string.h>

// ---- rejects ----------------------------------------------------------------------------------

bool tally_reject(UnitTally *tally, const Reject *reject) {
    reject_pack(&tally->rejects, reject);
    tally->reject_count++;
    return !tally->rejects.failed;
}

// ---- folding --------------------------------------------------------------------------------

// Where the next unit begins.
static void cut_units(const StageRun *run, const Unit *unit, StageCut *cut) {
    bool text = run->stage->input == SB_INPUT_TEXT;
    bool files = run->stage->input == SB_INPUT_FILES;
    bool stream = text && run->setup.files->files[unit->file].stream;
    cut->units = unit->ordinal + 1;
    cut->next = stream ? unit->next : unit->range_end;
    cut->sum = unit->sum;
    if (files) cut->file = (uint32_t)unit->range_end;
    else if (text) cut->file = unit->file;
    if (!text) return;
    cut->chain_begin = unit->next;
    cut->chain_lines = unit->next_lines;
    if (!unit->last) return;
    cut->file++;
    cut->next = 0;
}

// Rows and bytes of the files that the unit is of.
static bool cut_files(const StageRun *run, const UnitTally *tally, StageCut *cut) {
    const Source *source = run->setup.files;
    const Unit *unit = &tally->unit;
    if (!source || source->file_count == 0) return true;
    bool text = run->stage->input == SB_INPUT_TEXT;
    uint32_t end = text ? unit->file + 1 : (uint32_t)unit->range_end;
    if (end > cut->file_count) {
        FileCut *files = realloc(cut->files, end * sizeof *files);
        if (!files) return false;
        // A stream that is a header alone has no unit.
        for (uint32_t f = cut->file_count; f < end; f++)
            files[f] = (FileCut){.bytes = text && f < unit->file ? source->files[f].bytes : 0};
        cut->files = files;
        cut->file_count = end;
    }
    uint32_t first = (uint32_t)unit->range_begin;
    if (tally->part && !text) end = first + (uint32_t)tally->rows;
    for (uint32_t f = first; !text && f < end; f++)
        cut->files[f] = (FileCut){1, source->files[f].size};
    if (!text) return true;
    FileCut *file = &cut->files[unit->file];
    int64_t bytes = tally->part ? tally->end : unit->next;
    file->rows += tally->rows;
    if (bytes > file->bytes) file->bytes = bytes;
    if (unit->last && !tally->part) file->bytes = source->files[unit->file].size;
    return true;
}

bool cut_fold(const StageRun *run, RootLog *log, const UnitTally *tally, uint32_t figure_count) {
    StageCut *cut = &log->cut;
    cut_units(run, &tally->unit, cut);
    if (tally->reject_count > 0) {
        // Their rows are numbered within the unit.
        pack_number(&cut->rejects, cut->rows);
        pack_number(&cut->rejects, tally->reject_count);
    }
    cut->rows += tally->rows;
    for (uint32_t i = 0; i < figure_count; i++) cut->figures[i] += tally->figures[i];
    sb_text_add(&cut->rejects, tally->rejects.ptr, tally->rejects.len);
    cut->reject_count += tally->reject_count;
    const InputBlock *block = &tally->block;
    if (block->len > 0) sb_text_add(&cut->blocks, (const char *)block, sizeof *block);
    return cut_files(run, tally, cut) && !cut->rejects.failed && !cut->blocks.failed;
}

// ---- the way back -----------------------------------------------------------------------------

static const StageCut *cut_of(const Resume *resume, uint32_t root) {
    const StageCut *cut = resume && resume->roots ? &resume->state.stages[root] : nullptr;
    return cut && cut->is && resume->roots[root].goes_on ? cut : nullptr;
}

void resume_units(const StageRun *run, UnitsStart *start) {
    const StageCut *cut = cut_of(run->job->resume, run->index);
    // Over edges units are numbered as they come.
    if (run->job->resume) start->ordinal = run->job->resume->state.ordinals[run->index];
    if (!cut) return;
    *start = (UnitsStart){.ordinal = cut->units, .file = cut->file, .next = cut->next,
                          .sum = cut->sum,
                          .chain_begin = cut->chain_begin, .chain_lines = cut->chain_lines};
}

// The figures of steps and of edges are those of the stages that count them.
static void restore_figures(Resume *resume, StageRun *runs, uint32_t root, const Limits *limits,
                            const int64_t *figures) {
    const SbJob *what = resume->what;
    for (uint32_t i = 0; i < sb_figure_count(what); i++)
        runs[root].counts[i] += figures[i];
    const int64_t *passed = figures + resume->state.passed_at;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        for (uint32_t t = 0; t < what->stages[s].terminal_count; t++, passed++) {
            uint32_t edge = runs[s].edges[t];
            bool here = edge != EDGE_NONE && !limits_count_taken(limits, edge);
            if (here) resume->edges[edge].rows += *passed;
        }
    }
}

static void restore_source(Resume *resume, StageRun *run, const StageCut *cut) {
    if (run->stage->input == SB_INPUT_UNMATCHED)
        run->rows += cut->figures[resume->state.taken_at + run->index];
    if (run->stage->input == SB_INPUT_UNMATCHED || run->stage->input == SB_INPUT_ROWS) return;
    Source *source = &resume->sources[run->stage->input_index];
    for (uint32_t f = 0; f < cut->file_count && f < source->file_count; f++) {
        source->files[f].rows = cut->files[f].rows;
        source->files[f].bytes = cut->files[f].bytes;
        atomic_fetch_add(&resume->progress->bytes, cut->files[f].bytes);
    }
    atomic_fetch_add(&resume->progress->rows, cut->rows);
}

// The cut as it goes on from what is committed.
static bool copy_cut(RootLog *log, const StageCut *from, uint32_t figure_count) {
    StageCut *cut = &log->cut;
    FileCut *files = malloc(((size_t)from->file_count + 1) * sizeof *files);
    cut->figures = calloc((size_t)figure_count + 1, sizeof *cut->figures);
    cut->files = files;
    if (!files || !cut->figures) return false;
    if (!from->is) return true;
    *cut = (StageCut){.units = from->units, .file = from->file, .next = from->next,
                      .sum = from->sum,
                      .chain_begin = from->chain_begin, .chain_lines = from->chain_lines,
                      .rows = from->rows, .figures = cut->figures, .files = files,
                      .file_count = from->file_count};
    memcpy(cut->figures, from->figures, figure_count * sizeof *cut->figures);
    if (from->file_count > 0) memcpy(files, from->files, from->file_count * sizeof *files);
    log->begun = log->taken = log->committed = from->units;
    log->file_from = from->file_count > 0 ? from->file_count - 1 : 0;
    return true;
}

bool cut_restore(Resume *resume, StageRun *runs, uint32_t root, const Limits *limits) {
    const StageCut *cut = &resume->state.stages[root];
    if (!copy_cut(&resume->roots[root], cut, resume->state.figure_count)) return false;
    if (!cut->is) return true;
    restore_figures(resume, runs, root, limits, cut->figures);
    restore_source(resume, &runs[root], cut);
    runs[root].launched = cut->units;
    return true;
}

// One record at a time, since the memory may hold few of them.
bool cut_restore_records(Resume *resume, uint32_t root, Verdict *verdict) {
    const Text *rejects = &resume->state.stages[root].rejects;
    Unpack from = {rejects->ptr, rejects->ptr + rejects->len, false};
    RejectList record = {.memory = resume->memory};
    bool good = true;
    while (good && from.at < from.end) {
        int64_t row = unpack_number(&from), count = unpack_number(&from);
        for (int64_t i = 0; i < count && good; i++) {
            good = reject_unpack(resume->what, resume->sources, &from, &record);
            if (good) record.items[0].row += row;
            good = good && verdict_restore(verdict, &record, root);
            if (!good || !verdict_is_full(verdict)) continue;
            RejectList list = verdict_begin_write(verdict);
            good = reject_set_write(&verdict->records, &list);
            verdict_end_write(verdict);
        }
    }
    rejects_close(&record);
    return good && !from.bad;
}
