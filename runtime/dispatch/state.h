// Dispatch state: what the files of the dispatch share. Nobody else includes it.
//
//   dispatch.c  events in, actions out, threads   task.c   tasks of stages
//   run.c       from the plan to the figures      sink.c   bytes to sinks
//   tree.c      where a flow stands               zip.c    rows of one partition, or of two
//   batch.c     launches of several partitions    need.c   rows that take more memory than there is
//   spool.c     partitions that wait on disk      live.c   partitions that others read
//   memory.c    accounts of breakers              observer.c  who is told of all that
//   far.c       tasks that run in workers         workers.c   the lives of workers
//   corrupt.c   rows that are not what was made
//   attempt.c   work that is begun more than once   far_breaker.c  breakers that workers fill
//   again.c     what was lost with a worker is made again
//   fleet.c     how many workers there are
//   manage.c    what somebody tells the job while it runs
//   poison.c    rows on which foreign code ends its worker
#ifndef SBC_RUNTIME_DISPATCH_STATE_H
#define SBC_RUNTIME_DISPATCH_STATE_H

#include "runtime/dispatch.h"
#include "runtime/dispatch/crew.h"
#include "runtime/dispatch/workers.h"
#include "runtime/job.h"

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
typedef struct FarFlush FarFlush;

struct DispatchOwn {
    Job       *job;            // For what ends it, and for what its stages share.
    // The parts of the job that all of the dispatch uses. The job owns them.
    SbBreakerState **breakers;
    pthread_mutex_t *fills;    // By lane.
    Spill     *spill;
    SbMemory  *memory;
    Trouble   *trouble;
    Flow     **flows;          // By TaskId.
    uint32_t   flow_max;
    Flow      *unused;
    FlowQueue  queue;
    FlowQueue *sinks;          // By sink: partitions in their order.
    bool      *taking;         // By sink: does a thread take one?
    Spooling  *spools;         // Room for SPILLS_MAX of each node.
    uint32_t   spool_count;
    bool       roomy;          // Stages keep nothing that they do not need now.
    Event     *events;         // That follow from actions: two a stage of the plan, and the first.
    uint32_t   event_max;
    uint32_t   event_count;
    Bits       closing;        // Breakers that nobody needs any more, and that are there.
    uint32_t   closing_count;
    Bits       unused_breakers;  // Breakers of `closing`, now or earlier.
    BreakerId  due[BREAKERS_MAX];  // Breakers to be finished, the first one at once.
    uint32_t   due_count;
    bool       finishes;       // A thread is at the first of them.
    Account   *accounts;       // Of breakers, by BreakerId.
    Bits       full;           // Breakers that nobody fills any more.
    Bits       shrinks;        // Breakers that are to write what they hold.
    uint32_t   shrink_count;
    bool       shrinking;      // A thread is at one.
    bool       given;          // The schedule's last answer to a breaker.
    bool       crew_busy;      // The crew has a leader.
    uint32_t  *lanes;          // That no task holds.
    uint32_t   lane_count;
    LivePartition *alive;      // Partitions that the schedule knows.
    bool       telling;
    Bits       cut_short;      // Roots not all of whose rows are judged because of that.
    bool       gave_up;        // A breaker was not finished.
    Bits       closed;         // Stages that are over and have given back what they held.
    int64_t    timer;          // When the schedule wants to be told the time; 0: never.
    Crew       crew;
    uint32_t   busy;           // Threads that do something.
    uint32_t   waiting;        // Threads that wait for work.
    uint32_t   called;         // Threads that wait, were told of work, and have not come yet.
    bool       timer_new;      // Nobody waits until that time yet.
    bool       ended;
    bool       paused;         // Nothing begins, and tasks stop after their partition.
    bool       begun;          // Time has begun: somebody may tell it what to do.
    bool       over;           // Its threads have ended: what they shared is being let go.
    MemoryShares first_limits; // That accounts began with; zeros: nobody has asked for others.
    MemoryShares limits;       // That accounts come to once all that is owed has come back; zeros:
                               // those that they began with.
    Workers   *workers;        // Processes in which tasks run; nullptr: there are none.
    uint32_t   far_count;      // Tasks at work there, and breakers that are handed over.
    int64_t    left_since;     // When nothing was left but tasks that nobody needs; 0: more is.
    FarFlush  *flushes;        // By stage and node; nullptr: no worker fills breakers.
    Bits       rereads;        // Stages that may find rows of an edge lost.
    Attempt  **attempts;       // By item of the schedule, some of them together.
    uint32_t   attempt_shelves;
    FlowQueue  quick;          // Flows of workers whose next step is only to say something.
    bool       hears;          // A thread is about to take those: nobody is called for them.
    pthread_cond_t  asked;     // A stage has asked ahead, or records of rejects are on disk.
};

// ---- dispatch.c: the lock is held ---------------------------------------------------------------

void dispatch_thread(void *arg, uint32_t index, uint32_t thread);
void dispatch_look(Dispatch *d);
// The job ends, as the system gives no more memory.
void dispatch_no_memory(Dispatch *d);
void flow_queue_push(FlowQueue *queue, Flow *flow);
// The first of the queue; nullptr: it is empty.
Flow *flow_queue_pop(FlowQueue *queue);
// Takes the flow out, if it is there.
void flow_queue_remove(FlowQueue *queue, Flow *flow);
// A thread is to go on with the flow.
void dispatch_queue(Dispatch *d, Flow *flow);
// The thread that hears workers begins to tell what they said, and goes on with the flows whose
// next step is quick.
void dispatch_hears(Dispatch *d);
void dispatch_heard(Dispatch *d);

// ---- dispatch/zip.c: the lock is held -----------------------------------------------------------

// What a launch or a piece says of the rows that the flow reads.
void flow_input(Flow *flow, const Action *action);
// Finds the batches that it reads, and how many rows.
void flow_find_rows(Dispatch *d, Flow *flow);
// Of a job that ends early: do rows that come to this stage, or sink, from that one stand after
// others that do not come any more? Then they go nowhere, and their units are not done.
bool flow_is_behind_cut(const Dispatch *d, uint32_t reader, uint32_t from);
// Are there roots of a job that ends early whose rows are not all judged?
bool flow_is_cut_short(const Dispatch *d);
// Points its unit to the rows, which are in memory now.
void flow_point(Flow *flow);
// The next rows of its input, as many as a task of the stage takes at once.
void flow_take_rows(Dispatch *d, Flow *flow);
// The sides of a zip differ in length: that ends the job, if nothing else does.
void zip_uneven(Dispatch *d, const Action *action);

// ---- dispatch/need.c: the lock is held ----------------------------------------------------------

// Bytes of text that the task may read before it has to ask.
int64_t flow_text_room(const Flow *flow);
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

// ---- dispatch/attempt.c: the lock is held -------------------------------------------------------

// What is known of the work of a launch; nullptr: nothing is begun twice.
Attempt *attempt_of(Dispatch *d, const Action *action, uint32_t stage, const LivePartition *input);
void attempts_close(Dispatch *d);
// Has an earlier attempt taken the unit? Then it is the flow's now.
bool attempt_takes(Flow *flow);
// The flow has taken its unit.
void attempt_took(Flow *flow);
// The flow begins. True: it is the first one of its work.
bool attempt_begins(Flow *flow);
// The flow is over, or its worker is lost. True: its work is over.
bool attempt_ends(const Flow *flow, bool lost);
// Is all that it makes there, or has it been read?
bool attempt_is_again(const Flow *flow);
// The flow has made one more partition. False: what that says was taken over before.
bool attempt_counts(Flow *flow);
// A worker at a task that nobody needs any more, once such tasks alone have kept the job from its
// end for a second; the first node: there is none.
NodeId attempts_left(Dispatch *d);

// ---- dispatch/again.c: the lock is held ---------------------------------------------------------

// Before the first task: which stages may have to make rows again.
void again_open(Dispatch *d);
// The flow is launched with a unit. True: that was taken before.
bool again_is_known(Flow *flow);
// The unit of the flow is taken, and prepared here if it is to be: it can be found from now on.
void again_note(Dispatch *d, const Flow *flow);
// Finds its unit. Without the lock.
UnitTake again_find(Flow *flow, Trouble *trouble);
// The file of the unit stays open until the flow is over. False: *trouble.
bool again_holds(Flow *flow, Trouble *trouble);
// Fixes the rows of the unit. Without the lock.
bool again_prepare(Flow *flow, Trouble *trouble);
// The flow is over.
void again_ends(Flow *flow);
// May the stage, which is over, have to make rows again?
bool again_uses(const Dispatch *d, uint32_t stage);
// Can the partition be made again? Not if its rows come of what is read once.
bool again_can(const Dispatch *d, const LivePartition *live);

// ---- dispatch/batch.c: the lock is held ---------------------------------------------------------

// One more partition for the launch that was said last.
void flow_add(Dispatch *d, const Action *action);
// The flow turns to the next partition of its launch.
void flow_next(Dispatch *d, Flow *flow);
// Brings the rows of the partition that the task has come to. False: the job ends.
bool flow_arrive(Dispatch *d, Flow *flow);
// Forgets those that it has not come to.
void flow_drop_more(Dispatch *d, Flow *flow);

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

// A partition for the flow to fill: what it may have of each output, and of rejects. nullptr: no
// memory.
Partition *flow_partition(Dispatch *d, const Flow *flow);
// Does it read something before its rows are there?
bool flow_reads(const Flow *flow);
// Makes ready what needs no thread of its own: the unit of a root that is no stream.
void flow_launch(Dispatch *d, Flow *flow);
// Works on the flow until it ends or gives its slot back. THREAD_OF_LINKS: far_is_quick holds.
enum : uint32_t { THREAD_OF_LINKS = UINT32_MAX };
void flow_work(Dispatch *d, Flow *flow, uint32_t thread);
// The task of the flow goes on with another unit of its launch, whose rows are there.
void flow_go_on_with_unit(Dispatch *d, Flow *flow);
// Gives back what the flow of a stage has; the schedule knows that it ends, or forgets it.
void flow_end(Dispatch *d, Flow *flow);

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

// ---- dispatch/manage.c: the lock is held --------------------------------------------------------

static inline bool dispatch_is_paused(const Dispatch *d) { return d->own->paused && !d->draining; }
// Limits of accounts follow what came back of memory that the job does not have any more.
void manage_settle(Dispatch *d);

// ---- dispatch/sink.c: the lock is held before and after -----------------------------------------

// Takes the next partition of a sink, where there is one and no thread is at it. False: nothing.
bool sink_work(Dispatch *d, uint32_t thread);

#endif
