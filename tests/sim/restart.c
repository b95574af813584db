// Restart: one job in several lives of its coordinator.
#include "tests/sim/restart.h"

#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>

// A journal outlives the runs: rows that a sink has committed are never committed again. Units all
// of whose rows are there are not begun (EVENT_SKIP).
static const char *run(uint64_t seed, uint32_t *deaths, double *again) {
    uint64_t random = seed;
    Workload load = {0};
    workload_restarted(&load, &random);
    const CoreStage *source = &load.plan.stages[0];
    Journal journal = {.count = source->units * load.work[0].unit_rows};
    journal.rows = calloc((size_t)journal.count, 1);
    SimOptions options = {
        .policy = POLICY_FULL, .beyond = 64 << 20, .disk_rate = 1e9, .journal = &journal};
    SimResult result = {0};
    for (options.seed = seed; !journal.whole && !result.wrong; options.seed++) {
        // The last of ten lives may live to its end.
        bool dies = options.seed < seed + 9;
        options.stop_after = dies ? (uint64_t)between(&random, 1, 400) : 0;
        result = sim_run(&load, &options);
        *deaths += !journal.whole;
    }
    *again += (double)journal.dropped / (double)journal.count;
    free(journal.rows);
    return result.wrong;
}

unsigned restart_run(uint64_t first, uint64_t last, unsigned *passed) {
    unsigned failed = 0;
    uint32_t deaths = 0;
    double again = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        const char *wrong = run(seed, &deaths, &again);
        failed += wrong != nullptr;
        *passed += !wrong;
        if (wrong) fprintf(stderr, "sim: restart, seed %" PRIu64 ": %s\n", seed, wrong);
    }
    printf("sim: %" PRIu64
           " jobs whose coordinator died %u times in all; %.1f %% of committed rows "
           "were made again\n",
           last - first + 1, deaths, again * 100 / (double)(last - first + 1));
    return failed;
}
