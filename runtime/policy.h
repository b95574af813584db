// Policy: what may run next. It looks and decides; the engine does.
//
// Rows are asked for from the end, as a reader of the program would: the first sink that is not
// done asks the stages that feed it, these ask for the tables that they need and for the rows that
// they read, and so on (policy_admit). What is asked for is active. Readers of an edge whose
// producer is active are active with it, so that the edge does not fill up.
//
// Among what is active, a stage nearer to the sinks goes first: that empties edges before it fills
// them. A stage pauses while an edge that it fills, or what it made itself, holds too many bytes.
//
// Worked example: zip of a and b into a sink, a read from a file, b behind a sort. The sink asks
// the zip's stage, that asks a and the stage that reads the sort; the sort is not finished, so its
// producer is active and the zip is not: it waits for its right side like for a table. a fills its
// edge and pauses; then b is scanned, sorted, read; and all go on together.
#ifndef SBC_RUNTIME_POLICY_H
#define SBC_RUNTIME_POLICY_H

#include "runtime/engine.h"

typedef enum ActionKind {
    ACTION_WAIT,    // Until something changes.
    ACTION_END,
    ACTION_WRITE,
    ACTION_SETTLE,
    ACTION_OFFER,
    ACTION_HELP,    // The crew.
    ACTION_FINISH,  // Breaker `number`.
    ACTION_OPEN,
    ACTION_RESUME,  // The task of flight `number`.
    ACTION_TAKE,
} ActionKind;

typedef struct Action {
    ActionKind kind;
    StageRun  *run;
    uint32_t   number;
} Action;

// Numbers the stages in the order in which the sinks ask for their rows. False: no memory.
bool policy_turns(Engine *engine);
// Decides which stages are active.
void policy_admit(Engine *engine);
// Would a row that the stage makes be taken by anybody? Once nobody would, nobody ever will, but
// for a fault that is not decided.
bool policy_wanted(Engine *engine, const StageRun *run);
// Has a stage found a fault?
bool policy_broken(const Engine *engine);
// Which fault ends the job: the first in the order of turns, once no earlier one can come, or
// nothing can move (`at_rest`). Sets engine->failed, and `dropped` or `alone` of the stages behind
// it. True: it is decided now.
bool policy_judge(Engine *engine, bool at_rest);
// What the thread does next; THREAD_ANY: what some thread could.
enum : uint32_t { THREAD_ANY = UINT32_MAX };
Action policy_next(Engine *engine, uint32_t thread);
// What the stage does now, or waits for.
WatchState policy_state(const Engine *engine, const StageRun *run);
// Nothing can move: a unit that waits for memory waits no longer; else the first paused stage may
// pass the bound of its edges, or it is decided which fault ends the job, or a fault counts whose
// rows wait for what its own stage will not give. A job that is to end (job->drain) has come to its
// end. False: there is none of it.
bool policy_relax(Engine *engine);

#endif
