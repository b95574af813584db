// Shrink: from a random plan that fails to a small one that fails, too.
#ifndef SBC_TESTS_SIM_SHRINK_H
#define SBC_TESTS_SIM_SHRINK_H

#include "tests/sim/sim.h"

typedef SimResult SimRun(const Workload *load, const SimOptions *options);

// Leaves out stages, units and faults as long as the run still fails. Returns the last failure.
SimResult shrink(Workload *load, const SimOptions *options, SimRun *run);

#endif
