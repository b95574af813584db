// Failpoint: places at which a test kills the job, as a machine that loses power would, or lets a
// call of the system fail.
//
// The variable SBC_FAILPOINT says what happens when the job comes to NAME for the N-th time (NAME
// alone: the first):
//
//   NAME:N          SIGKILL ends the process
//   NAME=SIGTERM:N  the process gets the signal: SIGTERM, STOP (SIGSTOP), or SIGSEGV
//   NAME=WAIT:N     the thread waits there for 0.2 s, as for a slow disk
//   NAME=FLIP:N     a bit of what is there flips, as in memory that somebody else writes to
//   NAME=ERROR:N    the first N calls there fail with an error of errors.def: source-read=EIO:2
//   ...+K           K times more go well before
//   NODE/...        it happens in the worker of that number alone; 0 is the job itself
//
// Each that happens is told in the file that SBC_FAILPOINT_TOLD names: a line "NODE/NAME=...".
//
// Several of them have commas between them. The names are listed in tests/README.md. Without the
// variable a failpoint is one comparison.
#ifndef SBC_RUNTIME_FAILPOINT_H
#define SBC_RUNTIME_FAILPOINT_H

#include <stdint.h>

// Reads the environment; called once, before threads are started. `node` is the number of the
// worker, 0 in a job itself.
void failpoint_open(uint32_t node);
void failpoint(const char *name);
// Is the call to fail? Then errno is set.
bool failpoint_fails(const char *name);
// Is a bit to flip?
bool failpoint_flips(const char *name);
// May bits flip in this job, in whatever process of it?
bool failpoint_any_flips(void);

#endif
