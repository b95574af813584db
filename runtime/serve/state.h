// What the files of a worker share. Nobody else includes it.
//
//   serve.c   the life of the worker, its threads and messages
//   orders.c  messages that wait for a thread, and for slots
//   work.c    what a thread does about an ASK
//   signals.c SIGTERM
//   trial.c   rows that ended foreign code
//   inputs.c  what stages read: files, and rows in arenas
//   breakers.c  breakers that its tasks fill
//   left.c    what they leave to the coordinator
//   join.c    workers of other machines: their connection, what they say of themselves
//   harm.c    what tests do to rows of workers
//   copies.c  bytes of arenas that come from the coordinator and go to it
#ifndef SBC_RUNTIME_SERVE_STATE_H
#define SBC_RUNTIME_SERVE_STATE_H

#include "runtime/core.h"
#include "runtime/serve/serve.h"
#include "runtime/wire.h"

#include <pthread.h>
#include <stdatomic.h>

// A task that has begun here, from its first ASK to its LEAVE. One thread at most is at it.
typedef struct Served {
    SbTaskState *state;
    StageRun    *run;
    Unit         unit;
    bool         prepared;  // The rows of the unit are fixed.
    bool         tries;     // It is a trial, out of turn: nobody hears where the next unit begins.
    bool         file_open; // A file of the source is held for it.
    int64_t      made;      // Rows of the unit that were judged.
    struct StageFills *fills;  // Breakers that it fills; nullptr: none.
    uint32_t     set;       // Of lanes, that it takes one of.
    uint32_t     lane;      // The part of these breakers that it fills.
    bool         holds_lane;  // Until its unit ends nobody else fills that part.
} Served;

// A part of breakers, and the writer of its runs.
typedef struct Lane {
    pthread_mutex_t runs;   // Held while a task fills it, or somebody empties it.
    bool            held;   // A task is within a unit. The lock of Serve guards it.
} Lane;

// Breakers that a stage fills here.
typedef struct StageFills {
    SbBreakerState **states;  // By number of the breaker; nullptr: it fills none.
    uint64_t   *after;        // By lane: the last unit with rows in it.
    bool        groups;       // Some are groups.
} StageFills;

typedef struct Fills {
    Lane       *lanes;
    uint32_t    lane_count;   // Of all sets; 0: no task of a worker fills breakers.
    uint32_t    of_set;       // Lanes of a set.
    uint32_t    first_file;   // Of lanes, in the spill folder.
    bool        spills;       // There is a folder.
    Spill       spill;
    StageFills *stages;       // By number of the stage.
} Fills;

// A message that waits for a thread.
typedef struct Order {
    struct Order *next;
    uint16_t kind;
    WireSlots slots;      // That it takes while a thread is at it.
    int64_t  len;
    char     bytes[];
} Order;

// Rows of the job that a worker of another machine has copies of.
typedef struct Copies {
    uint32_t   *holders;  // By unit of all arenas: messages of tasks that brought rows of it.
    struct CopyList *lists;
    int64_t     bytes;
} Copies;

typedef struct Serve {
    Job        *job;
    StageRun   *runs;        // By number of the stage.
    ArenaSpace  space;
    const int  *gpu_fds;      // Of gpu_join.
    uint32_t    gpu_fd_count;
    uint32_t    node;
    Links      *links;
    PeerId      coordinator;
    pthread_mutex_t lock;    // Guards all below, and the spare tasks and partitions of stages.
    pthread_cond_t  changed;
    Order      *first, *last;
    WireSlots   slots;       // Those that its tasks may take at once.
    uint32_t    used[WIRE_SLOTS_MAX];  // Those that they take now.
    uint32_t    at_work;     // Tasks and other orders that a thread is at.
    Served    **tasks;       // By number of the task.
    bool       *canceled;    // By number of the task: no thread has taken its ASK yet.
    uint32_t    task_max;
    Fills       fills;
    SbTable    *tables;      // By breaker: what tasks look up in. Their slots are the job's.
    SbKeyFilter *filters;    // By breaker: which right rows are kept. Their words are the job's.
    Link        heard_of;    // Numbers of messages of the job.
    pthread_mutex_t says;    // Guards what follows, and the order in which messages go.
    Link        said;        // Numbers of those of this process.
    _Atomic uint32_t taken;  // The last message of the job that counts.
    int64_t     kept;        // Bytes that the arena may keep, which are not the account's.
    pthread_t   asker;       // Waits for SIGTERM.
    bool        ready;       // It has been welcomed.
    bool        over;
    bool        failed;      // It could not do what it was told: job->trouble.
    bool        tries;       // A trial is to come, or is under way.
    bool        worn;        // Foreign code keeps more memory than its steps give: it ends.
    GuardNote  *notes;       // By thread, at the beginning of the arena.
    // Of a worker of another machine.
    bool        joined;      // It is one.
    bool        connected;
    bool        welcomed;    // A place was given to it.
    bool        later;       // There is none now.
    bool        stopped;     // The job has told it to end.
    LinkEnd     why_lost;
    char        lost_text[LINK_TEXT_MAX];
    LinkAddress address;
    int64_t     heard;       // When the job said something last.
    int64_t     timeout_ns;  // After so much silence the job is lost.
    Copies      copies;
    int64_t     queue_room;  // Bytes that may wait to be sent before its threads do.
    Spill       folder;      // Its own, in which the files of fills.spill are.
} Serve;

// Says something to the coordinator. The text is closed.
void serve_say(Serve *s, WireKind kind, Text *text);
// The worker cannot go on: job->trouble is set.
void serve_fail(Serve *s);

// The same, with bytes that stay where they are.
void serve_say_more(Serve *s, WireKind kind, Text *text, const RowRange *more);
// How the connection is opened, whatever makes it.
LinksSetup serve_links(Serve *s);
// Has the job been silent for too long? Then the worker ends.
void serve_watch(Serve *s);

// ---- orders.c: the lock is held -----------------------------------------------------------------

void orders_add(Serve *s, const Frame *frame);
// Without the lock. `done` is over: it gives its slots back, and is freed. Returns the next one,
// once there is one that may begin. nullptr: the worker is over.
Order *orders_next(Serve *s, Order *done);
void orders_close(Serve *s);

// ---- join.c -------------------------------------------------------------------------------------

// Connects to the job that listens. False: job->trouble.
bool join_connect(Serve *s);
// The connection never was up. The lock is held.
void join_never(Serve *s, LinkEnd why, const char *text);
void join_say_hello(Hello *hello, const Job *job);
// Has the machine what the job reads? False: job->trouble.
bool join_has_inputs(Serve *s);
// The job has not taken it: may it be taken soon? Then it forgets that it has asked, after a while.
bool join_waits(Serve *s, int64_t since);
// Tells the job that tasks may come, or why they may not.
void join_say_ready(Serve *s);
void join_say_cannot(Serve *s);
// The exit code, or SERVE_AGAIN.
int join_end(Serve *s, bool good);

// ---- copies.c: nothing of a worker of the job's machine -----------------------------------------

bool copies_open(Serve *s);
void copies_close(Serve *s);
// Bytes have come that a task is to read. The lock is held, as in the next one. False: they are
// none of this job, or job->trouble.
bool copies_take(Serve *s, Unpack *from);
// The task is over.
void copies_leave(Serve *s, uint32_t task);
// Bytes go to the coordinator before what speaks of them. False: spill->failed, or no memory.
void copies_send_blocks(Serve *s, const WireBlocks *blocks);
bool copies_send_run(Serve *s, const SpillRun *run, uint32_t file);

// ---- signals.c ----------------------------------------------------------------------------------

// From now on SIGTERM asks to leave. Before that it ends the process.
bool signals_open(Serve *s);
void signals_close(Serve *s);

// ---- work.c: without the lock -------------------------------------------------------------------

// Makes a partition, or says why there is none.
void serve_ask(Serve *s, const Order *order, uint32_t thread);
// Reads an ASK. False: it is none of this job. `ask->quota` has room for all terminals.
bool serve_get_ask(Serve *s, Unpack *from, Ask *ask);
// A task of that number, for a trial, at the first of its rows. nullptr: there is no memory, or a
// unit before comes first.
Served *serve_begin(Serve *s, const Ask *ask);
// An empty partition for it. nullptr: no memory.
Partition *serve_partition(Serve *s, Served *task, const Ask *ask);
// Nobody wants what the task makes, or will make. The lock is held.
void serve_cancel(Serve *s, uint32_t number);
// It is over: none of the tasks may wait for what never comes. The lock is held.
void serve_cancel_all(Serve *s);
// Gives back what the task holds.
void serve_leave(Serve *s, uint32_t task);

// ---- trial.c ------------------------------------------------------------------------------------

// Tries the rows that the order names, and says what came of it.
void serve_try(Serve *s, const Order *order, uint32_t thread);
// ---- breakers.c ---------------------------------------------------------------------------------

// What the worker was told of them. The lock is held, as in the next two. False: job->trouble.
bool fills_open(Serve *s, const Welcome *welcome);
// Opens the breakers that the stage fills, once it is open.
bool fills_open_stage(Serve *s, StageRun *run);
void fills_close_stage(Serve *s, uint32_t stage);
// From now on right rows that nobody looks up are not kept. The lock is held. False: it is no
// filter of this job, or there is no memory.
bool fills_take_filter(Serve *s, Unpack *from);
void fills_close(Serve *s);
// Before a task runs: it has a lane, if it needs one. False: *trouble.
bool fills_take_lane(Serve *s, Served *task, Trouble *trouble);
// Runs the task until the partition ends.
void fills_run(Serve *s, Served *task, Partition *partition);
// What came of it: the lane of a unit that has ended is free. Spilling may have failed.
void fills_ran(Serve *s, Served *task, const Partition *partition, Trouble *trouble);
// The task has taken its first rows of a unit back, and waits: its lane is free.
void fills_went_back(Serve *s, Served *task);
// The task is over. The lock is held.
void fills_let_go(Serve *s, Served *task);
// Hands over what a stage has put into breakers.
void serve_flush(Serve *s, const Order *order);

// ---- left.c -------------------------------------------------------------------------------------

// Before rows are handed over: this process writes to their blocks no more, and all that they point
// to lies in arenas, or flushed->corrupt.
void left_check(Serve *s, Flushed *flushed);

// ---- harm.c -------------------------------------------------------------------------------------

// Failpoints flip a bit of what is handed over, once its sums are known.
void harm_made(const Serve *s, const StageRun *run, const Partition *partition);
// The same of what breakers leave, before they are sealed and after that.
void harm_left(const Serve *s, const Flushed *flushed, bool sealed);

// ---- inputs.c -----------------------------------------------------------------------------------

// Opens what the stage reads, once. The lock is held. False: job->trouble.
bool inputs_open(Serve *s, StageRun *run);
// Reads the unit and fixes its rows, and tells the coordinator where the next one begins. False:
// the buffer of the task has to ask, a unit before comes first, or *trouble.
bool inputs_prepare(Serve *s, Served *task, const Ask *ask, Trouble *trouble);
// The file of the task's unit is not needed for it any more. The lock is held.
void inputs_let_go(Served *task);

#endif
