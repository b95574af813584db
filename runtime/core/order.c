#include "runtime/core/order.h"

#include <string.h>

// ---- places -------------------------------------------------------------------------------------

static Place *place_of(const Order *order, PlaceId id) { return &order->places[id.i]; }

static PlaceId place_new(Order *order, EdgeId edge, PlaceKind kind, uint32_t item) {
    PlaceId id = order->unused;
    if (id.i)
        order->unused = place_of(order, id)->next;
    else
        id.i = order->place_count++;
    *place_of(order, id) = (Place){.edge = edge, .kind = kind, .item = item};
    return id;
}

static void place_put_before(Order *order, PlaceId id, PlaceId next) {
    Place *place = place_of(order, id), *behind = place_of(order, next);
    place->next = next;
    place->before = behind->before;
    place_of(order, behind->before)->next = id;
    behind->before = id;
}

void order_remove(Order *order, PlaceId id) {
    Place *place = place_of(order, id);
    place_of(order, place->before)->next = place->next;
    place_of(order, place->next)->before = place->before;
    place->next = order->unused;
    order->unused = id;
}

// ---- regions ------------------------------------------------------------------------------------

typedef struct Way {
    StageId root;
    uint8_t index;
} Way;

// By which input rows of the edge came into the stage above it: the place of the parent edge.
static uint8_t input_above(const Order *order, const Tree *tree, uint8_t index) {
    uint8_t parent = tree->parents[index];
    if (parent == TREE_MAX) return 0;
    return order->shape->input_of[tree->edges[parent].i];
}

// The union that is furthest down decides, then the one above it.
static bool way_before(const Order *order, Way a, Way b) {
    const Tree *ta = &order->shape->reach[a.root.i], *tb = &order->shape->reach[b.root.i];
    for (uint8_t i = a.index, j = b.index; i != TREE_MAX && j != TREE_MAX;
         i = ta->parents[i], j = tb->parents[j]) {
        uint8_t x = input_above(order, ta, i), y = input_above(order, tb, j);
        if (x != y) return x < y;
    }
    return a.root.i < b.root.i;
}

static bool regions_make(Order *order, const CorePlan *plan, EdgeId edge) {
    Way ways[TREE_MAX];
    uint8_t count = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const Tree *tree = &order->shape->reach[s];
        for (uint8_t i = 0; i < tree->count; i++) {
            if (tree->edges[i].i != edge.i) continue;
            if (count == TREE_MAX) return false;
            Way way = {{s}, i};
            uint8_t at = count++;
            for (; at && way_before(order, way, ways[at - 1]); at--) ways[at] = ways[at - 1];
            ways[at] = way;
        }
    }
    for (uint8_t w = 0; w < count; w++) {
        Ends *ends = &order->ends[ways[w].root.i];
        PlaceId end = order->heads[edge.i];
        if (w + 1 < count) {
            end = place_new(order, edge, PLACE_MARK, 0);
            place_put_before(order, end, order->heads[edge.i]);
        }
        place_of(order, end)->region = w;  // Of the head: the last one.
        ends->places[ways[w].index] = end;
        ends->regions[ways[w].index] = w;
    }
    return true;
}

bool order_init(Order *order, const CorePlan *plan, const Shape *shape, Place *places,
                uint32_t place_max) {
    order->shape = shape, order->places = places;
    order->place_max = place_max, order->place_count = 1;
    order->unused = (PlaceId){0};
    memset(order->ends, 0, plan->stage_count * sizeof *order->ends);
    for (uint16_t e = 0; e < plan->edge_count; e++) {
        PlaceId head = place_new(order, (EdgeId){e}, PLACE_MARK, 0);
        place_of(order, head)->next = place_of(order, head)->before = head;
        order->heads[e] = head;
    }
    for (uint16_t e = 0; e < plan->edge_count; e++)
        if (!regions_make(order, plan, (EdgeId){e})) return false;
    return true;
}

PlaceId order_unit(Order *order, StageId root, uint32_t item) {
    const Tree *tree = &order->shape->reach[root.i];
    PlaceId first = {0}, last = {0};
    for (uint8_t i = 0; i < tree->count; i++) {
        PlaceId mark = place_new(order, tree->edges[i], PLACE_MARK, item);
        place_of(order, mark)->region = order->ends[root.i].regions[i];
        place_put_before(order, mark, order->ends[root.i].places[i]);
        if (last.i)
            place_of(order, last)->twin = mark;
        else
            first = mark;
        last = mark;
    }
    return first;
}

void order_root_end(Order *order, StageId root) {
    const Tree *tree = &order->shape->reach[root.i];
    for (uint8_t i = 0; i < tree->count; i++) {
        PlaceId end = order->ends[root.i].places[i];
        if (end.i != order->heads[tree->edges[i].i].i) order_remove(order, end);
    }
}

NewPlace order_output(Order *order, const Tree *tree, PlaceId marks, uint8_t output,
                      uint32_t item) {
    NewPlace made = {0};
    PlaceId last = {0}, mark = marks;
    bool below[TREE_MAX] = {0};  // Is it below that output?
    for (uint8_t i = 0; i < tree->count; i++, mark = place_of(order, mark)->twin) {
        uint8_t parent = tree->parents[i];
        below[i] = parent == TREE_MAX ? i == output : below[parent];
        if (!below[i]) continue;
        bool own = i == output;
        PlaceId id = place_new(order, tree->edges[i], own ? PLACE_ITEM : PLACE_MARK, item);
        place_of(order, id)->region = place_of(order, mark)->region;
        place_put_before(order, id, mark);
        if (own)
            made.place = id;
        else if (last.i)
            place_of(order, last)->twin = id;
        else
            made.marks = id;
        if (!own) last = id;
    }
    return made;
}

void order_end(Order *order, PlaceId marks) {
    while (marks.i) {
        PlaceId twin = place_of(order, marks)->twin;
        order_remove(order, marks);
        marks = twin;
    }
}

PlaceId order_first(const Order *order, EdgeId edge) {
    PlaceId head = order->heads[edge.i], first = place_of(order, head)->next;
    return first.i == head.i ? (PlaceId){0} : first;
}
