// Order: which work of an edge comes before which, while tasks run in any order.
//
// Each edge has a list. It holds, in the order of the rows, partitions that wait for its consumer
// or are being consumed, and marks: a mark stands where the outputs of unfinished work further up
// will come. So the first node of a list says whether the first work that is left is there already
// (a partition) or still to come (a mark), and commits are a walk from the first node.
//
// A partition on an edge is an item. An item brings its marks on every edge below: the tree of
// edges that its consumer's outputs can reach. What a task makes of the item is put in front of the
// item's marks, and brings marks of its own; when the task ends, the marks of the item go. All of
// it takes time in the number of edges below and in nothing else.
//
// Below a union an edge has regions, one for each way from a source: all rows of the left input
// stand in front of those of the right one. A region ends with a mark that goes when its source has
// no more units.
#ifndef SBC_RUNTIME_CORE_ORDER_H
#define SBC_RUNTIME_CORE_ORDER_H

#include "runtime/core/plan.h"

enum { TREE_MAX = 32 };  // Edges that the outputs of one edge's consumer reach, counted by path.

typedef struct NodeId { uint32_t i; } NodeId;   // 0: none.

typedef enum NodeKind : uint8_t { NODE_MARK, NODE_ITEM } NodeKind;

typedef struct Node {
    NodeId   next, before;  // In the list of the edge; a ring through its head.
    NodeId   twin;          // The next mark of the same item, in the order of the tree.
    uint32_t item;
    EdgeId   edge;
    NodeKind kind;
    uint8_t  region;        // Its number on the edge.
} Node;

// The edges below one edge, each path once, parents first.
typedef struct Tree {
    EdgeId  edges[TREE_MAX];
    uint8_t parents[TREE_MAX];  // Index of the edge above; TREE_MAX for outputs of the consumer.
    uint8_t count;
} Tree;

// Where the regions end that the units of a source fill, one for each edge of its tree.
typedef struct Ends {
    NodeId  nodes[TREE_MAX];    // The ring's head for the last region of an edge.
    uint8_t regions[TREE_MAX];
    uint64_t before;            // Sources, as bits, all of whose rows stand before its own.
} Ends;

typedef struct Order {
    Node    *nodes;
    uint32_t node_max, node_count;   // node_count: of those ever used.
    NodeId   unused;                 // A list by `next`.
    NodeId   heads[EDGES_MAX];       // The ring of each edge begins and ends here.
    Tree     trees[EDGES_MAX];       // Below each edge.
    Tree     roots[STAGES_MAX];      // Below a source: of its units.
    Ends     ends[STAGES_MAX];
} Order;

// `nodes` is the caller's room for `node_max` nodes. False: the plan has too many paths.
bool order_init(Order *order, const CorePlan *plan, Node *nodes, uint32_t node_max);

// The marks of a unit of a source, behind all that is there of its region. Returns the first.
NodeId order_unit(Order *order, StageId source);
// The source has no more units.
void   order_source_end(Order *order, StageId source);

// An item on output `output` of the stage that works on what has `marks` (of tree `tree`): its own
// node, which is in front of those marks, in *node; returns the first of its own marks.
typedef struct OrderPlace { NodeId node, marks; } OrderPlace;
OrderPlace order_output(Order *order, const Tree *tree, NodeId marks, uint8_t output,
                        uint32_t item);

// The work that had these marks has ended.
void order_end(Order *order, NodeId marks);
// The item is consumed: its node goes.
void order_remove(Order *order, NodeId node);

// The first node of an edge, or none.
NodeId order_first(const Order *order, EdgeId edge);

#endif
