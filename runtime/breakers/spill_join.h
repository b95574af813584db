// Spill join: the right side of a join that the memory does not hold.
//
// Its rows go to disk in the order of (hash, right order), as runs with indexes. They are read as
// one sequence, in which a row is known by its number. A reader has a list of hashes in their
// order. It goes along all runs side by side, through the blocks where the hashes are. So the rows
// taken are in right order within each key.
//
// The runs are united first where rows are looked for here and there, and where the memory holds no
// blocks of all runs. Threads write a few runs then, one after the other in order. Their indexes
// lie on disk and have all blocks. The numbers stay the same.
#ifndef SBC_RUNTIME_SPILL_JOIN_H
#define SBC_RUNTIME_SPILL_JOIN_H

#include "runtime/disk.h"
#include "runtime/rows.h"

typedef struct SpillJoin SpillJoin;

struct SpillJoin {
    Spill           *spill;
    const SbBreaker *what;
    SpillRuns        runs;
    SpillRuns        united;      // What they become.
    _Atomic bool     is_united;   // That is what is read.
    pthread_mutex_t  lock;        // Of uniting.
    int64_t          rows;
    uint64_t        *matched;     // A bit for each row, on disk; nullptr: nobody asks.
    const SpillJoin *right;       // Of answers: what they are rows of.
    int64_t          chains_cut;  // Of answers: at so many hashes chains are cut, unit by unit.
};

// The order of rows on disk: their hash, then the order in which they came.
extern const SbSortBy spill_join_by;

// What is made of the runs, which are in that order and which it takes. Readers will come to
// `places` of the sequence. nullptr: spill->failed.
SpillJoin *spill_join_open(SpillRuns *runs, const SbBreaker *what, int64_t places,
                           SbParallel *parallel);
// Unites the runs, unless they are few; others may read meanwhile. If there is no memory they stay
// as they are. False: spill->failed.
bool spill_join_unite(SpillJoin *join, SbParallel *parallel);
// What readers read now.
const SpillRuns *spill_join_runs(const SpillJoin *join);
void spill_join_close(SpillJoin *join);

// ---- reading, by any number of threads ----------------------------------------------------------

typedef struct SpillJoinCursor {
    const SpillJoin *join;      // nullptr: not open.
    SpillMerge *merge;
    const SbEntry *entry;       // Shown; nullptr: none.
    int64_t     held;           // Bytes after it.
    int64_t     number;         // The number of the row that is shown.
} SpillJoinCursor;

// False: no memory.
bool spill_join_cursor(SpillJoinCursor *cursor, const SpillJoin *join);
void spill_join_cursor_close(SpillJoinCursor *cursor);

// Copies of rows, in the order of the rows. Of a copy `order` is the number of its row.
typedef struct SpillJoinRows {
    SbRows          rows;
    const SbEntry **entries;    // In the order of the rows: rows.count of them.
    int64_t         room;       // How many entries there is room for; charged.
} SpillJoinRows;

bool spill_join_rows_open(SpillJoinRows *rows, const SpillJoin *join);
void spill_join_rows_close(SpillJoinRows *rows);

typedef enum SpillJoinTaken {
    JOIN_TAKEN,
    JOIN_NO_ROOM,
    JOIN_TROUBLE,   // spill->failed
} SpillJoinTaken;

typedef struct SpillJoinTake {
    SpillJoinCursor *cursor;
    SpillJoinRows   *into;      // Empty.
    int64_t          rows_max;  // Bytes of all rows, unless they are those of a single hash.
    int64_t          key_max;   // Bytes of the rows of one hash. The rest is cut: after the last
                                // row of each key stands SB_CUT then.
} SpillJoinTake;

// Takes the rows with one of the hashes, which ascend.
SpillJoinTaken spill_join_take(const SpillJoinTake *take, const uint64_t *hashes, int64_t count);
// Takes the rows of one hash, for which the cursor is opened anew or has come to a lesser one.
SpillJoinTaken spill_join_take_next(const SpillJoinTake *take, uint64_t hash);
// Of answers (below): takes those to the unit, or of these the ones with one of the hashes, which
// ascend; nullptr: all.
SpillJoinTaken spill_join_take_answers(const SpillJoinTake *take, uint64_t unit,
                                       const uint64_t *hashes, int64_t count);
// Takes rows with the key of `entry`, a copy, from number `row` on, and chains them; or nothing.
SpillJoinTaken spill_join_more(const SpillJoinTake *take, const SbEntry *entry, int64_t row);
// The copy after `entry` in its chain; nullptr: there is none, or the chain is cut there.
const SbEntry *spill_join_next(const SpillJoin *join, const SbEntry *entry);

// From now on it is noted which rows are matched. False: spill->failed.
bool spill_join_marks(SpillJoin *join);
// Notes which of the copies were.
void spill_join_mark(const SpillJoin *join, const SbRows *rows);
// Copies what is noted, which others may add to meanwhile; and the way back, before anything is.
void spill_join_copy_marks(const SpillJoin *join, uint64_t *marks);
void spill_join_set_marks(SpillJoin *join, const uint64_t *marks);
// Writes the rows that were not to `to`, in the order `by`. False: spill->failed.
bool spill_join_rest(const SpillJoin *join, const SbSortBy *by, SpillRuns *to,
                     SbParallel *parallel);

// ---- answers ------------------------------------------------------------------------------------

// Units of left rows may be able to say at once which hashes they ask for. Then the right rows are
// gone along once for all units. What a unit asks for becomes the answers to that unit: a file like
// that of the right rows. There the number of the unit stands in place of the hash, and `order` is
// the number of the right row. So each unit finds its answers side by side. A key whose rows are
// too many for that is cut.

// An ask: {hash, number of the unit}, in that order.
extern const SbBreaker spill_join_ask;

// Answers the asks of so many units, which are reduced and stay. nullptr: spill->failed, or there
// is no memory.
SpillJoin *spill_join_answer(const SpillJoin *join, const SpillRuns *asks, int64_t units,
                             SbParallel *parallel);

#endif
