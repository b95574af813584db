#define _GNU_SOURCE
#include "runtime/resume/resume.h"

#include "runtime/device.h"
#include "runtime/resume/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

const char *resume_tag(const Resume *resume) { return resume ? resume->tag : nullptr; }

const SinkPlace *resume_place(const Resume *resume, uint32_t sink) {
    return resume ? state_place(&resume->state, sink) : nullptr;
}

bool resume_finished(const Resume *resume) { return resume && resume->finished; }

// ---- what a run is known by -------------------------------------------------------------------

char *resume_program(const SbJob *what) {
    char *program = nullptr, plan[CHECKSUM_DIGITS + 1];
    checksum_text(checksum_of(what->plan.ptr, what->plan.len), plan);
    int len = asprintf(&program, "%.*s %.*s %s", (int)what->name.len, what->name.ptr,
                       (int)what->source_hash.len, what->source_hash.ptr, plan);
    return len < 0 ? nullptr : program;
}

static void add_pair(Text *text, const char *name, const char *value) {
    pack_string(text, name);
    pack_string(text, value);
}

// A parameter as a JSON object of one field.
static void add_param(const Resume *resume, uint32_t number, Text *text) {
    const SbParam *param = &resume->what->params[number];
    const SbField field = {.name = param->name, .type = param->type};
    const SbType row = {.kind = SB_STRUCT, .fields = &field, .field_count = 1};
    Text name = {0}, value = {0};
    sb_text_format(&name, "--%.*s", (int)param->name.len, param->name.ptr);
    sb_text_add_row(&value, &row, resume->params->values[number]);
    // Between the name and the brace at the end.
    int64_t skip = 4 + param->name.len;
    sb_text_add(&name, "", 1);
    pack_bytes(text, name.ptr, name.len);
    if (value.len > skip) value.ptr[value.len - 1] = '\0';
    pack_bytes(text, value.ptr + skip, value.len - skip);
    text->failed |= name.failed | value.failed;
    sb_text_close(&name);
    sb_text_close(&value);
}

void resume_identity(const Resume *resume, Text *text) {
    const Options *options = resume->options;
    char *program = resume_program(resume->what), *folder = getcwd(nullptr, 0), number[64];
    add_pair(text, "the program", program ? program : "");
    add_pair(text, "the working folder", folder ? folder : "");
    free(program);
    free(folder);
    for (uint32_t p = 0; p < resume->what->param_count; p++) add_param(resume, p, text);
    snprintf(number, sizeof number, "%lld", (long long)options->first_rows);
    add_pair(text, "--first-rows", options->first_rows == INT64_MAX ? "not given" : number);
    add_pair(text, "--rejects", options->rejects ? options->rejects : "not given");
    add_pair(text, "--reject-limit", resume->limit_text);
}

// Digits of approx steps go by the device. Its name is known once GPUs are open.
static void note_approx(Resume *resume, Gpu *gpu) {
    bool some = false, none = !gpu || gpu_no_products(gpu);
    for (uint32_t s = 0; s < resume->what->stage_count; s++) {
        const SbKernels *kernels = resume->what->stages[s].kernels;
        some |= kernels && kernels->approx;
    }
    if (some && none) snprintf(resume->approx, sizeof resume->approx, "the CPU");
    else if (some)
        snprintf(resume->approx, sizeof resume->approx, "%s", gpu_figures(gpu, 0).name);
}

// Files that are read, and what their rows go through.
static void add_inputs(const Resume *resume, Text *text) {
    input_pairs(resume->what, resume->sources, text);
    if (resume->approx[0]) add_pair(text, "the device of approx steps", resume->approx);
}

// The first pair that differs, as a trouble of this kind.
static bool same_pairs(const Resume *resume, Unpack *begun, const Text *now, TroubleKind kind) {
    Unpack is = {now->ptr, now->ptr + now->len, false};
    const char *folder = resume->journal.folder;
    while (begun->at < begun->end && is.at < is.end) {
        const char *name = unpack_string(begun), *was = unpack_string(begun);
        const char *own = unpack_string(&is), *value = unpack_string(&is);
        if (strcmp(name, own) != 0)
            return trouble_set(resume->trouble, kind, "where the journal in '%s' was begun with "
                               "%s, there is %s now", folder, name, own);
        if (strcmp(was, value) != 0)
            return trouble_set(resume->trouble, kind, "%s was %s when the journal in '%s' was "
                               "begun, and is %s now", name, was, folder, value);
    }
    if (is.at < is.end)
        return trouble_set(resume->trouble, kind, "%s was not there when the journal in '%s' was "
                           "begun", unpack_string(&is), folder);
    return true;
}

// Identity and inputs stand one after the other.
bool resume_same(Resume *resume, bool inputs) {
    const SbStr begin = resume->state.begin;
    Unpack begun = {begin.ptr, begin.ptr + begin.len, false};
    unpack_string(&begun);
    Text now = {0};
    SbStr identity = unpack_bytes(&begun), files = unpack_bytes(&begun);
    Unpack pairs = {identity.ptr, identity.ptr + identity.len, begun.bad};
    resume_identity(resume, &now);
    bool good = same_pairs(resume, &pairs, &now, TROUBLE_JOURNAL_OTHER);
    if (good && inputs) {
        now.len = 0;
        pairs = (Unpack){files.ptr, files.ptr + files.len, begun.bad};
        add_inputs(resume, &now);
        good = same_pairs(resume, &pairs, &now, TROUBLE_JOURNAL_INPUT);
        if (good && pairs.at < pairs.end)
            good = trouble_set(resume->trouble, TROUBLE_JOURNAL_INPUT, "%s is not there any more",
                               unpack_string(&pairs));
        good = good && input_check(resume);
    }
    sb_text_close(&now);
    return good;
}

// ---- opening ----------------------------------------------------------------------------------

bool resume_read(Job *job) {
    Resume *resume = job->resume;
    int64_t len = 0;
    char *text = journal_load(&resume->journal, &len, &job->trouble);
    if (!text) return job->trouble.kind == TROUBLE_NONE;
    char *program = resume_program(job->ask.what);
    job->resumed = program && state_read(&resume->state, (SbStr){text, len}, program,
                                         resume->journal.folder, &job->trouble);
    free(program);
    if (!job->resumed) return job->trouble.kind == TROUBLE_NONE && journal_no_memory(&job->trouble);
    Unpack begun = {resume->state.begin.ptr, resume->state.begin.ptr + resume->state.begin.len,
                    false};
    snprintf(resume->tag, sizeof resume->tag, "%s", unpack_string(&begun));
    return resume_same(resume, false);
}

static void use_parts(Resume *resume, Job *job) {
    resume->what = job->ask.what;
    resume->options = &job->ask.options;
    resume->params = &job->ask.params;
    resume->setup = &job->ask.setup;
    resume->limit_text = job->rejects.limit_text;
    resume->sources = job->io.sources;
    resume->sinks = job->io.sinks;
    resume->breakers = job->breakers.states;
    resume->ready = job->breakers.finished;
    resume->edges = job->breakers.edges;
    resume->spill = &job->machine.spill;
    resume->memory = &job->machine.memory;
    resume->progress = &job->figures.progress;
    resume->guards = &job->guards;
    resume->drain = &job->stop.drain;
    resume->trouble = &job->trouble;
    resume->log = &job->log;
}

bool resume_make(Job *job) {
    Resume *resume = calloc(1, sizeof *resume);
    if (!resume || !state_open(&resume->state, job->ask.what)) {
        free(resume);
        return journal_no_memory(&job->trouble);
    }
    use_parts(resume, job);
    resume->journal.lock = resume->journal.fd = resume->journal.new_fd = -1;
    resume->always = getenv("SBC_TEST_COMMIT") != nullptr;
    pthread_mutex_init(&resume->writing, nullptr);
    pthread_mutex_init(&resume->flushing, nullptr);
    job->resume = resume;
    return true;
}

// Is some output standard output, a device or a pipe? As the record of what is published says.
static bool has_stream(const Job *job) {
    bool any = false;
    for (uint32_t s = 0; s < job->ask.what->sink_count; s++) any |= job->io.sinks[s].to_stream;
    return any;
}

bool resume_open(Job *job) {
    if (!job->ask.options.resume) return true;
    if (!resume_make(job) ||
        !journal_open(&job->resume->journal, job->ask.options.resume, &job->trouble) ||
        !resume_read(job)) {
        return false;
    }
    Resume *resume = job->resume;
    if (!resume->state.publish.ptr || resume->state.done) return true;
    resume_say(&job->log, "all rows were made by an earlier run: the outputs are published now");
    if (!resume_finish(job)) return false;
    if (has_stream(job))
        trouble_set(&job->trouble, TROUBLE_STREAM_GIVEN,
                    "the run that made all rows has written standard output: it is not written "
                    "again");
    return true;
}

static void make_tag(char tag[static DURABLE_TAG + 1]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint8_t bytes[DURABLE_TAG] = {0};
    if (getrandom(bytes, sizeof bytes, 0) < 0) memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < DURABLE_TAG; i++) tag[i] = letters[bytes[i] % (sizeof letters - 1)];
    tag[DURABLE_TAG] = '\0';
}

// The payload of BEGIN lives in the state as if it had been read.
static bool write_begin(Resume *resume) {
    Text text = {0}, identity = {0}, inputs = {0};
    make_tag(resume->tag);
    resume_identity(resume, &identity);
    add_inputs(resume, &inputs);
    pack_string(&text, resume->tag);
    pack_bytes(&text, identity.ptr, identity.len);
    pack_bytes(&text, inputs.ptr, inputs.len);
    bool failed = text.failed || identity.failed || inputs.failed;
    sb_text_close(&identity);
    sb_text_close(&inputs);
    resume->state.text = text.ptr;
    resume->state.begin = (SbStr){text.ptr, text.len};
    return !failed || journal_no_memory(resume->trouble);
}

bool resume_begin(Job *job, bool opened) {
    Resume *resume = job->resume;
    if (!opened && !(resume && resume->state.done)) return false;
    if (!resume) return true;
    if (!opened) trouble_clear(&job->trouble);
    note_approx(resume, job->machine.gpu);
    if (opened && (job->resumed ? !resume_same(resume, true) : !write_begin(resume))) return false;
    if (!resume->state.done)
        return state_write(&resume->state, &resume->journal, &job->trouble);
    if (!resume_check_outputs(job)) return false;
    resume_say(&job->log, has_stream(job)
        ? "the job is finished: nothing to do; an earlier run has written standard output"
        : "the job is finished: nothing to do");
    return resume->finished = true;
}

bool resume_log(Job *job) {
    if (!job->resume) return true;
    job->resume->lanes = job->breakers.lanes / 2;
    if (!resume_groups_open(job->resume)) return journal_no_memory(&job->trouble);
    resume_say_stages(job->resume, job->resumed);
    return true;
}

// ---- ending -----------------------------------------------------------------------------------

void resume_forget(Resume *resume) {
    if (!resume) return;
    for (uint32_t s = 0; s < resume->what->sink_count + 1; s++) sink_forget(&resume->sinks[s]);
    journal_remove(&resume->journal);
    breakers_remove(resume);
}

void resume_close(Job *job) {
    Resume *resume = job->resume;
    if (!resume) return;
    resume_groups_close(job->resume);
    journal_close(&resume->journal);
    state_close(&resume->state);
    pthread_mutex_destroy(&resume->writing);
    pthread_mutex_destroy(&resume->flushing);
    free(resume);
    job->resume = nullptr;
}
