// Places: a task runs where its stage may, and reads what it may read there.
#include "tests/sim/machine.h"

static void read_from(Sim *sim, const Action *action, SimTask *task, uint64_t data) {
    NodeId from = sim_part(sim, data)->node;
    bool elsewhere = from.i != action->node.i;
    if (sim->plan.shares) return;
    if (elsewhere) task->reads_from[from.i] = true;
    if (sim->down[from.i]) sim_fail(sim, "a partition is read that was lost");
    if (!action->load && elsewhere) sim_fail(sim, "a partition is not here");
}

// Where nodes read each other's partitions, only those on disk are brought.
static void check_load(Sim *sim, const Action *action) {
    bool spilled = !action->of_unit && sim_part(sim, action->data)->spilled;
    if (action->kind == ACTION_PIECE) spilled |= sim_part(sim, action->other)->spilled;
    if (sim->plan.shares && action->load != spilled)
        sim_fail(sim, "a partition is loaded that is there, or not loaded from disk");
}

// The first node may lack what the stages that probe the table ask for: it stays with all, then.
bool sim_goes_home(const Sim *sim, BreakerId breaker) {
    const CorePlan *plan = &sim->plan;
    bool home = sim->load->homely && breaker.i % sim->load->homely == 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        bool probes = false;
        for (uint8_t n = 0; n < stage->need_count; n++) probes |= stage->needs[n].i == breaker.i;
        home &= !probes || plan_kind_width(plan, &plan->nodes[0], stage) > 0;
    }
    return home;
}

// Does the stage run on that node at all?
static void check_node(Sim *sim, const Action *action) {
    const CoreStage *stage = &sim->plan.stages[action->stage.i];
    bool home = set_has(&schedule_shape(sim->schedule)->home, action->stage);
    bool own = stage->home || stage->kind == STAGE_SINK || stage->kind == STAGE_ZIP;
    for (uint8_t n = 0; n < stage->need_count; n++) own |= sim_goes_home(sim, stage->needs[n]);
    if ((own && !home) || (home && action->node.i))
        sim_fail(sim, "a task that is at home runs elsewhere");
    if (sim->plan.leads && !home && !action->node.i)
        sim_fail(sim, "the first node leads, and runs a task of the others");
}

// Where nodes share, only what was found lost is made again, and what breakers of a node had.
static void check_again(Sim *sim, const Action *action) {
    bool may = !sim->plan.shares || sim->load->corrupt || sim->plan.breaker_count;
    if (action->again && !may) sim_fail(sim, "a partition is made again that is there");
}

void check_place(Sim *sim, const Action *action) {
    SimTask *task = &sim->tasks[action->task.i];
    if (sim->down[action->node.i]) sim_fail(sim, "a task is launched on a node that is lost");
    if (action->kind != ACTION_ADD) check_drain(sim, action->node);
    check_node(sim, action);
    check_load(sim, action);
    check_again(sim, action);
    if (action->of_unit) return;
    read_from(sim, action, task, action->data);
    if (action->kind == ACTION_PIECE) read_from(sim, action, task, action->other);
}
