#include "runtime/job/filters.h"

#include "runtime/breakers.h"

// Text that is compressed is some three times as long.
enum : int64_t { UNPACKED_TIMES = 3, NUMBER_BYTES = 8 };

// The bytes of the files that a stage reads. -1: some are no plain files.
static int64_t file_bytes(const Source *source) {
    int64_t bytes = 0;
    if (!source_reads_again(source)) return -1;
    for (uint32_t i = 0; i < source->file_count; i++) {
        const SourceFile *file = &source->files[i];
        bool packed = compression_of(file->path) != COMPRESSION_NONE;
        bytes += (int64_t)file->about.st_size * (packed ? UNPACKED_TIMES : 1);
    }
    return bytes;
}

// About how many bytes come into the stage. -1: who knows.
static int64_t bytes_in(const StageRun *run) {
    if (!stage_is_open(run) || sb_reads_edge(run->job->ask.what, run->stage)) return -1;
    if (run->stage->input == SB_INPUT_TEXT || run->stage->input == SB_INPUT_FILES)
        return file_bytes(run->setup.files);
    int64_t row = run->stage->row_bytes > NUMBER_BYTES ? run->stage->row_bytes : NUMBER_BYTES;
    int64_t rows = run->stage->input == SB_INPUT_RANGE ? run->setup.files->range_count
                                                      : run->units.what.entry_count;
    return rows > INT64_MAX / row ? INT64_MAX : rows * row;
}

// The breaker that terminal `t` feeds, if its rows may be left out by a stage that can be asked.
// UINT32_MAX: it feeds none.
static uint32_t sought_by(const StageRun *runs, const StageRun *fills, uint32_t t) {
    const Job *job = fills->job;
    uint32_t breaker = fills->stage->terminals[t];
    if (breaker & SB_TERMINAL_SINK) return UINT32_MAX;
    const SbBreaker *what = &job->ask.what->breakers[breaker];
    if (what->kind != SB_BREAK_JOIN || what->asker == UINT32_MAX) return UINT32_MAX;
    if (!job->breakers.states[breaker] || job->breakers.filters[breaker]) return UINT32_MAX;
    const StageRun *asker = &runs[what->asker];
    bool pays = job->machine.memory.eager || key_filter_pays(bytes_in(asker), bytes_in(fills));
    return pays && stage_is_open(asker) && bytes_in(asker) >= 0 ? breaker : UINT32_MAX;
}

bool filters_pay(const StageRun *runs, const StageRun *fills) {
    bool pays = false;
    for (uint32_t t = 0; t < fills->stage->terminal_count; t++)
        pays |= sought_by(runs, fills, t) != UINT32_MAX;
    return pays;
}

void filters_open(const StageRun *runs, const StageRun *fills, SbParallel *parallel) {
    Job *job = fills->job;
    for (uint32_t t = 0; t < fills->stage->terminal_count; t++) {
        uint32_t breaker = sought_by(runs, fills, t);
        if (breaker == UINT32_MAX) continue;
        const StageRun *asker = &runs[job->ask.what->breakers[breaker].asker];
        KeyFilterSetup what = {&asker->setup, &asker->units.what, &job->stop.cancel,
                               job_breaker_memory(job, breaker), breaker, job->breakers.lanes};
        KeyFilter *filter = key_filter_open(&what, parallel);
        if (!filter) continue;
        job->breakers.filters[breaker] = filter;
        sb_breaker_leave_out(job->breakers.states[breaker], &filter->filter);
    }
}

void filters_close(Job *job, uint32_t breaker) {
    if (!job->breakers.filters[breaker]) return;
    SbBreakerState *state = job->breakers.states[breaker];
    job->breakers.left_out[breaker] += sb_breaker_leave_out(state, nullptr);
    key_filter_close(job->breakers.filters[breaker]);
    job->breakers.filters[breaker] = nullptr;
}
