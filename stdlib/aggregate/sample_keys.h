// Sample keys: numbers by an unsigned key of the same order. Of the files of this folder only.
#ifndef SBC_STDLIB_SAMPLE_KEYS_H
#define SBC_STDLIB_SAMPLE_KEYS_H

#include <stdint.h>
#include <string.h>

// nan is the greatest value, -0.0 counts as 0.0.
static inline uint64_t sb_sample_key(double x) {
    x = x != x ? (double)__builtin_nanf("") : x + 0.0;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static inline double sb_sample_value(uint64_t key) {
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

struct SbCall;
struct SbSample;
// The keys of all values in order, one at least; nullptr: no memory.
const uint64_t *sb_sample_sorted(struct SbCall *call, const struct SbSample *state);

// Sorts `count` keys, one at least. The result is `keys` or `spare`, which has as many places.
uint64_t *sb_sort_keys(uint64_t *keys, uint64_t *spare, uint64_t count);

#endif
