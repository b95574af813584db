// Asking: all units of a stage say what they look up in one of its joins, before it runs.
//
//   units ─▶ SbStage.ask ─▶ hashes of keys ─▶ who wants to know
//
// Two want to know: probe_ahead, for right rows on disk, and key_filter, before there are any. Only
// where the input can be read twice. Nothing but time changes, so that it may fail.
#ifndef SBC_RUNTIME_TASK_ASKING_H
#define SBC_RUNTIME_TASK_ASKING_H

#include "runtime/task/task.h"

// Who wants to know. Each false ends the asking. All but `told` may be nullptr.
typedef struct AskingFns {
    bool (*open)(void *self, uint32_t thread);    // Before the thread's first unit.
    // The lock is held.
    bool (*begins)(void *self, const Unit *unit);
    // What rows of the unit look up, each hash once.
    bool (*told)(void *self, uint32_t thread, const Unit *unit, const uint64_t *asks,
                 int64_t count);
    bool (*close)(void *self, uint32_t thread, bool good);  // After its last one, or a failure.
} AskingFns;

typedef struct AskingSetup {
    const TaskSetup  *setup;   // Of the stage's tasks.
    const UnitsSetup *units;   // Its units.
    _Atomic int      *cancel;  // The job's.
    const AskingFns  *fns;
    void             *self;    // For them.
    uint32_t          join;    // In the order of the Probe.
    uint32_t          first;   // Breaker number of a join before which no other one stands, whose
                               // right side is not there yet. UINT32_MAX: `join` counts.
} AskingSetup;

// False: not all units have said all.
bool asking_run(const AskingSetup *what, SbParallel *parallel);

#endif
