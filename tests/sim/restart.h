// A job in several lives of its coordinator, which goes on from its journal in each.
#ifndef SBC_TESTS_SIM_RESTART_H
#define SBC_TESTS_SIM_RESTART_H

#include "tests/sim/sim.h"

// Up to ten lives, until all rows are committed. Rows that a sink has committed are never committed
// again, and units all of whose rows are there are not begun (EVENT_SKIP). Counts of the result are
// those of all lives. The plan's sinks have each row once.
SimResult lives_run(const Workload *load, const SimOptions *options);

#endif
