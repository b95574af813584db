#define _GNU_SOURCE
#include "runtime/output/manifest.h"

#include <stdlib.h>
#include <string.h>

char *manifest_name(SbStr path, SbStr shape) {
    char *name = nullptr, *all = nullptr;
    if (asprintf(&all, "%.*s%.*s", (int)path.len, path.ptr ? path.ptr : "", (int)shape.len,
                 shape.ptr ? shape.ptr : "") < 0) {
        return nullptr;
    }
    int len = (int)strlen(all);
    if (len > 0 && all[len - 1] == '/') len--;
    for (int i = (int)path.len; i < len; i++)
        if (all[i] == '/') all[i] = '-';
    if (asprintf(&name, "%.*s" MANIFEST_ENDING, len, all) < 0) name = nullptr;
    free(all);
    return name;
}

static SbStr str_of(const char *text) { return (SbStr){text, (int64_t)strlen(text)}; }

char *manifest_path(const Sink *sink) {
    if (sink->front) return manifest_name(str_of(sink->front), sink->what->shape);
    return manifest_name(str_of(sink->path), (SbStr){0});
}

// What follows the values on its first line, the first of them in front of all.
static const char *const fields[] = {"{\"program\":", ",\"source\":", ",\"plan\":", ",\"rows\":",
                                     ",\"files\":["};
enum { FIELDS = sizeof fields / sizeof *fields };

void manifest_text(const SbJob *what, const Sink *sink, Text *text) {
    char sum[CHECKSUM_DIGITS + 1];
    checksum_text(checksum_of(what->plan.ptr, what->plan.len), sum);
    sb_text_str(text, fields[0]);
    sb_text_add_json(text, what->name.ptr, what->name.len);
    sb_text_str(text, fields[1]);
    sb_text_add_json(text, what->source_hash.ptr, what->source_hash.len);
    sb_text_format(text, "%s\"%s\"%s%lld%s", fields[2], sum, fields[3], (long long)sink->rows,
                   fields[4]);
    for (uint32_t p = 0; p < sink->part_count; p++) {
        const SinkPart *part = sink->parts[p];
        const DurableBase *base = &part->file.base;
        checksum_text(part->sum, sum);
        sb_text_format(text, "%s\n  {\"path\":", p ? "," : "");
        sb_text_add_json(text, part->file.path, (int64_t)strlen(part->file.path));
        sb_text_format(text, ",\"bytes\":%lld", (long long)part->size);
        if (base->appends) sb_text_format(text, ",\"old_bytes\":%lld", (long long)base->size);
        sb_text_format(text, ",\"xxh3_128\":\"%s\"}", sum);
    }
    sb_text_str(text, "\n]}\n");
}

// Has it the fields, in their order?
static bool is_one(const char *path) {
    enum { FRONT = 4096 };
    char front[FRONT + 1];
    int64_t len = durable_front(path, front, FRONT);
    if (len < 0) return false;
    front[len] = '\0';
    if (strncmp(front, fields[0], strlen(fields[0])) != 0) return false;
    const char *at = front;
    for (int f = 0; f < FIELDS && at; f++) at = strstr(at, fields[f]);
    return at;
}

bool manifest_check(const Sink *sink, Trouble *trouble) {
    char *path = manifest_path(sink);
    if (!path) return trouble_no_memory(trouble, "for a path");
    bool good = true;
    if (durable_is_folder(path)) {
        good = trouble_set(trouble, TROUBLE_OUTPUT_PATH, "'%s' is a folder: the manifest of '%s' "
                           "has its name", path, sink->path);
    } else if (!sink->replace && durable_is_there(path) && !is_one(path)) {
        good = trouble_set(trouble, TROUBLE_OUTPUT_EXISTS,
                           "'%s' exists, and is no manifest of an output", path);
    }
    free(path);
    return good;
}

bool manifest_remove(const Sink *sink, bool synced, Trouble *trouble) {
    if (sink->to_stream) return true;
    char *path = manifest_path(sink);
    if (!path) return trouble_no_memory(trouble, "for a path");
    bool removed = ((sink->journaled && sink->replace) || is_one(path)) && durable_remove(path);
    bool good = !removed || synced || durable_sync_folder_of(path, trouble);
    free(path);
    return good;
}
