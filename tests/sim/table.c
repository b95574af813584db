// The workloads of the targets under every policy, beside the bound that no schedule beats.
#include "tests/sim/table.h"

#include <inttypes.h>
#include <stdio.h>

// A partition's way through a stage.
static double way(const Workload *load, uint16_t stage) {
    const Work *work = &load->work[stage];
    double seconds = work->row_seconds < work->late_seconds ? work->row_seconds
                                                            : work->late_seconds;
    return (double)work->cut_rows * seconds;
}

// What the stages from `first` to `last` ask of a resource, spread over all of it.
static double spread(const Workload *load, const double *busy, uint8_t resource, uint16_t first,
                     uint16_t last) {
    double seconds = 0;
    for (uint16_t s = first; s <= last; s++)
        seconds += busy[s] * load->plan.stages[s].demand[resource];
    return seconds / load->plan.nodes[0].capacity[resource];
}

// Stages side by side cannot begin before a partition came through those in front of them, and
// behind their last work one goes through the others.
static double busiest(const Workload *load, const double *busy, uint8_t resource) {
    double most = 0, before = 0;
    for (uint16_t first = 0; first < load->plan.stage_count; first++) {
        double behind = 0;
        for (uint16_t last = load->plan.stage_count; last-- > first;) {
            double seconds = before + spread(load, busy, resource, first, last) + behind;
            if (seconds > most) most = seconds;
            behind += way(load, last);
        }
        before += way(load, first);
    }
    return most;
}

static double most_of(const Workload *load, const double *busy) {
    double most = 0;
    for (uint8_t r = 0; r < load->plan.resource_count; r++) {
        double seconds = busiest(load, busy, r);
        if (seconds > most) most = seconds;
    }
    return most;
}

// The halves come one after the other, each with its own work.
static double phases(const Workload *load, const SimResult *result) {
    uint16_t last = load->plan.stage_count - 1;
    double half[2] = {0};
    for (int phase = 0; phase < 2; phase++) {
        for (uint8_t r = 0; r < load->plan.resource_count; r++) {
            double seconds = spread(load, result->busy[phase], r, 0, last);
            if (seconds > half[phase]) half[phase] = seconds;
        }
    }
    const CoreStage *source = &load->plan.stages[0];
    double rows = (double)(source->units * load->work[0].unit_rows) / 2;
    double ahead = (double)load->plan.nodes[0].memory / (double)load->work[0].row_bytes / rows;
    return half[0] + half[1] * (1 - (ahead < 1 ? ahead : 1));
}

double table_bound(const Workload *load, const SimResult *result) {
    double both[STAGES_MAX], most = 0;
    if (load->bound > 0) return load->bound;
    for (uint16_t s = 0; s < load->plan.stage_count; s++)
        both[s] = result->busy[0][s] + result->busy[1][s];
    most = most_of(load, both);
    if (!load->phased) return most;
    double halves = phases(load, result);
    return halves > most ? halves : most;
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
    {workload_batches, 2000000000, 1.06},
    {workload_batches, 6000000000, 1.06},
    {workload_batches_steps, 2000000000, 1.06},
    {workload_batches_steps, 6000000000, 1.06},
    {workload_spiky, 6000000000, 1.10},
    {workload_changing, 1000000000, 1.10},
    {workload_four_stages, 4000000000, 1.10},
    {workload_fast_producer, 2000000000, 1.10},
    {workload_skewed, 4000000000, 1.10},
    {workload_even, 1000000000, 1.02},
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
        double bound = table_bound(&load, &result);
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

static SimResult run_near(uint64_t seed, PolicyId policy, double *bound) {
    uint64_t random = seed;
    Workload load = {0};
    workload_near(&load, &random);
    SimOptions options = {.policy = policy, .beyond = -1, .disk_rate = 1e9, .seed = seed};
    SimResult result = sim_run(&load, &options);
    *bound = table_bound(&load, &result);
    return result;
}

unsigned table_print_near(unsigned count, unsigned *passed) {
    static const double MEAN = 1.005, MOST = 1.30;  // Times what it takes without a pace.
    double sum = 0, most = 0, bounds = 0;
    unsigned failed = 0;
    for (uint64_t seed = 1; seed <= count; seed++) {
        double bound, other;
        SimResult full = run_near(seed, POLICY_FULL, &bound);
        SimResult free = run_near(seed, POLICY_PESSIMISTIC, &other);
        double ratio = full.seconds / bound / (free.seconds / other);
        bool bad = full.wrong || free.wrong || ratio > MOST;
        if (bad) fprintf(stderr, "sim: even workload %" PRIu64 ": %.3f\n", seed, ratio);
        failed += bad;
        bounds += full.seconds / bound, sum += ratio;
        if (ratio > most) most = ratio;
    }
    printf("sim: %u nearly even workloads: full takes %.3f of the bound; of what it takes without "
           "a pace %.3f, at most %.3f\n",
           count, bounds / count, sum / count, most);
    failed += sum / count > MEAN;
    *passed += failed ? 0 : count;
    return failed;
}
