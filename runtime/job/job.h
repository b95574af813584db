// Job: the state of a run, from options to published outputs.
//
//   options, parameters ─▶ setup ─▶ sources, sinks opened ─▶ engine: all stages
//   stage:   units ─▶ tasks on all threads ─▶ offers in unit order ─▶ settled (stage.h)
//   end:     rejects sorted and judged ─▶ outputs synced and published ─▶ summary
#ifndef SBC_RUNTIME_JOB_H
#define SBC_RUNTIME_JOB_H

#include "runtime/breakers.h"
#include "runtime/host.h"
#include "runtime/input.h"
#include "runtime/options.h"
#include "runtime/output.h"
#include "runtime/plan.h"
#include "runtime/rejects.h"
#include "runtime/report.h"

#include <stdatomic.h>

// Figures of what is settled, written by who takes over what tasks made; readers ask
// progress_sources.
typedef struct Progress {
    _Atomic int64_t bytes, rows;            // Of sources.
    _Atomic int64_t bytes_told, rows_told;  // The most that readers have been told.
} Progress;

// Rows that go from stages to stages.
typedef struct Edge {
    bool    limited;
    int64_t skip, limit;  // Rows that a limit passes over, and takes, the skipped ones included;
                          // INT64_MAX: all.
    int64_t rows;         // That were taken.
} Edge;

// Outputs are published, or the process ends at once (leave.h): whichever is first.
typedef enum Ending { ENDING_NOT_YET, ENDING_PUBLISHES, ENDING_LEAVES } Ending;

typedef struct Job {
    const SbJob *what;
    Options      options;
    Log          log;
    RetryPolicy  retry;
    Params       params;
    SbCall       call;           // Memory of parameters and of setup's results.
    SbSetup      setup;
    SbMemory     memory;
    int64_t      memory_whole;   // --memory: of it the account is what rows may take.
    uint32_t     tasks_fit, tasks_most;  // At once: the memory holds; slots allow.
    Slots        slots;          // What there is of each resource.
    Spill        spill;
    Pool         pool;
    uint32_t     lanes;          // Parts of breakers: one for each thread, and more where tasks
                                 // keep one while they wait.
    pthread_mutex_t *fills;      // By lane: held while somebody fills its parts, or writes them.
    Source      *sources;
    Sink        *sinks;          // One more than the program has: the last is for the rejects.
    bool         has_rejects_sink;
    RejectLimits limits;
    char         limit_text[32];
    RejectSet    rejects;        // By file, once the stages are over.
    Reject      *failing;        // A record that ends the job: `else fail`.
    RejectList   failing_list;   // It, or the first record of a job that passes a limit.
    SbBreakerState **breakers;
    SbMemory   **accounts;       // By breaker: of its own; nullptr: all take from `memory`.
    bool        *finished;       // By breaker: its rows are there.
    Edge        *edges;          // By breaker.
    const SbTable **tables;
    int64_t     *kept;           // By breaker: rows after it was finished.
    int64_t     *unmatched_rows; // By breaker: rows of a join's right side that came out alone.
    int64_t     *counts;         // [step][SbCount]
    struct Resume *resume;       // Of --resume; else nullptr. Belongs to runtime/resume.
    bool         resumed;        // It goes on from a journal.
    Progress     progress;
    struct Watch *watch;         // Belongs to runtime/observe, as the samples do.
    double       seconds;        // That it took, once it is over.
    struct Samples *samples;     // With --stats; else nullptr.
    _Atomic int  cancel;         // Interrupted: tasks stop behind their block of rows.
    _Atomic int  drain;          // Ends early: no more input is taken, tasks that run go on.
    _Atomic int  ending;         // What ends it, once: see Ending.
    int          cancel_fd;      // Readable with either.
    struct Dispatch *dispatch;   // While it runs; see engine_wake.
    pthread_mutex_t engine_lock;
    Trouble      trouble;        // Why it ends early.
    bool         over_limit;     // The limit of rejects is passed.
} Job;

// What sink number `sink` writes, and the rejects (the number behind the last): an empty path means
// none.
SinkSetup job_sink_setup(const Job *job, uint32_t sink);
// Where its records are kept; once the spill is open.
RejectSetSetup job_records(Job *job, RejectOrder order);

#endif
