// Worker figures: what each worker process does and has done, for people and machines.
#ifndef SBC_RUNTIME_JOB_WORKER_FIGURES_H
#define SBC_RUNTIME_JOB_WORKER_FIGURES_H

#include "runtime/report.h"

#include <stdatomic.h>

// What a worker is at.
#define WORKER_PHASE_TABLE(X)                                  \
    X(ABSENT, "absent", "is not there")                        \
    X(STARTS, "starts", "begins its life")                     \
    X(WORKS, "works", "takes tasks")                           \
    X(SILENT, "silent", "has not answered for a while")        \
    X(LEAVES, "leaves", "ends what it has to do")              \
    X(GONE, "gone", "is lost, and not replaced yet")

typedef enum WorkerPhase {
#define WORKER_PHASE(phase, name, words) PHASE_##phase,
    WORKER_PHASE_TABLE(WORKER_PHASE)
#undef WORKER_PHASE
    WORKER_PHASES,
} WorkerPhase;

// A figure: its field, its name and kind as a metric, and what it says.
#define WORKER_FIGURE_TABLE(X)                                                                  \
    X(tasks, "tasks", "gauge", "Tasks at work in the worker.")                                  \
    X(memory, "memory_bytes", "gauge", "Bytes that the worker held when it spoke last.")        \
    X(limit, "memory_limit_bytes", "gauge", "Bytes that the worker may hold.")                  \
    X(partitions, "partitions_total", "counter", "Partitions that the worker has made.")        \
    X(again, "partitions_again_total", "counter", "Of these, those that were made before.")     \
    X(losses, "losses_total", "counter", "Processes of the worker that were lost.")             \
    X(restarts, "restarts_total", "counter", "Processes of the worker after the first one.")    \
    X(verdicts, "verdicts_total", "counter", "Rows rejected for what foreign code did on them.")

// Written by the dispatch, read by anybody.
typedef struct WorkerFigures {
    _Atomic int     phase;  // WorkerPhase.
    _Atomic int64_t pid;    // 0: it has no process.
#define WORKER_FIELD(field, name, kind, help) _Atomic int64_t field;
    WORKER_FIGURE_TABLE(WORKER_FIELD)
#undef WORKER_FIELD
} WorkerFigures;

const char *worker_phase_name(WorkerPhase phase);   // "works"
const char *worker_phase_words(WorkerPhase phase);  // "takes tasks"

// A table of all workers that are there or have been.
void worker_figures_print(const WorkerFigures *workers, uint32_t count, Text *text);
// ,"workers":[{"worker":1,"phase":"works","pid":1234,"tasks":2,...},...]; nothing without workers.
void worker_figures_json(const WorkerFigures *workers, uint32_t count, Text *text);
// The same as metrics, for Prometheus.
void worker_figures_metrics(const WorkerFigures *workers, uint32_t count, Text *text);
// Bytes that all of them held when they spoke last.
int64_t worker_figures_memory(const WorkerFigures *workers, uint32_t count);

#endif
