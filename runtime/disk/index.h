// Spill index: where the blocks of a run begin, so that its rows are found again by their order or
// their number. It is noted while the run is written and stays in memory, or lies on disk.
#ifndef SBC_RUNTIME_SPILL_INDEX_H
#define SBC_RUNTIME_SPILL_INDEX_H

#include "runtime/disk/spill.h"
#include "runtime/rows.h"

// The bits that begin the order of rows. Rows with the same ones may still differ.
typedef struct SpillKey {
    uint64_t key, more;   // SbSortBy.prefix and prefix_more; 0: there is none.
} SpillKey;

static inline bool spill_key_less(SpillKey a, SpillKey b) {
    return a.key != b.key ? a.key < b.key : a.more < b.more;
}

SpillKey spill_key_of(const SbSortBy *by, const SbEntry *entry);

// Keys where the runs of a set all begin a block, so that nothing that is cut there is read twice.
// Keys are as SpillKey.key and ascend.
typedef struct SpillBounds {
    uint64_t *keys;
    int64_t   count;
} SpillBounds;

typedef struct SpillMark {
    int64_t  at;        // Where the block begins in the file.
    int64_t  row;       // The number of the block's first row in the run.
    SpillKey key;       // The key of the block's first row; or a bound between that and the row
                        // before it.
} SpillMark;

struct SpillIndex {
    Spill     *spill;
    SpillMark *marks;   // Of every block, or every second, fourth... where they are many.
    int64_t    count, cap;
    int64_t    passed, every;  // While it is written: blocks so far, and which are kept.
    int64_t    rows;    // Noted.
    int64_t    block;   // Of the last one.
    int64_t    charged;
    const SpillBounds *bounds;  // nullptr: there are none.
    int64_t    bound;   // The first of them that no row has reached.
    bool       mapped;  // The marks lie on disk.
    bool       lost;    // The marks found no memory.
};

// Of a run that is to be written. nullptr: no memory.
SpillIndex *spill_index_open(Spill *spill);
// Of every block of a run of so many bytes, on disk (spill_map). nullptr: the same, or
// spill->failed.
SpillIndex *spill_index_open_whole(Spill *spill, int64_t bytes);
void spill_index_close(SpillIndex *index);
// Of one without marks, to which nothing was put yet: blocks begin there. The bounds must stay.
void spill_index_bound(SpillIndex *index, const SpillBounds *bounds);

// Before a row is put: is it the first one beyond a bound? That bound, for its note; or nullptr.
const uint64_t *spill_index_cross(SpillIndex *index, const SbSortBy *by, const SbEntry *entry);
// Notes the row that was put last, with the writer of `thread`, and the bound that it crossed or
// nullptr. False: it is lost.
bool spill_index_note(SpillIndex *index, uint32_t thread, const SbSortBy *by,
                      const SbEntry *entry, const uint64_t *bound);
// Adds a mark that an index had at its place of all of them. False: the same.
bool spill_index_add(SpillIndex *index, const SpillMark *mark);
// Ends the run of the writer. The index, which may be nullptr, becomes its own, unless it is lost.
// False: spill->failed, and the index is closed.
bool spill_index_end(SpillIndex *index, Spill *spill, uint32_t thread, SpillRun *run);

// As many marks have a lesser key.
int64_t spill_index_before(const SpillIndex *index, SpillKey key);
// Is there a mark of that number, with that key?
bool spill_index_has(const SpillIndex *index, int64_t mark, SpillKey key);
// The last mark that the row is not before.
int64_t spill_index_of_row(const SpillIndex *index, int64_t row);

#endif
