// Grow: room for what generated code makes: rows for edges and breakers, bytes for sinks. What
// grows may make the partition full.
#include "runtime/abi/calls.h"
#include "runtime/task/task.h"

#include <stdlib.h>

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
    int64_t cap = next_cap(state->cap), least = used + bytes + SB_SLACK;
    if (cap > state->wanted) cap = state->wanted > least ? state->wanted : least + OUT_BYTES_MIN;
    while (cap < least) cap *= 2;
    char *begin = nullptr;
    if (sb_memory_charge(state->memory, cap - state->cap)) {
        begin = realloc(state->begin, (size_t)cap);
        if (!begin) sb_memory_release(state->memory, cap - state->cap);
    }
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
