#include "runtime/plan/memory_need.h"

#include <stdlib.h>

bool memory_need_least(MemoryNeed *need, const CorePlan *plan, bool staged) {
    *need = (MemoryNeed){.tasks = 1};
    Shape *shape = malloc(sizeof *shape);
    Reserves *reserves = malloc(sizeof *reserves);
    bool good = shape && reserves && shape_make(shape, plan, staged);
    if (good) reserves_make(reserves, plan, shape);
    for (uint16_t s = 0; good && s < plan->stage_count; s++) {
        need->stages[s] = (StageNeed){.scratch = reserves->rooms[ROOM_SCRATCH][s],
                                      .output = reserves->rooms[ROOM_OUTPUT][s],
                                      .input = reserves->rooms[ROOM_INPUT][s]};
    }
    for (uint16_t b = 0; good && b < plan->breaker_count; b++)
        need->floors[b] = reserves->floors[b];
    if (good) need->total = reserves->minimum;
    if (good) need->spools = shape->spool_count;
    free(shape);
    free(reserves);
    return good;
}

// The largest partition that comes into the stage, or those of a batch: they wait, or are read,
// beside what the task makes.
static int64_t input_of(const CorePlan *plan, const CoreStage *stage) {
    int64_t most = stage->batch_bytes;
    for (uint8_t i = 0; i < stage->input_count; i++) {
        StageId from = plan->edges[stage->inputs[i].i].from;
        int64_t bytes = ledger_output_bytes(&plan->stages[from.i]);
        if (bytes > most) most = bytes;
    }
    return most;
}

static StageNeed task_need(const CorePlan *plan, const CoreStage *stage) {
    if (stage->kind == STAGE_SINK) return (StageNeed){0};  // It holds no slot.
    return (StageNeed){stage->scratch, ledger_output_bytes(stage), input_of(plan, stage)};
}

static int64_t sum(const StageNeed *need) { return need->scratch + need->output + need->input; }

// Slots that are taken, and tasks of each stage that have one.
typedef struct Taken {
    uint64_t used[RESOURCES_MAX];
    uint32_t tasks[STAGES_MAX];
} Taken;

static bool has_slot(const CorePlan *plan, uint16_t s, const Taken *taken) {
    const CoreStage *stage = &plan->stages[s];
    if (taken->tasks[s] >= plan_width(plan, stage)) return false;
    if (stage->open_max && taken->tasks[s] >= stage->open_max) return false;
    bool holds = false;
    for (uint8_t r = 0; r < plan->resource_count; r++) {
        holds |= stage->demand[r] > 0;
        if (taken->used[r] + stage->demand[r] > plan_capacity(plan, r)) return false;
    }
    return holds;
}

void memory_need_busy(BusyTasks *busy, const CorePlan *plan) {
    Taken taken = {0};
    *busy = (BusyTasks){0};
    for (uint16_t best = 0; best < STAGES_MAX;) {
        int64_t most = 0;
        best = STAGES_MAX;
        for (uint16_t s = 0; s < plan->stage_count; s++) {
            StageNeed one = task_need(plan, &plan->stages[s]);
            if (!has_slot(plan, s, &taken) || sum(&one) <= most) continue;
            most = sum(&one);
            best = s;
        }
        if (best == STAGES_MAX) break;
        for (uint8_t r = 0; r < plan->resource_count; r++)
            taken.used[r] += plan->stages[best].demand[r];
        if (taken.tasks[best]++ == 0) busy->order[busy->stage_count++] = best;
        busy->tasks[busy->stage_count - 1]++;
        busy->count++;
    }
}

void memory_need_tasks(MemoryNeed *need, const CorePlan *plan, const BusyTasks *busy,
                       int64_t limit) {
    uint32_t tasks = 0;
    for (uint32_t i = 0; i < busy->stage_count; i++) {
        StageNeed one = task_need(plan, &plan->stages[busy->order[i]]);
        StageNeed *all = &need->stages[busy->order[i]];
        for (uint32_t k = 0; k < busy->tasks[i] && sum(&one) <= limit - need->total; k++) {
            all->scratch += one.scratch;
            all->output += one.output;
            all->input += one.input;
            need->total += sum(&one);
            tasks++;
        }
    }
    if (tasks > need->tasks) need->tasks = tasks;
}
