#include "runtime/breakers/window_crew.h"

#include <stdlib.h>

bool window_crew_open(WindowCrew *crew, const SpillSort *to, uint32_t pieces) {
    *crew = (WindowCrew){.sort = *to, .walking = pieces};
    if (pthread_mutex_init(&crew->lock, nullptr)) return false;
    if (!pthread_cond_init(&crew->changed, nullptr)) return true;
    pthread_mutex_destroy(&crew->lock);
    return false;
}

void window_crew_close(WindowCrew *crew) {
    pthread_mutex_destroy(&crew->lock);
    pthread_cond_destroy(&crew->changed);
}

bool window_crew_write(WindowCrew *crew, uint32_t thread, WindowBatch *batch) {
    SpillRun run;
    bool good = spill_sort_write(&crew->sort, thread, batch->entries, batch->count, &run) &&
                spill_runs_add(crew->sort.runs, &run);
    free(batch->entries);
    batch->entries = nullptr;
    return good;
}

bool window_crew_hand(WindowCrew *crew, WindowBatch *batch) {
    pthread_mutex_lock(&crew->lock);
    bool taken = crew->idle > 0;
    if (taken) {
        batch->done = false;
        batch->next = crew->waiting;
        crew->waiting = batch;
        crew->idle--;
        pthread_cond_broadcast(&crew->changed);
    }
    pthread_mutex_unlock(&crew->lock);
    return taken;
}

bool window_crew_wait(WindowCrew *crew, WindowBatch *batch) {
    pthread_mutex_lock(&crew->lock);
    while (!batch->done) pthread_cond_wait(&crew->changed, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
    return batch->good;
}

void window_crew_end(WindowCrew *crew) {
    pthread_mutex_lock(&crew->lock);
    crew->walking--;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

void window_crew_help(WindowCrew *crew, uint32_t thread) {
    pthread_mutex_lock(&crew->lock);
    crew->idle++;
    while (crew->waiting || crew->walking > 0) {
        WindowBatch *batch = crew->waiting;
        if (!batch) {
            pthread_cond_wait(&crew->changed, &crew->lock);
            continue;
        }
        crew->waiting = batch->next;
        pthread_mutex_unlock(&crew->lock);
        bool good = window_crew_write(crew, thread, batch);
        pthread_mutex_lock(&crew->lock);
        batch->good = good;
        batch->done = true;
        crew->idle++;
        pthread_cond_broadcast(&crew->changed);
    }
    pthread_mutex_unlock(&crew->lock);
}
