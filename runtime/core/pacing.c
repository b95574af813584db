#include "runtime/core/pacing.h"

#include <string.h>

static const double HEADROOM = 1.05, SECOND = 1e9;

// First estimates weigh as much as this many bytes that were seen.
static double prior_bytes(const CoreStage *stage) {
    return stage->kind == STAGE_SOURCE ? (double)stage->unit_bytes : (double)(1 << 20);
}

// Input bytes of each stage for one byte of all sources together.
static void shares(const Pacing *pacing, const CorePlan *plan, double *alpha) {
    double total = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        if (stage->kind == STAGE_SOURCE) total += (double)stage->units * (double)stage->unit_bytes;
    }
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        alpha[s] = 0;
        if (stage->kind == STAGE_SOURCE && total > 0)
            alpha[s] = (double)stage->units * (double)stage->unit_bytes / total;
        for (uint8_t i = 0; i < stage->input_count; i++) {
            uint16_t from = plan->edges[stage->inputs[i].i].from.i;
            const Pace *above = &pacing->stages[from];
            alpha[s] += alpha[from] * above->out_bytes / above->in_bytes;
        }
    }
}

static double judge(const Pacing *pacing, const CorePlan *plan) {
    double alpha[STAGES_MAX], work[RESOURCES_MAX] = {0}, least = 1e18;
    shares(pacing, plan, alpha);
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const Pace *pace = &pacing->stages[s];
        double seconds = alpha[s] * pace->seconds / pace->in_bytes;
        for (uint8_t r = 0; r < plan->resource_count; r++)
            work[r] += seconds * plan->stages[s].demand[r];
    }
    for (uint8_t r = 0; r < plan->resource_count; r++) {
        if (work[r] <= 0) continue;
        double rate = plan->capacity[r] / work[r];
        if (rate < least) least = rate;
    }
    return least;
}

// All slots of the source busy at once, from the first second on.
static double full_width(const CorePlan *plan) {
    double bytes = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        if (stage->kind != STAGE_SOURCE) continue;
        double tasks = stage->concurrency ? stage->concurrency : stage->units;
        for (uint8_t r = 0; r < plan->resource_count; r++) {
            if (!stage->demand[r]) continue;
            double fit = (double)(plan->capacity[r] / stage->demand[r]);
            if (fit < tasks) tasks = fit;
        }
        bytes += tasks * (double)stage->unit_bytes;
    }
    return bytes;
}

void pacing_init(Pacing *pacing, const CorePlan *plan, int64_t now) {
    memset(pacing, 0, sizeof *pacing);
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        double bytes = prior_bytes(stage);
        pacing->stages[s] = (Pace){bytes, bytes * stage->bytes_per_byte,
                                   bytes * stage->seconds_per_byte};
    }
    pacing->since = now;
    pacing->allowed = full_width(plan);
    pacing->lambda = judge(pacing, plan);
}

void pacing_note(Pacing *pacing, StageId stage, Pace seen) {
    Pace *pace = &pacing->stages[stage.i];
    pace->in_bytes += seen.in_bytes;
    pace->out_bytes += seen.out_bytes;
    pace->seconds += seen.seconds;
}

void pacing_advance(Pacing *pacing, const CorePlan *plan, int64_t now) {
    pacing->allowed += (double)(now - pacing->since) / SECOND * HEADROOM * pacing->lambda;
    pacing->since = now;
    pacing->lambda = judge(pacing, plan);
}

static double admitted(const Pacing *pacing, const CorePlan *plan) {
    double sum = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) sum += pacing->admitted[s];
    return sum;
}

int64_t pacing_when(const Pacing *pacing, const CorePlan *plan, StageId source, int64_t now) {
    double bytes = (double)plan->stages[source.i].unit_bytes;
    double missing = admitted(pacing, plan) + bytes - pacing->allowed;
    if (missing <= 0) return now;
    return now + (int64_t)(missing / (HEADROOM * pacing->lambda) * SECOND) + 1;
}

void pacing_admit(Pacing *pacing, StageId source, int64_t bytes) {
    pacing->admitted[source.i] += (double)bytes;
}
