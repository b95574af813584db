// Worker: who runs the threads of a job.
#ifndef SBC_RUNTIME_WORKER_WORKER_H
#define SBC_RUNTIME_WORKER_WORKER_H

#include "runtime/host.h"

// Threads with memory of their own, or with that of the dispatch.
typedef struct Worker {
    // Runs main(arg, i, thread) once on each of its threads; returns when all are done.
    void      (*run)(struct Worker *self, SbEachFn *main, void *arg);
    uint32_t    threads;
    SbParallel *parallel;     // Its threads, where it is this process.
} Worker;

// This process as a worker, with the threads of a pool.
Worker worker_of_threads(SbParallel *parallel);

#endif
