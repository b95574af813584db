// Random: a hash of (identity, seed), not a generator with a state.
#include "stdlib/hash/random.h"

static uint64_t scramble(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uint64_t draw(uint64_t identity, int64_t seed) {
    uint64_t from_seed = scramble((uint64_t)seed + 0xd1b54a32d192ed03);
    return scramble(scramble(identity + 0x9e3779b97f4a7c15) ^ from_seed);
}

double sb_random(uint64_t identity, int64_t seed) {
    return (double)(draw(identity, seed) >> 11) * 0x1p-53;
}

// Both ends included; the bias of the product is below 2^-64 times the width.
int32_t sb_random_int(uint64_t identity, int64_t seed, int64_t low, int64_t high, int64_t *out) {
    if (low > high) return SB_FAULT_BAD_ARGUMENT;
    unsigned __int128 width = (unsigned __int128)((uint64_t)high - (uint64_t)low) + 1;
    uint64_t offset = (uint64_t)(draw(identity, seed) * width >> 64);
    *out = (int64_t)((uint64_t)low + offset);
    return SB_OK;
}
