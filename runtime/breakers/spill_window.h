// Spill window: the functions of a window over rows that are on disk, in the order of the window.
//
// The indexes of the runs cut the merged rows into a piece for each thread. A cut may fall into a
// partition: then the thread before goes on to its end, and the next one begins after it.
//
//   rows     a a a b b│b b b b c c c│c d d d      cuts
//   thread 0 a a a b b b b b b
//   thread 1                    c c c c
//   thread 2                            d d d
//
// Threads that have no piece, as one partition has nearly all rows, write what others hand them.
// Where memory lacks for several pieces one thread begins anew, with all of them as one.
#ifndef SBC_RUNTIME_SPILL_WINDOW_H
#define SBC_RUNTIME_SPILL_WINDOW_H

#include "runtime/breakers/first_rows.h"
#include "runtime/disk.h"
#include "runtime/host.h"

typedef struct SpillWindow {
    const SbBreaker *what;   // Rows with results.
    const SbBreaker *bare;   // Rows without room for results, as they are in the runs.
    const SbSortBy  *order;  // Of the window.
    const SbSortBy  *by;     // Of the rows that come out.
    const FirstRows *first;  // Only these rows are wanted, without results; nullptr: all.
} SpillWindow;

// `rows`, in the order of the window, become those with results, as they came. A status: a fault of
// a sum, or SB_FAULT_TOO_LARGE where spill->failed.
int32_t spill_window(SpillRuns *rows, const SpillWindow *window, SbParallel *parallel);

#endif
