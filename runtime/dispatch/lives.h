// Lives: what the files of workers share. Nobody else includes it.
//
//   workers.c  the lives of workers, and what they say
//   fleet.c    how many workers there are: drains, growing, shrinking, silence; figures of them
#ifndef SBC_RUNTIME_DISPATCH_LIVES_H
#define SBC_RUNTIME_DISPATCH_LIVES_H

#include "runtime/dispatch/state.h"
#include "runtime/worker.h"

// Rows of a worker that somebody may still read.
typedef struct Alive {
    FarRows    rows;   // First: the rows are found by it.
    Workers   *workers;
    struct Alive *next, *prior;
    WireBlocks blocks;
    NodeId     node;
} Alive;

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
    uint32_t   restarts;  // That are left.
    Alive     *alive;
    struct Poison *poison;
    bool       closing;
    int64_t    ticked;    // When a tick was last.
};

// ---- workers.c; the lock of the dispatch is held ------------------------------------------------

// A process begins for the worker. False: the trouble of the job says why not.
bool life_start(Workers *w, NodeId node);

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
