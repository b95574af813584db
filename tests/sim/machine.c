#include "tests/sim/machine.h"

#include "tests/sim/network.h"
#include "tests/sim/restart.h"

#include <string.h>

static const CoreStage *stage_of(const Sim *sim, StageId stage) {
    return &sim->plan.stages[stage.i];
}
static const Work *work_of(const Sim *sim, StageId stage) { return &sim->load->work[stage.i]; }

// ---- partitions ---------------------------------------------------------------------------------

static uint64_t part_new(Sim *sim, Rows rows, const SimTask *from) {
    uint32_t id = sim->part_unused;
    if (id)
        sim->part_unused = sim->parts[id].unused;
    else
        id = sim->part_count++;
    sim->parts[id] = (SimPart){.alive = true, .rows = rows, .late = from->late, .node = from->node};
    return id;
}

static void part_free(Sim *sim, uint64_t id) {
    if (!sim->parts[id].alive) sim_fail(sim, "a partition is freed twice");
    sim->parts[id].alive = false;
    sim->parts[id].unused = sim->part_unused;
    sim->part_unused = (uint32_t)id;
}

const SimPart *sim_part(Sim *sim, uint64_t id) {
    if (!sim->parts[id].alive) sim_fail(sim, "a partition is read that was freed");
    if (sim->parts[id].writing) sim_fail(sim, "a partition is read while it is written to disk");
    return &sim->parts[id];
}

// ---- between the nodes --------------------------------------------------------------------------

void sim_tell(Sim *sim, NodeId node, Report report) {
    if (is_remote(sim, node))
        network_report(sim, node, &report);
    else
        sim_take(sim, &report);
}

static void order(Sim *sim, NodeId node, Order order) {
    if (is_remote(sim, node))
        network_order(sim, node, &order);
    else
        sim_obey(sim, &order);
}

static void order_task(Sim *sim, TaskId id, OrderKind kind) {
    const SimTask *task = &sim->tasks[id.i];
    order(sim, task->node, (Order){.kind = kind, .task = id, .life = task->life});
}

// Work that is over at the time that stands in `pending`, if it begins now.
static void order_work(Sim *sim, Pending pending) {
    pending.life = sim->lives[pending.node.i];
    order(sim, pending.node,
          (Order){.kind = ORDER_WORK, .pending = pending, .takes = pending.at - sim->now});
}

// ---- tasks --------------------------------------------------------------------------------------

void sim_task_over(Sim *sim, SimTask *task) {
    task->running = false;
    sim->open[task->stage.i]--;
}

static int64_t rows_left(const SimTask *task) { return task->rows[task->at].rows - task->done; }

static bool hands_over(const Sim *sim, const SimTask *task) {
    return stage_of(sim, task->stage)->output_count > 0;
}

static bool is_spike(const Sim *sim, const SimTask *task) {
    int64_t rows = work_of(sim, task->stage)->cut_rows;
    if (!sim->load->spikes || !rows) return false;  // A sink has none.
    int64_t block = (task->rows[task->at].row + task->done) / rows;
    return (7 * block + 3 * task->stage.i) % 10 == 0;
}

// Batches that begin with a row of the segment.
static int64_t batches_begun(const Sim *sim, SimTask *task) {
    int64_t batch = stage_of(sim, task->stage)->batch, before = task->batched;
    if (!batch) return 0;
    task->batched += task->segment;
    return (task->batched + batch - 1) / batch - (before + batch - 1) / batch;
}

// The task computes up to its next output, or to its end.
static void compute(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    const Work *work = work_of(sim, task->stage);
    if (!task->canceled && is_unwanted(sim, task))
        sim_fail(sim, "work goes on behind a bound");
    int64_t left = rows_left(task);
    bool whole = !hands_over(sim, task) && !stage_of(sim, task->stage)->fill_count;
    task->segment = !whole && left > work->cut_rows ? work->cut_rows : left;
    double seconds = (double)task->segment * (task->late ? work->late_seconds : work->row_seconds);
    seconds += (double)batches_begun(sim, task) * work->batch_seconds;
    if (is_spike(sim, task)) seconds *= 10;
    if (task->long_unit) seconds *= 8;
    if (sim->load->spread) seconds *= (double)between(&sim->random, 1, 1000) / 500;
    if (sim->load->losses && draw(&sim->random) % 50 == 0) seconds *= 30;  // A slow worker.
    if (sim->load->timed && task->stage.i < TINY_STAGES)
        seconds = sim->load->seconds[task->stage.i][task->rows[0].row];
    task->busy = (int64_t)(seconds * (double)SECOND);
    sim->result.busy[task->late && sim->load->phased][task->stage.i] += seconds;
    int64_t loads = (int64_t)((double)task->load_bytes / sim->options->disk_rate * (double)SECOND);
    task->load_bytes = 0;
    sim_push(sim, (Pending){.at = sim->now + task->busy + loads,
                            .what = HAPPEN_TASK,
                            .task = id,
                            .life = task->life});
}

// Rows of a root may come to a stage by several ways: each is a work of its own.
static bool is_same_work(const Rows *a, const Rows *b) {
    return a->item == b->item && a->root.i == b->root.i && a->row == b->row;
}

// What failed before comes again: its rows were checked then.
static bool comes_again(Sim *sim, StageId stage, Rows *rows) {
    Rows *redo = sim->redo[stage.i];
    bool zip = stage_of(sim, stage)->kind == STAGE_ZIP;
    for (uint32_t i = 0; i < sim->redo_count[stage.i]; i++) {
        bool same = zip ? redo[i].piece == rows->piece : is_same_work(&redo[i], rows);
        if (!same) continue;
        *rows = redo[i];
        redo[i] = redo[--sim->redo_count[stage.i]];
        return true;
    }
    return false;
}

// Does work of the stage begin in the order of its rows? What is lost with a node begins again.
static bool takes_in_order(const Sim *sim, StageId id) {
    const CoreStage *stage = stage_of(sim, id);
    return stage->kind == STAGE_SINK || (stage->in_order && plan_node_count(&sim->plan) == 1);
}

// The next rows of a stream; where there are bounds or units are skipped, some before them may not
// come.
static bool follow(const Sim *sim, Cursor *cursor, const Stream *stream, const Rows *rows) {
    if (is_bounded(sim) || sim->options->journal)
        return cursor_seek(cursor, stream, rows->root, rows->row, rows->rows);
    return cursor_take(cursor, stream, rows->root, rows->row, rows->rows);
}

static void check_order(Sim *sim, StageId stage, Rows rows) {
    if (!takes_in_order(sim, stage)) return;
    if (!comes_again(sim, stage, &rows) &&
        !follow(sim, &sim->cursors[stage.i][0], &sim->streams->made[stage.i], &rows))
        sim_fail(sim, "rows out of order");
}

int64_t rows_of_root(const Sim *sim, StageId root) {
    const CoreStage *stage = &sim->load->plan.stages[root.i];
    if (stage->kind == STAGE_READER) return sim->streams->kept[stage->reads.i];
    return stage->units * work_of(sim, root)->unit_rows;
}

uint32_t unit_of(const Sim *sim, const Rows *rows) {
    return (uint32_t)(rows->row / work_of(sim, rows->root)->unit_rows);
}

uint32_t units_of_root(const Sim *sim, StageId root) {
    int64_t unit_rows = work_of(sim, root)->unit_rows;
    return (uint32_t)((rows_of_root(sim, root) + unit_rows - 1) / unit_rows);
}

// None, where the root has come to its end before.
static Rows rows_of_unit(const Sim *sim, const Action *action) {
    int64_t unit_rows = work_of(sim, action->stage)->unit_rows;
    Rows rows = {.root = action->stage, .row = action->unit * unit_rows, .rows = unit_rows};
    int64_t all = rows_of_root(sim, action->stage);
    if (rows.row > all) rows.row = all;
    if (rows.row + rows.rows > all) rows.rows = all - rows.row;
    return rows;
}

// A unit begins: no sooner than it may, and none that the cores know not to be there.
static void begin_unit(Sim *sim, const Action *action) {
    SimRoot *root = &sim->roots[action->stage.i];
    const SimTask *task = &sim->tasks[action->task.i];
    Pending pending = {.stage = action->stage, .task = action->task, .life = task->life};
    if (action->unit >= root->begun) {
        bool there = action->unit < units_of_root(sim, action->stage);
        if (root->told && !there) sim_fail(sim, "a unit begins that is not there");
        if (there && is_committed(sim, action->stage, action->unit))
            sim_fail(sim, "a unit begins that was committed before");
        root->begun = action->unit + 1;
    }
    if (stage_of(sim, action->stage)->serial) {
        // What is skipped has been cut before.
        while (root->cut < action->unit && is_committed(sim, action->stage, root->cut)) root->cut++;
        if (action->unit > root->cut) sim_fail(sim, "a unit begins before it is cut");
        pending.what = HAPPEN_CUT, pending.at = sim->now + between(&sim->random, 0, SECOND / 20);
        if (draw(&sim->random) % 4) sim_push(sim, pending);
    }
    if (work_of(sim, action->stage)->later && draw(&sim->random) % 16 == 0) {
        pending.what = HAPPEN_UNITS, pending.at = sim->now + between(&sim->random, 0, SECOND);
        sim_push(sim, pending);
    }
}

static void happen_cut(Sim *sim, TaskId id) {
    const SimTask *task = &sim->tasks[id.i];
    bool waits = task->waits && is_remote(sim, task->node);
    if (!task->running || task->paused || !task->begun || waits) return;
    sim_tell(sim, task->node, (Report){.event = {.kind = EVENT_CUT, .task = id}});
}

static void tell_units(Sim *sim, StageId root) {
    sim->roots[root.i].told = true;
    sim_step(sim, (Event){.kind = EVENT_UNITS, .stage = root, .count = units_of_root(sim, root)});
}

// A unit is over. It says whether there is another, or the next one does.
static void end_unit(Sim *sim, const SimTask *task) {
    if (task->again) return;
    SimRoot *root = &sim->roots[task->stage.i];
    if (root->cut == task->unit) root->cut++;
    if (!work_of(sim, task->stage)->later) return;
    uint32_t units = units_of_root(sim, task->stage);
    bool tells = task->unit >= units || (task->unit + 1 == units && draw(&sim->random) % 2);
    if (tells) tell_units(sim, task->stage);
}

// The next rows of a side of a zip. Where there are bounds, a breaker's reader may have fewer.
static bool follow_side(const Sim *sim, Cursor *cursor, const Stream *stream, const Rows *rows) {
    const Cursor before = *cursor;
    if (!follow(sim, cursor, stream, rows)) return false;
    bool same = cursor->segment == before.segment && rows->row == before.row;
    return !is_bounded(sim) || same || rows->row == 0;
}

// Both sides must be at the same row.
static Rows rows_of_piece(Sim *sim, const Action *action) {
    StageId zip = action->stage;
    const SimPart *parts[2] = {sim_part(sim, action->data), sim_part(sim, action->other)};
    int64_t at[2] = {action->row, action->other_row};
    Rows rows = {
        .root = zip, .row = sim->zip_rows[zip.i], .rows = action->rows, .piece = action->unit};
    if (comes_again(sim, zip, &rows)) return rows;
    for (int side = 0; side < 2; side++) {
        Stream stream = stream_into(sim->streams, sim->load, zip, side);
        const Rows *part = &parts[side]->rows;
        Rows taken = {.root = part->root, .row = part->row + at[side], .rows = action->rows};
        if (at[side] + action->rows > part->rows ||
            !follow_side(sim, &sim->cursors[zip.i][side], &stream, &taken))
            sim_fail(sim, "the sides of a zip are not in order");
    }
    sim->zip_rows[zip.i] += action->rows;
    if (action->unit != sim->zip_unit[zip.i]++) sim_fail(sim, "a piece of a zip comes twice");
    return rows;
}

// Only where nothing else keeps rows from a side.
static void note_uneven(Sim *sim, const Action *action) {
    StageId zip = action->stage;
    Stream left = stream_into(sim->streams, sim->load, zip, 0);
    Stream right = stream_into(sim->streams, sim->load, zip, 1);
    bool good = is_bounded(sim) || stream_rows(&left) != stream_rows(&right);
    if (!good || sim->uneven[zip.i] || action->unit != sim->zip_unit[zip.i])
        sim_fail(sim, "a zip is said to be uneven");
    sim->uneven[zip.i] = true;
}

// What the limit took of these rows, if it had them before.
static const Rows *taken_before(const Sim *sim, StageId limit, const Rows *rows) {
    if (plan_node_count(&sim->plan) == 1) return nullptr;
    for (uint32_t i = 0; i < sim->taken_count; i++) {
        const Rows *taken = &sim->taken[i];
        bool same = taken->root.i == rows->root.i && taken->row == rows->row;
        if (same && taken->piece == limit.i) return taken;
    }
    return nullptr;
}

// A limit takes what is left; of what it runs again, as much as before.
static void limit_takes(Sim *sim, const SimTask *task, Rows *rows) {
    const Rows *before = taken_before(sim, task->stage, rows);
    int64_t most = before ? before->rows : sim->limit_left[task->stage.i];
    if (rows->rows > most) rows->rows = most;
    if (!stage_of(sim, task->stage)->limit) sim->limit_left[task->stage.i] -= rows->rows;
}

static Reads reads_of(const Action *action) {
    int count = action->of_unit ? 0 : action->kind == ACTION_PIECE ? 2 : 1;
    return (Reads){{action->part, action->side}, {action->data, action->other}, count};
}

static void launch(Sim *sim, const Action *action) {
    SimTask *task = &sim->tasks[action->task.i];
    if (action->task.i >= sim->task_count) sim->task_count = action->task.i + 1;
    const CoreStage *stage = stage_of(sim, action->stage);
    const Work *work = work_of(sim, action->stage);
    *task = (SimTask){.stage = action->stage,
                      .running = true,
                      .rows = sim->chains[action->task.i],
                      .reads = sim->reads[action->task.i],
                      .count = 1,
                      .node = action->node,
                      .unit = action->unit,
                      .life = task->life + 1,
                      .again = action->again};
    sim->result.launches++;
    if (++sim->open[action->stage.i] > stage->open_max && stage->open_max)
        sim_fail(sim, "a stage has too many open tasks");
    sim->result.reruns += action->again;
    check_place(sim, action);
    if (action->kind == ACTION_PIECE)
        task->rows[0] = rows_of_piece(sim, action);
    else if (action->of_unit)
        task->rows[0] = rows_of_unit(sim, action);
    else
        task->rows[0] = sim_part(sim, action->data)->rows;
    task->load_bytes = bytes_ahead(action, task->rows[0].rows * work->row_bytes);
    task->rows[0].item = action->item;
    task->reads[0] = reads_of(action);
    number_launched(sim, action);
    task->late = !action->of_unit && sim_part(sim, action->data)->late;
    if (stage->kind == STAGE_SOURCE) {
        task->late = action->unit >= units_of_root(sim, action->stage) / 2;
        task->long_unit = sim->load->skewed && action->unit % 16 == 0;
    }
    if (action->of_unit && !action->again) begin_unit(sim, action);
    if (work->limits) limit_takes(sim, task, &task->rows[0]);
    check_order(sim, action->stage, task->rows[0]);
    order_task(sim, action->task, ORDER_GO);
}

static void add(Sim *sim, const Action *action) {
    SimTask *task = &sim->tasks[action->task.i];
    if (task->count == CHAIN_MAX) {
        sim_fail(sim, "a launch takes too many partitions");
        return;
    }
    Rows *rows = &task->rows[task->count++];
    *rows = sim_part(sim, action->data)->rows;
    rows->item = action->item;
    task->reads[task->count - 1] = reads_of(action);
    number_launched(sim, action);
    check_place(sim, action);
    if (action->load) task->load_bytes += rows->rows * work_of(sim, action->stage)->row_bytes;
    if (work_of(sim, action->stage)->limits) limit_takes(sim, task, rows);
    check_order(sim, action->stage, *rows);
}

// Nothing can take these rows of the stage's breakers away any more.
static void make_safe(Sim *sim, StageId stage, Kept *kept) {
    const CoreStage *described = stage_of(sim, stage);
    for (uint8_t f = 0; f < described->fill_count; f++) {
        sim->kept[described->fills[f].i] += kept->rows;
        sim->kept_sum[described->fills[f].i] += kept->sum;
    }
    *kept = (Kept){0};
}

// The rows of a partition went in for good.
static void commit(Sim *sim, const SimTask *task, const Rows *rows) {
    const CoreStage *stage = stage_of(sim, task->stage);
    if (stage->kind == STAGE_SINK && sim->options->journal)
        journal_write(sim->options->journal, task->stage, rows);
    bool loses = sim->options->loses_row && rows->rows > 1;
    if (stage->kind == STAGE_SINK) sim->committed[task->stage.i] += rows->rows - loses;
    Rows taken = *rows;
    taken.rows -= loses;
    if (stage->kind == STAGE_SINK || (stage->fill_count && !task->again))
        note_taken(sim, task, &taken);
    if (task->again) return;
    if (stage->limit && !taken_before(sim, task->stage, rows)) {
        sim->limit_left[task->stage.i] -= rows->rows;
        sim->taken[sim->taken_count] = *rows;
        sim->taken[sim->taken_count].piece = task->stage.i;
        if (sim->taken_count + 1 < TAKEN_MAX) sim->taken_count++;
    }
    if (!stage->fill_count) return;
    Kept *unsafe = &sim->unsafe[task->stage.i][task->node.i];
    unsafe->rows += rows->rows;
    unsafe->sum += row_sum(rows->root, rows->row, rows->rows);
    if (plan_node_count(&sim->plan) == 1) make_safe(sim, task->stage, unsafe);
}

static void check_fillers(Sim *sim, BreakerId breaker) {
    for (uint16_t s = 0; s < sim->plan.stage_count; s++) {
        const CoreStage *stage = &sim->plan.stages[s];
        for (uint8_t f = 0; f < stage->fill_count; f++)
            if (stage->fills[f].i == breaker.i) check_complete(sim, (StageId){s});
    }
    sim->streams->kept[breaker.i] = sim->kept[breaker.i];  // Its readers have these rows.
}

static void finish_breaker(Sim *sim, const Action *action) {
    uint16_t b = action->breaker.i;
    bool whole = sim->kept[b] == sim->streams->kept[b] &&
                 sim->kept_sum[b] == sim->streams->kept_sum[b];
    if (!is_bounded(sim) && !whole) sim_fail(sim, "a breaker does not have each of its rows once");
    if (is_bounded(sim)) check_fillers(sim, action->breaker);
    sim_push(sim, (Pending){.at = sim->now + between(&sim->random, 0, SECOND / 10),
                            .what = HAPPEN_FINISHED,
                            .breaker = action->breaker});
}

// Rows that the task has taken and that come again, where their order is checked.
static void keep_for_again(Sim *sim, const SimTask *task) {
    bool kept = stage_of(sim, task->stage)->kind == STAGE_ZIP || takes_in_order(sim, task->stage);
    uint32_t *count = &sim->redo_count[task->stage.i];
    for (uint32_t i = task->at; kept && i < task->count; i++)
        if (task->rows[i].rows && !behind_bound(sim, &task->rows[i]) && *count < REDO_MAX)
            sim->redo[task->stage.i][(*count)++] = task->rows[i];
}

// Of several nodes, a task is dropped for others that stand first, too.
static bool drops_come_again(const Sim *sim, const SimTask *task) {
    return plan_node_count(&sim->plan) > 1 || behind_bound(sim, &task->rows[task->at]);
}

// What a launch took and is in front of the bound that ends it comes again.
static void stop_task(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    task->stopped = true;
    if (behind_bound(sim, &task->rows[task->at])) keep_for_again(sim, task);
    if (task->waits)
        sim_push(sim,
                 (Pending){.at = sim->now, .what = HAPPEN_TASK, .task = id, .life = task->life});
}

static void go_on(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    task->begun = true, task->paused = task->waits = false;
    if (task->computed)
        sim_push(sim,
                 (Pending){.at = sim->now, .what = HAPPEN_TASK, .task = id, .life = task->life});
    else
        compute(sim, id);
}

void sim_obey(Sim *sim, const Order *order) {
    SimTask *task = &sim->tasks[order->task.i];
    Pending pending = order->pending;
    pending.at = sim->now + order->takes;
    if (order->kind != ORDER_WORK && (order->life != task->life || !task->running)) return;
    switch (order->kind) {
    case ORDER_GO: go_on(sim, order->task); break;
    case ORDER_PAUSE: task->paused = true, task->waits = false; break;
    case ORDER_STOP: stop_task(sim, order->task); break;
    case ORDER_WORK: sim_push(sim, pending); break;
    }
}

static void flush(Sim *sim, const Action *action) {
    Kept *unsafe = &sim->unsafe[action->stage.i][action->node.i];
    sim->flushing[action->stage.i][action->node.i] = *unsafe;
    note_flush(sim, action->stage, action->node);
    *unsafe = (Kept){0};
    order_work(sim, (Pending){.at = sim->now + between(&sim->random, 0, SECOND / 10),
                              .what = HAPPEN_FLUSHED,
                              .stage = action->stage,
                              .node = action->node});
}

// ---- what the schedule says ---------------------------------------------------------------------

void sim_act(Sim *sim, const Action *action) {
    SimTask *task = &sim->tasks[action->task.i];
    int64_t writes = (int64_t)((double)action->bytes / sim->options->disk_rate * (double)SECOND);
    switch (action->kind) {
    case ACTION_LAUNCH:
    case ACTION_PIECE: launch(sim, action); break;
    case ACTION_UNEVEN: note_uneven(sim, action); break;
    case ACTION_ADD: add(sim, action); break;
    case ACTION_RESUME:
    case ACTION_GO_ON:
        if (!task->running) sim_fail(sim, "a task goes on that does not run");
        if (action->kind == ACTION_RESUME) check_drain(sim, action->node);
        order_task(sim, action->task, ORDER_GO);
        break;
    case ACTION_PAUSE: order_task(sim, action->task, ORDER_PAUSE); break;
    case ACTION_CANCEL:
        task->canceled = true;
        order_task(sim, action->task, ORDER_STOP);
        break;
    case ACTION_DROP:
        if (drops_come_again(sim, task)) keep_for_again(sim, task);
        sim_task_over(sim, task);
        task->life++;
        break;
    case ACTION_FREE: part_free(sim, action->data); break;
    case ACTION_SPILL:
        sim->parts[action->data].writing = true;
        order_work(sim, (Pending){.at = sim->now + writes,
                                  .what = HAPPEN_SPILLED,
                                  .part = action->part,
                                  .bytes = action->bytes,
                                  .data = action->data,
                                  .node = sim->plan.shares ? (NodeId){0} : action->node});
        break;
    case ACTION_HOLD:
        sim->denied = action->denied;
        break;
    case ACTION_SHRINK:
        order_work(sim, (Pending){.at = sim->now + writes,
                                  .what = HAPPEN_SHRUNK,
                                  .breaker = action->breaker,
                                  .node = action->node,
                                  .bytes = action->bytes});
        break;
    case ACTION_FLUSH: flush(sim, action); break;
    case ACTION_FINISH: finish_breaker(sim, action); break;
    case ACTION_CLOSE: break;
    case ACTION_NODE_IDLE: note_idle(sim, action->node); break;
    case ACTION_TIMER: sim_push(sim, (Pending){.at = action->at, .what = HAPPEN_TICK}); break;
    case ACTION_END:
        // What was to happen later, a timer that nobody needs any more, takes no time.
        sim->ended = true, sim->result.seconds = (double)sim->now / (double)SECOND;
        break;
    case ACTION_DIFFERS:
    case ACTION_BROKEN: sim_fail(sim, action->text); break;
    }
}

// ---- what happens -------------------------------------------------------------------------------

void sim_fail_task(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    keep_for_again(sim, task);
    sim_task_over(sim, task);
    task->life++;
    sim_tell(sim, task->node, (Report){.event = {.kind = EVENT_FAILED, .task = id}});
}

static bool should_fail(Sim *sim, const SimTask *task) {
    if (!sim->load->failing || sim->redo_count[task->stage.i] + CHAIN_MAX > REDO_MAX) return false;
    return draw(&sim->random) % sim->load->failing == 0;
}

// A breaker that is denied writes what it holds, gives that back, and works within its floor.
static void hold(Sim *sim, BreakerId breaker, NodeId node, int64_t bytes) {
    Event event = {.kind = EVENT_HOLD, .breaker = breaker, .node = node, .bytes = bytes};
    sim_step(sim, event);
    if (!sim->denied) return;
    sim_step(sim, (Event){.kind = EVENT_RELEASE, .breaker = breaker, .node = node,
                          .bytes = INT64_MAX});
    sim_step(sim, event);
    if (sim->denied) sim_fail(sim, "a breaker is denied its floor");
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
            task->waits = true;
            Event event = {.kind = EVENT_NEED, .task = id, .bytes = work->atom_bytes,
                           .must = draw(&sim->random) % 2};
            sim_tell(sim, task->node, (Report){.event = event});
            return true;
        }
    }
    while (task->fill < stage->fill_count) {
        BreakerId breaker = stage->fills[task->fill++];
        if (!bytes) continue;
        // No more than the floor at once.
        int64_t floor = sim->plan.breakers[breaker.i].floor;
        if (work->holds) {
            hold(sim, breaker, task->node, bytes < floor ? bytes : floor);
            if (task->stopped) return false;  // By what that led to.
            continue;
        }
        task->waits = true;
        Event event = {.kind = EVENT_NEED,
                       .task = id,
                       .fills = true,
                       .breaker = breaker,
                       .bytes = bytes < floor ? bytes : floor};
        sim_tell(sim, task->node, (Report){.event = event});
        return true;
    }
    return false;
}

static void end_item(Sim *sim, TaskId id, Event event) {
    SimTask *task = &sim->tasks[id.i];
    Report report = {.event = event,
                     .ends = true,
                     .rows = task->rows[task->at],
                     .item = task->rows[task->at].item,
                     .outputs = task->outputs};
    bool last = task->at + 1 == task->count;
    if (last)
        sim_task_over(sim, task);
    else
        task->at++, task->done = 0, task->outputs = 0;
    task->waits = !last;
    sim_tell(sim, task->node, report);
}

// The item's rows are there for good, unless nobody wanted them any more.
static void take_item(Sim *sim, TaskId id, const Rows *rows) {
    const SimTask *task = &sim->tasks[id.i];
    const CoreStage *stage = stage_of(sim, task->stage);
    bool limit = work_of(sim, task->stage)->limits;
    if (task->canceled) return;
    commit(sim, task, rows);
    if (stage->kind == STAGE_SOURCE || stage->kind == STAGE_READER) end_unit(sim, task);
    if (limit && !sim->limit_left[task->stage.i])
        sim_step(sim, (Event){.kind = EVENT_ENOUGH, .task = id});
}

static void take_cut(Sim *sim, TaskId id) {
    const SimTask *task = &sim->tasks[id.i];
    SimRoot *root = &sim->roots[task->stage.i];
    if (root->cut == task->unit) root->cut++;
}

void sim_take(Sim *sim, const Report *report) {
    const Event *event = &report->event;
    if (event->kind == EVENT_CUT) take_cut(sim, event->task);
    if (event->kind == EVENT_FLUSHED) {
        make_safe(sim, event->stage, &sim->flushing[event->stage.i][event->node.i]);
        make_safe(sim, event->stage, &sim->unsafe[event->stage.i][event->node.i]);
        note_flushed(sim, event->stage, event->node);
    }
    if (report->ends || event->kind == EVENT_OUTPUT) take_counts(sim, report);
    if (report->ends) take_item(sim, event->task, &report->rows);
    sim_step(sim, *event);
}

void sim_forget(Sim *sim, const Report *report) {
    if (report->event.kind == EVENT_OUTPUT) part_free(sim, report->event.data);
}

// Whoever makes them, they take as many bytes.
static int64_t bytes_of(const Sim *sim, StageId stage, const Rows *rows) {
    const Work *work = work_of(sim, stage);
    int64_t bytes = rows->rows * work->row_bytes;
    for (int64_t row = rows->row; work->long_bytes && row < rows->row + rows->rows; row++)
        bytes += row_sum(rows->root, row, 1) % 41 == 0 ? work->long_bytes : 0;
    return bytes;
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
                       .bytes = bytes_of(sim, task->stage, &rows),
                       .checksum = (uint64_t)row_sum(rows.root, rows.row, rows.rows),
                       .data = part_new(sim, rows, task)};
        for (int o = 0; o < OUTPUTS_MAX; o++) event.output_rows[o] = rows.rows;
        event.next = ends && !last;
        task->waits = !last;
        task->outputs++;
        if (ends)
            end_item(sim, id, event);
        else
            sim_tell(sim, task->node,
                 (Report){.event = event, .item = rows.item, .outputs = task->outputs});
    } else if (ends) {
        end_item(sim, id,
                 (Event){.kind = last ? EVENT_DONE : EVENT_NEXT, .task = id, .busy = busy});
    } else {
        compute(sim, id);
    }
}

static void end_stopped(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    sim_task_over(sim, task);
    sim_tell(sim, task->node, (Report){.event = {.kind = EVENT_DONE, .task = id}});
}

static void happen_task(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    uint32_t life = task->life;
    if (!task->stopped) bound_by_task(sim, id);
    if (task->life != life) return;  // Its node was lost with that.
    if (task->stopped) {
        end_stopped(sim, id);
        return;
    }
    if (finds_corrupt(sim, id)) return;
    bool ends = !task->computed && !task->segment && !rows_left(task);
    if (!task->computed && should_fail(sim, task)) {
        sim_fail_task(sim, id);
        return;
    }
    task->computed = true;
    if (!ends && ask(sim, id)) return;
    if (task->stopped)
        end_stopped(sim, id);
    else
        hand_on(sim, id);
}

static void happen_finished(Sim *sim, BreakerId breaker) {
    Event event = {.kind = EVENT_FINISHED, .breaker = breaker, .home = sim_goes_home(sim, breaker)};
    for (uint16_t s = 0; s < sim->plan.stage_count; s++) {
        const CoreStage *stage = &sim->plan.stages[s];
        if (stage->kind != STAGE_READER || stage->reads.i != breaker.i) continue;
        const Work *work = &sim->load->work[s];
        event.count = work->later ? UNITS_LATER : units_of_root(sim, (StageId){s});
        event.bytes = work->unit_rows * work->row_bytes;
    }
    sim_step(sim, event);
}

static bool is_of_task(const Pending *pending) {
    return pending->what == HAPPEN_TASK || pending->what == HAPPEN_CUT;
}

static bool is_of_node(const Pending *pending) {
    return pending->what == HAPPEN_SPILLED || pending->what == HAPPEN_SHRUNK ||
           pending->what == HAPPEN_FLUSHED;
}

// Does it not happen any more, or later?
static bool is_off(Sim *sim, const Pending *pending) {
    bool of_task = is_of_task(pending), of_node = is_of_node(pending);
    if (of_task && pending->life != sim->tasks[pending->task.i].life) return true;
    if (of_node && pending->life != sim->lives[pending->node.i]) return true;
    if (!of_task && !of_node) return false;
    int64_t hangs = network_hangs(sim, of_task ? sim->tasks[pending->task.i].node : pending->node);
    Pending later = *pending;
    later.at = hangs;
    if (hangs) sim_push(sim, later);
    return hangs > 0;
}

// What a node was told to do is done.
static void happen_work(Sim *sim, const Pending *pending) {
    Event event = {.part = pending->part,
                   .breaker = pending->breaker,
                   .node = pending->node,
                   .stage = pending->stage,
                   .bytes = pending->bytes};
    event.kind = pending->what == HAPPEN_SPILLED  ? EVENT_SPILLED
                 : pending->what == HAPPEN_SHRUNK ? EVENT_SHRUNK
                                                  : EVENT_FLUSHED;
    // A breaker may keep what it works with.
    const CoreBreaker *breaker = &sim->load->plan.breakers[event.breaker.i];
    if (event.kind == EVENT_SHRUNK && sim->load->spread)
        event.bytes = event.bytes > breaker->floor ? event.bytes - breaker->floor : 0;
    if (event.kind == EVENT_SPILLED) {
        SimPart *part = &sim->parts[pending->data];
        part->writing = false;
        if (part->corrupt && draw(&sim->random) % 2)
            event.kind = EVENT_PART_LOST, event.data = pending->data;
        else
            part->spilled = true;
        // In random plans rows take more room where they are brought back.
        if (sim->load->spread) event.bytes += event.bytes / 8;
    }
    sim_tell(sim, pending->node, (Report){.event = event});
}

void sim_happen(Sim *sim, const Pending *pending) {
    if (is_off(sim, pending)) return;
    switch (pending->what) {
    case HAPPEN_LOSS: happen_loss(sim, pending->node); break;
    case HAPPEN_DRAIN: happen_drain(sim, pending->node); break;
    case HAPPEN_UNDRAIN: happen_undrain(sim, pending->node); break;
    case HAPPEN_RESIZE: happen_resize(sim, pending->node); break;
    case HAPPEN_FLUSH: happen_flush(sim); break;
    case HAPPEN_CORRUPT: happen_corrupt(sim); break;
    case HAPPEN_RETURN: sim_up(sim, pending->node); break;
    case HAPPEN_FLIGHT: network_arrive(sim, pending->data); break;
    case HAPPEN_PULSE: network_pulse(sim, pending->node); break;
    case HAPPEN_TICK: sim_step(sim, (Event){.kind = EVENT_TICK}); break;
    case HAPPEN_TASK: happen_task(sim, pending->task); break;
    case HAPPEN_UNITS: tell_units(sim, pending->stage); break;
    case HAPPEN_BOUND: happen_bound(sim); break;
    case HAPPEN_CUT: happen_cut(sim, pending->task); break;
    case HAPPEN_SPILLED:
    case HAPPEN_SHRUNK:
    case HAPPEN_FLUSHED: happen_work(sim, pending); break;
    case HAPPEN_FINISHED: happen_finished(sim, pending->breaker); break;
    }
}
