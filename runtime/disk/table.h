// Spill table: a table of groups on disk, from which the groups of some hashes can be read alone.
//
// A table is a run (spill.h) of two parts:
//   rows       by ranges of their hashes, one range after the other; each begins a block
//   directory  what is known of each range: where it lies, and how much it takes
// So memory has one run for each table, however many ranges there are, and ranges that are side by
// side are read together.
#ifndef SBC_RUNTIME_SPILL_TABLE_H
#define SBC_RUNTIME_SPILL_TABLE_H

#include "runtime/disk/merge.h"

enum { SPILL_RANGES = 256 };   // Of a table, at most.

// Tables with the same ranges.
typedef struct SpillTables {
    SpillRuns        runs;
    const SbBreaker *what;
    uint32_t         ranges;   // A power of two.
    uint32_t         shift;    // The range of a row: its hash shifted by it.
} SpillTables;

// What a range takes in all tables.
typedef struct SpillShare {
    int64_t rows, bytes;       // Unpacked.
} SpillShare;

// The caller has set what, ranges and shift. False: no memory.
bool spill_tables_open(SpillTables *tables, Spill *spill, SbMemory *memory);
// Gives the disk back too.
void spill_tables_close(SpillTables *tables);

// Writes the rows as another table; `list` has room for all of them. False: trouble.
bool spill_tables_add(SpillTables *tables, uint32_t thread, const SbRows *rows,
                      const SbEntry **list);
// What all ranges take. False: trouble.
bool spill_tables_shares(const SpillTables *tables, SpillShare shares[SPILL_RANGES]);
// The rows of a table in the ranges from..to-1, as a run. False: trouble.
bool spill_tables_run(const SpillTables *tables, uint32_t table, uint32_t from, uint32_t to,
                      SpillRun *run);

#endif
