#include "runtime/core/state.h"

// Batch: several partitions for one launch. Small ones, so that a launch is worth it; and where a
// stage takes rows together (CoreStage.batch), as many as fill its batches.
//
// A batch takes about as long however many rows it has. So
//
// - a partition joins a launch where that saves a batch: together they begin one less than each for
//   itself. No launch begins more batches than its partitions alone would, whatever comes when;
// - less than a batch of rows waits for others while somebody makes them: as long as there is other
//   work for its slot, then as long as a batch takes while the slot is idle; and not when nothing
//   else runs. So waiting costs at most the time that it may save, a slow source is served at once,
//   and nothing waits for a batch that memory does not hold.
//
// A batch of an eager stage takes the longer the more rows it has. It has those that are there when
// a slot is idle.

static uint64_t batches_of(const CoreStage *stage, int64_t rows) {
    return ((uint64_t)rows + stage->batch - 1) / stage->batch;
}

// ---- launches -----------------------------------------------------------------------------------

// Is the partition worth to be taken along by a launch of so many rows and bytes?
static bool joins(const Schedule *s, StageId stage, const Item *item, int64_t rows, int64_t bytes) {
    const StageState *state = &s->stages[stage.i];
    const CoreStage *described = stage_of(s, stage);
    if (described->batch)
        return batches_of(described, rows + item->rows) <
               batches_of(described, rows) + batches_of(described, item->rows);
    uint32_t left = state->width > state->running ? state->width - state->running : 0;
    return state->ready_count > left &&
           bytes + item->bytes <= described->cut;
}

// May the task bring the partition as well, when it comes to it? It has one at a time.
static bool may_load(Schedule *s, Task *task, const Item *item) {
    if (!needs_load(s, item, task->node)) return true;
    bool waits = s->plan.stages[task->stage.i].batch && s->node_count == 1 &&
                 part_of(s, item->part)->state == PART_SPILLED;
    return waits && take_input(s, task, part_of(s, item->part)->stored);
}

void coalesce(Schedule *s, StageId stage, ItemId id) {
    StageState *state = state_of(s, stage);
    const CoreStage *described = stage_of(s, stage);
    const Item *first = item_of(s, id);
    Task *task = task_of(s, first->task);
    state->held = 0;
    // What only the first work may use is not kept for others.
    if (task->scratch != PURSE_COMMON || task->input == PURSE_RESERVE) return;
    if (described->limit || described->kind != STAGE_MAP) return;
    bool whole = described->in_order || described->open_max;  // No work may come between them.
    uint32_t most = described->batch ? LAUNCH_PARTS_MAX : described->coalesce;
    int64_t bytes = first->bytes, rows = first->rows;
    PlaceId last = first->place;
    ItemId *end = &task->chain;
    for (uint32_t count = 1; count < most && state->ready.root.i; count++) {
        ItemId more = state->ready.root;
        Item *item = item_of(s, more);
        if (!joins(s, stage, item, rows, bytes) || item->rerun || !is_open(s, item) ||
            (whole && s->order.places[item->place.i].before.i != last.i) ||
            !may_load(s, task, item))
            return;
        ready_pop(s, stage);
        go(s, &item->state, ITEM_TAKEN);
        item->task = first->task, item->sibling = (ItemId){0};
        *end = more, end = &item->sibling, last = item->place;
        bytes += item->bytes, rows += item->rows;
        part_waits(s, item, -1);
        act(s, (Action){.kind = ACTION_ADD,
                        .stage = stage,
                        .node = task->node,
                        .task = item->task,
                        .part = item->part,
                        .load = needs_load(s, item, task->node),
                        .item = more.i,
                        .outputs = outputs_before(item),
                        .data = part_of(s, item->part)->data});
    }
}

// ---- waiting ------------------------------------------------------------------------------------

// Does a stage above make rows, or could it?
static bool rows_may_come(const Schedule *s, StageId stage) {
    for (uint16_t w = 0; w < s->words; w++) {
        uint64_t above = s->shape.above[stage.i].words[w] & ~s->over.words[w];
        if (above & ~s->blocked.words[w]) return true;
        for (; above; above &= above - 1)
            if (s->stages[word_first(w, above).i].running) return true;
    }
    return false;
}

// Nanoseconds that a batch takes.
static int64_t batch_time(const StageState *state) {
    static const double UNKNOWN = 1e8;  // Until one has ended.
    return (int64_t)(state->batches > 0 ? state->batch_busy / state->batches : UNKNOWN);
}

bool batch_is_part(const Schedule *s, StageId stage) {
    const StageState *state = &s->stages[stage.i];
    const CoreStage *described = stage_of(s, stage);
    return described->batch && !described->limit && state->ready_rows < described->batch &&
           !state->paused.root.i;
}

bool batch_may_begin(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    const CoreStage *described = stage_of(s, stage);
    bool full = !described->batch || described->limit || described->eager ||
                state->ready_rows >= described->batch;
    if (full || s->hurries || item_of(s, state->ready.root)->rerun || !rows_may_come(s, stage))
        return true;
    if (!state->held) state->held = s->now;
    int64_t until = state->held + batch_time(state);
    if (until <= s->now) return true;
    if (s->timer <= s->now || until < s->timer) s->timer = until;
    return false;
}

// ---- how long they take -------------------------------------------------------------------------

void batch_add(Schedule *s, Task *task, Pace pace) {
    task->launch.in_bytes += pace.in_bytes;
    task->launch.out_bytes += pace.out_bytes;
    task->launch.seconds += pace.seconds;
    task->rows += item_of(s, task->item)->rows;
}

// A batch that was not full says what a full one would have taken in.
void batch_end(Schedule *s, const Task *task) {
    StageState *state = state_of(s, task->stage);
    const CoreStage *described = stage_of(s, task->stage);
    if (!task->rows) return;
    double batches = (double)batches_of(described, task->rows);
    double full = batches * described->batch / (double)task->rows;
    state->batches += batches;
    state->batch_busy += task->launch.seconds * 1e9;
    pacing_note(
        &s->pacing, task->stage,
        (Pace){task->launch.in_bytes * full, task->launch.out_bytes * full, task->launch.seconds});
}
