// How fast the schedule's steps are, in real time.
#ifndef SBC_TESTS_SIM_SPEED_H
#define SBC_TESTS_SIM_SPEED_H

// Prints the figures. 5,000 nodes, ten stages, `live` partitions; returns false if the schedule
// reports a fault.
bool speed_print(unsigned live);

#endif
