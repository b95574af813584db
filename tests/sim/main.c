// Sim: runs the scheduler's cores against work that takes virtual time.
//
//   sim                 the short run of `zig build unit`
//   sim table           the workloads of the targets under every policy
//   sim random A B      random plans of the seeds A to B
//   sim nodes A B       the same over several nodes, of which some are lost
//   sim trace SEED      one of them, with its plan and every event and action
//   sim trace-nodes SEED
#include "tests/sim/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_RUN = 1000, FAILURES_MAX = 10 };

typedef struct Tally {
    unsigned passed, failed, skipped;
} Tally;

// Every fourth seed runs with the least memory there can be, every third under any policy.
static SimResult run_seed(uint64_t seed, bool nodes, bool trace) {
    uint64_t random = seed;
    Workload load = {0};
    char name[32];
    if (nodes)
        workload_random_nodes(&load, &random);
    else
        workload_random(&load, &random);
    snprintf(name, sizeof name, "seed %" PRIu64, seed);
    load.name = name;
    SimOptions options = {.policy = POLICY_FULL, .disk_rate = 1e9, .seed = seed, .trace = trace};
    options.beyond = seed % 4 ? between(&random, 0, 32 << 20) : 0;
    if (seed % 3 == 0) options.policy = (PolicyId)(draw(&random) % POLICIES);
    if (trace) workload_print(stderr, &load, options.policy == POLICY_STAGED);
    return sim_run(&load, &options);
}

static void run_seeds(uint64_t first, uint64_t last, bool nodes, Tally *tally) {
    uint64_t steps = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        SimResult result = run_seed(seed, nodes, false);
        steps += result.steps;
        tally->skipped += result.skipped;
        if (result.skipped) continue;
        tally->passed += !result.wrong;
        tally->failed += result.wrong != nullptr;
        if (result.wrong && tally->failed < FAILURES_MAX)
            fprintf(stderr, "sim: %s\nsim: run `sim trace%s %" PRIu64 "`\n", result.text,
                    nodes ? "-nodes" : "", seed);
    }
    printf("sim: %" PRIu64 " steps of %" PRIu64 " random plans%s\n", steps, last - first + 1,
           nodes ? " over nodes that are lost" : "");
}

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise) {
    return argc > at ? strtoull(argv[at], nullptr, 10) : otherwise;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    Tally tally = {0};
    if (!*what || strcmp(what, "table") == 0) tally.failed += table_print(&tally.passed);
    uint64_t first = number(argc, argv, 2, 1), last = number(argc, argv, 3, SHORT_RUN);
    if (!*what || strcmp(what, "random") == 0) run_seeds(first, last, false, &tally);
    if (!*what || strcmp(what, "nodes") == 0) run_seeds(first, last, true, &tally);
    if (strncmp(what, "trace", 5) == 0) {
        SimResult result = run_seed(first, strcmp(what, "trace-nodes") == 0, true);
        if (result.wrong) fprintf(stderr, "sim: %s\n", result.text);
        tally.failed += result.wrong != nullptr, tally.passed += !result.wrong;
    }
    printf("sim: %u passed, %u failed, %u skipped\n", tally.passed, tally.failed, tally.skipped);
    return tally.failed != 0;
}
