// Pool: the threads that compute. The caller is thread 0; the others wait between calls.
#ifndef SBC_RUNTIME_POOL_H
#define SBC_RUNTIME_POOL_H

#include "runtime/host/parallel.h"
#include "runtime/report.h"

#include <pthread.h>

typedef struct Pool {
    SbParallel      parallel;  // First: breakers see only this.
    pthread_t      *threads;   // parallel.threads - 1 of them.
    uint32_t        started;
    pthread_mutex_t lock;
    pthread_cond_t  work, idle;
    uint64_t        call;      // Counts calls of each.
    bool            closing;
    uint32_t        busy;
    SbEachFn       *fn;
    void           *arg;
    uint32_t        count;
    _Atomic uint32_t next;
} Pool;

// Begins a thread of the job with a stack of 1 MiB, whatever the limit of the process is. An errno;
// 0: it runs.
int pool_thread(pthread_t *thread, void *(*main)(void *arg), void *arg);

bool pool_open(Pool *pool, uint32_t threads, Trouble *trouble);
void pool_close(Pool *pool);

#endif
