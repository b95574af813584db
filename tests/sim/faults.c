// Faults: nodes that are lost while a plan runs, and come back, and partitions that are corrupt.
#include "tests/sim/machine.h"

// ---- partitions ---------------------------------------------------------------------------------

void happen_corrupt(Sim *sim) {
    enum { LOOKS = 64 };
    for (int i = 0; i < LOOKS && sim->part_count > 1; i++) {
        SimPart *part = &sim->parts[between(&sim->random, 1, sim->part_count - 1)];
        bool zipped = sim->plan.stages[part->rows.root.i].kind == STAGE_ZIP;
        if (!part->alive || part->corrupt || zipped) continue;
        part->corrupt = true;
        return;
    }
}

// True: one of them is corrupt.
static bool report_corrupt(Sim *sim, NodeId node, const Reads *reads) {
    bool any = false;
    for (int i = 0; i < reads->count; i++) {
        const SimPart *part = &sim->parts[reads->data[i]];
        if (!part->alive || !part->corrupt) continue;
        Event event = {.kind = EVENT_PART_LOST, .part = reads->parts[i], .data = reads->data[i]};
        sim_tell(sim, node, (Report){.event = event});
        any = true;
    }
    return any;
}

bool finds_corrupt(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    const Reads *reads = &task->reads[task->at];
    if (!sim->load->corrupt && !sim->plan.shares) return false;
    if (task->done || task->computed) return false;
    for (int i = 0; i < reads->count; i++)
        if (sim->plan.shares && !sim->parts[reads->data[i]].alive)
            sim_fail(sim, "a partition is freed while a task reads it");
    // It may look at the rest of its launch before it comes to that.
    uint32_t end = sim->load->corrupt ? task->count : 0;
    for (uint32_t at = task->at + 1; at < end && draw(&sim->random) % 2; at++)
        report_corrupt(sim, task->node, &task->reads[at]);
    bool any = report_corrupt(sim, task->node, reads);
    if (any) sim_fail_task(sim, id);
    return any;
}

// ---- nodes --------------------------------------------------------------------------------------

void sim_stop(Sim *sim, NodeId node) {
    sim->lives[node.i]++;
    for (uint32_t t = 0; t < sim->task_count; t++)
        if (sim->tasks[t].running && sim->tasks[t].node.i == node.i) sim->tasks[t].life++;
}

// The node is gone with all that it had; tasks elsewhere that were copying from it fail.
void sim_lose(Sim *sim, NodeId node) {
    sim->down[node.i] = true;
    sim->drains[node.i] = sim->idle[node.i] = false;
    for (uint16_t s = 0; s < sim->plan.stage_count; s++)
        sim->unsafe[s][node.i] = sim->flushing[s][node.i] = (Kept){0};
    note_lost(sim, node);
    sim_stop(sim, node);
    for (uint32_t t = 0; t < sim->task_count; t++) {
        SimTask *task = &sim->tasks[t];
        if (task->running && task->node.i == node.i) sim_task_over(sim, task);
    }
    sim_step(sim, (Event){.kind = EVENT_NODE_LOST, .node = node});
    for (uint32_t t = 0; t < sim->task_count && !sim->result.wrong; t++) {
        SimTask *task = &sim->tasks[t];
        bool copies = task->running && !task->stopped && !task->computed &&
                      task->reads_from[node.i] && !task->paused;
        bool fails = sim->plan.stages[task->stage.i].kind == STAGE_SINK || !task->begun ||
                     draw(&sim->random) % 2;
        if (copies && task->at == 0 && task->done == 0 && fails) sim_fail_task(sim, (TaskId){t});
    }
}

void sim_up(Sim *sim, NodeId node) {
    sim->down[node.i] = sim->drains[node.i] = sim->idle[node.i] = false;
    sim_step(sim, (Event){.kind = EVENT_NODE_UP, .node = node});
}

void happen_loss(Sim *sim, NodeId node) {
    if (sim->down[node.i] || sim->ended) return;
    sim_lose(sim, node);
    sim_push(sim, (Pending){.at = sim->now + between(&sim->random, 0, 2 * SECOND),
                            .what = HAPPEN_RETURN,
                            .node = node});
}

// ---- drains -------------------------------------------------------------------------------------

void check_drain(Sim *sim, NodeId node) {
    if (sim->drains[node.i]) sim_fail(sim, "a task begins on a node that drains");
}

void happen_drain(Sim *sim, NodeId node) {
    if (sim->down[node.i] || sim->drains[node.i] || sim->ended) return;
    sim->drains[node.i] = true;
    sim_step(sim, (Event){.kind = EVENT_NODE_DRAIN, .node = node});
    // A worker may not have heard that its task goes on.
    for (uint32_t t = 0; t < sim->task_count && !sim->network; t++) {
        const SimTask *task = &sim->tasks[t];
        if (task->running && task->node.i == node.i && task->paused)
            sim_fail(sim, "a task waits on a node that drains");
    }
    // Now and then somebody thinks better of it.
    if (draw(&sim->random) % 4 == 0)
        sim_push(sim, (Pending){.at = sim->now + between(&sim->random, 0, 2 * SECOND),
                                .what = HAPPEN_UNDRAIN,
                                .node = node});
}

void note_idle(Sim *sim, NodeId node) {
    if (!sim->drains[node.i] || sim->idle[node.i]) sim_fail(sim, "a node is idle twice");
    sim->idle[node.i] = true;
    for (uint32_t t = 0; t < sim->task_count; t++)
        if (sim->tasks[t].running && sim->tasks[t].node.i == node.i)
            sim_fail(sim, "a node is said to be idle that has a task");
    for (uint16_t s = 0; s < sim->plan.stage_count; s++)
        if (sim->unsafe[s][node.i].rows || sim->flushing[s][node.i].rows)
            sim_fail(sim, "a node is said to be idle that has rows of a breaker");
    sim_push(sim, (Pending){.at = sim->now + between(&sim->random, 0, 4 * SECOND),
                            .what = HAPPEN_UNDRAIN,
                            .node = node});
}

// Its process may have ended meanwhile, with a word or without one.
void happen_undrain(Sim *sim, NodeId node) {
    if (!sim->drains[node.i]) return;
    bool ends = sim->idle[node.i] && !sim->network && draw(&sim->random) % 2;
    if (ends)
        happen_loss(sim, node);
    else
        sim_up(sim, node);
}

// ---- memory -------------------------------------------------------------------------------------

// Half of the times the least that a node works with.
void happen_resize(Sim *sim, NodeId node) {
    int64_t least = sim->result.minimum, most = plan_node(&sim->plan, node)->memory;
    if (sim->ended || most < least) return;
    int64_t bytes = draw(&sim->random) % 2 ? least : between(&sim->random, least, most);
    sim_step(sim, (Event){.kind = EVENT_MEMORY, .node = node, .bytes = bytes});
    const Ledger *ledger = schedule_ledger(sim->schedule, node);
    if (ledger->common - ledger->owed != bytes - least)
        sim_fail(sim, "a node does not come to have the memory that it was told of");
    if (ledger->owed > 0 && ledger->common > ledger->common_used - ledger->over)
        sim_fail(sim, "a node that owes memory has some to give");
}

// ---- commits ------------------------------------------------------------------------------------

// What a stage has put into breakers is its own only as long as some of its work is not safe.
static void check_safe(Sim *sim, uint16_t stage) {
    bool safe = true;
    Kept kept = {0};
    for (uint16_t r = 0; r < sim->plan.stage_count; r++)
        safe &= schedule_is_safe(sim->schedule, (StageId){stage}, (StageId){r}, UINT32_MAX);
    for (uint32_t n = 1; n < plan_node_count(&sim->plan); n++)
        kept.rows += sim->unsafe[stage][n].rows + sim->flushing[stage][n].rows;
    if (safe && kept.rows > 0) sim_fail(sim, "rows are said to be safe that a node may lose");
}

// A commit wants all that came into breakers.
void happen_flush(Sim *sim) {
    for (uint16_t s = 0; s < sim->plan.stage_count && !sim->ended; s++) {
        if (sim->plan.stages[s].fill_count == 0) continue;
        sim_step(sim, (Event){.kind = EVENT_FLUSH, .stage = {s}});
        check_safe(sim, s);
    }
}

// ---- plans --------------------------------------------------------------------------------------

// Nodes that are not there from the start.
static void take_away(Sim *sim, uint32_t nodes) {
    for (uint16_t n = 1; n < nodes; n++) {
        if (sim->network || !sim->load->drains || draw(&sim->random) % 4) continue;
        sim_lose(sim, (NodeId){n});
        sim_push(sim, (Pending){.at = between(&sim->random, 0, 20 * SECOND),
                                .what = HAPPEN_RETURN,
                                .node = {n}});
    }
}

void plan_faults(Sim *sim) {
    uint32_t nodes = plan_node_count(&sim->plan);
    if (nodes == 1) return;
    take_away(sim, nodes);
    for (uint32_t i = 0; i < sim->load->resizes; i++)
        sim_push(sim, (Pending){.at = between(&sim->random, 0, 20 * SECOND),
                                .what = HAPPEN_RESIZE,
                                .node = {(uint16_t)between(&sim->random, 0, nodes - 1)}});
    for (int64_t i = sim->load->spread ? between(&sim->random, 0, 4) : 0; i > 0; i--)
        sim_push(sim, (Pending){.at = between(&sim->random, 0, 20 * SECOND), .what = HAPPEN_FLUSH});
    for (uint32_t i = 0; i < sim->load->drains; i++)
        sim_push(sim, (Pending){.at = between(&sim->random, 0, 20 * SECOND),
                                .what = HAPPEN_DRAIN,
                                .node = {(uint16_t)between(&sim->random, 1, nodes - 1)}});
    for (uint32_t i = 0; !sim->network && i < sim->load->losses; i++)
        sim_push(sim, (Pending){.at = between(&sim->random, 0, 20 * SECOND),
                                .what = HAPPEN_LOSS,
                                .node = {(uint16_t)between(&sim->random, 1, nodes - 1)}});
    for (uint32_t i = 0; i < sim->load->corrupt; i++) {
        int64_t most = SECOND << between(&sim->random, 0, 5);
        sim_push(sim, (Pending){.at = between(&sim->random, 0, most), .what = HAPPEN_CORRUPT});
    }
}
