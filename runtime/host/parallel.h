// Parallel: how a piece of code has a call made on all threads without knowing whose they are.
//
// Sorts, merges and tables take one: the pool of the job, a crew of threads that look for work
// meanwhile (runtime/dispatch/crew.h), or the thread that asks, alone.
//
//   parallel->each(parallel, count, fn, arg);   // fn(arg, i, thread) for i = 0..count-1
#ifndef SBC_RUNTIME_PARALLEL_H
#define SBC_RUNTIME_PARALLEL_H

#include <stdint.h>

// Runs fn(arg, i, thread) for i = 0..count-1 on all threads and returns when all are done.
// `thread` < the number that the breaker was opened with; one thread runs one call at a time.
typedef void SbEachFn(void *arg, uint32_t index, uint32_t thread);
typedef struct SbParallel {
    void (*each)(struct SbParallel *self, uint32_t count, SbEachFn *fn, void *arg);
    uint32_t threads;
} SbParallel;

// All by the thread that asks, which has this number.
typedef struct SbAlone {
    SbParallel parallel;
    uint32_t   thread;
} SbAlone;

SbAlone sb_alone(uint32_t thread);

#endif
