#include "runtime/core/policy.h"

static const Policy policies[POLICIES] = {
    [POLICY_FULL] = {"full", ADMIT_RATE, true, true, false, false,
                     "paced sources, slots shared by work and by waiting rows, and given back"},
    [POLICY_PAPER] = {"paper", ADMIT_BUDGET, false, false, false, false,
                      "Algorithms 1 and 2 of arXiv 2501.12407"},
    [POLICY_PESSIMISTIC] = {"pessimistic", ADMIT_FREELY, true, true, false, false,
                            "the memory limit alone"},
    [POLICY_STATIC] = {"static", ADMIT_FREELY, false, false, true, false,
                       "each stage has slots of its own"},
    [POLICY_STAGED] = {"staged", ADMIT_FREELY, false, false, false, true,
                       "everything is kept between stages"},
};

const Policy *policy_of(PolicyId id) { return &policies[id]; }

// Seconds of the stage for one byte of its sources, by the first estimates.
static void estimate(const CorePlan *plan, double *seconds) {
    double bytes[STAGES_MAX];
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        bytes[s] = stage->input_count ? 0 : 1;
        for (uint8_t i = 0; i < stage->input_count; i++) {
            uint16_t from = plan->edges[stage->inputs[i].i].from.i;
            bytes[s] += bytes[from] * plan->stages[from].bytes_per_byte;
        }
        seconds[s] = bytes[s] * stage->seconds_per_byte;
    }
}

// The same for the stages of an area.
static void fixed_slots(const CorePlan *plan, const Shape *shape, Area area, uint32_t *slots) {
    const StageSet *own = &shape->areas[area];
    NodeCounts all = plan_counts(plan), nodes = area_counts(plan, &all, area);
    double seconds[STAGES_MAX], work[RESOURCES_MAX] = {0};
    estimate(plan, seconds);
    for (uint16_t s = 0; s < plan->stage_count; s++)
        for (uint8_t r = 0; r < plan->resource_count && set_has(own, (StageId){s}); r++)
            work[r] += seconds[s] * plan->stages[s].demand[r];
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        if (!set_has(own, (StageId){s})) continue;
        slots[s] = UINT32_MAX;
        for (uint8_t r = 0; r < plan->resource_count; r++) {
            uint32_t demand = plan->stages[s].demand[r];
            if (!demand) continue;
            double share = work[r] > 0 ? seconds[s] * demand / work[r] : 0;
            double fit = share * (double)counts_capacity(plan, &nodes, r) / demand;
            if (fit < slots[s]) slots[s] = fit < 1 ? 1 : (uint32_t)fit;
        }
    }
}

void policy_fixed_slots(const CorePlan *plan, const Shape *shape, uint32_t slots[STAGES_MAX]) {
    for (Area area = AREA_WIDE; area < AREAS; area++) fixed_slots(plan, shape, area, slots);
}
