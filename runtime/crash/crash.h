// Crash: what a job says when a signal ends it because of a defect, in an extern function or in its
// own code. It says the signal, the line of the pipeline and a short stack. Then the signal ends
// the job.
#ifndef SBC_RUNTIME_CRASH_H
#define SBC_RUNTIME_CRASH_H

#include "runtime/abi/program.h"

// From now on crashes are described, as text or as an event of the log (log.h). Of a worker the
// description is a warning, since its job goes on. Once a process; the job must outlive it.
void crash_open(const SbJob *job, bool json, bool worker);
// A crash was described before, in an earlier life of the worker: this one has no description.
void crash_hush(void);

// "SIGSEGV"; nullptr: it is no signal of a crash.
const char *crash_name(int signal);

// Of the calling thread: where the number of the signal is put when it crashes; nullptr: nowhere.
void crash_mark(int32_t *signal);

// A second stack for the calling thread, so that the overflow of its first can be described.
typedef struct CrashStack {
    void *memory;  // nullptr: none could be had; an overflow then ends the job without a word.
} CrashStack;

void crash_stack_open(CrashStack *stack);
void crash_stack_close(CrashStack *stack);  // On the same thread, before it ends.

#endif
