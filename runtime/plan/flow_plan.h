// Flow plan: what the scheduler's cores know of a job.
//
//   stage of the job      stage of the plan, with the same number
//   sink                  a stage of its own after them
//   edge between stages   an edge for each producer and reader
//   other breakers        breakers, in the job's order
#ifndef SBC_RUNTIME_FLOW_PLAN_H
#define SBC_RUNTIME_FLOW_PLAN_H

#include "runtime/abi/program.h"
#include "runtime/core.h"
#include "runtime/options.h"

typedef struct FlowPlan {
    CorePlan plan;
    uint32_t breakers[BREAKERS_MAX];  // Of the job, by BreakerId.
    uint32_t terminals[EDGES_MAX];    // By EdgeId: which of its producer's terminals it is.
    bool     moves[STAGES_MAX];       // By section (SbStage.section): workers may run stages of it.
    SbStr    home[STAGES_MAX];        // By stage, with workers: why it is here. Empty: it need not.
} FlowPlan;

// Numbers that are not in the job's description.
typedef struct FlowNumbers {
    uint32_t cpus;        // Thousandths.
    const uint32_t *supply;  // By resource of the job.
    int64_t  memory;      // Bytes that the ledger may give.
    int64_t  stub_bytes, stubs_free;  // As CorePlan's.
    const int64_t *cuts;  // By stage: bytes at which it hands its output over.
    const bool *streams;  // By source: its units are cut one after the other.
    const bool *chained;  // By source: a unit waits for where the one before ends.
    const bool *limited;  // By breaker: an edge of a limit.
    const bool *leaves;   // By sink: its reader may leave.
    bool first_rows;      // Each of them takes so many rows, and no more.
    bool completes;       // As CorePlan's.
    uint32_t workers;     // Processes beside this one in which tasks run.
    uint32_t places;         // Of `workers`, the last ones: for those that join.
    uint32_t worker_cpus;    // Of each worker but those, in thousandths.
    uint32_t place_cpus;     // Of each of those.
    bool     timed_only;     // Only stages with a time limit run in workers.
    const WorkerKind *kinds; // By worker: what it has; nullptr: all have the same.
    uint32_t covered_max;    // As CorePlan's.
    int64_t  worker_memory;  // Bytes that the ledger of each worker may give.
    int64_t  block_bytes; // Of memory for rows, at most.
    int64_t  record_bytes;   // Of rejects that a task may have beyond its cut.
    uint32_t lanes;       // Tasks that may be open at once where each needs a lane of its own.
    uint32_t parts;       // Of a breaker.
    int64_t  part_bytes;  // What each part takes to write rows to disk.
} FlowNumbers;

typedef enum FlowFault : uint8_t {
    FLOW_OK,
    FLOW_TOO_WIDE,  // More stages, edges or breakers than the cores take.
    FLOW_NO_MEMORY,
} FlowFault;

// Fills in `flow`, which is large; a pure function.
FlowFault flow_plan_make(FlowPlan *flow, const SbJob *job, const FlowNumbers *numbers);

// Sinks that may take fewer rows than there are, by number; `first_rows`: as FlowNumbers has it.
typedef struct FlowLeaving {
    const bool *sinks;
    bool        first_rows;
} FlowLeaving;
// Do rows of the stage come to such a sink, over edges alone? Then it runs in the job itself.
bool flow_is_left(const SbJob *job, const SbStage *stage, const FlowLeaving *leaving);

// Does the stage fill groups, and can its tasks pause between two partitions? The place of a group
// is that of the first row of it that a thread sees. So each such task needs a lane of its own
// until it ends.
bool flow_needs_lanes(const SbJob *job, const SbStage *stage);

// How often a task of the stage may have a row in memory. The row is there as it came, as what is
// made of it, and at each end of the stage, where a sink has room for the longest spelling.
int64_t flow_row_copies(const SbJob *job, const SbStage *stage);

// Parts of a breaker without a journal: one for each thread, and one for each task that keeps one
// while it waits.
uint32_t flow_lanes(const SbJob *job, uint32_t threads);

#endif
