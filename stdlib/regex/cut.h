// Cut: the pieces of a text one after the other, as `explode` takes them from a function with the
// trait `cuts`, so that no list is made. Small enough to be inlined into stages.
#ifndef SBC_STDLIB_CUT_H
#define SBC_STDLIB_CUT_H

#include "stdlib/regex/regex.h"

typedef struct SbCut {
    SbStr       piece;   // The one found last.
    const char *at;      // The 64 bytes that are looked at.
    uint64_t    edges;   // split: where separators are in these bytes, as far as not yet passed.
                         // find_all: where pieces begin; of one run where they end too.
    uint64_t    ends;    // find_all: where pieces end, of more than one run.
    const char *begin;   // split: of the next piece.
    uint64_t    inside;  // find_all: what the 64 bytes before `at` end in (regex_edges).
} SbCut;

// Before the first piece.
void sb_cut_start(SbCut *cut, SbStr text);

// SYMBOL_look is called when there are no edges: it goes on to the next 64 bytes that have any;
// false: there are none, and no further piece. SYMBOL_take is called when there are: it takes a
// piece. Both get the arguments of the function. The separator is one byte long.
bool sb_split_look(SbCut *cut, SbStr text, SbStr separator);
void sb_split_take(SbCut *cut, SbStr text, SbStr separator);

// The regex is one of runs (REGEX_RUNS).
bool sb_regex_find_all_look(SbCut *cut, SbStr text, const SbRegex *regex);
void sb_regex_find_all_take(SbCut *cut, SbStr text, const SbRegex *regex);

#endif
