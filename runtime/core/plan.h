// What the scheduler knows of a job: stages, edges, breakers, nodes and sizes. Fixed from start to
// end.
//
// The cores of this folder are pure: events in, actions out. They read no clock, open no file, and
// allocate nothing after they were made.
#ifndef SBC_RUNTIME_CORE_PLAN_H
#define SBC_RUNTIME_CORE_PLAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    RESOURCES_MAX = 8,
    STAGES_MAX = 1024,
    INPUTS_MAX = 16,   // Edges into a stage.
    OUTPUTS_MAX = 16,  // Edges out of a stage.
    EDGES_MAX = 2048,
    BREAKERS_MAX = 1024,
    FILLS_MAX = 16,  // Breakers that a stage fills.
    NEEDS_MAX = 16,  // Tables that a stage probes.
    NODE_KINDS_MAX = 66,
    NODES_MAX = 8192,
    LAUNCH_PARTS_MAX = 64,  // Partitions that one launch may take.
    WHOLE = 1000,  // Demands and capacities count thousandths of a resource.
};
enum : uint32_t { UNITS_LATER = UINT32_MAX };  // EVENT_UNITS will say how many.

typedef struct StageId {
    uint16_t i;
} StageId;
typedef struct EdgeId {
    uint16_t i;
} EdgeId;
typedef struct BreakerId {
    uint16_t i;
} BreakerId;
typedef struct NodeId {
    uint16_t i;
} NodeId;  // A machine or a worker with memory of its own.

// How a stage takes the rows that come to it.
typedef enum StageKind : uint8_t {
    STAGE_SOURCE,  // Units of a file, known at the start or later.
    STAGE_READER,  // Units of a breaker's rows, known when it is complete or later.
    STAGE_MAP,     // Partitions as they come. Of several inputs: a union, in the order of inputs.
    STAGE_ZIP,     // Rows of two inputs side by side, in order.
    STAGE_SINK,    // Partitions in order: a task begins when all before it have begun.
} StageKind;

typedef struct CoreStage {
    const char *name;
    StageKind kind;
    bool limit;      // It may say that it wants no more: one task at a time, in order.
    bool in_order;   // Of a map: a task begins when all work before it has begun, as in a sink.
    bool home;       // It runs on the first node, as sinks and zips do, and what zips feed.
    bool unmatched;  // Of a reader: it waits until nobody probes its table any more.
    bool serial;     // Of a root: each unit is cut where the one before ends; a unit begins when
                     // that one is cut (EVENT_CUT) or over.
    uint32_t demand[RESOURCES_MAX];  // Of one running task.
    uint32_t concurrency;            // Tasks that run at once; 0: as many as resources allow.
    uint32_t open_max;               // Tasks that have begun and not ended, those that are paused
                                     // too; 0: any number.
    uint32_t coalesce;               // Small partitions that one launch may take; 0 is 1.
    uint32_t batch;                  // Of a map: rows that it takes together; 0 is 1. A launch
                                     // takes as many partitions as fill its batches (batch.c).
    int64_t batch_bytes;             // Bytes of a batch, about.
    bool eager;                      // Less than a batch does not wait for more rows.
    int64_t scratch;                 // Bytes of a task beside its output, from launch to end.
    int64_t cut;                     // Bytes at which an output partition is handed over.
    int64_t row_max;                 // Bytes by which the last row may pass the cut.
    bool chained;                    // Of a source: a unit may wait for those before it.
    uint32_t units;                  // Of a source; or UNITS_LATER.
    int64_t unit_bytes;
    double seconds_per_byte;  // First estimates, from the compiler.
    double bytes_per_byte;
    EdgeId inputs[INPUTS_MAX], outputs[OUTPUTS_MAX];
    BreakerId fills[FILLS_MAX], needs[NEEDS_MAX];
    BreakerId reads;  // Of a reader.
    uint8_t input_count, output_count, fill_count, need_count;
} CoreStage;

typedef struct CoreEdge {
    StageId from, to;
} CoreEdge;

// A group, a sort, a table of a join: rows go in, and can be read or probed when all are there.
typedef struct CoreBreaker {
    const char *name;
    int64_t floor;  // Bytes of a node that it works with at least; beyond it spills.
} CoreBreaker;

// Nodes of one kind stand side by side; the kinds one after the other.
typedef struct NodeKind {
    uint32_t count;
    uint32_t capacity[RESOURCES_MAX];  // Of one node.
    uint32_t ahead;                    // Short tasks that one node may hold beyond its slots.
    int64_t memory;                    // Bytes that the ledger of one node may give.
} NodeKind;

typedef struct CorePlan {
    NodeKind nodes[NODE_KINDS_MAX];
    uint16_t stage_count, edge_count, breaker_count;
    uint8_t resource_count, node_kinds;
    int64_t stub_bytes;  // Bytes that the job keeps in memory of a partition on disk.
    int64_t stubs_free;  // Bytes of such stubs on a node that are not of the ledger's memory.
    int64_t step_ahead;  // Nanoseconds up to its next output that a task beyond the slots may take.
    bool leads;   // The first node runs what is at home (Shape.home) and nothing else. The other
                  // nodes run the rest: there is one at least.
    bool shares;  // Nodes read each other's partitions where they lie, at no cost. A partition
                  // does not go with the node that made it: its memory is the caller's.
    uint32_t covered_max;  // Items of a stage that a node keeps before it makes safe what breakers
                           // have of them; 0: as many as there is room for.
    bool completes;  // A breaker is complete before it is freed: those who need it may have been
                     // over before this run, and count what came into it. EVENT_DRAIN sets it.
    CoreStage stages[STAGES_MAX];  // Producers before consumers.
    CoreEdge edges[EDGES_MAX];
    CoreBreaker breakers[BREAKERS_MAX];
} CorePlan;

// A plan has room for the most stages: the copy is as long as the plan.
static inline void plan_copy(CorePlan *to, const CorePlan *from) {
    memcpy(to, from, offsetof(CorePlan, stages));
    memcpy(to->stages, from->stages, from->stage_count * sizeof *from->stages);
    memcpy(to->edges, from->edges, from->edge_count * sizeof *from->edges);
    memcpy(to->breakers, from->breakers, from->breaker_count * sizeof *from->breakers);
}

#endif
