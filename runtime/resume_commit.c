// Resume commit: when a stage's rows are marked, and how marks get into the journal.
#include "runtime/failpoint.h"
#include "runtime/resume_run.h"

#include <stdlib.h>
#include <string.h>

enum : int64_t { COMMIT_BYTES = 64 << 20, COMMIT_NS = 1000000000, CHECKPOINT_BYTES = 64 << 20 };

// ---- which stages go on -----------------------------------------------------------------------

static uint32_t count_feeders(const SbJob *what, uint32_t terminal) {
    uint32_t feeders = 0;
    for (uint32_t s = 0; s < what->stage_count; s++)
        for (uint32_t t = 0; t < what->stages[s].terminal_count; t++)
            feeders += what->stages[s].terminals[t] == terminal;
    return feeders;
}

static bool leaves_marks(const SbJob *what, const SbStage *stage) {
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *other = &what->stages[s];
        for (uint32_t n = 0; other->input == SB_INPUT_UNMATCHED && n < stage->need_count; n++)
            if (stage->needs[n] == other->input_index) return true;
    }
    return false;
}

bool resume_goes_on(const Job *job, const SbStage *stage) {
    bool source = stage->input == SB_INPUT_TEXT || stage->input == SB_INPUT_RANGE ||
                  stage->input == SB_INPUT_RECORDS;
    if (!source || stage->terminal_count == 0 || leaves_marks(job->what, stage)) return false;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        bool sink = terminal & SB_TERMINAL_SINK;
        if (!sink || job->sinks[terminal & ~SB_TERMINAL_SINK].to_stream) return false;
        if (count_feeders(job->what, terminal) > 1) return false;
    }
    const Source *files = &job->sources[stage->input_index];
    for (uint32_t f = 0; stage->input == SB_INPUT_TEXT && f < files->file_count; f++)
        if (files->files[f].stream) return false;
    return true;
}

// ---- marks ------------------------------------------------------------------------------------

// The sink that terminal `t` is, if it has a journal.
static Sink *sink_of(const Job *job, const StageLog *log, uint32_t t) {
    uint32_t terminal = log->stage->terminals[t];
    if (!(terminal & SB_TERMINAL_SINK)) return nullptr;
    Sink *sink = &job->sinks[terminal & ~SB_TERMINAL_SINK];
    return sink->log ? sink : nullptr;
}

static bool is_due(const Job *job, const StageLog *log) {
    int64_t bytes = 0;
    for (uint32_t t = 0; t < log->stage->terminal_count; t++) {
        const Sink *sink = sink_of(job, log, t);
        if (sink) bytes += sink->bytes;
    }
    return job->resume->always || bytes - log->last_bytes >= COMMIT_BYTES ||
           log_clock_ns() - log->last_ns >= COMMIT_NS || atomic_load(&job->drain);
}

static bool drop_marks(const Job *job, StageLog *log, Trouble *trouble) {
    bool good = true;
    for (uint32_t t = 0; t < log->stage->terminal_count; t++) {
        if (log->marked[t]) good &= sink_mark_close(sink_of(job, log, t), &log->marks[t], trouble);
        log->marked[t] = false;
    }
    return good;
}

static bool take_marks(const Job *job, StageLog *log) {
    bool any = false;
    log->last_bytes = 0;
    for (uint32_t t = 0; t < log->stage->terminal_count; t++) {
        Sink *sink = sink_of(job, log, t);
        if (!sink) continue;
        log->marked[t] = sink_mark(sink, &log->marks[t]);
        log->last_bytes += sink->bytes;
        any |= log->marked[t];
        // A sink without bytes begins anew, which is where its stage has to begin then.
        if (log->marked[t] || !log->goes_on || sink->bytes == 0) continue;
        Trouble ignored = {0};
        drop_marks(job, log, &ignored);
        return false;
    }
    log->last_ns = log_clock_ns();
    return any || log->goes_on;
}

void resume_set_state(Resume *resume, StageLog *log, PendingState state) {
    pthread_mutex_lock(&resume->lock);
    if (state == PENDING_READY) atomic_fetch_add(&resume->ready, 1);
    log->state = state;
    pthread_mutex_unlock(&resume->lock);
}

void resume_offered(StageRun *run, const Partition *partition) {
    Resume *resume = run->job->resume;
    if (!resume || !resume->logs || partition->trouble.kind != TROUBLE_NONE) return;
    StageLog *log = &resume->logs[run->index];
    bool ends = partition->last && partition->status == SB_STAGE_DONE && !partition->stopped;
    bool fits = log->goes_on ? ends : partition->status != SB_STAGE_FAULT;
    pthread_mutex_lock(&resume->lock);
    bool idle = log->state == PENDING_NONE;
    pthread_mutex_unlock(&resume->lock);
    if (!fits || !idle || !is_due(run->job, log) || !take_marks(run->job, log)) return;
    log->unit = partition->unit.ordinal;
    resume_set_state(resume, log, log->goes_on ? PENDING_MARKED : PENDING_READY);
}

// ---- commits ----------------------------------------------------------------------------------

// New parts of all marks, one behind the other. nullptr: no memory.
static SinkPartPlace *list_parts(const Job *job, const StageLog *log, CommitSink *sinks,
                                 uint32_t *count) {
    uint64_t parts = 0;
    for (uint32_t t = 0; t < log->stage->terminal_count; t++)
        if (log->marked[t]) parts += log->marks[t].place.part - log->part_from[t];
    SinkPartPlace *places = malloc((size_t)(parts + 1) * sizeof *places), *at = places;
    for (uint32_t t = 0; places && t < log->stage->terminal_count; t++) {
        if (!log->marked[t]) continue;
        const SinkPlace *place = &log->marks[t].place;
        sinks[(*count)++] = (CommitSink){log->stage->terminals[t] & ~SB_TERMINAL_SINK, place,
                                         log->part_from[t], at};
        for (uint32_t p = log->part_from[t]; p < place->part; p++)
            *at++ = sink_part_place(sink_of(job, log, t), p);
    }
    return places;
}

static bool write_commit(Job *job, const Commit *commit, Trouble *trouble) {
    Resume *resume = job->resume;
    Text text = {0};
    commit_pack(commit, resume->state.figure_count, &text);
    pthread_mutex_lock(&resume->writing);
    bool good = !text.failed && state_fold(&resume->state, text.ptr, text.len);
    if (!good) trouble_set(trouble, TROUBLE_MEMORY, "no memory for the journal");
    else if (resume->journal.at > CHECKPOINT_BYTES + text.len)
        good = state_write(&resume->state, job->what, &resume->journal, trouble);
    else
        good = journal_append(&resume->journal, RECORD_COMMIT, text.ptr, text.len, trouble);
    pthread_mutex_unlock(&resume->writing);
    sb_text_close(&text);
    return good;
}

static void note_committed(StageLog *log) {
    for (uint32_t t = 0; t < log->stage->terminal_count; t++)
        if (log->marked[t]) log->part_from[t] = log->marks[t].place.part;
    if (!log->goes_on) return;
    log->reject_from += log->cut.reject_count;
    log->file_from = log->cut.file_count > 0 ? log->cut.file_count - 1 : 0;
}

static bool commit_marks(Job *job, StageLog *log, Trouble *trouble) {
    uint32_t terminals = log->stage->terminal_count;
    for (uint32_t t = 0; t < terminals; t++) {
        if (!log->marked[t]) continue;
        if (!sink_mark_sync(sink_of(job, log, t), &log->marks[t], trouble)) return false;
        log->marks[t].place.replays = !log->goes_on;
    }
    failpoint("commit-synced");
    CommitSink *sinks = calloc(terminals + 1, sizeof *sinks);
    Commit commit = {.stage = log->index, .cut = log->goes_on ? &log->cut : nullptr,
                     .file_from = log->file_from, .reject_count = log->cut.reject_count,
                     .rejects = {log->cut.rejects.ptr, log->cut.rejects.len}, .sinks = sinks};
    SinkPartPlace *parts = sinks ? list_parts(job, log, sinks, &commit.sink_count) : nullptr;
    bool good = parts ? write_commit(job, &commit, trouble)
                      : trouble_set(trouble, TROUBLE_MEMORY, "no memory for the journal");
    if (good) note_committed(log);
    free(parts);
    free(sinks);
    failpoint("committed");
    return good;
}

static bool is_written(const Job *job, const StageLog *log) {
    for (uint32_t t = 0; t < log->stage->terminal_count; t++)
        if (log->marked[t] && !sink_mark_written(sink_of(job, log, t), &log->marks[t]))
            return false;
    return true;
}

// One that can be committed, from now on this thread's; nullptr: none.
static StageLog *take_log(Job *job) {
    Resume *resume = job->resume;
    StageLog *found = nullptr;
    pthread_mutex_lock(&resume->lock);
    for (uint32_t s = 0; !found && s < resume->log_count; s++) {
        StageLog *log = &resume->logs[s];
        if (log->state != PENDING_READY || !is_written(job, log)) continue;
        log->state = PENDING_BUSY;
        atomic_fetch_sub(&resume->ready, 1);
        found = log;
    }
    pthread_mutex_unlock(&resume->lock);
    return found;
}

bool resume_written(Job *job, Trouble *trouble) {
    Resume *resume = job->resume;
    if (!resume || atomic_load(&resume->ready) == 0) return true;
    bool good = true;
    for (StageLog *log; good && (log = take_log(job));) {
        good = commit_marks(job, log, trouble);
        good = drop_marks(job, log, trouble) && good;
        // After a failure no other commit of the stage is tried.
        if (good) resume_set_state(resume, log, PENDING_NONE);
    }
    return good;
}

// ---- the logs ---------------------------------------------------------------------------------

bool resume_logs_open(Job *job) {
    Resume *resume = job->resume;
    resume->logs = calloc(job->what->stage_count + 1, sizeof *resume->logs);
    if (!resume->logs) return false;
    resume->log_count = job->what->stage_count;
    for (uint32_t s = 0; s < resume->log_count; s++) {
        StageLog *log = &resume->logs[s];
        uint32_t terminals = job->what->stages[s].terminal_count;
        log->stage = &job->what->stages[s];
        log->index = s;
        log->goes_on = resume_goes_on(job, log->stage);
        log->last_ns = log_clock_ns();
        log->marks = calloc(terminals + 1, sizeof *log->marks);
        log->marked = calloc(terminals + 1, sizeof *log->marked);
        log->part_from = calloc(terminals + 1, sizeof *log->part_from);
        if (!log->marks || !log->marked || !log->part_from) return false;
        for (uint32_t t = 0; t < terminals; t++) {
            uint32_t sink = log->stage->terminals[t] & ~SB_TERMINAL_SINK;
            const SinkPlace *place = sink_of(job, log, t) ? resume_place(job, sink) : nullptr;
            if (!place) continue;
            log->part_from[t] = place->part;
            log->last_bytes += place->bytes;
        }
    }
    return true;
}

void resume_logs_close(Job *job) {
    Resume *resume = job->resume;
    for (uint32_t s = 0; s < resume->log_count; s++) {
        StageLog *log = &resume->logs[s];
        Trouble ignored = {0};
        if (log->marked) drop_marks(job, log, &ignored);
        free(log->marks);
        free(log->marked);
        free(log->part_from);
        free(log->cut.counts);
        free(log->cut.files);
        sb_text_close(&log->cut.rejects);
    }
    free(resume->logs);
    resume->logs = nullptr;
    resume->log_count = 0;
}
