#include "runtime/rows/rows.h"

#include "runtime/rows/batches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void rows_begin(SbRows *rows, struct SbRowsState *state, SbMemory *memory,
                       int64_t entry_bytes) {
    *rows = (SbRows){.state = state};
    *state = (struct SbRowsState){.entry_bytes = entry_bytes, .row = -1, .blocks = state->few,
                                  .blocks_max = FEW_BLOCKS};
    sb_slab_open(&state->entries, memory);
    sb_slab_open(&state->texts, memory);
}

int32_t sb_rows_init(SbRows *rows, SbMemory *memory, int64_t entry_bytes) {
    struct SbRowsState *state = malloc(sizeof *state);
    *rows = (SbRows){0};
    if (!state) return SB_FAULT_TOO_LARGE;
    rows_begin(rows, state, memory, entry_bytes);
    return SB_OK;
}

static void forget_order(struct SbRowsState *state) {
    if (state->order_bytes > 0)
        sb_memory_give_shared(state->entries.memory, state->order, state->order_bytes);
    state->order = nullptr;
    state->order_bytes = 0;
}

static void rows_end(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    forget_order(state);
    sb_rows_uncover(rows);
    sb_slab_close(&state->entries);
    sb_slab_close(&state->texts);
    if (state->blocks != state->few) free(state->blocks);
}

void sb_rows_fini(SbRows *rows) {
    if (!rows->state) return;
    rows_end(rows);
    free(rows->state);
    *rows = (SbRows){0};
}

// Rows and their state in one piece of memory.
typedef struct OpenRows {
    SbRows rows;
    struct SbRowsState state;
} OpenRows;

SbRows *sb_rows_open(SbMemory *memory, int64_t entry_bytes, int64_t wanted) {
    OpenRows *open = malloc(sizeof *open);
    if (!open) return nullptr;
    rows_begin(&open->rows, &open->state, memory, entry_bytes);
    open->state.entries.wanted = open->state.texts.wanted = wanted;
    open->state.entries.shared = open->state.texts.shared = true;
    return &open->rows;
}

void sb_rows_close(SbRows *rows) {
    if (!rows) return;
    rows_end(rows);
    free(rows);
}

void sb_rows_give_up(SbRows *rows, SbBlockFn *fn, void *arg) {
    struct SbRowsState *state = rows->state;
    if (state->order_bytes > 0) fn(arg, state->order, state->order_bytes);
    state->order_bytes = 0;
    sb_slab_give_up(&state->entries, fn, arg);
    sb_slab_give_up(&state->texts, fn, arg);
    sb_rows_close(rows);
}

int64_t sb_rows_bytes(const SbRows *rows) {
    const struct SbRowsState *state = rows->state;
    return state->entries.bytes + state->texts.bytes + state->order_bytes;
}

void sb_rows_share(SbRows *rows) {
    rows->state->entries.shared = rows->state->texts.shared = true;
}

bool sb_rows_adopt(SbRows *rows, SbMemory *memory, int64_t entry_bytes, RowBlock *blocks,
                   int64_t block_count) {
    if (sb_rows_init(rows, memory, entry_bytes)) return false;
    rows->state->blocks = blocks;
    rows->state->block_count = rows->state->blocks_max = block_count;
    for (int64_t i = 0; i < block_count; i++) rows->count += blocks[i].count;
    return true;
}

// ---- relief -------------------------------------------------------------------------------------

static SbMemory *memory_of(const SbRows *rows) { return rows->state->entries.memory; }

void sb_rows_uncover(SbRows *rows) {
    sb_memory_release(memory_of(rows), rows->state->covered);
    rows->state->covered = 0;
}

// Charged from now on is what it takes to write the blocks that are left.
static void cover_less(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    int64_t count = 0;
    for (int64_t i = 0; i < state->block_count; i++) count += state->blocks[i].count;
    int64_t covered = state->relief ? count * state->relief->cover : 0;
    sb_memory_release(memory_of(rows), state->covered - covered);
    state->covered = covered;
}

// Lets go of all rows but the one that is being put together, if there is one: its entry is the
// last that was taken.
static void let_go(SbRows *rows, bool in_row) {
    struct SbRowsState *state = rows->state;
    rows->count = 0;
    state->row = in_row ? 0 : -1;
    if (!in_row) {
        sb_slab_close(&state->entries);
        sb_slab_close(&state->texts);
        state->block_count = 0;
        rows->at = rows->end = state->block_end = nullptr;
        sb_rows_uncover(rows);
        return;
    }
    char *row = rows->at - state->entry_bytes;
    sb_slab_drop_older(&state->entries, state->entries.blocks);
    sb_slab_drop_before(&state->texts, &state->row_texts);
    state->blocks[0] = (RowBlock){row, (state->block_end - row) / state->entry_bytes};
    state->block_count = 1;
    cover_less(rows);
}

// Lets go of those before the mark.
static void let_go_before(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    RowsMark *mark = &state->mark;
    RowBlock *last = &state->blocks[mark->blocks - 1];  // Rows after it may lie there too.
    sb_slab_drop_older(&state->entries, mark->entries.block);
    struct SbSlabBlock *texts = mark->texts.block;
    sb_slab_drop_before(&state->texts, &mark->texts);
    bool dropped = texts && !mark->texts.block;
    if (dropped && state->row_texts.block == texts) state->row_texts = (SbSlabMark){0};
    last->count -= (mark->at - last->begin) / state->entry_bytes;
    last->begin = mark->at;
    state->block_count -= mark->blocks - 1;
    memmove(state->blocks, last, (size_t)state->block_count * sizeof *last);
    rows->count -= mark->count;
    state->row -= mark->count;
    mark->count = 0;
    mark->blocks = 1;
    cover_less(rows);
}

void sb_rows_reset(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    forget_order(state);
    sb_slab_reset(&state->entries);
    sb_slab_reset(&state->texts);
    state->block_count = 0;
    state->row = -1;
    state->row_texts = (SbSlabMark){0};
    rows->count = 0;
    rows->at = rows->end = state->block_end = nullptr;
}

void sb_rows_clear(SbRows *rows) { let_go(rows, false); }

bool sb_rows_become(SbRows *rows, SbRows *from) {
    struct SbRowsState *state = rows->state, *other = from->state;
    int64_t covered = 0, before = state->covered;
    for (int64_t i = 0; state->relief && i < other->block_count; i++)
        covered += other->blocks[i].count * state->relief->cover;
    if (covered > before && !sb_memory_charge(memory_of(rows), covered - before)) return false;
    if (covered < before) sb_memory_release(memory_of(rows), before - covered);
    state->covered = 0;  // What is charged now is for the rows of `from`.
    let_go(rows, false);
    state->covered = covered;
    if (state->blocks != state->few) free(state->blocks);
    bool few = other->blocks == other->few;
    if (few) memcpy(state->few, other->few, sizeof state->few);
    state->blocks = few ? state->few : other->blocks;
    state->block_count = other->block_count;
    state->blocks_max = other->blocks_max;
    state->entries = other->entries;
    state->texts = other->texts;
    state->block_end = other->block_end;
    rows->count = from->count;
    rows->at = from->at;
    rows->end = from->end;
    free(other);
    *from = (SbRows){0};
    return true;
}

static void shrink_if_many(SbRows *rows) {
    RowsShrink *shrink = rows->state->shrink;
    if (shrink && !rows->state->mark.is && rows->count >= shrink->at) shrink->shrink(shrink, rows);
}

static bool relieve(SbRows *rows, bool in_row) {
    RowsRelief *relief = rows->state->relief;
    RowsMark *mark = &rows->state->mark;
    bool before = mark->is && mark->count > 0;
    int64_t count = before ? mark->count : rows->count;
    bool good = relief->write(relief, rows, count, before || !mark->is);
    mark->gone |= mark->is && !before;
    if (before) let_go_before(rows);
    else let_go(rows, in_row);
    sb_memory_calm(memory_of(rows));
    return good;
}

void sb_rows_mark(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    assert(!state->mark.is);
    shrink_if_many(rows);
    state->mark = (RowsMark){.is = true, .count = rows->count, .blocks = state->block_count,
                             .at = rows->at, .block_end = state->block_end,
                             .entries = sb_slab_mark(&state->entries),
                             .texts = sb_slab_mark(&state->texts)};
}

bool sb_rows_keep(SbRows *rows) {
    bool gone = rows->state->mark.gone;
    rows->state->mark = (RowsMark){0};
    return !gone || rows->state->relief->settle(rows->state->relief, true);
}

void sb_rows_back(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    const RowsMark mark = state->mark;
    state->mark = (RowsMark){0};
    if (mark.gone) state->relief->settle(state->relief, false);
    if (mark.gone || mark.count == 0) {
        let_go(rows, false);
        return;
    }
    sb_slab_back(&state->entries, &mark.entries);
    sb_slab_back(&state->texts, &mark.texts);
    state->block_count = mark.blocks;
    rows->count = mark.count;
    rows->at = mark.at;
    rows->end = state->block_end = mark.block_end;
    state->row = -1;
    cover_less(rows);
}

void sb_rows_leave(SbRows *rows, SbBlockFn *fn, void *arg) {
    sb_slab_give_up(&rows->state->entries, fn, arg);
    sb_slab_give_up(&rows->state->texts, fn, arg);
    let_go(rows, false);
}

bool sb_rows_relieve(SbRows *rows) { return rows->count == 0 || relieve(rows, false); }

// Before more memory is taken. False: what was to be written could not be.
static bool relieve_if_short(SbRows *rows, bool in_row) {
    const RowsRelief *relief = rows->state->relief;
    if (!relief || rows->count == 0 || !sb_memory_is_short(memory_of(rows)) ||
        (sb_rows_bytes(rows) < relief->bytes_min && !memory_of(rows)->eager)) {
        return true;
    }
    return relieve(rows, in_row);
}

// When memory was refused. True: there is more now.
static bool relieve_if_any(SbRows *rows, bool in_row) {
    return rows->state->relief && rows->count > 0 && relieve(rows, in_row);
}

// A row's first text or value.
static void note_row(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    if (state->row == rows->count) return;
    state->row = rows->count;
    state->row_texts = sb_slab_mark(&state->texts);
}

// ---- taking memory ------------------------------------------------------------------------------

static bool more_blocks(struct SbRowsState *state) {
    bool few = state->blocks == state->few;
    int64_t max = state->blocks_max * 2;
    RowBlock *moved = realloc(few ? nullptr : state->blocks, (size_t)max * sizeof *moved);
    if (!moved) return false;
    if (few) memcpy(moved, state->few, sizeof state->few);
    state->blocks = moved;
    state->blocks_max = max;
    return true;
}

// A block of entries, with what it takes to write them.
static bool grow(SbRows *rows, int64_t entry_bytes) {
    enum { EAGER_ROWS = 3 };
    struct SbRowsState *state = rows->state;
    if (!sb_slab_grow(&state->entries, entry_bytes)) return false;
    int64_t fit = (state->entries.end - state->entries.at) / entry_bytes;
    if (state->relief && memory_of(rows)->eager && fit > EAGER_ROWS) fit = EAGER_ROWS;
    int64_t cover = state->relief ? fit * state->relief->cover : 0;
    if (!sb_memory_charge(memory_of(rows), cover)) {
        sb_slab_drop_newest(&state->entries);
        return false;
    }
    state->covered += cover;
    state->blocks[state->block_count++] = (RowBlock){state->entries.at, fit};
    rows->end = state->block_end = state->entries.at + fit * entry_bytes;
    return true;
}

int64_t sb_rows_used(const SbRows *rows) {
    const struct SbRowsState *state = rows->state;
    return state->entries.bytes - (state->block_end - rows->at) + state->texts.bytes -
           (state->texts.end - state->texts.at);
}

// A new block of entries. False: over the limit.
static bool begin_block(SbRows *rows, int64_t entry_bytes) {
    struct SbRowsState *state = rows->state;
    shrink_if_many(rows);
    if (rows->at != state->block_end) return true;
    if (state->block_count == state->blocks_max && !more_blocks(state)) return false;
    if (!relieve_if_short(rows, false)) return false;
    while (!grow(rows, entry_bytes))
        if (!relieve_if_any(rows, false)) return false;
    rows->at = state->entries.at;
    return true;
}

// The row that begins now may be the last of a piece of a batch. The next one that is comes here
// too.
static void mind_batch(SbRows *rows, int64_t entry_bytes, RowsGrowth *growth) {
    struct SbRowsState *state = rows->state;
    int64_t done = rows->count + 1;
    int64_t end = batches_piece_end(state->batch, state->begin, rows->count) - state->begin;
    int64_t next = batches_piece_end(state->batch, state->begin, done) - state->begin;
    int64_t room = (state->block_end - rows->at) / entry_bytes;  // The row's own included.
    rows->end = next - done < room ? rows->at + (next - done) * entry_bytes : state->block_end;
    if (end == done) growth->piece = done, growth->next_piece = next;
}

SbEntry *rows_grow(SbRows *rows, int64_t entry_bytes, RowsGrowth *growth) {
    const struct SbRowsState *state = rows->state;
    *growth = (RowsGrowth){.memory = rows->at == state->block_end};
    if (growth->memory && !begin_block(rows, entry_bytes)) return nullptr;
    if (state->batch) mind_batch(rows, entry_bytes, growth);
    char *entry = rows->at;
    rows->at += entry_bytes;
    return (SbEntry *)(void *)entry;
}

const char *rows_text(SbRows *rows, const char *ptr, int64_t len, bool *grew) {
    SbSlab *texts = &rows->state->texts;
    int64_t bytes = texts->bytes;
    *grew = false;
    note_row(rows);
    if (len >= texts->end - texts->at && !relieve_if_short(rows, true)) return nullptr;
    char *copy = sb_slab_text(texts, len);
    while (!copy && relieve_if_any(rows, true)) copy = sb_slab_text(texts, len);
    if (copy && len) memcpy(copy, ptr, (size_t)len);
    *grew = texts->bytes != bytes;
    return copy;
}

int32_t rows_nested(SbRows *rows, const SbType *type, void *value, bool *grew) {
    SbSlab *texts = &rows->state->texts;
    int64_t bytes = texts->bytes;
    *grew = false;
    note_row(rows);
    if (!relieve_if_short(rows, true)) return SB_FAULT_TOO_LARGE;
    int32_t status = sb_slab_nested(texts, type, value);
    // What of the value was copied lies among the row's texts and can be copied once more.
    while (status && relieve_if_any(rows, true)) status = sb_slab_nested(texts, type, value);
    *grew = texts->bytes != bytes;
    return status;
}

bool sb_rows_next_span(const SbRows *rows, RowSpan *span) {
    const struct SbRowsState *state = rows->state;
    if (span->block == state->block_count) return false;
    bool last = span->block == state->block_count - 1;
    const RowBlock *block = &state->blocks[span->block];
    int64_t count = last ? rows->count - span->rows : block->count;
    *span = (RowSpan){.begin = block->begin, .count = count, .entry_bytes = state->entry_bytes,
                      .block = span->block + 1, .rows = span->rows + count};
    return true;
}

int64_t sb_rows_list_some(const SbRows *rows, int64_t first, int64_t count, const SbEntry **out) {
    int64_t listed = 0;
    RowSpan span = {0};
    while (listed < count && sb_rows_next_span(rows, &span)) {
        int64_t skipped = first + listed - (span.rows - span.count);  // Of the span.
        for (int64_t i = skipped; i < span.count && listed < count; i++)
            out[listed++] = span_entry(&span, i);
    }
    return listed;
}

void sb_rows_list(const SbRows *rows, const SbEntry **out) {
    sb_rows_list_some(rows, 0, rows->count, out);
}

const SbEntry *const *sb_rows_entries(SbRows *rows) {
    struct SbRowsState *state = rows->state;
    if (state->order || !rows->count) return state->order;
    int64_t bytes = rows->count * (int64_t)sizeof *state->order;
    if (bytes <= state->block_end - rows->at) {
        state->order = (const SbEntry **)(void *)rows->at;
        rows->end = state->block_end = rows->at;
        sb_rows_list(rows, state->order);
        return state->order;
    }
    state->order = sb_memory_take_shared(state->entries.memory, bytes);
    if (!state->order) return nullptr;
    state->order_bytes = bytes;
    sb_rows_list(rows, state->order);
    return state->order;
}
