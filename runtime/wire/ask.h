// Ask: what a worker is to do for a task: begin with a unit or with rows, go on, and how far.
#ifndef SBC_RUNTIME_WIRE_ASK_H
#define SBC_RUNTIME_WIRE_ASK_H

#include "runtime/host.h"
#include "runtime/input.h"
#include "runtime/rows.h"
#include "runtime/abi/program.h"

typedef enum WireKind : uint16_t {
#define TO_WORKER(name, doc) WIRE_##name,
#define TO_COORDINATOR(name, doc) WIRE_##name,
#include "runtime/wire/kinds.def"
    WIRE_KINDS,
} WireKind;

// "HELLO"; "?" of a kind that there is not.
const char *wire_kind_name(uint16_t kind);

// From which rows the task makes its partition.
typedef enum AskRows : uint8_t {
    ASK_BEGIN,  // The first of `unit`; the task is new.
    ASK_ON,     // Those after its last partition.
    ASK_MORE,   // The first of `unit`; batches of rows go on from those before.
} AskRows;

enum { ASK_TABLES_MAX = 16 };  // As NEEDS_MAX of the cores.

// Slots of each resource in thousandths: those of a worker, or those that a task takes.
enum { WIRE_SLOTS_MAX = 8 };  // As RESOURCES_MAX of the cores.
typedef struct WireSlots {
    uint32_t count;
    uint32_t amounts[WIRE_SLOTS_MAX];
} WireSlots;

void wire_put_slots(Text *text, const WireSlots *slots);
// False: these bytes are none.
bool wire_get_slots(Unpack *from, WireSlots *slots);

// Numbers of a unit go over the wire. Where its text and its rows lie does not (Unit.text,
// Unit.entries), nor what holds them.
typedef struct Ask {
    uint32_t  task, stage;
    AskRows   rows;
    bool      splits;      // As SbTask's.
    bool      goes_back;   // Where there is no memory for the rows, the task goes back and says so.
    bool      starts;      // `start` is known.
    WireSlots slots;       // What the task takes.
    uint32_t  set;         // Of lanes, that breakers get its rows in.
    UnitsChain start;      // Where the rows of a chained unit begin.
    Unit      unit;
    const SbEntry *const *entries[2];  // Rows of edges; nullptr: there are none.
    const SbEntry *const *batch;       // All rows of the partition, which another process made:
                                       // before the first is read they are compared with `sum`.
                                       // nullptr: there are none, or they were.
    int64_t   batch_rows;
    RowSum    sum;
    int64_t   asks_from;   // As UnitBuffer's.
    int64_t   weight;      // As Partition's.
    int64_t  *quota;       // By terminal, as Partition's. The caller's room.
    // By need of the stage: the tables of joins, which lie in the arena of the coordinator.
    SbTable   tables[ASK_TABLES_MAX];
} Ask;

void wire_put_unit(Text *text, const Unit *unit);
void wire_get_unit(Unpack *from, Unit *unit);

void wire_put_ask(Text *text, const SbStage *stage, const Ask *ask);
// Reads the numbers of the task and the stage only.
bool wire_peek_ask(Unpack from, uint32_t *task, uint32_t *stage);
// Reads what the task takes only. False: these bytes are no such message.
bool wire_peek_slots(Unpack from, WireSlots *slots);
// `quota` has room for the terminals of the stage. False: these bytes are no such message.
bool wire_get_ask(Unpack *from, const SbStage *stage, Ask *ask);

// ---- which right rows are kept ------------------------------------------------------------------

// A filter in the arena of the coordinator.
void wire_put_filter(Text *text, uint32_t breaker, const SbKeyFilter *filter);
// False: these bytes are no such message of the job.
bool wire_get_filter(Unpack *from, const SbJob *what, uint32_t *breaker, SbKeyFilter *filter);

// ---- where units begin --------------------------------------------------------------------------

typedef struct WireChain {
    uint32_t stage;
    uint64_t ordinal;      // Of the unit that begins there.
    UnitsChain start;
} WireChain;

void wire_put_chain(Text *text, const WireChain *chain);
bool wire_get_chain(Unpack *from, WireChain *chain);

#endif
