// Variance and standard deviation of a sample, from exact sums.
//
// variance = (n Sxx - Sx^2) / (n (n - 1)), rounded once to f64 from the exact Sx, Sxx and n as long as
// both sums lie in their windows (|x| from 2^-28 to 2^40 always do), else from Sx rounded to 128 and
// Sxx to 256 bits; stddev is its square root, rounded. Of a single value both are null.
#include "stdlib/aggregate.h"

#include <string.h>

typedef unsigned _BitInt(256) U256;
typedef unsigned _BitInt(512) U512;

enum { SQUARES_LOWEST = -160, SQUARE_ROOM = 2 };  // Bits that a square must leave free at the top.

static U256 load(const uint64_t words[4]) {
    U256 value = 0;
    for (int i = 3; i >= 0; i--) value = value << 64 | words[i];
    return value;
}

static void store(uint64_t words[4], U256 value) {
    for (int i = 0; i < 4; i++, value >>= 64) words[i] = (uint64_t)value;
}

static int32_t add_wide(SbCall *call, SbSpread *state, unsigned __int128 square, int place) {
    if (!state->wide) state->wide = sb_wide_new(call, SB_SQUARE_CHUNKS);
    if (!state->wide) return SB_FAULT_TOO_LARGE;
    sb_wide_add(state->wide, square, (uint32_t)(place - SB_SQUARE_LOWEST), false);
    return SB_OK;
}

// Adds a square, or a sum of squares, to the window; false when it is full.
static bool add_window(SbSpread *state, U256 squares) {
    U256 sum = load(state->squares) + squares;
    if (sum < squares) return false;
    store(state->squares, sum);
    return true;
}

int32_t sb_variance_add(SbCall *call, SbSpread *state, double x) {
    int32_t status = sb_exact_add(call, &state->sum, x);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t biased = bits >> 52 & 0x7ff, size = bits & ((UINT64_C(1) << 52) - 1);
    if (status != SB_OK || biased == 0x7ff || (bits << 1) == 0) return status;
    if (biased) size |= UINT64_C(1) << 52;
    int place = (int)(biased ? biased : 1) - 1075, zeros = __builtin_ctzll(size);
    size >>= zeros;
    place = 2 * (place + zeros);
    unsigned __int128 square = (unsigned __int128)size * size;
    int shift = place - SQUARES_LOWEST, width = 2 * (64 - __builtin_clzll(size));
    if (shift >= 0 && shift + width <= 256 - SQUARE_ROOM && add_window(state, (U256)square << shift)) {
        return SB_OK;
    }
    return add_wide(call, state, square, place);
}

// Moves a window of squares into the wide accumulator.
static int32_t spill(SbCall *call, SbSpread *state, const uint64_t squares[4]) {
    for (int i = 0; i < 4; i++) {
        int32_t status = add_wide(call, state, squares[i], SQUARES_LOWEST + 64 * i);
        if (status != SB_OK) return status;
    }
    return SB_OK;
}

int32_t sb_variance_merge(SbCall *call, SbSpread *into, const SbSpread *from) {
    int32_t status = sb_exact_merge(call, &into->sum, &from->sum);
    if (status == SB_OK && !add_window(into, load(from->squares))) status = spill(call, into, from->squares);
    if (status != SB_OK || !from->wide) return status;
    if (!into->wide) into->wide = sb_wide_new(call, SB_SQUARE_CHUNKS);
    if (!into->wide) return SB_FAULT_TOO_LARGE;
    sb_wide_merge(into->wide, from->wide);
    return SB_OK;
}

// ---- the end ---------------------------------------------------------------------------------------

// value * 2^place
typedef struct Scaled {
    U256 value;
    int  place;
} Scaled;

// The leading `width` bits of a settled sum that is not negative.
static Scaled leading(const SbWide *wide, int lowest, int width) {
    int top = (int)wide->count - 1;
    while (top > 0 && wide->chunks[top] == 0) top--;
    int chunks = width / 32, from = top + 1 > chunks ? top + 1 - chunks : 0;
    Scaled scaled = {0, lowest + 32 * from};
    for (int i = top; i >= from; i--) scaled.value = scaled.value << 32 | (uint32_t)wide->chunks[i];
    return scaled;
}

// |sum of x|
static Scaled sum_of(const SbExactSum *sum) {
    bool minus = sum->window < 0;
    unsigned __int128 size = (unsigned __int128)sum->window;
    if (minus) size = -size;
    if (!sum->wide) return (Scaled){size, SB_WINDOW_LOWEST};
    enum { BYTES = sizeof(SbWide) + SB_WIDE_CHUNKS * sizeof(int64_t) };
    alignas(SbWide) char copy[BYTES];
    SbWide *wide = (SbWide *)memcpy(copy, sum->wide, BYTES);
    sb_wide_settle(wide);
    sb_wide_add(wide, size, SB_WINDOW_LOWEST - SB_WIDE_LOWEST, minus);
    sb_wide_settle(wide);
    if (wide->chunks[SB_WIDE_CHUNKS - 1] < 0) {
        for (uint32_t i = 0; i < SB_WIDE_CHUNKS; i++) wide->chunks[i] = -wide->chunks[i];
        sb_wide_settle(wide);
    }
    return leading(wide, SB_WIDE_LOWEST, 128);
}

static Scaled squares_of(const SbSpread *state) {
    if (!state->wide) return (Scaled){load(state->squares), SQUARES_LOWEST};
    enum { BYTES = sizeof(SbWide) + SB_SQUARE_CHUNKS * sizeof(int64_t) };
    alignas(SbWide) char copy[BYTES];
    SbWide *wide = (SbWide *)memcpy(copy, state->wide, BYTES);
    sb_wide_settle(wide);
    for (int i = 0; i < 4; i++) {
        sb_wide_add(wide, state->squares[i], (uint32_t)(SQUARES_LOWEST + 64 * i - SB_SQUARE_LOWEST), false);
    }
    sb_wide_settle(wide);
    return leading(wide, SB_SQUARE_LOWEST, 256);
}

static int bits_of(U512 value) {
    for (int i = 448; i >= 0; i -= 64) {
        uint64_t word = (uint64_t)(value >> i);
        if (word) return i + 64 - __builtin_clzll(word);
    }
    return 0;
}

// above / below * 2^place, rounded.
static double divide(U512 above, unsigned __int128 below, int place) {
    enum { ENOUGH = 256 };  // Bits that leave more than 64 in the quotient.
    int bits = bits_of(above);
    if (bits == 0) return 0;
    if (bits < ENOUGH) {
        above <<= ENOUGH - bits;
        place -= ENOUGH - bits;
    }
    U512 quotient = above / below;
    bool sticky = above % below != 0;
    int shift = bits_of(quotient) - 64;
    uint64_t top = (uint64_t)(quotient >> shift);
    sticky |= quotient != (U512)top << shift;
    return __builtin_ldexp((double)(top | sticky), place + shift);
}

int32_t sb_variance_end(SbCall *, const SbSpread *state, double *out) {
    uint64_t n = state->sum.count;
    if (n < 2) return SB_NULL;
    if (state->sum.special) {
        *out = (double)__builtin_nanf("");
        return SB_OK;
    }
    Scaled sum = sum_of(&state->sum), squares = squares_of(state);
    U512 square = (U512)sum.value * sum.value, above = (U512)squares.value * n;
    int shift = 2 * sum.place - squares.place;  // Cauchy and Schwarz: square is at most above.
    square = shift >= 0 ? square << shift : shift > -512 ? square >> -shift : 0;
    above = above > square ? above - square : 0;
    *out = divide(above, (unsigned __int128)n * (n - 1), squares.place);
    return SB_OK;
}

int32_t sb_stddev_add(SbCall *call, SbSpread *state, double x) { return sb_variance_add(call, state, x); }

int32_t sb_stddev_merge(SbCall *call, SbSpread *into, const SbSpread *from) {
    return sb_variance_merge(call, into, from);
}

int32_t sb_stddev_end(SbCall *call, const SbSpread *state, double *out) {
    int32_t status = sb_variance_end(call, state, out);
    if (status == SB_OK) *out = __builtin_sqrt(*out);
    return status;
}
