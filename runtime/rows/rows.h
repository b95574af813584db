// Rows: entries of one size kept in the order in which they came.
#ifndef SBC_RUNTIME_ROWS_H
#define SBC_RUNTIME_ROWS_H

#include "runtime/abi/kept.h"
#include "runtime/memory.h"

typedef struct RowBlock {
    char   *begin;
    int64_t count;   // Entries in it once it is full.
} RowBlock;

// Where rows go when the memory grows short.
typedef struct RowsRelief {
    // Writes the first `count` rows elsewhere; false: that failed. They are let go then. Unless it
    // is for good, `settle` says later whether they are kept there.
    bool  (*write)(struct RowsRelief *self, SbRows *rows, int64_t count, bool for_good);
    bool  (*settle)(struct RowsRelief *self, bool keep);
    int64_t bytes_min;       // Fewer are not worth it, unless nothing else helps.
    int64_t cover;           // Charged with each entry: what `write` takes for it.
} RowsRelief;

// Some of the rows are not wanted.
typedef struct RowsShrink {
    // Lets such rows go, if it can (sb_rows_become). No row is marked.
    void  (*shrink)(struct RowsShrink *self, SbRows *rows);
    int64_t at;              // It is called when there are so many rows, between two rows.
} RowsShrink;

// From here on rows may be taken back.
typedef struct RowsMark {
    bool       is;
    bool       gone;       // Some of those after it were written.
    int64_t    count;      // Rows before the mark.
    int64_t    blocks;     // Blocks of the rows before the mark.
    char      *at, *block_end;
    SbSlabMark entries, texts;
} RowsMark;

enum { FEW_BLOCKS = 4 };

struct SbRowsState {
    SbSlab    entries, texts;
    int64_t   entry_bytes;   // A multiple of 16.
    RowBlock *blocks;
    RowBlock  few[FEW_BLOCKS];  // The first ones: rows of partitions come by the thousand.
    int64_t   block_count, blocks_max;
    const SbEntry **order;   // Made by sb_rows_entries.
    int64_t   order_bytes;   // Charged for it; 0: it lies after the last entry.
    RowsShrink *shrink;      // nullptr: all rows are wanted.
    RowsRelief *relief;      // nullptr: all rows stay.
    int64_t   covered;       // Charged for relief->cover.
    char     *block_end;     // Of the last block. rows->end may stand before it, where a piece
                             // ends.
    int64_t   batch, begin;  // Rows of a batch that is cut into pieces (0: none), and the number
                             // in that batch of the first row here.
    int64_t   row;           // The number of the row that is being put together.
    SbSlabMark row_texts;    // The texts of that row lie after this mark.
    RowsMark  mark;
};

// ---- rows that are opened alone ---------------------------------------------------------------

// An empty batch that is to hold about `wanted` bytes. nullptr: over the limit.
SbRows *sb_rows_open(SbMemory *memory, int64_t entry_bytes, int64_t wanted);
void    sb_rows_close(SbRows *rows);
// The same, but for the memory that its rows and their list lie in: somebody else owns these blocks
// from now on. They stay charged.
void    sb_rows_give_up(SbRows *rows, SbBlockFn *fn, void *arg);
int64_t sb_rows_bytes(const SbRows *rows);  // Charged.
int64_t sb_rows_used(const SbRows *rows);   // Charged and in use.
// The entries in the order in which they came, as an array that lives as long as the batch.
// nullptr: over the limit (and when there are none).
const SbEntry *const *sb_rows_entries(SbRows *rows);

// ---- rows inside something else ---------------------------------------------------------------

int32_t sb_rows_init(SbRows *rows, SbMemory *memory, int64_t entry_bytes);
void    sb_rows_fini(SbRows *rows);

// Writes all rows and lets them go, or of marked rows first those before the mark; between rows
// only. True where there are none.
bool sb_rows_relieve(SbRows *rows);
// What is added from now on is taken back (sb_rows_back), or kept. False: what was written of it
// could not be kept.
void sb_rows_mark(SbRows *rows);
void sb_rows_back(SbRows *rows);
bool sb_rows_keep(SbRows *rows);
// Lets all rows go and keeps the memory for those that come next. Of rows without relief.
void sb_rows_reset(SbRows *rows);
// Lets all rows go.
void sb_rows_clear(SbRows *rows);
// Lets all rows go and has those of `from`, of the same size and memory, which is closed. False: no
// memory to write them one day, and nothing has changed.
bool sb_rows_become(SbRows *rows, SbRows *from);
// Gives up what is charged for writing them.
void sb_rows_uncover(SbRows *rows);
// From now on other processes may read what is added, if the account has an arena.
void sb_rows_share(SbRows *rows);
// Lets all rows go, but for the memory that they lie in: somebody else owns these blocks from now
// on. They stay charged.
void sb_rows_leave(SbRows *rows, SbBlockFn *fn, void *arg);
// Rows that lie side by side in these `blocks`, which are from malloc and become the rows' own;
// somebody else owns what they point to. Nothing may be added. False: no memory.
bool sb_rows_adopt(SbRows *rows, SbMemory *memory, int64_t entry_bytes, RowBlock *blocks,
                   int64_t block_count);

// What taking room for a row means to the task that puts it together.
typedef struct RowsGrowth {
    bool    memory;             // A block was taken.
    int64_t piece, next_piece;  // A piece of a batch ends with this row, of so many rows, and the
                                // next one with row `next_piece`; 0: none does.
} RowsGrowth;

// Room for an entry where [rows->at, rows->end) has none; not zeroed. nullptr: over the limit.
SbEntry *rows_grow(SbRows *rows, int64_t entry_bytes, RowsGrowth *growth);
// A copy of bytes that lives as long as the rows. nullptr: over the limit.
const char *rows_text(SbRows *rows, const char *ptr, int64_t len, bool *grew);
// A deep copy of a nested value (in place): lists and strings inside are copied. A status.
int32_t rows_nested(SbRows *rows, const SbType *type, void *value, bool *grew);

// A new entry, not zeroed. nullptr: over the limit. What generated code does inline.
static inline SbEntry *sb_rows_add(SbRows *rows) {
    char *at = rows->at;
    if (at != rows->end) {
        rows->count++;
        rows->at = at + rows->state->entry_bytes;
        return (SbEntry *)(void *)at;
    }
    RowsGrowth growth;
    SbEntry *entry = rows_grow(rows, rows->state->entry_bytes, &growth);
    rows->count += entry != nullptr;  // After it: growing may let go of all rows before.
    return entry;
}

// Entries that lie side by side. All zero: before the first.
typedef struct RowSpan {
    char   *begin;
    int64_t count, entry_bytes;
    int64_t block;  // The next one.
    int64_t rows;   // In this span and those before.
} RowSpan;

// Goes on to the next span in the order in which the entries came. A row is not counted when its
// text found no memory. What was taken for such a row is in no span. False: there is no other span.
bool sb_rows_next_span(const SbRows *rows, RowSpan *span);

static inline SbEntry *span_entry(const RowSpan *span, int64_t i) {
    return (SbEntry *)(void *)(span->begin + i * span->entry_bytes);
}

// Writes the address of every entry to `out`, which has room for rows->count.
void sb_rows_list(const SbRows *rows, const SbEntry **out);
// The same of at most `count` entries from the number `first` on. Returns how many there were.
int64_t sb_rows_list_some(const SbRows *rows, int64_t first, int64_t count, const SbEntry **out);

#endif
