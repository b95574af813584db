// Engine: all stages of a job at once, on all threads.
//
// Every thread does the same: it asks the policy (policy.h) what may be done next, does it, and
// asks again. What there is to do, from the end of the job to its beginning:
//
//   write     bytes to their place in a file
//   settle    counts and rejects of a partition whose rows are judged
//   offer     a partition's rows to sinks, breakers and edges
//   finish    a breaker whose producers are done
//   open      a stage whose tables are there
//   resume    a task that was parked
//   take      the next unit of a stage's input
//
// One lock guards all of it; work happens without the lock. No thread waits for another but here.
#ifndef SBC_RUNTIME_ENGINE_H
#define SBC_RUNTIME_ENGINE_H

#include "runtime/crew.h"
#include "runtime/stage.h"

typedef struct Engine {
    Job      *job;
    StageRun *runs;         // By number of the stage.
    uint32_t  count;
    bool     *due;          // By breaker: all producers are done, and it is not finished.
    uint32_t  finishing;    // The breaker that a thread finishes; SIDE_NONE.
    ExtentList writes;
    size_t    write_at;
    int64_t   edge_bytes;   // What an edge holds before its producers pause.
    int64_t   stage_bytes;  // What a stage makes and holds before it begins no more units.
    StageRun *failed;       // The run whose fault ends the job, once that is certain.
    bool      changed_plan; // Admissions are to be thought over.
    bool      stop;
    uint32_t  busy;         // Threads that do something.
    Crew      crew;
    pthread_mutex_t lock;
    pthread_cond_t  changed;
} Engine;

#endif
