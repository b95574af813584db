// Counts: what a job counts of each output and of each end of work, once. A second attempt makes
// both again; the number of its work and the outputs before it (Action.item) say what was taken.
#include "tests/sim/machine.h"

#include <stdlib.h>

void number_launched(Sim *sim, const Action *action) {
    uint32_t most = sim->number_max;
    while (action->item >= most) most = most ? 2 * most : 1024;
    if (most > sim->number_max) {
        sim->numbers_taken = realloc(sim->numbers_taken, most * sizeof *sim->numbers_taken);
        sim->number_max = most;
    }
    sim->numbers_taken[action->item] = action->outputs;
}

void take_counts(Sim *sim, const Report *report) {
    const SimTask *task = &sim->tasks[report->event.task.i];
    uint32_t *taken = &sim->numbers_taken[report->item];
    if (task->canceled) return;
    if (report->event.kind == EVENT_OUTPUT && report->outputs > *taken) {
        *taken = report->outputs;
        sim->counted[task->stage.i] += report->event.rows;
    }
    if (report->ends && *taken < UINT32_MAX) sim->counted_ends[task->stage.i] += report->rows.rows;
}

void check_counts(Sim *sim) {
    for (uint16_t s = 0; s < sim->plan.stage_count; s++)
        if (sim->load->work[s].limits) return;  // What is made that nobody wants is not known.
    for (uint16_t s = 0; s < sim->plan.stage_count; s++) {
        int64_t rows = stream_rows(&sim->streams->made[s]);
        if (sim->plan.stages[s].output_count && sim->counted[s] != rows)
            sim_fail(sim, "an output is counted twice, or never");
        if (sim->counted_ends[s] != rows) sim_fail(sim, "an end is counted twice, or never");
    }
}
