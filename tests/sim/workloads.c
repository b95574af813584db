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

static const int64_t MB = 1000000;

void workload_m1(Workload *load, int64_t memory) {
    load->name = "M1";
    load->plan = (CorePlan){
        .stage_count = 4, .edge_count = 3, .resource_count = 2,
        .capacity = {8 * WHOLE, 4 * WHOLE}, .memory = memory,
        .edges = {{{0}, {1}}, {{1}, {2}}, {{2}, {3}}},
        .stages = {
            {.name = "load", .kind = STAGE_SOURCE, .demand = {WHOLE}, .cut = 99 * MB, .row_max = MB,
             .units = 160, .unit_bytes = 500 * MB, .seconds_per_byte = 1e-8, .bytes_per_byte = 1,
             .outputs = {{0}}, .output_count = 1},
            {.name = "transform", .kind = STAGE_MAP, .demand = {WHOLE}, .cut = 99 * MB,
             .row_max = MB, .seconds_per_byte = 1e-8, .bytes_per_byte = 1, .inputs = {{0}},
             .input_count = 1, .outputs = {{1}}, .output_count = 1},
            {.name = "infer", .kind = STAGE_MAP, .demand = {0, WHOLE}, .cut = 800, .row_max = 8,
             .seconds_per_byte = 1e-8, .bytes_per_byte = 8e-6, .inputs = {{1}}, .input_count = 1,
             .outputs = {{2}}, .output_count = 1},
            {.name = "sink", .kind = STAGE_SINK, .inputs = {{2}}, .input_count = 1},
        },
    };
    Work work[] = {{0.01, MB, 100, 500}, {0.005, MB, 100, 0}, {0.005, 8, 100, 0}, {0}};
    memcpy(load->work, work, sizeof work);
}

void workload_m1_fused(Workload *load, int64_t memory) {
    load->name = "M1 fused";
    load->plan = (CorePlan){
        .stage_count = 3, .edge_count = 2, .resource_count = 2,
        .capacity = {8 * WHOLE, 4 * WHOLE}, .memory = memory,
        .edges = {{{0}, {1}}, {{1}, {2}}},
        .stages = {
            {.name = "load", .kind = STAGE_SOURCE, .demand = {WHOLE}, .cut = 99 * MB, .row_max = MB,
             .units = 160, .unit_bytes = 500 * MB, .seconds_per_byte = 1e-8, .bytes_per_byte = 1,
             .outputs = {{0}}, .output_count = 1},
            {.name = "infer", .kind = STAGE_MAP, .demand = {0, WHOLE}, .cut = 800, .row_max = 8,
             .seconds_per_byte = 1e-8, .bytes_per_byte = 8e-6, .inputs = {{0}}, .input_count = 1,
             .outputs = {{1}}, .output_count = 1},
            {.name = "sink", .kind = STAGE_SINK, .inputs = {{1}}, .input_count = 1},
        },
    };
    Work work[] = {{0.015, MB, 100, 500}, {0.005, 8, 100, 0}, {0}};
    memcpy(load->work, work, sizeof work);
}

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
    load->work[id.i] = (Work){(double)between(random, 0, 100) / 1000, row_bytes, cut_rows, 0};
    if (kind != STAGE_SOURCE) return id;
    load->work[id.i].unit_rows = between(random, 1, 100);
    stage->units = (uint32_t)between(random, 1, 50);
    stage->unit_bytes = load->work[id.i].unit_rows * row_bytes;
    return id;
}

static void add_edge(CorePlan *plan, StageId from, StageId to) {
    EdgeId edge = {plan->edge_count++};
    CoreStage *above = &plan->stages[from.i], *below = &plan->stages[to.i];
    plan->edges[edge.i] = (CoreEdge){from, to};
    above->outputs[above->output_count++] = edge;
    below->inputs[below->input_count++] = edge;
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
