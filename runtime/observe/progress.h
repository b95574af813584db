// Progress: what a job says of itself while it runs, and the watchdog that names a stage which does
// not move. The thread of control calls both; figures come from the watch.
#ifndef SBC_RUNTIME_PROGRESS_H
#define SBC_RUNTIME_PROGRESS_H

#include "runtime/job.h"

// What the last report said, so that rates are those since then.
typedef struct ProgressMark {
    int64_t at_ns, rows, bytes;
} ProgressMark;

typedef struct ProgressReport {
    // The parts of the job that it tells of. The job owns them.
    const JobAsk *ask;
    const JobMachine *machine;
    const JobIo  *io;
    JobFigures   *figures;
    ProgressMark *stages;
    ProgressMark  sources;
    bool         *stalled;    // By stage: the watchdog has named it.
    ProgressMark *seen;       // By stage: when its figures last changed, and to what.
} ProgressReport;

// What has been judged of the sources so far, rows that tasks are at work on included: the one
// figure for the progress, the metrics and the page.
typedef struct SourceFigures {
    int64_t rows, bytes;
} SourceFigures;
SourceFigures progress_sources(const SbJob *what, JobFigures *figures);

// The parts of the job are set. False: no memory.
bool progress_open(ProgressReport *report);
void progress_close(ProgressReport *report);

// A line for the job and one for each stage that is at work or waits.
void progress_text(ProgressReport *report, Text *text);
// The fields of an event `progress`.
void progress_json(ProgressReport *report, Text *text);
// Warns of stages that have not moved for --watchdog; of each once, until it moves again.
void progress_watch(ProgressReport *report, Log *log);

#endif
