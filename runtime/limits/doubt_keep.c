// What units in doubt need to be made once more, and cannot read again. That is text of streams,
// rows of breakers that came back from disk, and rows of both sides of a zip. Little of it stays in
// memory. The rest goes to disk, where it costs nothing however long limits take to judge it.
//
//   a flow has made a unit ─▶ doubt_put_away    written, unless all of that is within kept_max:
//                                               the newest goes to disk, as it is judged last
//   it ends ────────────────▶ doubt_leave       else it stays where it lies
//   the unit is made again ─▶ doubt_bring_back
#include "runtime/input.h"
#include "runtime/job.h"
#include "runtime/limits/state.h"

#include <stdlib.h>

void doubt_open_keep(Limits *limits, int64_t ledger, uint32_t lanes) {
    int64_t limit = limits->memory->limit;
    // What the ledger does not give, but for what it takes to write.
    int64_t rest = limit - ledger - spill_buffer_bytes(limit, lanes) * lanes;
    limits->kept_max = limits->memory->eager || rest < 0 ? 0 : rest / 2;
}

// ---- how much -------------------------------------------------------------------------------

// Of how many breakers a unit of the stage has rows; 0: it has text.
static int sides_of(const StageRun *run) {
    if (run->stage->input == SB_INPUT_TEXT) return 0;
    return run->stage->right_index != UINT32_MAX ? 2 : 1;
}

static int runs_of(const StageRun *run) { return sides_of(run) == 2 ? 2 : 1; }

// Of the text of a unit: with the bytes of a row after it that a reject shows.
static int64_t text_bytes(const Unit *unit) {
    enum { SHOWN = RAW_BYTES_MAX + 16 };
    const LongRow *row = &unit->long_row;
    if (!row->is) return unit->end;
    return row->begin + (row->length < SHOWN ? row->length : SHOWN);
}

static int64_t side_bytes(const Flow *flow, int side) {
    if (flow->loaded[side].entries) return flow->loaded[side].bytes;
    return flow->batches[side] ? flow->batches[side]->bytes : 0;
}

// What stays in memory of a flow that made a unit; 0: it can be read again, or is on disk.
static int64_t kept_bytes(const Flow *flow) {
    if (!flow->prepared || flow->doubt->stored) return 0;
    if (flow->other) return side_bytes(flow, 0) + side_bytes(flow, 1);
    if (flow->input) return 0;
    if (flow->unit.slices[0].batch) return flow->unit.slices[0].batch->bytes;
    return flow->run->repeats ? 0 : flow->task->buffer.cap;
}

// ---- in memory ------------------------------------------------------------------------------

static void keep_sides(Flow *flow) {
    DoubtPiece *piece = flow->doubt->piece;
    for (int side = 0; side < 2; side++) {
        piece->loaded[side] = flow->loaded[side];
        flow->loaded[side] = (SpoolRows){0};
        if (piece->loaded[side].entries) continue;
        piece->held[side] = flow->batches[side];
        piece->held[side]->holders++;
    }
}

// Rows that are on disk need no more than their number.
static void leave_stored(const Flow *flow) {
    DoubtUnit *unit = flow->doubt;
    if (!unit->input) return;
    unit->input->unit = flow->unit;
    unit->input->unit.slices[0].batch = nullptr;
    if (sides_of(flow->run) == 0) return;
    unit->ordinal = flow->unit.ordinal;
    unit->row = flow->unit.range_begin;
    unit->rows = flow->unit.end;
    free(unit->input);
    unit->input = nullptr;
}

static void leave_kept(Limits *limits, Flow *flow) {
    DoubtInput *input = flow->doubt->input;
    int64_t bytes = kept_bytes(flow);
    limits->kept += bytes;
    if (flow->other) {
        flow->doubt->piece->kept = bytes;
        keep_sides(flow);
        return;
    }
    input->unit = flow->unit;
    input->kept = bytes;
    flow->unit.slices[0].batch = nullptr;
    if (flow->run->repeats) return;
    input->keeps = flow->task;
    flow->task = nullptr;
}

void doubt_leave(Limits *limits, Flow *flow) {
    DoubtUnit *unit = flow->doubt;
    if (!unit) return;
    unit->live--;
    if (!flow->prepared || (flow->input && !flow->other)) return;
    unit->cut = true;
    if (unit->stored) leave_stored(flow);
    else leave_kept(limits, flow);
}

void doubt_forget(Limits *limits, DoubtUnit *unit) {
    const DoubtInput *input = unit->input;
    DoubtPiece *piece = unit->piece;
    int runs = unit->stored ? runs_of(&limits->d->runs[unit->root]) : 0;
    if (input) {
        limits->kept -= input->kept;
        stage_spare_task(&limits->d->runs[unit->root], input->keeps);
        if (input->unit.slices[0].batch) batch_release(input->unit.slices[0].batch);
    }
    if (piece) limits->kept -= piece->kept;
    for (int side = 0; piece && side < 2; side++) {
        if (piece->held[side]) batch_release(piece->held[side]);
        spool_close(&piece->loaded[side], limits->memory);
    }
    for (int i = 0; i < runs; i++) spill_forget(limits->spill, &unit->runs[i]);
}

// ---- to disk --------------------------------------------------------------------------------

static const SbBreaker *breaker_of(const StageRun *run, int side) {
    uint32_t breaker = side == 0 ? run->stage->input_index : run->stage->right_index;
    return &run->job->ask.what->breakers[breaker];
}

static Batch rows_of(const Flow *flow, int side) {
    const DoubtUnit *unit = flow->doubt;
    if (!flow->other) return (Batch){.entries = flow->unit.entries, .count = flow->unit.end};
    return (Batch){.entries = flow_entries(flow, side) + unit->piece->first[side],
                   .count = unit->rows};
}

// As one row, which comes back in one piece.
static bool write_text(Spill *spill, uint32_t thread, const Unit *unit, SpillRun *run) {
    static const char zeroes[16];
    int64_t bytes = text_bytes(unit), gap = -bytes & 15;
    if (!spill_begin(spill, thread) || !spill_row(spill, thread, bytes + gap)) return false;
    spill_add(spill, thread, unit->text, bytes);
    spill_add(spill, thread, zeroes, gap);
    return spill_end(spill, thread, run);
}

static bool write_unit(const Flow *flow, uint32_t thread) {
    const StageRun *run = flow->run;
    Spill *spill = &run->job->machine.spill;
    DoubtUnit *unit = flow->doubt;
    int sides = sides_of(run);
    unit->runs = calloc((size_t)runs_of(run), sizeof *unit->runs);
    if (!unit->runs) return false;
    if (sides == 0) return write_text(spill, thread, &flow->unit, &unit->runs[0]);
    for (int side = 0; side < sides; side++) {
        Batch rows = rows_of(flow, side);
        if (!spool_write(spill, thread, breaker_of(run, side), &rows, &unit->runs[side]))
            return false;
    }
    return true;
}

void doubt_put_away(Limits *limits, Flow *flow, uint32_t thread) {
    if (!flow->doubt || flow->rows > 0) return;
    int64_t bytes = kept_bytes(flow);
    if (bytes == 0 || limits->kept + bytes <= limits->kept_max) return;
    tell_turn(&limits->d->observers, thread, WORK_WRITE);
    pthread_mutex_unlock(&limits->d->lock);
    pthread_mutex_lock(&limits->fills[thread]);
    bool good = write_unit(flow, thread);
    pthread_mutex_unlock(&limits->fills[thread]);
    pthread_mutex_lock(&limits->d->lock);
    tell_turn(&limits->d->observers, thread, WORK_TASK);
    flow->doubt->stored = good;
    if (good) return;
    if (!spill_trouble(limits->spill, limits->trouble))
        trouble_set(limits->trouble, TROUBLE_MEMORY, "no memory to spill");
    dispatch_stop(limits->d);
}

// ---- and back -------------------------------------------------------------------------------

static bool read_text(Spill *spill, const SpillRun *run, UnitBuffer *buffer, Trouble *trouble) {
    if (!unit_buffer_reserve(buffer, run->bytes, trouble)) return false;
    char *packed = malloc((size_t)run->packed_max + 1);
    SpillReader reader = {.spill = spill, .run = *run, .at = run->begin, .block = buffer->ptr,
                          .packed = packed};
    bool good = packed && (run->bytes == 0 || spill_read(&reader));
    free(packed);
    return good || (!spill_trouble(spill, trouble) &&
                    trouble_set(trouble, TROUBLE_MEMORY, "no memory to read spilled text"));
}

static const SbEntry *const *piece_entries(const DoubtPiece *piece, int side) {
    const SpoolRows *loaded = &piece->loaded[side];
    return (loaded->entries ? loaded->entries : piece->held[side]->entries) + piece->first[side];
}

bool doubt_bring_back(Limits *limits, DoubtUnit *unit, SbTaskState *task, DoubtAgain *again,
                      Trouble *trouble) {
    StageRun *run = &limits->d->runs[unit->root];
    Spill *spill = limits->spill;
    int sides = sides_of(run);
    bool good = true;
    if (!unit->stored) {
        if (!unit->piece) return true;
        again->unit.entries = piece_entries(unit->piece, 0);
        again->unit.right = piece_entries(unit->piece, 1);
        return true;
    }
    if (sides == 0) {
        unit->input->keeps = task;
        good = read_text(spill, &unit->runs[0], &task->buffer, trouble);
        again->unit.text = task->buffer.ptr;
        return good;
    }
    for (int side = 0; good && side < sides; side++) {
        SpoolPlace from = {spill, breaker_of(run, side), &unit->runs[side], &run->relief};
        good = spool_read(&again->rows[side], &from, trouble);
    }
    again->unit.entries = again->rows[0].entries;
    again->unit.right = again->rows[1].entries;
    return good;
}
