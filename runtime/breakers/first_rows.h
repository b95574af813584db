// First rows: a sort of which only the first rows of each partition are wanted, or the last one.
//
// What cannot be among them goes as soon as there are enough rows to choose from:
//
//   rows of a thread ─▶ twice what stayed last time ─▶ by hash ─▶ what may be wanted stays
//                    └▶ memory short: a run, of these alone
//
// Rows of one partition have one hash. So they come to stand side by side without a comparison.
//
// The first rows of all threads are among the first rows of each. So memory holds about twice
// what comes out, for each thread, whatever comes in. Which rows go when does not show: the order
// of the rows is total, and so is the choice.
#ifndef SBC_RUNTIME_FIRST_ROWS_H
#define SBC_RUNTIME_FIRST_ROWS_H

#include "runtime/abi/program.h"
#include "runtime/disk.h"
#include "runtime/rows.h"

// What is wanted of the rows of a breaker, a sort.
typedef struct FirstRows {
    RowsShrink       shrink;  // First: it is found by it. Of one thread's rows.
    const SbBreaker *what;
    const SbSortBy  *by;      // The order of the window, or of the sort.
    int64_t          most;    // Rows of a partition; all rows are one where there is no window.
} FirstRows;

// `by` and `what` must outlive it.
void first_rows_open(FirstRows *first, const SbBreaker *what, const SbSortBy *by, int64_t most);

// Leaves the wanted ones of `count` entries in the order of `by`, in this order. Returns how many
// there are.
int64_t first_rows_choose(const FirstRows *first, const SbEntry **entries, int64_t count);

// Are both rows of one partition?
bool first_rows_together(const FirstRows *first, const SbEntry *a, const SbEntry *b);
// Is the last row of each partition wanted?
bool first_rows_wants_last(const FirstRows *first);

#endif
