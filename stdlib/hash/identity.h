// Identity: the number of a row that depends only on where it came from (docs/identity.md).
#ifndef SBC_STDLIB_IDENTITY_H
#define SBC_STDLIB_IDENTITY_H

#include "stdlib/hash/hash.h"

enum : uint64_t { SB_IDENTITY_SEED = 0x243f6a8885a308d3 };

uint64_t sb_identity_text(uint64_t source, uint64_t file, uint64_t offset);
// Of an element, a match, a pair.
uint64_t sb_identity_next(uint64_t identity, uint64_t number);
// A number that looks random, for a seed and an identity.
uint64_t sb_identity_draw(int64_t seed, uint64_t identity);
// Does `sample fraction seed` keep the row?
bool sb_sampled(int64_t seed, uint64_t identity, double fraction);

#endif
