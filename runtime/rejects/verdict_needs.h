// Verdict needs: whose rows have to be judged to the end because earlier rows depend on them.
//
// A record of a row on the right side of a join may stand after rows of the left side. These go on
// to their end, since they may have earlier records. But what they find in the table is wrong once
// the right side is cut. A row without its match would be blamed for what is no fault of the data.
#ifndef SBC_RUNTIME_VERDICT_NEEDS_H
#define SBC_RUNTIME_VERDICT_NEEDS_H

#include "runtime/abi/program.h"

// Sets of stages, by stage.
typedef struct VerdictNeeds {
    uint16_t words;  // Words of a set that are in use.
    Bits *roots;     // Roots whose rows come to the stage, no breaker between.
    Bits *behind;    // Stages that depend on what comes of the stage's rows into breakers, directly
                     // or not.
} VerdictNeeds;

// False: no memory.
bool verdict_needs_find(VerdictNeeds *needs, const SbJob *job);
void verdict_needs_close(VerdictNeeds *needs);
// Does a stage that is not over depend on all that comes of the rows of `stage`, and judge rows of
// roots up to that rank?
bool verdict_needs_all(const VerdictNeeds *needs, uint32_t stage, const Bits *over,
                       const uint32_t *ranks, uint32_t rank);

#endif
