// Regex runs: patterns like [a-z0-9]+ and [a-z0-9]+|[^a-z0-9 ] (REGEX_RUNS), 64 bytes at a time.
#ifndef SBC_STDLIB_REGEX_RUNS_H
#define SBC_STDLIB_REGEX_RUNS_H

#include "stdlib/regex/regex.h"
#include "stdlib/text.h"

// Where matches begin and end in 64 bytes. A match that ends where the next one begins has both
// bits there. Matches take turns: the n-th end is that of the n-th beginning.
typedef struct RegexEdges {
    uint64_t begins, ends;
} RegexEdges;

// Is the pattern [set]+ alone? Then no match ends where the next one begins.
static inline bool regex_is_one_run(const SbRegex *regex) {
    return regex->runs.set_count == 1 && regex->runs.single_count == 0;
}

// Bit i: byte i is in one of the ranges [from, to).
static inline uint64_t regex_ranges_mask(const SbRegexRuns *runs, Bytes64 bytes, uint32_t from,
                                         uint32_t to) {
    Bytes64 in = {0};
    for (uint32_t i = from; i < to; i++)
        in |= (Bytes64)(bytes - runs->first[i] <= runs->span[i]);
    return bytes64_mask(in);
}

// The edges in the 64 bytes at text[at], `at` <= text.len. After the end of the text nothing is in
// a match. *inside says what the byte before these is in, and is 0 at the start of the text. Bit k
// stands for a run of set k, the highest bit for a single character.
static inline RegexEdges regex_edges(const SbRegex *regex, SbStr text, int64_t at,
                                     uint64_t *inside) {
    const SbRegexRuns *runs = &regex->runs;
    const Bytes64 bytes = bytes64_load(text.ptr + at);
    const int64_t left = text.len - at;
    RegexEdges edges = {0};
    uint64_t before = *inside, after = 0;
    for (uint32_t k = 0, from = runs->single_count; k < runs->set_count; k++) {
        uint64_t mask = regex_ranges_mask(runs, bytes, from, runs->run_ends[k]);
        mask = bytes64_until(mask, left);
        const uint64_t shifted = mask << 1 | (before >> k & 1);
        edges.begins |= mask & ~shifted;
        edges.ends |= shifted & ~mask;
        after |= mask >> 63 << k;
        from = runs->run_ends[k];
    }
    if (runs->single_count) {
        uint64_t mask = regex_ranges_mask(runs, bytes, 0, runs->single_count);
        mask = bytes64_until(mask, left);
        // Bytes after the first one of a character belong to the match of that one.
        const uint64_t begins = mask & ~bytes64_mask((Bytes64)((bytes & 0xc0) == 0x80));
        edges.begins |= begins;
        edges.ends |= (mask << 1 | before >> 63) & ~(mask & ~begins);
        after |= mask & UINT64_C(1) << 63;
    }
    *inside = after;
    return edges;
}

#endif
