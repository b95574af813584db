// Resume show: what a journal says is done, for a job that goes on and for --journal=DIR.
#include "runtime/resume_run.h"

#include <stdlib.h>
#include <string.h>

static void add_rows(Text *text, int64_t rows, const char *what) {
    sb_text_add_figure(text, rows);
    sb_text_format(text, " %s%s", what, rows == 1 ? "" : "s");
}

// Files that the stage reads.
static bool has_files(const Job *job, const SbStage *stage) {
    return stage->input != SB_INPUT_ROWS && job->sources[stage->input_index].file_count > 0;
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
    if (!job->resume->resumed) {
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
static bool read_unlocked(Job *job) {
    Resume *resume = job->resume;
    size_t len = strlen(job->options.journal);
    resume->journal.folder = strdup(job->options.journal);
    resume->journal.path = malloc(len + sizeof "/journal");
    if (!resume->journal.folder || !resume->journal.path)
        return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the journal");
    snprintf(resume->journal.path, len + sizeof "/journal", "%s/journal", job->options.journal);
    if (!resume_read(job)) return false;
    return resume->resumed || trouble_set(&job->trouble, TROUBLE_JOURNAL_FOLDER,
                                          "there is no journal in '%s'", job->options.journal);
}

int resume_show(Job *job, bool (*open)(Job *job)) {
    bool good = resume_make(job) && read_unlocked(job);
    const ResumeState *state = job->resume ? &job->resume->state : nullptr;
    bool publishing = good && state->publish.ptr && !state->done;
    good = good && (publishing || (open(job) && resume_same(job, true)));
    if (good && !publishing && !resume_groups_open(job))
        good = trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for the journal");
    if (good && state->done && resume_check_outputs(job)) {
        printf("the job is finished\n");
    } else if (publishing) {
        printf("all rows are made; the outputs are being published\n");
    } else if (good && !state->done) {
        print_state(job);
    }
    if (job->trouble.kind == TROUBLE_NONE) {
        printf(state->done ? "nothing is left to do\n" : "it can be resumed\n");
        return 0;
    }
    printf("it cannot be resumed:\n");
    fflush(stdout);
    log_trouble(&job->log, &job->trouble);
    return trouble_exit_code(&job->trouble);
}
