// Sort: brings entries into order by (prefix, prefix_more, compare, order key), on all threads.
#ifndef SBC_RUNTIME_SORT_H
#define SBC_RUNTIME_SORT_H

#include "runtime/abi/kept.h"
#include "runtime/host.h"
#include "runtime/memory.h"

// What each decides among those that are equal by the ones before; null: nothing. The order key is
// the last.
typedef struct SbSortBy {
    uint64_t (*prefix)(const SbEntry *entry);
    uint64_t (*prefix_more)(const SbEntry *entry);
    int32_t (*compare)(const SbEntry *a, const SbEntry *b);
} SbSortBy;

typedef struct SbSortItem {
    uint64_t       key;    // The entry's prefix.
    const SbEntry *entry;
} SbSortItem;

// A prefix: the order in which rows came.
uint64_t sb_entry_order(const SbEntry *entry);

bool sb_sort_less(const SbSortItem *a, const SbSortItem *b, const SbSortBy *by);

// Sorts on the calling thread; `room` is for twice as many items.
void sb_sort_serial(const SbEntry **entries, SbSortItem *room, int64_t count, const SbSortBy *by);

// SB_OK, or SB_FAULT_TOO_LARGE when the account does not hold what it needs: 17 bytes an entry and
// a little.
int32_t sb_sort(const SbEntry **entries, int64_t count, const SbSortBy *by, SbMemory *memory,
                SbParallel *parallel);

#endif
