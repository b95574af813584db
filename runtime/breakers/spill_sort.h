// Spill sort: the rows of a sort that the memory does not hold, as sorted runs.
//
// When the memory grows short a thread sorts what it keeps and writes it as a run. At the end all
// threads do, and whoever reads the sort merges the runs. Which rows are in which run depends on
// threads and memory. The order of the rows does not, since no two are equal: the last key is the
// order in which they came.
#ifndef SBC_RUNTIME_SPILL_SORT_H
#define SBC_RUNTIME_SPILL_SORT_H

#include "runtime/breakers/first_rows.h"
#include "runtime/disk.h"
#include "runtime/rows.h"

typedef struct SpillSortPart {
    RowsRelief relief;    // First: it is found by it.
    struct SpillSort *sort;
    uint32_t   thread;
    SpillRun  *open;      // Runs of rows that may be taken back.
    uint32_t   open_count, open_cap;
} SpillSortPart;

typedef struct SpillSort {
    const SbBreaker *what;
    const SbSortBy  *by;
    SpillRuns       *runs;
    const FirstRows *first;   // Only these are written. nullptr: all rows.
    SpillSortPart   *parts;   // By thread.
    uint32_t         threads; // Threads that have a part.
} SpillSort;

// `runs` is open. False: no memory.
bool spill_sort_open(SpillSort *sort, const SbBreaker *what, const SbSortBy *by, SpillRuns *runs);
void spill_sort_close(SpillSort *sort);
// Lets the rows of `thread` go to disk when the memory grows short. False: no memory.
bool spill_sort_watch(SpillSort *sort, uint32_t thread, SbRows *rows);

// Sorts the entries and writes them as a run, which nobody has added yet. It takes two SbSortItem
// for each, which are not charged.
bool spill_sort_write(const SpillSort *sort, uint32_t thread, const SbEntry **entries,
                      int64_t count, SpillRun *run);

// Writes all rows of one thread and lets them go. The threads share them: one may have kept far
// more than the others when no more came. What goes wrong is told by the spill.
void spill_sort_rest(SpillSort *sort, SbRows *rows, SbParallel *parallel);

// The same of rows that came from elsewhere, which stay where they are; by one thread.
bool spill_sort_take(SpillSort *sort, const SbRows *rows, uint32_t thread);

#endif
