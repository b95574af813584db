#include "runtime/task/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The decompressed bytes of a file in scratch memory. ptr nullptr with *too_long: over row_max.
static SbStr read_all(SbTaskState *state, const SourceFile *file, bool *too_long,
                      Trouble *trouble) {
    Source *source = state->setup->files;
    int64_t cap = file->stream ? 1 << 20 : file->size + 1, len = 0;
    *too_long = false;
    Stream *stream = stream_open(file->path, SB_ENCODING_UTF8, source->cancel_fd, trouble);
    char *bytes = stream ? sb_alloc(&state->files, cap) : nullptr;
    while (bytes) {
        int64_t got = stream_read(stream, bytes + len, cap - len, trouble);
        if (got < 0) bytes = nullptr;
        if (got <= 0) break;
        len += got;
        if (len > source->row_max) {
            *too_long = true;
            bytes = nullptr;
        } else if (len == cap) {
            cap = 2 * cap < source->row_max + 1 ? 2 * cap : source->row_max + 1;
            char *more = sb_alloc(&state->files, cap);
            if (more) memcpy(more, bytes, (size_t)len);
            bytes = more;
        }
    }
    stream_close(stream);
    if (!bytes && !*too_long) {
        trouble_set(trouble, TROUBLE_MEMORY, "no memory to read '%s'", file->path);
    }
    return (SbStr){bytes, len};
}

// False: the job ends with this file.
static bool reject_file(SbTaskState *state, uint32_t number) {
    const TaskSetup *setup = state->setup;
    const char *path = setup->files->files[number].path;
    uint32_t step = setup->source->step;
    RejectFacts facts = {
        .place = {.source = setup->files->number, .file = number, .step = step, .path = path,
                  .site = UINT32_MAX, .fails = setup->source->fails, .has_place = true,
                  .length = setup->files->files[number].size,
                  .fault = SB_FAULT_ROW_TOO_LONG},
        .raw = path, .raw_len = (int64_t)strlen(path),
    };
    state->into->counts[step * SB_COUNTS + SB_MADE]++;
    return task_reject(state, &facts) == SB_OK;
}

bool files_reject_long(SbTaskState *state) {
    for (int64_t i = 0; i < state->long_file_count; i++) {
        if (!reject_file(state, (uint32_t)state->long_files[i])) return false;
    }
    return true;
}

bool files_load(SbTaskState *state, Trouble *trouble) {
    Unit *unit = &state->unit;
    Source *source = state->setup->files;
    const SbSource *what = source->what;
    int64_t size = sizeof(SbEntry) + 16, count = unit->range_end - unit->range_begin, kept = 0;
    for (uint32_t i = 0; i < what->column_count; i++) {
        int64_t end = what->columns[i].offset + what->columns[i].type->size;
        if (end > size) size = end;
    }
    if (state->files.scratch) sb_scratch_close(&state->files);
    if (sb_scratch_open(&state->files, 1 << 20) != SB_OK) {
        return trouble_set(trouble, TROUBLE_MEMORY, "no memory to read files");
    }
    const SbEntry **entries = sb_alloc(&state->files, count * (int64_t)sizeof *entries);
    int64_t *too_long_files = sb_alloc(&state->files, count * (int64_t)sizeof *too_long_files);
    if (!entries || !too_long_files)
        return trouble_set(trouble, TROUBLE_MEMORY, "no memory to read files");
    state->long_files = too_long_files;
    state->long_file_count = 0;
    for (int64_t i = unit->range_begin; i < unit->range_end; i++) {
        SourceFile *file = &source->files[i];
        bool too_long;
        SbStr bytes = read_all(state, file, &too_long, trouble);
        if (!bytes.ptr && !too_long) return false;
        if (too_long) {
            too_long_files[state->long_file_count++] = i;
            continue;
        }
        if (file->stream) file->size = bytes.len;  // Only now known.
        SbEntry *entry = sb_alloc(&state->files, size);
        if (!entry) return trouble_set(trouble, TROUBLE_MEMORY, "no memory to read files");
        memset(entry, 0, (size_t)size);
        entry->order = (uint64_t)i;
        entry->hash = (uint64_t)bytes.len;
        SbStr path = {file->path, (int64_t)strlen(file->path)};
        what->reader->fill(what, path, bytes, entry);
        entries[kept++] = entry;
    }
    state->task.input.entries = entries;
    state->task.input.begin = unit->begin = 0;
    state->task.input.end = unit->end = kept;
    return true;
}
