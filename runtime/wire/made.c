#include "runtime/wire/made.h"

#include <stdlib.h>
#include <string.h>

// ---- blocks -------------------------------------------------------------------------------------

void wire_add_block(void *to, void *at, int64_t bytes) {
    WireBlocks *blocks = to;
    if (blocks->count == blocks->room) {
        uint32_t room = blocks->room ? 2 * blocks->room : 8;
        WireBlock *items = realloc(blocks->items, room * sizeof *items);
        blocks->failed |= !items;
        if (!items) return;
        blocks->items = items;
        blocks->room = room;
    }
    blocks->items[blocks->count++] = (WireBlock){at, bytes};
}

void wire_put_blocks(Text *text, const WireBlocks *blocks) {
    pack_number(text, blocks->count);
    for (uint32_t i = 0; i < blocks->count; i++) {
        pack_number(text, (int64_t)(uintptr_t)blocks->items[i].at);
        pack_number(text, blocks->items[i].bytes);
    }
}

bool wire_get_blocks(Unpack *from, WireBlocks *blocks) {
    uint32_t count = unpack_count(from, 2 * sizeof(int64_t));
    for (uint32_t i = 0; i < count; i++) {
        void *at = (void *)(uintptr_t)unpack_number(from);
        wire_add_block(blocks, at, unpack_number(from));
    }
    return !from->bad && !blocks->failed;
}

void wire_close_blocks(WireBlocks *blocks) {
    free(blocks->items);
    *blocks = (WireBlocks){0};
}

// ---- the head -----------------------------------------------------------------------------------

#define MADE_FIELDS(NUMBER) \
    NUMBER(task) NUMBER(kind) NUMBER(prepared) NUMBER(asks) NUMBER(buffer) NUMBER(busy) \
    NUMBER(memory)

void wire_put_made(Text *text, const Made *is) {
    MADE_FIELDS(PACK_NUMBER)
    if (is->prepared) wire_put_unit(text, &is->unit);
}

bool wire_get_made(Unpack *from, Made *is) {
    *is = (Made){0};
    MADE_FIELDS(UNPACK_NUMBER)
    if (is->prepared) wire_get_unit(from, &is->unit);
    return !from->bad && is->kind <= MADE_TROUBLE;
}

void wire_put_trouble(Text *text, const Trouble *trouble) {
    pack_number(text, trouble->kind);
    pack_string(text, trouble->text);
    pack_string(text, trouble->fix);
}

bool wire_get_trouble(Unpack *from, Trouble *trouble) {
    int64_t kind = unpack_number(from);
    const char *text = unpack_string(from), *fix = unpack_string(from);
    if (from->bad || kind <= TROUBLE_NONE || kind >= TROUBLE_END) return false;
    trouble_set(trouble, (TroubleKind)kind, "%s", text);
    if (*fix) trouble_fix(trouble, "%s", fix);
    return true;
}

// ---- partitions ---------------------------------------------------------------------------------

#define PARTITION_FIELDS(NUMBER)                                                            \
    NUMBER(last) NUMBER(begin) NUMBER(end) NUMBER(order) NUMBER(records) NUMBER(insides)    \
    NUMBER(made) NUMBER(status) NUMBER(stopped) NUMBER(starved) NUMBER(lacks) NUMBER(over)  \
    NUMBER(failure.site) NUMBER(failure.fault) NUMBER(failure.order) NUMBER(bytes) NUMBER(used)
#define ROWS_FIELDS(NUMBER) \
    NUMBER(count) NUMBER(bytes) NUMBER(used) NUMBER(len) NUMBER(sum.sum) \
    NUMBER(sum.numbers) NUMBER(sum.bytes)

// Most steps of a job count nothing in a partition of one stage.
static void put_counts(Text *text, const int64_t *counts, uint32_t count) {
    uint32_t some = 0;
    for (uint32_t i = 0; i < count; i++) some += counts[i] != 0;
    pack_number(text, some);
    for (uint32_t i = 0; i < count; i++) {
        if (counts[i] == 0) continue;
        pack_number(text, i);
        pack_number(text, counts[i]);
    }
}

static void get_counts(Unpack *from, int64_t *counts, uint32_t count) {
    uint32_t some = unpack_count(from, 2 * sizeof(int64_t));
    for (uint32_t i = 0; i < some; i++) {
        int64_t at = unpack_number(from), number = unpack_number(from);
        if (at < 0 || at >= count) from->bad = true;
        else counts[at] = number;
    }
}

static MadeRows rows_of(const Partition *partition, uint32_t t) {
    const SbOut *out = &partition->outs[t];
    const Batch *batch = partition->handed[t];
    MadeRows rows = {.count = partition->rows[t], .sum = partition->sums[t]};
    if (batch) {
        rows.entries = batch->entries;
        rows.bytes = batch->bytes;
        rows.used = batch->used;
    } else if (out->state->begin) {
        rows.begin = out->state->begin;
        rows.len = out->at - out->state->begin;
    }
    return rows;
}

static void put_rows(Text *text, const MadeRows *is) {
    pack_number(text, (int64_t)(uintptr_t)is->entries);
    pack_number(text, (int64_t)(uintptr_t)is->begin);
    ROWS_FIELDS(PACK_NUMBER)
}

static void get_rows(Unpack *from, MadeRows *is) {
    is->entries = (const SbEntry *const *)(uintptr_t)unpack_number(from);
    is->begin = (char *)(uintptr_t)unpack_number(from);
    ROWS_FIELDS(UNPACK_NUMBER)
}

static void put_marks(Text *text, const MarkList *marks) {
    pack_number(text, marks ? marks->count : 0);
    if (!marks || marks->count == 0) return;
    pack_number(text, (int64_t)marks->sum);
    for (int64_t i = 0; i < marks->count; i++)
        pack_number(text, (int64_t)(uintptr_t)marks->items[i]);
}

void wire_put_partition(Text *text, Partition *is, const TaskSetup *setup, WireBlocks *blocks) {
    PARTITION_FIELDS(PACK_NUMBER)
    for (uint32_t i = 0; i < is->insides; i++) {
        pack_number(text, is->inside[i].number);
        pack_number(text, is->inside[i].place);
    }
    put_counts(text, is->counts, sb_figure_count(setup->job));
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        MadeRows rows = rows_of(is, t);
        put_rows(text, &rows);
    }
    pack_number(text, is->rejects.count);
    for (uint32_t i = 0; i < is->rejects.count; i++) reject_pack(text, &is->rejects.items[i]);
    put_marks(text, is->marks);
    partition_give_up(is, setup, wire_add_block, blocks);
    wire_put_blocks(text, blocks);
    text->failed |= blocks->failed;
}

static bool get_marks(Unpack *from, MarkList **marks) {
    uint32_t count = unpack_count(from, sizeof(int64_t));
    if (count == 0) return true;
    uint64_t sum = (uint64_t)unpack_number(from);
    bool good = true;
    for (uint32_t i = 0; i < count && good; i++)
        good = marks_add(marks, (uint8_t *)(uintptr_t)unpack_number(from));
    return good && (*marks)->count == count && (*marks)->sum == sum;
}

static bool get_rejects(Unpack *from, Partition *partition, const TaskSetup *setup) {
    uint32_t count = unpack_count(from, sizeof(int64_t));
    bool good = true;
    for (uint32_t i = 0; i < count && good; i++)
        good = reject_unpack(setup->job, setup->sources, from, &partition->rejects);
    return good;
}

bool wire_get_partition(Unpack *from, Partition *is, const TaskSetup *setup, MadeRows *rows,
                        WireBlocks *blocks) {
    PARTITION_FIELDS(UNPACK_NUMBER)
    if (is->insides > SB_INSIDE_MAX) return false;
    for (uint32_t i = 0; i < is->insides; i++) {
        is->inside[i].number = unpack_number(from);
        is->inside[i].place = unpack_number(from);
    }
    get_counts(from, is->counts, sb_figure_count(setup->job));
    for (uint32_t t = 0; t < setup->stage->terminal_count; t++) {
        get_rows(from, &rows[t]);
        is->rows[t] = rows[t].count;
    }
    return !from->bad && get_rejects(from, is, setup) && get_marks(from, &is->marks) &&
           wire_get_blocks(from, blocks);
}

// ---- checks -------------------------------------------------------------------------------------

static bool is_within(const char *at, int64_t len, const char *begin, int64_t bytes) {
    return at >= begin && len >= 0 && len <= bytes && at - begin <= bytes - len;
}

bool wire_is_in_blocks(const WireBlocks *blocks, const void *at, int64_t len) {
    for (uint32_t i = 0; i < blocks->count; i++)
        if (is_within(at, len, blocks->items[i].at, blocks->items[i].bytes)) return true;
    return false;
}

bool wire_check(const ArenaSpace *space, uint32_t arena, const WireBlocks *blocks,
                const MadeRows *rows, uint32_t terminals) {
    const char *base = arena_space_of(space, arena);
    for (uint32_t i = 0; i < blocks->count; i++)
        if (!is_within(blocks->items[i].at, blocks->items[i].bytes, base, space->span))
            return false;
    for (uint32_t t = 0; t < terminals; t++) {
        const MadeRows *is = &rows[t];
        int64_t most = space->span / (int64_t)sizeof(SbEntry *);
        if (is->count < 0 || is->count > most || is->len < 0) return false;
        if (is->entries &&
            !wire_is_in_blocks(blocks, is->entries, is->count * (int64_t)sizeof(SbEntry *)))
            return false;
        if (is->begin && !wire_is_in_blocks(blocks, is->begin, is->len)) return false;
    }
    return true;
}
