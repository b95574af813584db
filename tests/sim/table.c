// The workloads of the targets under every policy, beside the bound that no schedule beats.
#include "tests/sim/table.h"

#include <stdio.h>

static double busiest(const Workload *load, const SimResult *result, int phase) {
    double most = 0;
    for (uint8_t r = 0; r < load->plan.resource_count; r++) {
        double seconds = result->busy[phase][r] / load->plan.nodes[0].capacity[r];
        if (seconds > most) most = seconds;
    }
    return most;
}

// What each resource has to do, spread over all of it. Where the halves of the units differ they
// come one after the other, because rows leave in order: only so many rows of the second half can
// be worked on before the first is done as memory holds.
static double resource_bound(const Workload *load, const SimResult *result) {
    if (!load->phased) return busiest(load, result, 0);
    const CoreStage *source = &load->plan.stages[0];
    double rows = (double)(source->units * load->work[0].unit_rows) / 2;
    double ahead = (double)load->plan.nodes[0].memory / (double)load->work[0].row_bytes / rows;
    return busiest(load, result, 0) + busiest(load, result, 1) * (1 - ahead);
}

typedef struct Row {
    void (*make)(Workload *load, int64_t memory);
    int64_t memory;
    double most;  // Times the bound, of full.
} Row;

static const Row rows[] = {
    {workload_m1, 2000000000, 1.02},
    {workload_m1, 6000000000, 1.02},
    {workload_m1, 16000000000, 1.02},
    {workload_m1_fused, 2000000000, 1.02},
    {workload_m1_fused, 16000000000, 1.02},
    {workload_spiky, 6000000000, 1.10},
    {workload_changing, 1000000000, 1.10},
    {workload_four_stages, 4000000000, 1.10},
    {workload_fast_producer, 2000000000, 1.10},
    {workload_skewed, 4000000000, 1.10},
};
enum { ROWS = sizeof rows / sizeof *rows };

static SimResult run(const Row *row, PolicyId policy, Workload *load) {
    *load = (Workload){0};
    row->make(load, row->memory);
    SimOptions options = {.policy = policy, .beyond = -1, .disk_rate = 1e9, .seed = 1};
    return sim_run(load, &options);
}

static unsigned print_row(const Row *row) {
    unsigned failed = 0;
    for (PolicyId p = 0; p < POLICIES; p++) {
        Workload load;
        SimResult result = run(row, p, &load);
        double bound = resource_bound(&load, &result);
        if (p == POLICY_FULL) {
            printf("sim: %-9s %3.0f %7.1f", load.name, (double)row->memory / 1e9, bound);
            failed += result.seconds > row->most * bound;
        }
        printf(" %11.1f", result.seconds);
        if (result.wrong) fprintf(stderr, "sim: %s: %s\n", policy_of(p)->name, result.text);
        failed += result.wrong != nullptr;
    }
    printf("%s\n", failed ? "  too slow" : "");
    return failed;
}

unsigned table_print(unsigned *passed) {
    unsigned failed = 0;
    printf("sim: seconds    GB   bound");
    for (PolicyId p = 0; p < POLICIES; p++) printf(" %11s", policy_of(p)->name);
    printf("\n");
    for (size_t i = 0; i < ROWS; i++) failed += print_row(&rows[i]) != 0;
    *passed += ROWS - failed;
    return failed;
}
