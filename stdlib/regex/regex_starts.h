// Regex starts: places where a match may begin, 32 at a time, by the first bytes of matches.
#ifndef SBC_STDLIB_REGEX_STARTS_H
#define SBC_STDLIB_REGEX_STARTS_H

#include "stdlib/regex/regex_match.h"

#include <immintrin.h>

enum { REGEX_START_BLOCK = 32 };

// Bit i: a match may begin at at[i]. Two shuffles a place say whether a byte is in a set, as in
// "Teddy" of Hyperscan.
static inline uint32_t regex_starts_mask(const SbRegexStarts *starts, const char *at) {
    const __m256i high_bits = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 1, 1, 1, 1, 1, 1, 1, 1));
    const __m256i half = _mm256_set1_epi8(15);
    uint32_t mask = UINT32_MAX;
    for (uint32_t k = 0; k < starts->count; k++) {
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)(at + k));
        const __m256i set = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)starts->low[k]));
        const __m256i low = _mm256_shuffle_epi8(set, _mm256_and_si256(bytes, half));
        const __m256i high = _mm256_shuffle_epi8(
            high_bits, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half));
        const __m256i in = _mm256_cmpeq_epi8(_mm256_and_si256(low, high), high);
        mask &= (uint32_t)_mm256_movemask_epi8(in);
    }
    return mask;
}

// The first place from `at` on where a match may begin, or text.len. For patterns whose
// starts.count is not 0.
static inline int64_t regex_next_start(RegexSearch *search, int64_t at) {
    const int64_t last = search->text.len - search->regex->starts.count;
    for (int64_t block = at & -REGEX_START_BLOCK; block <= last; block += REGEX_START_BLOCK) {
        if (search->block != block) {
            search->block = block;
            search->starts = regex_starts_mask(&search->regex->starts, search->text.ptr + block);
        }
        uint32_t bits = search->starts;
        if (at > block) bits &= UINT32_MAX << (at - block);
        if (!bits) continue;
        const int64_t found = block + (int64_t)_tzcnt_u32(bits);
        return found <= last ? found : search->text.len;
    }
    return search->text.len;
}

#endif
