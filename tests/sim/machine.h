// Machine: the inside of sim.c, for the files that share it.
#ifndef SBC_TESTS_SIM_MACHINE_H
#define SBC_TESTS_SIM_MACHINE_H

#include "tests/sim/sim.h"

#include <stddef.h>

enum {
    CHAIN_MAX = LAUNCH_PARTS_MAX,
    REDO_MAX = 512,
    NODES_SIMULATED = 8,
    TAKEN_MAX = 4096,
    TASKS_MAX = 1 << 16,
    SIM_PARTS_MAX = 1 << 20,
};

typedef struct Rows {
    StageId root;
    int64_t row, rows;
    uint32_t piece;
    uint32_t item;  // Of a task: the number of this work (Action.item).
} Rows;

typedef struct SimPart {
    uint32_t unused;  // Next of the free list.
    NodeId node;
    bool alive;
    bool late;     // Of a later unit, of the plan's source.
    bool writing;  // To disk.
    bool spilled;
    bool corrupt;  // Whoever reads it next finds that.
    Rows rows;
    int64_t bytes;
} SimPart;

// What a task reads for a piece of its work.
typedef struct Reads {
    PartId parts[2];
    uint64_t data[2];
    int count;
} Reads;

typedef struct SimTask {
    StageId stage;
    NodeId node;
    uint32_t life;  // What happens to an earlier one of the same number is ignored.
    bool again;     // Breakers have its rows.
    bool reads_from[NODES_SIMULATED];  // Other nodes that it has to copy from.
    bool running, canceled, paused, late, long_unit;
    bool stopped;   // It knows that it is canceled.
    bool begun;     // It knows that it is launched.
    bool waits;     // For an answer.
    bool computed;  // The segment is; what it asks for is not all there.
    bool asked;     // For the atom of the segment.
    int64_t load_bytes;
    uint32_t unit;         // Of a root.
    Rows *rows;            // Of its inputs, one after the other; CHAIN_MAX at most.
    Reads *reads;          // Of each of them.
    uint32_t count, at;
    int64_t batched;       // Rows of the launch that were computed.
    int64_t done, segment, busy;
    uint8_t fill;  // Breakers that have the segment's rows.
    uint32_t outputs;  // Of this item.
} SimTask;

// What a task reads before it begins. One without a slot waits for it as if it read some MiB more.
static inline int64_t bytes_ahead(const Action *action, int64_t input) {
    enum : uint32_t { WAITS = 8, MIB = 20 };
    return (action->load ? input : 0) +
           (action->ahead ? (int64_t)(action->task.i % WAITS) << MIB : 0);
}

typedef enum Happening : uint8_t {
    HAPPEN_TICK,
    HAPPEN_TASK,
    HAPPEN_UNITS,
    HAPPEN_CUT,
    HAPPEN_BOUND,
    HAPPEN_SPILLED,
    HAPPEN_SHRUNK,
    HAPPEN_FINISHED,
    HAPPEN_FLUSHED,
    HAPPEN_LOSS,
    HAPPEN_RETURN,
    HAPPEN_CORRUPT,
    HAPPEN_DRAIN,
    HAPPEN_UNDRAIN,
    HAPPEN_RESIZE,
    HAPPEN_FLUSH,
    HAPPEN_FLIGHT,
    HAPPEN_PULSE,
} Happening;

typedef struct Pending {
    int64_t at;
    uint64_t number;
    Happening what;
    TaskId task;
    PartId part;
    BreakerId breaker;
    NodeId node;
    StageId stage;
    uint32_t life;  // Of the task or the node, when it was said.
    int64_t bytes;
    uint64_t data;
} Pending;

// What the schedule says to a node.
typedef enum OrderKind : uint8_t {
    ORDER_GO,     // The task begins, or goes on.
    ORDER_PAUSE,  // It gives its slot back.
    ORDER_STOP,   // Nobody wants it.
    ORDER_WORK,   // Something that takes time.
} OrderKind;

typedef struct Order {
    OrderKind kind;
    TaskId task;
    uint32_t life;
    Pending pending;  // ORDER_WORK: what happens then,
    int64_t takes;    // after so long.
} Order;

// What a node says to the schedule.
typedef struct Report {
    Event event;
    bool ends;  // The task is done with an item, which was these rows.
    Rows rows;
    uint32_t item, outputs;  // Of an output or an end: the number of the work, and its outputs.
} Report;

// What the machine knows of the units of a root.
typedef struct SimRoot {
    uint32_t begun, cut;  // Units that have begun at least once; of a serial root: that are cut.
    bool told;            // The cores know how many there are.
} SimRoot;

// Rows that went into a sink or a breaker: for good, or until their node is lost.
typedef enum Safety : uint8_t { NOTED_SAFE, NOTED_UNSAFE, NOTED_FLUSHING } Safety;
typedef struct Noted {
    StageId stage;
    NodeId node;
    Safety safety;
    Rows rows;
} Noted;

// Rows that a stage put into breakers.
typedef struct Kept {
    int64_t rows, sum;
} Kept;

typedef struct Sim {
    const Workload *load;
    const SimOptions *options;
    SimResult result;
    CorePlan plan;
    Schedule *schedule;
    Streams *streams;
    SimTask *tasks;
    uint32_t task_count;  // Ever launched, by the highest number.
    Rows (*chains)[CHAIN_MAX];  // Of the tasks.
    Reads (*reads)[CHAIN_MAX];
    SimPart *parts;
    uint32_t part_count, part_unused;
    Pending *heap;
    size_t heap_count, heap_max;
    uint64_t numbers, random;
    int64_t now;
    Cursor cursors[STAGES_MAX][2];    // Of sinks, and of both sides of zips.
    Rows (*redo)[REDO_MAX];           // What failed in sinks and zips comes again.
    uint32_t redo_count[STAGES_MAX];
    SimRoot roots[STAGES_MAX];
    uint32_t bounds[STAGES_MAX];  // Of roots.
    Noted *noted;                 // Where there are bounds.
    size_t noted_count, noted_max;
    uint32_t open[STAGES_MAX];  // Tasks that have begun and not ended.
    int64_t zip_rows[STAGES_MAX], limit_left[STAGES_MAX];
    uint32_t zip_unit[STAGES_MAX];
    bool uneven[STAGES_MAX];        // The zip was said to be.
    int64_t committed[STAGES_MAX];  // Rows of sinks.
    int64_t kept[BREAKERS_MAX], kept_sum[BREAKERS_MAX];
    // By node: rows in breakers that go with it; of those, what is being made safe.
    Kept unsafe[STAGES_MAX][NODES_SIMULATED], flushing[STAGES_MAX][NODES_SIMULATED];
    uint32_t lives[NODES_SIMULATED];
    bool down[NODES_SIMULATED];
    bool drains[NODES_SIMULATED], idle[NODES_SIMULATED];
    Rows *taken;  // What limits took of their items, for those that run again.
    uint32_t taken_count;
    struct Network *network;  // Null: nodes hear and are heard at once.
    uint32_t *numbers_taken;  // By the number of work: outputs that were counted.
    uint32_t number_max;
    int64_t counted[STAGES_MAX], counted_ends[STAGES_MAX];  // Rows of outputs, and of work.
    bool denied;  // The last answer to a breaker.
    bool ended;
} Sim;

typedef struct Network Network;

void sim_fail(Sim *sim, const char *why);
void sim_step(Sim *sim, Event event);
void sim_push(Sim *sim, Pending pending);
// The partition, which is there and may be read.
const SimPart *sim_part(Sim *sim, uint64_t id);
// The node says something.
void sim_tell(Sim *sim, NodeId node, Report report);
void sim_task_over(Sim *sim, SimTask *task);
// The task ends without a result.
void sim_fail_task(Sim *sim, TaskId id);
// Does what the schedule said.
void sim_act(Sim *sim, const Action *action);
// Something that was to happen has happened.
void sim_happen(Sim *sim, const Pending *pending);
// The node does what it was told.
void sim_obey(Sim *sim, const Order *order);
// The coordinator hears of it; or never will.
void sim_take(Sim *sim, const Report *report);
void sim_forget(Sim *sim, const Report *report);

int64_t rows_of_root(const Sim *sim, StageId root);
uint32_t units_of_root(const Sim *sim, StageId root);
// Of a source or the reader of a breaker.
uint32_t unit_of(const Sim *sim, const Rows *rows);

// Are all rows that are made of the unit in sinks, and all of them committed?
bool is_committed(const Sim *sim, StageId root, uint32_t unit);

// ---- faults.c -----------------------------------------------------------------------------------

// The process on the node is gone, and the coordinator does not know.
void sim_stop(Sim *sim, NodeId node);
// The coordinator gives the node up; it can be used again.
void sim_lose(Sim *sim, NodeId node);
void sim_up(Sim *sim, NodeId node);
// The node is lost, and comes back after a while.
void happen_loss(Sim *sim, NodeId node);
// Some partition cannot be read any more.
void happen_corrupt(Sim *sim);
// The task finds that what it reads cannot be read, says so and ends. False: all is well.
bool finds_corrupt(Sim *sim, TaskId id);
// A node begins nothing more; it may be used again.
void happen_drain(Sim *sim, NodeId node);
void happen_undrain(Sim *sim, NodeId node);
// The node has another memory from now on.
void happen_resize(Sim *sim, NodeId node);
void happen_flush(Sim *sim);
// The cores say that nothing is left on a node that drains. Is that so?
void note_idle(Sim *sim, NodeId node);
// Nothing may begin on the node, or go on after a pause, while it drains.
void check_drain(Sim *sim, NodeId node);
// What will happen to nodes and partitions; nodes that are not there from the start.
void plan_faults(Sim *sim);

// ---- places.c -----------------------------------------------------------------------------------

// Does the table turn out to be of the first node alone?
bool sim_goes_home(const Sim *sim, BreakerId breaker);
// Does the task run where its stage may, and read what it may read there?
void check_place(Sim *sim, const Action *action);

// ---- counts.c -----------------------------------------------------------------------------------

// A launch takes work of that number.
void number_launched(Sim *sim, const Action *action);
void take_counts(Sim *sim, const Report *report);
// Was each output, and each end, counted once?
void check_counts(Sim *sim);

// ---- bounds.c -----------------------------------------------------------------------------------

// May rows be missing because nobody wants them?
bool is_bounded(const Sim *sim);
bool behind_bound(const Sim *sim, const Rows *rows);
// Does the task work behind a bound? Pieces of a zip that were made before it may have lost their
// partitions: these are made again.
bool is_unwanted(const Sim *sim, const SimTask *task);
// The task has taken the rows. What only its node has is noted as that: until it is flushed.
void note_taken(Sim *sim, const SimTask *task, const Rows *rows);
void note_flush(Sim *sim, StageId stage, NodeId node);
void note_flushed(Sim *sim, StageId stage, NodeId node);
void note_lost(Sim *sim, NodeId node);
// Bounds that will come at random times; some come now.
void plan_bounds(Sim *sim);
void happen_bound(Sim *sim);
// A running task finds that it has to be the last, or that the one before it has.
void bound_by_task(Sim *sim, TaskId id);
// The stage has taken all rows that were wanted of it.
void check_complete(Sim *sim, StageId stage);

#endif
