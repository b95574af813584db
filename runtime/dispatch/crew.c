#include "runtime/dispatch/crew.h"

// Called by the thread that finishes a breaker, without the lock; others help.
static void crew_each(SbParallel *self, uint32_t count, SbEachFn *fn, void *arg) {
    Crew *crew = (Crew *)(void *)self;
    pthread_mutex_lock(crew->lock);
    crew->fn = fn;
    crew->arg = arg;
    crew->count = count;
    crew->next = crew->done = 0;
    if (count > 1) pthread_cond_broadcast(crew->changed);
    if (count > 1) pthread_cond_broadcast(crew->asked);
    crew_help(crew, crew->leader);
    while (crew->done < count) pthread_cond_wait(&crew->helped, crew->lock);
    crew->fn = nullptr;
    pthread_mutex_unlock(crew->lock);
}

void crew_open(Crew *crew, uint32_t threads, pthread_mutex_t *lock, pthread_cond_t *changed,
               pthread_cond_t *asked, pthread_mutex_t *fills) {
    *crew = (Crew){.parallel = {crew_each, threads}, .lock = lock, .changed = changed,
                   .asked = asked, .fills = fills};
    pthread_cond_init(&crew->helped, nullptr);
}

void crew_close(Crew *crew) { pthread_cond_destroy(&crew->helped); }

bool crew_has_work(const Crew *crew) { return crew->fn && crew->next < crew->count; }

void crew_help(Crew *crew, uint32_t thread) {
    while (crew->next < crew->count) {
        uint32_t index = crew->next++;
        SbEachFn *fn = crew->fn;
        void *arg = crew->arg;
        pthread_mutex_unlock(crew->lock);
        pthread_mutex_lock(&crew->fills[thread]);
        fn(arg, index, thread);
        pthread_mutex_unlock(&crew->fills[thread]);
        pthread_mutex_lock(crew->lock);
        if (++crew->done == crew->count) pthread_cond_signal(&crew->helped);
    }
}
