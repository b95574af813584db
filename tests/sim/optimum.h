// The shortest time in which a tiny workload can be done, by trying every order of launches.
#ifndef SBC_TESTS_SIM_OPTIMUM_H
#define SBC_TESTS_SIM_OPTIMUM_H

#include "tests/sim/workloads.h"

// Seconds; of `workload_tiny`, with all the memory it wants.
double optimum_find(const Workload *load);

// Compares `full` with the optimum over that many workloads and prints the ratios; adds to *passed,
// and returns how many are worse than they may be.
unsigned optimum_print(unsigned count, unsigned *passed);

#endif
