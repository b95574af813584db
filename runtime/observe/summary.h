// Summary: the table of steps, sources and sinks with which a job closes.
#ifndef SBC_RUNTIME_SUMMARY_H
#define SBC_RUNTIME_SUMMARY_H

#include "runtime/job.h"

// Fills in what tasks do not count: see SbCount.
void job_summary_count(const JobAsk *ask, const JobBreakers *breakers, const Sink *sinks,
                       int64_t *counts);
// Says it; with --log=json as the event that ends the log.
void job_summary_print(Job *job, bool done, int code);

#endif
