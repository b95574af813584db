// Memory need: the bytes that the ledger gives when a plan runs one task at a time, and when all
// its slots are busy. A pure function of the plan.
#ifndef SBC_RUNTIME_MEMORY_NEED_H
#define SBC_RUNTIME_MEMORY_NEED_H

#include "runtime/core.h"

// Of all tasks of a stage together.
typedef struct StageNeed {
    int64_t scratch;  // Memory beside their rows, text that they read included.
    int64_t output;   // A partition that each hands over.
    int64_t input;    // A partition that each reads, where that is not the output of another task.
} StageNeed;

typedef struct MemoryNeed {
    StageNeed stages[STAGES_MAX];
    int64_t floors[BREAKERS_MAX];  // What breakers work with at least.
    int64_t total;
    uint32_t tasks;  // Tasks that run at once.
    uint16_t spools;  // Edges whose rows may have to wait on disk.
} MemoryNeed;

// One task at a time: what each stage has a reserve for. `staged`: as shape_make says. False: the
// plan is too wide.
bool memory_need_least(MemoryNeed *need, const CorePlan *plan, bool staged);
// The tasks that slots allow at once, those that take the most memory first.
typedef struct BusyTasks {
    uint16_t order[STAGES_MAX];  // Stages.
    uint32_t tasks[STAGES_MAX];  // Of each in that order.
    uint32_t stage_count, count;
} BusyTasks;

void memory_need_busy(BusyTasks *busy, const CorePlan *plan);
// Adds them in their order, as long as the total is at most `limit`. The same tasks may be added to
// the need of other sizes of memory and partitions.
void memory_need_tasks(MemoryNeed *need, const CorePlan *plan, const BusyTasks *busy,
                       int64_t limit);

#endif
