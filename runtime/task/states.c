#include "runtime/task/states.h"

#include "stdlib/arrow.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct FreeState {
    struct FreeState *next;
    void             *state;
} FreeState;

typedef struct SbBatchStates {
    pthread_mutex_t lock;     // Of `free`.
    pthread_mutex_t turn;     // `alone`: held during a call.
    FreeState      *free;
} SbBatchStates;

// The first call makes the record, whichever thread it is on. nullptr: out of memory.
static SbBatchStates *states_of(const SbBatchFn *fn) {
    SbBatchStates *there = __atomic_load_n(fn->states, __ATOMIC_ACQUIRE);
    if (there) return there;
    SbBatchStates *made = malloc(sizeof *made);
    if (!made) return nullptr;
    *made = (SbBatchStates){PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, nullptr};
    bool first = __atomic_compare_exchange_n(fn->states, &there, made, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE);
    if (first) return made;
    free(made);
    return there;
}

static bool make_state(const SbBatchFn *fn, SbCall *call, void **state, SbStr *words) {
    const SbGuard *guard = call->guard;
    GuardNote *note = guard ? guard->note : nullptr;
    if (note) guard_state_begin(note, GUARD_INIT, guard->number, guard->stage);
    bool made = sb_batch_init(call, fn, state, words);
    if (note) guard_state_end(note);
    return made;
}

static bool find_state(const SbBatchFn *fn, SbBatchStates *states, SbCall *call, void **state,
                       SbStr *words) {
    pthread_mutex_lock(&states->lock);
    FreeState *found = states->free;
    if (found) states->free = found->next;
    pthread_mutex_unlock(&states->lock);
    if (!found) return make_state(fn, call, state, words);
    *state = found->state;
    free(found);
    return true;
}

bool states_take(const SbBatchFn *fn, SbCall *call, void **state, SbStr *words) {
    *state = nullptr;
    *words = (SbStr){0};
    if (!fn->states) return true;
    SbBatchStates *states = states_of(fn);
    if (!states) {
        *words = SB_LITERAL("there is no memory for its state");
        return false;
    }
    if (fn->alone) pthread_mutex_lock(&states->turn);
    if (!fn->init || find_state(fn, states, call, state, words)) return true;
    if (fn->alone) pthread_mutex_unlock(&states->turn);
    return false;
}

void states_give(const SbBatchFn *fn, void *state) {
    if (!fn->states) return;
    SbBatchStates *states = *fn->states;
    FreeState *back = fn->init ? malloc(sizeof *back) : nullptr;
    if (fn->init && !back) fn->close(state);  // The next call makes another one.
    if (back) {
        pthread_mutex_lock(&states->lock);
        *back = (FreeState){states->free, state};
        states->free = back;
        pthread_mutex_unlock(&states->lock);
    }
    if (fn->alone) pthread_mutex_unlock(&states->turn);
}

static void close_states(const SbJob *job, uint32_t stage, GuardNote *note) {
    const SbStage *is = &job->stages[stage];
    SbBatchStates *states = *is->calls->states;
    *is->calls->states = nullptr;
    while (states && states->free) {
        FreeState *gone = states->free;
        states->free = gone->next;
        if (note) guard_state_begin(note, GUARD_CLOSE, stage, is);
        is->calls->close(gone->state);
        if (note) guard_state_end(note);
        free(gone);
    }
    free(states);
}

void states_close(const SbJob *job, GuardNote *note) {
    for (uint32_t i = 0; i < job->stage_count; i++) {
        const SbBatchFn *fn = job->stages[i].calls;
        if (fn && fn->states) close_states(job, i, note);
    }
}
