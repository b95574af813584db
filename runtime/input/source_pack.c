#include "runtime/input/source_pack.h"

#include "runtime/input/glob.h"

#include <stdlib.h>
#include <string.h>

#define PLAIN_FIELDS(NUMBER) \
    NUMBER(size) NUMBER(opened) NUMBER(fields_len) NUMBER(field_count) NUMBER(begin) \
    NUMBER(begin_lines)

// Size and header of a stream are known to the task that reads it, perhaps just now in another
// thread. So they stay in the process.
static void pack_file(Text *text, const SourceFile *is) {
    pack_string(text, is->path);
    pack_number(text, is->stream);
    pack_bytes(text, (const char *)&is->about, sizeof is->about);
    if (is->stream) return;
    PLAIN_FIELDS(PACK_NUMBER)
    pack_bytes(text, (const char *)is->fields, is->fields_len * (int64_t)sizeof *is->fields);
}

void source_pack(Text *text, const Source *source) {
    pack_number(text, source->file_count);
    for (uint32_t i = 0; i < source->file_count; i++) pack_file(text, &source->files[i]);
}

static bool unpack_plain(Unpack *from, SourceFile *is) {
    PLAIN_FIELDS(UNPACK_NUMBER)
    SbStr fields = unpack_bytes(from);
    if (from->bad) return false;
    is->fields = malloc((size_t)fields.len + 1);
    if (is->fields && fields.len > 0) memcpy(is->fields, fields.ptr, (size_t)fields.len);
    return is->fields && fields.len == is->fields_len * (int64_t)sizeof *is->fields;
}

static bool unpack_file(Unpack *from, char **path, SourceFile *is) {
    const char *name = unpack_string(from);
    is->stream = unpack_number(from) != 0;
    SbStr about = unpack_bytes(from);
    is->fd = -1;
    if (from->bad || about.len != sizeof is->about) return false;
    memcpy(&is->about, about.ptr, sizeof is->about);
    is->path = *path = glob_copy(name);
    return *path && (is->stream || unpack_plain(from, is));
}

bool source_unpack(Unpack *from, Source *source) {
    uint32_t count = unpack_count(from, sizeof(int64_t));
    source->files = calloc(count + 1, sizeof *source->files);
    source->paths.paths = calloc(count + 1, sizeof *source->paths.paths);
    bool good = source->files && source->paths.paths && !from->bad;
    for (uint32_t i = 0; i < count && good; i++) {
        source->file_count = source->paths.count = i + 1;
        good = unpack_file(from, &source->paths.paths[i], &source->files[i]);
    }
    return good;
}
