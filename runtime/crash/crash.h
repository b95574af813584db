// Crash: what a job says when a signal ends it because of a defect, in an extern function or in its
// own code. It says the signal, the line of the pipeline and a short stack. Then the signal ends
// the job.
#ifndef SBC_RUNTIME_CRASH_H
#define SBC_RUNTIME_CRASH_H

#include "runtime/abi/program.h"

// From now on crashes are described, as text or as an event of the log (log.h). Once a process; the
// job must outlive it.
void crash_open(const SbJob *job, bool json);

// A second stack for the calling thread, so that the overflow of its first can be described.
typedef struct CrashStack {
    void *memory;  // nullptr: none could be had; an overflow then ends the job without a word.
} CrashStack;

void crash_stack_open(CrashStack *stack);
void crash_stack_close(CrashStack *stack);  // On the same thread, before it ends.

#endif
