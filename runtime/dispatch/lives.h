// Lives: what the files of workers share. Nobody else includes it.
//
//   workers.c  the lives of workers, and what they say
//   fleet.c    how many workers there are: drains, growing, shrinking, silence; figures of them
//   joins.c    workers of other machines, which join
//   far_rows.c what they read goes there, as far as there is room
//   far_tables.c tables of joins go there, if they are small
#ifndef SBC_RUNTIME_DISPATCH_LIVES_H
#define SBC_RUNTIME_DISPATCH_LIVES_H

#include "runtime/dispatch/far_breaker.h"
#include "runtime/dispatch/poison.h"
#include "runtime/dispatch/state.h"
#include "runtime/worker.h"

// Rows of a worker that somebody may still read.
typedef struct Alive {
    FarRows    rows;   // First: the rows are found by it.
    Workers   *workers;
    struct Alive *next, *prior;
    WireBlocks blocks;
    NodeId     node;
    uint32_t   life;   // Of the worker, that made them.
} Alive;

// A connection that has not said what it wants, or was refused.
typedef struct Guest {
    PeerId  peer;
    int64_t since;     // 0: there is none.
    bool    refused;
} Guest;

enum { GUESTS_MAX = 16 };

// One worker, through all its lives.
typedef struct Life {
    Process  process;
    PeerId   peer;
    bool     connected;
    bool     up;          // The schedule knows that it is there.
    bool     losing;      // It is to be given up as soon as nobody works at what it said.
    uint32_t held;        // Threads that do.
    uint32_t lives;       // That have begun.
    bool     wanted;      // It is one of those that the job is to have.
    bool     leaves;      // It drains: it is to end once it has nothing to do.
    bool     quiet;       // It is silent, and the schedule gives it nothing new.
    bool     stopped;     // It has been told to end, with nothing left to do.
    int64_t  limit;       // Of its account.
    int64_t  born;        // When its process began.
    int64_t  pinged;
    uint64_t threads;     // A bit for each of its threads that has a task.
    FlowQueue unseen;     // Tasks that it has been asked for beyond these.
    int64_t  pid;         // Of a place: the process on its machine; 0: none.
    int64_t  copies;      // Of a place: memory that copies for its tasks take, of all that it has
    int64_t  copies_room; // for them.
    int64_t  copies_most; // The most that one task took.
    uint32_t readers;     // Tasks with copies from which an answer is to come.
    FlowQueue crowded;    // Tasks that wait for room.
    int64_t  spilled;     // Of a place: where its spill files end.
    char     host[64];    // Of a place: its machine.
} Life;

struct Workers {
    Dispatch  *d;
    Job       *job;
    Links     *links;
    ArenaSpace space;
    Membership membership;
    Member    *members;   // By node; the coordinator is the first, and no member.
    Life      *lives;
    uint32_t   count;     // With the coordinator.
    uint32_t   own;       // The last one that is a process of this machine; places come after.
    uint32_t   restarts;  // That are left.
    Alive     *alive;
    struct Poison *poison;
    bool       closing;
    int64_t    ticked;    // When a tick was last.
    // Of a job that listens.
    Arena    **mirrors;   // By node: which blocks of a place's arena are there.
    WireBlocks *arrived;  // By node: blocks of which no message has spoken yet.
    RowRanges *tables;    // By breaker: the table of a join, as places get it; empty: they do not.
    int64_t    tables_bytes;  // Of their memory that these take.
    uint32_t  *tables_there;  // By node and breaker: the life of the place that has a copy.
    Guest      guests[GUESTS_MAX];
    uint32_t   turned;    // Connections that were turned away.
    int64_t    alone_since;  // No worker has joined yet; 0: one has, or nobody has to know.
};

static inline bool lives_is_place(const Workers *w, NodeId node) { return node.i > w->own; }

// ---- workers.c; the lock of the dispatch is held ------------------------------------------------

// A process begins for the worker. False: the trouble of the job says why not.
bool life_start(Workers *w, NodeId node);
// Nanoseconds of silence after which a worker is lost.
int64_t lives_timeout(const Workers *w);
// Tells a worker what it has to know of the job.
void lives_welcome(Workers *w, NodeId node);
// It has nothing to try any more, and works from now on, unless it was to leave.
void lives_bring_up(Workers *w, NodeId node);

// ---- joins.c; the same --------------------------------------------------------------------------

extern const LinkMake *const join_makes[];
// The key of the job, if it has one. False: *trouble.
bool joins_key(const Options *options, LinkKey *key, bool *has, Trouble *trouble);
// Listens, if the job is to. False: the trouble of the job says why not.
bool joins_open(Workers *w);
void joins_close(Workers *w);
// A connection is there, or gone; one was turned away.
void joins_opened(Workers *w, PeerId peer);
void joins_closed(Workers *w, PeerId peer);
void joins_turned(Workers *w, const char *text);
// What connections and places say. False: it is no message of this job.
void joins_hello(Workers *w, PeerId peer, const Frame *frame);
bool joins_ready(Workers *w, NodeId node);
bool joins_cannot(Workers *w, NodeId node, Unpack *from);
bool joins_run(Workers *w, NodeId node, Unpack *from);
// Bytes of a block, which are to be copied to piece->at without the lock.
bool joins_block(Workers *w, NodeId node, Unpack *from, RowRange *piece, const char **bytes);
void joins_welcome(const Workers *w, NodeId node, Welcome *is);
// A message speaks of these blocks: have they come? Of a worker of this machine they have.
bool joins_own(Workers *w, NodeId node, const WireBlocks *blocks);
// Nobody reads them any more.
void joins_give(const Workers *w, NodeId node, const WireBlocks *blocks);
void joins_replace(Workers *w, NodeId node);
void joins_tick(Workers *w);
// ---- far_tables.c; the same ---------------------------------------------------------------------

// Bytes that a place keeps for tables of joins.
int64_t far_tables_room(const Job *job);
// False: no memory.
bool far_tables_open(Workers *w);
void far_tables_close(Workers *w);

// ---- fleet.c; the same --------------------------------------------------------------------------

// The process of the worker is gone and forgotten: has it to be replaced as one that was lost?
bool fleet_lost_one(Life *life);
// The worker asks to leave in good order.
void fleet_leaves(Workers *w, NodeId node);
// Follows what membership holds the worker for: one that is silent begins nothing until it speaks.
void fleet_mind_silence(Workers *w, NodeId node);
// Figures of all workers follow what is so now.
void fleet_note(Workers *w);

#endif
