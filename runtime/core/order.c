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

// ---- regions ------------------------------------------------------------------------------------

typedef struct Way { StageId source; uint8_t index; } Way;

// By which input rows of the edge came into the stage above it: the place of the parent edge.
static uint8_t input_above(const CorePlan *plan, const Tree *tree, uint8_t index) {
    uint8_t parent = tree->parents[index];
    if (parent == TREE_MAX) return 0;
    const CoreStage *stage = &plan->stages[plan->edges[tree->edges[index].i].from.i];
    uint8_t input = 0;
    while (stage->inputs[input].i != tree->edges[parent].i) input++;
    return input;
}

// The union that is furthest down decides, then the one above it.
static bool way_before(const Order *order, const CorePlan *plan, Way a, Way b) {
    const Tree *ta = &order->roots[a.source.i], *tb = &order->roots[b.source.i];
    for (uint8_t i = a.index, j = b.index; i != TREE_MAX && j != TREE_MAX;
         i = ta->parents[i], j = tb->parents[j]) {
        uint8_t x = input_above(plan, ta, i), y = input_above(plan, tb, j);
        if (x != y) return x < y;
    }
    return a.source.i < b.source.i;
}

static bool regions_make(Order *order, const CorePlan *plan, EdgeId edge) {
    Way ways[TREE_MAX];
    uint8_t count = 0;
    uint64_t before = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const Tree *tree = &order->roots[s];
        for (uint8_t i = 0; i < tree->count; i++) {
            if (tree->edges[i].i != edge.i) continue;
            if (count == TREE_MAX) return false;
            Way way = {{s}, i};
            uint8_t at = count++;
            for (; at && way_before(order, plan, way, ways[at - 1]); at--) ways[at] = ways[at - 1];
            ways[at] = way;
        }
    }
    for (uint8_t w = 0; w < count; w++) {
        Ends *ends = &order->ends[ways[w].source.i];
        NodeId end = order->heads[edge.i];
        if (w + 1 < count) {
            end = node_new(order, edge, NODE_MARK, 0);
            node_put_before(order, end, order->heads[edge.i]);
        }
        ends->nodes[ways[w].index] = end;
        ends->regions[ways[w].index] = w;
        ends->before |= before & ~(1ull << ways[w].source.i);
        before |= 1ull << ways[w].source.i;
    }
    return true;
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
        if (plan->stages[s].kind == STAGE_SOURCE &&
            !tree_make(&order->roots[s], plan, (StageId){s}))
            return false;
    for (uint16_t e = 0; e < plan->edge_count; e++)
        if (!regions_make(order, plan, (EdgeId){e})) return false;
    return true;
}

NodeId order_unit(Order *order, StageId source) {
    const Tree *tree = &order->roots[source.i];
    NodeId first = {0}, last = {0};
    for (uint8_t i = 0; i < tree->count; i++) {
        NodeId mark = node_new(order, tree->edges[i], NODE_MARK, 0);
        node_of(order, mark)->region = order->ends[source.i].regions[i];
        node_put_before(order, mark, order->ends[source.i].nodes[i]);
        if (last.i) node_of(order, last)->twin = mark;
        else first = mark;
        last = mark;
    }
    return first;
}

void order_source_end(Order *order, StageId source) {
    const Tree *tree = &order->roots[source.i];
    for (uint8_t i = 0; i < tree->count; i++) {
        NodeId end = order->ends[source.i].nodes[i];
        if (end.i != order->heads[tree->edges[i].i].i) order_remove(order, end);
    }
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
        node_of(order, id)->region = node_of(order, mark)->region;
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
