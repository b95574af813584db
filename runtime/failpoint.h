// Failpoint: places at which a test kills the job, as a machine that loses power would.
//
// SBC_FAILPOINT=NAME:N in the environment kills it with SIGKILL when it comes to NAME for the N-th
// time (NAME alone: the first). The names are listed in tests/README.md. Without the variable a
// failpoint is one comparison.
#ifndef SBC_RUNTIME_FAILPOINT_H
#define SBC_RUNTIME_FAILPOINT_H

// Reads the environment; called once, before threads are started.
void failpoint_open(void);
void failpoint(const char *name);

#endif
