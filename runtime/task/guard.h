// Guard: which call of foreign code a thread is at, and what is known of the rows that such calls
// ended.
//
//   generated code ─ sb_guard_begin ─▶ a row that is rejected: the call is not made
//                                  ─▶ the note of the thread ─▶ foreign code ─ sb_guard_end
//
// A note lies where another process reads it after this one is dead. So the coordinator knows
// which row a worker died of.
#ifndef SBC_RUNTIME_GUARD_H
#define SBC_RUNTIME_GUARD_H

#include "runtime/abi/task.h"
#include "runtime/input.h"
#include "runtime/memory.h"

#include <pthread.h>

typedef struct SbStage SbStage;

// Of a row, the place of the call in the program. Of a batch, the stage that calls.
enum : uint32_t { GUARD_BATCH = UINT32_C(1) << 31 };

// What foreign code does: a call for rows, or what comes before all calls and after them. No row is
// to blame for the latter two.
typedef enum GuardKind : uint8_t { GUARD_CALL, GUARD_INIT, GUARD_CLOSE } GuardKind;

typedef struct GuardNote {
    _Atomic uint64_t serial; // Of the call, two more for each; odd while foreign code runs.
    _Atomic bool timed;      // The time of the call is limited, and runs.
    uint32_t task, stage;    // Which task makes the call, and of which stage.
    uint32_t site;
    int32_t  pure;
    GuardKind kind;
    bool     states;         // The process has states, which it is to close.
    uint64_t identity;       // Of the row.
    int64_t  first, count;   // Of a batch: rows of the task's unit; count 0: it is one row.
    int32_t  signal;         // The signal by which the thread ended the process; 0: it did not.
    bool     starts;         // It is known where the rows of the unit begin.
    UnitsChain start;        // Where they begin, if that is known.
    ForeignCall memory;      // What the call has taken.
} GuardNote;

typedef enum GuardState : uint8_t {
    GUARD_FREE,    // The row is like any other.
    GUARD_TRIED,   // A call ended its process; whoever comes to the row waits for the verdict.
    GUARD_REJECT,  // The row is rejected, with `fault`.
    GUARD_CUT,     // A batch may begin with the row, and none goes on with it.
} GuardState;

typedef struct GuardCase {
    uint64_t   identity;
    uint32_t   site;
    GuardState state;
    uint8_t    signal;     // Of SB_FAULT_EXTERN_CRASHED.
    int32_t    fault;
} GuardCase;

// All cases of a job, in one of its processes.
typedef struct Guards {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    GuardCase *cases;        // By hash; those without a site are not in use.
    uint32_t   room, count;
    _Atomic uint32_t any;    // Is there a case?
    bool       over;         // Nobody waits any more.
    _Atomic int64_t *kept;   // By stage: bytes that calls have taken and not given back.
} Guards;

bool guards_open(Guards *guards, uint32_t stages);
void guards_close(Guards *guards);
// False: no memory.
bool guards_set(Guards *guards, const GuardCase *is);
GuardState guards_state(Guards *guards, uint32_t site, uint64_t identity);
// Whoever waits for a verdict goes on, as the process ends.
void guards_end(Guards *guards);

// Some rows of a unit that are called together.
typedef struct GuardRange { int64_t first, count; } GuardRange;

// What a fresh worker does with a row that ended another one: the call is made for this row alone.
typedef struct GuardTrial {
    uint32_t    site;
    uint64_t    identity;
    bool        whole;       // Calls are made for all rows: the row is reached in no other way.
    GuardRange *ranges;      // Of a batch: what is to be called, in the order of the rows.
    uint32_t    range_count, next;
    bool        passed;      // The calls have come back.
} GuardTrial;

// Of a task. SbCall.guard points here while something is to be watched.
typedef struct SbGuard {
    GuardNote   *note;       // nullptr: no other process asks.
    GuardTrial  *trial;      // nullptr: rows are worked on.
    Guards      *all;
    const SbStage *stage;
    uint32_t     number;     // Of the stage.
    uint32_t     task;
    bool         starts;     // As GuardNote's.
    UnitsChain   start;
    ForeignCall  memory;     // Where there is no note.
    char         words[48];  // Of the last fault.
} SbGuard;

// Is there something to watch in the task's calls?
bool guard_watches(const SbGuard *guard);

// ---- states: NAME_init and NAME_close ----------------------------------------------------------

void guard_state_begin(GuardNote *note, GuardKind kind, uint32_t stage, const SbStage *is);
void guard_state_end(GuardNote *note);

// ---- batches ------------------------------------------------------------------------------------

// May `rows` go to a function together? Shortens *count to those of which one thing holds. SB_OK:
// they may; else the fault of all of them. `identity_at`: where the identity is in an entry.
int32_t guard_batch(SbCall *call, const void *const *rows, int64_t row, uint32_t identity_at,
                    int64_t *count);
// From now on foreign code has the rows. Its time begins with guard_batch_runs.
void guard_batch_begin(SbGuard *guard, int64_t row, int64_t count, bool pure);
void guard_batch_runs(SbGuard *guard);
// SB_FAULT_EXTERN_MEMORY: it took too much.
int32_t guard_batch_end(SbCall *call);

#endif
