// The steps over JSON text that the checker and the readers share. Private to stdlib/json_*.c.
#ifndef SBC_STDLIB_JSON_TEXT_H
#define SBC_STDLIB_JSON_TEXT_H

#include "stdlib/json/json.h"

#include <immintrin.h>

static inline const char *sb_json_space(const char *at, const char *end) {
    while (at < end && (uint8_t)*at <= ' ') {  // Mostly there is none.
        if (*at != ' ' && *at != '\t' && *at != '\n' && *at != '\r') break;
        at++;
    }
    return at;
}

// A bit for each of 32 bytes that is a quote, a backslash or a control character.
static inline uint32_t sb_json_string_stops(const char *at) {
    __m256i bytes = _mm256_loadu_si256((const __m256i *)at);
    __m256i stops = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')),
                                    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\')));
    __m256i low = _mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f));
    stops = _mm256_or_si256(stops, _mm256_cmpeq_epi8(low, bytes));
    return (uint32_t)_mm256_movemask_epi8(stops);
}

// After the closing quote of the valid string whose opening quote is at `at`. Sets *escapes when
// there are any.
static inline const char *sb_json_string_skip(const char *at, uint8_t *escapes) {
    for (at++;;) {
        uint32_t stops = sb_json_string_stops(at);
        at += stops ? _tzcnt_u32(stops) : 32;
        if (!stops) continue;
        if (*at == '"') return at + 1;
        *escapes = 1;
        at += 2;
    }
}

static inline const char *sb_json_string_end(const char *at) {
    uint8_t escapes;
    return sb_json_string_skip(at, &escapes);
}

// As sb_json_head, of a name with SB_SLACK readable bytes after it.
static inline uint64_t sb_json_head_at(SbStr name) {
    uint64_t head;
    __builtin_memcpy(&head, name.ptr, sizeof head);
    return name.len < 8 ? head & ((UINT64_C(1) << (8 * name.len)) - 1) : head;
}

// Four hexadecimal digits, or -1. All at once, as most are there: what is no digit is found by its
// distance to digits and to letters.
static inline int32_t sb_json_hex4(const char *at) {
    const __m128i bytes = _mm_loadu_si32(at);
    const __m128i digit = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    const __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const __m128i letter = _mm_sub_epi8(lower, _mm_set1_epi8('a'));
    const __m128i are_digits = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
    const __m128i are_letters = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(5)), letter);
    const __m128i are_good = _mm_or_si128(are_digits, are_letters);
    const __m128i from = _mm_add_epi8(letter, _mm_set1_epi8(10));
    const __m128i values = _mm_blendv_epi8(from, digit, are_digits);
    if ((uint32_t)_mm_cvtsi128_si32(are_good) != UINT32_MAX) return -1;
    // Four bits of each byte, the first one on top.
    return (int32_t)_pext_u32(__builtin_bswap32((uint32_t)_mm_cvtsi128_si32(values)), 0x0f0f0f0f);
}

// After the escape whose backslash is at `at`; null when it is none or goes on beyond `end`.
static inline const char *sb_json_escape_end(const char *at, const char *end) {
    if (end - at < 2) return nullptr;
    switch (at[1]) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
        return at + 2;
    case 'u':
        return end - at >= 6 && sb_json_hex4(at + 2) >= 0 ? at + 6 : nullptr;
    default:
        return nullptr;
    }
}

// After the value that starts at `at`; its grammar was checked and it ends at `end` at the latest.
const char *sb_json_value_end(const char *at, const char *end);

// After any value at `at` < end, its slot filled; null when its grammar is wrong or memory is out.
const char *sb_json_skip(SbCall *call, const char *at, const char *end, SbJsonSlot *slot);

// The code point of the \u escape at `at` (the backslash), moving it on; -1 for half a pair.
static inline int32_t sb_json_escaped_point(const char **at) {
    int32_t unit = sb_json_hex4(*at + 2);
    *at += 6;
    if (unit < 0xd800 || unit >= 0xe000) return unit;
    if (unit >= 0xdc00 || (*at)[0] != '\\' || (*at)[1] != 'u') return -1;
    int32_t low = sb_json_hex4(*at + 2);
    if (low < 0xdc00 || low >= 0xe000) return -1;
    *at += 6;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

#endif
