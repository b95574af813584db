#include "runtime/crash/place.h"

#include <string.h>

// Line tables may keep the folder of a path apart, and name the rest.
static bool is_named(SbStr path, const char *name) {
    int64_t len = (int64_t)strlen(name), rest = path.len - len;
    if (rest < 0 || memcmp(path.ptr + rest, name, (size_t)len) != 0) return false;
    return rest == 0 || path.ptr[rest - 1] == '/';
}

Place place_of(const SbJob *job, Line line) {
    Place place = {.line = line.line, .column = line.column};
    for (uint32_t i = 0; line.file && line.line && i < job->file_count; i++) {
        const SbFile *file = &job->files[i];
        if (is_named(file->path, line.file)) place.file = file;
    }
    if (!place.file) return place;
    SbStr all = place.file->text;
    int64_t at = 0;
    for (uint32_t left = line.line - 1; left > 0 && at < all.len; at++) left -= all.ptr[at] == '\n';
    int64_t end = at;
    while (end < all.len && all.ptr[end] != '\n' && all.ptr[end] != '\r') end++;
    place.text = (SbStr){all.ptr + at, end - at};
    place.offset = (uint32_t)at + (line.column ? line.column - 1 : 0);
    return place;
}

const SbStepInfo *place_step(const SbJob *job, const Place *place) {
    const SbStepInfo *best = nullptr;
    for (uint32_t i = 0; i < job->step_count; i++) {
        const SbStepInfo *step = &job->steps[i];
        if (step->file >= job->file_count || &job->files[step->file] != place->file ||
            place->offset < step->begin || place->offset >= step->end)
            continue;
        if (!best || step->end - step->begin < best->end - best->begin) best = step;
    }
    return best;
}
