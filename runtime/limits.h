// Limits: what units of a root counted in front of a limit, until it is certain that it counts.
//
// A limit ends what feeds it: rows after the last one that it takes are neither judged nor counted.
// Tasks run ahead of a limit in any order. So what a stage counts and rejects there is kept by unit
// of its root. It is kept until the limit has taken the unit's rows, or has its last row before
// them:
//
//   all      the limit took all rows of the unit, or they come to no limit: it counts as it is
//   part     the limit ends among them: the unit is made once more (replay.c), up to that row
//   none     the limit ended before: it is forgotten
//
// Where sinks of one stage end at different rows, so do their branches: a unit that a branch judged
// after its last row is made once more too.
//
// A stage leads to limits when all that it makes goes into limits or into stages that lead to them.
// Only such a stage is in doubt: rows of any other are wanted whatever limits take. A fault in
// front of a limit is kept like a reject, so that it ends the job only if the limit does not end
// before it.
//
// A zip that leads to limits is a limit for both of its sides: these end when it is certain with
// which of its pieces it does.
//
// A sink of a job with --first-rows is a limit too.
#ifndef SBC_RUNTIME_LIMITS_H
#define SBC_RUNTIME_LIMITS_H

#include "runtime/dispatch.h"

typedef struct Limits Limits;

// nullptr: no memory. One for each run of a dispatch.
Limits *limits_new(Job *job);
void    limits_free(Limits *limits);
Observer limits_observer(Limits *limits);

// ---- for commits (runtime/resume); the lock is held ---------------------------------------------

// The stage has taken rows in an earlier run, and so many came to the limit that it reads.
void limits_restore(Limits *limits, uint32_t stage, int64_t taken, int64_t came);
// Is the stage canceled when limits end, without a row that is wanted?
bool limits_may_cancel(const Limits *limits, uint32_t stage);
// Are the edge's rows counted where they are taken?
bool limits_count_taken(const Limits *limits, uint32_t edge);

#endif
