// Workers whose messages are late, doubled, out of order or lost, and which come and go.
#ifndef SBC_TESTS_SIM_WORKERS_H
#define SBC_TESTS_SIM_WORKERS_H

#include <stdint.h>

// Runs those seeds; returns how many failed, and adds the others to *passed.
unsigned workers_run(uint64_t first, uint64_t last, unsigned *passed);

#endif
