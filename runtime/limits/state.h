// Limits state: what the files of limits share. Nobody else includes it.
//
//   doubt.c       what limits may turn down     observer.c  what the dispatch tells of it
//   doubt_unit.c  what is known of a unit       replay.c    units made once more
//   doubt_keep.c  what that takes, in memory or on disk
#ifndef SBC_RUNTIME_LIMITS_STATE_H
#define SBC_RUNTIME_LIMITS_STATE_H

#include "runtime/limits.h"

// Where rows stand among all that come into a stage.
typedef struct GatePlace {
    uint16_t way;
    uint32_t unit;
} GatePlace;

// The stage that reads a limit, or a sink that takes so many rows. Tasks of the stage begin in
// order, and take their rows as they begin.
typedef struct Gate {
    bool      is;
    bool      zips;    // A side of a zip.
    int64_t   skip, limit;  // Rows that it passes over, and takes, the skipped ones included.
    int64_t   rows;    // That came so far, at most the limit.
    bool      ended;   // It has all that it takes.
    GatePlace end;     // The unit of the last row that it takes.
} Gate;

// What flows of a unit did at one node of the root's tree.
typedef struct DoubtSlot {
    int64_t    *counts;  // Of [step][SbCount] those from `from` on; all others are zero.
    uint32_t    from, count;
    RejectList  rejects;
    int64_t     taken;   // Rows of the stage's input.
    int64_t     made, end, bytes;  // Of a source: rows, the last cursor, bytes between cursors.
    bool        whole;   // It was read to its end.
    uint64_t    fed;     // Sinks, as bits, for which a partition could take rows.
} DoubtSlot;

typedef struct DoubtNode {
    DoubtSlot *slot;   // nullptr: nothing was done there.
    int64_t    base;   // Rows at the limit before those of the unit; -1: none came.
    uint32_t   piece;  // At a zip: the piece after the last one that has rows of it.
} DoubtNode;

// Of a unit that reads no edges, and whose rows are not on disk: what it takes to make it again.
typedef struct DoubtInput {
    Unit         unit;
    int64_t      kept;         // Bytes of it that stay in memory.
    SbTaskState *keeps;        // Its text is in a task's buffer; or nullptr.
} DoubtInput;

// Of a piece of a zip: what it reads, where these rows stand, and how many came before.
typedef struct DoubtPiece {
    Batch       *held[2];
    SpoolRows    loaded[2];    // Instead, where they came back from disk.
    int64_t      kept;         // Bytes of both.
    int64_t      first[2];
    GatePlace    sides[2];
    int64_t      before;
} DoubtPiece;

// Many may wait for a limit, so that it is small.
struct DoubtUnit {
    struct DoubtUnit *next;    // To be made once more.
    uint32_t     root, number;
    uint32_t     live;         // Flows at work on it.
    bool         cut;          // It has rows.
    bool         stored;       // What of these cannot be read again is on disk.
    bool         due;          // It is to be made once more.
    bool         made;         // It was made once more.
    uint64_t     ordinal;      // Rows of breakers and of both sides, as a Unit has them.
    int64_t      row, rows;
    DoubtInput  *input;        // nullptr: it needs none to be made again.
    DoubtPiece  *piece;        // nullptr: it is no piece of a zip.
    Trouble     *trouble;      // It cannot be read; nullptr: it can, as far as is known.
    SpillRun    *runs;         // Where it is stored: text, rows of a breaker, or of both sides.
    DoubtNode    nodes[];      // The root's is the last.
};

typedef struct DoubtRoot {
    const Tree *tree;
    bool        watched;       // A stage of its tree is in doubt.
    DoubtUnit **units;         // A ring, in the order of their numbers.
    uint32_t    first, count, cap;
} DoubtRoot;

struct Limits {
    Dispatch   *d;                 // nullptr: not opened.
    // The parts of the job that limits use. The job owns them.
    const SbJob *what;
    const Options *options;
    const Sink *sinks;
    Edge       *edges;
    pthread_mutex_t *fills;        // By lane.
    Spill      *spill;
    SbMemory   *memory;
    Trouble    *trouble;
    int64_t     kept_max;          // Of `kept`.
    bool       any;
    bool       settling;
    Gate       gates[STAGES_MAX][2];  // By stage of the plan and side.
    Bits       leads;              // Stages that are in doubt.
    bool       by_taken[2 * STAGES_MAX];  // By breaker: an edge that counts what readers take.
    int64_t    taken[STAGES_MAX];  // By stage: rows that readers of such edges took.
    DoubtRoot  roots[STAGES_MAX];
    int64_t    kept;               // Bytes in memory that units need to be made once more.
    DoubtUnit *due;                // The next unit that is to be made once more.
    uint32_t   due_count;          // Units to be made once more, with those that a thread is at.
};

typedef enum Share : uint8_t { SHARE_NONE, SHARE_PART, SHARE_ALL } Share;

// ---- the dispatch's lock is held ----------------------------------------------------------------

void doubt_open(Limits *limits);
void doubt_close(Limits *limits);
// Limits that want no rows, or no more, say so.
void doubt_start(Limits *limits);

// The flow of a stage is launched. False: no memory.
bool doubt_launch(Limits *limits, Flow *flow);
// A fault after all pieces of a zip. False: no memory.
bool doubt_fault(Limits *limits, uint32_t zip, uint32_t piece, RejectList *list);
// The unit of the flow cannot be read. True: that ends the job now.
bool doubt_unreadable(Limits *limits, const Flow *flow, const Trouble *trouble);
// The flow takes from its partition what the limit that its stage reads leaves it.
void doubt_take(Limits *limits, Flow *flow);
// The sink took so many rows, and has by then all that it takes, if `done`.
void doubt_sink(Limits *limits, const Flow *flow, int64_t rows, bool done);
// Is what the stage counts in doubt? Then doubt_keep takes it. False: no memory.
static inline bool doubt_leads(const Limits *limits, uint32_t stage) {
    return bits_have(&limits->leads, stage);
}
bool doubt_keep(Limits *limits, Flow *flow, Partition *partition);
// How many rows of a partition that the flow's stage makes could still be taken from terminal `t`.
int64_t doubt_quota(const Limits *limits, const Flow *flow, uint32_t t);
// The flow ends with a part of its launch that it has not begun.
void doubt_give_back(const FlowMore *more);
// Something happened: makes final what is certain.
void doubt_settle(Limits *limits);
// Could units that the stage is needed for be made once more?
bool doubt_holds(const Limits *limits, uint32_t stage);
// The figures of edges that are counted where they are taken.
void doubt_conclude(Limits *limits);

// How much of the unit is wanted at a node: along its edge, and of what the stage there makes.
Share doubt_share(const Limits *limits, uint32_t root, uint8_t node, uint32_t unit);
Share doubt_share_of_stage(const Limits *limits, uint32_t root, uint8_t node, uint32_t unit);
// Are the unit's rows to be judged once more at a node? They are if a part of them is wanted. They
// are too if a branch of the stage went on after the last row of its sink, and another one did not.
bool doubt_again(const Limits *limits, const DoubtUnit *unit, uint8_t node);
// What takes the rows at a node, if that is a limit (Gate.is).
const Gate *doubt_gate(const Limits *limits, uint32_t root, uint8_t node);
// ---- doubt_unit.c: the lock is held -------------------------------------------------------------

// A unit after all others of its root; nullptr: no memory.
DoubtUnit *doubt_unit_new(Limits *limits, uint32_t root, uint32_t number);
// The unit of that number, if it is in doubt.
DoubtUnit *doubt_unit_find(const DoubtRoot *root, uint32_t number);
// The first unit of the root is in doubt no more.
void doubt_unit_free_first(Limits *limits, DoubtRoot *root);
// What it reads. Rows that are on disk are not there yet.
Unit doubt_unit_input(const DoubtUnit *unit);
// What was done at a node; nullptr: no memory.
DoubtSlot *doubt_slot(Limits *limits, DoubtUnit *unit, uint8_t node);
// The stage there has judged the rows of the partition. False: no memory.
bool doubt_slot_add(const Limits *limits, DoubtSlot *slot, Partition *partition);
// Nothing was done there: it is counted once more.
void doubt_slot_empty(DoubtSlot *slot);

// ---- doubt_keep.c: the lock is held -------------------------------------------------------------

// Of what the memory of the job leaves.
void doubt_open_keep(Limits *limits, int64_t ledger, uint32_t lanes);
// The flow has made a partition, which may be the last of its unit. What the unit needs to be made
// once more goes to disk, if there is no room for it. The lock is let go meanwhile.
void doubt_put_away(Limits *limits, Flow *flow, uint32_t thread);
// The flow ends: what is not on disk stays.
void doubt_leave(Limits *limits, Flow *flow);
// What the unit kept, anywhere, goes.
void doubt_forget(Limits *limits, DoubtUnit *unit);
// A unit that is made once more, and its rows of both sides that came back from disk.
typedef struct DoubtAgain {
    Unit      unit;
    SpoolRows rows[2];
} DoubtAgain;

// Without the lock: finds the rows of `again`, which is as doubt_unit_input has it. `task`, which
// has none, is to hold its text. False: `trouble` is set.
bool doubt_bring_back(Limits *limits, DoubtUnit *unit, SbTaskState *task, DoubtAgain *again,
                      Trouble *trouble);

// ---- replay.c -----------------------------------------------------------------------------------

// Makes a unit once more, where one is due: what it counts goes into the slots of nodes where it
// has a part. The lock is held before and after. False: none is due.
bool replay_work(Limits *limits, uint32_t thread);

#endif
