#define _GNU_SOURCE
#include "runtime/resume/resume.h"

#include "runtime/resume/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

const char *resume_tag(const Job *job) { return job->resume ? job->resume->tag : nullptr; }

const SinkPlace *resume_place(const Job *job, uint32_t sink) {
    const Resume *resume = job->resume;
    return resume ? state_place(&resume->state, sink) : nullptr;
}

bool resume_finished(const Job *job) { return job->resume && job->resume->finished; }

// ---- what a run is known by -------------------------------------------------------------------

char *resume_program(const Job *job) {
    const SbJob *what = job->what;
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
static void add_param(const Job *job, uint32_t number, Text *text) {
    const SbParam *param = &job->what->params[number];
    const SbField field = {.name = param->name, .type = param->type};
    const SbType row = {.kind = SB_STRUCT, .fields = &field, .field_count = 1};
    Text name = {0}, value = {0};
    sb_text_format(&name, "--%.*s", (int)param->name.len, param->name.ptr);
    sb_text_add_row(&value, &row, job->params.values[number]);
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

void resume_identity(const Job *job, Text *text) {
    const Options *options = &job->options;
    char *program = resume_program(job), *folder = getcwd(nullptr, 0), number[64];
    add_pair(text, "the program", program ? program : "");
    add_pair(text, "the working folder", folder ? folder : "");
    free(program);
    free(folder);
    for (uint32_t p = 0; p < job->what->param_count; p++) add_param(job, p, text);
    snprintf(number, sizeof number, "%lld", (long long)options->first_rows);
    add_pair(text, "--first-rows", options->first_rows == INT64_MAX ? "not given" : number);
    add_pair(text, "--rejects", options->rejects ? options->rejects : "not given");
    add_pair(text, "--reject-limit", job->limit_text);
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

// Identity and inputs stand one behind the other.
bool resume_same(Job *job, bool inputs) {
    const SbStr begin = job->resume->state.begin;
    Unpack begun = {begin.ptr, begin.ptr + begin.len, false};
    unpack_string(&begun);
    Text now = {0};
    SbStr identity = unpack_bytes(&begun), files = unpack_bytes(&begun);
    Unpack pairs = {identity.ptr, identity.ptr + identity.len, begun.bad};
    resume_identity(job, &now);
    bool good = same_pairs(job->resume, &pairs, &now, TROUBLE_JOURNAL_OTHER);
    if (good && inputs) {
        now.len = 0;
        pairs = (Unpack){files.ptr, files.ptr + files.len, begun.bad};
        input_pairs(job->what, job->sources, &now);
        good = same_pairs(job->resume, &pairs, &now, TROUBLE_JOURNAL_INPUT);
        if (good && pairs.at < pairs.end)
            good = trouble_set(&job->trouble, TROUBLE_JOURNAL_INPUT, "%s is not there any more",
                               unpack_string(&pairs));
        good = good && input_check(job->resume);
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
    char *program = resume_program(job);
    job->resumed = program && state_read(&resume->state, (SbStr){text, len}, program,
                                         resume->journal.folder, &job->trouble);
    free(program);
    if (!job->resumed) return job->trouble.kind == TROUBLE_NONE && journal_no_memory(&job->trouble);
    Unpack begun = {resume->state.begin.ptr, resume->state.begin.ptr + resume->state.begin.len,
                    false};
    snprintf(resume->tag, sizeof resume->tag, "%s", unpack_string(&begun));
    return resume_same(job, false);
}

static void use_parts(Resume *resume, Job *job) {
    resume->what = job->what;
    resume->options = &job->options;
    resume->setup = &job->setup;
    resume->sources = job->sources;
    resume->sinks = job->sinks;
    resume->breakers = job->breakers;
    resume->ready = job->finished;
    resume->edges = job->edges;
    resume->spill = &job->spill;
    resume->memory = &job->memory;
    resume->progress = &job->progress;
    resume->drain = &job->drain;
    resume->trouble = &job->trouble;
    resume->log = &job->log;
}

bool resume_make(Job *job) {
    Resume *resume = calloc(1, sizeof *resume);
    if (!resume || !state_open(&resume->state, job->what)) {
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

bool resume_open(Job *job) {
    if (!job->options.resume) return true;
    if (!resume_make(job) ||
        !journal_open(&job->resume->journal, job->options.resume, &job->trouble) ||
        !resume_read(job)) {
        return false;
    }
    Resume *resume = job->resume;
    if (!resume->state.publish.ptr || resume->state.done) return true;
    resume_say(&job->log, "all rows were made by an earlier run: the outputs are published now");
    return resume_finish(job);
}

static void make_tag(char tag[static DURABLE_TAG + 1]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint8_t bytes[DURABLE_TAG] = {0};
    if (getrandom(bytes, sizeof bytes, 0) < 0) memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < DURABLE_TAG; i++) tag[i] = letters[bytes[i] % (sizeof letters - 1)];
    tag[DURABLE_TAG] = '\0';
}

// The payload of BEGIN lives in the state as if it had been read.
static bool write_begin(Job *job) {
    Resume *resume = job->resume;
    Text text = {0}, identity = {0}, inputs = {0};
    make_tag(resume->tag);
    resume_identity(job, &identity);
    input_pairs(job->what, job->sources, &inputs);
    pack_string(&text, resume->tag);
    pack_bytes(&text, identity.ptr, identity.len);
    pack_bytes(&text, inputs.ptr, inputs.len);
    bool failed = text.failed || identity.failed || inputs.failed;
    sb_text_close(&identity);
    sb_text_close(&inputs);
    resume->state.text = text.ptr;
    resume->state.begin = (SbStr){text.ptr, text.len};
    return !failed || journal_no_memory(&job->trouble);
}

bool resume_begin(Job *job, bool opened) {
    Resume *resume = job->resume;
    if (!opened && !(resume && resume->state.done)) return false;
    if (!resume) return true;
    if (!opened) trouble_clear(&job->trouble);
    if (opened && (job->resumed ? !resume_same(job, true) : !write_begin(job))) return false;
    if (!resume->state.done)
        return state_write(&resume->state, &resume->journal, &job->trouble);
    if (!resume_check_outputs(job)) return false;
    resume_say(&job->log, "the job is finished: nothing to do");
    return resume->finished = true;
}

bool resume_log(Job *job) {
    if (!job->resume) return true;
    job->resume->lanes = job->lanes / 2;
    if (!resume_groups_open(job->resume)) return journal_no_memory(&job->trouble);
    resume_say_stages(job);
    return true;
}

// ---- ending -----------------------------------------------------------------------------------

void resume_forget(Job *job) {
    Resume *resume = job->resume;
    if (!resume) return;
    for (uint32_t s = 0; s < job->what->sink_count + 1; s++) sink_forget(&job->sinks[s]);
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
