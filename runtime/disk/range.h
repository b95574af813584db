// Spill range: sorted runs are merged by several threads. The indexes of the runs cut the merged
// sequence into ranges, each of which a thread reads into one piece of memory and merges there.
//
//   run 0   |  a ........ d ........ k ........ |      marks: the first keys of blocks
//   run 1   |  b ... e ... g ............. m .. |
//   merged  |  a b d | e g | k m |                     each cut stands before the key of a mark
//
// Of each run a range has the blocks whose marks lie in it. It also has the block before these,
// whose last rows may lie in it: so a block is read twice where ranges meet. Nothing is compared
// across a cut.
#ifndef SBC_RUNTIME_SPILL_RANGE_H
#define SBC_RUNTIME_SPILL_RANGE_H

#include "runtime/disk/merge.h"

// What is known of a cut before its rows are read: at most so much.
typedef struct SpillCutSize {
    int64_t bytes, rows;  // Of blocks, as its spans have them.
    int64_t rows_before;  // Rows of all runs in front of the cut's end.
} SpillCutSize;

typedef struct SpillCutter {
    const SpillRuns *runs;
    int64_t    bytes;     // Bytes that a cut is to have, about, beside the blocks at its beginning.
    int64_t    waste;     // As spill_cut_waste, of runs whose rows are apart.
    int64_t   *next;      // By run: its first mark that is not in front of the next cut.
    SpillSpan *spans;     // Of the last one.
    SpillKey   from;      // Where the next one begins.
    bool       over;
} SpillCutter;

// Can the runs be cut? That is so if all of them have an index.
bool spill_runs_can_cut(const SpillRuns *runs);
// Bytes of the blocks, one of each run, that a cut has at its beginning, at most.
int64_t spill_cut_waste(const SpillRuns *runs);

// Bytes of all blocks, as cuts count them: at most.
int64_t spill_cut_bytes(const SpillRuns *runs);

// False: no memory.
bool spill_cutter_open(SpillCutter *cutter, const SpillRuns *runs, int64_t bytes);
void spill_cutter_close(SpillCutter *cutter);
// The next cut, whose spans the next call changes. False: there is none.
bool spill_cutter_next(SpillCutter *cutter, SpillCut *cut, SpillCutSize *size);

// The rows of a cut in one piece of memory, which other processes may read.
typedef struct SpillRange {
    const SpillRuns *runs;
    SpillCut        cut;      // Its own.
    int64_t         bytes;    // Charged, all of it.
    char           *blocks, *packed;      // Room for them, and for one as it lies on disk.
    const SbEntry **entries;  // In order, once they were read.
    int64_t         count;
    int64_t         row;      // The number of the first entry among all rows of the runs.
} SpillRange;

// Room for them, which is charged. nullptr: there is none now.
SpillRange *spill_range_open(const SpillRuns *runs, const SpillCut *cut, const SpillCutSize *size);
// Reads and merges them; the order is that of the same runs. False: no memory, or spill->failed.
bool spill_range_read(SpillRange *range, const SpillOrder *order);
void spill_range_close(SpillRange *range);

// ---- pieces -------------------------------------------------------------------------------------

// The merged sequence in a few pieces, for a thread each: merges that read about as much. No row
// with the key of another one is in another piece.
typedef struct SpillPieces {
    SpillMerge **merges;
    int64_t     *bytes;   // Bytes that a merge reads, at most.
    uint32_t     count;
    Spill       *spill;   // The spill, which counts sets of pieces while they are open.
} SpillPieces;

// Up to `most`, and no more than share a quarter of the memory; one, if the runs cannot be cut or
// there is no memory for more. The runs must stay. `go_on`: merges go on after their pieces, to the
// end of all rows.
// False: there is no memory, which is no trouble yet.
bool spill_pieces_open(SpillPieces *pieces, const SpillOrder *order, uint32_t most, bool go_on);
void spill_pieces_close(SpillPieces *pieces);

#endif
