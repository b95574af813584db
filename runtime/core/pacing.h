// Pacing: the soft half of the memory promise, as fast as sources are admitted, and how slots are
// shared. Wrong pacing costs time, never memory.
//
// ADMIT_RATE: as fast as the slowest resource can take what comes of them, and a little faster.
//
//   lambda = min over resources r of C_r / w_r                bytes of source a second
//   w_r    = sum over stages i of alpha_i * t_i * d_ir
//   t_i      seconds of a task per input byte; d_ir its demand; alpha_i input bytes per source byte
//
// Sources are stages like others.
//
// ADMIT_BUDGET is Algorithm 2 of the paper. A budget of bytes, at first the memory, pays for the
// expected output of each unit. It refills with the output of one unit in the time P that the rest
// of the pipeline takes for that unit.
//
//   P = sum over the stages after the source of alpha_i * T_i / E_i
//   T_i  the time of a task; E_i the slots that the sources leave to the stage
//
// Slots are shared by rows. Bytes say nothing about the work to come where one stage makes narrow
// rows wide. Rows of a stage for one row of its roots, and what they take, say how many tasks of
// each stage keep up with the slowest resource.
#ifndef SBC_RUNTIME_CORE_PACING_H
#define SBC_RUNTIME_CORE_PACING_H

#include "runtime/core/policy.h"

typedef struct Pace {  // What a stage was seen to do. First estimates weigh as one byte.
    double in_bytes, out_bytes, seconds;
} Pace;

typedef struct Pacing {
    Admission admission;
    double admitted;  // Bytes that were admitted; of a budget: that were paid.
    double allowed;   // Bytes that may be admitted up to `since`.
    int64_t since;
    double load[AREAS][RESOURCES_MAX];  // Of ADMIT_RATE: seconds of each for a byte of sources.
    double lambda;               // Bytes a second by which `allowed` grows.
    uint64_t seen;               // Tasks that were seen; all is judged after each of the first.
    uint64_t judged;             // `seen` when all was judged last: later after every 64th task.
    double memory;               // Of a budget: more than that it never has.
    Pace stages[STAGES_MAX];
    double in_rows[STAGES_MAX], out_rows[STAGES_MAX];  // Of work that has ended; of all outputs.
    double row_seconds[STAGES_MAX];                    // What the work that has ended took.
    double given[STAGES_MAX];  // Rows of each stage that come of a row of its roots.
    double due[STAGES_MAX];  // Tasks of each stage at once that keep up with the slowest resource.
    double slots[STAGES_MAX];  // Of a budget: E_i, which the caller sets.
    const Shape *shape;
    NodeCounts nodes;  // That are up.
    double capacity[AREAS][RESOURCES_MAX];
    uint8_t areas;     // That count: of one node the first.
} Pacing;

// Before pacing_init, and when other nodes are up. Of a resource that none of them has, those of
// all nodes count: nothing that takes it runs until one is up.
void pacing_nodes(Pacing *pacing, const CorePlan *plan, const Shape *shape, const NodeCounts *up);

// `memory`: of all nodes together.
void pacing_init(Pacing *pacing, const CorePlan *plan, Admission admission, double memory,
                 int64_t now);

// So much memory is there from now on.
void pacing_memory(Pacing *pacing, double memory);

// What a task took, gave and computed from its beginning to its end.
void pacing_note(Pacing *pacing, StageId stage, Pace seen);

// Seconds that tasks of the stage take for so many bytes of input.
double pacing_seconds(const Pacing *pacing, StageId stage, int64_t bytes);

// Rows that a stage gave; and those that it has taken, in so many seconds, when all that came of
// them is noted.
void pacing_gave(Pacing *pacing, StageId stage, int64_t rows);
void pacing_took(Pacing *pacing, StageId stage, int64_t rows, double seconds);

// Lets time pass, and judges lambda and rows anew.
void pacing_advance(Pacing *pacing, const CorePlan *plan, int64_t now);

// The time from which on the source may admit a unit of that many bytes; <= now: it may; INT64_MAX:
// not as things are.
int64_t pacing_when(const Pacing *pacing, const CorePlan *plan, StageId source, int64_t now);
void pacing_admit(Pacing *pacing, StageId source, int64_t bytes);

#endif
