// Sort items: pairs of a word and an entry in order, on the calling thread.
#ifndef SBC_RUNTIME_SORT_ITEMS_H
#define SBC_RUNTIME_SORT_ITEMS_H

#include "runtime/rows/sort_key.h"

// A run of items that are equal by all before `place`.
typedef struct SortRun {
    SbSortItem *items, *spare;  // Room for as many.
    int64_t     count;
    SortPlace   place;
} SortRun;

// By the words at the place and all that follows. `seen` says that the keys are these words, and
// what was seen of them; null: the words are asked for first.
void sort_run(const SbSortBy *by, SortRun run, const SortSeen *seen);

// By key alone; equal ones stay as they were. `differ`: bits in which any keys differ, at least.
void sort_by_word(SbSortItem *items, SbSortItem *spare, int64_t count, uint64_t differ);

#endif
