// Policy: the ways in which a job can be scheduled, as one table.
//
// full is what DESIGN says; the others are there to be compared with it. All of them keep the
// ledger's promise and finish with the least memory, because they choose only among what may run.
#ifndef SBC_RUNTIME_CORE_POLICY_H
#define SBC_RUNTIME_CORE_POLICY_H

#include "runtime/core/shape.h"

typedef enum PolicyId : uint8_t {
    POLICY_FULL,
    POLICY_PAPER,
    POLICY_PESSIMISTIC,
    POLICY_STATIC,
    POLICY_STAGED,
    POLICIES,
} PolicyId;

// How fast units of sources may begin.
typedef enum Admission : uint8_t {
    ADMIT_FREELY,  // As slots and memory allow.
    ADMIT_RATE,    // As fast as the slowest resource takes what comes of them: pacing.h.
    ADMIT_BUDGET,  // Algorithm 2 of the paper: a budget of bytes that refills.
} Admission;

typedef struct Policy {
    const char *name;
    Admission admission;
    bool even;    // What waits after stages is compared as rows of their roots, not as bytes.
    bool yields;  // After each partition a task's slot may go to better work.
    bool fixed;   // Each stage has slots of its own from start to end.
    bool staged;  // A stage begins when those before it are over.
    const char *what;
} Policy;

const Policy *policy_of(PolicyId id);

// Slots of each stage where they are fixed: the share of its resources that the first estimates
// give it, at least one.
void policy_fixed_slots(const CorePlan *plan, const Shape *shape, uint32_t slots[STAGES_MAX]);

#endif
