// Resume breakers: what came into breakers, as runs in files beside the journal.
//
// A commit has what the units since the last one put into the breakers of its group, and nothing
// else: it stands in lanes of its own (`lane` of units.c). They are written as runs (spill.h),
// copied into DIR/runs.N and synced before the journal names them. A job that goes on copies all
// runs back into its own spill folder. So the spill folder is never needed again, and what a
// breaker does with runs is the same for all of them.
#define _GNU_SOURCE
#include "runtime/disk.h"
#include "runtime/host.h"
#include "runtime/resume/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 256 << 10 };

static char *file_name(const Resume *resume, uint32_t number) {
    char *name = nullptr;
    int len = asprintf(&name, "%s/runs.%u", resume->journal.folder, number);
    return len < 0 ? nullptr : name;
}

// ---- there --------------------------------------------------------------------------------------

// A file of runs that is being written, and what the journal says of it.
typedef struct RunFile {
    Resume        *resume;
    Trouble       *trouble;
    char          *name, *buffer;
    int            fd;
    int64_t        at;
    ChecksumState *sum;
    Text           runs;
    uint32_t       run_count;
} RunFile;

static bool cannot_write(const RunFile *file) {
    return trouble_set(file->trouble, TROUBLE_JOURNAL_WRITE, "cannot write '%s': %s", file->name,
                       strerror(errno));
}

static bool open_file(RunFile *file, uint32_t number) {
    file->fd = -1;
    file->name = file_name(file->resume, number);
    file->buffer = malloc(COPY_BYTES);
    file->sum = checksum_open();
    if (!file->name || !file->buffer || !file->sum) return journal_no_memory(file->trouble);
    file->fd = durable_open(file->name, true);
    return file->fd >= 0 || cannot_write(file);
}

static void close_file(RunFile *file) {
    if (file->fd >= 0) durable_shut(file->fd);
    checksum_close(file->sum);
    free(file->name);
    free(file->buffer);
    sb_text_close(&file->runs);
}

static bool put_bytes(RunFile *file, const char *bytes, int64_t len) {
    checksum_add(file->sum, bytes, len);
    if (!durable_put(file->fd, bytes, len, file->at)) return cannot_write(file);
    file->at += len;
    return true;
}

// Where the blocks of a run begin, counted from its beginning.
static bool put_index(RunFile *file, const SpillRun *run) {
    enum { SOME = COPY_BYTES / sizeof(SpillMark) };
    int64_t count = run->index ? run->index->count : 0;
    SpillMark *marks = (SpillMark *)(void *)file->buffer;
    for (int64_t at = 0, some; at < count; at += some) {
        some = count - at < SOME ? count - at : SOME;
        memcpy(marks, run->index->marks + at, (size_t)some * sizeof *marks);
        for (int64_t i = 0; i < some; i++) marks[i].at -= run->begin;
        if (!put_bytes(file, file->buffer, some * (int64_t)sizeof *marks)) return false;
    }
    return true;
}

static bool put_run(RunFile *file, uint32_t breaker, const SpillRun *run) {
    Spill *spill = file->resume->spill;
    const SpillIndex *index = run->index;
    int64_t len = run->end - run->begin;
    const int64_t about[] = {breaker, len, run->rows, run->bytes, run->block_max,
                             run->longest_at - run->begin, run->packed_max,
                             index ? index->count : 0, index ? index->every : 0};
    for (size_t i = 0; i < sizeof about / sizeof *about; i++) pack_number(&file->runs, about[i]);
    file->run_count++;
    for (int64_t at = 0; at < len;) {
        int64_t some = len - at < COPY_BYTES ? len - at : COPY_BYTES;
        if (!spill_copy_out(spill, run, at, file->buffer, some))
            return spill_trouble(spill, file->trouble), false;
        if (!put_bytes(file, file->buffer, some)) return false;
        at += some;
    }
    return put_index(file, run);
}

// What lanes of the set have goes to disk, and what workers have handed over of it.
static bool relieve(RunFile *file, SbBreakerState *state, uint32_t set) {
    Resume *resume = file->resume;
    uint32_t from = set * resume->lanes, to = from + resume->lanes;
    for (uint32_t lane = from; lane < to; lane++) {
        pthread_mutex_lock(&resume->fills[lane]);
        sb_breaker_relieve(state, lane);
        if (lane == from) sb_breaker_relieve_far(state, set, lane);
        pthread_mutex_unlock(&resume->fills[lane]);
    }
    return !spill_trouble(resume->spill, file->trouble);
}

static bool put_runs(RunFile *file, uint32_t breaker, uint32_t from, uint32_t to) {
    SbBreakerState *state = file->resume->breakers[breaker];
    uint32_t count;
    SpillRun *runs = sb_breaker_take_runs(state, from, to, &count);
    bool good = runs || journal_no_memory(file->trouble);
    for (uint32_t i = 0; good && i < count; i++) good = put_run(file, breaker, &runs[i]);
    free(runs);
    return good;
}

// All runs of the set go to the file.
static bool put_breaker(RunFile *file, uint32_t breaker, uint32_t set) {
    Resume *resume = file->resume;
    SbBreakerState *state = resume->breakers[breaker];
    if (!state) return true;
    bool good = relieve(file, state, set);
    uint32_t from, to;
    for (uint32_t i = 0; good && dispatch_set_files(resume->d, set, i, &from, &to); i++)
        good = put_runs(file, breaker, from, to);
    return good;
}

static void pack_file(const RunFile *file, Text *text) {
    pack_number(text, file->at);
    pack_checksum(text, checksum_value(file->sum));
    pack_number(text, file->run_count);
    sb_text_add(text, file->runs.ptr, file->runs.len);
    text->failed |= file->runs.failed;
}

bool breakers_commit(Resume *resume, CommitGroup *group, Trouble *trouble) {
    RunFile file = {.resume = resume, .trouble = trouble};
    bool good = open_file(&file, resume->state.run_file_count);
    for (uint32_t b = 0; good && b < group->breaker_count; b++)
        good = put_breaker(&file, group->breakers[b], !group->parity);
    if (good && !durable_put_sync(file.fd)) good = cannot_write(&file);
    good = good && durable_sync_folder_of(file.name, trouble);
    Text packed = {0};
    if (good) pack_file(&file, &packed);
    pack_number(&group->record, 1);
    pack_bytes(&group->record, packed.ptr, packed.len);
    if (good && (packed.failed || group->record.failed)) good = journal_no_memory(trouble);
    sb_text_close(&packed);
    close_file(&file);
    return good;
}

// ---- and back -----------------------------------------------------------------------------------

static bool damaged(Trouble *trouble, const char *name) {
    return trouble_set(trouble, TROUBLE_JOURNAL_DAMAGED,
                       "'%s', which an earlier run wrote, is gone or was changed", name);
}

static bool get_bytes(Trouble *trouble, RunFile *file, int64_t len) {
    if (!durable_get(file->fd, file->buffer, len, file->at)) return damaged(trouble, file->name);
    checksum_add(file->sum, file->buffer, len);
    file->at += len;
    return true;
}

// The index of a run that lies in a spill file now, which may do without one.
static bool take_index(Resume *resume, RunFile *file, SpillRun *run, int64_t count, int64_t every) {
    enum { SOME = COPY_BYTES / sizeof(SpillMark) };
    SpillIndex *index = count > 0 ? spill_index_open(resume->spill) : nullptr;
    SpillMark *marks = (SpillMark *)(void *)file->buffer;
    bool good = true;
    for (int64_t at = 0, some; good && at < count; at += some) {
        some = count - at < SOME ? count - at : SOME;
        good = get_bytes(resume->trouble, file, some * (int64_t)sizeof *marks);
        for (int64_t i = 0; good && index && i < some; i++) {
            marks[i].at += run->begin;
            if (!index->lost) spill_index_add(index, &marks[i]);
        }
    }
    bool keeps = good && index && !index->lost;
    if (keeps) index->every *= every;
    else spill_index_close(index);
    run->index = keeps ? index : nullptr;
    return good;
}

// Copies the run to the end of a spill file; its bytes are added to the checksum.
static bool take_run(Resume *resume, RunFile *file, Unpack *from) {
    enum : uint32_t { LANE = 0 };
    Spill *spill = resume->spill;
    int64_t breaker = unpack_number(from), len = unpack_number(from);
    SpillRun like = {.is_safe = true}, run;
    like.rows = unpack_number(from);
    like.bytes = unpack_number(from);
    like.block_max = unpack_number(from);
    like.longest_at = unpack_number(from);
    like.packed_max = unpack_number(from);
    int64_t marks = unpack_number(from), every = unpack_number(from);
    bool known = !from->bad && breaker >= 0 && breaker < resume->what->breaker_count &&
                 resume->what->breakers[breaker].kind != SB_BREAK_EDGE;
    if (!known) return damaged(resume->trouble, file->name);
    if (!dispatch_open_breaker(resume->d, (uint32_t)breaker)) return false;
    if (!spill_begin(spill, LANE)) return spill_trouble(spill, resume->trouble), false;
    for (int64_t at = 0; at < len;) {
        int64_t some = len - at < COPY_BYTES ? len - at : COPY_BYTES;
        if (!get_bytes(resume->trouble, file, some)) return false;
        if (!spill_copy_in(spill, LANE, file->buffer, some))
            return spill_trouble(spill, resume->trouble), false;
        at += some;
    }
    if (!spill_end_like(spill, LANE, &like, &run)) return journal_no_memory(resume->trouble);
    if (!take_index(resume, file, &run, marks, every)) return false;
    return sb_breaker_add_run(resume->breakers[breaker], &run) ||
           journal_no_memory(resume->trouble);
}

static bool take_file(Resume *resume, RunFile *file, uint32_t number, SbStr packed) {
    Unpack from = {packed.ptr, packed.ptr + packed.len, false};
    file->name = file_name(resume, number);
    file->buffer = malloc(COPY_BYTES);
    file->sum = checksum_open();
    if (!file->name || !file->buffer || !file->sum) return journal_no_memory(resume->trouble);
    int64_t len = unpack_number(&from);
    Checksum sum = unpack_checksum(&from);
    int64_t runs = unpack_number(&from);
    file->fd = durable_open(file->name, false);
    if (file->fd < 0) return damaged(resume->trouble, file->name);
    for (int64_t r = 0; r < runs; r++)
        if (!take_run(resume, file, &from)) return false;
    return (file->at == len && checksum_same(checksum_value(file->sum), sum)) ||
           damaged(resume->trouble, file->name);
}

bool breakers_restore(Resume *resume) {
    const ResumeState *state = &resume->state;
    Unpack all = {state->run_files.ptr, state->run_files.ptr + state->run_files.len, false};
    for (uint32_t i = 0; i < state->run_file_count; i++) {
        RunFile file = {.fd = -1};
        bool good = take_file(resume, &file, i, unpack_bytes(&all));
        close_file(&file);
        if (!good) return false;
    }
    return true;
}

void breakers_remove(Resume *resume) {
    // One more may have been begun.
    for (uint32_t i = 0; i <= resume->state.run_file_count; i++) {
        char *name = file_name(resume, i);
        if (name) durable_remove(name);
        free(name);
    }
}
