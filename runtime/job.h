// Job: the state of a run, from options to published outputs.
//
//   options, parameters ─▶ setup ─▶ sources, sinks opened ─▶ stages, one after the other
//   stage:   units ─▶ tasks on all threads ─▶ commits in unit order ─▶ breakers finished
//   end:     rejects sorted and judged ─▶ outputs synced and published ─▶ summary
#ifndef SBC_RUNTIME_JOB_H
#define SBC_RUNTIME_JOB_H

#include "runtime/breaker.h"
#include "runtime/options.h"
#include "runtime/params.h"
#include "runtime/pool.h"
#include "runtime/rejects.h"
#include "runtime/sink.h"
#include "runtime/source.h"
#include "runtime/task.h"

#include <stdatomic.h>

enum { MAX_RANK = 255 };

// The rows of an edge: batches in unit order, then one array.
typedef struct EdgeBatch {
    SbRows  *rows;
    uint32_t rank;     // Of the stage that made them.
} EdgeBatch;

typedef struct Edge {
    EdgeBatch *batches;  // By rank, then in the order in which they came.
    uint32_t  count, cap;
    int64_t   rows;       // In them.
    int64_t   limit;      // Rows it takes: skip and count of a limit; INT64_MAX.
    int64_t   skip;
    bool      limited;
    const SbEntry **entries;
    int64_t   entry_count;
} Edge;

// Figures for the progress line, written by the committing thread.
typedef struct Progress {
    _Atomic uint32_t stage;
    _Atomic int64_t  bytes, rows, rejects;
} Progress;

typedef struct Job {
    const SbJob *what;
    Options      options;
    Params       params;
    SbCall       call;           // Memory of parameters and of setup's results.
    SbSetup      setup;
    SbMemory     memory;
    Pool         pool;
    Source      *sources;
    Sink        *sinks;          // One more than the program has: the last is for the rejects.
    bool         has_rejects_sink;
    RejectLimits limits;
    char         limit_text[32];
    RejectList   rejects;
    Reject      *failing;        // A record that ends the job: `else fail`.
    RejectList   failing_list;
    SbBreakerState **breakers;
    uint32_t    *producers;      // By breaker: stages that still feed it.
    Edge        *edges;          // By breaker.
    const SbTable **tables;
    int64_t     *kept;           // By breaker: rows after it was finished.
    int64_t     *unmatched_rows; // By breaker: rows of a join's right side that came out alone.
    const SbEntry **unmatched;   // Of the running stage.
    int64_t     *counts;         // [step][SbCount]
    Progress     progress;
    _Atomic int  cancel;         // Interrupted.
    int          cancel_fd;
    Trouble      trouble;        // Why it ends early.
    bool over_limit;  // The row limit is passed; the stages that remain cannot change that.
    uint32_t     over_count;     // Records of the rejects file then.
    int64_t      started_ns;
} Job;

// Runs one stage. False: job->trouble, job->failing or job->over_limit says why.
bool stage_run(Job *job, uint32_t stage);

// The thread of signals and of the progress line: the only user of libuv.
typedef struct Control Control;
Control *control_open(Job *job);
void     control_close(Control *control);

// Limits behind limits: takes from each edge no more rows than those behind it need.
void edges_narrow(Job *job);
// Ends the input of breakers: makes an edge's rows an array, applies a limit and counts its step.
bool edge_finish(Job *job, uint32_t breaker);
void edge_close(Job *job, uint32_t breaker);
bool edge_add(Job *job, uint32_t breaker, EdgeBatch batch);

// Fills in what tasks do not count: see SbCount.
void job_summary_count(Job *job);
void job_summary_print(const Job *job, bool done, FILE *file);
void stats_print(const Job *job, bool done, FILE *file);
int64_t job_clock_ns(void);

#endif
