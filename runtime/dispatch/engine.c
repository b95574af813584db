// Engine: all stages of a job, run by a dispatch from the first to the last.
#include "runtime/dispatch.h"

#include <stdlib.h>

static StageRun *open_runs(Job *job, const Observers *observers) {
    StageRun *runs = calloc(job->ask.what->stage_count + 1, sizeof *runs);
    bool good = runs || trouble_no_memory(&job->trouble, "for the stages");
    for (uint32_t s = 0; good && s < job->ask.what->stage_count; s++)
        good = stage_prepare(&runs[s], job, s);
    for (uint32_t s = 0; good && s < job->ask.what->stage_count; s++)
        tell_prepare(observers, &runs[s]);
    return runs;
}

static void close_runs(const Job *job, StageRun *runs) {
    for (uint32_t s = 0; runs && s < job->ask.what->stage_count; s++)
        if (runs[s].job) stage_finish(&runs[s]);
    free(runs);
    states_close(job->ask.what, nullptr);
}

static void set_dispatch(Job *job, Dispatch *dispatch) {
    pthread_mutex_lock(&job->stop.engine_lock);
    job->stop.dispatch = dispatch;
    pthread_mutex_unlock(&job->stop.engine_lock);
}

void engine_wake(Job *job) {
    pthread_mutex_lock(&job->stop.engine_lock);
    if (job->stop.dispatch) dispatch_wake(job->stop.dispatch);
    pthread_mutex_unlock(&job->stop.engine_lock);
}

bool engine_manage(Job *job, const Command *command, Text *answer, Trouble *trouble) {
    pthread_mutex_lock(&job->stop.engine_lock);
    Dispatch *d = job->stop.dispatch;
    bool good = d ? dispatch_manage(d, command, answer, trouble)
                  : trouble_set(trouble, TROUBLE_CONTROL,
                                "the job has not begun, or is at its end");
    pthread_mutex_unlock(&job->stop.engine_lock);
    return good;
}

static bool run(Job *job, StageRun *runs, const Observers *observers) {
    Dispatch *dispatch = dispatch_open(job, runs, observers);
    if (!dispatch) return false;
    set_dispatch(job, dispatch);
    bool good = dispatch_run(dispatch);
    set_dispatch(job, nullptr);
    dispatch_close(dispatch);
    return good;
}

// What the stages counted.
static void gather(Job *job, const StageRun *runs) {
    for (uint32_t s = 0; s < job->ask.what->stage_count; s++) {
        const StageRun *run = &runs[s];
        for (uint32_t i = 0; i < sb_figure_count(job->ask.what); i++)
            job->figures.counts[i] += run->counts[i];
        if (run->stage->input == SB_INPUT_UNMATCHED)
            job->breakers.unmatched_rows[run->stage->input_index] = run->rows;
    }
}

bool engine_run(Job *job, const Observers *observers) {
    StageRun *runs = open_runs(job, observers);
    bool opened = runs && job->trouble.kind == TROUBLE_NONE;
    bool good = opened && run(job, runs, observers);
    tell_stop(observers);
    if (opened) gather(job, runs);
    close_runs(job, runs);
    return good && job->trouble.kind == TROUBLE_NONE;
}
