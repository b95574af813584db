// Sort: brings entries into order by their keys and their order key, on all threads.
#ifndef SBC_RUNTIME_SORT_H
#define SBC_RUNTIME_SORT_H

#include "runtime/host.h"
#include "runtime/memory.h"
#include "runtime/rows/sort_key.h"

// Sorts on the calling thread; `room` is for twice as many items.
void sb_sort_serial(const SbEntry **entries, SbSortItem *room, int64_t count, const SbSortBy *by);

// SB_OK, or SB_FAULT_TOO_LARGE when the account does not hold what it needs: 25 bytes an entry and
// a little.
int32_t sb_sort(const SbEntry **entries, int64_t count, const SbSortBy *by, SbMemory *memory,
                SbParallel *parallel);

// Do the entries stand in order? Threads look side by side, and no further than one of them finds
// that they do not.
bool sb_is_sorted(const SbEntry *const *entries, int64_t count, const SbSortBy *by,
                  SbParallel *parallel);

#endif
