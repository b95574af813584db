// Serve: the life of a worker process, from its first message to its exit.
#ifndef SBC_RUNTIME_SERVE_SERVE_H
#define SBC_RUNTIME_SERVE_SERVE_H

#include "runtime/job.h"
#include "runtime/worker.h"

// Runs the worker until it is told to stop or loses the coordinator. What needs no input is open:
// options, parameters, setup, edges. Returns the exit code; what is wrong is in job->trouble.
int serve_run(Job *job, const Inherited *inherited);
// The same for a worker that joins (--join). SERVE_AGAIN: it was a worker of the job, and lost the
// connection: it may join again.
enum { SERVE_AGAIN = -1 };
int serve_join(Job *job);

#endif
