// Spill window: the functions of a window over rows that are on disk, in the order of the window.
//
// One thread goes along the merged rows. It keeps them in chunks as long as a function looks at
// them, and writes rows with their results as runs in the order in which they came:
//
//   merge ──▶ [chunk][chunk][chunk] ──▶ runs
//              written   │      └ the partition that is still open
//              and freed └ rows with results
//
// A partition may be larger than the memory. Only what its frames look at has to fit. What needs
// all of a partition first (ntile, rows all) goes along it twice then.
#ifndef SBC_RUNTIME_SPILL_WINDOW_H
#define SBC_RUNTIME_SPILL_WINDOW_H

#include "runtime/disk.h"
#include "runtime/host.h"

// `from`: the rows, in the order of the window. `to` is open and gets them in the order `by`. A
// status: a fault of a sum, or SB_FAULT_TOO_LARGE where spill->failed.
int32_t spill_window(const SpillOrder *from, SpillRuns *to, const SbSortBy *by,
                     SbParallel *parallel);

#endif
