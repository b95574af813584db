// Sim: runs the scheduler's cores against work that takes virtual time.
//
//   sim                 the short run of `zig build unit`
//   sim table           the workloads of the targets under every policy
//   sim optimum N       N tiny workloads beside the best that any order of launches can do
//   sim speed N         steps of 5,000 workers and N live partitions, in real time
//   sim random A B      random plans of the seeds A to B
//   sim nodes A B       the same over several nodes, of which some are lost
//   sim workers A B     membership over a network that loses, doubles and reorders messages
//   sim restart A B     a coordinator that dies up to nine times, and its journal
//   sim chain WORDS     a chain of stages beside its bound (chain.h)
//   sim trace SEED      one of them, with its plan and every event and action
//   sim trace-nodes SEED
#include "tests/sim/chain.h"
#include "tests/sim/optimum.h"
#include "tests/sim/restart.h"
#include "tests/sim/shrink.h"
#include "tests/sim/speed.h"
#include "tests/sim/table.h"
#include "tests/sim/workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHORT_RUN = 1000, FAILURES_MAX = 10 };

typedef struct Tally {
    unsigned passed, failed, skipped;
} Tally;

// Every fourth seed runs with the least memory there can be, every third under any policy.
static SimOptions make_seed(Workload *load, uint64_t seed, bool nodes) {
    uint64_t random = seed;
    *load = (Workload){.name = "random plan"};
    if (nodes)
        workload_random_nodes(load, &random);
    else
        workload_random(load, &random);
    SimOptions options = {.policy = POLICY_FULL, .disk_rate = 1e9, .seed = seed};
    options.beyond = seed % 4 ? between(&random, 0, 32 << 20) : 0;
    if (seed % 3 == 0) options.policy = (PolicyId)(draw(&random) % POLICIES);
    return options;
}

static SimResult run_seed(uint64_t seed, bool nodes) {
    Workload load;
    SimOptions options = make_seed(&load, seed, nodes);
    return sim_run(&load, &options);
}

static SimResult trace_seed(uint64_t seed, bool nodes) {
    Workload load;
    SimOptions options = make_seed(&load, seed, nodes);
    options.trace = true;
    workload_print(stderr, &load, options.policy == POLICY_STAGED);
    return sim_run(&load, &options);
}

// Prints the seed, and a small plan that fails as well.
static void report(uint64_t seed, bool nodes, const SimResult *result) {
    Workload load;
    SimOptions options = make_seed(&load, seed, nodes);
    fprintf(stderr, "sim: seed %" PRIu64 ": %s; run `sim trace%s %" PRIu64 "`\n", seed,
            result->text, nodes ? "-nodes" : "", seed);
    SimResult last = shrink(&load, &options);
    fprintf(stderr, "sim: shrunk, %s under %s:\n", last.text, policy_of(options.policy)->name);
    workload_print(stderr, &load, options.policy == POLICY_STAGED);
}

// A machine that loses a row must be found out, by smaller plans. Returns failures.
static unsigned check_shrinking(unsigned *passed) {
    enum { PLANS = 24 };
    unsigned found = 0, before = 0, after = 0;
    for (uint64_t seed = 1; seed <= PLANS; seed++) {
        Workload load;
        SimOptions options = make_seed(&load, seed, false);
        options.loses_row = true;
        uint16_t stages = load.plan.stage_count;
        if (!shrink(&load, &options).wrong) continue;  // None of its sinks has two rows at once.
        found++, before += stages, after += load.plan.stage_count;
    }
    printf("sim: a lost row is found by %u of %u plans; %u stages shrink to %u\n", found,
           PLANS, before, after);
    bool good = found >= 2 * PLANS / 3 && 2 * after <= before;
    *passed += good;
    return !good;
}

static void run_seeds(uint64_t first, uint64_t last, bool nodes, Tally *tally) {
    uint64_t steps = 0, launches = 0, reruns = 0, twins = 0;
    clock_t begin = clock();
    for (uint64_t seed = first; seed <= last; seed++) {
        SimResult result = run_seed(seed, nodes);
        steps += result.steps, launches += result.launches;
        reruns += result.reruns, twins += result.twins;
        tally->skipped += result.skipped;
        if (result.skipped) continue;
        tally->passed += !result.wrong;
        tally->failed += result.wrong != nullptr;
        if (result.wrong && tally->failed < FAILURES_MAX) report(seed, nodes, &result);
    }
    printf("sim: %" PRIu64 " steps of %" PRIu64 " random plans, %.1f million a second", steps,
           last - first + 1, (double)steps / 1e6 / ((double)(clock() - begin) / CLOCKS_PER_SEC));
    if (nodes)
        printf(", over nodes that are lost: %" PRIu64 " tasks, %" PRIu64 " reruns, %" PRIu64
               " second attempts",
               launches, reruns, twins);
    printf("\n");
}

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise) {
    return argc > at ? strtoull(argv[at], nullptr, 10) : otherwise;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "chain") == 0) return !chain_print(argc - 2, argv + 2);
    Tally tally = {0};
    if (!*what || strcmp(what, "table") == 0) tally.failed += table_print(&tally.passed);
    if (!*what) tally.failed += check_shrinking(&tally.passed);
    if (!*what || strcmp(what, "optimum") == 0)
        tally.failed += optimum_print((unsigned)number(argc, argv, 2, 300), &tally.passed);
    if (strcmp(what, "speed") == 0) {
        bool good = speed_print((unsigned)number(argc, argv, 2, 100000));
        tally.passed += good, tally.failed += !good;
    }
    uint64_t first = number(argc, argv, 2, 1), last = number(argc, argv, 3, SHORT_RUN);
    if (!*what || strcmp(what, "random") == 0) run_seeds(first, last, false, &tally);
    if (!*what || strcmp(what, "nodes") == 0) run_seeds(first, last, true, &tally);
    if (!*what) last = 100;
    if (!*what || strcmp(what, "workers") == 0)
        tally.failed += workers_run(first, last, &tally.passed);
    if (!*what || strcmp(what, "restart") == 0)
        tally.failed += restart_run(first, last, &tally.passed);
    if (strncmp(what, "trace", 5) == 0) {
        SimResult result = trace_seed(first, strcmp(what, "trace-nodes") == 0);
        if (result.wrong) fprintf(stderr, "sim: %s\n", result.text);
        tally.failed += result.wrong != nullptr, tally.passed += !result.wrong;
    }
    printf("sim: %u passed, %u failed, %u skipped\n", tally.passed, tally.failed, tally.skipped);
    return tally.failed != 0;
}
