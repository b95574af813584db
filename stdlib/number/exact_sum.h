// Exact sums of floats: nothing is rounded until the end, so order and grouping never show.
//
// R. M. Neal, "Fast exact summation using small and large superaccumulators", arXiv 1505.05571.
// Most values lie where a 128-bit integer in units of 2^-80 holds them; adding one there is a
// handful of instructions. The others, and a window that runs over, go to an accumulator that
// covers every float, allocated when it is first needed. The sum is window + wide.
#ifndef SBC_STDLIB_EXACT_SUM_H
#define SBC_STDLIB_EXACT_SUM_H

#include "runtime/abi/call.h"

// Chunk i counts units of 2^(32 i + SB_WIDE_LOWEST). A chunk takes 2^30 additions before carries
// have to be passed on.
enum {
    SB_WIDE_LOWEST = -1074,
    SB_WIDE_CHUNKS = 69,       // Sums of floats: up to 2^1024, with room for 2^64 of them.
    SB_SQUARE_LOWEST = -2148,
    SB_SQUARE_CHUNKS = 136,    // Chunks of a sum of squares.
};

typedef struct SbWide {
    uint32_t pending;          // Additions since carries were passed on.
    uint32_t count;            // Chunks.
    int64_t  chunks[];
} SbWide;

enum : uint32_t { SB_SEEN_NAN = 1, SB_SEEN_PLUS_INF = 2, SB_SEEN_MINUS_INF = 4 };

typedef struct SbExactSum {
    __int128 window;           // In units of 2^-80.
    SbWide  *wide;             // Null: none.
    uint64_t count;            // Values added.
    uint32_t special;          // SB_SEEN_ bits.
} SbExactSum;

enum { SB_WINDOW_LOWEST = -80 };

// Any value; SB_OK or SB_FAULT_TOO_LARGE.
int32_t sb_exact_add_any(SbCall *call, SbExactSum *sum, double x);

// A normal float whose last bit is worth 2^shift units of the window, 0 <= shift <= 62, is added
// here, and so is zero, without a branch: columns mix both. The two words are shifted apart: a
// 128-bit shift would also provide for larger ones.
static inline int32_t sb_exact_add(SbCall *call, SbExactSum *sum, double x) {
    int64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    const uint64_t some = (uint64_t)bits << 1 != 0;  // Else zero: no leading bit, no shift.
    uint64_t shift = ((uint64_t)bits >> 52 & 0x7ff) - (1075 + SB_WINDOW_LOWEST);
    shift &= -some;
    if (__builtin_expect(shift <= 62, 1)) {
        int64_t sign = bits >> 63;
        int64_t size = (bits & ((INT64_C(1) << 52) - 1)) | (int64_t)(some << 52);
        size = (size ^ sign) - sign;
        uint64_t high = (uint64_t)(size >> 1 >> (shift ^ 63));
        __int128 term = (__int128)((unsigned __int128)high << 64 | (uint64_t)size << shift), total;
        if (__builtin_expect(!__builtin_add_overflow(sum->window, term, &total), 1)) {
            sum->window = total;
            sum->count++;
            return SB_OK;
        }
    }
    return sb_exact_add_any(call, sum, x);
}

int32_t sb_exact_merge(SbCall *call, SbExactSum *into, const SbExactSum *from);

// The sum, rounded once to nearest even; infinite when it is too large or an infinity was added,
// nan for nan or both infinities.
double sb_exact_value(const SbExactSum *sum);

// ---- wide accumulators --------------------------------------------------------------------------

SbWide *sb_wide_new(SbCall *call, uint32_t chunks);  // Null: out of memory.
// Adds or subtracts size * 2^place units, place from 0.
void sb_wide_add(SbWide *wide, unsigned __int128 size, uint32_t place, bool minus);
void sb_wide_merge(SbWide *into, const SbWide *from);
// Passes all carries on: chunks become 0..2^32-1, the last one carries the sign.
void sb_wide_settle(SbWide *wide);
// Settled chunks of a number that is not negative, in units of 2^lowest, rounded to nearest even.
double sb_chunks_round(const int64_t *chunks, int count, int lowest);

#endif
