// Trace: what every thread did and when, as a file for Perfetto or chrome://tracing.
//
// It has a process for this one and for each worker, a track for each thread, a span for each piece
// of work, and memory as a counter. An arrow leads from the task that made rows to the work that
// read or wrote them. A GPU is a process too, with a track for each slot: each launch is a span
// for copies in, one for kernels and one for copies out. The thread of control writes the trace.
#ifndef SBC_RUNTIME_TRACE_H
#define SBC_RUNTIME_TRACE_H

#include "runtime/job.h"
#include "runtime/observe/watch.h"

typedef struct Trace {
    // The parts of the job that it tells of. The job owns them.
    const SbJob *what;
    const JobMachine *machine;
    const Watch *watch;
    FILE      *file;      // nullptr: none is written.
    const WorkerFigures *workers;   // nullptr: there are none.
    // By worker, as the trace says so far.
    int64_t   *losses, *restarts, *verdicts;
    int64_t    events, gpu_lost;    // The second: spans of launches.
    uint64_t   arrows;
} Trace;

// Is that a regular file that begins as a trace does?
bool trace_is_one(const char *path);
// Makes the file, once the parts of the job are set; a file that exists is replaced.
bool trace_open(Trace *trace, const char *path, Trouble *trouble);
// What has ended since the last call, and what memory is used now.
void trace_add(Trace *trace, const WatchSpans *spans);
// False: not all of it could be written.
bool trace_close(Trace *trace, int64_t lost);

#endif
