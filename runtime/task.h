// Task: one stage on one unit, on one thread, and what comes out of it.
#ifndef SBC_RUNTIME_TASK_H
#define SBC_RUNTIME_TASK_H

#include "runtime/breaker.h"
#include "runtime/rejects.h"
#include "runtime/scratch.h"
#include "runtime/unit.h"

typedef struct SbOutState {
    char     *begin;
    int64_t   cap;      // Charged.
    SbMemory *memory;
} SbOutState;

typedef enum ResultState {
    RESULT_FREE,
    RESULT_RUNNING,
    RESULT_READY,      // Waits for the units before it.
    RESULT_COMMITTED,  // Waits for its bytes to be written.
} ResultState;

// Everything that a task leaves behind but the parts of breakers. Slots are used again and again.
typedef struct UnitResult {
    ResultState state;
    Unit        unit;
    int32_t     status;     // SbStageStatus
    bool        stopped;
    SbFailure   failure;
    Trouble     trouble;
    int64_t    *counts;     // [step][SbCount]
    SbOut      *outs;       // By terminal; sinks only.
    SbOutState *out_states;
    SbRows    **batches;    // By terminal; edges only.
    int64_t    *quota;      // By terminal: rows it could take...
    int64_t    *left;       // ...and what of it is left.
    RejectList  rejects;
    int64_t     cursor;
    uint32_t    extents;    // To be written yet.
} UnitResult;

// What all tasks of a stage share.
typedef struct TaskSetup {
    const SbJob   *job;
    const SbStage *stage;
    const SbSource *source;        // nullptr for a breaker's rows.
    Source        *files;          // The same, opened.
    const Source  *sources;        // All of the job.
    const SbEntry *const *right;   // Zip: the rows of the right side.
    bool           behind;         // The input is a breaker's: rejects have no place.
    const SbType  *row;            // Of a breaker's rows, of a range and of inline tables.
    const void *const *params;
    const SbTable *const *tables;
    SbBreakerState **breakers;     // By number.
    SbMemory      *memory;
    int64_t        reject_rows;    // -1: no such limit.
    bool           wants_rows;     // Rejects need the number of their row.
    Units         *units;
} TaskSetup;

struct SbTaskState {
    const TaskSetup *setup;
    uint32_t    thread;
    SbTask      task;
    UnitBuffer  buffer;
    SbIndex     index;
    void      **terminals;
    UnitResult *result;
    int64_t     counted_at, counted_rows;    // Rows of the unit before a place of its text.
    int64_t     lined_at, lined_lines;       // The same for line ends.
    int64_t     stopped_at;                  // Where the row begins that ended the unit; -1: none.
    SbCall      files;       // Memory of whole files and their entries.
};

typedef struct SbTaskState SbTaskState;

bool task_open(SbTaskState *state, const TaskSetup *setup, uint32_t thread, Trouble *trouble);
void task_close(SbTaskState *state);
// Runs the stage on the result's unit until it is done.
void task_run(SbTaskState *state, UnitResult *result);

// Fills what the place's site says and stores the record. Nonzero: the unit must stop.
int32_t task_reject(SbTaskState *state, RejectFacts *facts);

bool result_open(UnitResult *result, const TaskSetup *setup);
void result_close(UnitResult *result, const TaskSetup *setup);
// Makes it ready for a unit.
void result_reset(UnitResult *result, const TaskSetup *setup);

#endif
