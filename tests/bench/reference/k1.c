// K1 by hand: tokens of letters and digits in lower case. Checks nothing: ASCII only, tokens of up
// to 16 bytes, fewer than 700,000 different ones.
#include "scan.h"

enum { SLOTS = 1 << 20 };

typedef struct State {
    _Alignas(64) int64_t tokens;
    uint64_t *hashes;  // 0 is free.
} State;

static void add(uint64_t *hashes, uint64_t hash) {
    for (uint64_t slot = hash;; slot++) {
        uint64_t *h = &hashes[slot % SLOTS];
        if (*h == hash) return;
        if (*h) continue;
        *h = hash;
        return;
    }
}

// Bit i is set where at[i] is a letter or a digit; of 32 bytes. Setting bit 5 makes letters small.
static uint32_t letters(const char *at) {
    __m256i text = _mm256_loadu_si256((const __m256i *)at), small = _mm256_set1_epi8(0x20);
    __m256i letter = _mm256_sub_epi8(_mm256_or_si256(text, small), _mm256_set1_epi8('a'));
    __m256i digit = _mm256_sub_epi8(text, _mm256_set1_epi8('0'));
    __m256i is_letter = _mm256_cmpeq_epi8(_mm256_min_epu8(letter, _mm256_set1_epi8(25)), letter);
    __m256i is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(digit, _mm256_set1_epi8(9)), digit);
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(is_letter, is_digit));
}

static void each(void *argument, Text block) {
    State *s = argument;
    const char *begin = nullptr, *end = block.at + block.len;
    uint64_t before = 0;
    for (const char *at = block.at; at < end; at += 64) {
        uint64_t bits = letters(at) | (uint64_t)letters(at + 32) << 32;
        if (end - at < 64) bits &= (UINT64_C(1) << (end - at)) - 1;
        for (uint64_t edges = bits ^ (bits << 1 | before); edges; edges &= edges - 1) {
            const char *edge = at + __builtin_ctzll(edges);
            if (!begin) {
                begin = edge;
                continue;
            }
            size_t len = (size_t)(edge - begin);
            __m128i key = load_key(begin, len), small = load_key("                ", len);
            add(s->hashes, hash_key(_mm_or_si128(key, small)) | 1);
            s->tokens++;
            begin = nullptr;
        }
        before = bits >> 63;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    State states[THREADS] = {};
    for (size_t i = 0; i < THREADS; i++) states[i].hashes = map_zeros(SLOTS * sizeof(uint64_t));
    scan_rows(map_text(argv[1]), each, states, sizeof *states);
    size_t different = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (states[1].hashes[i]) add(states[0].hashes, states[1].hashes[i]);
    for (size_t i = 0; i < SLOTS; i++) different += states[0].hashes[i] != 0;
    FILE *out = open_output(argv[2]);
    fprintf(out, "tokens,different\n%ld,%zu\n", states[0].tokens + states[1].tokens, different);
    return fclose(out) ? 3 : 0;
}
