// Ahead: short tasks beyond the slots of a node. They are there when a slot becomes free, so that
// nobody waits for the next one to be sent.
//
//   LAUNCH ─▶ awaits a slot ─▶ another task of the node ends or pauses ─▶ has its slot
//                         └──▶ output, end: the node began it while another one was between outputs
//
// A task without a slot has its memory, and counts as running. The node begins what it was given in
// that order, as far as its slots go: the schedule need not say when.
//
// A long task would stand in the queue of its node while another node has nothing to do
// (CorePlan.step_ahead).
//
// What stands in a queue may not be waited for: what waits might be at the head of the same queue.
// So stages whose units wait for each other have none (CoreStage.chained).
#include "runtime/core/state.h"

void step_note(Schedule *s, StageId stage, int64_t busy) {
    enum { PART = 8 };
    StageState *state = state_of(s, stage);
    int64_t less = state->step - state->step / PART;
    state->step = busy > less ? busy : less;
    state->steps++;
}

// Batches wait for rows, and serial or chained units for the one before.
static bool is_plain(const CoreStage *stage) {
    bool kind = stage->kind == STAGE_SOURCE || stage->kind == STAGE_MAP;
    bool hands_on = stage->fill_count && stage->output_count;
    bool in_turn = stage->chained || stage->serial || stage->limit;
    return kind && !in_turn && !hands_on && !stage->batch && !stage->concurrency &&
           !stage->open_max;
}

bool may_go_ahead(const Schedule *s, NodeId node, StageId id) {
    const StageState *state = &s->stages[id.i];
    const CoreStage *stage = stage_of(s, id);
    bool brief = state->steps && state->step <= s->plan.step_ahead;
    return brief && !state->paused_count && !state->waiting && is_plain(stage) &&
           plan_kind_width(&s->plan, plan_node(&s->plan, node), stage) > 0;
}

static bool fits(const Schedule *s, NodeId id, const CoreStage *stage) {
    const NodeState *node = &s->nodes[id.i];
    const NodeKind *kind = plan_node(&s->plan, id);
    bool is = true;
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        is &= node->used[r] + stage->demand[r] <= kind->capacity[r];
    return is;
}

// The first that was launched of those for which there is a slot now.
static TaskId find_waiting(const Schedule *s, NodeId id) {
    TaskId found = {0};
    for (TaskId t = s->nodes[id.i].tasks; t.i; t = s->tasks[t.i].node_next) {
        const Task *task = &s->tasks[t.i];
        if (task->ahead && fits(s, id, stage_of(s, task->stage))) found = t;
    }
    return found;
}

void slots_pass_on(Schedule *s, NodeId id) {
    NodeState *node = node_of(s, id);
    TaskId found;
    while (node->ahead && (found = find_waiting(s, id)).i) {
        Task *task = task_of(s, found);
        StageState *state = state_of(s, task->stage);
        task->ahead = false;
        node->ahead--, state->ahead--;
        for (uint8_t r = 0; r < s->plan.resource_count; r++)
            node->used[r] += stage_of(s, task->stage)->demand[r];
        set_put(&s->full, task->stage, stage_is_full(state));
    }
}
