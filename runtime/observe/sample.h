// Sample: which steps the threads compute for, though a stage is one loop over all of its steps.
//
// A timer on the processor time of each thread interrupts it every few milliseconds of that. The
// handler goes up the stack to the code that was made of the pipeline and counts the address.
// Which step it is of the line table says when the job is done. Time in which a thread waits is
// not seen. Only with --stats.
#ifndef SBC_RUNTIME_SAMPLE_H
#define SBC_RUNTIME_SAMPLE_H

#include "runtime/abi/program.h"

typedef struct Samples Samples;

// nullptr: there is no memory, or the system has no such timers. Once a process.
Samples *samples_open(const SbJob *job, uint32_t threads);
void samples_close(Samples *samples);

// The calling thread is sampled from now on, until it says the same with `false`. `samples` may
// be nullptr.
void samples_thread(Samples *samples, uint32_t thread, bool on);

// Processor seconds of each step, in an array of job->step_count; returns those of no step: of the
// runtime, when it was not called by a step. Once all threads are done.
double samples_count(const Samples *samples, double *seconds);

#endif
