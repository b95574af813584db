// Crew: the threads of an engine help with the finish of a breaker while they have its lock and
// look for work.
#ifndef SBC_RUNTIME_CREW_H
#define SBC_RUNTIME_CREW_H

#include "runtime/breakers.h"

#include <pthread.h>

typedef struct Crew {
    SbParallel parallel;       // First: breakers see only this.
    pthread_mutex_t *lock;     // The engine's, which guards all below.
    pthread_cond_t  *changed;  // Wakes threads that look for work.
    pthread_cond_t  *asked;    // Wakes threads that wait until another one has asked.
    pthread_mutex_t *fills;    // By thread: held while it works.
    pthread_cond_t   helped;   // A piece of the work is done.
    SbEachFn  *fn;             // nullptr: nothing to do.
    void      *arg;
    uint32_t   count, next, done;
    uint32_t   leader;         // The thread that finishes the breaker.
} Crew;

void crew_open(Crew *crew, uint32_t threads, pthread_mutex_t *lock, pthread_cond_t *changed,
               pthread_cond_t *asked, pthread_mutex_t *fills);
void crew_close(Crew *crew);
// Is there something to help with? The lock is held.
bool crew_has_work(const Crew *crew);
// Does what is left of it. The lock is held before and after.
void crew_help(Crew *crew, uint32_t thread);

#endif
