// Window crew: the threads that compute a window over rows on disk. Some go along pieces of the
// rows (window_walk). The others write what these hand them.
//
//   walk ──▶ [rows with results] ──▶ sorted as they came ──▶ a run
//                                └ by a thread that has no piece, or by the walk itself
#ifndef SBC_RUNTIME_BREAKERS_WINDOW_CREW_H
#define SBC_RUNTIME_BREAKERS_WINDOW_CREW_H

#include "runtime/breakers/spill_sort.h"

#include <pthread.h>

// Rows that become a run.
typedef struct WindowBatch {
    const SbEntry **entries;  // Its own, from malloc.
    int64_t         count;
    bool            done, good;
    struct WindowBatch *next;
} WindowBatch;

typedef struct WindowCrew {
    SpillSort       sort;     // Where rows with results go.
    pthread_mutex_t lock;     // Of all below.
    pthread_cond_t  changed;
    WindowBatch    *waiting;  // Handed over, and taken by nobody yet.
    uint32_t        walking;  // Pieces that are not done.
    uint32_t        idle;     // Threads that wait for rows, beside those that were handed some.
} WindowCrew;

bool window_crew_open(WindowCrew *crew, const SpillSort *to, uint32_t pieces);
void window_crew_close(WindowCrew *crew);

// Writes the batch. False: spill->failed.
bool window_crew_write(WindowCrew *crew, uint32_t thread, WindowBatch *batch);
// Hands the batch, which stays, to a thread that waits. False: there is none.
bool window_crew_hand(WindowCrew *crew, WindowBatch *batch);
// Waits until a batch that was handed over is written. False: spill->failed.
bool window_crew_wait(WindowCrew *crew, WindowBatch *batch);
// A piece is done.
void window_crew_end(WindowCrew *crew);
// Writes what others hand over, until all pieces are done.
void window_crew_help(WindowCrew *crew, uint32_t thread);

#endif
