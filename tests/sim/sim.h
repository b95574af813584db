// Sim: a machine in virtual time that does what the schedule says, and checks what it says.
//
// Rows are not there, only their names: every task knows which rows it has, hands them over in
// partitions, and sinks and breakers check that each row comes once and in its order.
#ifndef SBC_TESTS_SIM_SIM_H
#define SBC_TESTS_SIM_SIM_H

#include "runtime/core/schedule.h"
#include "tests/sim/streams.h"

static const int64_t SECOND = 1000000000;

// What sinks have committed in all lives of the coordinator.
typedef struct Journal {
    uint8_t **rows;  // Of each sink and root, by row (journal_rows); null: none come.
    uint16_t stage_count;
    int64_t count, written;
    int64_t dropped;  // Rows that were made again, and not committed again.
    bool whole;       // All rows are there.
} Journal;

static inline uint8_t **journal_rows(const Journal *journal, uint16_t sink, StageId root) {
    return &journal->rows[sink * journal->stage_count + root.i];
}

typedef struct SimOptions {
    PolicyId policy;
    int64_t beyond;    // Memory beyond the minimum; -1: what the plan says.
    double disk_rate;  // Bytes a second of spilling and loading.
    uint64_t seed;
    bool trace;        // Every event and action, on stderr.
    bool network;      // Nodes are workers behind a network; else they are lost as the plan says.
    bool loses_row;    // The machine itself is wrong, so that a failure can be seen to be found.
    Journal *journal;  // Null: there is none.
    uint64_t stop_after;  // Steps; 0: never.
} SimOptions;

typedef struct SimResult {
    const char *wrong;                    // Null: all is well.
    char text[160];                       // Where it went wrong.
    double seconds, busy[2][STAGES_MAX];  // busy: of tasks of each stage, by phase, in seconds.
    uint64_t steps, spilled;
    int64_t minimum, peak;
    uint64_t messages, losses;         // Between nodes; nodes that were given up.
    uint64_t deaths;                   // Of the coordinator,
    double again;                      // and the part of all rows that was made again after them.
    uint64_t launches, reruns, twins;  // Tasks; of those, to make again what was lost or is late.
    uint64_t ahead;                    // Of tasks: launched beyond the slots of a node.
    bool skipped;                      // The plan is too wide for the cores.
} SimResult;

SimResult sim_run(const Workload *load, const SimOptions *options);

#endif
