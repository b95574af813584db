#include "runtime/rows.h"

#include "runtime/breaker.h"

#include <stdlib.h>
#include <string.h>

int32_t sb_rows_init(SbRows *rows, SbMemory *memory, int64_t entry_bytes) {
    *rows = (SbRows){.state = calloc(1, sizeof *rows->state)};
    if (!rows->state) return SB_FAULT_TOO_LARGE;
    sb_slab_open(&rows->state->entries, memory);
    sb_slab_open(&rows->state->texts, memory);
    rows->state->entry_bytes = entry_bytes;
    return SB_OK;
}

void sb_rows_fini(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    if (!state) return;
    sb_memory_release(state->entries.memory, state->order_bytes);
    sb_slab_close(&state->entries);
    sb_slab_close(&state->texts);
    free(state->blocks);
    free(state->order);
    free(state);
    *rows = (SbRows){0};
}

SbRows *sb_rows_open(SbMemory *memory, int64_t entry_bytes) {
    SbRows *rows = malloc(sizeof *rows);
    if (rows && sb_rows_init(rows, memory, entry_bytes) == SB_OK) return rows;
    free(rows);
    return nullptr;
}

void sb_rows_close(SbRows *rows) {
    if (!rows) return;
    sb_rows_fini(rows);
    free(rows);
}

int64_t sb_rows_bytes(const SbRows *rows) {
    const struct SbRowsState *state = rows->state;
    return state->entries.bytes + state->texts.bytes + state->order_bytes;
}

// Generated code takes entries from [at, end); here the next block begins.
SbEntry *sb_rows_grow(SbTask *task, SbRows *rows, int64_t entry_bytes) {
    (void)task;
    struct SbRowsState *state = rows->state;
    if (state->block_count == state->blocks_max) {
        int64_t max = state->blocks_max ? state->blocks_max * 2 : 8;
        RowBlock *moved = realloc(state->blocks, (size_t)max * sizeof *moved);
        if (!moved) return nullptr;
        state->blocks = moved;
        state->blocks_max = max;
    }
    if (!sb_slab_grow(&state->entries, entry_bytes)) return nullptr;
    int64_t fit = (state->entries.end - state->entries.at) / entry_bytes;
    state->blocks[state->block_count++] = (RowBlock){state->entries.at, fit};
    rows->at = state->entries.at + entry_bytes;
    rows->end = state->entries.at + fit * entry_bytes;
    return (SbEntry *)(void *)state->entries.at;
}

const char *sb_rows_text(SbTask *task, SbRows *rows, const char *ptr, int64_t len) {
    (void)task;
    char *copy = sb_slab_text(&rows->state->texts, len);
    if (copy && len) memcpy(copy, ptr, (size_t)len);
    return copy;
}

int32_t sb_rows_nested(SbTask *task, SbRows *rows, const SbType *type, void *value) {
    (void)task;
    return sb_slab_nested(&rows->state->texts, type, value);
}

bool sb_rows_next_span(const SbRows *rows, RowSpan *span) {
    const struct SbRowsState *state = rows->state;
    if (span->block == state->block_count) return false;
    bool last = span->block == state->block_count - 1;
    const RowBlock *block = &state->blocks[span->block];
    int64_t count = last ? (rows->at - block->begin) / state->entry_bytes : block->count;
    *span = (RowSpan){block->begin, count, state->entry_bytes, span->block + 1};
    return true;
}

void sb_rows_list(const SbRows *rows, const SbEntry **out) {
    RowSpan span = {0};
    while (sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++) *out++ = span_entry(&span, i);
}

const SbEntry *const *sb_rows_entries(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    if (state->order || !rows->count) return state->order;
    int64_t bytes = rows->count * (int64_t)sizeof *state->order;
    if (!sb_memory_charge(state->entries.memory, bytes)) return nullptr;
    state->order = malloc((size_t)bytes);
    if (!state->order) {
        sb_memory_release(state->entries.memory, bytes);
        return nullptr;
    }
    state->order_bytes = bytes;
    sb_rows_list(rows, state->order);
    return state->order;
}
