// Leave: a process that ends at once, because what runs in it cannot be waited for.
//
// That is an extern function that does not come back when the time of a signal is over, or one that
// calls exit().
//
// Temporary files and spilled rows go, as they do after any other end; with a journal what the next
// run goes on with stays. Nothing is published: outputs appear all or not at all.
#ifndef SBC_RUNTIME_LEAVE_H
#define SBC_RUNTIME_LEAVE_H

#include "runtime/job.h"

// From now on, and until leave_close, exit() in an extern function is a trouble.
void leave_open(Job *job);
void leave_close(void);

// Settles how the job ends. False: it ends otherwise.
bool leave_settles(Job *job, Ending ending);

// Ends the process with what the trouble says, unless outputs are being published: then returns.
void leave(Job *job, Trouble *trouble);

#endif
