// sort.h: a stable sort of pairs of a key and a place for the reference programs: into buckets by a
// small number, then by 64-bit keys, digit by digit; the buckets are shared out to the threads.
#pragma once

#include "scan.h"

enum { DIGIT_BITS = 11, DIGITS_MAX = 6, RADIX = 1 << DIGIT_BITS };

typedef struct Pair {
    uint64_t key, place;
} Pair;

// Sorts by the lowest `bits` of the keys, least significant digit first; `spare` has the same room.
static inline void sort_bucket(Pair *pairs, Pair *spare, size_t count, int bits) {
    static _Thread_local uint32_t counts[DIGITS_MAX][RADIX];
    int digits_of = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < count; i++)
        for (int d = 0; d < digits_of; d++)
            counts[d][pairs[i].key >> (d * DIGIT_BITS) & (RADIX - 1)]++;
    Pair *from = pairs, *to = spare;
    for (int d = 0; d < digits_of; d++) {
        uint32_t sum = 0;
        for (size_t i = 0; i < RADIX; i++) {
            uint32_t here = counts[d][i];
            counts[d][i] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++)
            to[counts[d][from[i].key >> (d * DIGIT_BITS) & (RADIX - 1)]++] = from[i];
        Pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs) memcpy(pairs, from, count * sizeof *pairs);
}
