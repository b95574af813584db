// Resume show: whether a job can go on, for --journal=DIR and --check.
#include "runtime/output.h"
#include "runtime/resume/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void print_state(const Resume *resume) {
    const ResumeState *state = &resume->state;
    Text text = {0};
    for (uint32_t s = 0; s < resume->what->stage_count; s++) {
        if (sb_reads_edge(resume->what, &resume->what->stages[s])) continue;
        describe_stage(resume, s, &text);
        printf("stage %.*s\n", (int)text.len, text.ptr);
    }
    for (uint32_t s = 0; s < resume->what->sink_count; s++) {
        const SbStr path = resume->setup->sink_paths[s], shape = resume->what->sinks[s].shape;
        const SinkState *sink = &state->sinks[s];
        text.len = 0;
        describe_rows(&text, sink->is ? sink->place.rows : 0, "row");
        sb_text_str(&text, ", ");
        describe_rows(&text, sink->is ? sink->place.bytes : 0, "byte");
        printf("output '%.*s%.*s': %.*s safe\n", (int)path.len, path.ptr, (int)shape.len,
               shape.ptr ? shape.ptr : "", (int)text.len, text.ptr);
    }
    sb_text_close(&text);
}

// The journal is read where it lies; the job that it is of may be at work.
static bool read_unlocked(Job *job, const char *folder) {
    Resume *resume = job->resume;
    size_t len = strlen(folder);
    resume->journal.folder = strdup(folder);
    resume->journal.path = malloc(len + sizeof "/journal");
    if (!resume->journal.folder || !resume->journal.path)
        return journal_no_memory(&job->trouble);
    snprintf(resume->journal.path, len + sizeof "/journal", "%s/journal", folder);
    return resume_read(job);
}

// Is it a device or a pipe? Then nothing of it is in a journal, and opening it may wait.
static bool is_stream(SbStr path) {
    struct stat is;
    char *name = strndup(path.ptr ? path.ptr : "", (size_t)path.len);
    if (!name) return true;
    bool stream = strcmp(name, "-") == 0 ||
                  (stat(name, &is) == 0 && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode));
    free(name);
    return stream;
}

// Can outputs be gone on with, or begun?
static bool look_at_sinks(const JobAsk *ask, const Resume *resume) {
    bool good = true;
    for (uint32_t s = 0; good && s <= ask->what->sink_count; s++) {
        SinkSetup setup = job_sink_setup(ask, s);
        bool none = s == ask->what->sink_count && setup.path.len == 0;
        if (none || is_stream(setup.path)) continue;
        setup.tag = resume_tag(resume);
        setup.from = resume_place(resume, s);
        Sink sink;
        good = sink_check(&sink, &setup, resume->trouble) &&
               sink_log_look(&sink, &setup, resume->trouble);
        sink_close(&sink);
    }
    return good;
}

static bool is_publishing(const Resume *resume) {
    const ResumeState *state = &resume->state;
    return state->publish.ptr && !state->done;
}

bool resume_made(const Job *job) {
    return job->resumed && job->resume->state.publish.ptr;
}

bool resume_peek(Job *job, const char *folder) {
    resume_close(job);
    return resume_make(job) && read_unlocked(job, folder);
}

bool resume_look(Job *job, const char *folder, bool (*open)(Job *job)) {
    if (!resume_peek(job, folder)) return false;
    bool done = job->resume->state.done;
    if (!job->resumed || is_publishing(job->resume)) return true;
    bool opened = !open || open(job);
    if (!opened && !done) return false;
    if (!opened) trouble_clear(&job->trouble);
    if (opened && !resume_same(job->resume, true)) return false;
    return done ? resume_check_outputs(job) : look_at_sinks(&job->ask, job->resume);
}

static bool look(Job *job, bool (*open)(Job *job)) {
    const char *folder = job->ask.options.journal;
    if (!resume_look(job, folder, open)) return false;
    bool goes_on = job->resumed && !job->resume->state.done && !is_publishing(job->resume);
    if (goes_on && !resume_groups_open(job->resume))
        return journal_no_memory(&job->trouble);
    if (job->resumed) return true;
    trouble_set(&job->trouble, TROUBLE_JOURNAL_FOLDER, "there is no journal in '%s'", folder);
    trouble_fix(&job->trouble, "give the folder of a run with --resume=DIR: --journal=DIR");
    return false;
}

int resume_show(Job *job, bool (*open)(Job *job)) {
    if (!look(job, open)) {
        printf("it cannot be resumed:\n");
        fflush(stdout);
        log_trouble(&job->log, &job->trouble);
        return trouble_exit_code(&job->trouble);
    }
    bool done = job->resume->state.done;
    if (done) printf("the job is finished\n");
    else if (is_publishing(job->resume))
        printf("all rows are made; the outputs are being published\n");
    else print_state(job->resume);
    printf(done ? "nothing is left to do\n" : "it can be resumed\n");
    return 0;
}
