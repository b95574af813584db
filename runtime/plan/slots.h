// Slots: what the tasks of a job hold while they run, and what there is of it.
//
// Amounts are thousandths. There are as many cpus as --threads says; --resource supplies the rest.
// Of `gpus` there are as many as the machine has, unless it says otherwise. Where it has none, and
// only `on gpu` blocks hold them, there are as many as cpus.
// A task that asks for more cpus than there are runs alone.
#ifndef SBC_RUNTIME_SLOTS_H
#define SBC_RUNTIME_SLOTS_H

#include "runtime/options.h"

typedef struct Slots {
    const SbJob *job;
    uint32_t     cpus;
    uint32_t     supply[SB_RESOURCES_MAX];   // By resource of the job.
    uint32_t     largest[SB_RESOURCES_MAX];  // Of these, what one task may hold.
} Slots;

// False: a resource is not supplied, or not as much as a task needs; or nobody asks for what is.
bool slots_open(Slots *slots, const SbJob *job, const Options *options, uint32_t cpus,
                Trouble *trouble);
// What a worker of that kind has of a resource of the job.
uint32_t slots_of_kind(const SbJob *job, const WorkerKind *kind, uint32_t resource);
// Of a supply, what the worker of that number has beside others that are alike: whole pieces. The
// first, number 0, has what is left over.
uint32_t slots_of_share(uint32_t supply, uint32_t workers, uint32_t worker);
// Threads that are busy when all slots are: one for each cpu, or more where tasks share one, and
// those of tasks that hold none.
uint32_t slots_threads(const Slots *slots);

// Tasks of the stage that could run at once if no other stage had any, on `threads` threads.
uint32_t slots_most(const Slots *slots, const SbStage *stage, uint32_t threads);
// The most of these, of the stage and those after it up to the next breakers.
uint32_t slots_widest(const Slots *slots, const SbStage *stage, uint32_t threads);
// Of a resource (SB_CPUS or a number) in thousandths: what there is, and what a task of the stage
// holds.
uint32_t slots_supply(const Slots *slots, uint32_t resource);
uint32_t slots_held(const Slots *slots, const SbStage *stage, uint32_t resource);

#endif
