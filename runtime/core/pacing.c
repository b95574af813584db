#include "runtime/core/pacing.h"

#include <string.h>

static const double HEADROOM = 1.05, SECOND = 1e9;

// Bytes of each source: all of it, or where that is not known of all, what was seen of it. Returns
// their sum.
static double source_bytes(const Pacing *pacing, const CorePlan *plan, double *bytes) {
    double total = 0;
    bool known = true;
    for (uint16_t s = 0; s < plan->stage_count; s++)
        known &= plan->stages[s].kind != STAGE_SOURCE || plan->stages[s].units != UNITS_LATER;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        double all = (double)stage->units * (double)stage->unit_bytes;
        bytes[s] = stage->kind != STAGE_SOURCE ? 0 : known ? all : pacing->stages[s].in_bytes;
        total += bytes[s];
    }
    return total;
}

// Input bytes of each stage for one byte of all sources together.
static void shares(const Pacing *pacing, const CorePlan *plan, double *alpha) {
    double total = source_bytes(pacing, plan, alpha);
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        if (total > 0) alpha[s] /= total;
        for (uint8_t i = 0; i < stage->input_count; i++) {
            uint16_t from = plan->edges[stage->inputs[i].i].from.i;
            const Pace *above = &pacing->stages[from];
            alpha[s] += alpha[from] * above->out_bytes / above->in_bytes;
        }
    }
}

void pacing_nodes(Pacing *pacing, const CorePlan *plan, const Shape *shape, const NodeCounts *up) {
    pacing->shape = shape;
    pacing->nodes = *up;
    pacing->judged = 0;
    pacing->areas = plan_node_count(plan) > 1 ? AREAS : 1;
    NodeCounts all = plan_counts(plan);
    for (Area area = AREA_WIDE; area < AREAS; area++) {
        NodeCounts nodes = area_counts(plan, up, area), most = area_counts(plan, &all, area);
        for (uint8_t r = 0; r < plan->resource_count; r++) {
            uint64_t capacity = counts_capacity(plan, &nodes, r);
            if (!capacity) capacity = counts_capacity(plan, &most, r);
            pacing->capacity[area][r] = (double)capacity;
        }
    }
}

// What the stage adds to the work of the resources in each area.
typedef double AreaWork[AREAS][RESOURCES_MAX];

static inline void add_work(const Pacing *pacing, const CorePlan *plan, StageId stage,
                            double seconds, AreaWork work) {
    const uint32_t *demand = plan->stages[stage.i].demand;
    bool several = pacing->areas > 1;
    uint8_t count = plan->resource_count;
    if (!several || set_has(&pacing->shape->areas[AREA_WIDE], stage))
        for (uint8_t r = 0; r < count; r++) work[AREA_WIDE][r] += seconds * demand[r];
    if (several && set_has(&pacing->shape->areas[AREA_HOME], stage))
        for (uint8_t r = 0; r < count; r++) work[AREA_HOME][r] += seconds * demand[r];
}

static double judge(Pacing *pacing, const CorePlan *plan) {
    double alpha[STAGES_MAX], most = 1e-18;
    AreaWork work = {0};
    shares(pacing, plan, alpha);
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const Pace *pace = &pacing->stages[s];
        double seconds = alpha[s] * pace->seconds / pace->in_bytes;
        add_work(pacing, plan, (StageId){s}, seconds, work);
    }
    for (Area area = AREA_WIDE; area < pacing->areas; area++) {
        for (uint8_t r = 0; r < plan->resource_count; r++) {
            if (work[area][r] <= 0) continue;
            double load = work[area][r] / pacing->capacity[area][r];
            pacing->load[area][r] = load;
            if (load > most) most = load;
        }
    }
    return 1 / most;
}

// Rows of a stage for one row of its roots, and the tasks that it needs for them. Rows that a task
// in progress gave count before those that it takes: until it ends its stage seems to make more of
// a row than it does.
static void judge_rows(Pacing *pacing, const CorePlan *plan) {
    double seconds[STAGES_MAX], rate = 1e18;
    AreaWork work = {0};
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        double from = 0;
        for (uint8_t i = 0; i < stage->input_count; i++)
            from += pacing->given[plan->edges[stage->inputs[i].i].from.i];
        bool root = stage_is_root(stage);
        double rows = root ? 1 : from / stage->input_count;
        double taken = root ? pacing->out_rows[s] : pacing->in_rows[s];
        pacing->given[s] = rows * pacing->out_rows[s] / taken;
        seconds[s] = rows * pacing->row_seconds[s] / taken;
        add_work(pacing, plan, (StageId){s}, seconds[s], work);
    }
    for (Area area = AREA_WIDE; area < pacing->areas; area++) {
        for (uint8_t r = 0; r < plan->resource_count; r++) {
            if (work[area][r] <= 0) continue;
            double fits = pacing->capacity[area][r] / work[area][r];
            if (fits < rate) rate = fits;
        }
    }
    for (uint16_t s = 0; s < plan->stage_count; s++) pacing->due[s] = rate * seconds[s];
}

// All slots of the source busy at once, from the first second on.
static double full_width(const Pacing *pacing, const CorePlan *plan) {
    double bytes = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        if (stage->kind != STAGE_SOURCE) continue;
        Area area = shape_area(pacing->shape, (StageId){s});
        NodeCounts nodes = area_counts(plan, &pacing->nodes, area);
        uint32_t tasks = counts_width(plan, &nodes, stage);
        if (stage->units < tasks) tasks = stage->units;
        bytes += (double)tasks * (double)stage->unit_bytes;
    }
    return bytes;
}

// Bytes a second by which the budget refills.
static double refill(const Pacing *pacing, const CorePlan *plan) {
    double alpha[STAGES_MAX], seconds = 0, out = 0;
    shares(pacing, plan, alpha);
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const Pace *pace = &pacing->stages[s];
        bool source = plan->stages[s].kind == STAGE_SOURCE;
        if (source)
            out += alpha[s] * pace->out_bytes / pace->in_bytes;
        else if (pacing->slots[s] > 0)
            seconds += alpha[s] * pace->seconds / pace->in_bytes / pacing->slots[s];
    }
    return seconds > 0 ? out / seconds : 1e18;
}

void pacing_memory(Pacing *pacing, double memory) { pacing->memory = memory; }

void pacing_init(Pacing *pacing, const CorePlan *plan, Admission admission, double memory,
                 int64_t now) {
    memset(pacing, 0, offsetof(Pacing, stages));
    pacing->admission = admission;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        pacing->stages[s] = (Pace){1, stage->bytes_per_byte, stage->seconds_per_byte};
        pacing->in_rows[s] = pacing->out_rows[s] = pacing->given[s] = 1;
        pacing->row_seconds[s] = pacing->due[s] = pacing->slots[s] = 0;
    }
    pacing->since = now;
    pacing->memory = memory;
    pacing->allowed = admission == ADMIT_BUDGET ? memory : full_width(pacing, plan);
    pacing->lambda = admission == ADMIT_BUDGET ? refill(pacing, plan) : judge(pacing, plan);
}

void pacing_note(Pacing *pacing, StageId stage, Pace seen) {
    Pace *pace = &pacing->stages[stage.i];
    pace->in_bytes += seen.in_bytes;
    pace->out_bytes += seen.out_bytes;
    pace->seconds += seen.seconds;
    pacing->seen++;
}

double pacing_seconds(const Pacing *pacing, StageId stage, int64_t bytes) {
    const Pace *pace = &pacing->stages[stage.i];
    return (double)bytes * pace->seconds / pace->in_bytes;
}

void pacing_gave(Pacing *pacing, StageId stage, int64_t rows) {
    pacing->out_rows[stage.i] += (double)rows;
}

void pacing_took(Pacing *pacing, StageId stage, int64_t rows, double seconds) {
    pacing->in_rows[stage.i] += (double)rows;
    pacing->row_seconds[stage.i] += seconds;
}

// Are lambda and rows to be judged again?
static bool is_due(const Pacing *pacing) {
    enum { EACH = 512, EVERY = 64 };
    uint64_t fresh = pacing->seen - pacing->judged;
    return fresh > (pacing->seen < EACH ? 0 : EVERY);
}

static double growth(const Pacing *pacing) {
    return pacing->admission == ADMIT_RATE ? HEADROOM * pacing->lambda : pacing->lambda;
}

void pacing_advance(Pacing *pacing, const CorePlan *plan, int64_t now) {
    if (pacing->admission == ADMIT_BUDGET) pacing->lambda = refill(pacing, plan);
    pacing->allowed += (double)(now - pacing->since) / SECOND * growth(pacing);
    pacing->since = now;
    bool over = pacing->allowed > pacing->admitted + pacing->memory;
    if (pacing->admission == ADMIT_BUDGET && over)
        pacing->allowed = pacing->admitted + pacing->memory;
    if (!is_due(pacing)) return;
    pacing->judged = pacing->seen;
    judge_rows(pacing, plan);
    if (pacing->admission == ADMIT_RATE) pacing->lambda = judge(pacing, plan);
}

// What a unit costs: its own bytes, or of a budget those that it is expected to make.
static double price(const Pacing *pacing, StageId source, int64_t bytes) {
    const Pace *pace = &pacing->stages[source.i];
    if (pacing->admission != ADMIT_BUDGET) return (double)bytes;
    // A unit that is larger than the whole budget takes all of it.
    double cost = (double)bytes * pace->out_bytes / pace->in_bytes;
    return cost < pacing->memory ? cost : pacing->memory;
}

int64_t pacing_when(const Pacing *pacing, const CorePlan *plan, StageId source, int64_t now) {
    if (pacing->admission == ADMIT_FREELY) return now;
    double cost = price(pacing, source, plan->stages[source.i].unit_bytes);
    double missing = pacing->admitted + cost - pacing->allowed;
    if (missing <= 0) return now;
    double wait = missing / growth(pacing) * SECOND + 1;
    return wait < 1e17 ? now + (int64_t)wait : INT64_MAX;
}

void pacing_admit(Pacing *pacing, StageId source, int64_t bytes) {
    pacing->admitted += price(pacing, source, bytes);
}
