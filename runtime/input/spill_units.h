// Spill units: the rows of a breaker that are on disk, a unit at a time.
//
//   ranges     each unit is a cut of the merged sequence (disk/range.h), which the thread that
//              takes it merges: any number of them side by side
//   one merge  units are batches of merged rows, one after the other: where a key has more rows
//              than a unit, runs have no index, or there is no memory for more
#ifndef SBC_RUNTIME_SPILL_UNITS_H
#define SBC_RUNTIME_SPILL_UNITS_H

#include "runtime/breakers.h"
#include "runtime/disk.h"
#include "runtime/input/unit.h"

typedef struct SpillUnitsSetup {
    const SbBreakerState *breaker;
    int64_t bytes, rows;  // Of a unit, about; rows at most.
    int64_t most;         // Bytes of a range, about, if there are many runs.
    int64_t tasks;        // Tasks that read at once.
    int64_t first;        // The first row that is wanted.
} SpillUnitsSetup;

typedef struct SpillUnits {
    SpillUnitsSetup what;
    SpillOrder      on_disk;
    int64_t         bytes, most;  // Of a range, about, and with the blocks at its beginning.
    SpillCutter     cutter;  // Not open: all rows are one cut.
    SpillCut        cut;     // The cut that comes next, or that `merge` reads.
    SpillCutSize    size;
    bool            begun, pending;  // `merge` reads a cut; a cut is there that nobody reads yet.
    SpillMerge     *merge;
    SbRows         *read;    // By it, and not in a unit yet.
    int64_t         row;     // The number of the first of these.
} SpillUnits;

// nullptr: no memory.
SpillUnits *spill_units_open(const SpillUnitsSetup *what);
void spill_units_close(SpillUnits *units);
// The next unit. One thread at a time. `must`: nobody gives memory back any more.
UnitTake spill_units_take(SpillUnits *units, Unit *unit, bool must, Trouble *trouble);
// Reads the rows of the unit once more: those of its range of numbers. Any number of threads.
UnitTake spill_units_find(const SpillUnits *units, Unit *unit, bool must, Trouble *trouble);
// Are the rows of the unit still to be read?
bool spill_units_reads(const Unit *unit);
// Reads the rows of the unit. Any number of threads.
bool spill_units_prepare(const SpillUnits *units, Unit *unit, Trouble *trouble);

#endif
