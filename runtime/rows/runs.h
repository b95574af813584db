// Runs: entries of several threads, each in order, become one list in order, on all threads.
#ifndef SBC_RUNTIME_RUNS_H
#define SBC_RUNTIME_RUNS_H

#include "runtime/abi/kept.h"
#include "runtime/host.h"
#include "runtime/memory.h"

typedef struct SbRun {
    const SbEntry **entries;
    int64_t         count;
} SbRun;

// `out` has room for the entries of all `count` runs. SB_FAULT_TOO_LARGE: out of memory.
int32_t sb_runs_merge(const SbRun *runs, uint32_t count, const SbEntry **out,
                      SbParallel *parallel);

#endif
