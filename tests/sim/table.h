// The table of policies that `sim` prints.
#ifndef SBC_TESTS_SIM_TABLE_H
#define SBC_TESTS_SIM_TABLE_H

#include "tests/sim/sim.h"

// Prints the table; adds its good rows to *passed, and returns how many are not.
unsigned table_print(unsigned *passed);

#endif
