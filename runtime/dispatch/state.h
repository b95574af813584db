// Dispatch state: what the files of the dispatch share. Nobody else includes it.
//
//   dispatch.c       events in, actions out, threads    dispatch/task.c  tasks of stages
//   dispatch/run.c   from the plan to the figures       dispatch/sink.c  bytes to sinks
//   dispatch/journal.c  which units are done
//   dispatch/zip.c   rows of tasks, from one partition or two
//   dispatch/batch.c launches that take several partitions
//   dispatch/need.c  rows that take more memory than there is
//   doubt.c          what limits may turn down          replay.c         units made once more
//   doubt_keep.c     what that takes, in memory or on disk
//   dispatch/spool.c partitions that wait on disk   dispatch/live.c  partitions that others read
#ifndef SBC_RUNTIME_DISPATCH_STATE_H
#define SBC_RUNTIME_DISPATCH_STATE_H

#include "runtime/dispatch/crew.h"
#include "runtime/dispatch/dispatch.h"
#include "runtime/input/spool.h"
#include "runtime/job/stage.h"
#include "runtime/limits/doubt.h"
#include "runtime/observe/watch.h"
#include "runtime/plan/flow_plan.h"
#include "runtime/rejects/verdict.h"

// A partition that the schedule knows. Those on disk may be many: all that is left of one is this,
// and its batches.
typedef struct LivePartition {
    struct LivePartition *next, *prior;
    StageRun   *run;         // Of the stage that made it.
    Partition  *made;        // What has its rows; nullptr: they are on disk.
    uint32_t    root;        // The stage that its flow begins with,
    uint32_t    root_unit;   // the unit of that,
    uint8_t     node;        // and where it was made in that stage's tree (doubt.h).
    int64_t     unwritten;   // Bytes that sinks have not had.
    MadeBy from;
    Batch      *batches[];   // By terminal; edges only. Those of `made`, or its own.
} LivePartition;

// A partition that a launch takes behind others.
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
} FlowMore;

// A task of the schedule, from its launch to its end. Of a stage, or of a sink.
typedef struct Flow {
    struct Flow *next;     // In a queue, or in the list of those not in use.
    FlowMore    *more;     // That its launch takes behind `input`,
    FlowMore    *more_last;
    bool         begins;   // It has not begun: its rows are to be found first.
    TaskId       id;
    StageRun    *run;      // nullptr: of a sink,
    uint32_t     sink;     // this one.
    LivePartition *input;  // That it reads; nullptr: a unit.
    LivePartition *other;  // Of a piece of a zip: the right side; else nullptr.
    Batch       *batches[2];  // Of both, for this stage; nullptr: they have none.
    bool         arrives;  // It has come to a partition that it has to bring.
    bool         loads;    // Not all of them are in memory:
    SpoolRows    loaded[2];  // those that were brought back.
    int64_t      at[2];    // Where the next rows begin there,
    int64_t      rows;     // and how many are left.
    uint32_t     number;   // Of its unit.
    uint32_t     root;     // The stage that its flow begins with,
    uint32_t     root_unit;  // the unit of that,
    uint8_t      node;     // and the node of its tree by which the input came.
    DoubtUnit   *doubt;    // Where it is kept what its unit counts; or nullptr.
    uint32_t     lane;     // LANE_OF_THREAD, or one of its own until it ends.
    Unit         unit;
    SbTaskState *task;
    int64_t      weight;   // Rejects of the unit so far.
    int64_t      made;     // Rows of the unit judged so far.
    int64_t      files;    // `files`: of the unit, judged so far.
    bool         cut;      // Its unit is there,
    bool         empty;    // or there is none.
    bool         prepared; // Its rows are fixed.
    bool         canceled;
    bool         goes_on;  // The schedule's answer.
    int64_t      need;     // Bytes that it has to ask for before it can go on; 0: none.
    bool         asked;    // It has, for the rows that it is at;
    int64_t      text;     // of a stream for so many bytes of text, or 0: for all that there is;
    bool         alone;    // and for all that others do without.
    bool         waits;    // In a queue, or paused: no thread is at it.
} Flow;

enum : uint32_t { LANE_OF_THREAD = UINT32_MAX };

typedef struct FlowQueue {
    Flow *first, *last;
    uint32_t count;
} FlowQueue;

// A partition that is to be written to disk.
typedef struct Spooling {
    LivePartition *live;
    PartId         part;
} Spooling;

typedef struct Account Account;

struct Dispatch {
    Job       *job;
    StageRun  *runs;           // By number of the stage.
    FlowPlan  *plan;
    Schedule  *schedule;
    Flow     **flows;          // By TaskId.
    uint32_t   flow_max;
    Flow      *unused;
    FlowQueue  queue;
    FlowQueue *sinks;          // By sink: partitions in their order,
    bool      *taking;         // and whether a thread takes one.
    Spooling   spools[SPILLS_MAX];
    uint32_t   spool_count;
    bool       roomy;          // Stages keep nothing that they do not need now.
    Verdict    verdict;
    Doubt      doubt;
    Event      events[2 * STAGES_MAX + 8];  // That follow from actions: two a stage, and the first.
    uint32_t   event_count;
    uint64_t   closing;        // Breakers that nobody needs any more and that are there, as bits;
    uint64_t   unused_breakers;  // those, and those that were.
    BreakerId  due[BREAKERS_MAX];  // Breakers to be finished, the first one at once:
    uint32_t   due_count;
    bool       finishes;       // a thread is at it.
    Account   *accounts;       // Of breakers, by BreakerId.
    uint64_t   full;           // Breakers that nobody fills any more, as bits,
    uint64_t   shrinks;        // and those that are to write what they hold:
    bool       shrinking;      // a thread is at it.
    bool       given;          // The schedule's last answer to a breaker.
    bool       crew_busy;      // The crew has a leader.
    uint32_t  *lanes;          // That no task holds.
    uint32_t   lane_count;
    LivePartition *alive;      // Partitions that the schedule knows.
    bool       telling, draining;
    uint64_t   cut_short;      // Roots not all of whose rows are judged because of that, as bits.
    bool       gave_up;        // A breaker was not finished.
    uint64_t   closed;         // Stages that are over and have given back what they held, as bits.
    int64_t    now;            // When somebody looked at the clock last.
    int64_t    timer;          // When the schedule wants to be told the time; 0: never.
    Crew       crew;
    uint32_t   busy;           // Threads that do something,
    uint32_t   waiting;        // that wait for work,
    uint32_t   called;         // and of these, that were told of some and have not come yet.
    bool       timer_new;      // Nobody waits until that time yet.
    bool       ended, stop;
    pthread_mutex_t lock;
    pthread_cond_t  changed;   // There is work, or it is over.
    pthread_cond_t  asked;     // A stage has asked ahead, or records of rejects are on disk.
};

// ---- dispatch.c: the lock is held ---------------------------------------------------------------

void dispatch_thread(void *arg, uint32_t index, uint32_t thread);
// Tells the schedule what happened and does what follows.
void dispatch_tell(Dispatch *d, Event event);
// If a record ends the job, tells it what is not wanted then.
void dispatch_tell_bounds(Dispatch *d);
void dispatch_look(Dispatch *d);
void dispatch_stop(Dispatch *d);
// The job ends, for this reason; where nobody has said one, of this kind. A job that ends already
// needs none.
void dispatch_trouble(Dispatch *d, TroubleKind kind, const Trouble *trouble);
// Looks at the clock: what is told from now on happens now. For who comes back to the lock.
void dispatch_clock(Dispatch *d);
// What follows from an event beside its actions: some figures are final, some memory is free.
void dispatch_settle(Dispatch *d);
// Tells the schedule what nobody wants any more, because a record ends the job before it.
void dispatch_tell_bounds(Dispatch *d);
// The first of the queue; nullptr: it is empty.
Flow *flow_queue_pop(FlowQueue *queue);

// ---- dispatch/zip.c: the lock is held -----------------------------------------------------------

// What a launch or a piece says of the rows that the flow reads.
void flow_input(Flow *flow, const Action *action);
// The entries of a batch that it reads, wherever they are; nullptr: still on disk.
const SbEntry *const *flow_entries(const Flow *flow, int side);
// Finds the batches that it reads, and how many rows.
void flow_find_rows(Dispatch *d, Flow *flow);
// Of a job that ends early: do rows that come to this stage, or sink, from that one stand behind
// others that do not come any more? Then they go nowhere, and their units are not done.
bool flow_is_behind_cut(const Dispatch *d, uint32_t reader, uint32_t from);
// Points its unit to the rows, which are in memory now.
void flow_point(Flow *flow);
// The next rows of its input, as many as a task of the stage takes at once.
void flow_take_rows(Dispatch *d, Flow *flow);
// The sides of a zip differ in length: that ends the job, if nothing else does.
void zip_uneven(Dispatch *d, const Action *action);

// ---- dispatch/need.c: the lock is held ----------------------------------------------------------

// What the task may read of its unit before it has to ask.
void flow_limit_buffer(Dispatch *d, Flow *flow);
// Does it have to ask: for the text of its unit, the rows that it is to read, those of a breaker
// that come back from disk? Once for a unit or partition.
bool flow_wants_text(Flow *flow);
bool flow_wants_rows(Flow *flow);
bool flow_wants_back(Flow *flow);
// It found no memory for what it makes of its rows. True: it is back where the partition began, and
// has to ask for all that others can do without. Without the lock.
bool flow_goes_back(const Dispatch *d, Flow *flow, const Partition *partition);
// Asks. False: it has given its slot back, and is resumed when the bytes are there.
bool flow_ask(Dispatch *d, Flow *flow);

// ---- dispatch/batch.c: the lock is held ---------------------------------------------------------

// One more partition for the launch that was said last.
void flow_add(Dispatch *d, const Action *action);
// The flow turns to the next partition of its launch.
void flow_next(Dispatch *d, Flow *flow);
// Brings the rows of the partition that the task has come to. False: the job ends.
bool flow_arrive(Dispatch *d, Flow *flow);
// Forgets those that it has not come to.
void flow_drop_more(Flow *flow);

// ---- dispatch/spool.c: the lock is held before and after ----------------------------------------

// What the schedule may want written needs room for writing. False: job->trouble says why not.
bool spool_open(Dispatch *d);
// The partition is to be written.
void spool_spill(Dispatch *d, const Action *action);
// Writes one, where there is one. False: nothing.
bool spool_work(Dispatch *d, uint32_t thread);
// Brings back what the flow reads. False: job->trouble says why not.
bool flow_load(Dispatch *d, Flow *flow);
// Lets go of what is kept to be used again, once the memory is nearly full.
void spool_make_room(Dispatch *d);
// The same, at once.
void spool_drop_spares(Dispatch *d);

// ---- dispatch/task.c: the lock is held before and after -----------------------------------------

// Does it read something before its rows are there?
bool flow_reads(const Flow *flow);
// Makes ready what needs no thread of its own: the unit of a root that is no stream.
void flow_launch(Dispatch *d, Flow *flow);
// Works on the flow until it ends or gives its slot back.
void flow_work(Dispatch *d, Flow *flow, uint32_t thread);
// Gives back what the flow of a stage has; the schedule knows that it ends, or forgets it.
void flow_end(Dispatch *d, Flow *flow);
typedef struct Judged {
    const Unit *unit;
    int64_t     made;   // Rows.
    int64_t     end;    // The cursor behind the last one,
    int64_t     bytes;  // and bytes between that and the first one.
    int64_t     files;  // `files`: of the unit, judged before.
    bool        whole;  // The unit is judged to its end.
} Judged;
// Rows of a source's unit are judged for good. False: *trouble, a file is not what it was.
bool flow_count_source(StageRun *run, const Judged *judged, Trouble *trouble);
// From now on the unit's file is open, until it is let go: for a unit that is read once more.
bool flow_hold_file(const StageRun *run, const Unit *unit, Trouble *trouble);
bool flow_let_file(const StageRun *run, const Unit *unit, Trouble *trouble);
// Adds to the rows of a unit alone, which say the numbers of those behind it.
bool flow_count_rows(StageRun *run, uint64_t unit, int64_t made, Trouble *trouble);
// Where a share limits the rejects, a task numbers the rows of its partition: from now on they are
// those of the unit, of which so many were judged before.
void flow_number_records(const StageRun *run, RejectList *list, int64_t before);
void flow_number_batch(const StageRun *run, uint32_t t, const Batch *batch, int64_t before);
// Progress and the live page show them.
void flow_watch_rejects(const Dispatch *d, const RejectList *list);
// Of records that a task placed in its unit the lines are counted from the start of the file, where
// that is known.
void flow_place_lines(const Unit *unit, RejectList *list);

// ---- dispatch/live.c: the lock is held ----------------------------------------------------------

// The flow has made a partition that others read. nullptr: no memory.
LivePartition *live_open(Dispatch *d, const Flow *flow, Partition *made);
// Its rows are on disk, as the runs of its batches say: lets go of what held them.
void live_stored(const Dispatch *d, LivePartition *live);
// Nobody reads it any more, wherever it is.
void live_free(Dispatch *d, LivePartition *live);

// ---- dispatch/memory.c: the lock is held --------------------------------------------------------

bool accounts_open(Dispatch *d);
void accounts_close(Dispatch *d);
// The breaker is closed: what it had goes back.
void account_close(Account *account);
Account *account_of(Dispatch *d, BreakerId id);
// What the breaker does not use goes back.
void account_trim(Account *account);
// The breaker is to write what it holds: some thread will see to it,
void account_shrink(Dispatch *d, BreakerId id);
// as this one does now; without the lock in between.
void shrink_work(Dispatch *d);

// ---- dispatch/watch.c: the lock is held ---------------------------------------------------------

// What the stages do now.
void dispatch_watch(Dispatch *d);
// The same, of one.
void dispatch_watch_stage(Dispatch *d, uint32_t stage);
// Sinks are to have what the partition holds for them; this one had its share; none is to come.
void watch_hand_over(Dispatch *d, LivePartition *live);
void watch_wrote(Dispatch *d, LivePartition *live, uint32_t sink);
void watch_freed(Dispatch *d, LivePartition *live);
// The thread has made the partition.
void flow_watch(const Flow *flow, Partition *partition, uint32_t thread);

// ---- dispatch/journal.c: the lock is held -------------------------------------------------------

// Before the start: brings back what is committed, and tells the schedule to skip it.
void commit_start(Dispatch *d);
// The flow of a unit begins, and ends.
void commit_unit(Dispatch *d, const Flow *flow);
void commit_unit_ends(Dispatch *d, const Flow *flow);
// The schedule knows the partition, and nobody reads it any more.
void commit_made(Dispatch *d, const LivePartition *live);
void commit_freed(Dispatch *d, const LivePartition *live);
// What the flow is to read goes nowhere: its unit is never done.
void commit_lost(Dispatch *d, const Flow *flow);
// What the partition says is final; its records have not gone yet. False: no memory.
bool commit_counts(Dispatch *d, const Flow *flow, const Partition *partition);
// A stage in doubt judged these rows of the unit, `of_root` those of the unit itself. False: no
// memory.
bool commit_slot(Dispatch *d, const DoubtUnit *unit, const DoubtSlot *slot, VerdictPlace place,
                 bool of_root);
// The flow took rows from its edge, and so many came to the limit there.
void commit_rows(Dispatch *d, const Flow *flow, int64_t taken, int64_t came);
// The unit is in doubt no more: is something of it wanted?
void commit_settled(Dispatch *d, uint32_t root, uint64_t unit, bool wanted);
// The sink of the flow is about to be given its partition.
void commit_taking(Dispatch *d, const Flow *flow);
// What is added to the number of the flow's lane: rows that are committed together fill lanes of
// their own.
uint32_t commit_lane(const Dispatch *d, const Flow *flow);
// May the breaker be finished now? Else a commit of it comes first.
bool commit_may_finish(Dispatch *d, uint32_t breaker);
// Is the breaker being committed?
bool commit_holds(const Dispatch *d, uint32_t breaker);
// Commits tell with which number the units of a stage over an edge go on. To be called before the
// stage is closed, too.
void commit_note_ordinal(Dispatch *d, uint32_t stage);
// It is about to be closed.
void commit_close(Dispatch *d, uint32_t breaker);
// It is finished: brings back what an earlier run knew of its rows. Without the lock. False:
// job->trouble says why not.
bool commit_finished(Dispatch *d, uint32_t breaker);
// Writes a commit, where one is ready; without the lock. False: none is.
bool commit_work(Dispatch *d, uint32_t thread);
// No thread works any more: commits what a job that is to end leaves.
void commit_end(Dispatch *d);

// ---- dispatch/sink.c: the lock is held before and after -----------------------------------------

// Takes the next partition of a sink, where there is one and no thread is at it. False: nothing.
bool sink_work(Dispatch *d, uint32_t thread);

#endif
