// Check: what a job needs to run, looked at without running it.
//
// Inputs, folders of outputs, of spilling, of the journal and of the trace, free space, limits of
// the machine, resources. Nothing is made and no row is read, but for headers.
#ifndef SBC_RUNTIME_CHECK_H
#define SBC_RUNTIME_CHECK_H

#include "runtime/job.h"

// Parameters are read. Prints a table on standard output, or an event of the log, and everything
// that is wrong. Returns the exit code: 0, or that of the first of these. `open` opens the sources.
int check_run(Job *job, bool (*open)(Job *job));

// Files that may be open at once, about: those of outputs, and for each thread an input and a spill
// file.
uint64_t check_files_needed(const SbJob *what, const Slots *slots);

#endif
