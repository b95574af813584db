// Sort key: the keys of a row as words of 64 bits. A word is asked for where those before it are
// equal.
//
//   sort city, time, count
//
//   words   "Kingston"  " upon Th"    "ames..."       time   count   order
//   from    prefix      prefix_more   part: a text    parts: bits    the row
//
// Rows whose words are equal up to a place have their next word at the same place. So a place
// stands for all rows of a run. A text has seven bytes in a word, and what tells where it ends.
#ifndef SBC_RUNTIME_SORT_KEY_H
#define SBC_RUNTIME_SORT_KEY_H

#include "runtime/abi/kept.h"
#include "runtime/abi/program.h"

// What each decides among those that are equal by the ones before; null: nothing. The order key is
// the last. After the two prefixes a comparison decides, or the parts do: both say the same.
typedef struct SbSortBy {
    uint64_t (*prefix)(const SbEntry *entry);
    uint64_t (*prefix_more)(const SbEntry *entry);
    int32_t (*compare)(const SbEntry *a, const SbEntry *b);
    const SbSortPart *parts;
    uint32_t part_count;    // 0: only `compare` says it.
} SbSortBy;

typedef struct SbSortItem {
    uint64_t       key;    // A word of the entry's key.
    const SbEntry *entry;
} SbSortItem;

// A prefix: the order in which rows came.
uint64_t sb_entry_order(const SbEntry *entry);

// Of entries with equal prefixes: does `a` come before `b`?
bool sb_sort_less(const SbEntry *a, const SbEntry *b, const SbSortBy *by);

// The same of any two entries.
bool sb_sort_before(const SbEntry *a, const SbEntry *b, const SbSortBy *by);

// Where a word stands; all zero: the first one.
typedef struct SortPlace {
    uint32_t step;     // prefix, prefix_more, the parts, the order of the row.
    int64_t  offset;   // Bytes of a text before the word.
} SortPlace;

// What came of asking for the words of some rows.
typedef struct SortSeen {
    uint64_t differ;    // The bits in which any two of them differ.
    int64_t  descents;  // How often a word is less than the one before it.
} SortSeen;

// The part that `place` is in; a place in a part that the sort has not moves on to the next one.
// False: nothing is left to decide.
bool sort_key_part(const SbSortBy *by, SortPlace *place, SbSortPart *part);

// Of a part of bits or of a text.
uint64_t sort_key_word(const SbSortPart *part, SortPlace place, const SbEntry *entry);
// The words of all items, into their keys.
SortSeen sort_key_words(const SbSortPart *part, SortPlace place, SbSortItem *items, int64_t count);
// The words of entries.
SortSeen sort_key_list(const SbSortPart *part, SortPlace place, const SbEntry *const *entries,
                       int64_t count, uint64_t *words);

// The place after one where all rows of a run have `word`.
SortPlace sort_key_after(const SbSortBy *by, SortPlace place, uint64_t word);
// How many bytes from `place` on, up to `most`, the texts of two entries share. 0 in a part that is
// no text.
int64_t sort_key_shared(const SbSortPart *part, SortPlace place, const SbEntry *first,
                        const SbEntry *entry, int64_t most);

#endif
