// Main: from argv to exit code. What the files of this room share.
#ifndef SBC_RUNTIME_MAIN_H
#define SBC_RUNTIME_MAIN_H

#include "runtime/job.h"

// Says why it ends early; one that was interrupted goes on with its journal.
void job_log_trouble(Job *job, Trouble *trouble);

// ---- python.c: functions in Python, if the job calls any ----------------------------------------

void job_open_python(Job *job, uint32_t threads);
// Opens, and sees that all functions can be called: what is wrong shows before the job has worked.
bool job_start_python(Job *job, uint32_t threads);
void job_close_python(Job *job);
// Opens, and says what was found, and what the job needs for it at least.
bool job_check_python(Job *job, uint32_t threads, int64_t *least, Text *found, Trouble *trouble);
// Opens, and says what --memory has to hold for it. The trouble says why that is not known.
MemoryNeeds job_plan_python(Job *job, uint32_t threads, Trouble *trouble);

// ---- paths.c ------------------------------------------------------------------------------------

// Do a sink and its manifest leave alone what others before it write, and what is read? Sources
// are open.
bool job_check_paths(const JobAsk *ask, const Source *sources, uint32_t sink, Trouble *trouble);
// Does --trace? And would it replace a file that is to stay?
bool job_check_trace(const JobAsk *ask, const JobIo *io, Trouble *trouble);
// Do all sinks leave the journal alone? Sources need not be open.
bool job_check_journal(const JobAsk *ask, Trouble *trouble);

// GPUs (gpu.c). False: the job must not go on without one.
bool job_open_gpu(Job *job, uint32_t threads);
// What --memory has to hold for columns, beside `others`. Opens none.
MemoryNeeds job_plan_gpu(const Job *job, uint32_t threads, MemoryNeeds others);
void job_print_gpu_plan(const Job *job, uint32_t threads, Text *text);
void job_close_gpu(Job *job);
// The answer of --devices.
void job_print_devices(const SbJob *what, FILE *file);

#endif
