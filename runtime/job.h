// Job: the state of a run, from options to published outputs.
//
//   options, parameters ─▶ setup ─▶ sources, sinks opened ─▶ engine: all stages
//   stage:   units ─▶ tasks on all threads ─▶ offers in unit order ─▶ settled (stage.h)
//   end:     rejects sorted and judged ─▶ outputs synced and published ─▶ summary
#ifndef SBC_RUNTIME_JOB_H
#define SBC_RUNTIME_JOB_H

#include "runtime/breaker.h"
#include "runtime/batch.h"
#include "runtime/log.h"
#include "runtime/options.h"
#include "runtime/params.h"
#include "runtime/pool.h"
#include "runtime/reject_set.h"
#include "runtime/retry.h"
#include "runtime/sink.h"
#include "runtime/slots.h"
#include "runtime/source.h"
#include "runtime/watch.h"

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
    struct Resume *resume;       // Of --resume; else nullptr.
    Progress     progress;
    Watch        watch;
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

// Runs all stages. False: job->trouble, job->failing or job->over_limit says why.
bool engine_run(Job *job);

// Lets it look at job->cancel and job->drain at once. For other threads than its own.
void engine_wake(Job *job);

// The thread of signals and progress: the only user of libuv. nullptr: job->trouble says why, or
// there is no memory for it, and the job runs without.
typedef struct Control Control;
Control *control_open(Job *job);
// Says where the metrics are.
void     control_say(Control *control);
void     control_close(Control *control);

// Says why it ends early; one that was interrupted goes on with its journal.
void job_log_trouble(Job *job, Trouble *trouble);

// What sink number `sink` writes, and the rejects (the number behind the last): an empty path means
// none.
SinkSetup job_sink_setup(const Job *job, uint32_t sink);
// Do a sink and its manifest leave alone what others before it write, and what is read? Sources
// are open.
bool job_check_paths(const Job *job, uint32_t sink, Trouble *trouble);
// Where its records are kept; once the spill is open.
RejectSetSetup job_records(Job *job, RejectOrder order);
// Does --trace? And would it replace a file that is to stay?
bool job_check_trace(const Job *job, Trouble *trouble);
// Do all sinks leave the journal alone? Sources need not be open.
bool job_check_journal(const Job *job, Trouble *trouble);
// Has it rows that may go to disk? Its slots are known.
bool job_may_spill(Job *job);

// Fills in what tasks do not count: see SbCount.
void job_summary_count(Job *job);
// Says it; with --log=json as the event that ends the log.
void job_summary_print(Job *job, bool done, int code);

#endif
