// A job in several lives of its coordinator, which goes on from its journal in each.
#ifndef SBC_TESTS_SIM_RESTART_H
#define SBC_TESTS_SIM_RESTART_H

#include "tests/sim/machine.h"

// Up to ten lives, until all rows are committed. Rows that a sink has committed are never committed
// again, and units all of whose rows are there are not begun (EVENT_SKIP). Counts of the result are
// those of all lives. The plan's sinks have each row once.
SimResult lives_run(const Workload *load, const SimOptions *options);
// Rows that an earlier life committed are not committed again.
void journal_write(Journal *journal, StageId sink, const Rows *rows);

#endif
