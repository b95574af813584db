// What the scheduler knows of a job: stages, edges, resources and sizes. Fixed from start to end.
//
// The cores of this folder are pure: events in, actions out. They read no clock, open no file, and
// allocate nothing after core_new.
#ifndef SBC_RUNTIME_CORE_PLAN_H
#define SBC_RUNTIME_CORE_PLAN_H

#include <stdint.h>

enum {
    RESOURCES_MAX = 8,
    STAGES_MAX = 64,
    INPUTS_MAX = 2,     // Edges into a stage.
    OUTPUTS_MAX = 8,    // Edges out of a stage.
    EDGES_MAX = 128,
    WHOLE = 1000,       // Demands and capacities count thousandths of a resource.
};

typedef struct StageId { uint16_t i; } StageId;
typedef struct EdgeId { uint16_t i; } EdgeId;

// How a stage takes the rows that come to it.
typedef enum StageKind : uint8_t {
    STAGE_SOURCE,   // Units of a file, known at the start.
    STAGE_MAP,      // Partitions as they come.
    STAGE_SINK,     // Partitions in order: a task begins when all before it have begun.
} StageKind;

typedef struct CoreStage {
    const char *name;
    StageKind   kind;
    uint32_t    demand[RESOURCES_MAX];  // Of one running task.
    uint32_t    concurrency;            // Tasks that run at once; 0: as many as resources allow.
    int64_t     scratch;                // Bytes of a task beside its output, from launch to end.
    int64_t     cut;                    // Bytes at which an output partition is handed over.
    int64_t     row_max;                // Bytes by which the last row may pass the cut.
    uint32_t    units;                  // Of a source.
    int64_t     unit_bytes;
    double      seconds_per_byte;       // First estimates, from the compiler.
    double      bytes_per_byte;
    EdgeId      inputs[INPUTS_MAX], outputs[OUTPUTS_MAX];
    uint8_t     input_count, output_count;
} CoreStage;

typedef struct CoreEdge {
    StageId from, to;
} CoreEdge;

typedef struct CorePlan {
    CoreStage stages[STAGES_MAX];       // Producers before consumers.
    CoreEdge  edges[EDGES_MAX];
    uint16_t  stage_count, edge_count;
    uint8_t   resource_count;
    uint32_t  capacity[RESOURCES_MAX];  // Of the machine.
    int64_t   memory;                   // Bytes that the ledger may give.
} CorePlan;

#endif
