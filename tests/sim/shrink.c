#include "tests/sim/shrink.h"

#include "runtime/core/stage_set.h"

#include <string.h>

// ---- smaller plans ------------------------------------------------------------------------------

// Copies the plan without the stages that are not in the set, and without their edges.
static void keep(Workload *load, const StageSet *stages) {
    const Workload old = *load;
    uint16_t to[STAGES_MAX] = {0}, count = 0;
    load->plan.edge_count = 0;
    for (uint16_t s = 0; s < old.plan.stage_count; s++) {
        if (!set_has(stages, (StageId){s})) continue;
        load->plan.stages[count] = old.plan.stages[s];
        load->plan.stages[count].input_count = load->plan.stages[count].output_count = 0;
        load->work[count] = old.work[s];
        to[s] = count++;
    }
    load->plan.stage_count = count;
    // Edges in the order of the inputs, which is the order of a union.
    for (uint16_t s = 0; s < old.plan.stage_count; s++) {
        bool kept = set_has(stages, (StageId){s});
        for (uint8_t i = 0; kept && i < old.plan.stages[s].input_count; i++) {
            StageId from = old.plan.edges[old.plan.stages[s].inputs[i].i].from;
            if (!set_has(stages, from)) continue;
            EdgeId edge = {load->plan.edge_count++};
            CoreStage *above = &load->plan.stages[to[from.i]], *below = &load->plan.stages[to[s]];
            load->plan.edges[edge.i] = (CoreEdge){{to[from.i]}, {to[s]}};
            above->outputs[above->output_count++] = edge;
            below->inputs[below->input_count++] = edge;
        }
    }
}

static bool uses(const CoreStage *stage, BreakerId breaker) {
    for (uint8_t n = 0; n < stage->need_count; n++)
        if (stage->needs[n].i == breaker.i) return true;
    return stage->kind == STAGE_READER && stage->reads.i == breaker.i;
}

// The stage and all that it takes rows from, by edges and by breakers.
static StageSet with_all_above(const CorePlan *plan, uint16_t last) {
    StageSet stages = {0};
    set_add(&stages, (StageId){last});
    for (uint16_t s = last + 1; s-- > 0;) {
        const CoreStage *stage = &plan->stages[s];
        if (!set_has(&stages, (StageId){s})) continue;
        for (uint8_t i = 0; i < stage->input_count; i++)
            set_add(&stages, plan->edges[stage->inputs[i].i].from);
        for (uint16_t f = 0; f < s; f++)
            for (uint8_t b = 0; b < plan->stages[f].fill_count; b++)
                if (uses(stage, plan->stages[f].fills[b])) set_add(&stages, (StageId){f});
    }
    return stages;
}

static StageSet all_stages(const CorePlan *plan) {
    StageSet all = {0};
    for (uint16_t s = 0; s < plan->stage_count; s++) set_add(&all, (StageId){s});
    return all;
}

// The plan ends with this stage, as a sink. False: it does already.
static bool end_at(Workload *load, uint16_t s) {
    CoreStage *stage = &load->plan.stages[s];
    if (!stage->input_count || stage->kind == STAGE_ZIP) return false;
    StageSet stages = with_all_above(&load->plan, s), all = all_stages(&load->plan);
    if (bits_same(&stages, &all, BITS_WORDS)) return false;
    stage->kind = STAGE_SINK;
    stage->limit = stage->in_order = load->work[s].limits = false;
    stage->fill_count = 0;
    stage->coalesce = stage->batch = 0;
    keep(load, &stages);
    return true;
}

// A map that only passes rows on goes; what came from it comes from the stage above.
static bool without_stage(Workload *load, uint16_t s) {
    const CoreStage *stage = &load->plan.stages[s];
    if (stage->kind != STAGE_MAP || stage->input_count != 1) return false;
    if (stage->fill_count || stage->need_count || load->work[s].limits) return false;
    StageId above = load->plan.edges[stage->inputs[0].i].from;
    if (load->plan.stages[above.i].output_count + stage->output_count > OUTPUTS_MAX) return false;
    for (uint8_t o = 0; o < stage->output_count; o++)
        load->plan.edges[stage->outputs[o].i].from = above;
    StageSet others = all_stages(&load->plan);
    set_put(&others, (StageId){s}, false);
    keep(load, &others);
    return true;
}

// ---- attempts -----------------------------------------------------------------------------------

enum { SIMPLER_MAX = 11, FAULTS_MAX = 6 };

// One of the ways in which a stage can be simpler. False: it is already.
static bool simpler_stage(Workload *load, uint16_t s, unsigned way) {
    CoreStage *stage = &load->plan.stages[s];
    Work *work = &load->work[s];
    Workload old;
    memcpy(&old, load, sizeof old);
    if (way == 0) return end_at(load, s);
    if (way == 1) return without_stage(load, s);
    if (way == 2) stage->units /= 2;
    if (way == 3) stage->coalesce = stage->batch = 0;
    if (way == 4) stage->concurrency = 0;
    if (way == 5) work->atom_bytes = 0;
    if (way == 6) work->later = false;
    if (way == 7) stage->serial = false;
    if (way == 8 && !work->limits) stage->in_order = false;
    if (way == 9) stage->open_max = 0;
    if (way == 10) work->long_bytes = 0;
    return memcmp(&old, load, sizeof old) != 0;
}

static bool simpler_faults(Workload *load, unsigned way) {
    if (way == 0 && load->losses) return load->losses--;
    if (way == 1 && load->failing) return load->failing = 0, true;
    if (way == 2 && load->bounds) return load->bounds--;
    if (way == 3 && load->corrupt) return load->corrupt--;
    if (way == 4 && load->drains) return load->drains--;
    if (way == 5 && load->resizes) return load->resizes--;
    return false;
}

typedef struct Attempt {
    const SimOptions *options;
    SimRun *run;
    SimResult last;
} Attempt;

static bool still_fails(Workload *load, const Workload *candidate, Attempt *attempt) {
    SimResult result = attempt->run(candidate, attempt->options);
    if (!result.wrong) return false;
    *load = *candidate;
    attempt->last = result;
    return true;
}

SimResult shrink(Workload *load, const SimOptions *options, SimRun *run) {
    Attempt attempt = {.options = options, .run = run, .last = run(load, options)};
    bool smaller = attempt.last.wrong;
    while (smaller) {
        smaller = false;
        for (unsigned way = 0; way < FAULTS_MAX && !smaller; way++) {
            Workload candidate = *load;
            smaller = simpler_faults(&candidate, way) && still_fails(load, &candidate, &attempt);
        }
        for (uint16_t s = 0; s < load->plan.stage_count && !smaller; s++) {
            for (unsigned way = 0; way < SIMPLER_MAX && !smaller; way++) {
                Workload candidate = *load;
                smaller = simpler_stage(&candidate, s, way) &&
                          still_fails(load, &candidate, &attempt);
            }
        }
    }
    return attempt.last;
}
