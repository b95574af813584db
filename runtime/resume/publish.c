// Resume publish: the record PUBLISH, what it leads to, and the closing figures it keeps.
#define _GNU_SOURCE
#include "runtime/host.h"
#include "runtime/output.h"
#include "runtime/resume/run.h"

#include <stdlib.h>
#include <string.h>

// ---- the record -------------------------------------------------------------------------------
//
//   figures that tasks count; by source: label figures of its files; by sink: rows, bytes, files
//   files: temporary name, final name, replace, size, checksum, base
//   folders: path, extension, count of parts, replace
//   manifests: path, text

static void pack_figures(const SbJob *what, const JobIo *io, const int64_t *counts, Text *text) {
    for (uint32_t i = 0; i < sb_figure_count(what); i++) pack_number(text, counts[i]);
    for (uint32_t s = 0; s < what->source_count; s++) {
        const Source *source = &io->sources[s];
        pack_number(text, source->file_count);
        for (uint32_t f = 0; f < source->file_count; f++) {
            pack_string(text, source->files[f].path);
            pack_number(text, source->files[f].rows);
            pack_number(text, source->files[f].bytes);
        }
    }
    pack_number(text, io->has_rejects_sink);
    for (uint32_t s = 0; s < what->sink_count + io->has_rejects_sink; s++) {
        pack_string(text, io->sinks[s].path);
        pack_number(text, io->sinks[s].rows);
        pack_number(text, io->sinks[s].bytes);
        pack_number(text, io->sinks[s].files);
        pack_number(text, io->sinks[s].to_stream);
    }
}

// Sinks that are files or folders, one after the other.
static Sink *next_sink(const SbJob *what, const JobIo *io, uint32_t *at) {
    while (*at < what->sink_count + io->has_rejects_sink) {
        Sink *sink = &io->sinks[(*at)++];
        if (!sink->to_stream) return sink;
    }
    return nullptr;
}

static void pack_files(const SbJob *what, const JobIo *io, Text *text) {
    uint32_t at = 0;
    int64_t count = 0;
    for (Sink *sink; (sink = next_sink(what, io, &at));) count += sink->part_count;
    pack_number(text, count);
    at = 0;
    for (Sink *sink; (sink = next_sink(what, io, &at));) {
        for (uint32_t p = 0; p < sink->part_count; p++) {
            const SinkPart *part = sink->parts[p];
            pack_string(text, part->file.temporary);
            pack_string(text, part->file.path);
            pack_number(text, part->file.replace);
            pack_number(text, part->size);
            pack_checksum(text, part->sum);
            const DurableFile *is = &part->file;
            DURABLE_BASE_FIELDS(PACK_NUMBER, base)
        }
    }
}

// Each folder of parts of an output.
static int64_t pack_folders_of(const Sink *sink, Text *text) {
    int64_t count = 0;
    for (uint32_t p = 0, end; sink->folder && p < sink->part_count; p = end, count++) {
        end = sink_folder_end(sink, p);
        if (!text) continue;
        const char *path = sink->parts[p]->file.path;
        char *folder = strndup(path, (size_t)(strrchr(path, '/') + 1 - path));
        text->failed |= !folder;
        pack_string(text, folder ? folder : "");
        free(folder);
        pack_string(text, sink->what->writer->extension);
        pack_number(text, end - p);
        pack_number(text, sink->replace);
    }
    return count;
}

static void pack_folders(const SbJob *what, const JobIo *io, Text *text) {
    uint32_t at = 0;
    int64_t count = 0;
    for (Sink *sink; (sink = next_sink(what, io, &at));) count += pack_folders_of(sink, nullptr);
    pack_number(text, count);
    at = 0;
    for (Sink *sink; (sink = next_sink(what, io, &at));) pack_folders_of(sink, text);
}

// An output by key that got no rows has no files, and maybe no folder.
static void pack_manifests(const SbJob *what, const JobIo *io, Text *text) {
    uint32_t at = 0;
    int64_t count = 0;
    for (Sink *sink; (sink = next_sink(what, io, &at));) count += sink->part_count > 0;
    pack_number(text, count);
    at = 0;
    for (Sink *sink; (sink = next_sink(what, io, &at));) {
        Text manifest = {0};
        if (sink->part_count == 0) continue;
        char *path = manifest_path(sink);
        manifest_text(what, sink, &manifest);
        pack_string(text, path ? path : "");
        pack_bytes(text, manifest.ptr, manifest.len);
        text->failed |= !path | manifest.failed;
        free(path);
        sb_text_close(&manifest);
    }
}

// The names of the temporary files have to be safe before the record speaks of them. Manifests that
// an earlier job left go with the same sync: none of them outlives what it speaks of.
static bool sync_names(const SbJob *what, const JobIo *io, Trouble *trouble) {
    uint32_t at = 0;
    for (Sink *sink; (sink = next_sink(what, io, &at));)
        if (!manifest_remove(sink, true, trouble)) return false;
    at = 0;
    for (Sink *sink; (sink = next_sink(what, io, &at));) {
        if (sink->part_count == 0) continue;
        char *manifest = manifest_path(sink);
        bool good = manifest && sink_sync_folders(sink, trouble) &&
                    durable_sync_folder_of(manifest, trouble);
        free(manifest);
        if (!good) return false;
    }
    return true;
}

// Before anything is done that others see: after the record there is no way back to the rows.
static bool check_names(const SbJob *what, const JobIo *io, Trouble *trouble) {
    uint32_t at = 0;
    for (Sink *sink; (sink = next_sink(what, io, &at));)
        if (!sink_check_names(sink, trouble)) return false;
    return true;
}

bool resume_publish(Job *job) {
    Resume *resume = job->resume;
    const SbJob *what = job->ask.what;
    const JobIo *io = &job->io;
    Text text = {0};
    pack_figures(what, io, job->figures.counts, &text);
    pack_files(what, io, &text);
    pack_folders(what, io, &text);
    pack_manifests(what, io, &text);
    if (text.failed)
        journal_no_memory(&job->trouble);
    bool good = !text.failed && check_names(what, io, &job->trouble) &&
                sync_names(what, io, &job->trouble);
    failpoint("publish-begins");
    good = good && journal_append(&resume->journal, RECORD_PUBLISH, text.ptr, text.len,
                                  &job->trouble);
    if (!good) {
        sb_text_close(&text);
        return false;
    }
    resume->state.publish = (SbStr){text.ptr, text.len};
    failpoint("publish-recorded");
    good = resume_finish(job);
    resume->state.publish = (SbStr){0};
    sb_text_close(&text);
    return good;
}

// ---- what it leads to -------------------------------------------------------------------------

// The figures of a run that made all rows, for the summary of the one that publishes them.
static bool take_figures(const SbJob *what, JobIo *io, int64_t *counts, Unpack *from) {
    uint32_t figures = sb_figure_count(what);
    for (uint32_t i = 0; i < figures; i++) counts[i] = unpack_number(from);
    for (uint32_t s = 0; s < what->source_count; s++) {
        uint32_t count = unpack_count(from, 3 * sizeof(int64_t));
        Source *source = &io->sources[s];
        bool empty = !source->files;
        if (empty) source->files = calloc((size_t)count + 1, sizeof *source->files);
        if (!source->files) return false;
        source->what = &what->sources[s];
        for (uint32_t f = 0; f < count; f++) {
            SourceFile *file = f < source->file_count || empty ? &source->files[f] : nullptr;
            SourceFile found = {.path = unpack_string(from), .fd = -1};
            found.rows = unpack_number(from);
            found.bytes = unpack_number(from);
            if (!file) continue;
            if (empty) *file = found;
            file->rows = found.rows;
            file->bytes = found.bytes;
        }
        if (empty) source->file_count = count;
    }
    io->has_rejects_sink = unpack_number(from) != 0;
    for (uint32_t s = 0; s < what->sink_count + io->has_rejects_sink; s++) {
        const char *path = unpack_string(from);
        Sink *sink = &io->sinks[s];
        if (!sink->path) sink->path = strdup(path);
        sink->rows = unpack_number(from);
        sink->bytes = unpack_number(from);
        sink->files = unpack_number(from);
        sink->to_stream = unpack_number(from) != 0;
    }
    return !from->bad;
}

enum : int64_t { FILE_BYTES_LEAST = 13 * sizeof(int64_t) };  // Of one in the record.

typedef struct PublishedFile {
    const char *temporary, *path;
    bool        replace;
    int64_t     size;
    Checksum    sum;
    DurableBase base;
} PublishedFile;

// `replace`: what goes on replaces what is there, whatever the run did that made the rows.
static PublishedFile unpack_file(Unpack *from, bool replace) {
    PublishedFile file = {.temporary = unpack_string(from), .path = unpack_string(from)};
    file.replace = (unpack_number(from) != 0) | replace;
    file.size = unpack_number(from);
    file.sum = unpack_checksum(from);
    PublishedFile *is = &file;
    DURABLE_BASE_FIELDS(UNPACK_NUMBER, base)
    return file;
}

// Of a file that appends the rows cannot be made again: what changed under its name stays there.
static bool same_base(const PublishedFile *file, Trouble *trouble) {
    if (durable_check_base(file->path, &file->base, trouble)) return true;
    trouble_fix(trouble, "bring the file back, or begin anew with an empty folder: --resume=DIR");
    return false;
}

static bool rename_file(const PublishedFile *file, Trouble *trouble) {
    return file->base.appends
               ? durable_rename_base(file->temporary, file->path, &file->base, file->size, trouble)
               : durable_rename(file->temporary, file->path, file->replace, file->size, trouble);
}

// The names of those that are not renamed yet. `from` is a copy.
static bool names_are_free(Unpack from, uint32_t count, bool replace, Trouble *trouble) {
    for (uint32_t i = 0; i < count; i++) {
        PublishedFile file = unpack_file(&from, replace);
        if (from.bad) return false;
        if (!durable_is_there(file.temporary)) continue;
        if (file.base.appends ? !same_base(&file, trouble)
                              : !durable_check_name(file.path, file.replace, trouble))
            return false;
    }
    return true;
}

static bool rename_files(Unpack *from, bool replace, Trouble *trouble) {
    uint32_t count = unpack_count(from, FILE_BYTES_LEAST);
    Unpack again = *from;
    if (!names_are_free(*from, count, replace, trouble)) return false;
    for (uint32_t i = 0; i < count; i++) {
        PublishedFile file = unpack_file(from, replace);
        if (from->bad || !rename_file(&file, trouble)) return false;
        failpoint("renamed");
    }
    const char *synced = nullptr;
    for (uint32_t i = 0; i < count; i++) {
        PublishedFile file = unpack_file(&again, replace);
        if (synced && sink_same_folder(synced, file.path)) continue;
        if (!durable_sync_folder_of(file.path, trouble)) return false;
        synced = file.path;
    }
    return true;
}

static bool clean_folders(Unpack *from, bool replace, Trouble *trouble) {
    uint32_t count = unpack_count(from, 4 * sizeof(int64_t));
    for (uint32_t i = 0; i < count; i++) {
        const char *path = unpack_string(from), *extension = unpack_string(from);
        uint32_t parts = (uint32_t)unpack_number(from);
        bool replaced = (unpack_number(from) != 0) | replace;
        if (from->bad) return false;
        if (!replaced) continue;
        sink_remove_parts(path, extension, parts);
        if (!durable_sync_folder_of(path, trouble)) return false;
    }
    return true;
}

static bool write_manifest(const Resume *resume, const char *path, SbStr text, Trouble *trouble) {
    DurableFile file;
    DurableSetup setup = {.path = path, .replace = true, .tag = resume->tag};
    bool good = durable_create(&file, &setup, trouble) &&
                durable_write(&file, text.ptr, text.len, 0, trouble) &&
                durable_sync(&file, trouble) && durable_publish(&file, trouble) &&
                durable_sync_folder_of(path, trouble);
    durable_close(&file);
    return good;
}

static bool write_manifests(const Resume *resume, Unpack *from, Trouble *trouble) {
    uint32_t count = unpack_count(from, 2 * sizeof(int64_t));
    for (uint32_t i = 0; i < count; i++) {
        const char *path = unpack_string(from);
        SbStr text = unpack_bytes(from);
        if (from->bad || !write_manifest(resume, path, text, trouble)) return false;
        failpoint("manifest");
    }
    return true;
}

bool resume_finish(Job *job) {
    Resume *resume = job->resume;
    SbStr publish = resume->state.publish;
    Unpack from = {publish.ptr, publish.ptr + publish.len, false};
    if (!take_figures(job->ask.what, &job->io, job->figures.counts, &from))
        return journal_no_memory(&job->trouble);
    bool open = resume->journal.fd >= 0 ||
                state_write(&resume->state, &resume->journal, &job->trouble);
    bool replace = job->ask.options.overwrite;
    if (!open || !rename_files(&from, replace, &job->trouble)) return false;
    failpoint("published");
    if (!clean_folders(&from, replace, &job->trouble) ||
        !write_manifests(resume, &from, &job->trouble)) {
        return false;
    }
    resume->finished = true;
    if (!journal_append(&resume->journal, RECORD_DONE, "", 0, &job->trouble)) return false;
    breakers_remove(resume);
    return true;
}

bool resume_check_outputs(Job *job) {
    SbStr publish = job->resume->state.publish;
    Unpack from = {publish.ptr, publish.ptr + publish.len, false};
    if (!take_figures(job->ask.what, &job->io, job->figures.counts, &from))
        return journal_no_memory(&job->trouble);
    uint32_t count = unpack_count(&from, FILE_BYTES_LEAST);
    for (uint32_t i = 0; i < count; i++) {
        PublishedFile file = unpack_file(&from, false);
        // Others may append to it since.
        int64_t size = durable_size(file.path);
        if (!from.bad && (size == file.size || (file.base.appends && size > file.size))) continue;
        return trouble_set(&job->trouble, TROUBLE_JOURNAL_OTHER,
                           "the job is finished, but its output '%s' is gone or was changed",
                           file.path);
    }
    return true;
}
