// Machine: the inside of sim.c, for the files that share it.
#ifndef SBC_TESTS_SIM_MACHINE_H
#define SBC_TESTS_SIM_MACHINE_H

#include "tests/sim/sim.h"

#include <stddef.h>

enum { CHAIN_MAX = 16, REDO_MAX = 64 };

typedef struct Rows {
    StageId root;
    int64_t row, rows;
    uint32_t piece;
} Rows;

typedef struct SimPart {
    uint32_t unused;  // Next of the free list.
    bool alive;
    bool late;  // Of a later unit, of the plan's source.
    Rows rows;
    int64_t bytes;
} SimPart;

typedef struct SimTask {
    StageId stage;
    bool running, canceled, late, long_unit;
    bool computed;  // The segment is; what it asks for is not all there.
    bool asked;     // For the atom of the segment.
    int64_t load_bytes;
    Rows rows[CHAIN_MAX];  // Of its inputs, one after the other.
    uint32_t count, at;
    int64_t done, segment, busy;
    uint8_t fill;  // Breakers that have the segment's rows.
} SimTask;

typedef enum Happening : uint8_t {
    HAPPEN_TICK,
    HAPPEN_TASK,
    HAPPEN_SPILLED,
    HAPPEN_SHRUNK,
    HAPPEN_FINISHED
} Happening;

typedef struct Pending {
    int64_t at;
    uint64_t number;
    Happening what;
    TaskId task;
    PartId part;
    BreakerId breaker;
    NodeId node;
    int64_t bytes;
} Pending;

typedef struct Sim {
    const Workload *load;
    const SimOptions *options;
    SimResult result;
    CorePlan plan;
    Schedule *schedule;
    Streams streams;
    SimTask *tasks;
    SimPart *parts;
    uint32_t part_count, part_unused;
    Pending *heap;
    size_t heap_count, heap_max;
    uint64_t numbers, random;
    int64_t now;
    Cursor cursors[STAGES_MAX][2];    // Of sinks, and of both sides of zips.
    Rows redo[STAGES_MAX][REDO_MAX];  // What failed in sinks and zips comes again.
    uint32_t redo_count[STAGES_MAX];
    int64_t zip_rows[STAGES_MAX], limit_left[STAGES_MAX];
    uint32_t zip_unit[STAGES_MAX];
    int64_t committed[STAGES_MAX];  // Rows of sinks.
    int64_t kept[BREAKERS_MAX], kept_sum[BREAKERS_MAX];
    bool ended;
} Sim;

void sim_fail(Sim *sim, const char *why);
void sim_step(Sim *sim, Event event);
void sim_push(Sim *sim, Pending pending);
// Does what the schedule said.
void sim_act(Sim *sim, const Action *action);
// Something that was to happen has happened.
void sim_happen(Sim *sim, const Pending *pending);

#endif
