// Workloads of the simulator: plans, and what their stages do to rows in virtual time.
#ifndef SBC_TESTS_SIM_WORKLOADS_H
#define SBC_TESTS_SIM_WORKLOADS_H

#include "runtime/core/plan.h"

#include <stdio.h>

// What a stage does to rows.
typedef struct Work {
    double row_seconds, late_seconds;  // The second for the later half of the units.
    double batch_seconds;              // Of each begun batch beside its rows.
    int64_t row_bytes;                 // Of its outputs.
    int64_t cut_rows;                  // Rows of an output partition.
    int64_t unit_rows;                 // Of a root.
    int64_t limit_rows;                // Of a limit: the rows that it takes.
    bool limits;                       // It is one: with one task at a time (CoreStage.limit), or
                                       // with tasks that take their rows as they begin in order.
    int64_t fill_bytes;                // Of a row in the breakers that it fills,
    bool holds;                        // which are answered at once.
    int64_t long_bytes;                // Of one row in many beyond the others; 0: none.
    int64_t atom_bytes;                // That one partition in eight asks for; 0: none.
    bool later;  // Of a root: the cores do not know its units until a task finds the end.
} Work;

enum { TINY_STAGES = 3, TINY_UNITS = 4 };

typedef struct Workload {
    const char *name;
    CorePlan plan;
    Work work[STAGES_MAX];
    double bound;      // Seconds that nothing beats; 0: what was done says it.
    bool spread;       // Times are random, up to twice what is said.
    bool phased;       // The halves of the units differ.
    bool spikes;       // One partition in ten takes ten times as long, at each stage another.
    bool skewed;       // One unit in sixteen takes eight times as long.
    bool tight;        // Memory is no more than the least.
    bool roomy;        // It is several times as much, unless it is tight.
    uint32_t losses;   // Nodes that are lost while it runs; never the first.
    uint32_t drains;   // Times that a node is to begin nothing more; some come late, too.
    uint32_t resizes;  // Times that a node has another memory, the minimum at least.
    uint32_t corrupt;  // Partitions that come to be unreadable.
    uint32_t bounds;   // From how many units on nobody wants rows, at most.
    uint32_t failing;  // One task in so many fails and is run again; 0: none.
    uint32_t homely;   // One table in so many turns out to be of the first node alone; 0: none.
    bool timed;        // Seconds stand in `seconds`, by stage and unit; a unit is one partition.
    double seconds[TINY_STAGES][TINY_UNITS];
} Workload;

// A chain of stages that each take one of two resources.
typedef struct ChainLink {
    const char *name;
    uint8_t resource;
    double row_seconds, late_seconds;
    int64_t row_bytes;
} ChainLink;

enum { LINKS_MAX = 6 };

typedef struct Chain {
    uint32_t cpus, accelerators, units;
    int64_t unit_rows, cut_rows;
    ChainLink links[LINKS_MAX];
    uint8_t count;
} Chain;

// The first link is a source; behind the last one comes a sink that costs nothing.
void workload_chain(Workload *load, const Chain *chain, int64_t memory);

// M1 of the targets: 160 loads of 5 s with 500 rows of 1 MB, transform and infer of 0.5 s for 100
// rows; 8 CPUs, 4 accelerators. At least 150.5 s.
void workload_m1(Workload *load, int64_t memory);
// The same in batches; with rows that are narrow until a step makes them wide; and with load and
// transform in one stage.
void workload_batches(Workload *load, int64_t memory);
void workload_batches_steps(Workload *load, int64_t memory);
void workload_m1_fused(Workload *load, int64_t memory);

void workload_spiky(Workload *load, int64_t memory);
// First a stage of CPUs is the slowest, then one of accelerators.
void workload_changing(Workload *load, int64_t memory);
// CPU, CPU, accelerator, CPU.
void workload_four_stages(Workload *load, int64_t memory);
// 128 units of 1 GB, made faster than they are taken.
void workload_fast_producer(Workload *load, int64_t memory);
void workload_skewed(Workload *load, int64_t memory);
// Two resources that are just enough for each other.
void workload_even(Workload *load, int64_t memory);
// The same within a quarter, of any numbers and sizes; times are as said or random, and those of
// the later half may be others.
void workload_near(Workload *load, uint64_t *random);

// Any plan that the language can express: maps, unions, forks, zips, limits, groups, joins.
// memory: beyond the minimum.
void workload_random(Workload *load, uint64_t *random);
// The same with 1,000 stages, no bounds.
void workload_large(Workload *load, uint64_t *random);
// The same over several nodes, of which some are lost.
void workload_random_nodes(Workload *load, uint64_t *random);
// A chain of few units, for which an exact optimum can be found.
void workload_tiny(Workload *load, uint64_t *random);

// The plan as text, one stage a line.
void workload_print(FILE *out, const Workload *load, bool staged);

// Any plan without limits and zips, for a coordinator that dies.
void workload_restarted(Workload *load, uint64_t *random);
// The same over several nodes, whose workers hang or stop now and then.
void workload_cluster(Workload *load, uint64_t *random);
// Do the rows of a root come into each sink at most once?
bool workload_told_apart(const Workload *load);

// splitmix64, and a number from `least` to `most`.
uint64_t draw(uint64_t *state);
int64_t between(uint64_t *state, int64_t least, int64_t most);

#endif
