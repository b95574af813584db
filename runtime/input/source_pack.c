#include "runtime/input/source_pack.h"

#include "runtime/input/glob.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_FIELDS(NUMBER) \
    NUMBER(opened) NUMBER(fields_len) NUMBER(field_count) NUMBER(begin) NUMBER(begin_lines)

static void pack_header(Text *text, const SourceFile *is) {
    HEADER_FIELDS(PACK_NUMBER)
    pack_bytes(text, (const char *)is->fields, is->fields_len * (int64_t)sizeof *is->fields);
}

static bool unpack_header(Unpack *from, SourceFile *is) {
    HEADER_FIELDS(UNPACK_NUMBER)
    SbStr fields = unpack_bytes(from);
    if (from->bad || fields.len != is->fields_len * (int64_t)sizeof *is->fields) return false;
    free(is->fields);
    is->fields = malloc((size_t)fields.len + 1);
    if (is->fields && fields.len > 0) memcpy(is->fields, fields.ptr, (size_t)fields.len);
    return is->fields;
}

// Until the first unit of a stream is cut, another thread may just be reading its header.
static void pack_file(Text *text, const SourceFile *is) {
    bool known = !is->stream || is->begun;
    pack_string(text, is->path);
    pack_number(text, is->stream);
    pack_number(text, is->stream ? 0 : is->size);
    pack_number(text, known);
    pack_bytes(text, (const char *)&is->about, sizeof is->about);
    if (known) pack_header(text, is);
}

void source_pack(Text *text, const Source *source) {
    pack_number(text, source->file_count);
    for (uint32_t i = 0; i < source->file_count; i++) pack_file(text, &source->files[i]);
}

void source_pack_header(Text *text, const Source *source, uint32_t file) {
    pack_number(text, file);
    pack_header(text, &source->files[file]);
}

bool source_unpack_header(Unpack *from, Source *source) {
    int64_t file = unpack_number(from);
    return file >= 0 && file < source->file_count && unpack_header(from, &source->files[file]);
}

static bool unpack_file(Unpack *from, char **path, SourceFile *is) {
    const char *name = unpack_string(from);
    is->stream = unpack_number(from) != 0;
    is->size = unpack_number(from);
    bool known = unpack_number(from) != 0;
    SbStr about = unpack_bytes(from);
    is->fd = -1;
    if (from->bad || about.len != sizeof is->about) return false;
    memcpy(&is->about, about.ptr, sizeof is->about);
    is->path = *path = glob_copy(name);
    return *path && (!known || unpack_header(from, is));
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
