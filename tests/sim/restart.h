// The coordinator dies, again and again, and goes on from what its journal says is committed.
#ifndef SBC_TESTS_SIM_RESTART_H
#define SBC_TESTS_SIM_RESTART_H

#include <stdint.h>

// Runs those seeds; returns how many failed, and adds the others to *passed.
unsigned restart_run(uint64_t first, uint64_t last, unsigned *passed);

#endif
