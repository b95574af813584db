// Pacing: the soft half of the memory promise. Sources are admitted as fast as the slowest
// resource can take what comes of them, and a little faster; wrong pacing costs time, never memory.
//
// lambda = min over resources r of C_r / w_r bytes of source a second, w_r = sum over stages i of
// alpha_i * t_i * d_ir: t_i seconds of a task per input byte, d_ir its demand, alpha_i input bytes
// per source byte. Sources are stages like others.
#ifndef SBC_RUNTIME_CORE_PACING_H
#define SBC_RUNTIME_CORE_PACING_H

#include "runtime/core/plan.h"

typedef struct Pace {        // What a stage was seen to do. First estimates count as one unit.
    double in_bytes, out_bytes, seconds;
} Pace;

typedef struct Pacing {
    Pace    stages[STAGES_MAX];
    double  admitted[STAGES_MAX];  // Bytes, of sources.
    double  allowed;               // Bytes that may be admitted up to `since`.
    int64_t since;
    double  lambda;                // Bytes a second.
} Pacing;

void pacing_init(Pacing *pacing, const CorePlan *plan, int64_t now);

// What a task took, gave and computed from its beginning to its end.
void pacing_note(Pacing *pacing, StageId stage, Pace seen);

// Lets time pass, and judges lambda anew.
void pacing_advance(Pacing *pacing, const CorePlan *plan, int64_t now);

// The time from which on the source may admit a unit of that many bytes; <= now: it may.
int64_t pacing_when(const Pacing *pacing, const CorePlan *plan, StageId source, int64_t now);
void    pacing_admit(Pacing *pacing, StageId source, int64_t bytes);

#endif
