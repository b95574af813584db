// Failpoint: places at which a test kills the job, as a machine that loses power would, or lets a
// call of the system fail.
//
// SBC_FAILPOINT=NAME:N in the environment kills it with SIGKILL when it comes to NAME for the N-th
// time (NAME alone: the first); SBC_FAILPOINT=NAME=SIGTERM:N asks it to end then, and it goes on;
// with SBC_FAILPOINT=NAME=WAIT:N the thread waits there for 0.2 s, as for a slow disk.
// SBC_FAILPOINT=NAME=ERROR:N, as in source-read=EIO:2, lets the first N calls there fail with an
// error of errors.def. The names are listed in tests/README.md. Without
// the variable a failpoint is one comparison.
#ifndef SBC_RUNTIME_FAILPOINT_H
#define SBC_RUNTIME_FAILPOINT_H

// Reads the environment; called once, before threads are started.
void failpoint_open(void);
void failpoint(const char *name);
// Is the call to fail? Then errno is set.
bool failpoint_fails(const char *name);

#endif
