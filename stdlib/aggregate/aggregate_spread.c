// Variance and standard deviation of floats, of a sample or a population, from exact sums.
//
// variance = f64(n Sxx - Sx^2) / (f64(n) f64(n - 1)): the numerator is exact and rounded once.
// stddev is the square root of that. Of a single value both are null. Of a population n stands for
// n - 1.
#include "stdlib/aggregate/aggregate.h"

#include <string.h>

typedef unsigned _BitInt(256) U256;

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
    if (shift >= 0 && shift + width <= 256 - SQUARE_ROOM &&
        add_window(state, (U256)square << shift)) {
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
    if (status == SB_OK && !add_window(into, load(from->squares)))
        status = spill(call, into, from->squares);
    if (status != SB_OK || !from->wide) return status;
    if (!into->wide) into->wide = sb_wide_new(call, SB_SQUARE_CHUNKS);
    if (!into->wide) return SB_FAULT_TOO_LARGE;
    sb_wide_merge(into->wide, from->wide);
    return SB_OK;
}

// ---- the end ------------------------------------------------------------------------------------

// A number of 32-bit digits in int64 chunks, in units of 2^SB_SQUARE_LOWEST. Products of two sums
// and n times the squares fit.
enum { DIGITS = SB_SQUARE_CHUNKS + 4 };

typedef struct Digits {
    int64_t chunks[DIGITS];
} Digits;

typedef union Room {  // A wide accumulator on the stack.
    SbWide wide;
    char   bytes[sizeof(SbWide) + SB_SQUARE_CHUNKS * sizeof(int64_t)];
} Room;

static SbWide *copy_of(Room *room, const SbWide *wide, uint32_t count) {
    size_t bytes = sizeof(SbWide) + count * sizeof(int64_t);
    if (wide) memcpy(room, wide, bytes);
    else memset(room, 0, bytes);
    room->wide.count = count;
    sb_wide_settle(&room->wide);
    return &room->wide;
}

// into += scale * the number, carries passed on.
static void add_multiple(Digits *into, const int64_t *chunks, int count, int place,
                         uint64_t scale) {
    unsigned __int128 carry = 0;
    for (int i = 0; place + i < DIGITS && (i < count || carry); i++) {
        carry += (unsigned __int128)(i < count ? (uint64_t)chunks[i] : 0) * scale;
        carry += (uint64_t)into->chunks[place + i];
        into->chunks[place + i] = (int64_t)((uint64_t)carry & 0xffffffff);
        carry >>= 32;
    }
}

// The square of the sum.
static void square_sum(const SbExactSum *sum, Digits *square) {
    Room room;
    SbWide *wide = copy_of(&room, sum->wide, SB_WIDE_CHUNKS);
    bool minus = sum->window < 0;
    unsigned __int128 size = (unsigned __int128)sum->window;
    sb_wide_add(wide, minus ? -size : size, SB_WINDOW_LOWEST - SB_WIDE_LOWEST, minus);
    sb_wide_settle(wide);
    if (wide->chunks[SB_WIDE_CHUNKS - 1] < 0) {
        for (uint32_t i = 0; i < SB_WIDE_CHUNKS; i++) wide->chunks[i] = -wide->chunks[i];
        sb_wide_settle(wide);
    }
    int first = 0, end = SB_WIDE_CHUNKS;
    while (first < end && !wide->chunks[first]) first++;
    while (end > first && !wide->chunks[end - 1]) end--;
    for (int i = first; i < end; i++) {
        add_multiple(square, wide->chunks + first, end - first, i + first,
                     (uint64_t)wide->chunks[i]);
    }
}

// Of a sample over n (n - 1), of a population over n n.
static int32_t spread(const SbSpread *state, bool sample, double *out) {
    uint64_t n = state->sum.count;
    if (n < 1 + (uint64_t)sample) return SB_NULL;
    *out = (double)__builtin_nanf("");
    if (state->sum.special) return SB_OK;
    Digits square = {}, above = {};
    square_sum(&state->sum, &square);
    Room room;
    SbWide *squares = copy_of(&room, state->wide, SB_SQUARE_CHUNKS);
    for (uint32_t i = 0; i < 4; i++) {
        sb_wide_add(squares, state->squares[i], SQUARES_LOWEST - SB_SQUARE_LOWEST + 64 * i, false);
    }
    sb_wide_settle(squares);
    add_multiple(&above, squares->chunks, SB_SQUARE_CHUNKS, 0, n);
    int64_t borrow =
        0;  // Cauchy and Schwarz: the square of the sum is at most n times the squares.
    for (int i = 0; i < DIGITS; i++) {
        int64_t digit = above.chunks[i] - square.chunks[i] + borrow;
        borrow = digit >> 32;
        above.chunks[i] = digit & 0xffffffff;
    }
    *out = sb_chunks_round(above.chunks, DIGITS, SB_SQUARE_LOWEST) /
           ((double)n * (double)(n - sample));
    return SB_OK;
}

static int32_t root(int32_t status, double *out) {
    if (status == SB_OK) *out = __builtin_sqrt(*out);
    return status;
}

int32_t sb_variance_end(SbCall *, const SbSpread *state, double *out) {
    return spread(state, true, out);
}

#define SAME_STATE(name)                                                                          \
    int32_t sb_##name##_add(SbCall *call, SbSpread *state, double x) {                            \
        return sb_variance_add(call, state, x);                                                   \
    }                                                                                             \
    int32_t sb_##name##_merge(SbCall *call, SbSpread *into, const SbSpread *from) {               \
        return sb_variance_merge(call, into, from);                                               \
    }                                                                                             \
    int32_t sb_##name##_end(SbCall *, const SbSpread *state, double *out)

SAME_STATE(stddev) { return root(spread(state, true, out), out); }
SAME_STATE(variance_pop) { return spread(state, false, out); }
SAME_STATE(stddev_pop) { return root(spread(state, false, out), out); }
