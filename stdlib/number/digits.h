// Digits: up to sixteen of them at once in one vector, up to 32 in two. Private to stdlib/number.
#ifndef SBC_STDLIB_DIGITS_H
#define SBC_STDLIB_DIGITS_H

#include <immintrin.h>
#include <stdint.h>

enum { PLACES = 16, MANY_PLACES = 32 };

static inline __m128i load(const void *at) { return _mm_loadu_si128(at); }

// Sixteen bytes of each table, `count` bytes from its beginning, are about sixteen places of which
// the last `count` are filled. In move_last they say which character goes to a place; 255: none. In
// are_last they mark the filled places.
static const uint8_t move_last[2 * PLACES] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t are_last[2 * PLACES] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

// The characters that `moves` tells of, less '0'; what is no digit is above 9.
static inline __m128i digits_of(__m128i text, __m128i moves) {
    return _mm_shuffle_epi8(_mm_sub_epi8(text, _mm_set1_epi8('0')), moves);
}

static inline bool all_digits(__m128i digits) {
    const __m128i over = _mm_subs_epu8(digits, _mm_set1_epi8(9));
    return _mm_testz_si128(over, over);
}

// Of sixteen digits, the highest first: pairs are added up to numbers of two, four, eight digits.
static inline uint64_t value_of(__m128i digits) {
    const __m128i twos = _mm_maddubs_epi16(digits, _mm_set1_epi16(10 | 1 << 8));
    const __m128i fours = _mm_madd_epi16(twos, _mm_set1_epi32(100 | 1 << 16));
    const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours),
                                          _mm_set1_epi32(10000 | 1 << 16));
    const uint64_t halves = (uint64_t)_mm_cvtsi128_si64(eights);
    return (halves & UINT32_MAX) * 100000000 + (halves >> 32);
}

// A bit for each of 32 bytes that is no digit.
static inline uint64_t not_digits(const char *at) {
    const __m256i text = _mm256_loadu_si256((const __m256i *)at);
    const __m256i value = _mm256_sub_epi8(text, _mm256_set1_epi8('0'));
    const __m256i digit = _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
    return (uint32_t)~_mm256_movemask_epi8(digit);
}

// The number of `count` digits at `at`, up to 32.
static inline unsigned __int128 run_of(const char *at, uint64_t count) {
    enum : uint64_t { E16 = 10000000000000000 };
    if (count <= PLACES) return value_of(digits_of(load(at), load(move_last + count)));
    const uint64_t more = count - PLACES;
    const uint64_t high = value_of(digits_of(load(at), load(move_last + more)));
    return (unsigned __int128)high * E16 +
           value_of(digits_of(load(at + more), load(move_last + PLACES)));
}

#endif
