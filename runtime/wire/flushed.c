#include "runtime/wire/flushed.h"

#include "runtime/wire/welcome.h"

#include <stdlib.h>
#include <string.h>

void wire_put_flush(Text *text, const Flush *flush) {
    pack_number(text, flush->stage);
    pack_number(text, flush->last);
    pack_number(text, flush->writes);
}

bool wire_get_flush(Unpack *from, Flush *flush) {
    flush->stage = (uint32_t)unpack_number(from);
    flush->last = unpack_number(from) != 0;
    flush->writes = unpack_number(from) != 0;
    return !from->bad;
}

// ---- what is handed over ------------------------------------------------------------------------

static void *more(void *items, uint32_t count, uint32_t *room, size_t size) {
    if (count < *room) return items;
    uint32_t wanted = *room ? 2 * *room : 8;
    void *moved = realloc(items, wanted * size);
    if (moved) *room = wanted;
    return moved;
}

void wire_add_part(Flushed *flushed, uint32_t terminal, uint32_t set, FarPart *part) {
    FlushedPart *parts = more(flushed->parts, flushed->part_count, &flushed->part_room,
                              sizeof *parts);
    flushed->failed |= !parts;
    if (parts) {
        flushed->parts = parts;
        parts[flushed->part_count++] = (FlushedPart){terminal, set, *part};
        *part = (FarPart){0};
    }
    far_part_close(part);
}

static void add_run(Flushed *flushed, FlushedRun *run) {
    FlushedRun *runs = more(flushed->runs, flushed->run_count, &flushed->run_room, sizeof *runs);
    flushed->failed |= !runs;
    if (!runs) {
        free(run->marks);
        return;
    }
    flushed->runs = runs;
    runs[flushed->run_count++] = *run;
}

void wire_add_run(Flushed *flushed, uint32_t terminal, const SpillRun *run, uint32_t file) {
    FlushedRun is = {.terminal = terminal, .run = *run};
    const SpillIndex *index = run->index;
    size_t bytes = index ? (size_t)index->count * sizeof *is.marks : 0;
    is.run.index = nullptr;
    is.run.file = file;
    is.marks = bytes ? malloc(bytes) : nullptr;
    if (is.marks) {
        memcpy(is.marks, index->marks, bytes);
        is.mark_count = index->count;
        is.every = index->every;
    }
    add_run(flushed, &is);
}

void wire_close_flushed(Flushed *flushed) {
    for (uint32_t i = 0; i < flushed->part_count; i++) far_part_close(&flushed->parts[i].part);
    for (uint32_t i = 0; i < flushed->run_count; i++) free(flushed->runs[i].marks);
    free(flushed->parts);
    free(flushed->runs);
    wire_close_blocks(&flushed->blocks);
    *flushed = (Flushed){0};
}

// ---- as bytes -----------------------------------------------------------------------------------

#define PART_FIELDS(NUMBER) NUMBER(terminal) NUMBER(set) NUMBER(part.span_count) NUMBER(part.bytes)
#define RUN_FIELDS(NUMBER)                                                              \
    NUMBER(terminal) NUMBER(run.file) NUMBER(run.begin) NUMBER(run.end) NUMBER(run.rows) \
    NUMBER(run.bytes) NUMBER(run.block_max) NUMBER(run.longest_at) NUMBER(run.packed_max) \
    NUMBER(mark_count) NUMBER(every)
#define MARK_FIELDS(NUMBER) NUMBER(at) NUMBER(row) NUMBER(key.key) NUMBER(key.more)

static void put_part(Text *text, const FlushedPart *is) {
    PART_FIELDS(PACK_NUMBER)
    for (int64_t i = 0; i < is->part.span_count; i++) {
        pack_number(text, (int64_t)(uintptr_t)is->part.spans[i].begin);
        pack_number(text, is->part.spans[i].count);
    }
}

static void put_mark(Text *text, const SpillMark *is) { MARK_FIELDS(PACK_NUMBER) }

static void put_run(Text *text, const FlushedRun *is) {
    RUN_FIELDS(PACK_NUMBER)
    for (int64_t i = 0; i < is->mark_count; i++) put_mark(text, &is->marks[i]);
}

enum : uint32_t { TERMINALS = sizeof((Flushed){0}.left_out) / sizeof(int64_t) };

// Of most terminals there are none.
static void put_left_out(Text *text, const Flushed *flushed) {
    uint32_t some = 0;
    for (uint32_t t = 0; t < TERMINALS; t++) some += flushed->left_out[t] != 0;
    pack_number(text, some);
    for (uint32_t t = 0; t < TERMINALS; t++) {
        if (flushed->left_out[t] == 0) continue;
        pack_number(text, t);
        pack_number(text, flushed->left_out[t]);
    }
}

static void get_left_out(Unpack *from, Flushed *flushed) {
    uint32_t some = unpack_count(from, 2 * sizeof(int64_t));
    for (uint32_t i = 0; i < some; i++) {
        int64_t t = unpack_number(from), rows = unpack_number(from);
        if (t < 0 || t >= TERMINALS || rows < 0) from->bad = true;
        else flushed->left_out[t] = rows;
    }
}

void wire_put_flushed(Text *text, const Flushed *flushed) {
    pack_number(text, flushed->stage);
    pack_number(text, flushed->corrupt);
    pack_number(text, flushed->trouble.kind != TROUBLE_NONE);
    if (flushed->trouble.kind != TROUBLE_NONE) wire_put_trouble(text, &flushed->trouble);
    pack_number(text, flushed->part_count);
    for (uint32_t i = 0; i < flushed->part_count; i++) put_part(text, &flushed->parts[i]);
    pack_number(text, flushed->run_count);
    for (uint32_t i = 0; i < flushed->run_count; i++) put_run(text, &flushed->runs[i]);
    wire_put_blocks(text, &flushed->blocks);
    put_left_out(text, flushed);
    text->failed |= flushed->failed || flushed->blocks.failed;
}

static bool has_room(Unpack *from, int64_t count, int64_t least) {
    if (count < 0 || count > (from->end - from->at) / least) from->bad = true;
    return !from->bad;
}

static bool get_part(Unpack *from, Flushed *flushed) {
    FlushedPart part = {0}, *is = &part;
    PART_FIELDS(UNPACK_NUMBER)
    if (!has_room(from, is->part.span_count, 2 * sizeof(int64_t))) return false;
    is->part.spans = calloc((size_t)is->part.span_count + 1, sizeof *is->part.spans);
    for (int64_t i = 0; is->part.spans && i < is->part.span_count; i++) {
        is->part.spans[i].begin = (char *)(uintptr_t)unpack_number(from);
        is->part.spans[i].count = unpack_number(from);
    }
    flushed->failed |= !is->part.spans;
    wire_add_part(flushed, is->terminal, is->set, &is->part);
    return !from->bad;
}

static void get_mark(Unpack *from, SpillMark *is) { MARK_FIELDS(UNPACK_NUMBER) }

static bool get_run(Unpack *from, Flushed *flushed) {
    FlushedRun run = {0}, *is = &run;
    RUN_FIELDS(UNPACK_NUMBER)
    if (!has_room(from, is->mark_count, 4 * sizeof(int64_t))) return false;
    is->marks = calloc((size_t)is->mark_count + 1, sizeof *is->marks);
    for (int64_t i = 0; is->marks && i < is->mark_count; i++) get_mark(from, &is->marks[i]);
    flushed->failed |= !is->marks;
    add_run(flushed, is);
    return !from->bad;
}

bool wire_get_flushed(Unpack *from, Flushed *flushed) {
    *flushed = (Flushed){.stage = (uint32_t)unpack_number(from)};
    flushed->corrupt = unpack_number(from) != 0;
    bool troubled = unpack_number(from) != 0;
    if (troubled && !wire_get_trouble(from, &flushed->trouble)) return false;
    uint32_t parts = unpack_count(from, 3 * sizeof(int64_t));
    for (uint32_t i = 0; i < parts; i++)
        if (!get_part(from, flushed)) return false;
    uint32_t runs = unpack_count(from, 11 * sizeof(int64_t));
    for (uint32_t i = 0; i < runs; i++)
        if (!get_run(from, flushed)) return false;
    if (!wire_get_blocks(from, &flushed->blocks)) return false;
    get_left_out(from, flushed);
    return !from->bad && !flushed->failed;
}

// ---- checks -------------------------------------------------------------------------------------

static bool fills(const SbJob *job, const SbStage *stage, uint32_t t) {
    return t < stage->terminal_count && !(stage->terminals[t] & SB_TERMINAL_SINK) &&
           !sb_is_edge(job, stage->terminals[t]);
}

static bool check_part(const SbJob *job, const SbStage *stage, const FlushedPart *is,
                       const WireBlocks *blocks, int64_t span) {
    if (!fills(job, stage, is->terminal)) return false;
    int64_t entry = job->breakers[stage->terminals[is->terminal]].entry_bytes;
    for (int64_t i = 0; i < is->part.span_count; i++) {
        const RowBlock *rows = &is->part.spans[i];
        if (rows->count <= 0 || rows->count > span / entry ||
            !wire_is_in_blocks(blocks, rows->begin, rows->count * entry))
            return false;
    }
    return true;
}

bool wire_check_flushed(const ArenaSpace *space, uint32_t arena, const SbJob *job,
                        const Flushed *flushed) {
    if (flushed->stage >= job->stage_count ||
        !wire_check(space, arena, &flushed->blocks, nullptr, 0))
        return false;
    const SbStage *stage = &job->stages[flushed->stage];
    for (uint32_t t = 0; t < TERMINALS; t++)
        if (flushed->left_out[t] > 0 && !fills(job, stage, t)) return false;
    for (uint32_t i = 0; i < flushed->part_count; i++)
        if (flushed->parts[i].set >= WIRE_SETS_MAX ||
            !check_part(job, stage, &flushed->parts[i], &flushed->blocks, space->span))
            return false;
    for (uint32_t i = 0; i < flushed->run_count; i++) {
        const SpillRun *run = &flushed->runs[i].run;
        if (!fills(job, stage, flushed->runs[i].terminal) || run->begin < 0 ||
            run->end < run->begin || run->rows < 0 || run->block_max < 0 || run->packed_max < 0)
            return false;
    }
    return true;
}
