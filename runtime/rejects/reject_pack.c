#include "runtime/rejects/reject_pack.h"

#define REJECT_FIELDS(NUMBER) \
    NUMBER(source) NUMBER(file) NUMBER(step) NUMBER(stage) NUMBER(way) NUMBER(origin) \
    NUMBER(came) NUMBER(sequence) NUMBER(offset) NUMBER(length) NUMBER(line) NUMBER(row) \
    NUMBER(weight) NUMBER(site) NUMBER(fault)

void reject_pack(Text *text, const Reject *is) {
    pack_number(text, is->behind | is->has_place << 1 | is->has_line << 2 |
                          (is->path != nullptr) << 3 | is->result << 4 | is->fails << 5 |
                          is->goes_on << 6);
    REJECT_FIELDS(PACK_NUMBER)
    pack_bytes(text, is->message, is->message_len);
    pack_bytes(text, is->raw, is->raw_len);
}

bool reject_unpack(const SbJob *what, const Source *sources, Unpack *from, RejectList *list) {
    int64_t flags = unpack_number(from);
    Reject reject = {.behind = flags & 1, .has_place = flags & 2, .has_line = flags & 4,
                     .result = flags & 16, .fails = flags & 32, .goes_on = flags & 64},
           *is = &reject;
    REJECT_FIELDS(UNPACK_NUMBER)
    SbStr message = unpack_bytes(from), raw = unpack_bytes(from);
    if (from->bad || reject.step >= what->step_count || reject.stage >= what->stage_count)
        return false;
    if (flags & 8) {
        if (reject.source >= what->source_count) return false;
        const Source *source = &sources[reject.source];
        if (reject.file >= source->file_count) return false;
        reject.path = source->files[reject.file].path;
    }
    reject.message = (char *)(uintptr_t)message.ptr;
    reject.message_len = message.len;
    reject.raw = (char *)(uintptr_t)raw.ptr;
    reject.raw_len = raw.len;
    return rejects_copy(list, &reject);
}
