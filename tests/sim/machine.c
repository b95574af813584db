#include "tests/sim/machine.h"

#include <string.h>

static const CoreStage *stage_of(const Sim *sim, StageId stage) {
    return &sim->plan.stages[stage.i];
}
static const Work *work_of(const Sim *sim, StageId stage) { return &sim->load->work[stage.i]; }

// ---- partitions ---------------------------------------------------------------------------------

static uint64_t part_new(Sim *sim, Rows rows, bool late) {
    uint32_t id = sim->part_unused;
    if (id)
        sim->part_unused = sim->parts[id].unused;
    else
        id = sim->part_count++;
    sim->parts[id] = (SimPart){.alive = true, .rows = rows, .late = late};
    return id;
}

static void part_free(Sim *sim, uint64_t id) {
    if (!sim->parts[id].alive) sim_fail(sim, "a partition is freed twice");
    sim->parts[id].alive = false;
    sim->parts[id].unused = sim->part_unused;
    sim->part_unused = (uint32_t)id;
}

static const SimPart *part_at(Sim *sim, uint64_t id) {
    if (!sim->parts[id].alive) sim_fail(sim, "a partition is read that was freed");
    return &sim->parts[id];
}

// ---- tasks --------------------------------------------------------------------------------------

static int64_t rows_left(const SimTask *task) { return task->rows[task->at].rows - task->done; }

static bool hands_over(const Sim *sim, const SimTask *task) {
    return stage_of(sim, task->stage)->output_count > 0;
}

// The task computes up to its next output, or to its end.
static void compute(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    const Work *work = work_of(sim, task->stage);
    int64_t left = rows_left(task);
    bool whole = !hands_over(sim, task) && !stage_of(sim, task->stage)->fill_count;
    task->segment = !whole && left > work->cut_rows ? work->cut_rows : left;
    double seconds = (double)task->segment * (task->late ? work->late_seconds : work->row_seconds);
    if (sim->load->spikes && draw(&sim->random) % 10 == 0) seconds *= 10;
    if (task->long_unit) seconds *= 8;
    if (sim->load->spread) seconds *= (double)between(&sim->random, 1, 1000) / 500;
    task->busy = (int64_t)(seconds * (double)SECOND);
    for (uint8_t r = 0; r < sim->plan.resource_count; r++)
        sim->result.busy[task->late && sim->load->phased][r] +=
            seconds * stage_of(sim, task->stage)->demand[r];
    int64_t loads = (int64_t)((double)task->load_bytes / sim->options->disk_rate * (double)SECOND);
    task->load_bytes = 0;
    sim_push(sim, (Pending){.at = sim->now + task->busy + loads, .what = HAPPEN_TASK, .task = id});
}

// What failed before comes again: its rows were checked then.
static bool comes_again(Sim *sim, StageId stage, Rows *rows) {
    Rows *redo = sim->redo[stage.i];
    bool zip = stage_of(sim, stage)->kind == STAGE_ZIP;
    for (uint32_t i = 0; i < sim->redo_count[stage.i]; i++) {
        bool same = zip ? redo[i].piece == rows->piece
                        : redo[i].root.i == rows->root.i && redo[i].row == rows->row;
        if (!same) continue;
        *rows = redo[i];
        redo[i] = redo[--sim->redo_count[stage.i]];
        return true;
    }
    return false;
}

static void sink_takes(Sim *sim, StageId sink, Rows rows) {
    if (rows.rows && comes_again(sim, sink, &rows)) return;
    if (!cursor_take(&sim->cursors[sink.i][0], &sim->streams.made[sink.i], rows.root, rows.row,
                     rows.rows))
        sim_fail(sim, "rows out of order");
}

static Rows rows_of_unit(const Sim *sim, const Action *action) {
    const CoreStage *stage = stage_of(sim, action->stage);
    int64_t unit_rows = work_of(sim, action->stage)->unit_rows;
    Rows rows = {action->stage, action->unit * unit_rows, unit_rows, 0};
    if (stage->kind != STAGE_READER) return rows;
    int64_t all = sim->streams.kept[stage->reads.i];
    if (rows.row + rows.rows > all) rows.rows = all - rows.row;
    return rows;
}

// Both sides must be at the same row.
static Rows rows_of_piece(Sim *sim, const Action *action) {
    StageId zip = action->stage;
    const SimPart *parts[2] = {part_at(sim, action->data), part_at(sim, action->other)};
    int64_t at[2] = {action->row, action->other_row};
    Rows rows = {zip, sim->zip_rows[zip.i], action->rows, action->unit};
    if (comes_again(sim, zip, &rows)) return rows;
    for (int side = 0; side < 2; side++) {
        Stream stream = stream_into(&sim->streams, sim->load, zip, side);
        const Rows *part = &parts[side]->rows;
        if (at[side] + action->rows > part->rows ||
            !cursor_take(&sim->cursors[zip.i][side], &stream, part->root, part->row + at[side],
                         action->rows))
            sim_fail(sim, "the sides of a zip are not in order");
    }
    sim->zip_rows[zip.i] += action->rows;
    if (action->unit != sim->zip_unit[zip.i]++) sim_fail(sim, "a piece of a zip comes twice");
    return rows;
}

static void launch(Sim *sim, const Action *action) {
    SimTask *task = &sim->tasks[action->task.i];
    const CoreStage *stage = stage_of(sim, action->stage);
    const Work *work = work_of(sim, action->stage);
    *task = (SimTask){.stage = action->stage, .running = true, .count = 1};
    if (action->kind == ACTION_PIECE)
        task->rows[0] = rows_of_piece(sim, action);
    else if (action->of_unit)
        task->rows[0] = rows_of_unit(sim, action);
    else
        task->rows[0] = part_at(sim, action->data)->rows;
    if (action->load) task->load_bytes = task->rows[0].rows * work->row_bytes;
    task->late = !action->of_unit && part_at(sim, action->data)->late;
    if (stage->kind == STAGE_SOURCE) {
        task->late = action->unit >= stage->units / 2;
        task->long_unit = sim->load->skewed && action->unit % 16 == 0;
    }
    if (stage->limit && task->rows[0].rows > sim->limit_left[action->stage.i])
        task->rows[0].rows = sim->limit_left[action->stage.i];
    if (stage->kind == STAGE_SINK) sink_takes(sim, action->stage, task->rows[0]);
    compute(sim, action->task);
}

static void add(Sim *sim, const Action *action) {
    SimTask *task = &sim->tasks[action->task.i];
    if (task->count == CHAIN_MAX)
        sim_fail(sim, "a launch takes too many partitions");
    else
        task->rows[task->count++] = part_at(sim, action->data)->rows;
}

// The rows of a partition went in for good.
static void commit(Sim *sim, const SimTask *task) {
    const CoreStage *stage = stage_of(sim, task->stage);
    const Rows *rows = &task->rows[task->at];
    if (stage->kind == STAGE_SINK) sim->committed[task->stage.i] += rows->rows;
    if (stage->limit) sim->limit_left[task->stage.i] -= rows->rows;
    for (uint8_t f = 0; f < stage->fill_count; f++) {
        sim->kept[stage->fills[f].i] += rows->rows;
        sim->kept_sum[stage->fills[f].i] += row_sum(rows->root, rows->row, rows->rows);
    }
}

static void finish_breaker(Sim *sim, const Action *action) {
    uint16_t b = action->breaker.i;
    if (sim->kept[b] != sim->streams.kept[b] || sim->kept_sum[b] != sim->streams.kept_sum[b])
        sim_fail(sim, "a breaker does not have each of its rows once");
    sim_push(sim, (Pending){.at = sim->now + between(&sim->random, 0, SECOND / 10),
                            .what = HAPPEN_FINISHED,
                            .breaker = action->breaker});
}

// ---- what the schedule says ---------------------------------------------------------------------

void sim_act(Sim *sim, const Action *action) {
    SimTask *task = &sim->tasks[action->task.i];
    int64_t writes = (int64_t)((double)action->bytes / sim->options->disk_rate * (double)SECOND);
    switch (action->kind) {
    case ACTION_LAUNCH:
    case ACTION_PIECE: launch(sim, action); break;
    case ACTION_ADD: add(sim, action); break;
    case ACTION_RESUME:
    case ACTION_GO_ON:
        if (!task->running) sim_fail(sim, "a task goes on that does not run");
        if (task->computed)
            sim_push(sim, (Pending){.at = sim->now, .what = HAPPEN_TASK, .task = action->task});
        else
            compute(sim, action->task);
        break;
    case ACTION_PAUSE: break;
    case ACTION_CANCEL: task->canceled = true; break;
    case ACTION_DROP: task->running = false; break;
    case ACTION_FREE: part_free(sim, action->data); break;
    case ACTION_SPILL:
        sim_push(sim, (Pending){.at = sim->now + writes,
                                .what = HAPPEN_SPILLED,
                                .part = action->part,
                                .node = action->node});
        break;
    case ACTION_SHRINK:
        sim_push(sim, (Pending){.at = sim->now + writes,
                                .what = HAPPEN_SHRUNK,
                                .breaker = action->breaker,
                                .node = action->node,
                                .bytes = action->bytes});
        break;
    case ACTION_FINISH: finish_breaker(sim, action); break;
    case ACTION_FLUSH:
    case ACTION_CLOSE: break;
    case ACTION_TIMER: sim_push(sim, (Pending){.at = action->at, .what = HAPPEN_TICK}); break;
    case ACTION_END: sim->ended = true; break;
    case ACTION_BROKEN: sim_fail(sim, action->text); break;
    }
}

// ---- what happens -------------------------------------------------------------------------------

static void fail_task(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    StageKind kind = stage_of(sim, task->stage)->kind;
    bool kept = kind == STAGE_ZIP || (kind == STAGE_SINK && task->rows[task->at].rows);
    if (kept) sim->redo[task->stage.i][sim->redo_count[task->stage.i]++] = task->rows[task->at];
    task->running = false;
    sim_step(sim, (Event){.kind = EVENT_FAILED, .task = id});
}

static bool should_fail(Sim *sim, const SimTask *task) {
    if (!sim->load->failing || sim->redo_count[task->stage.i] == REDO_MAX) return false;
    return draw(&sim->random) % sim->load->failing == 0;
}

// What the segment needs before its rows can go on. True: the task has asked.
static bool ask(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    const CoreStage *stage = stage_of(sim, task->stage);
    const Work *work = work_of(sim, task->stage);
    int64_t bytes = task->segment * work->fill_bytes;
    if (!task->asked) {
        task->asked = true;
        if (work->atom_bytes && draw(&sim->random) % 8 == 0) {
            sim_step(sim, (Event){.kind = EVENT_NEED, .task = id, .bytes = work->atom_bytes});
            return true;
        }
    }
    while (task->fill < stage->fill_count) {
        BreakerId breaker = stage->fills[task->fill++];
        if (!bytes) continue;
        // No more than the floor at once.
        int64_t floor = sim->plan.breakers[breaker.i].floor;
        sim_step(sim, (Event){.kind = EVENT_NEED,
                              .task = id,
                              .fills = true,
                              .breaker = breaker,
                              .bytes = bytes < floor ? bytes : floor});
        return true;
    }
    return false;
}

static void end_item(Sim *sim, TaskId id, Event event) {
    SimTask *task = &sim->tasks[id.i];
    bool last = task->at + 1 == task->count;
    bool limit = stage_of(sim, task->stage)->limit;
    commit(sim, task);
    if (limit && !sim->limit_left[task->stage.i])
        sim_step(sim, (Event){.kind = EVENT_ENOUGH, .task = id});
    if (last)
        task->running = false;
    else
        task->at++, task->done = 0;
    sim_step(sim, event);
}

// The segment's rows go on: into a partition, or nowhere.
static void hand_on(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    bool outputs = hands_over(sim, task);
    Rows rows = task->rows[task->at];
    rows.row += task->done, rows.rows = task->segment;
    task->done += task->segment;
    task->computed = false, task->asked = false, task->fill = 0;
    bool ends = !rows_left(task), last = ends && task->at + 1 == task->count;
    int64_t busy = task->busy;
    if (outputs && rows.rows) {
        Event event = {.kind = EVENT_OUTPUT,
                       .task = id,
                       .busy = busy,
                       .last = last,
                       .rows = rows.rows,
                       .bytes = rows.rows * work_of(sim, task->stage)->row_bytes,
                       .checksum = (uint64_t)row_sum(rows.root, rows.row, rows.rows),
                       .data = part_new(sim, rows, task->late)};
        if (last)
            end_item(sim, id, event);
        else
            sim_step(sim, event);
    } else if (ends) {
        end_item(sim, id,
                 (Event){.kind = last ? EVENT_DONE : EVENT_NEXT, .task = id, .busy = busy});
    } else {
        compute(sim, id);
    }
}

static void happen_task(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    if (task->canceled) {
        task->running = false;
        sim_step(sim, (Event){.kind = EVENT_DONE, .task = id});
        return;
    }
    bool ends = !task->computed && !task->segment && !rows_left(task);
    if (!task->computed && should_fail(sim, task)) {
        fail_task(sim, id);
        return;
    }
    task->computed = true;
    if (!ends && ask(sim, id)) return;
    hand_on(sim, id);
}

static void happen_finished(Sim *sim, BreakerId breaker) {
    Event event = {.kind = EVENT_FINISHED, .breaker = breaker};
    for (uint16_t s = 0; s < sim->plan.stage_count; s++) {
        const CoreStage *stage = &sim->plan.stages[s];
        if (stage->kind != STAGE_READER || stage->reads.i != breaker.i) continue;
        const Work *work = &sim->load->work[s];
        event.count = (uint32_t)((sim->kept[breaker.i] + work->unit_rows - 1) / work->unit_rows);
        event.bytes = work->unit_rows * work->row_bytes;
    }
    sim_step(sim, event);
}

void sim_happen(Sim *sim, const Pending *pending) {
    switch (pending->what) {
    case HAPPEN_TICK: sim_step(sim, (Event){.kind = EVENT_TICK}); break;
    case HAPPEN_TASK: happen_task(sim, pending->task); break;
    case HAPPEN_SPILLED:
        sim_step(sim, (Event){.kind = EVENT_SPILLED, .part = pending->part});
        break;
    case HAPPEN_SHRUNK:
        sim_step(sim, (Event){.kind = EVENT_SHRUNK,
                              .breaker = pending->breaker,
                              .node = pending->node,
                              .bytes = pending->bytes});
        break;
    case HAPPEN_FINISHED: happen_finished(sim, pending->breaker); break;
    }
}
