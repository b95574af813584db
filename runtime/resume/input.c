// Resume input: what is known of the input of a run, and whether it is the same when it goes on.
//
// Of each file its size, its time, and which columns its header names. Of each committed unit of
// text the first bytes, as they were read. So a file that was put in the place of another one, or
// whose rows moved, is found. That costs a checksum of a thousandth of what is read. A change
// within rows that are committed is not found, as these rows are not read again: the outputs hold
// what stood there.
#include "runtime/resume/run.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum : int64_t { BLOCK_BYTES = 4096, BLOCKS_MAX = 4096 };

// ---- what is known ------------------------------------------------------------------------------

static void add_text(Text *text, Text *part) {
    sb_text_add(part, "", 1);
    pack_bytes(text, part->ptr, part->len);
    text->failed |= part->failed;
    sb_text_close(part);
}

static void add_about(const Source *source, const SourceFile *file, Text *text) {
    Text about = {0};
    if (!S_ISREG(file->about.st_mode)) {
        sb_text_str(&about, "a stream");
    } else {
        struct tm utc;
        char stamp[40];
        gmtime_r(&file->about.st_mtim.tv_sec, &utc);
        strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
        sb_text_format(&about, "%lld bytes of %s.%09ldZ", (long long)file->about.st_size, stamp,
                       file->about.st_mtim.tv_nsec);
    }
    add_text(text, &about);
    if (!file->fields) return;
    Text name = {0}, columns = {0};
    sb_text_format(&name, "the header of '%s'", file->path);
    add_text(text, &name);
    uint32_t count = source->what->column_count;
    if (file->fields_len < count) count = file->fields_len;
    for (uint32_t c = 0; c < count; c++) {
        const SbStr column = source->what->columns[c].name;
        sb_text_format(&columns, "%s%.*s %u", c ? ", " : "", (int)column.len, column.ptr,
                       file->fields[c] + 1);
    }
    add_text(text, &columns);
}

void input_pairs(const SbJob *what, const Source *sources, Text *text) {
    for (uint32_t s = 0; s < what->source_count; s++) {
        const Source *source = &sources[s];
        for (uint32_t f = 0; f < source->file_count; f++) {
            Text name = {0};
            sb_text_format(&name, "'%s'", source->files[f].path);
            add_text(text, &name);
            add_about(source, &source->files[f], text);
        }
    }
}

void input_add_block(const StageRun *run, const Unit *unit, UnitTally *tally) {
    int64_t len = unit->end - unit->begin;
    bool text = run->stage->input == SB_INPUT_TEXT && !run->setup.files->files[unit->file].stream;
    if (!text || len <= 0) return;
    if (len > BLOCK_BYTES) len = BLOCK_BYTES;
    char bytes[BLOCK_BYTES];
    const char *front = unit->text ? unit->text + unit->begin : bytes;
    int64_t offset = unit->offset + unit->begin;
    // A worker had the text of the unit. What cannot be read now is not compared later.
    SourceFile *file = &run->setup.files->files[unit->file];
    if (!unit->text && source_read_once(file, bytes, len, offset) != len) return;
    tally->block = (InputBlock){.file = unit->file, .offset = offset, .len = len,
                                .sum = checksum_of(front, len)};
}

// ---- whether it is the same ---------------------------------------------------------------------

static bool changed(const Resume *resume, const SourceFile *file, const InputBlock *block) {
    return trouble_set(resume->trouble, TROUBLE_JOURNAL_INPUT,
                       "the %lld bytes from byte %lld of '%s' on are not those that the run read "
                       "whose journal is in '%s'", (long long)block->len,
                       (long long)block->offset, file->path, resume->journal.folder);
}

static bool check_block(const Resume *resume, SourceFile *file, const InputBlock *block) {
    char bytes[BLOCK_BYTES];
    if (block->len > BLOCK_BYTES || block->offset + block->len > file->size)
        return changed(resume, file, block);
    if (!source_file_open(file, resume->trouble)) return false;
    ssize_t got = source_read(file, bytes, block->len, block->offset);
    if (got < 0)
        return retry_fail(resume->trouble, errno, TROUBLE_READ_SOURCE, "read", file->path);
    return checksum_same(checksum_of(bytes, block->len), block->sum) ||
           changed(resume, file, block);
}

static InputBlock block_at(const Text *blocks, int64_t number) {
    InputBlock block;
    memcpy(&block, blocks->ptr + number * (int64_t)sizeof block, sizeof block);
    return block;
}

// All of them, or as many spread evenly; the last one too.
static bool check_root(const Resume *resume, Source *source, const Text *blocks) {
    int64_t count = blocks->len / (int64_t)sizeof(InputBlock);
    int64_t checks = count < BLOCKS_MAX ? count : BLOCKS_MAX;
    SourceFile *before = nullptr;
    bool good = true;
    for (int64_t i = 1; good && i <= checks; i++) {
        InputBlock block = block_at(blocks, i * count / checks - 1);
        SourceFile *file = block.file < source->file_count ? &source->files[block.file] : nullptr;
        if (before && before != file) source_file_shut(before);
        good = !file || check_block(resume, file, &block);
        before = file;
    }
    if (before) source_file_shut(before);
    return good;
}

bool input_check(Resume *resume) {
    const ResumeState *state = &resume->state;
    for (uint32_t s = 0; s < state->stage_count; s++) {
        const SbStage *stage = &resume->what->stages[s];
        if (stage->input != SB_INPUT_TEXT) continue;
        Source *source = &resume->sources[stage->input_index];
        if (!check_root(resume, source, &state->stages[s].blocks)) return false;
    }
    return true;
}
