// Join ranges: an index of right rows by the bounds of a join, where they come in no order.
//
// A row matches only where none of its bits is less than that of the left row (SbBreaker.bounds).
// The rows of one key lie by the bits of the first bound, the greatest first. So those that it lets
// through are the first ones. Of each further bound there is the greatest bits of 16 rows, of 16
// times 16 and so on. By these the rows that pass all of them are found in steps of the order of
// the logarithm:
//
//   first bound    9 8 8 7 6 | 5 4 2 ...     5 rows pass it, of a left row with 6
//   second bound   3 1 7 2 7 |               of these rows 2 and 4 pass 5, too
//
// Rows that come in order have none, as jumps along their chain are as quick (join_table.h).
#ifndef SBC_RUNTIME_JOIN_RANGES_H
#define SBC_RUNTIME_JOIN_RANGES_H

#include "runtime/breakers/join_table.h"
#include "runtime/memory.h"
#include "runtime/rows.h"

typedef struct SbJoinRanges SbJoinRanges;

// Makes the index of a table that is built, of all chains that gain by it. Other processes may read
// it, where the account has an arena. nullptr: no chain gains, or there is no memory.
SbJoinRanges *sb_join_ranges_make(const SbJoinBuild *build, SbMemory *memory, SbParallel *parallel);
void sb_join_ranges_close(SbJoinRanges *ranges, SbMemory *memory);
// Of the block that it is.
int64_t sb_join_ranges_bytes(const SbJoinRanges *ranges);

// Where a left row is among the rows of a key.
typedef struct SbRangeSearch {
    const struct RangeChain *chain;
    uint64_t bits[SB_BOUNDS_MAX];  // Of the left row.
    int64_t  at, end;              // Of the rows that the first bound lets through, the next one.
} SbRangeSearch;

// Begins with the chain whose first entry that is. False: it has no index.
bool sb_range_search(const SbTable *table, const SbEntry *first, const uint64_t *bits,
                     SbRangeSearch *search);
// The next rows that pass all bounds, at most `most`, in the order of the index; keys of items stay
// as they are. Fewer: there are no more.
int64_t sb_range_next(SbRangeSearch *search, SbSortItem *items, int64_t most);
// How many rows the key has.
int64_t sb_range_rows(const SbRangeSearch *search);
// About how many of those that are left pass all bounds, after a look at some. Of one bound: just
// as many.
int64_t sb_range_guess(const SbRangeSearch *search);

#endif
