#include "runtime/core/state.h"

// Drain: nodes come, go, and leave in good order.
//
// A node that drains begins nothing. Its running tasks go on to their ends, and give their slots to
// no other work. Its paused tasks are dropped, whatever they have handed over: one may wait for
// memory as long as the job runs, and the drain would wait with it. What they handed over stays.
// The next attempt, on another node, makes it once more, and that copy is freed. When no task is
// left, rows in breakers of the node are flushed. Then the node is idle: only partitions are there.

// ---- how many there are -------------------------------------------------------------------------

// Widths and capacities follow from where stages may run.
static void places_changed(Schedule *s) {
    pacing_nodes(&s->pacing, &s->plan, &s->shape, &s->usable);
    widths_judge(s);
    share_out(s);
}

// Other nodes are up than before.
static void nodes_changed(Schedule *s, NodeId id) {
    s->usable = (NodeCounts){0};
    for (uint32_t n = 0, k = 0, i = 0; n < s->node_count; n++, i++) {
        while (i == s->plan.nodes[k].count) i = 0, k++;
        s->usable.of[k] += node_is_usable(&s->nodes[n]);
    }
    places_changed(s);
    touch(s, id);
}

void stages_go_home(Schedule *s, const StageSet *stages) {
    if (s->node_count == 1 || bits_within(stages, &s->shape.home, s->words)) return;
    shape_bring_home(&s->shape, &s->plan, stages);
    places_changed(s);
    for (uint32_t n = 0; n < s->node_count; n++) touch(s, (NodeId){(uint16_t)n});
}

// ---- events -------------------------------------------------------------------------------------

// It does not drain any more.
static void drain_over(Schedule *s, NodeState *node) {
    if (node->drains && !node->idle) s->draining--;
    node->drains = node->idle = false;
}

void on_node_lost(Schedule *s, const Event *event) {
    NodeState *node = node_of(s, event->node);
    if (!node->up) return;
    drain_over(s, node);
    node->up = false;
    node_lose(s, event->node);
    nodes_changed(s, event->node);
    for (uint16_t i = 0; i < s->plan.stage_count; i++) judge_over(s, (StageId){i});
}

void on_node_up(Schedule *s, const Event *event) {
    NodeState *node = node_of(s, event->node);
    drain_over(s, node);
    node->up = true;
    nodes_changed(s, event->node);
}

void on_node_drain(Schedule *s, const Event *event) {
    NodeState *node = node_of(s, event->node);
    if (!event->node.i) break_off(s, "the first node is to drain");
    if (!node_is_usable(node)) return;
    node->drains = true;
    s->draining++;
    flush_node(s, event->node);
    nodes_changed(s, event->node);
}

// ---- progress -----------------------------------------------------------------------------------

static void drop_paused(Schedule *s, NodeState *node) {
    for (TaskId id = node->tasks; id.i;) {
        TaskId next = task_of(s, id)->node_next;
        if (task_of(s, id)->state == TASK_PAUSED) task_drop(s, id);
        id = next;
    }
}

// Is nothing there but partitions? Those that the caller writes are none of the node's work.
static bool is_idle(const Schedule *s, const NodeState *node) {
    uint32_t others = s->plan.shares ? node->spilling : 0;
    bool covers = false;
    for (uint16_t i = 0; i < s->plan.stage_count; i++)
        covers |= node->covered[i].i || node->flushing[i].i;
    return !node->tasks.i && !covers && node->answers_due == others;
}

static void drain_node(Schedule *s, NodeId id) {
    NodeState *node = node_of(s, id);
    drop_paused(s, node);
    if (!node->tasks.i) flush_node(s, id);
    if (!is_idle(s, node)) return;
    breakers_lose(s, node);
    touch(s, id);
    node->idle = true;
    s->draining--;
    act(s, (Action){.kind = ACTION_NODE_IDLE, .node = id});
}

void drains_judge(Schedule *s) {
    for (uint32_t n = 0; n < s->node_count && s->draining; n++)
        if (s->nodes[n].drains && !s->nodes[n].idle) drain_node(s, (NodeId){(uint16_t)n});
}
