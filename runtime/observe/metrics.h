// Metrics: the figures of a job while it runs, for those who ask over HTTP: as Prometheus text, and
// as JSON for the live page.
#ifndef SBC_RUNTIME_METRICS_H
#define SBC_RUNTIME_METRICS_H

#include "runtime/job.h"
#include "runtime/observe/watch.h"

// The exposition format of Prometheus, version 0.0.4.
void metrics_prometheus(const SbJob *what, const JobMachine *machine, JobFigures *figures,
                        Text *text);
// What does not change: stages, what they read and where their rows go.
void metrics_graph(const SbJob *what, Text *text);
// What does, with the work that has ended since the last call. Cell values only with --show-rows.
void metrics_now(const SbJob *what, const JobMachine *machine, JobFigures *figures,
                 const WatchSpans *spans, Text *text);

#endif
