#include "runtime/input/source_pack.h"

#include "runtime/input/glob.h"

#include <stdlib.h>
#include <string.h>

#define FILE_FIELDS(NUMBER) \
    NUMBER(stream) NUMBER(opened) NUMBER(size) NUMBER(field_count) NUMBER(begin) NUMBER(begin_lines)

static void pack_file(Text *text, const SourceFile *is) {
    pack_string(text, is->path);
    FILE_FIELDS(PACK_NUMBER)
    pack_bytes(text, (const char *)&is->about, sizeof is->about);
    pack_bytes(text, (const char *)is->fields, is->field_count * (int64_t)sizeof *is->fields);
}

void source_pack(Text *text, const Source *source) {
    pack_number(text, source->file_count);
    for (uint32_t i = 0; i < source->file_count; i++) pack_file(text, &source->files[i]);
}

static bool unpack_file(Unpack *from, char **path, SourceFile *is) {
    const char *name = unpack_string(from);
    FILE_FIELDS(UNPACK_NUMBER)
    SbStr about = unpack_bytes(from), fields = unpack_bytes(from);
    is->fd = -1;
    if (from->bad || about.len != sizeof is->about) return false;
    memcpy(&is->about, about.ptr, sizeof is->about);
    is->path = *path = glob_copy(name);
    is->fields = malloc((size_t)fields.len + 1);
    if (is->fields && fields.len > 0) memcpy(is->fields, fields.ptr, (size_t)fields.len);
    return *path && is->fields &&
           fields.len == is->field_count * (int64_t)sizeof *is->fields;
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
