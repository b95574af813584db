// Exchange: how rows that come into a breaker in one process reach those that read them in another.
#ifndef SBC_RUNTIME_EXCHANGE_H
#define SBC_RUNTIME_EXCHANGE_H

#include "runtime/job/flow_job.h"
#include "runtime/report.h"

// Of a job with workers, a table for --plan of its groups, sorts and right sides of joins. It says
// who fills each one, what is handed over, by what that is shared out, and who reads it. Else
// nothing. `threads` are those of the job.
void exchange_print(const FlowParts *of, uint32_t threads, Text *text);

#endif
