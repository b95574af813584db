// Resume show: what a journal says is done, for a job that goes on and for --journal=DIR.
#include "runtime/output.h"
#include "runtime/resume/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add_rows(Text *text, int64_t rows, const char *what) {
    sb_text_add_figure(text, rows);
    sb_text_format(text, " %s%s", what, rows == 1 ? "" : "s");
}

// Files that the stage reads.
static bool has_files(const Job *job, const SbStage *stage) {
    bool rows = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
    return !rows && job->sources[stage->input_index].file_count > 0;
}

// "at byte 12,345 of 'in.csv'"
static void add_position(const Job *job, const SbStage *stage, const StageCut *cut, Text *text) {
    bool files = has_files(job, stage);
    const Source *source = files ? &job->sources[stage->input_index] : nullptr;
    if (files && cut->file >= source->file_count) {
        sb_text_str(text, "at the end of its input");
    } else if (files && stage->input == SB_INPUT_TEXT) {
        sb_text_str(text, "at byte ");
        sb_text_add_figure(text, cut->next);
        const SourceFile *file = &source->files[cut->file];
        sb_text_format(text, " of %s'%s'", file->stream ? "the text of " : "", file->path);
        if (file->stream && cut->next > 0) sb_text_str(text, ", which is read again up to there");
    } else if (files) {
        sb_text_format(text, "at '%s'", source->files[cut->file].path);
    } else {
        sb_text_str(text, "at row ");
        sb_text_add_figure(text, cut->next);
    }
}

// What is not read yet, as far as it is known: ", 1,234 bytes are left"
static void add_left(const Job *job, const SbStage *stage, const StageCut *cut, Text *text) {
    const Source *source = &job->sources[stage->input_index];
    int64_t bytes = 0;
    for (uint32_t f = cut->file; f < source->file_count; f++) {
        if (source->files[f].stream) return;
        bytes += source->files[f].size;
    }
    if (stage->input == SB_INPUT_TEXT && cut->file < source->file_count) bytes -= cut->next;
    sb_text_str(text, ", ");
    add_rows(text, bytes, "byte");
    sb_text_str(text, bytes == 1 ? " is left" : " are left");
}

// Does it read rows as others make them? Then it does what they do.
static bool follows(const Job *job, const SbStage *stage) {
    return stage->input == SB_INPUT_ROWS &&
           job->what->breakers[stage->input_index].kind == SB_BREAK_EDGE;
}

static bool reads(const Job *job, const SbStage *stage, uint32_t edge) {
    return follows(job, stage) && (stage->input_index == edge || stage->right_index == edge);
}

// Is something of what the stage feeds safe in a file?
static bool has_rows(const Job *job, uint32_t number) {
    const SbStage *stage = &job->what->stages[number];
    bool any = false;
    for (uint32_t t = 0; t < stage->terminal_count && !any; t++) {
        uint32_t terminal = stage->terminals[t];
        bool sink = terminal & SB_TERMINAL_SINK;
        any = sink && job->resume->state.sinks[terminal & ~SB_TERMINAL_SINK].is;
        for (uint32_t s = number + 1; s < job->what->stage_count && !sink; s++)
            any |= reads(job, &job->what->stages[s], terminal) && has_rows(job, s);
    }
    return any;
}

static void describe_stage(const Job *job, uint32_t number, Text *text) {
    const SbStage *stage = &job->what->stages[number];
    const StageCut *cut = &job->resume->state.stages[number];
    text->len = 0;
    sb_text_format(text, "'%.*s' ", (int)stage->label.len, stage->label.ptr);
    if (!cut->is) {
        const char *why = job->resume->roots[number].why;
        sb_text_str(text, "runs from the start");
        if (why) sb_text_format(text, ", as %s", why);
        if (has_rows(job, number)) sb_text_str(text, ": what is written already is compared");
        return;
    }
    sb_text_str(text, "goes on ");
    add_position(job, stage, cut, text);
    if (has_files(job, stage)) {
        sb_text_str(text, ": ");
        add_rows(text, cut->rows, "row");
        sb_text_str(text, cut->rows == 1 ? " is done" : " are done");
        add_left(job, stage, cut, text);
    }
    if (cut->reject_count == 0) return;
    sb_text_str(text, ", ");
    add_rows(text, cut->reject_count, "reject");
}

// What the journal of a job that begins will be of no use for.
static void say_plan(Job *job) {
    for (uint32_t s = 0; s < job->what->stage_count; s++) {
        const SbStage *stage = &job->what->stages[s];
        const char *why = job->resume->roots[s].why;
        if (!why || follows(job, stage)) continue;
        resume_say(job, "'%.*s' will run from the start if the job is resumed, as %s",
                   (int)stage->label.len, stage->label.ptr, why);
    }
}

void resume_say_stages(Job *job) {
    Text text = {0};
    if (!job->resumed) {
        say_plan(job);
        return;
    }
    for (uint32_t s = 0; s < job->what->stage_count; s++) {
        if (follows(job, &job->what->stages[s])) continue;
        describe_stage(job, s, &text);
        resume_say(job, "%.*s", (int)text.len, text.ptr);
    }
    sb_text_close(&text);
}

static void print_state(const Job *job) {
    const ResumeState *state = &job->resume->state;
    Text text = {0};
    for (uint32_t s = 0; s < job->what->stage_count; s++) {
        if (follows(job, &job->what->stages[s])) continue;
        describe_stage(job, s, &text);
        printf("stage %.*s\n", (int)text.len, text.ptr);
    }
    for (uint32_t s = 0; s < job->what->sink_count; s++) {
        const SbStr path = job->setup.sink_paths[s];
        const SinkState *sink = &state->sinks[s];
        text.len = 0;
        add_rows(&text, sink->is ? sink->place.rows : 0, "row");
        sb_text_str(&text, ", ");
        add_rows(&text, sink->is ? sink->place.bytes : 0, "byte");
        printf("output '%.*s': %.*s safe\n", (int)path.len, path.ptr, (int)text.len, text.ptr);
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
static bool look_at_sinks(Job *job) {
    bool good = true;
    for (uint32_t s = 0; good && s <= job->what->sink_count; s++) {
        SinkSetup setup = job_sink_setup(job, s);
        bool none = s == job->what->sink_count && setup.path.len == 0;
        if (none || is_stream(setup.path)) continue;
        setup.tag = resume_tag(job);
        setup.from = resume_place(job, s);
        Sink sink;
        good = sink_check(&sink, &setup, &job->trouble) &&
               sink_log_look(&sink, &setup, &job->trouble);
        sink_close(&sink);
    }
    return good;
}

static bool is_publishing(const Job *job) {
    const ResumeState *state = &job->resume->state;
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
    if (!job->resumed || is_publishing(job)) return true;
    bool opened = !open || open(job);
    if (!opened && !done) return false;
    if (!opened) trouble_clear(&job->trouble);
    if (opened && !resume_same(job, true)) return false;
    return done ? resume_check_outputs(job) : look_at_sinks(job);
}

static bool look(Job *job, bool (*open)(Job *job)) {
    const char *folder = job->options.journal;
    if (!resume_look(job, folder, open)) return false;
    bool goes_on = job->resumed && !job->resume->state.done && !is_publishing(job);
    if (goes_on && !resume_groups_open(job))
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
    else if (is_publishing(job)) printf("all rows are made; the outputs are being published\n");
    else print_state(job);
    printf(done ? "nothing is left to do\n" : "it can be resumed\n");
    return 0;
}
