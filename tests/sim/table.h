// The table of policies that `sim` prints.
#ifndef SBC_TESTS_SIM_TABLE_H
#define SBC_TESTS_SIM_TABLE_H

#include "tests/sim/sim.h"

// Seconds that no schedule of a chain beats: what each resource has to do, spread over all of it,
// and the way of the first and the last partition through the stages that do not take it. Where the
// halves of the units differ they come one after the other, because rows leave in order: only so
// many rows of the second half can be worked on before the first is done as memory holds.
double table_bound(const Workload *load, const SimResult *result);

// Prints the table; adds its good rows to *passed, and returns how many are not.
unsigned table_print(unsigned *passed);

// Random chains of two resources that are nearly just enough for each other, with and without a
// pace. Counts and returns the same.
unsigned table_print_near(unsigned count, unsigned *passed);

#endif
