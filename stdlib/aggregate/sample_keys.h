// Sample keys: values by an unsigned key of the same order. Of the files of this folder only.
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

// Dates, timestamps and durations.
static inline uint64_t sb_time_key(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; }
static inline int64_t sb_time_value(uint64_t key) { return (int64_t)(key ^ UINT64_C(1) << 63); }

// Fraction q of n values in order stands at place q (n - 1), counted from 0. The value up to there
// is *at; what comes back is how far the place lies on the way to the next one, 0 at the last.
static inline double sb_sample_place(uint64_t count, double fraction, uint64_t *at) {
    double place = fraction * (double)(count - 1);
    *at = (uint64_t)place;
    if (*at >= count - 1) *at = count - 1;
    return *at + 1 < count ? place - (double)*at : 0;
}

struct SbCall;
struct SbSample;
// Keeps a key, and all those of another state: a status.
int32_t sb_sample_add(struct SbCall *call, struct SbSample *state, uint64_t key);
int32_t sb_sample_merge(struct SbCall *call, struct SbSample *into, const struct SbSample *from);
// The keys of all values in order, one at least; nullptr: no memory.
const uint64_t *sb_sample_sorted(struct SbCall *call, const struct SbSample *state);

// Sorts `count` keys, one at least. The result is `keys` or `spare`, which has as many places.
uint64_t *sb_sort_keys(uint64_t *keys, uint64_t *spare, uint64_t count);

#endif
