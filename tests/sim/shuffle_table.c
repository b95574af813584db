// The four strategies beside the bound, and what the loss of a node costs each of them.
#include "tests/sim/shuffle.h"
#include "tests/sim/workloads.h"

#include <inttypes.h>
#include <stdio.h>

static const ShuffleMachine machines[] = {
    {"six spinning disks", .disk_rate = 1.1e9, .seek = 8e-3 / 6, .net_rate = 1.875e9,
     .cpu_rate = 4e9, .buffers = INT64_C(32000000000)},
    {"two NVMe disks", .disk_rate = 4e9, .seek = 2e-5, .net_rate = 3.125e9, .cpu_rate = 12e9,
     .buffers = INT64_C(64000000000)},
};
enum { MACHINES = sizeof machines / sizeof *machines };

// 100 GB a node, 64 maps and 64 reducers a node: blocks of 24 kB with 1,000 nodes.
static ShuffleLoad load_of(const ShuffleMachine *machine, uint32_t nodes, uint64_t seed) {
    return (ShuffleLoad){.machine = machine, .nodes = nodes, .node_bytes = INT64_C(100000000000),
                         .batches = 8, .ranges = 16, .batch_maps = 8, .range_reducers = 4,
                         .slots = 2, .seed = seed};
}

static void print_row(const ShuffleLoad *load, ShuffleId strategy, unsigned *failed) {
    static const double TB = 1e12;
    ShuffleLoad slow = *load, loses = *load;
    slow.slow_one_in = 100;
    ShuffleResult even = shuffle_run(load, strategy), uneven = shuffle_run(&slow, strategy);
    loses.lost_at = even.maps_end;
    ShuffleResult lost = shuffle_run(&loses, strategy);
    double bound = shuffle_bound(load);
    printf("sim: %-27s %7.1f %5.1f %% %7.1f %6.1f %6.1f %6.1f %9.2f %7.0f %6" PRIu32 " %6.1f\n",
           shuffle_name(strategy), even.seconds, 100 * bound / even.seconds, uneven.seconds,
           (double)even.read / TB, (double)even.written / TB, (double)even.moved / TB,
           (double)even.random_reads / 1e6, lost.seconds - even.seconds,
           lost.remade * load->batch_maps,
           (double)(lost.read - even.read) / TB);
    const ShuffleResult *all[] = {&even, &uneven, &lost};
    bool good = true;
    for (int i = 0; i < 3; i++) {
        good &= !all[i]->wrong && all[i]->seconds >= bound;
        if (all[i]->wrong) printf("sim: shuffle: %s\n", all[i]->wrong);
    }
    *failed += !good;
}

unsigned shuffle_print(uint32_t nodes, uint64_t seed, unsigned *passed) {
    unsigned failed = 0;
    for (int m = 0; m < MACHINES; m++) {
        ShuffleLoad load = load_of(&machines[m], nodes, seed);
        printf("sim: %" PRIu32 " nodes of %s, %.1f TB, bound %.0f s\n", nodes, machines[m].name,
               (double)load.node_bytes * nodes / 1e12, shuffle_bound(&load));
        printf("sim: %-27s %7s %7s %7s %6s %6s %6s %9s %7s %6s %6s\n", "strategy", "seconds",
               "bound", "slow", "read", "wrote", "moved", "M random", "loss", "maps", "read");
        for (ShuffleId s = 0; s < SHUFFLES; s++) print_row(&load, s, &failed);
    }
    *passed += MACHINES * SHUFFLES - failed;
    return failed;
}

// ---- random ones --------------------------------------------------------------------------------

typedef struct Checks {
    unsigned passed, failed;
} Checks;

static void must(Checks *checks, bool good, const ShuffleLoad *load, ShuffleId strategy,
                 const char *what) {
    checks->passed += good, checks->failed += !good;
    if (!good)
        fprintf(stderr, "sim: shuffle %s of %" PRIu32 " nodes, seed %" PRIu64 ": %s\n",
                shuffle_name(strategy), load->nodes, load->seed, what);
}

// Bytes without a loss. Each batch that is sent leaves one slice where it was made. A node that
// runs a batch of another one has its input from elsewhere.
static bool bytes_add_up(const ShuffleLoad *load, ShuffleId strategy, const ShuffleResult *result) {
    int64_t all = load->node_bytes * load->nodes, batch = load->node_bytes / load->batches;
    // Merging what does not fit the buffers takes one pass more.
    bool again = strategy == SHUFFLE_MERGED && load->slots * batch > load->machine->buffers;
    int64_t written = strategy == SHUFFLE_PUSHED || again ? 3 * all : 2 * all;
    bool moved = result->moved <= 2 * all;
    if (strategy == SHUFFLE_PUSHED || strategy == SHUFFLE_READER) {
        int64_t inputs = result->moved - (all - all / load->nodes);
        moved = inputs >= 0 && inputs % batch == 0;
    }
    return result->read == (again ? 3 : 2) * all && result->written == written && moved;
}

static int64_t size(uint64_t *random, int64_t nodes, int64_t batches, int64_t ranges) {
    return nodes * batches * ranges * between(random, 1, 40) * 1000000;
}

static ShuffleLoad random_load(ShuffleMachine *machine, uint64_t seed) {
    uint64_t random = seed;
    *machine = machines[draw(&random) % MACHINES];
    machine->buffers = between(&random, 1, 64) * 100000000;
    machine->net_rate = (double)between(&random, 2, 40) * 1e8;
    ShuffleLoad load = {.machine = machine, .seed = draw(&random) >> 1};
    load.nodes = (uint32_t)between(&random, 2, 24);
    load.batches = (uint32_t)between(&random, 1, 9), load.ranges = (uint32_t)between(&random, 1, 9);
    load.batch_maps = (uint32_t)between(&random, 1, 8);
    load.range_reducers = (uint32_t)between(&random, 1, 8);
    load.slots = (uint32_t)between(&random, 1, 4);
    load.node_bytes = size(&random, load.nodes, load.batches, load.ranges);
    return load;
}

static void check_seed(Checks *checks, uint64_t seed) {
    ShuffleMachine machine;
    ShuffleLoad load = random_load(&machine, seed);
    for (ShuffleId s = 0; s < SHUFFLES; s++) {
        ShuffleLoad faulty = load, twice = load;
        ShuffleResult even = shuffle_run(&load, s);
        uint64_t random = load.seed;
        must(checks, !even.wrong, &load, s, even.wrong);
        must(checks, even.seconds >= shuffle_bound(&load), &load, s, "below the bound");
        must(checks, bytes_add_up(&load, s, &even), &load, s, "bytes do not add up");
        faulty.slow_one_in = (uint32_t)between(&random, 1, 4);
        faulty.lost_at = even.seconds * (double)between(&random, 1, 1100) / 1000;
        ShuffleResult lost = shuffle_run(&faulty, s);
        must(checks, !lost.wrong, &faulty, s, lost.wrong);
        must(checks, lost.seconds >= shuffle_bound(&load), &faulty, s, "below the bound");
        must(checks, lost.remade == lost.expected, &faulty, s, "it made other batches again");
        twice.sends_twice = true;
        must(checks, shuffle_run(&twice, s).wrong, &twice, s, "a second slice is not found");
    }
}

// Many small blocks on spinning disks: the fewer random reads, the sooner it is done.
static void check_order(Checks *checks) {
    enum { NODES = 200, TASKS = 64 };
    ShuffleLoad load = load_of(&machines[0], NODES, 1);
    ShuffleResult before = {0};
    for (ShuffleId s = 0; s < SHUFFLES; s++) {
        ShuffleResult result = shuffle_run(&load, s);
        bool sooner = s == 0 || result.seconds < before.seconds;
        must(checks, sooner, &load, s, "not sooner than the one before");
        int64_t blocks = (int64_t)NODES * TASKS * NODES * TASKS, inputs = NODES * TASKS;
        if (s == SHUFFLE_SIMPLE)
            must(checks, result.random_reads == blocks + inputs, &load, s, "it misses blocks");
        if (s == SHUFFLE_MERGED)
            must(checks, result.random_reads == blocks / load.batch_maps + inputs, &load, s,
                 "it misses merged blocks");
        before = result;
    }
    must(checks, shuffle_bound(&load) >= 0.85 * before.seconds, &load, SHUFFLE_READER,
         "less than 85 % of the bound");
}

unsigned shuffle_seeds(uint64_t first, uint64_t last, unsigned *passed) {
    Checks checks = {0};
    check_order(&checks);
    for (uint64_t seed = first; seed <= last; seed++) check_seed(&checks, seed);
    printf("sim: shuffles: %u checks of %" PRIu64 " seeds\n", checks.passed + checks.failed,
           last - first + 1);
    *passed += checks.passed;
    return checks.failed;
}
