// Probe ahead: before a stage runs, all its units say what they look up in joins on disk.
//
//   units ─▶ asks {hash, unit}, sorted ─▶ with the right rows, side by side ─▶ answers by unit
//
// So each side is read a few times, however many units there are, where otherwise each unit would
// go along the right side. Only where the input can be read twice; what changes nothing but time
// may also fail: then units ask for themselves.
#ifndef SBC_RUNTIME_PROBE_AHEAD_H
#define SBC_RUNTIME_PROBE_AHEAD_H

#include "runtime/task/task.h"

typedef struct ProbeAheadSetup {
    const TaskSetup  *setup;       // Of the stage's tasks.
    const UnitsSetup *units;       // Its units.
    _Atomic int      *cancel;      // The job's.
    bool              again;       // The units can be read twice, and all of them will be.
} ProbeAheadSetup;

// Is any of the stage's joins on disk?
bool probe_ahead_wanted(const TaskSetup *setup);
// Lets all units ask, one join after the other. Joins whose rows will be looked for here and there
// all the same are united (spill_join.h).
void probe_ahead_open(ProbeAhead *ahead, const ProbeAheadSetup *what, SbParallel *parallel);
void probe_ahead_close(ProbeAhead *ahead);

#endif
