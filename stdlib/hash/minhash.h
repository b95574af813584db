// MinHash: short signatures of sets of texts. The share of equal values of two signatures estimates
// what the sets have in common (Broder, "On the resemblance and containment of documents", 1997).
#ifndef SBC_STDLIB_MINHASH_H
#define SBC_STDLIB_MINHASH_H

#include "runtime/abi/call.h"

enum { MINHASH_VALUES_MAX = 4096 };

// `count` values, 1 to MINHASH_VALUES_MAX: the least ones of as many permutations of the hashes. A
// value is SplitMix64 of the XXH64 of a text and the number of the permutation: it never changes.
// Of no texts all are the greatest u64.
int32_t sb_minhash(SbCall *call, SbList texts, int64_t count, SbList *out);
// Hashes of each `rows` values side by side, for texts alike to meet in one group
// (locality-sensitive hashing). Values that are left over at the end are in none.
int32_t sb_minhash_bands(SbCall *call, SbList values, int64_t rows, SbList *out);
// The share of positions at which both are equal, from 0 to 1. Both have as many values, at least
// one.
int32_t sb_minhash_similarity(SbList a, SbList b, double *out);

#endif
