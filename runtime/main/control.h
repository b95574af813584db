// Control: the thread that handles signals, says how far the job is, and serves metrics.
#ifndef SBC_RUNTIME_CONTROL_H
#define SBC_RUNTIME_CONTROL_H

#include "runtime/job.h"

// The thread of signals and progress: the only user of libuv. nullptr: job->trouble says why, or
// there is no memory for it, and the job runs without.
typedef struct Control Control;
Control *control_open(Job *job);
// Says where the metrics are.
void     control_say(Control *control);
void     control_close(Control *control);

#endif
