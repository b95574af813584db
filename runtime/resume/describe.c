// Resume describe: what a journal says of a stage, as text.
#include "runtime/resume/run.h"

#include <stdarg.h>

void resume_say(Log *log, const char *format, ...) {
    va_list args;
    va_start(args, format);
    log_say(log, "resume", TROUBLE_NONE, format, args);
    va_end(args);
}

void describe_rows(Text *text, int64_t rows, const char *what) {
    sb_text_add_figure(text, rows);
    sb_text_format(text, " %s%s", what, rows == 1 ? "" : "s");
}

// Files that the stage reads.
static bool has_files(const Source *sources, const SbStage *stage) {
    bool rows = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
    return !rows && sources[stage->input_index].file_count > 0;
}

// "at byte 12,345 of 'in.csv'"
static void add_position(const Source *sources, const SbStage *stage, const StageCut *cut,
                         Text *text) {
    bool files = has_files(sources, stage);
    const Source *source = files ? &sources[stage->input_index] : nullptr;
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
static void add_left(const Source *sources, const SbStage *stage, const StageCut *cut, Text *text) {
    const Source *source = &sources[stage->input_index];
    int64_t bytes = 0;
    for (uint32_t f = cut->file; f < source->file_count; f++) {
        if (source->files[f].stream) return;
        bytes += source->files[f].size;
    }
    if (stage->input == SB_INPUT_TEXT && cut->file < source->file_count) bytes -= cut->next;
    sb_text_str(text, ", ");
    describe_rows(text, bytes, "byte");
    sb_text_str(text, bytes == 1 ? " is left" : " are left");
}

static bool reads(const SbJob *what, const SbStage *stage, uint32_t edge) {
    return sb_reads_edge(what, stage) &&
           (stage->input_index == edge || stage->right_index == edge);
}

// Is something of what the stage feeds safe in a file?
static bool has_rows(const Resume *resume, uint32_t number) {
    const SbStage *stage = &resume->what->stages[number];
    bool any = false;
    for (uint32_t t = 0; t < stage->terminal_count && !any; t++) {
        uint32_t terminal = stage->terminals[t];
        bool sink = terminal & SB_TERMINAL_SINK;
        any = sink && resume->state.sinks[terminal & ~SB_TERMINAL_SINK].is;
        for (uint32_t s = number + 1; s < resume->what->stage_count && !sink; s++)
            any |= reads(resume->what, &resume->what->stages[s], terminal) && has_rows(resume, s);
    }
    return any;
}

void describe_stage(const Resume *resume, uint32_t number, Text *text) {
    const SbStage *stage = &resume->what->stages[number];
    const StageCut *cut = &resume->state.stages[number];
    text->len = 0;
    sb_text_format(text, "'%.*s' ", (int)stage->label.len, stage->label.ptr);
    if (!cut->is) {
        const char *why = resume->roots[number].why;
        sb_text_str(text, "runs from the start");
        if (why) sb_text_format(text, ", as %s", why);
        if (has_rows(resume, number))
            sb_text_str(text, ": what is written already is compared");
        return;
    }
    sb_text_str(text, "goes on ");
    add_position(resume->sources, stage, cut, text);
    if (has_files(resume->sources, stage)) {
        sb_text_str(text, ": ");
        describe_rows(text, cut->rows, "row");
        sb_text_str(text, cut->rows == 1 ? " is done" : " are done");
        add_left(resume->sources, stage, cut, text);
    }
    if (cut->reject_count == 0) return;
    sb_text_str(text, ", ");
    describe_rows(text, cut->reject_count, "reject");
}

// What the journal of a job that begins will be of no use for.
static void say_plan(Resume *resume) {
    for (uint32_t s = 0; s < resume->what->stage_count; s++) {
        const SbStage *stage = &resume->what->stages[s];
        const char *why = resume->roots[s].why;
        if (!why || sb_reads_edge(resume->what, stage)) continue;
        resume_say(resume->log, "'%.*s' will run from the start if the job is resumed, as %s",
                   (int)stage->label.len, stage->label.ptr, why);
    }
}

void resume_say_stages(Resume *resume, bool resumed) {
    Text text = {0};
    if (!resumed) {
        say_plan(resume);
        return;
    }
    for (uint32_t s = 0; s < resume->what->stage_count; s++) {
        if (sb_reads_edge(resume->what, &resume->what->stages[s])) continue;
        describe_stage(resume, s, &text);
        resume_say(resume->log, "%.*s", (int)text.len, text.ptr);
    }
    sb_text_close(&text);
}
