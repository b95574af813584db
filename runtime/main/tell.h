// Tell: how somebody talks to a job that runs (--control, --tell): both ends.
//
//   ./job --tell=pause ─▶ tell_run ─▶ unix socket ─▶ told: engine_manage
//        ◀───────────── what came of it ◀──────────┘
//
// Without --control the socket has a name that follows from the program file and the user, and lies
// in no folder. The first of several runs of one program has it.
#ifndef SBC_RUNTIME_MAIN_TELL_H
#define SBC_RUNTIME_MAIN_TELL_H

#include "runtime/job.h"

typedef struct Told Told;

// Takes commands from now on. A job without workers does so only with --control. nullptr and
// job->trouble: it cannot. nullptr alone: nobody can tell it anything.
Told *told_open(Job *job);
void  told_close(Told *told);

// Says the command to the job that runs, and prints what came of it. job->trouble: nothing did.
void tell_run(Job *job);

#endif
