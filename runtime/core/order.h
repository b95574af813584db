// Order: which work of an edge comes before which, while tasks run in any order.
//
// Each edge has a list, in the order of the rows. It holds partitions that wait for its consumer or
// are being consumed, and marks. A mark stands where the outputs of unfinished work further up will
// come. So the first place of a list says where the first work is that is left. A partition is
// there already, a mark is still to come. Commits are a walk from the first node.
//
// A partition on an edge is an item. An item brings its marks on every edge below: the tree of
// edges that its consumer's outputs can reach. What a task makes of the item is put in front of the
// item's marks, and brings marks of its own. When the task ends, the marks of the item go. All of
// it takes time in the number of edges below and in nothing else.
//
// Below a union an edge has regions, one for each way from a source: all rows of the left input
// stand in front of those of the right one. A region ends with a mark that goes when its source has
// no more units.
#ifndef SBC_RUNTIME_CORE_ORDER_H
#define SBC_RUNTIME_CORE_ORDER_H

#include "runtime/core/shape.h"

typedef struct PlaceId {
    uint32_t i;
} PlaceId;  // 0: none.

typedef enum PlaceKind : uint8_t { PLACE_MARK, PLACE_ITEM } PlaceKind;

typedef struct Place {
    PlaceId next, before;  // In the list of the edge; a ring through its head.
    PlaceId twin;          // The next mark of the same item, in the order of the tree.
    uint32_t item;  // Of a mark: whose outputs it stands for; 0: of units that have not begun.
    EdgeId edge;
    PlaceKind kind;
    uint8_t region;  // Its number on the edge.
} Place;

// Where the regions end that the units of a root fill, one for each edge of its reach.
typedef struct Ends {
    PlaceId places[TREE_MAX];  // The ring's head for the last region of an edge.
    uint8_t regions[TREE_MAX];
} Ends;

typedef struct Order {
    const Shape *shape;
    Place *places;
    uint32_t place_max, place_count;  // place_count: of those ever used.
    PlaceId unused;                   // A list by `next`.
    PlaceId heads[EDGES_MAX];         // The ring of each edge begins and ends here.
    Ends ends[STAGES_MAX];
} Order;

// `places` is the caller's room. False: the plan has too many paths.
bool order_init(Order *order, const CorePlan *plan, const Shape *shape, Place *places,
                uint32_t place_max);

// The marks of a unit of a root, after all that is there of its region. Returns the first.
PlaceId order_unit(Order *order, StageId root, uint32_t item);
// The root has no more units.
void order_root_end(Order *order, StageId root);

// An item on output `output` of the stage that works on what has `marks` (of tree `tree`). It gets
// a place of its own, which is before those marks, and the first of its own marks.
typedef struct NewPlace {
    PlaceId place, marks;
} NewPlace;
NewPlace order_output(Order *order, const Tree *tree, PlaceId marks, uint8_t output, uint32_t item);

// The work that had these marks has ended.
void order_end(Order *order, PlaceId marks);
// The item is consumed: its place goes.
void order_remove(Order *order, PlaceId place);

// The first place of an edge, or none.
PlaceId order_first(const Order *order, EdgeId edge);

#endif
