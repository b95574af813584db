// Stage times: what the watch saw, for the closing summary: a table of stages, how busy the
// resources were, and what bounded the job.
#ifndef SBC_RUNTIME_STAGE_TIMES_H
#define SBC_RUNTIME_STAGE_TIMES_H

#include "runtime/job.h"

// The table, and a line `bound: ...`.
void stage_times_print(const SbJob *what, const JobMachine *machine, const JobFigures *figures,
                       Text *text);
// ,"stages":[...],"resources":[...],"bound":"..."
void stage_times_json(const SbJob *what, const JobMachine *machine, const JobFigures *figures,
                      Text *text);
// The share of the time that a resource was held, by number or SB_CPUS.
double stage_times_busy(const SbJob *what, const JobMachine *machine, const struct Watch *watch,
                        uint32_t resource);
// The name of a resource.
SbStr stage_times_resource(const SbJob *what, uint32_t resource);

#endif
