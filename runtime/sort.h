// Sort: brings items into order by (key, compare, order key), on all threads.
#ifndef SBC_RUNTIME_SORT_H
#define SBC_RUNTIME_SORT_H

#include "runtime/breaker.h"

typedef struct SbSortItem {
    uint64_t       key;
    const SbEntry *entry;
} SbSortItem;

typedef int32_t SbCompareFn(const SbEntry *a, const SbEntry *b);

// Sorts `items`; `spare` has room for as many. `compare` decides among equal keys (null: the order
// key alone does), the order key last. The result is in `items`.
void sb_sort(SbSortItem *items, SbSortItem *spare, int64_t count, SbCompareFn *compare,
             SbParallel *parallel);

#endif
