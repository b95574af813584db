// Restart: one job in several lives of its coordinator.
#include "tests/sim/restart.h"

#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>

// Room for all rows of the sinks.
static void journal_open(Journal *journal, const Workload *load) {
    Streams streams;
    streams_make(&streams, load, false);
    *journal = (Journal){0};
    for (uint16_t s = 0; s < load->plan.stage_count; s++) {
        if (load->plan.stages[s].kind != STAGE_SINK) continue;
        const Stream *stream = &streams.made[s];
        journal->count += stream_rows(stream);
        for (int i = 0; i < stream->count; i++)
            journal->rows[s][stream->segments[i].root.i] = calloc((size_t)stream->segments[i].rows,
                                                                  1);
    }
}

static void journal_close(Journal *journal) {
    for (uint16_t s = 0; s < STAGES_MAX; s++)
        for (uint16_t r = 0; r < STAGES_MAX; r++) free(journal->rows[s][r]);
}

// A journal outlives the runs: rows that a sink has committed are never committed again. Units all
// of whose rows are there are not begun (EVENT_SKIP).
static const char *run(uint64_t seed, uint32_t *deaths, double *again) {
    uint64_t random = seed;
    Workload load = {.name = "restarted plan"};
    workload_restarted(&load, &random);
    Journal journal;
    journal_open(&journal, &load);
    SimOptions options = {.policy = POLICY_FULL,
                          .beyond = between(&random, 0, 64 << 20),
                          .disk_rate = 1e9,
                          .journal = &journal};
    SimResult result = {0};
    for (options.seed = seed; !journal.whole && !result.wrong && !result.skipped; options.seed++) {
        // The last of ten lives may live to its end.
        bool dies = options.seed < seed + 9;
        options.stop_after = dies ? (uint64_t)between(&random, 1, 400) : 0;
        result = sim_run(&load, &options);
        *deaths += !journal.whole;
    }
    if (journal.count) *again += (double)journal.dropped / (double)journal.count;
    journal_close(&journal);
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
