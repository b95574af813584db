// Spill groups: groups that the memory does not hold, shared out by hash.
//
// When the memory grows short a thread writes its table (disk/table.h). That is the groups that it
// has there, with the states of their aggregates, by up to 256 ranges of their hashes. At the end
// all threads do. As many ranges as fit are then merged in memory, as tables of threads are, and
// what comes out is a run in the order of first rows. What does not fit is shared out by the next
// bits of the hashes. The reader merges the runs by the order of first rows. So it sees what it
// would have seen: merging does not depend on which rows of a group were added where.
#ifndef SBC_RUNTIME_SPILL_GROUPS_H
#define SBC_RUNTIME_SPILL_GROUPS_H

#include "runtime/breakers/groups.h"
#include "runtime/disk.h"
#include "runtime/report.h"

typedef struct SpillGroupsPart {
    GroupsRelief relief;    // First: it is found by it.
    struct SpillGroups *groups;
    uint32_t   thread;
} SpillGroupsPart;

typedef struct SpillGroups {
    Spill           *spill;
    SbMemory        *memory;    // The account that merging takes from.
    const SbBreaker *what;
    uint32_t         bits;      // Of a hash: a level has as many ranges as they have values.
    int64_t          block_bytes;  // Of the results: one merge is to read them all.
    int64_t          share_most;   // The most bytes of tables that are to be one result.
    SpillBounds      bounds;       // Of the results; from the first one that was made.
    bool             bounded;      // It was asked for them. Under the lock.
    pthread_mutex_t  bounding;
    SpillTables      tables;    // Tables that were written.
    SpillRuns       *results;   // Runs of whole groups, in order.
    SpillGroupsPart *parts;     // By thread.
    _Atomic bool     used;      // There is a run.
    _Atomic int32_t  status;    // A fault of a merge.
} SpillGroups;

// nullptr: no memory. `results` is open.
SpillGroups *spill_groups_open(Spill *spill, const SbBreaker *what, SpillRuns *results);
void spill_groups_close(SpillGroups *groups);
// Lets the table of `thread` go to disk when the memory grows short. False: no memory.
bool spill_groups_watch(SpillGroups *groups, uint32_t thread, SbGroups *table);
// Writes groups that came from elsewhere, which stay where they are, as another table. False: no
// memory, or trouble.
bool spill_groups_write(SpillGroups *groups, const SbRows *rows, uint32_t thread);
// Makes the results of what was written. A status: SB_FAULT_TOO_LARGE where spilling failed.
int32_t spill_groups_finish(SpillGroups *groups, SbParallel *parallel);
// The keys of a group as JSON.
void spill_groups_keys(Text *text, const SbBreaker *what, const SbEntry *entry);

#endif
