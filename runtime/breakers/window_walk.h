// Window walk: one thread goes along a piece of merged rows that are on disk, in the order of a
// window. It keeps them in chunks as long as a function looks at them, and writes rows with their
// results as runs in the order in which they came:
//
//   merge ──▶ [chunk][chunk][chunk] ──▶ runs
//              written   │      └ the partition that is still open
//              and freed └ rows with results
//
// A partition may be larger than the memory. Only what its frames look at has to fit. What needs
// all of a partition first (ntile, rows all) goes along it twice then.
#ifndef SBC_RUNTIME_BREAKERS_WINDOW_WALK_H
#define SBC_RUNTIME_BREAKERS_WINDOW_WALK_H

#include "runtime/breakers/window_crew.h"
#include "runtime/disk.h"

// Whole partitions that follow each other.
typedef struct WindowPiece {
    SpillMerge    *merge;   // Goes on to the end of all rows; taken by the walk.
    const SbEntry *skip;    // A row of the first partition, which is not of the piece; or null.
    const SbEntry *last;    // A row of the last one; null: the piece has all that follow.
    int64_t        budget;  // Bytes that the rows may take, about.
} WindowPiece;

// Bytes of memory that all rows take with what writing them takes, about.
int64_t window_run_bytes(const SpillRuns *rows, const SbBreaker *bare, const SbBreaker *what);

// `from`: all rows, as they are without results. A status: SB_FAULT_TOO_LARGE where there is no
// memory, or spill->failed.
int32_t window_walk(WindowPiece *piece, const SpillOrder *from, WindowCrew *crew, uint32_t thread);

#endif
