// Sim: runs the scheduler's cores against work that takes virtual time.
//
//   sim                 the short run of `zig build unit`
//   sim table           the workloads of the targets under every policy
//   sim optimum N       N tiny workloads beside the best that any order of launches can do
//   sim near N          N chains of two resources that are just enough
//   sim speed N         steps of 5,000 workers and N live partitions, in real time
//   sim random A B      random plans of the seeds A to B
//   sim large A B       random plans of 1,000 stages
//   sim nodes A B       the same over several nodes, of which some are lost
//   sim workers A B     membership over a network that loses, doubles and reorders messages
//   sim restart A B     a coordinator that dies up to nine times, and its journal
//   sim cluster A B     all of it: nodes behind such a network, and a coordinator that dies
//   sim shuffle N       N nodes with 100 GB each exchange all rows, by four strategies
//   sim exchange A B    small shuffles of the seeds A to B with slow and lost nodes
//   sim chain WORDS     a chain of stages beside its bound (chain.h)
//   sim trace SEED      one of them, with its plan and every event and action
//   sim trace-large, trace-nodes, trace-restart, trace-cluster SEED
#include "tests/sim/chain.h"
#include "tests/sim/optimum.h"
#include "tests/sim/restart.h"
#include "tests/sim/shrink.h"
#include "tests/sim/shuffle.h"
#include "tests/sim/speed.h"
#include "tests/sim/table.h"
#include "tests/sim/workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Of clusters as many as make ten million steps.
enum { SHORT_RUN = 1000, SHORT_NODES = 2000, SHORT_CLUSTER = 3000 };
enum { FAILURES_MAX = 10, FOUND_MAX = 7 };

typedef struct Tally {
    unsigned passed, failed, skipped;
} Tally;

// A kind of random runs: the command, its plans, and how they run.
typedef struct Kind {
    const char *name, *trace;
    void (*make)(Workload *load, uint64_t *random);
    SimRun *run;
    bool network;
    uint64_t least;             // Seeds of the short run,
    uint64_t found[FOUND_MAX];  // and some that failed once; 0: no more.
} Kind;

static const Kind kinds[] = {
    {"random", "trace", workload_random, sim_run, false, SHORT_RUN},
    {"large", "trace-large", workload_large, sim_run, false, 4},
    {"nodes", "trace-nodes", workload_random_nodes, sim_run, false, SHORT_NODES,
     {109048, 15564, 24827, 41777, 56515, 113557, 168852}},
    {"restart", "trace-restart", workload_restarted, lives_run, false, 100},
    {"cluster", "trace-cluster", workload_cluster, lives_run, true, SHORT_CLUSTER,
     {1033842, 1070709}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

// Every fourth seed runs with the least memory there can be, every third under any policy.
static SimOptions make_seed(Workload *load, uint64_t seed, const Kind *kind) {
    uint64_t random = seed;
    *load = (Workload){.name = "random plan"};
    kind->make(load, &random);
    SimOptions options = {
        .policy = POLICY_FULL, .disk_rate = 1e9, .seed = seed, .network = kind->network};
    options.beyond = seed % 4 ? between(&random, 0, 32 << 20) : 0;
    if (load->roomy) options.beyond = 8 * options.beyond + (64 << 20);
    if (load->tight) options.beyond = draw(&random) % 2 ? 0 : between(&random, 0, 1 << 20);
    if (seed % 3 == 0) options.policy = (PolicyId)(draw(&random) % POLICIES);
    return options;
}

static SimResult run_seed(uint64_t seed, const Kind *kind) {
    Workload load;
    SimOptions options = make_seed(&load, seed, kind);
    return kind->run(&load, &options);
}

static SimResult trace_seed(uint64_t seed, const Kind *kind) {
    Workload load;
    SimOptions options = make_seed(&load, seed, kind);
    options.trace = true;
    workload_print(stderr, &load, options.policy == POLICY_STAGED);
    return kind->run(&load, &options);
}

// Prints the seed, and a small plan that fails as well.
static void report(uint64_t seed, const Kind *kind, const SimResult *result) {
    Workload load;
    SimOptions options = make_seed(&load, seed, kind);
    fprintf(stderr, "sim: seed %" PRIu64 ": %s; run `sim %s %" PRIu64 "`\n", seed, result->text,
            kind->trace, seed);
    SimResult last = shrink(&load, &options, kind->run);
    fprintf(stderr, "sim: shrunk, %s under %s:\n", last.text, policy_of(options.policy)->name);
    workload_print(stderr, &load, options.policy == POLICY_STAGED);
}

// A machine that loses a row must be found out, by smaller plans. Returns failures.
static unsigned check_shrinking(unsigned *passed) {
    enum { PLANS = 24 };
    unsigned found = 0, before = 0, after = 0;
    for (uint64_t seed = 1; seed <= PLANS; seed++) {
        Workload load;
        SimOptions options = make_seed(&load, seed, &kinds[0]);
        options.loses_row = true;
        uint16_t stages = load.plan.stage_count;
        if (!shrink(&load, &options, sim_run).wrong)
            continue;  // None of its sinks has two rows at once.
        found++, before += stages, after += load.plan.stage_count;
    }
    printf("sim: a lost row is found by %u of %u plans; %u stages shrink to %u\n", found, PLANS,
           before, after);
    bool good = found >= 2 * PLANS / 3 && 2 * after <= before;
    *passed += good;
    return !good;
}

typedef struct Sums {
    uint64_t steps, messages, launches, reruns, twins, ahead, losses, deaths;
    double again;
} Sums;

static void add(Sums *sums, const SimResult *result) {
    sums->steps += result->steps, sums->messages += result->messages;
    sums->launches += result->launches, sums->reruns += result->reruns;
    sums->ahead += result->ahead;
    sums->twins += result->twins, sums->losses += result->losses;
    sums->deaths += result->deaths, sums->again += result->again;
}

static void print_sums(const Kind *kind, const Sums *sums, uint64_t plans, double seconds) {
    double all = (double)(sums->steps + sums->messages);
    printf("sim: %s: %" PRIu64 " steps of %" PRIu64 " plans", kind->name, sums->steps, plans);
    if (sums->messages)
        printf(", %" PRIu64 " messages, %" PRIu64 " workers lost", sums->messages, sums->losses);
    printf(", %.1f million a second\n", all / 1e6 / seconds);
    if (sums->reruns)
        printf("sim: %" PRIu64 " tasks, %" PRIu64 " reruns, %" PRIu64 " second attempts, %" PRIu64
               " ahead of slots\n", sums->launches, sums->reruns, sums->twins, sums->ahead);
    if (sums->deaths)
        printf("sim: %" PRIu64 " times the coordinator died; %.1f %% of rows were made again\n",
               sums->deaths, sums->again * 100 / (double)plans);
}

static void run_seeds(uint64_t first, uint64_t last, const Kind *kind, Tally *tally) {
    Sums sums = {0};
    clock_t begin = clock();
    for (uint64_t seed = first; seed <= last; seed++) {
        SimResult result = run_seed(seed, kind);
        add(&sums, &result);
        tally->skipped += result.skipped;
        if (result.skipped) continue;
        tally->passed += !result.wrong;
        tally->failed += result.wrong != nullptr;
        if (result.wrong && tally->failed < FAILURES_MAX) report(seed, kind, &result);
    }
    print_sums(kind, &sums, last - first + 1, (double)(clock() - begin) / CLOCKS_PER_SEC);
}

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise) {
    return argc > at ? strtoull(argv[at], nullptr, 10) : otherwise;
}

static bool is_command(const char *what) {
    static const char *const others[] = {"",        "table", "optimum", "near",    "speed",
                                         "workers", "chain", "shuffle", "exchange"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(what, others[i]) == 0) return true;
    for (int k = 0; k < KINDS; k++)
        if (strcmp(what, kinds[k].name) == 0 || strcmp(what, kinds[k].trace) == 0) return true;
    return false;
}

static int usage(const char *what) {
    enum { USAGE = 2 };
    fprintf(stderr, "sim: '%s' is no command\n", what);
    fprintf(stderr, "usage: sim [table | optimum N | near N | speed N");
    for (int k = 0; k < KINDS; k++)
        fprintf(stderr, " | %s A B | %s SEED", kinds[k].name, kinds[k].trace);
    fprintf(stderr, " | workers A B | shuffle N | exchange A B | chain WORDS]\n");
    return USAGE;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!is_command(what)) return usage(what);
    if (strcmp(what, "chain") == 0) return !chain_print(argc - 2, argv + 2);
    Tally tally = {0};
    if (!*what || strcmp(what, "table") == 0) tally.failed += table_print(&tally.passed);
    if (!*what) tally.failed += check_shrinking(&tally.passed);
    if (!*what || strcmp(what, "optimum") == 0)
        tally.failed += optimum_print((unsigned)number(argc, argv, 2, 300), &tally.passed);
    if (!*what || strcmp(what, "near") == 0)
        tally.failed += table_print_near((unsigned)number(argc, argv, 2, 300), &tally.passed);
    if (strcmp(what, "speed") == 0) {
        bool good = speed_print((unsigned)number(argc, argv, 2, 100000));
        tally.passed += good, tally.failed += !good;
    }
    uint64_t first = number(argc, argv, 2, 1);
    for (int k = 0; k < KINDS; k++) {
        const Kind *kind = &kinds[k];
        uint64_t last = number(argc, argv, 3, kind->least);
        if (!*what || strcmp(what, kind->name) == 0) run_seeds(first, last, kind, &tally);
        for (int i = 0; !*what && i < FOUND_MAX && kind->found[i]; i++)
            run_seeds(kind->found[i], kind->found[i], kind, &tally);
        if (strcmp(what, kind->trace) != 0) continue;
        SimResult result = trace_seed(first, kind);
        if (result.wrong) fprintf(stderr, "sim: %s\n", result.text);
        tally.failed += result.wrong != nullptr, tally.passed += !result.wrong;
    }
    if (!*what || strcmp(what, "workers") == 0)
        tally.failed += workers_run(first, number(argc, argv, 3, 100), &tally.passed);
    if (strcmp(what, "shuffle") == 0 && number(argc, argv, 2, 1000) < 2) {
        fprintf(stderr, "sim: a shuffle takes 2 nodes or more: sim shuffle 1000\n");
        return 2;
    }
    if (strcmp(what, "shuffle") == 0)
        tally.failed +=
            shuffle_print((uint32_t)number(argc, argv, 2, 1000), number(argc, argv, 3, 1),
                          &tally.passed);
    if (!*what || strcmp(what, "exchange") == 0)
        tally.failed += shuffle_seeds(first, number(argc, argv, 3, 300), &tally.passed);
    if (tally.skipped)
        printf("sim: skipped: %u plans have more paths than the cores take\n", tally.skipped);
    printf("sim: %u passed, %u failed, %u skipped\n", tally.passed, tally.failed, tally.skipped);
    return tally.failed != 0;
}
