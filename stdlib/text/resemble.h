// Resemble: how much two texts are alike, by their characters and by their sound.
#ifndef SBC_STDLIB_RESEMBLE_H
#define SBC_STDLIB_RESEMBLE_H

#include "runtime/abi/call.h"

// Wagner and Fischer's edit distance.
int32_t sb_levenshtein(SbCall *call, SbStr a, SbStr b, int64_t *out);
// Jaro's measure with Winkler's prefix: from 0 (nothing in common) to 1 (equal; two empty texts
// are). A common prefix of at most 4 characters counts 0.1 for each, where Jaro's measure is above
// 0.7.
int32_t sb_jaro_winkler(SbCall *call, SbStr a, SbStr b, double *out);
// American Soundex, as the National Archives of the United States state it: a letter and three
// digits. Letters beyond A to Z are passed over. An empty text where no letter is left.
int32_t sb_soundex(SbCall *call, SbStr s, SbStr *out);

// All parts of `count` characters or words, one beginning at each place. The words are joined by a
// blank.
int32_t sb_ngrams(SbCall *call, SbStr s, int64_t count, SbList *out);
int32_t sb_ngrams_of_words(SbCall *call, SbList words, int64_t count, SbList *out);

#endif
