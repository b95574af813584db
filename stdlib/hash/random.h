// Random: numbers drawn from the row's identity and a seed, so that they do not depend on threads,
// partitions or the order of evaluation. Frozen: SplitMix64's finalizer over identity and seed.
#ifndef SBC_STDLIB_RANDOM_H
#define SBC_STDLIB_RANDOM_H

#include "runtime/abi/value.h"

double sb_random(uint64_t identity, int64_t seed);  // In [0, 1), 53 bits.
int32_t sb_random_int(uint64_t identity, int64_t seed, int64_t low, int64_t high, int64_t *out);

#endif
