// Job: the state of a run, from options to published outputs.
//
//   options, parameters ─▶ setup ─▶ sources, sinks opened ─▶ engine: all stages
//   stage:   units ─▶ tasks on all threads ─▶ offers in unit order ─▶ settled (stage.h)
//   end:     rejects sorted and judged ─▶ outputs synced and published ─▶ summary
#ifndef SBC_RUNTIME_JOB_H
#define SBC_RUNTIME_JOB_H

#include "runtime/breakers.h"
#include "runtime/device.h"
#include "runtime/host.h"
#include "runtime/input.h"
#include "runtime/job/worker_figures.h"
#include "runtime/options.h"
#include "runtime/output.h"
#include "runtime/plan.h"
#include "runtime/rejects.h"
#include "runtime/report.h"
#include "runtime/task.h"

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

// What was asked for: the program with its options and parameters, and what its setup made of them.
// Nothing of it changes once the job is open.
typedef struct JobAsk {
    const SbJob *what;
    Options      options;
    Params       params;
    SbCall       call;           // Memory of parameters and of setup's results.
    char *const *argv;           // The command line.
    SbSetup      setup;
} JobAsk;

// Processes in which tasks run (--workers). Zeros: this process runs all tasks itself.
typedef struct WorkerPlan {
    uint32_t     count;          // As many as there may ever be.
    uint32_t     begins;         // That are there from the start.
    uint32_t     places;         // Of `count`, the last ones: for workers that join.
    uint32_t     threads;        // Of the one that has most.
    uint32_t     own_cpus;       // Of each that this process starts, where all are alike.
    uint32_t     place_threads;  // Of each that joins.
    int64_t      memory;         // Bytes that the account of each worker may take.
    uint32_t     covered_max;    // As CorePlan's; of tests.
    int64_t      ledger;         // Of `memory`, what the schedule may give to tasks of the worker.
} WorkerPlan;

// What the job takes of the machine: memory, slots, threads and disk. The memory plan shares it
// out (memory_plan.h).
typedef struct JobMachine {
    SbMemory     memory;
    int64_t      memory_total;   // --memory: of this process and its workers.
    int64_t      memory_whole;   // Of this process: of it the account is what rows may take.
    int64_t      memory_now;     // --memory, or what --tell made of it: of all processes.
    int64_t      memory_python;  // Of it, what Python processes have.
    int64_t      memory_gpu;     // Of it, what columns of GPUs have.
    uint32_t     tasks_fit, tasks_most;  // At once: the memory holds; slots allow.
    Slots        slots;          // What there is of each resource.
    WorkerPlan   workers;
    Spill        spill;
    Pool         pool;
    RetryPolicy  retry;
    Gpu         *gpu;            // Runs kernels; nullptr: there is none, or it is not wanted.
} JobMachine;

// What the job reads and writes.
typedef struct JobIo {
    Source      *sources;
    Sink        *sinks;          // One more than the program has: the last is for the rejects.
    bool         has_rejects_sink;
    SinkNames   *names;          // Of files; nullptr: no output is by key.
} JobIo;

// Rows that wait for others, and what came of them. Arrays are by breaker, unless said otherwise.
typedef struct JobBreakers {
    SbBreakerState **states;
    SbMemory   **accounts;       // Of its own; nullptr: all take from the memory of the job.
    bool        *finished;       // Its rows are there.
    Edge        *edges;
    const SbTable **tables;
    int64_t     *first_rows;     // Of a sort: so many rows of each partition are wanted.
    int64_t     *kept;           // Rows after it was finished.
    int64_t     *unmatched_rows; // Rows of a join's right side that came out alone.
    KeyFilter  **filters;        // Of a join that is being filled; nullptr: all rows are kept.
    int64_t     *left_out;       // Rows that a filter left out.
    uint32_t     lanes;          // Parts of breakers: one for each thread, and more where tasks
                                 // keep one while they wait.
    pthread_mutex_t *fills;      // By lane: held while somebody fills its parts, or writes them.
} JobBreakers;

// How many rejects are allowed, and those that were made.
typedef struct JobRejects {
    RejectLimits limits;
    char         limit_text[32];
    RejectSet    set;            // By file, once the stages are over.
    Reject      *failing;        // A record that ends the job: `else fail`.
    RejectList   failing_list;   // It, or the first record of a job that passes a limit.
    bool         over_limit;     // The limit of rejects is passed.
} JobRejects;

// What is counted and watched while the job runs, for people and machines.
typedef struct JobFigures {
    int64_t     *counts;         // [step][SbCount]
    Progress     progress;
    WorkerFigures *workers;      // By number of the worker, from 1 on; nullptr: there are none.
    struct Watch *watch;         // Belongs to runtime/observe, as the samples do.
    struct Samples *samples;     // With --stats; else nullptr.
    double       seconds;        // That it took, once it is over.
} JobFigures;

// How the job is told to stop, by the thread of signals or by a task.
typedef struct JobStop {
    _Atomic int  cancel;         // Interrupted: tasks stop after their block of rows.
    _Atomic int  drain;          // Ends early: no more input is taken, tasks that run go on.
    _Atomic int  paused;         // Somebody has paused it: nothing begins.
    _Atomic int  ending;         // What ends it, once: see Ending.
    int          cancel_fd;      // Readable with `cancel` or `drain`.
    struct Dispatch *dispatch;   // While it runs; see engine_wake.
    pthread_mutex_t engine_lock; // Guards `dispatch`.
} JobStop;

// The parts, each of which is handed over by itself. Whoever opens, runs and closes all of them
// knows the whole: runtime/main, the opening of the dispatch, and its stages.
typedef struct Job {
    JobAsk       ask;
    JobMachine   machine;
    JobIo        io;
    JobBreakers  breakers;
    JobRejects   rejects;
    JobFigures   figures;
    JobStop      stop;
    Log          log;
    Trouble      trouble;        // Why it ends early.
    Guards       guards;         // Rows that ended foreign code, and what became of them.
    struct Resume *resume;       // Of --resume; else nullptr. Belongs to runtime/resume.
    bool         resumed;        // It goes on from a journal.
} Job;

// Which program it is, with which parameters: the same in all processes of a job.
Checksum job_program(const JobAsk *ask);
// In which form the records of rejects are written.
SbRecords job_records_form(const JobAsk *ask);
// What sink number `sink` writes, and the rejects (the number after the last): an empty path means
// none.
SinkSetup job_sink_setup(const JobAsk *ask, uint32_t sink);
// What the rows of a breaker are charged to.
SbMemory *job_breaker_memory(Job *job, uint32_t breaker);
// Threads of a worker, counted from 1 on.
uint32_t job_worker_threads(const Job *job, uint32_t worker);
// Threads of workers, all together.
static inline uint32_t job_far_threads(const JobMachine *machine) {
    return machine->workers.count * machine->workers.threads;
}
// Bytes that the job and its workers hold.
int64_t job_memory_held(const JobMachine *machine, const JobFigures *figures);
// Where records of rejects are kept, by so many lanes; once the spill is open.
RejectSetSetup job_records(JobMachine *machine, uint32_t lanes, RejectOrder order);

#endif
