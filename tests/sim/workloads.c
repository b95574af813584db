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

void workload_chain(Workload *load, const Chain *chain, int64_t memory) {
    CorePlan *plan = &load->plan;
    plan->resource_count = 2;
    plan->node_kinds = 1;
    plan->nodes[0] = (NodeKind){.count = 1, .memory = memory};
    plan->nodes[0].capacity[CPU] = chain->cpus * WHOLE;
    plan->nodes[0].capacity[ACCELERATOR] = chain->accelerators * WHOLE;
    for (uint8_t i = 0; i <= chain->count; i++) {
        const ChainLink *link = &chain->links[i];
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
        load->work[id.i] = (Work){.row_seconds = link->row_seconds,
                                  .late_seconds = link->late_seconds,
                                  .row_bytes = link->row_bytes,
                                  .cut_rows = chain->cut_rows,
                                  .unit_rows = i ? 0 : chain->unit_rows};
    }
}

static const int64_t MB = 1000000;

void workload_m1(Workload *load, int64_t memory) {
    load->name = "M1";
    workload_chain(load,
                   &(Chain){8,
                            4,
                            160,
                            500,
                            100,
                            {{"load", CPU, 0.01, 0.01, MB},
                             {"transform", CPU, 0.005, 0.005, MB},
                             {"infer", ACCELERATOR, 0.005, 0.005, 8}},
                            3},
                   memory);
}

// Two steps take half a second for each begun batch of 100 rows, and partitions have 16.
static void take_batches(Workload *load, uint16_t transform) {
    for (uint16_t s = transform; s <= transform + 1; s++) {
        load->plan.stages[s].batch = 100;
        load->work[s].batch_seconds = 0.5;
    }
}

void workload_batches(Workload *load, int64_t memory) {
    workload_chain(load,
                   &(Chain){8,
                            4,
                            160,
                            500,
                            16,
                            {{"load", CPU, 0.01, 0.01, MB},
                             {"transform", CPU, 0, 0, MB},
                             {"infer", ACCELERATOR, 0, 0, 8}},
                            3},
                   memory);
    load->name = "batches", load->bound = 150;
    take_batches(load, 1);
}

// Rows are narrow until one of the steps makes them wide; a load is one partition, and has room for
// one that is as large as those of the others.
void workload_batches_steps(Workload *load, int64_t memory) {
    workload_chain(load,
                   &(Chain){8,
                            4,
                            160,
                            500,
                            16,
                            {{"load", CPU, 0.01, 0.01, 80},
                             {"derive", CPU, 0, 0, MB},
                             {"transform", CPU, 0, 0, MB},
                             {"infer", ACCELERATOR, 0, 0, 8}},
                            4},
                   memory);
    load->name = "steps", load->bound = 150;
    load->work[0].cut_rows = 500;
    for (uint16_t s = 0; s < 4; s++) load->plan.stages[s].cut = 40 * MB;
    take_batches(load, 2);
}

void workload_m1_fused(Workload *load, int64_t memory) {
    load->name = "M1 fused";
    workload_chain(
        load,
        &(Chain){8,
                 4,
                 160,
                 500,
                 100,
                 {{"load", CPU, 0.015, 0.015, MB}, {"infer", ACCELERATOR, 0.005, 0.005, 8}},
                 2},
        memory);
}

void workload_spiky(Workload *load, int64_t memory) {
    workload_m1(load, memory);
    load->name = "spiky";
    load->spikes = true;
}

void workload_changing(Workload *load, int64_t memory) {
    load->name = "changing", load->phased = true;
    workload_chain(load,
                   &(Chain){8,
                            4,
                            200,
                            200,
                            20,
                            {{"load", CPU, 0.002, 0.002, MB},
                             {"decode", CPU, 0.01, 0.002, MB},
                             {"infer", ACCELERATOR, 0.001, 0.008, 8}},
                            3},
                   memory);
}

void workload_four_stages(Workload *load, int64_t memory) {
    load->name = "4 stages";
    workload_chain(load,
                   &(Chain){8,
                            4,
                            200,
                            200,
                            20,
                            {{"load", CPU, 0.004, 0.004, MB},
                             {"decode", CPU, 0.004, 0.004, 4 * MB},
                             {"infer", ACCELERATOR, 0.004, 0.004, MB},
                             {"encode", CPU, 0.002, 0.002, MB / 4}},
                            4},
                   memory);
}

void workload_fast_producer(Workload *load, int64_t memory) {
    load->name = "producer";
    workload_chain(
        load,
        &(Chain){8,
                 1,
                 128,
                 1024,
                 128,
                 {{"load", CPU, 0.0001, 0.0001, MB}, {"slow", ACCELERATOR, 0.001, 0.001, 8}},
                 2},
        memory);
}

// One unit of sixteen is as long as eight others.
void workload_skewed(Workload *load, int64_t memory) {
    load->name = "skewed", load->skewed = true;
    workload_chain(load,
                   &(Chain){8,
                            4,
                            160,
                            200,
                            20,
                            {{"load", CPU, 0.002, 0.002, MB},
                             {"decode", CPU, 0.004, 0.004, MB},
                             {"infer", ACCELERATOR, 0.002, 0.002, 8}},
                            3},
                   memory);
}

// As of jobs whose rows come of no file: a unit is said to have 4 MiB, whatever it has.
static void say_little(Workload *load) {
    load->plan.stages[0].unit_bytes = 4 << 20;
    for (uint16_t s = 0; s < load->plan.stage_count; s++)
        load->plan.stages[s].seconds_per_byte = 2e-9;
}

void workload_even(Workload *load, int64_t memory) {
    load->name = "even";
    workload_chain(load,
                   &(Chain){2,
                            1,
                            60,
                            10,
                            10,
                            {{"load", CPU, 0.002, 0.002, 8},
                             {"infer", ACCELERATOR, 0.001, 0.001, 8}},
                            2},
                   memory);
    say_little(load);
}

void workload_near(Workload *load, uint64_t *random) {
    Chain chain = {.cpus = (uint32_t)between(random, 1, 8),
                   .accelerators = (uint32_t)between(random, 1, 4),
                   .units = (uint32_t)between(random, 20, 100),
                   .unit_rows = between(random, 1, 20),
                   .count = 2};
    chain.cut_rows = between(random, 1, chain.unit_rows);
    double second = (double)between(random, 1, 100) * 1e-4;  // Of a row of all slots.
    double ratio = (double)between(random, 80, 125) / 100;
    double load_seconds = chain.cpus * second, infer_seconds = chain.accelerators * second * ratio;
    int64_t bytes = draw(random) % 2 ? 8 : 10000;
    double late[2] = {1, 1};
    load->name = "near", load->spread = draw(random) % 2, load->phased = draw(random) % 2;
    for (int i = 0; load->phased && i < 2; i++) late[i] = (double)between(random, 20, 100) / 100;
    chain.links[0] = (ChainLink){"load", CPU, load_seconds, load_seconds * late[0], bytes};
    chain.links[1] = (ChainLink){"infer", ACCELERATOR, infer_seconds, infer_seconds * late[1], 8};
    workload_chain(load, &chain, 1000 * MB);
    if (draw(random) % 2) say_little(load);
}

// ---- tiny ---------------------------------------------------------------------------------------

void workload_tiny(Workload *load, uint64_t *random) {
    static const uint8_t resources[] = {CPU, ACCELERATOR};
    Chain chain = {.cpus = (uint32_t)between(random, 1, 2),
                   .accelerators = (uint32_t)between(random, 1, 2),
                   .units = (uint32_t)between(random, 2, TINY_UNITS),
                   .unit_rows = 1,
                   .cut_rows = 1,
                   .count = (uint8_t)between(random, 2, TINY_STAGES)};
    for (uint8_t i = 0; i < chain.count; i++)
        chain.links[i] = (ChainLink){"tiny", resources[draw(random) % 2], 0, 0, MB};
    load->name = "tiny", load->timed = true;
    workload_chain(load, &chain, 1000 * MB);
    for (uint8_t i = 0; i < chain.count; i++)
        for (uint32_t u = 0; u < chain.units; u++)
            load->seconds[i][u] = (double)between(random, 1, 20) / 10;
}
