// Grow: room for what generated code makes: rows for edges and breakers, bytes for sinks. What
// grows may make the partition full.
#include "runtime/abi/calls.h"
#include "runtime/task/task.h"

#include <string.h>

enum { OUT_BYTES_FIRST = 4 * 1024, OUT_BYTES_MIN = 64 * 1024 };

SbEntry *sb_rows_grow(SbTask *task, SbRows *rows, int64_t entry_bytes) {
    RowsGrowth growth;
    SbEntry *entry = rows_grow(rows, entry_bytes, &growth);
    if (!entry || !task) return entry;
    if (growth.memory) task_grew(task);
    if (growth.piece) task_piece(task, growth.piece, growth.next_piece);
    return entry;
}

const char *sb_rows_text(SbTask *task, SbRows *rows, const char *ptr, int64_t len) {
    bool grew;
    const char *copy = rows_text(rows, ptr, len, &grew);
    if (grew && task) task_grew(task);
    return copy;
}

int32_t sb_rows_nested(SbTask *task, SbRows *rows, const SbType *type, void *value) {
    bool grew;
    int32_t status = rows_nested(rows, type, value, &grew);
    if (grew && task) task_grew(task);
    return status;
}

// Small at first: partitions of few rows may wait for their turn by the thousand.
static int64_t next_cap(int64_t cap) {
    if (cap == 0) return OUT_BYTES_FIRST;
    return cap < OUT_BYTES_MIN ? 4 * cap : 2 * cap;
}

int32_t sb_out_grow(SbTask *task, SbOut *out, int64_t bytes) {
    SbOutState *state = out->state;
    int64_t used = state->begin ? out->at - state->begin : 0;
    int64_t cap = state->cap == 0 && state->first > 0 ? state->first : next_cap(state->cap);
    int64_t least = used + bytes + SB_SLACK;
    if (cap > state->wanted) cap = state->wanted > least ? state->wanted : least + OUT_BYTES_MIN;
    while (cap < least) cap *= 2;
    char *begin = sb_memory_resize_shared(state->memory, state->begin, state->cap, cap, used);
    if (!begin) {
        task->failure = (SbFailure){
            .site = UINT32_MAX, .fault = SB_FAULT_TOO_LARGE, .order = task->order};
        return SB_FAULT_TOO_LARGE;
    }
    state->begin = begin;
    state->cap = cap;
    out->at = begin + used;
    out->end = begin + cap - SB_SLACK;
    task_grew(task);
    return SB_OK;
}

// Is it the key of the last head?
static bool is_last_key(const SbOut *out, const char *key, int64_t len) {
    SbOutHead last;
    if (out->head == 0) return false;
    const char *at = out->state->begin + out->head - 1;
    memcpy(&last, at, sizeof last);
    return last.key_len == len && memcmp(at + sizeof last, key, (size_t)len) == 0;
}

int32_t sb_out_key(SbTask *task, SbOut *out, const char *key, int64_t len) {
    if (is_last_key(out, key, len)) return SB_OK;
    SbOutHead own = {.rows = out->rows, .key_len = len};
    int64_t bytes = (int64_t)sizeof own + len;
    int32_t status = bytes <= out->end - out->at ? SB_OK : sb_out_grow(task, out, bytes);
    if (status != SB_OK) return status;
    char *begin = out->state->begin;
    int64_t at = out->at - begin;
    if (out->head > 0) memcpy(begin + out->head - 1 + offsetof(SbOutHead, next), &at, sizeof at);
    memcpy(out->at, &own, sizeof own);
    memcpy(out->at + sizeof own, key, (size_t)len);
    out->at += bytes;
    out->head = at + 1;
    return SB_OK;
}
