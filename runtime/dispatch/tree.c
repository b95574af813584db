// Tree: where a flow stands among all that may come of the units of its root.
#include "runtime/dispatch.h"
#include "runtime/dispatch/flow.h"

static const Shape *shape_of(const Dispatch *d) { return schedule_shape(d->schedule); }

uint32_t flow_stage_at(const Dispatch *d, uint32_t root, uint8_t node) {
    if (node == NODE_ROOT) return root;
    return d->plan->plan.edges[shape_of(d)->reach[root].edges[node].i].to.i;
}

uint8_t flow_side(const Dispatch *d, EdgeId edge) {
    bool zip = d->plan->plan.stages[d->plan->plan.edges[edge.i].to.i].kind == STAGE_ZIP;
    return zip ? shape_of(d)->input_of[edge.i] : 0;
}

uint8_t flow_node_of(const Dispatch *d, const LivePartition *input, uint32_t stage, uint8_t side) {
    const CorePlan *plan = &d->plan->plan;
    const Tree *tree = &shape_of(d)->reach[input->root];
    for (uint8_t i = 0; i < tree->count; i++) {
        CoreEdge edge = plan->edges[tree->edges[i].i];
        bool from = edge.from.i == input->run->index && edge.to.i == stage;
        bool below = tree->parents[i] == input->node;
        if (from && below && flow_side(d, tree->edges[i]) == side) return i;
    }
    return NODE_ROOT;
}

uint16_t flow_way(const Dispatch *d, uint32_t root, uint8_t node) {
    if (node == NODE_ROOT) return 0;
    EdgeId edge = shape_of(d)->reach[root].edges[node];
    uint8_t region = schedule_region(d->schedule, (StageId){(uint16_t)root}, node);
    return (uint16_t)(shape_of(d)->input_of[edge.i] << 8 | region);
}

// The node above which the step began that goes on at `node`.
static uint8_t step_begins(const Dispatch *d, uint32_t root, uint8_t node) {
    const Tree *tree = &shape_of(d)->reach[root];
    const SbStage *stage = &d->what->stages[flow_stage_at(d, root, node)];
    uint32_t step = sb_goes_on_step(d->what, stage);
    while (node != NODE_ROOT && step != UINT32_MAX && sb_goes_on_step(d->what, stage) == step) {
        node = tree->parents[node];
        stage = &d->what->stages[flow_stage_at(d, root, node)];
    }
    return node;
}

VerdictPlace flow_verdict_place(const Dispatch *d, uint32_t root, uint8_t node) {
    return (VerdictPlace){flow_stage_at(d, root, node), root, flow_way(d, root, node),
                          flow_way(d, root, step_begins(d, root, node))};
}
