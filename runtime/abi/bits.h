// Bits: sets of stages or of breakers of a job, by their numbers.
//
// A set has room for the most that a job may have. What runs often looks only at the words that the
// job uses, which is one for most jobs: `words`.
#ifndef SBC_RUNTIME_ABI_BITS_H
#define SBC_RUNTIME_ABI_BITS_H

#include <stdint.h>

enum { BITS_MAX = 1024, WORD_BITS = 64, BITS_WORDS = BITS_MAX / WORD_BITS };

typedef struct Bits {
    uint64_t words[BITS_WORDS];
} Bits;

static inline uint16_t bits_words(uint32_t count) {
    return (uint16_t)((count + WORD_BITS - 1) / WORD_BITS);
}
static inline bool bits_have(const Bits *bits, uint32_t i) {
    return bits->words[i / WORD_BITS] >> i % WORD_BITS & 1;
}
static inline void bits_put(Bits *bits, uint32_t i, bool in) {
    uint64_t *word = &bits->words[i / WORD_BITS], bit = 1ull << i % WORD_BITS;
    *word = in ? *word | bit : *word & ~bit;
}
static inline void bits_add(Bits *bits, uint32_t i) { bits_put(bits, i, true); }
static inline void bits_clear(Bits *bits, uint16_t words) {
    for (uint16_t w = 0; w < words; w++) bits->words[w] = 0;
}
// Are there any?
static inline bool bits_any(const Bits *bits, uint16_t words) {
    uint64_t any = 0;
    for (uint16_t w = 0; w < words; w++) any |= bits->words[w];
    return any;
}
// The first one; there is one.
static inline uint32_t bits_first(const Bits *bits) {
    uint32_t w = 0;
    while (!bits->words[w]) w++;
    return w * WORD_BITS + (uint32_t)__builtin_ctzll(bits->words[w]);
}
// Is one in both?
static inline bool bits_meet(const Bits *a, const Bits *b, uint16_t words) {
    uint64_t both = 0;
    for (uint16_t w = 0; w < words; w++) both |= a->words[w] & b->words[w];
    return both;
}
// Is every one of `a` in `b`?
static inline bool bits_within(const Bits *a, const Bits *b, uint16_t words) {
    uint64_t missing = 0;
    for (uint16_t w = 0; w < words; w++) missing |= a->words[w] & ~b->words[w];
    return !missing;
}
static inline bool bits_same(const Bits *a, const Bits *b, uint16_t words) {
    return bits_within(a, b, words) && bits_within(b, a, words);
}
static inline void bits_add_all(Bits *bits, const Bits *more, uint16_t words) {
    for (uint16_t w = 0; w < words; w++) bits->words[w] |= more->words[w];
}
static inline void bits_keep(Bits *bits, const Bits *kept, uint16_t words) {
    for (uint16_t w = 0; w < words; w++) bits->words[w] &= kept->words[w];
}
static inline void bits_remove_all(Bits *bits, const Bits *less, uint16_t words) {
    for (uint16_t w = 0; w < words; w++) bits->words[w] &= ~less->words[w];
}

#endif
