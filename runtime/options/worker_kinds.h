// Worker kinds: how many workers a job is to have (--workers), and what each has (--worker).
#ifndef SBC_RUNTIME_OPTIONS_WORKER_KINDS_H
#define SBC_RUNTIME_OPTIONS_WORKER_KINDS_H

#include "runtime/abi/program.h"
#include "runtime/report.h"

enum : int64_t { WORKERS_MAX = 64 };

// What --resource supplies: `amount` thousandths.
typedef struct Supply {
    const char *name;
    size_t      name_len;
    uint32_t    amount;
} Supply;

// One --worker.
typedef struct WorkerKind {
    const char *text;    // As it was given.
    uint32_t    cpus;    // Threads; 0: not given.
    Supply      supplies[SB_RESOURCES_MAX];
    uint32_t    supply_count;
} WorkerKind;

typedef struct WorkerKinds {
    bool        none;         // --workers=0: only workers that join.
    uint32_t    places;       // For workers that join; 0: the job does not listen.
    uint32_t    place_cpus;   // Threads of each; 0: not given.
    uint32_t    count, most;  // Workers at the start, and as many as there may be; 0: none.
    WorkerKind *kinds;        // By worker: those of --worker, from malloc; nullptr: all are alike.
} WorkerKinds;

// "4", "2..8". False: *trouble.
bool worker_kinds_set_count(WorkerKinds *workers, const char *value, Trouble *trouble);
// "4", "2*16". False: *trouble.
bool worker_kinds_set_places(WorkerKinds *workers, const char *value, Trouble *trouble);
// Once all is known: does the job listen? False: *trouble, there are too many.
bool worker_kinds_set_joins(WorkerKinds *workers, bool listens, Trouble *trouble);
// "cpus=2,accel=1". False: *trouble.
bool worker_kinds_add(WorkerKinds *workers, const char *value, Trouble *trouble);

#endif
