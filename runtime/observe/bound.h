// Bound: what kept a job from being faster, and what would have helped. A pure function of times.
//
// Worked example: 8 cpus, 4 accel, 100 s. Tasks held cpus for 800 cpu seconds, of which `decode`
// 700, and accel for 236 accel seconds. The cpus were busy all the time, accel 59 % of it. At full
// speed accel would have needed 236 / 4 = 59 s, in which 800 cpu seconds want 13.6 cpus:
//
//   accel idle 41 %: decode is the bottleneck; 6 more cpus would saturate it
#ifndef SBC_RUNTIME_BOUND_H
#define SBC_RUNTIME_BOUND_H

#include "runtime/report.h"

typedef struct BoundResource {
    SbStr  name;      // The first is "cpus".
    double supply;
    double used;      // Seconds times amount.
} BoundResource;

// GPUs that the job has, as one more resource. Seconds of all of them.
typedef struct BoundGpu {
    uint32_t count;
    double   busy, copies_in, kernels, copies_out;  // The first: at any of the others.
} BoundGpu;

typedef struct BoundStage {
    SbStr  label;
    double at_work;   // Seconds in which a task of it ran.
    double cpus;      // Cpu seconds of its tasks.
    double memory;    // Seconds in which nothing ran for want of memory.
    double finish;    // Thread seconds of finishing what it filled: sorting, merging.
    double write;     // Thread seconds of writing what it made.
} BoundStage;

typedef struct Bound {
    double seconds;
    uint32_t threads;
    const BoundResource *resources;
    uint32_t resource_count;
    const BoundStage *stages;
    uint32_t stage_count;
    SbStr  step;              // The step that took most processor time; nullptr: what steps took
                              // is not known, or too little of it is.
    BoundGpu gpu;
    double step_share;        // The step's share of all that tasks took.
} Bound;

// One line without its end.
void bound_explain(const Bound *bound, Text *text);

#endif
