// Spill first: the first rows of each partition of rows that are on disk, or the last one.
//
// One thread goes along the merged rows. What it chooses is sorted as it came, and written as runs
// where the memory is short.
#ifndef SBC_RUNTIME_SPILL_FIRST_H
#define SBC_RUNTIME_SPILL_FIRST_H

#include "runtime/breakers/first_rows.h"
#include "runtime/disk.h"
#include "runtime/host.h"

// `from` has the rows in the order of the window. `to`, which is open, gets the wanted ones in the
// order `by`. A status: SB_FAULT_TOO_LARGE where spill->failed.
int32_t spill_first_rows(const FirstRows *first, const SpillRuns *from, SpillRuns *to,
                         const SbSortBy *by, SbParallel *parallel);

#endif
