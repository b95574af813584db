// Spool: rows of an edge that wait on disk, as a run, until the stage that reads them has its turn.
#ifndef SBC_RUNTIME_SPOOL_H
#define SBC_RUNTIME_SPOOL_H

#include "runtime/input/batch.h"
#include "runtime/input/unit.h"

// Rows that were read back: they lie side by side, and point to what they hold, which follows.
typedef struct SpoolRows {
    const SbEntry **entries;  // nullptr: none.
    int64_t bytes;            // Charged.
} SpoolRows;

// Writes the rows of a batch with the writer of `thread`; the caller may use that writer now.
// False: the spill's trouble says why.
bool spool_write(Spill *spill, uint32_t thread, const SbBreaker *edge, const Batch *batch,
                 SpillRun *run);

// Bytes that the run takes in memory while it is used.
int64_t spool_bytes(const SpillRun *run);

// Where the rows of an edge are on disk.
typedef struct SpoolPlace {
    Spill              *spill;
    const SbBreaker    *edge;
    const SpillRun     *run;
    const BufferRelief *relief;  // May find memory for the rows; or nullptr.
} SpoolPlace;

// Reads the rows back. The memory that they take is charged. False: the trouble says why.
bool spool_read(SpoolRows *rows, const SpoolPlace *from, Trouble *trouble);
void spool_close(SpoolRows *rows, SbMemory *memory);

#endif
