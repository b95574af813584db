// The workloads of tests/bench/streaming, in virtual time.
#ifndef SBC_TESTS_SIM_CHAIN_H
#define SBC_TESTS_SIM_CHAIN_H

// Prints the bound of a chain that is given as words, and what each policy takes for it:
//
//   CPUS ACCELERATORS UNITS ROWS CUT MEMORY KIND NAME:RESOURCE:SECONDS:LATE:BYTES...
//
// ROWS of a unit, CUT rows of a partition; KIND: plain, spiky, phased or skewed; RESOURCE 0 or 1;
// SECONDS of a row, LATE of one in the later half of the units; BYTES of a row. False: it is wrong.
bool chain_print(int count, char **words);

#endif
