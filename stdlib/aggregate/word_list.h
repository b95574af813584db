// Words of a large set as a list: most of them differ, so that looking each one up would wait for
// memory and find nothing. Repeats are taken out when the list is full, and when it is counted.
#ifndef SBC_STDLIB_WORD_LIST_H
#define SBC_STDLIB_WORD_LIST_H

#include "stdlib/aggregate/aggregate.h"

// A set with so many slots that is full becomes a list.
enum : uint64_t { SB_WORD_LIST_SLOTS = 1 << 14 };

static inline uint64_t sb_word_list_count(const SbWordSet *set) {
    return set->used - set->has_zero;
}

// The words of a set with slots become a list that has room for more. A status.
int32_t sb_word_list_begin(SbCall *call, SbWordSet *set);

// Of a list that is full: takes repeats out and makes room for as many words as there are then.
// False in `differ`: most of the words since the last time were there before, or they are too many,
// and nothing has changed but that repeats may be gone. A status.
int32_t sb_word_list_more(SbCall *call, SbWordSet *set, bool *differ);

// How many words the set has, in slots or in a list. Without memory for a copy that takes long.
int64_t sb_words_count(SbCall *call, const SbWordSet *set);

#endif
