// Which bytes of a block of CSV are inside quotes, where the block proves it. Private to csv_*.c.
//
// Counting quotes tells inside from outside only if every quote opens a field, closes one, or is
// doubled. A block shows that. An opening quote (an odd one) must stand after a separator or a
// closing quote. What stands after a closing quote must be a separator, a CR and LF, or a quote
// again. Anything else, a quote inside a bare field for one, is left to sb_csv_row.
#ifndef SBC_STDLIB_CSV_QUOTES_H
#define SBC_STDLIB_CSV_QUOTES_H

#include "stdlib/csv/csv.h"

#include <immintrin.h>

enum { SB_CSV_BLOCK = 64 };

// What one block hands on to the next. A row start begins with {.start = 1}.
typedef struct SbCsvQuotes {
    uint64_t inside;  // All ones when the next byte is inside quotes.
    uint64_t start;   // 1: the next byte begins a field, or follows a closing quote.
    uint64_t closed;  // 1: the byte before was a closing quote.
} SbCsvQuotes;

// What a block holds, a bit for each byte.
typedef struct SbCsvBlock {
    uint64_t newlines, separators;  // Outside quotes; separators are delimiters and LFs.
    uint64_t quotes;                // Anywhere.
    uint64_t inner;                 // Line ends inside quotes.
    __m256i  bytes;                 // Bytes of both halves, or'ed: one beyond ASCII shows.
} SbCsvBlock;

static inline __m256i sb_csv_load(const char *ptr) {
    return _mm256_loadu_si256((const __m256i *)ptr);
}

static inline uint64_t sb_csv_bits(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

static inline uint64_t sb_csv_bits_equal(__m256i low, __m256i high, char byte) {
    __m256i wanted = _mm256_set1_epi8(byte);
    return sb_csv_bits(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted));
}

// Every second quote of a block, from the first one or, inside quotes, from the second one on.
static inline uint64_t sb_csv_opening(uint64_t quotes, uint64_t inside) {
    return _pdep_u64(0x5555555555555555 ^ inside, quotes);
}

// The block at `at`, which lies within the text; false when its quotes prove nothing.
static inline bool sb_csv_block(const SbCsvText *in, SbCsvQuotes *state, int64_t at,
                                SbCsvBlock *block) {
    const char *text = in->text + at;
    const __m256i a = sb_csv_load(text), b = sb_csv_load(text + 32);
    const uint64_t newline = sb_csv_bits_equal(a, b, '\n');
    const uint64_t quote = sb_csv_bits_equal(a, b, in->dialect->quote);
    const uint64_t delimiter = sb_csv_bits_equal(a, b, in->dialect->delimiter);
    const uint64_t opens = sb_csv_opening(quote, state->inside), closes = quote ^ opens;
    // 2^close - 2^open is a bit for each byte from the opening quote to the one before the closing.
    // A quote that is open at the start or the end of the block is so at bit 0 or bit 64.
    const uint64_t inside = closes - opens + state->inside;
    const uint64_t separators = (newline | delimiter) & ~inside;
    const uint64_t starts = separators | closes;
    if (opens & ~(starts << 1 | state->start)) return false;
    const uint64_t stray = (closes << 1 | state->closed) & ~(separators | opens);
    if (stray) {
        uint64_t behind = at + SB_CSV_BLOCK < in->end && text[SB_CSV_BLOCK] == '\n';
        uint64_t feed_next = newline >> 1 | behind << 63;
        if (stray & ~(sb_csv_bits_equal(a, b, '\r') & feed_next)) return false;
    }
    *state = (SbCsvQuotes){(uint64_t)((int64_t)inside >> 63), starts >> 63, closes >> 63};
    *block = (SbCsvBlock){newline & ~inside, separators, quote, newline & inside,
                          _mm256_or_si256(a, b)};
    return true;
}

#endif
