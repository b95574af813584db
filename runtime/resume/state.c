#include "runtime/resume/state.h"

#include <stdlib.h>
#include <string.h>

bool state_open(ResumeState *state, const SbJob *job) {
    *state = (ResumeState){.stage_count = job->stage_count, .sink_count = job->sink_count,
                           .breaker_count = job->breaker_count,
                           .passed_at = sb_figure_count(job)};
    state->taken_at = state->passed_at;
    for (uint32_t s = 0; s < job->stage_count; s++)
        state->taken_at += job->stages[s].terminal_count;
    state->came_at = state->taken_at + job->stage_count;
    state->figure_count = state->came_at + job->stage_count;
    state->stages = calloc(job->stage_count + 1, sizeof *state->stages);
    state->sinks = calloc(job->sink_count + 1, sizeof *state->sinks);
    state->marks = calloc(job->breaker_count + 1, sizeof *state->marks);
    state->ordinals = calloc(job->stage_count + 1, sizeof *state->ordinals);
    return state->stages && state->sinks && state->marks && state->ordinals;
}

static void free_text(SbStr *text) {
    free((char *)(uintptr_t)text->ptr);
    *text = (SbStr){0};
}

void state_close(ResumeState *state) {
    for (uint32_t s = 0; state->stages && s < state->stage_count; s++) {
        free(state->stages[s].figures);
        free(state->stages[s].files);
        sb_text_close(&state->stages[s].rejects);
        sb_text_close(&state->stages[s].blocks);
    }
    for (uint32_t s = 0; state->sinks && s < state->sink_count; s++) {
        SinkState *sink = &state->sinks[s];
        free_text(&sink->chunk);
        free_text(&sink->key);
        for (uint32_t p = 0; p < sink->part_count; p++) free_text(&sink->parts[p].key);
        free(sink->parts);
    }
    for (uint32_t b = 0; state->marks && b < state->breaker_count; b++)
        sb_text_close(&state->marks[b].bits);
    sb_text_close(&state->run_files);
    sb_text_close(&state->cases);
    free(state->marks);
    free(state->ordinals);
    free(state->stages);
    free(state->sinks);
    free(state->text);
    *state = (ResumeState){0};
}

const SinkPlace *state_place(const ResumeState *state, uint32_t sink) {
    return sink < state->sink_count && state->sinks[sink].is ? &state->sinks[sink].place : nullptr;
}

// ---- packing --------------------------------------------------------------------------------

#define CUT_FIELDS(NUMBER, SUM)                                                              \
    NUMBER(units) NUMBER(file) NUMBER(next) SUM(sum) NUMBER(chain_begin) NUMBER(chain_lines) \
    NUMBER(rows)
#define PLACE_FIELDS(NUMBER, SUM)                                                       \
    NUMBER(rows) NUMBER(bytes) NUMBER(text) SUM(text_sum) NUMBER(part) NUMBER(offset) SUM(sum) \
    NUMBER(part_has_rows) NUMBER(replays) DURABLE_BASE_FIELDS(NUMBER, base)
#define PART_FIELDS(NUMBER, SUM) NUMBER(size) SUM(sum) DURABLE_BASE_FIELDS(NUMBER, base)

static void pack_cut(const CommitCut *commit, uint32_t figure_count, Text *text) {
    const StageCut *cut = commit->cut, *is = cut;
    pack_number(text, commit->stage);
    CUT_FIELDS(PACK_NUMBER, PACK_SUM)
    for (uint32_t i = 0; i < figure_count; i++) pack_number(text, cut->figures[i]);
    pack_number(text, commit->file_from);
    pack_number(text, cut->file_count - commit->file_from);
    for (uint32_t f = commit->file_from; f < cut->file_count; f++) {
        pack_number(text, cut->files[f].rows);
        pack_number(text, cut->files[f].bytes);
    }
    pack_number(text, cut->reject_count);
    pack_bytes(text, cut->rejects.ptr, cut->rejects.len);
    pack_bytes(text, cut->blocks.ptr, cut->blocks.len);
}

static void pack_part(const SinkPartPlace *is, Text *text) {
    PART_FIELDS(PACK_NUMBER, PACK_SUM)
    pack_bytes(text, is->key.ptr, is->key.len);
}

static void pack_sink(const CommitSink *sink, Text *text) {
    const SinkPlace *place = sink->place, *is = place;
    pack_number(text, sink->sink);
    PLACE_FIELDS(PACK_NUMBER, PACK_SUM)
    pack_bytes(text, place->chunk.ptr, place->chunk.len);
    pack_bytes(text, place->key.ptr, place->key.len);
    pack_number(text, sink->part_from);
    for (uint32_t p = sink->part_from; p < place->part; p++)
        pack_part(&sink->parts[p - sink->part_from], text);
}

void commit_pack(const Commit *commit, uint32_t figure_count, Text *text) {
    pack_number(text, commit->cut_count);
    for (uint32_t c = 0; c < commit->cut_count; c++) pack_cut(&commit->cuts[c], figure_count, text);
    pack_number(text, commit->sink_count);
    for (uint32_t s = 0; s < commit->sink_count; s++) pack_sink(&commit->sinks[s], text);
    for (uint32_t s = 0; s < commit->stage_count; s++)
        pack_number(text, (int64_t)commit->ordinals[s]);
}

void marks_pack(uint32_t breaker, int64_t rows, SbStr bits, Text *text) {
    pack_number(text, breaker);
    pack_number(text, rows);
    pack_bytes(text, bits.ptr, bits.len);
}

// ---- folding --------------------------------------------------------------------------------

static bool fold_cut(ResumeState *state, Unpack *from) {
    int64_t stage = unpack_number(from);
    if (from->bad || stage < 0 || stage >= state->stage_count) return false;
    StageCut *cut = &state->stages[stage], *is = cut;
    CUT_FIELDS(UNPACK_NUMBER, UNPACK_SUM)
    if (!cut->figures) cut->figures = calloc(state->figure_count + 1, sizeof *cut->figures);
    if (!cut->figures) return false;
    for (uint32_t i = 0; i < state->figure_count; i++) cut->figures[i] = unpack_number(from);
    uint32_t first = (uint32_t)unpack_number(from);
    uint32_t count = unpack_count(from, 2 * sizeof(int64_t));
    if (from->bad || first > cut->file_count || count > UINT32_MAX - first) return false;
    if (first + count > 0) {
        FileCut *files = realloc(cut->files, ((size_t)first + count) * sizeof *files);
        if (!files) return false;
        cut->files = files;
    }
    for (uint32_t f = first; f < first + count; f++) {
        cut->files[f].rows = unpack_number(from);
        cut->files[f].bytes = unpack_number(from);
    }
    cut->file_count = first + count;
    cut->reject_count += (uint32_t)unpack_number(from);
    SbStr rejects = unpack_bytes(from);
    sb_text_add(&cut->rejects, rejects.ptr, rejects.len);
    SbStr blocks = unpack_bytes(from);
    sb_text_add(&cut->blocks, blocks.ptr, blocks.len);
    cut->is = true;
    return !from->bad && !cut->rejects.failed && !cut->blocks.failed;
}

// A text of the state's own in place of the one that was there.
static bool keep_text(SbStr *text, SbStr from) {
    char *copy = malloc((size_t)from.len + 1);
    if (!copy) return false;
    if (from.len > 0) memcpy(copy, from.ptr, (size_t)from.len);
    free_text(text);
    *text = (SbStr){copy, from.len};
    return true;
}

static bool fold_parts(SinkState *sink, uint32_t part, Unpack *from) {
    uint32_t first = (uint32_t)unpack_number(from);
    uint32_t had = sink->is ? sink->place.part : 0;
    bool fits = part >= first && part - first <= (from->end - from->at) / 32;
    if (from->bad || first > had || !fits) return false;
    if (part > sink->part_count) {
        SinkPartPlace *parts = realloc(sink->parts, (size_t)part * sizeof *parts);
        if (!parts) return false;
        memset(parts + sink->part_count, 0, (part - sink->part_count) * sizeof *parts);
        sink->parts = parts;
        sink->part_count = part;
    }
    for (uint32_t p = first; p < part; p++) {
        SinkPartPlace *is = &sink->parts[p];
        PART_FIELDS(UNPACK_NUMBER, UNPACK_SUM)
        SbStr key = unpack_bytes(from);
        if (from->bad || !keep_text(&is->key, key)) return false;
    }
    return !from->bad;
}

static bool fold_sink(ResumeState *state, Unpack *from) {
    int64_t number = unpack_number(from);
    if (from->bad || number < 0 || number >= state->sink_count) return false;
    SinkState *sink = &state->sinks[number];
    SinkPlace place = {0}, *is = &place;
    PLACE_FIELDS(UNPACK_NUMBER, UNPACK_SUM)
    SbStr chunk = unpack_bytes(from), key = unpack_bytes(from);
    if (from->bad || !fold_parts(sink, place.part, from)) return false;
    if (!keep_text(&sink->chunk, chunk) || !keep_text(&sink->key, key)) return false;
    place.chunk = sink->chunk;
    place.key = sink->key;
    place.parts = sink->parts;
    sink->place = place;
    return sink->is = true;
}

static bool fold_marks(ResumeState *state, Unpack *from) {
    enum { WORD_BITS = 64, WORD_BYTES = 8 };
    int64_t breaker = unpack_number(from), rows = unpack_number(from);
    SbStr bits = unpack_bytes(from);
    bool fits = rows >= 0 && bits.len % WORD_BYTES == 0 &&
                bits.len / WORD_BYTES == rows / WORD_BITS + (rows % WORD_BITS > 0);
    if (from->bad || breaker < 0 || breaker >= state->breaker_count || !fits) return false;
    MarksState *marks = &state->marks[breaker];
    marks->is = true;
    marks->rows = rows;
    marks->bits.len = 0;
    sb_text_add(&marks->bits, bits.ptr, bits.len);
    return !marks->bits.failed;
}

bool state_fold(ResumeState *state, const char *payload, int64_t len) {
    Unpack from = {payload, payload + len, false};
    uint32_t cuts = unpack_count(&from, sizeof(int64_t));
    for (uint32_t c = 0; c < cuts; c++)
        if (!fold_cut(state, &from)) return false;
    uint32_t sinks = unpack_count(&from, sizeof(int64_t));
    for (uint32_t s = 0; s < sinks; s++)
        if (!fold_sink(state, &from)) return false;
    for (uint32_t s = 0; s < state->stage_count; s++) {
        uint64_t ordinal = (uint64_t)unpack_number(&from);
        if (ordinal > state->ordinals[s]) state->ordinals[s] = ordinal;
    }
    uint32_t marks = unpack_count(&from, sizeof(int64_t));
    for (uint32_t m = 0; m < marks; m++)
        if (!fold_marks(state, &from)) return false;
    // Who writes runs reads it, and only he changes it.
    uint32_t files = unpack_count(&from, sizeof(int64_t));
    if (files > 0) state->run_file_count += files;
    sb_text_add(&state->run_files, from.at, from.end - from.at);
    return !from.bad && !state->run_files.failed;
}

// ---- the whole journal ----------------------------------------------------------------------

static bool take_record(ResumeState *state, const JournalRecord *record) {
    SbStr payload = {record->payload, record->len};
    switch (record->type) {
    case RECORD_BEGIN: return !state->begin.ptr && (state->begin = payload, true);
    case RECORD_COMMIT: return state->begin.ptr && state_fold(state, payload.ptr, payload.len);
    case RECORD_PUBLISH: return state->begin.ptr && (state->publish = payload, true);
    case RECORD_DONE: return state->publish.ptr && (state->done = true);
    case RECORD_CASES:
        sb_text_add(&state->cases, payload.ptr, payload.len);
        return state->begin.ptr && !state->cases.failed;
    }
    return false;
}

static bool unusable(JournalState how, const JournalReader *reader, const char *folder,
                     Trouble *trouble) {
    if (how == JOURNAL_VERSIONED)
        return trouble_set(trouble, TROUBLE_JOURNAL_VERSION,
                           "the journal in '%s' is of version %u, this job knows %d", folder,
                           reader->version, JOURNAL_VERSION);
    if (how == JOURNAL_FOREIGN)
        return trouble_set(trouble, TROUBLE_JOURNAL_DAMAGED,
                           "'%s/journal' is no journal, or its beginning is lost", folder);
    return trouble_set(trouble, TROUBLE_JOURNAL_DAMAGED,
                       "the journal in '%s' is damaged at byte %lld", folder,
                       (long long)reader->at);
}

// The program that the journal was begun by, as resume_program has it.
static const char *program_of(SbStr begin) {
    Unpack from = {begin.ptr, begin.ptr + begin.len, false};
    unpack_string(&from);  // The ending of names.
    SbStr pairs = unpack_bytes(&from);
    from = (Unpack){pairs.ptr, pairs.ptr + pairs.len, from.bad};
    unpack_string(&from);
    return unpack_string(&from);
}

// The length of a program without its last `words`, which hold no blanks.
static int without_last(const char *program, int words) {
    int len = (int)strlen(program);
    for (; words > 0; words--)
        while (len > 0 && program[--len] != ' ') continue;
    return len;
}

static bool same_without(const char *was, const char *is, int words) {
    int len = without_last(was, words);
    return len == without_last(is, words) && memcmp(was, is, (size_t)len) == 0;
}

// Name, text and plan: the first that differs.
static bool other_program(const char *was, const char *is, const char *folder, Trouble *trouble) {
    int name = without_last(is, 2);
    if (!same_without(was, is, 2))
        return trouble_set(trouble, TROUBLE_JOURNAL_OTHER, "the journal in '%s' is of another "
                           "program: of '%.*s', and this is '%.*s'", folder, without_last(was, 2),
                           was, name, is);
    return trouble_set(trouble, TROUBLE_JOURNAL_OTHER, "the journal in '%s' is of another program: "
                       "the %s of '%.*s' was another one", folder,
                       same_without(was, is, 1) ? "plan" : "text", name, is);
}

bool state_read(ResumeState *state, SbStr journal, const char *program, const char *folder,
                Trouble *trouble) {
    state->text = (char *)(uintptr_t)journal.ptr;
    JournalReader reader = {.bytes = journal.ptr, .len = journal.len};
    JournalRecord record;
    JournalState how;
    while ((how = journal_next(&reader, &record)) == JOURNAL_RECORD) {
        if (record.type == RECORD_BEGIN) {
            const char *was = program_of((SbStr){record.payload, record.len});
            if (strcmp(was, program) != 0) return other_program(was, program, folder, trouble);
        }
        if (!take_record(state, &record))
            return unusable(JOURNAL_DAMAGED, &reader, folder, trouble);
    }
    if (how == JOURNAL_END && state->begin.ptr) return true;
    return unusable(how == JOURNAL_END ? JOURNAL_FOREIGN : how, &reader, folder, trouble);
}

static void add_marks(const ResumeState *state, Text *text) {
    uint32_t count = 0;
    for (uint32_t b = 0; b < state->breaker_count; b++) count += state->marks[b].is;
    pack_number(text, count);
    for (uint32_t b = 0; b < state->breaker_count; b++) {
        const MarksState *marks = &state->marks[b];
        if (marks->is) marks_pack(b, marks->rows, (SbStr){marks->bits.ptr, marks->bits.len}, text);
    }
}

static bool write_all(const ResumeState *state, Journal *journal, Trouble *trouble) {
    CommitCut *cuts = calloc(state->stage_count + 1, sizeof *cuts);
    CommitSink *sinks = calloc(state->sink_count + 1, sizeof *sinks);
    Commit commit = {.cuts = cuts, .sinks = sinks, .ordinals = state->ordinals,
                     .stage_count = state->stage_count};
    Text text = {.failed = !cuts || !sinks};
    for (uint32_t s = 0; cuts && s < state->stage_count; s++)
        if (state->stages[s].is) cuts[commit.cut_count++] = (CommitCut){s, &state->stages[s], 0};
    for (uint32_t s = 0; sinks && s < state->sink_count; s++) {
        const SinkState *sink = &state->sinks[s];
        if (sink->is) sinks[commit.sink_count++] = (CommitSink){s, &sink->place, 0, sink->parts};
    }
    bool any = commit.cut_count + commit.sink_count > 0;
    if (!text.failed) commit_pack(&commit, state->figure_count, &text);
    add_marks(state, &text);
    pack_number(&text, state->run_file_count);
    sb_text_add(&text, state->run_files.ptr, state->run_files.len);
    bool good = text.failed ? journal_no_memory(trouble)
                            : !any || journal_add(journal, RECORD_COMMIT, text.ptr, text.len,
                                                  trouble);
    sb_text_close(&text);
    free(cuts);
    free(sinks);
    return good;
}

bool state_write(const ResumeState *state, Journal *journal, Trouble *trouble) {
    bool good = journal_begin(journal, trouble) &&
                journal_add(journal, RECORD_BEGIN, state->begin.ptr, state->begin.len, trouble) &&
                write_all(state, journal, trouble);
    if (good && state->cases.len > 0)
        good = journal_add(journal, RECORD_CASES, state->cases.ptr, state->cases.len, trouble);
    if (good && state->publish.ptr)
        good = journal_add(journal, RECORD_PUBLISH, state->publish.ptr, state->publish.len,
                           trouble);
    return good && journal_adopt(journal, trouble);
}
