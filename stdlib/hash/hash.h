// Hashing of keys: fast, seeded, equal for equal keys; never visible in any output.
#ifndef SBC_STDLIB_HASH_H
#define SBC_STDLIB_HASH_H

#include "runtime/abi/value.h"

// Both halves of a 64 x 64 bit product, folded (wyhash and its kin).
static inline uint64_t sb_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// One step: a hash so far and the next 64 bits of the key.
static inline uint64_t sb_hash_word(uint64_t hash, uint64_t word) {
    return sb_mix(hash ^ word, 0x9e3779b97f4a7c15);
}

// Any bytes; reads up to SB_SLACK past the end, which does not change the hash.
uint64_t sb_hash_bytes(uint64_t hash, const char *ptr, int64_t len);

#endif
