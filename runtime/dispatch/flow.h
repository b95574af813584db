// Flow: a task of the schedule, and the partitions that tasks read and make, as the dispatch and
// its observers see them. The lock of the dispatch guards all of it.
#ifndef SBC_RUNTIME_FLOW_H
#define SBC_RUNTIME_FLOW_H

#include "runtime/core.h"
#include "runtime/input.h"
#include "runtime/job.h"
#include "runtime/rejects.h"
#include "runtime/wire.h"

typedef struct Dispatch Dispatch;
typedef struct DoubtUnit DoubtUnit;  // What runtime/limits keeps of a unit.

enum : uint8_t { NODE_ROOT = TREE_MAX };  // Of a tree (core/shape.h): the root itself.

// A partition that the schedule knows. Those on disk may be many: all that is left of one is this,
// and its batches.
typedef struct LivePartition {
    struct LivePartition *next, *prior;
    StageRun   *run;         // Of the stage that made it.
    Partition  *made;        // What has its rows; nullptr: they are on disk.
    uint32_t    root;        // The stage that its flow begins with.
    uint32_t    root_unit;   // The unit of the root that it was made of.
    uint8_t     node;        // Where it was made in the root's tree.
    int64_t     unwritten;   // Bytes that sinks have not had.
    PartId      part;        // Whose data it is; known once it is launched.
    uint64_t    serial;      // Says what it was made of: the same of what is made again.
    MadeBy from;
    Batch      *batches[];   // By terminal; edges only. Those of `made`, or its own.
} LivePartition;

// What earlier attempts at the same work have done. Tasks of a worker that is lost begin anew, and
// slow ones have a second one beside them. All attempts make the same partitions. What a partition
// says of the rows that it judged counts once.
typedef struct Attempt {
    uint32_t   stage;
    uint64_t   key;        // Of the stage: which work it is.
    Unit       unit;       // What the first attempt took.
    bool       taken;      // It has taken it.
    bool       begun;      // Observers were told of the first attempt.
    bool       ended;      // Observers were told that one has come to the end.
    uint32_t   alive;      // Attempts that have begun and not ended.
    uint32_t   partitions; // That were taken over.
    uint32_t   losses;     // Workers of other machines that were lost at it.
} Attempt;

// A partition that a launch takes after others.
typedef struct FlowMore {
    struct FlowMore *next;
    LivePartition *input;
    Batch     *batch;
    int64_t    at, rows;   // As in a flow that begins with it.
    Unit       unit;
    bool       empty;      // It has no rows for the stage.
    bool       loads;
    uint8_t    node;       // Like those of a flow.
    DoubtUnit *doubt;
    Attempt   *attempt;
} FlowMore;

// A task of the schedule, from its launch to its end. Of a stage, or of a sink.
typedef struct Flow {
    struct Flow *next;     // In a queue, or in the list of those not in use.
    FlowMore    *more;     // Partitions that its launch takes after `input`.
    FlowMore    *more_last;
    bool         begins;   // It has not begun: its rows are to be found first.
    TaskId       id;
    StageRun    *run;      // nullptr: it is a task of a sink.
    uint32_t     sink;     // The sink, where `run` is nullptr.
    LivePartition *input;  // That it reads; nullptr: a unit.
    LivePartition *other;  // Of a piece of a zip: the right side; else nullptr.
    Batch       *batches[2];  // Of both, for this stage; nullptr: they have none.
    bool         arrives;  // It has come to a partition that it has to bring.
    bool         loads;    // Not all rows that it reads are in memory.
    SpoolRows    loaded[2];  // Rows that were brought back.
    int64_t      at[2];    // Where the next rows begin in each batch.
    int64_t      rows;     // Rows that are left.
    uint32_t     number;   // Of its unit.
    uint32_t     root;     // The stage that its flow begins with.
    uint32_t     root_unit;  // The unit of the root.
    uint8_t      node;     // The node of the root's tree by which the input came.
    DoubtUnit   *doubt;    // Where it is kept what its unit counts; or nullptr.
    uint32_t     lane;     // LANE_OF_THREAD, or one of its own until it ends.
    Unit         unit;
    SbTaskState *task;
    int64_t      weight;   // Rejects of the unit so far.
    int64_t      made;     // Rows of the unit judged so far.
    int64_t      files;    // `files`: of the unit, judged so far.
    bool         cut;      // Its unit is there.
    bool         empty;    // There is no unit.
    bool         prepared; // Its rows are fixed.
    bool         again;    // Its unit was taken before: it is found by its number (again.c).
    bool         holds;    // The file of that unit is open for it.
    UnitPlace    lies;     // Where that unit lies.
    bool         canceled;
    bool         goes_on;  // The schedule's answer.
    int64_t      need;     // Bytes that it has to ask for before it can go on; 0: none.
    bool         asked;    // It has asked, for the rows that it is at.
    int64_t      text;     // Bytes of a stream's text that it asked for; 0: for all that there is.
    bool         alone;    // It has asked for all that others do without.
    bool         waits;    // In a queue, or paused: no thread is at it.
    Attempt     *attempt;  // At its unit or partition; nullptr: there is but one.
    Attempt     *launch;   // At the unit or partition that it was launched with.
    uint32_t     partitions; // Of `attempt`, made by this flow.
    bool         aside;    // Breakers have the rows that it makes.
    bool         repeats;  // The last one was made before, by another attempt.
    NodeId       place;    // Where its task runs: not the first node, in a worker (far.h).
    AskRows      far_rows; // Of a task in a worker: from which rows its next partition comes.
    bool         lost;     // Its worker is, or what it reads: another flow does its work.
    bool         corrupt;  // What it reads is.
    bool         far_begun;  // The worker knows of the task.
    bool         far_asked;  // The worker has been asked for a partition, and has not answered.
    uint32_t     far_thread; // Who makes that, for those who watch threads.
    bool         far_shown;  // They see it.
    bool         far_unseen; // It is in the queue of those that its worker has no thread for yet.
    bool         fills;    // Of its unit or partition, the worker may hold rows in breakers.
    bool         filled;   // It holds some for sure: of a partition before.
    bool         crowded;  // It begins once there is room for its rows (far_rows.c).
    bool         reads;    // The worker has been asked, and has copies for it.
    int64_t      copied;   // Memory of these copies.
    bool         held;     // It begins once the worker has handed over what is there
                           // (far_breaker.h).
    Partition   *into;     // What the worker is to make; else nullptr.
    char        *answer;   // What the worker said, until it is taken; from malloc.
    int64_t      answer_len;
} Flow;

// ---- rows and records of a flow -----------------------------------------------------------------

// The entries of a batch that it reads, wherever they are; nullptr: still on disk.
const SbEntry *const *flow_entries(const Flow *flow, int side);
typedef struct Judged {
    const Unit *unit;
    int64_t     made;   // Rows.
    int64_t     end;    // The cursor after the last row.
    int64_t     bytes;  // Bytes between the first cursor and `end`.
    int64_t     files;  // `files`: of the unit, judged before.
    bool        whole;  // The unit is judged to its end.
} Judged;
// Rows of a source's unit are judged for good. False: *trouble, a file is not what it was.
bool flow_count_source(StageRun *run, const Judged *judged, Trouble *trouble);
// From now on the unit's file is open, until it is let go: for a unit that is read once more.
bool flow_hold_file(const StageRun *run, const Unit *unit, Trouble *trouble);
bool flow_let_file(const StageRun *run, const Unit *unit, Trouble *trouble);
// Adds to the rows of a unit alone. These rows say which numbers the rows of later units have.
bool flow_count_rows(StageRun *run, uint64_t unit, int64_t made, Trouble *trouble);
// Of records that a task placed in its unit the lines are counted from the start of the file, where
// that is known.
void flow_place_lines(const Unit *unit, RejectList *list);

// ---- tree.c: where a flow stands in the tree of its root ----------------------------------------

// The node by which rows of the partition come to the stage.
uint8_t flow_node_of(const Dispatch *d, const LivePartition *input, uint32_t stage, uint8_t side);
// By which of the ways into its stage the rows at a node come, in their order.
uint16_t flow_way(const Dispatch *d, uint32_t root, uint8_t node);
// Where the stage at a node judges rows.
VerdictPlace flow_verdict_place(const Dispatch *d, uint32_t root, uint8_t node);
// The stage at a node.
uint32_t flow_stage_at(const Dispatch *d, uint32_t root, uint8_t node);
// The side of a zip on which the edge comes; else 0.
uint8_t flow_side(const Dispatch *d, EdgeId edge);

#endif
