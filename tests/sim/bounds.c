// Bounds: from some unit of a root on, nobody wants its rows. What then comes, in any order of
// events, must be all rows in front of the bound, and none behind it that were not there before.
#include "tests/sim/machine.h"
#include "tests/sim/network.h"

#include <stdlib.h>

bool is_bounded(const Sim *sim) { return sim->load->bounds > 0; }

bool behind_bound(const Sim *sim, const Rows *rows) {
    if (!is_bounded(sim) || !rows->rows) return false;
    bool zip = sim->plan.stages[rows->root.i].kind == STAGE_ZIP;
    return (zip ? rows->piece : unit_of(sim, rows)) >= sim->bounds[rows->root.i];
}

bool is_unwanted(const Sim *sim, const SimTask *task) {
    bool zips = bits_any(&schedule_shape(sim->schedule)->zips, BITS_WORDS);
    return behind_bound(sim, &task->rows[task->at]) && !(task->again && zips);
}

void note_taken(Sim *sim, const SimTask *task, const Rows *rows) {
    bool safe = sim->plan.stages[task->stage.i].kind == STAGE_SINK ||
                plan_node_count(&sim->plan) == 1;
    if (!is_bounded(sim)) return;
    if (behind_bound(sim, rows)) sim_fail(sim, "rows behind a bound are taken");
    if (sim->noted_count == sim->noted_max) {
        sim->noted_max = sim->noted_max ? 2 * sim->noted_max : 1024;
        sim->noted = realloc(sim->noted, sim->noted_max * sizeof *sim->noted);
    }
    sim->noted[sim->noted_count++] =
        (Noted){task->stage, task->node, safe ? NOTED_SAFE : NOTED_UNSAFE, *rows};
}

static void note_change(Sim *sim, StageId stage, NodeId node, Safety from) {
    for (size_t i = 0; i < sim->noted_count; i++) {
        Noted *noted = &sim->noted[i];
        bool same = noted->stage.i == stage.i && noted->node.i == node.i;
        if (same && noted->safety == from)
            noted->safety = from == NOTED_UNSAFE ? NOTED_FLUSHING : NOTED_SAFE;
    }
}

void note_flush(Sim *sim, StageId stage, NodeId node) {
    note_change(sim, stage, node, NOTED_UNSAFE);
}

void note_flushed(Sim *sim, StageId stage, NodeId node) {
    note_change(sim, stage, node, NOTED_FLUSHING);
    note_change(sim, stage, node, NOTED_UNSAFE);
    note_change(sim, stage, node, NOTED_FLUSHING);
}

void note_lost(Sim *sim, NodeId node) {
    size_t kept = 0;
    for (size_t i = 0; i < sim->noted_count; i++)
        if (sim->noted[i].node.i != node.i || sim->noted[i].safety == NOTED_SAFE)
            sim->noted[kept++] = sim->noted[i];
    sim->noted_count = kept;
}

// ---- bounds come --------------------------------------------------------------------------------

// Where a bound of the root may come, if rows of `unit` are just looked at; of a zip none of its
// rows are wanted, or none but those that have begun.
static uint32_t bound_of(Sim *sim, StageId root, uint32_t unit) {
    uint32_t near = unit + (uint32_t)(draw(&sim->random) % 2);
    if (sim->plan.stages[root.i].kind != STAGE_ZIP) return near;
    return draw(&sim->random) % 2 ? 0 : sim->zip_unit[root.i];
}

// What runs behind the bound was canceled in that step. Of a task that waits for an answer its
// report may still be on its way; it goes on after the answer, which is looked at there.
static void check_canceled(Sim *sim) {
    for (uint32_t t = 0; t < sim->task_count; t++) {
        const SimTask *task = &sim->tasks[t];
        bool answer = task->waits && is_remote(sim, task->node);
        if (task->running && !task->canceled && !answer && is_unwanted(sim, task))
            sim_fail(sim, "work behind a bound goes on");
    }
}

// Now and then a node is lost just before a bound, or just after it.
static void lose_some(Sim *sim) {
    uint32_t nodes = plan_node_count(&sim->plan);
    if (nodes == 1 || sim->network || draw(&sim->random) % 8) return;
    happen_loss(sim, (NodeId){(uint16_t)between(&sim->random, 1, nodes - 1)});
}

static void bound(Sim *sim, StageId root, uint32_t unit) {
    lose_some(sim);
    if (unit < sim->bounds[root.i]) sim->bounds[root.i] = unit;
    sim_step(sim, (Event){.kind = EVENT_BOUND, .stage = root, .unit = unit});
    check_canceled(sim);
    lose_some(sim);
}

void happen_bound(Sim *sim) {
    StageId root = {(uint16_t)between(&sim->random, 0, sim->plan.stage_count - 1)};
    if (sim->ended || !stage_is_root(&sim->plan.stages[root.i])) return;
    bool zip = sim->plan.stages[root.i].kind == STAGE_ZIP;
    uint32_t units = zip ? 0 : units_of_root(sim, root);
    if (plan_node_count(&sim->plan) > 1 && draw(&sim->random) % 8 == 0)
        sim_step(sim, (Event){.kind = EVENT_DRAIN});
    bound(sim, root, bound_of(sim, root, (uint32_t)between(&sim->random, 0, units + 1)));
}

void bound_by_task(Sim *sim, TaskId id) {
    const SimTask *task = &sim->tasks[id.i];
    const Rows *rows = &task->rows[task->at];
    if (!is_bounded(sim) || !rows->rows || draw(&sim->random) % 64) return;
    bool zip = sim->plan.stages[rows->root.i].kind == STAGE_ZIP;
    bound(sim, rows->root, bound_of(sim, rows->root, zip ? 0 : unit_of(sim, rows)));
}

void plan_bounds(Sim *sim) {
    for (uint16_t s = 0; s < sim->plan.stage_count; s++) sim->bounds[s] = UINT32_MAX;
    for (uint32_t i = 0; i < sim->load->bounds; i++) {
        int64_t most = SECOND << between(&sim->random, 0, 5);
        sim_push(sim, (Pending){.at = between(&sim->random, 0, most), .what = HAPPEN_BOUND});
        if (draw(&sim->random) % 8 == 0) happen_bound(sim);
    }
}

// ---- what came ----------------------------------------------------------------------------------

// Rows of the root that are in front of its bound.
static int64_t rows_wanted(const Sim *sim, StageId root) {
    if (sim->plan.stages[root.i].kind == STAGE_ZIP)
        return sim->bounds[root.i] ? sim->zip_rows[root.i] : 0;
    int64_t all = rows_of_root(sim, root);
    int64_t front = sim->bounds[root.i] * sim->load->work[root.i].unit_rows;
    return front < all ? front : all;
}

// A limit decides which rows come behind it.
static bool is_limited(const Workload *load, StageId stage) {
    const CorePlan *plan = &load->plan;
    const CoreStage *described = &plan->stages[stage.i];
    if (load->work[stage.i].limits) return true;
    if (described->kind == STAGE_ZIP) return false;
    for (uint8_t i = 0; i < described->input_count; i++)
        if (is_limited(load, plan->edges[described->inputs[i].i].from)) return true;
    return false;
}

void check_complete(Sim *sim, StageId stage) {
    if (is_limited(sim->load, stage)) return;
    const Stream *stream = &sim->streams->made[stage.i];
    int64_t missing = 0;
    for (int i = 0; i < stream->count; i++) {
        int64_t wanted = rows_wanted(sim, stream->segments[i].root);
        missing += wanted < stream->segments[i].rows ? wanted : stream->segments[i].rows;
    }
    for (size_t i = 0; i < sim->noted_count; i++)
        if (sim->noted[i].stage.i == stage.i && !behind_bound(sim, &sim->noted[i].rows))
            missing -= sim->noted[i].rows.rows;
    if (missing) sim_fail(sim, "rows in front of a bound are missing");
}
