// Probe: how a task looks rows up in joins whose right side is on disk.
//
// The task works on its unit in pieces. Of a piece the stage first only says which keys its rows
// look up (SbStage.ask), join after join. The right rows with these keys are read into a table of
// the task. Then the stage runs on the piece as it would with whole tables. So left rows, their
// rejects, their order and what a limit after the join asks for are the same as in memory. No left
// row is ever written.
//
// Where the units can be taken twice, all of them say what they look up before the first one runs
// (probe_ahead.h). Then a unit finds its right rows side by side.
//
// A piece has as many rows as leave the tables their share of the memory. What one key has beyond
// its share is read on while a row goes along the key's chain (sb_join_more).
#ifndef SBC_RUNTIME_PROBE_H
#define SBC_RUNTIME_PROBE_H

#include "runtime/breakers.h"

typedef struct SbTaskState SbTaskState;
typedef struct TaskSetup TaskSetup;
typedef struct Unit Unit;
typedef struct ProbeAhead ProbeAhead;

// What the units of a stage were told before it runs.
struct ProbeAhead {
    SpillJoin **answers;     // By join of the Probe: those of the first `count`.
    uint32_t    count;
    uint64_t   *units;       // By ordinal: probe_unit_name of those that asked.
    int64_t     unit_count, unit_room;
};

// One join of the stage.
typedef struct ProbeJoin {
    SpillJoin       *join;
    uint32_t         breaker;
    SbTable          table;
    uint64_t        *slots;
    int64_t          slot_count;
    SpillJoinRows    rows;       // Of the table.
    SpillJoinRows    more[2];    // Of a chain that is cut: the rows that the stage is at, in number
    uint32_t         turn;       // `turn`, and those before them.
    SpillJoinCursor  cursor;     // Where they are read.
} ProbeJoin;

typedef struct Probe {
    SbMemory       *memory;
    const SbTable **tables;      // By breaker: what the task sees.
    ProbeJoin      *joins;       // In the order of the rows' way.
    uint32_t        count;       // 0: all tables are in memory.
    int64_t         end;         // Of the piece whose tables are there; INT64_MIN: of none.
    int64_t         bytes;       // The share of a table.
    uint64_t       *asks;        // Hashes of keys.
    int64_t         ask_count, ask_room;
    int64_t         asked;       // How many rows asked.
    int64_t         asks_max;    // Asks that a piece may have; its last row may ask more.
    int64_t         asks_limit;  // The most asks that a piece ever has.
    bool            no_room;     // There was no memory for an ask.
    bool            asking;      // The stage only asks.
    bool            too_much;    // No memory holds all that the unit looks up.
    bool            starved;     // There was no memory to read on along a chain that is cut.
} Probe;

// For a stage all of whose tables are finished. False: no memory.
bool probe_open(Probe *probe, const TaskSetup *setup);
void probe_close(Probe *probe);
// The task begins with a unit, or with a partition of one.
void probe_begin(Probe *probe);
// Lets the tables go.
void probe_drop(Probe *probe);
// Runs the task's stage until it returns.
int32_t probe_run(SbTaskState *state, uint32_t thread);

// The hashes that the rows after the task's cursor look up in join number `join`, in probe->asks,
// each once, as far as there is room; those before it are answered. Moves the cursor after the
// rows. False: there is no memory, or trouble.
bool probe_ask(SbTaskState *state, uint32_t join);
// The same for a join before which no other one stands, while no table is there yet.
bool probe_ask_first(SbTaskState *state, uint32_t breaker);
// Says which rows the unit has.
uint64_t probe_unit_name(const Unit *unit);

#endif
