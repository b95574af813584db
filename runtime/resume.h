// Resume: --resume: the journal of what is committed, and how a job goes on from it.
//
// Called by runtime/main before and after stages run. While they run it is an observer of the
// dispatch (resume_observer), and hears of units, partitions, sinks and breakers
// (dispatch/observers.def).
// docs/resume.md says what it promises.
#ifndef SBC_RUNTIME_ROOM_RESUME_H
#define SBC_RUNTIME_ROOM_RESUME_H

#include "runtime/resume/journal.h"
#include "runtime/resume/resume.h"

#endif
