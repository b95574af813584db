#include "tests/sim/workloads.h"

#include <stdbool.h>
#include <string.h>

uint64_t draw(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

int64_t between(uint64_t *state, int64_t least, int64_t most) {
    return least + (int64_t)(draw(state) % (uint64_t)(most - least + 1));
}

// ---- chains -------------------------------------------------------------------------------------

static void add_edge(CorePlan *plan, StageId from, StageId to) {
    EdgeId edge = {plan->edge_count++};
    CoreStage *above = &plan->stages[from.i], *below = &plan->stages[to.i];
    plan->edges[edge.i] = (CoreEdge){from, to};
    above->outputs[above->output_count++] = edge;
    below->inputs[below->input_count++] = edge;
}

enum { CPU, ACCELERATOR };

typedef struct Link {
    const char *name;
    uint8_t     resource;
    double      row_seconds, late_seconds;
    int64_t     row_bytes;
} Link;

typedef struct Chain {
    uint32_t cpus, accelerators, units;
    int64_t  unit_rows, cut_rows;
    Link     links[6];
    uint8_t  count;
} Chain;

// The first link is a source; behind the last one comes a sink that costs nothing.
static void chain_make(Workload *load, const Chain *chain, int64_t memory) {
    CorePlan *plan = &load->plan;
    plan->resource_count = 2;
    plan->capacity[CPU] = chain->cpus * WHOLE;
    plan->capacity[ACCELERATOR] = chain->accelerators * WHOLE;
    plan->memory = memory;
    for (uint8_t i = 0; i <= chain->count; i++) {
        const Link *link = &chain->links[i];
        StageId id = {plan->stage_count++};
        CoreStage *stage = &plan->stages[id.i];
        stage->name = i < chain->count ? link->name : "sink";
        stage->kind = i == 0 ? STAGE_SOURCE : i < chain->count ? STAGE_MAP : STAGE_SINK;
        if (i) add_edge(plan, (StageId){(uint16_t)(id.i - 1)}, id);
        if (i == chain->count) return;
        stage->demand[link->resource] = WHOLE;
        stage->cut = link->row_bytes * (chain->cut_rows - 1), stage->row_max = link->row_bytes;
        stage->seconds_per_byte = 1e-8;
        stage->bytes_per_byte = i ? (double)link->row_bytes / (double)link[-1].row_bytes : 1;
        if (!i) stage->units = chain->units, stage->unit_bytes = chain->unit_rows * link->row_bytes;
        load->work[id.i] = (Work){link->row_seconds, link->late_seconds, link->row_bytes,
                                  chain->cut_rows, i ? 0 : chain->unit_rows};
    }
}

static const int64_t MB = 1000000;

void workload_m1(Workload *load, int64_t memory) {
    load->name = "M1";
    chain_make(load, &(Chain){8, 4, 160, 500, 100, {{"load", CPU, 0.01, 0.01, MB},
                                                    {"transform", CPU, 0.005, 0.005, MB},
                                                    {"infer", ACCELERATOR, 0.005, 0.005, 8}}, 3},
               memory);
}

void workload_m1_fused(Workload *load, int64_t memory) {
    load->name = "M1 fused";
    chain_make(load, &(Chain){8, 4, 160, 500, 100, {{"load", CPU, 0.015, 0.015, MB},
                                                    {"infer", ACCELERATOR, 0.005, 0.005, 8}}, 2},
               memory);
}

void workload_spiky(Workload *load, int64_t memory) {
    workload_m1(load, memory);
    load->name = "spiky";
    load->spikes = true;
}

void workload_changing(Workload *load, int64_t memory) {
    load->name = "changing", load->phased = true;
    chain_make(load, &(Chain){8, 4, 200, 200, 20, {{"load", CPU, 0.002, 0.002, MB},
                                                   {"decode", CPU, 0.01, 0.002, MB},
                                                   {"infer", ACCELERATOR, 0.001, 0.008, 8}}, 3},
               memory);
}

void workload_four_stages(Workload *load, int64_t memory) {
    load->name = "4 stages";
    chain_make(load, &(Chain){8, 4, 200, 200, 20, {{"load", CPU, 0.004, 0.004, MB},
                                                   {"decode", CPU, 0.004, 0.004, 4 * MB},
                                                   {"infer", ACCELERATOR, 0.004, 0.004, MB},
                                                   {"encode", CPU, 0.002, 0.002, MB / 4}}, 4},
               memory);
}

void workload_fast_producer(Workload *load, int64_t memory) {
    load->name = "producer";
    chain_make(load, &(Chain){8, 1, 128, 1024, 128, {{"load", CPU, 0.0001, 0.0001, MB},
                                                     {"slow", ACCELERATOR, 0.001, 0.001, 8}}, 2},
               memory);
}

// ---- random plans -------------------------------------------------------------------------------

static StageId add_stage(Workload *load, uint64_t *random, StageKind kind) {
    CorePlan *plan = &load->plan;
    StageId id = {plan->stage_count++};
    CoreStage *stage = &plan->stages[id.i];
    stage->name = "stage";
    stage->kind = kind;
    stage->demand[between(random, 0, plan->resource_count - 1)] =
        (uint32_t)between(random, 1, 4) * WHOLE / 4;
    stage->concurrency = (uint32_t)between(random, 0, 3);
    stage->scratch = between(random, 0, 1 << 20);
    int64_t row_bytes = between(random, 1, 1 << 20), cut_rows = between(random, 1, 20);
    stage->cut = row_bytes * (cut_rows - 1), stage->row_max = row_bytes;
    stage->seconds_per_byte = 1e-8, stage->bytes_per_byte = 1;
    load->work[id.i] = (Work){.row_seconds = (double)between(random, 0, 100) / 1000,
                              .row_bytes = row_bytes, .cut_rows = cut_rows};
    load->work[id.i].late_seconds = load->work[id.i].row_seconds;
    if (kind != STAGE_SOURCE) return id;
    load->work[id.i].unit_rows = between(random, 1, 100);
    stage->units = (uint32_t)between(random, 1, 50);
    stage->unit_bytes = load->work[id.i].unit_rows * row_bytes;
    return id;
}

void workload_random(Workload *load, uint64_t *random) {
    CorePlan *plan = &load->plan;
    load->spread = true;
    plan->resource_count = (uint8_t)between(random, 1, 3);
    for (uint8_t r = 0; r < plan->resource_count; r++)
        plan->capacity[r] = (uint32_t)between(random, 1, 16) * WHOLE;
    StageId above = add_stage(load, random, STAGE_SOURCE);
    for (int64_t left = between(random, 0, 5); left; left--) {
        bool joined = draw(random) % 4 == 0;
        StageId more = joined ? add_stage(load, random, STAGE_SOURCE) : above;
        StageId stage = add_stage(load, random, STAGE_MAP);
        add_edge(plan, above, stage);
        if (joined) add_edge(plan, more, stage);
        if (draw(random) % 4 == 0) add_edge(plan, stage, add_stage(load, random, STAGE_SINK));
        above = stage;
    }
    add_edge(plan, above, add_stage(load, random, STAGE_SINK));
}
