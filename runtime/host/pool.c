#include "runtime/host/pool.h"

#include "runtime/crash.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { STACK_BYTES = 1 << 20 };

typedef struct Worker {
    Pool    *pool;
    uint32_t thread;
} Worker;

static void take_all(Pool *pool, uint32_t thread) {
    for (;;) {
        uint32_t index = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (index >= pool->count) return;
        pool->fn(pool->arg, index, thread);
    }
}

static void *worker_main(void *arg) {
    Worker worker = *(Worker *)arg;
    CrashStack crash_stack;
    crash_stack_open(&crash_stack);
    Pool *pool = worker.pool;
    free(arg);
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->call == seen && !pool->closing) pthread_cond_wait(&pool->work, &pool->lock);
        if (pool->closing) break;
        seen = pool->call;
        pthread_mutex_unlock(&pool->lock);
        take_all(pool, worker.thread);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->idle);
    }
    pthread_mutex_unlock(&pool->lock);
    crash_stack_close(&crash_stack);
    return nullptr;
}

static void each(SbParallel *self, uint32_t count, SbEachFn *fn, void *arg) {
    Pool *pool = (Pool *)self;
    pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->arg = arg;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->busy = pool->started;
    pool->call++;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    take_all(pool, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0) pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

int pool_thread(pthread_t *thread, void *(*main)(void *arg), void *arg) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int error = pthread_create(thread, &attributes, main, arg);
    pthread_attr_destroy(&attributes);
    return error;
}

static bool start(Pool *pool, uint32_t thread) {
    Worker *worker = malloc(sizeof *worker);
    if (!worker) return false;
    *worker = (Worker){pool, thread};
    int status = pool_thread(&pool->threads[thread - 1], worker_main, worker);
    if (status != 0) free(worker);
    return status == 0;
}

bool pool_open(Pool *pool, uint32_t threads, Trouble *trouble) {
    *pool = (Pool){.parallel = {.each = each, .threads = threads}};
    pthread_mutex_init(&pool->lock, nullptr);
    pthread_cond_init(&pool->work, nullptr);
    pthread_cond_init(&pool->idle, nullptr);
    pool->threads = calloc(threads, sizeof *pool->threads);
    if (!pool->threads) return trouble_no_memory(trouble, "for threads");
    // Else the system adds 50 microseconds to each time that a thread waits for. Inherited.
    prctl(PR_SET_TIMERSLACK, 1);
    while (pool->started + 1 < threads) {
        if (!start(pool, pool->started + 1)) {
            return trouble_set(trouble, TROUBLE_THREADS, "cannot start %u threads", threads);
        }
        pool->started++;
    }
    return true;
}

void pool_close(Pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->started; i++) pthread_join(pool->threads[i], nullptr);
    free(pool->threads);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
}

// ---- one thread -------------------------------------------------------------------------------

static void each_alone(SbParallel *self, uint32_t count, SbEachFn *fn, void *arg) {
    const SbAlone *alone = (const SbAlone *)(const void *)self;
    for (uint32_t i = 0; i < count; i++) fn(arg, i, alone->thread);
}

SbAlone sb_alone(uint32_t thread) { return (SbAlone){{each_alone, 1}, thread}; }
