// Random numbers of tests: the same ones in each run (xorshift64*, each program from one seed).
#ifndef SBC_TESTS_UNIT_RANDOM_H
#define SBC_TESTS_UNIT_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 0x2545f4914f6cdd1d;  // A failure may print it.

static inline uint64_t random_u64(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x9e3779b97f4a7c15;
}

static inline uint32_t random_below(uint32_t n) {
    return (uint32_t)((random_u64() >> 32) * n >> 32);
}

#endif
