#include "stdlib/text/utf8.h"

#include <immintrin.h>

// What a pair of neighbouring bytes can have wrong, one bit each. Three tables, looked up by the
// nibbles of the pair, hold the errors that each nibble allows; their intersection is the error.
enum : uint8_t {
    TOO_SHORT = 1 << 0,      // A lead byte, then no continuation.
    TOO_LONG = 1 << 1,       // ASCII, then a continuation.
    OVERLONG_3 = 1 << 2,     // e0 80..9f
    TOO_LARGE = 1 << 3,      // f4 90.., f5..
    SURROGATE = 1 << 4,      // ed a0..bf
    OVERLONG_2 = 1 << 5,     // c0, c1
    TOO_LARGE_1000 = 1 << 6, // f5.. 80..8f
    OVERLONG_4 = 1 << 6,     // f0 80..8f
    TWO_CONTS = 1 << 7,      // Two continuations: right only inside three and four bytes.
    CARRY = TOO_SHORT | TOO_LONG | TWO_CONTS,  // What the low nibble says nothing about.
};

static const uint8_t first_high[16] = {
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
    TWO_CONTS, TWO_CONTS, TWO_CONTS, TWO_CONTS,
    TOO_SHORT | OVERLONG_2, TOO_SHORT, TOO_SHORT | OVERLONG_3 | SURROGATE,
    TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4,
};

static const uint8_t first_low[16] = {
    CARRY | OVERLONG_2 | OVERLONG_3 | OVERLONG_4, CARRY | OVERLONG_2, CARRY, CARRY,
    CARRY | TOO_LARGE, CARRY | TOO_LARGE | TOO_LARGE_1000, CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000, CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000, CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000, CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000 | SURROGATE, CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
};

enum : uint8_t { ANY_CONT = TOO_LONG | OVERLONG_2 | TWO_CONTS };

static const uint8_t second_high[16] = {
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    ANY_CONT | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4, ANY_CONT | OVERLONG_3 | TOO_LARGE,
    ANY_CONT | SURROGATE | TOO_LARGE, ANY_CONT | SURROGATE | TOO_LARGE,
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
};

static inline __m256i table(const uint8_t *bytes) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)bytes));
}

static inline __m256i high_nibbles(__m256i bytes) {
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
}

// The errors of 32 bytes; `last` are the 32 before them.
static inline __m256i errors(__m256i bytes, __m256i last) {
    __m256i straddle = _mm256_permute2x128_si256(last, bytes, 0x21);
    __m256i before1 = _mm256_alignr_epi8(bytes, straddle, 15);
    __m256i before2 = _mm256_alignr_epi8(bytes, straddle, 14);
    __m256i before3 = _mm256_alignr_epi8(bytes, straddle, 13);
    __m256i low = _mm256_and_si256(before1, _mm256_set1_epi8(0x0f));
    __m256i pair = _mm256_and_si256(
        _mm256_and_si256(_mm256_shuffle_epi8(table(first_high), high_nibbles(before1)),
                         _mm256_shuffle_epi8(table(first_low), low)),
        _mm256_shuffle_epi8(table(second_high), high_nibbles(bytes)));
    // Bit 7 where the lead two or three bytes back asks for a second continuation here.
    __m256i third = _mm256_subs_epu8(before2, _mm256_set1_epi8((char)(0xe0 - 0x80)));
    __m256i fourth = _mm256_subs_epu8(before3, _mm256_set1_epi8((char)(0xf0 - 0x80)));
    __m256i wanted = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(wanted, pair);
}

// Nonzero where a character begins in the last three bytes and does not end.
static inline __m256i incomplete(__m256i bytes) {
    // A byte that may be the last, the last but one, and so on.
    const __m256i most = _mm256_setr_epi8(
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, (char)0xef, (char)0xdf, (char)0xbf);
    return _mm256_subs_epu8(bytes, most);
}

static inline __m256i load(const char *ptr) {
    return _mm256_loadu_si256((const __m256i *)ptr);
}

// 32 bytes of which the first `len` are kept; the others become 0.
static inline __m256i load_first(const char *ptr, int64_t len) {
    static const uint8_t window[64] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    };
    return _mm256_and_si256(load(ptr), load((const char *)window + 32 - len));
}

bool sb_utf8_valid(const char *ptr, int64_t len) {
    __m256i last = _mm256_setzero_si256(), error = last, open = last;
    int64_t at = 0;
    for (; at + 32 <= len; at += 32) {
        __m256i bytes = load(ptr + at);
        if (_mm256_movemask_epi8(bytes) == 0) {
            error = _mm256_or_si256(error, open);
        } else {
            error = _mm256_or_si256(error, errors(bytes, last));
        }
        open = incomplete(bytes);
        last = bytes;
    }
    if (at < len) {
        __m256i bytes = load_first(ptr + at, len - at);
        error = _mm256_or_si256(error, errors(bytes, last));
        open = incomplete(bytes);
    }
    error = _mm256_or_si256(error, open);
    return _mm256_testz_si256(error, error);
}

int64_t sb_utf8_count(const char *ptr, int64_t len) {
    int64_t count = 0, at = 0;
    const __m256i last_cont = _mm256_set1_epi8((char)0xbf);
    for (; at + 32 <= len; at += 32) {
        __m256i lead = _mm256_cmpgt_epi8(load(ptr + at), last_cont);
        count += __builtin_popcount((unsigned)_mm256_movemask_epi8(lead));
    }
    __m256i lead = _mm256_cmpgt_epi8(load(ptr + at), last_cont);
    uint32_t kept = (uint32_t)((UINT64_C(1) << (len - at)) - 1);
    return count + __builtin_popcount((unsigned)_mm256_movemask_epi8(lead) & kept);
}
