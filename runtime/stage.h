// Stage run: units of one stage in flight, and their commits in order.
#ifndef SBC_RUNTIME_STAGE_H
#define SBC_RUNTIME_STAGE_H

#include "runtime/job.h"

typedef struct StageRun {
    Job           *job;
    const SbStage *stage;
    uint32_t       index;
    SbType         source_row;  // What setup.row points to when rows come from a source.
    TaskSetup      setup;
    Units          units;
    SbTaskState   *tasks;      // By thread.
    uint32_t       opened;
    UnitResult    *ring;       // Unit k is in slot k % window.
    uint32_t       window;
    bool           repeats;    // A unit may be run again with an exact quota.
    pthread_mutex_t lock;      // Of all below.
    pthread_cond_t changed;
    uint64_t       launched, committed;
    bool           exhausted, stop, taking, committing;
    ExtentList     writes;     // Committed bytes that wait for a thread: items[write_at..).
    size_t         write_at;
    uint32_t       writing, running;
    int64_t       *remaining;  // By terminal: rows it still takes; INT64_MAX.
    int64_t        weight;     // Rejects of records that come before and of this stage's.
    int64_t        rows;       // Of its source, committed.
} StageRun;

// Takes over everything that a unit made. Called in unit order, by one thread at a time. False:
// the stage ends here (job->trouble and others say why, or nobody wants more rows).
bool stage_commit(StageRun *run, UnitResult *result, uint32_t thread, ExtentList *extents);
bool stage_nobody_wants(const StageRun *run);
// What terminal `t` still takes.
int64_t stage_wants(const StageRun *run, uint32_t t);

#endif
