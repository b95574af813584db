// Bounds: from some unit of a root on, nobody wants its rows. What then comes, in any order of
// events, must be all rows in front of the bound, and none behind it that were not there before.
#include "tests/sim/machine.h"

#include <stdlib.h>

bool is_bounded(const Sim *sim) { return sim->load->bounds > 0; }

bool behind_bound(const Sim *sim, const Rows *rows) {
    if (!is_bounded(sim) || sim->plan.stages[rows->root.i].kind == STAGE_ZIP) return false;
    return rows->rows && unit_of(sim, rows) >= sim->bounds[rows->root.i];
}

void note_taken(Sim *sim, StageId stage, const Rows *rows) {
    if (!is_bounded(sim)) return;
    if (behind_bound(sim, rows)) sim_fail(sim, "rows behind a bound are taken");
    if (sim->noted_count == sim->noted_max) {
        sim->noted_max = sim->noted_max ? 2 * sim->noted_max : 1024;
        sim->noted = realloc(sim->noted, sim->noted_max * sizeof *sim->noted);
    }
    sim->noted[sim->noted_count++] = (Noted){stage, *rows};
}

// ---- bounds come --------------------------------------------------------------------------------

// Do its rows come into a zip?
static bool is_zipped(const CorePlan *plan, StageId from) {
    if (plan->stages[from.i].kind == STAGE_ZIP) return true;
    for (uint8_t o = 0; o < plan->stages[from.i].output_count; o++)
        if (is_zipped(plan, plan->edges[plan->stages[from.i].outputs[o].i].to)) return true;
    return false;
}

static bool may_be_bounded(const Sim *sim, StageId id) {
    StageKind kind = sim->plan.stages[id.i].kind;
    return (kind == STAGE_SOURCE || kind == STAGE_READER) && !is_zipped(&sim->plan, id);
}

// What runs behind the bound was canceled in that step.
static void check_canceled(Sim *sim) {
    for (uint32_t t = 0; t < TASKS_MAX; t++) {
        const SimTask *task = &sim->tasks[t];
        if (task->running && !task->canceled && behind_bound(sim, &task->rows[task->at]))
            sim_fail(sim, "work behind a bound goes on");
    }
}

static void bound(Sim *sim, StageId root, uint32_t unit) {
    if (unit < sim->bounds[root.i]) sim->bounds[root.i] = unit;
    sim_step(sim, (Event){.kind = EVENT_BOUND, .stage = root, .unit = unit});
    check_canceled(sim);
}

void happen_bound(Sim *sim) {
    StageId root = {(uint16_t)between(&sim->random, 0, sim->plan.stage_count - 1)};
    if (sim->ended || !may_be_bounded(sim, root)) return;
    bound(sim, root, (uint32_t)between(&sim->random, 0, units_of_root(sim, root) + 2));
}

void bound_by_task(Sim *sim, TaskId id) {
    const SimTask *task = &sim->tasks[id.i];
    const Rows *rows = &task->rows[task->at];
    if (!is_bounded(sim) || !rows->rows || draw(&sim->random) % 64) return;
    if (may_be_bounded(sim, rows->root))
        bound(sim, rows->root, unit_of(sim, rows) + (uint32_t)(draw(&sim->random) % 2));
}

void plan_bounds(Sim *sim) {
    for (uint16_t s = 0; s < STAGES_MAX; s++) sim->bounds[s] = UINT32_MAX;
    for (uint32_t i = 0; i < sim->load->bounds; i++) {
        int64_t most = SECOND << between(&sim->random, 0, 5);
        sim_push(sim, (Pending){.at = between(&sim->random, 0, most), .what = HAPPEN_BOUND});
        if (draw(&sim->random) % 8 == 0) happen_bound(sim);
    }
}

// ---- what came ----------------------------------------------------------------------------------

// Rows of the root that are in front of its bound.
static int64_t rows_wanted(const Sim *sim, StageId root) {
    if (sim->plan.stages[root.i].kind == STAGE_ZIP) return sim->zip_rows[root.i];
    int64_t all = rows_of_root(sim, root);
    int64_t front = sim->bounds[root.i] * sim->load->work[root.i].unit_rows;
    return front < all ? front : all;
}

// A limit decides which rows come behind it.
static bool is_limited(const CorePlan *plan, StageId stage) {
    const CoreStage *described = &plan->stages[stage.i];
    if (described->limit) return true;
    if (described->kind == STAGE_ZIP) return false;
    for (uint8_t i = 0; i < described->input_count; i++)
        if (is_limited(plan, plan->edges[described->inputs[i].i].from)) return true;
    return false;
}

void check_complete(Sim *sim, StageId stage) {
    if (is_limited(&sim->plan, stage)) return;
    const Stream *stream = &sim->streams.made[stage.i];
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
