// Shape: what follows from a plan alone. Made once, before anything runs.
//
// A root is a stage that makes units of its own: a source, the reader of a breaker, a zip. Rows of
// a root keep their order (unit, then the number of the output at each stage) down to the next
// zip, breaker or sink: that is the root's reach.
//
// A root is held back until others have launched all their units, where its rows would only wait.
// So the right side of a union waits for the left one, and a probe for its table. Two such orders
// may contradict each other, or both sides may come from one root. Then rows have to wait in front
// of a stage. That edge is a spool, and what waits there may be written to disk.
#ifndef SBC_RUNTIME_CORE_SHAPE_H
#define SBC_RUNTIME_CORE_SHAPE_H

#include "runtime/core/stage_set.h"

#include <stddef.h>

// Where stages may run: of several nodes, those at home on the first one.
typedef enum Area : uint8_t {
    AREA_WIDE,  // All nodes; of a plan that leads, all but the first.
    AREA_HOME,  // The first node.
    AREAS,
} Area;

enum { TREE_MAX = 64 };  // Edges that the outputs of one edge's consumer reach, counted by path.
enum { DEPTH_MAX = 32 };       // Stage borders between a root and a sink.
enum { DEMANDS_MAX = 65 };     // Different amounts of one resource, none among them.
enum { FREE_TASKS_MAX = 64 };  // Tasks of a stage that demands nothing, on one node.

// The edges below one edge, each path once, parents first.
typedef struct Tree {
    EdgeId edges[TREE_MAX];
    uint8_t parents[TREE_MAX];  // Index of the edge above; TREE_MAX for outputs of the consumer.
    uint8_t count;
} Tree;

typedef enum Spool : uint8_t {
    SPOOL_NO,
    SPOOL_SHORT,  // The other side of a zip is missing: it mostly comes soon.
    SPOOL_LONG,   // Until a root has ended or a table is complete.
} Spool;

// Of one resource: what stages demand of it, each amount once and in order, the first is none; and
// the stages that demand no more than that.
typedef struct Demands {
    uint32_t amounts[DEMANDS_MAX];
    StageSet stages[DEMANDS_MAX];
    uint16_t count;
} Demands;

typedef struct Shape {
    Tree below[EDGES_MAX];        // What the outputs of an edge's consumer reach.
    Tree reach[STAGES_MAX];       // Of the units of a root.
    StageSet roots[EDGES_MAX];    // Roots whose rows come along an edge.
    StageSet above[STAGES_MAX];   // Stages whose rows come to it, no breaker between.
    StageSet beneath[STAGES_MAX]; // Stages that its rows come to, the same way.
    StageSet before[STAGES_MAX];  // Of a root: those that must have launched all their units.
    Spool spools[EDGES_MAX];
    uint16_t spool_count;
    uint16_t words;                 // Of sets of stages, that are in use.
    StageSet all, all_roots, zips;
    StageSet batching;              // Stages that take rows together.
    StageSet home;  // Stages that run on the first node, which is never lost: sinks, zips, what
                    // rows of zips come to, no breaker between, and what the plan says.
    StageSet first, others;  // Stages that the first node runs; that each other one does.
    StageSet areas[AREAS];   // Stages that take slots of an area. Of one node, all in the first.
    Demands demands[RESOURCES_MAX];
    uint8_t input_of[EDGES_MAX];  // The place of the edge among its consumer's inputs.
    StageSet fillers[BREAKERS_MAX], probers[BREAKERS_MAX], readers[BREAKERS_MAX];
    StageSet wishes[STAGES_MAX];  // Of a root: those that it would rather come after.
    StageSet waits[STAGES_MAX];   // Roots without which the stage cannot come to its end.
    StageSet pins[BREAKERS_MAX];  // Stages that may still need the breaker until they are over.
    uint16_t turns[STAGES_MAX];    // Of a root: its place in the order in which roots begin.
} Shape;

// `staged`: stages wait for all rows of those before them, so that every edge is a spool.
// False: the plan has too many paths, or its stages do not stand in order.
bool shape_make(Shape *shape, const CorePlan *plan, bool staged);
// From now on the stages run on the first node. No task of them has begun.
void shape_bring_home(Shape *shape, const CorePlan *plan, const StageSet *stages);

static inline bool stage_is_root(const CoreStage *stage) {
    return stage->kind == STAGE_SOURCE || stage->kind == STAGE_READER || stage->kind == STAGE_ZIP;
}
// Stages that demand no more of the resource than is free.
static inline const StageSet *shape_fits(const Shape *shape, uint8_t resource, uint32_t free) {
    const Demands *demands = &shape->demands[resource];
    uint16_t i = demands->count - 1;
    while (demands->amounts[i] > free) i--;
    return &demands->stages[i];
}

// Nodes by kind: all of a plan, or those that are up.
typedef struct NodeCounts {
    uint32_t of[NODE_KINDS_MAX];
} NodeCounts;

static inline Area shape_area(const Shape *shape, StageId stage) {
    return set_has(&shape->areas[AREA_HOME], stage) ? AREA_HOME : AREA_WIDE;
}

uint32_t plan_node_count(const CorePlan *plan);
NodeCounts plan_counts(const CorePlan *plan);
// Of these nodes, those of an area.
NodeCounts area_counts(const CorePlan *plan, const NodeCounts *nodes, Area area);
const NodeKind *plan_node(const CorePlan *plan, NodeId node);
// Of all nodes together.
uint64_t plan_capacity(const CorePlan *plan, uint8_t resource);
// Tasks of a stage that fit on one node of the kind.
uint32_t plan_kind_width(const CorePlan *plan, const NodeKind *kind, const CoreStage *stage);
// Tasks of a stage that may run at once on all nodes.
uint32_t plan_width(const CorePlan *plan, const CoreStage *stage);
// The same of some of the nodes.
uint64_t counts_capacity(const CorePlan *plan, const NodeCounts *nodes, uint8_t resource);
uint32_t counts_width(const CorePlan *plan, const NodeCounts *nodes, const CoreStage *stage);

#endif
