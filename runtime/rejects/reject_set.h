// Reject set: the records of a job in an order. Those that the memory does not hold lie on disk, in
// runs that are merged when somebody goes along all of them.
#ifndef SBC_RUNTIME_REJECT_SET_H
#define SBC_RUNTIME_REJECT_SET_H

#include "runtime/disk.h"
#include "runtime/rejects/rejects.h"

typedef enum RejectOrder { REJECTS_BY_PLACE, REJECTS_BY_FILE } RejectOrder;

typedef struct RejectSet {
    RejectOrder order;
    RejectList  list;        // In memory, in any order.
    int64_t     bytes_max;   // How much of the list stays in memory.
    SpillRuns   runs;        // On disk.
    uint32_t    writer;      // Of the spill: nobody else uses it.
} RejectSet;

typedef struct RejectSetSetup {
    RejectOrder order;
    Spill      *spill;       // nullptr: all stay in memory.
    uint32_t    writer;
    SbMemory   *memory;
} RejectSetSetup;

bool reject_set_open(RejectSet *set, const RejectSetSetup *setup);
// Gives the disk back too.
void reject_set_close(RejectSet *set);

// Is there more in memory than stays there?
bool reject_set_is_full(const RejectSet *set);
// Writes records that were in its list as a run, and empties `list`. One caller at a time, while
// nobody goes along the set; others may add to its list. False: spill->failed.
bool reject_set_write(RejectSet *set, RejectList *list);
// Brings what is in memory into order.
void reject_set_sort(RejectSet *set);
// Adds a copy of a record, and writes what is too much. False: no memory, or trouble.
bool reject_set_add(RejectSet *set, const Reject *reject);

// Goes along all records in order. The set stays as it is meanwhile.
typedef struct RejectWalk {
    RejectSet    *set;
    uint32_t      at;        // Of the list.
    SpillMerge   *merge;     // nullptr: nothing is on disk.
    const Reject *shown;     // The last one that came from there and is to be passed.
} RejectWalk;

// Sorts the list. False: no memory, which is no trouble yet unless spill->failed.
bool reject_walk_open(RejectWalk *walk, RejectSet *set);
// It lives until the next call. nullptr: there is none, or trouble (spill->failed).
const Reject *reject_walk_next(RejectWalk *walk);
void reject_walk_close(RejectWalk *walk);

#endif
