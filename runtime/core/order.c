#include "runtime/core/order.h"

// ---- trees --------------------------------------------------------------------------------------

static bool tree_add(Tree *tree, EdgeId edge, uint8_t parent) {
    if (tree->count == TREE_MAX) return false;
    tree->edges[tree->count] = edge;
    tree->parents[tree->count++] = parent;
    return true;
}

// Outputs first, then what is below each: parents stand before children.
static bool tree_make(Tree *tree, const CorePlan *plan, StageId stage) {
    const CoreStage *top = &plan->stages[stage.i];
    for (uint8_t o = 0; o < top->output_count; o++)
        if (!tree_add(tree, top->outputs[o], TREE_MAX)) return false;
    for (uint8_t at = 0; at < tree->count; at++) {
        const CoreStage *below = &plan->stages[plan->edges[tree->edges[at].i].to.i];
        for (uint8_t o = 0; o < below->output_count; o++)
            if (!tree_add(tree, below->outputs[o], at)) return false;
    }
    return true;
}

// ---- nodes --------------------------------------------------------------------------------------

static Node *node_of(const Order *order, NodeId id) { return &order->nodes[id.i]; }

static NodeId node_new(Order *order, EdgeId edge, NodeKind kind, uint32_t item) {
    NodeId id = order->unused;
    if (id.i) order->unused = node_of(order, id)->next;
    else id.i = order->node_count++;
    *node_of(order, id) = (Node){.edge = edge, .kind = kind, .item = item};
    return id;
}

static void node_put_before(Order *order, NodeId id, NodeId place) {
    Node *node = node_of(order, id), *behind = node_of(order, place);
    node->next = place;
    node->before = behind->before;
    node_of(order, behind->before)->next = id;
    behind->before = id;
}

void order_remove(Order *order, NodeId id) {
    Node *node = node_of(order, id);
    node_of(order, node->before)->next = node->next;
    node_of(order, node->next)->before = node->before;
    node->next = order->unused;
    order->unused = id;
}

bool order_init(Order *order, const CorePlan *plan, Node *nodes, uint32_t node_max) {
    *order = (Order){.nodes = nodes, .node_max = node_max, .node_count = 1};
    for (uint16_t e = 0; e < plan->edge_count; e++) {
        NodeId head = node_new(order, (EdgeId){e}, NODE_MARK, 0);
        node_of(order, head)->next = node_of(order, head)->before = head;
        order->heads[e] = head;
        if (!tree_make(&order->trees[e], plan, plan->edges[e].to)) return false;
    }
    for (uint16_t s = 0; s < plan->stage_count; s++)
        if (plan->stages[s].kind == STAGE_SOURCE && !tree_make(&order->roots[s], plan, (StageId){s}))
            return false;
    return true;
}

uint32_t order_cost(const Order *order, EdgeId edge) { return 1u + order->trees[edge.i].count; }

NodeId order_unit(Order *order, StageId source) {
    const Tree *tree = &order->roots[source.i];
    NodeId first = {0}, last = {0};
    for (uint8_t i = 0; i < tree->count; i++) {
        NodeId mark = node_new(order, tree->edges[i], NODE_MARK, 0);
        node_put_before(order, mark, order->heads[tree->edges[i].i]);
        if (last.i) node_of(order, last)->twin = mark;
        else first = mark;
        last = mark;
    }
    return first;
}

OrderPlace order_output(Order *order, const Tree *tree, NodeId marks, uint8_t output,
                        uint32_t item) {
    OrderPlace place = {0};
    NodeId last = {0}, mark = marks;
    bool below[TREE_MAX] = {0};  // Is it below that output?
    for (uint8_t i = 0; i < tree->count; i++, mark = node_of(order, mark)->twin) {
        uint8_t parent = tree->parents[i];
        below[i] = parent == TREE_MAX ? i == output : below[parent];
        if (!below[i]) continue;
        bool own = i == output;
        NodeId id = node_new(order, tree->edges[i], own ? NODE_ITEM : NODE_MARK, item);
        node_put_before(order, id, mark);
        if (own) place.node = id;
        else if (last.i) node_of(order, last)->twin = id;
        else place.marks = id;
        if (!own) last = id;
    }
    return place;
}

void order_end(Order *order, NodeId marks) {
    while (marks.i) {
        NodeId twin = node_of(order, marks)->twin;
        order_remove(order, marks);
        marks = twin;
    }
}

NodeId order_first(const Order *order, EdgeId edge) {
    NodeId head = order->heads[edge.i], first = node_of(order, head)->next;
    return first.i == head.i ? (NodeId){0} : first;
}

NodeId order_next(const Order *order, NodeId node) {
    NodeId next = node_of(order, node)->next;
    return next.i == order->heads[node_of(order, node)->edge.i].i ? (NodeId){0} : next;
}
