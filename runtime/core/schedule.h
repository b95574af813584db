// Schedule: which work runs next, and where. Events in, actions out.
//
// A task is a stage at work on one item: a unit of a root, one partition, or for a zip a piece of
// two. It runs on a slot of a node (the resources that its stage demands), hands over output
// partitions one by one, and is told after each whether it goes on. A task that may not go on
// gives its slot back and is resumed later, at the same place, on the same node.
//
// Three things decide. The ledger says what may run at all. Pacing says how fast sources may go,
// and how many tasks a stage needs. The rows that wait after each stage say which of the tasks that
// could run does.
//
// schedule_step takes one event and returns what is to be done; README.md draws a run.
#ifndef SBC_RUNTIME_CORE_SCHEDULE_H
#define SBC_RUNTIME_CORE_SCHEDULE_H

#include "runtime/core/ledger.h"
#include "runtime/core/policy.h"
#include "runtime/core/states.h"

enum { SPILLS_MAX = 8 };  // Partitions that are being written at once, of a node.

typedef struct PartId {
    uint32_t i;
} PartId;  // 0: none.
typedef struct TaskId {
    uint32_t i;
} TaskId;  // 0: none.

// What happened. `task`, `part`, `node`, ... name the fields of Event that count.
typedef enum EventKind : uint8_t {
    EVENT_SKIP,       // Before the start: `count` units of `stage` from `unit` on are committed.
                      // Of a zip its first pieces are, and so many rows of each side
                      // (output_rows) come again that these had.
    EVENT_START,      // Time begins.
    EVENT_OUTPUT,     // A running task hands a partition over; unless it is its last, it asks
                      // whether it goes on. bytes, rows, output_rows, checksum, data, last,
                      // busy.
    EVENT_DONE,       // A running task has ended without a last partition. rows: of a fill.
    EVENT_NEXT,       // The same, of a task that has more partitions of its launch.
    EVENT_NEED,       // A running task asks for `bytes`: for itself, or if `fills`, for `breaker`.
                      // `must`: for itself, and it is not denied. While it waits others get nothing
                      // of the common pool, and units of its root after it do not begin.
    EVENT_ENOUGH,     // The stage of a running task, or `stage` where no task is named, wants no
                      // rows but those of tasks that have begun. Also before the start.
    EVENT_UNITS,      // The root `stage` has `count` units in all. Those after that have begun end
                      // without rows.
    EVENT_BOUND,      // Of the root `stage`, the units from `unit` on are not wanted, nor anything
                      // that was made of them down to the next breakers. A bound only gets lower.
                      // Zips that its rows come into make no more pieces; what comes to them, or
                      // to a zip after its own bound, goes nowhere.
    EVENT_DRAIN,      // The run ends early, with what has begun. What comes into breakers is for
                      // the next run: from now on each is complete before it is freed.
    EVENT_CUT,        // A running task of a root (CoreStage.serial) knows where its unit ends.
    EVENT_FAILED,     // A running task ended without a result: it is to be run again.
    EVENT_SPILLED,    // Answers ACTION_SPILL: `part` is on disk. Each task that reads it brings it
                      // back, as so many bytes.
    EVENT_HOLD,       // `breaker` asks for `bytes` of `node`. ACTION_HOLD answers at once: where it
                      // is denied the breaker writes what it holds, and needs no more than its
                      // floor for that.
    EVENT_RELEASE,    // `breaker` gives `bytes` of `node` back, unasked.
    EVENT_SHRUNK,     // Answers ACTION_SHRINK: `breaker` wrote `bytes` of `node` to disk.
    EVENT_FINISHED,   // Answers ACTION_FINISH: `breaker` has `count` units of `bytes` each; or
                      // UNITS_LATER: EVENT_UNITS says how many, for each of its readers. `home`:
                      // only the first node has its table, so that stages that probe it run there.
    EVENT_FLUSHED,    // Answers ACTION_FLUSH: what tasks of `stage` that have ended on `node` put
                      // into breakers is safe, all of it.
    EVENT_FLUSH,      // What tasks of `stage` put into breakers is to be made safe now, on all
                      // nodes. Nothing follows where nothing has ended since it was made safe.
    EVENT_NODE_LOST,  // Nothing more comes from `node`, and what it had is gone. Of a plan that
                      // shares, partitions stay: those too that are being written. Also before
                      // the start: the plan names as many nodes as there may ever be, and the
                      // caller takes away those that are not there yet.
    EVENT_NODE_UP,    // `node` can be used, again and empty; of a plan that shares, with the
                      // partitions that are left there.
    EVENT_NODE_DRAIN, // `node`, which is not the first, is to begin nothing more. What runs there
                      // goes on, what is paused is dropped. ACTION_NODE_IDLE says when nothing is
                      // left, unless the node is lost before; EVENT_NODE_UP ends the drain.
    EVENT_PART_LOST,  // The `data` of `part` cannot be used: a task whose launch took it has found
                      // that, and says so before it fails (EVENT_FAILED). It is made again, and the
                      // data is freed when no task reads it. Of what is being written this
                      // answers ACTION_SPILL. It is not of rows of a zip, and nodes are several.
                      // What is said of data that was made again since counts for nothing.
    EVENT_MEMORY,     // From now on `node` has `bytes` of memory: the minimum of schedule_init at
                      // least, what the plan says at most. What was given beyond comes back as it
                      // becomes free.
    EVENT_TICK,       // The time that ACTION_TIMER asked for.
} EventKind;

typedef struct Event {
    EventKind kind;
    TaskId task;
    PartId part;
    BreakerId breaker;
    NodeId node;
    StageId stage;
    int64_t now;  // Nanoseconds; never less than before.
    int64_t bytes, rows;
    // Of the rows, those that go along each output of the stage, and the bytes that they fill.
    int64_t output_rows[OUTPUTS_MAX], output_bytes[OUTPUTS_MAX];
    uint64_t checksum;  // Of the rows, in order, wherever they are made. 0: it is not known.
    uint64_t data;      // The caller's name of the output; launches and frees give it back.
    uint32_t unit, count;
    bool last;  // The task ends with this output.
    bool next;  // Its partition does: it goes on to the next one of its launch (EVENT_NEXT).
    bool fills, must;
    bool home;  // Of EVENT_FINISHED.
    int64_t busy;  // Nanoseconds that the task computed since the last event of it.
} Event;

typedef enum ActionKind : uint8_t {
    ACTION_LAUNCH,  // A task begins: at `unit`, or at the partition `data`. It makes all of its
                    // outputs, those that an earlier attempt made too: the schedule compares and
                    // frees them. `again`: breakers have its rows already.
    ACTION_PIECE,   // A task of a zip begins: `rows` rows of `data` from row `row` on, beside as
                    // many of `other` from row `other_row` on. `unit` is its number.
    ACTION_UNEVEN,  // One side of the zip `stage` has come to its end, and the other has one more
                    // row, which piece `unit` would begin with. The zip makes no more pieces.
    ACTION_ADD,     // The launch before takes this partition too, after the others. `load`: it
                    // is brought when the task comes to it. `item`, `outputs`: of this partition.
    ACTION_RESUME,  // A paused task goes on. `denied`: without the bytes that it asked for.
    ACTION_GO_ON,   // Answers OUTPUT, NEXT and NEED: the task keeps its slot.
    ACTION_PAUSE,   // Answers the same events: the task gives its slot back.
    ACTION_CANCEL,  // A running task is to stop; its last event is EVENT_DONE. Also answers NEXT,
                    // where the next partition of a launch is not wanted or was found lost.
    ACTION_DROP,    // A paused task is to be forgotten.
    ACTION_FREE,    // Nobody needs the partition any more.
    ACTION_SPILL,   // Write the partition to disk.
    ACTION_HOLD,    // Answers EVENT_HOLD: the breaker has `bytes` more, unless `denied`.
    ACTION_SHRINK,  // The breaker is to write what it holds on the node, `bytes`, to disk.
    ACTION_FINISH,  // All rows of the breaker are in.
    ACTION_FLUSH,   // Make safe what tasks of the stage put into breakers on the node.
    ACTION_CLOSE,   // Nobody needs the breaker any more.
    ACTION_NODE_IDLE,  // On the node that drains nothing is left but partitions. What its breakers
                       // held there counts no more.
    ACTION_TIMER,   // Send EVENT_TICK at `at`.
    ACTION_END,     // All work is done.
    ACTION_DIFFERS, // What `stage` made again is not what it had made. Nothing more happens.
    ACTION_BROKEN,  // The events contradict the table of states: `text`. Nothing more happens.
} ActionKind;

typedef struct Action {
    ActionKind kind;
    StageId stage;
    NodeId node;
    TaskId task;
    PartId part;
    BreakerId breaker;
    uint32_t unit;
    bool of_unit;  // Of a launch: its input is a unit, not a partition.
    bool load;     // Its input is not in the memory of the node: it brings it first.
    bool again;
    bool denied;
    bool ahead;    // Of a launch: it has no slot yet. Its node begins it when its slots allow.
    // Of a launch: the number of what it works on. Each attempt at that has the same one: a second
    // one beside a slow one, and those after a loss or a failure. Only `again` makes outputs anew
    // under another number. `outputs`: those that attempts before have handed over; UINT32_MAX:
    // all, and one has come to its end.
    //
    // A number means nothing else as long as an attempt runs or is paused. After that any launch
    // may use it for other work, and no action says so. So whoever counts each output once keeps by
    // number how many it took, and sets that to `outputs` at each LAUNCH, PIECE and ADD. It takes
    // what a task hands over beyond, and nothing of a canceled task. Nothing has to be forgotten.
    uint32_t item, outputs;
    PartId side;   // Of a piece: the partition of `other`.
    uint64_t data, other;
    int64_t row, other_row, rows;
    int64_t bytes, at;
    const char *text;
} Action;

typedef struct Schedule Schedule;

typedef enum CoreFault : uint8_t {
    CORE_OK,
    CORE_MEMORY_BELOW_MINIMUM,
    CORE_PLAN_TOO_WIDE,
} CoreFault;

// Bytes that schedule_init needs for the plan.
size_t schedule_bytes(const CorePlan *plan);
// Builds a schedule in its room, which is aligned to 16 and may hold anything. *minimum: bytes of
// memory that a node needs at least.
CoreFault schedule_init(Schedule *schedule, const CorePlan *plan, PolicyId policy,
                        int64_t *minimum);

// Takes an event; returns its actions, which are valid until the next call.
typedef struct Actions {
    const Action *items;
    uint32_t count;
} Actions;
Actions schedule_step(Schedule *schedule, const Event *event);

// What the simulator and the progress line look at.
typedef struct StageFigures {
    uint32_t running, paused, ready;
    int64_t waiting_bytes;  // That rows fill which wait in front of it.
    uint64_t launched, ended;
    bool blocked;  // When it was last looked at, memory was missing.
} StageFigures;
StageFigures schedule_figures(const Schedule *schedule, StageId stage);
// Stages that make and take no more rows.
const StageSet *schedule_over(const Schedule *schedule);
static inline bool schedule_is_over(const Schedule *schedule, StageId stage) {
    return set_has(schedule_over(schedule), stage);
}
// How far the rows of an edge have been consumed, in the order of the rows.
typedef struct Front {
    bool done;       // None is left, and none will come.
    uint8_t region;  // The first region (order.h) whose rows are not all consumed.
    uint32_t unit;   // Its first unit that is not; UNITS_LATER: all that have begun are.
} Front;
Front schedule_front(const Schedule *schedule, EdgeId edge);
// The region that the units of a root fill on an edge of its reach (Shape.reach), by its number
// there.
uint8_t schedule_region(const Schedule *schedule, StageId root, uint8_t node);
// Does nobody want rows of the edge any more?
bool schedule_closed(const Schedule *schedule, EdgeId edge);
// Have all rows that `stage` makes of the root's units before `unit` gone where it puts them, and
// are those in breakers safe? It looks at all items.
bool schedule_is_safe(const Schedule *schedule, StageId stage, StageId root, uint32_t unit);
const Shape *schedule_shape(const Schedule *schedule);
const Ledger *schedule_ledger(const Schedule *schedule, NodeId node);
int64_t schedule_minimum(const Schedule *schedule);   // As schedule_init says.
uint32_t schedule_parts(const Schedule *schedule);    // Alive.
uint16_t schedule_spools(const Schedule *schedule);   // Edges.
uint64_t schedule_twins(const Schedule *schedule);    // Second attempts.
uint64_t schedule_ahead(const Schedule *schedule);    // Launches beyond slots.
uint64_t schedule_spilled(const Schedule *schedule);  // Bytes of partitions and breakers.

// Checks what must hold between events; returns null, or what does not hold. Constant time, but for
// `whole`, which looks at every record.
const char *schedule_check(const Schedule *schedule, bool whole);

#endif
