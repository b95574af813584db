// Failpoint: places at which a test kills the job, as a machine that loses power would, or lets a
// call of the system fail.
//
// The variable SBC_FAILPOINT says what happens when the job comes to NAME for the N-th time (NAME
// alone: the first):
//
//   NAME:N          SIGKILL ends the job
//   NAME=SIGTERM:N  the job is asked to end, and goes on
//   NAME=WAIT:N     the thread waits there for 0.2 s, as for a slow disk
//   NAME=ERROR:N    the first N calls there fail with an error of errors.def: source-read=EIO:2
//
// The names are listed in tests/README.md. Without the variable a failpoint is one comparison.
#ifndef SBC_RUNTIME_FAILPOINT_H
#define SBC_RUNTIME_FAILPOINT_H

// Reads the environment; called once, before threads are started.
void failpoint_open(void);
void failpoint(const char *name);
// Is the call to fail? Then errno is set.
bool failpoint_fails(const char *name);

#endif
