// Where the bits of a mask are, as a list of numbers: for indexes over text. Needs x86-64-v3.
#ifndef SBC_STDLIB_BIT_PLACES_H
#define SBC_STDLIB_BIT_PLACES_H

#include <immintrin.h>
#include <stdint.h>

enum { SB_PLACES_AHEAD = 8 };  // What is written after the last place may be overwritten.

// What sb_put_places leaves of a mask of more than eight bits.
[[gnu::noinline, gnu::cold]]
static inline void sb_put_places_rest(uint32_t *out, uint32_t mask, uint32_t base) {
    for (int i = 0; mask; i++, mask &= mask - 1) {
        if (i >= 8) out[i] = base + (uint32_t)__builtin_ctz(mask);
    }
}

// Appends base, which all lanes hold, plus the places of the mask's bits; writes SB_PLACES_AHEAD
// numbers at least. The mask, each bit doubled, takes all places out of constants two bits at a
// time, packed. These are spread to bytes, and the bytes to numbers. That is 16 instructions for up
// to eight places. A loop over the lowest bit takes four for each, and mispredicts its end.
static inline uint32_t *sb_put_places(uint32_t *out, uint32_t mask, __m256i base) {
    const uint64_t pairs = _pdep_u64(mask, 0x5555555555555555) * 3;
    uint64_t low = _pext_u64(0xe4e4e4e4e4e4e4e4, pairs);     // Bits 0 and 1 of 0..31.
    uint64_t middle = _pext_u64(0xffaa5500ffaa5500, pairs);  // Bits 2 and 3.
    uint64_t high = _pext_u32(0xffff0000, mask);             // Bit 4.
    uint64_t bytes = _pdep_u64(high, 0x0101010101010101);
    bytes = bytes * 4 + _pdep_u64(middle, 0x0303030303030303);
    bytes = bytes * 4 + _pdep_u64(low, 0x0303030303030303);
    __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bytes));
    _mm256_storeu_si256((__m256i *)out, _mm256_add_epi32(places, base));
    const uint64_t count = (uint64_t)__builtin_popcountll(mask);
    if (__builtin_expect(count > 8, 0))
        sb_put_places_rest(out, mask, (uint32_t)_mm256_cvtsi256_si32(base));
    return out + count;
}

#endif
