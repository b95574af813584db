// Spill rows: entries as they lie on disk.
//
// A row is its entry and, from a multiple of its alignment on, what the entry points to, in the
// order of SbBreaker.held. Texts stand as they are, elements of lists from a multiple of 16 on.
// Each row is a multiple of its alignment, 8 or 16 (SbBreaker.narrow). Pointers mean nothing there,
// and are all the same but in rows longer than a block. A reader walks the row in the same order,
// and so knows where everything lies. So a row is used where it was read.
#ifndef SBC_RUNTIME_SPILL_ROWS_H
#define SBC_RUNTIME_SPILL_ROWS_H

#include "runtime/abi/program.h"
#include "runtime/disk/index.h"
#include "runtime/rows.h"

// Rows begin at multiples of it.
static inline int64_t spill_row_align(const SbBreaker *what) { return what->narrow ? 8 : 16; }

// Bytes of an entry there, without what it points to: a multiple of the alignment.
static inline int64_t spill_entry_bytes(const SbBreaker *what) {
    int64_t align = spill_row_align(what);
    return ((int64_t)what->entry_bytes + align - 1) & -align;
}

// Appends the row to the run that the writer of `thread` has begun.
bool spill_put(Spill *spill, uint32_t thread, const SbBreaker *what, const SbEntry *entry);

// A run that is written in order, with an index of it.
typedef struct SpillPut {
    Spill           *spill;
    uint32_t         thread;  // Of the writer.
    const SbBreaker *what;
    const SbSortBy  *by;
    SpillIndex      *index;   // nullptr: nobody looks for rows of it.
} SpillPut;

// The same, noted in the index.
bool spill_put_noted(const SpillPut *put, const SbEntry *entry);
// The same of many, which lie anywhere in memory.
bool spill_put_all(const SpillPut *put, const SbEntry *const *entries, int64_t count);

// Points the entry to what it holds, which lies in the `len` bytes at `held` (a multiple
// of the alignment). How many of them it takes, a multiple as well; -1: more than there are.
int64_t spill_link(const SbBreaker *what, SbEntry *entry, char *held, int64_t len);

// The longest row of the run, as far as its first block goes: keys come before all else that it
// holds. For the message of a job that ends: nothing is charged. The caller frees it. nullptr: no
// memory, or trouble.
SbEntry *spill_longest_row(Spill *spill, const SbBreaker *what, const SpillRun *run);

// A copy of a row that was read, whose entry holds `held_bytes` after it; nullptr: over the limit.
// Entries of `rows` may be longer, and are not filled up then.
SbEntry *spill_keep(SbRows *rows, const SbBreaker *what, const SbEntry *entry, int64_t held_bytes);
// The same of any row, wherever what it holds lies.
SbEntry *spill_copy(SbRows *rows, const SbBreaker *what, const SbEntry *entry);

#endif
