// Variance and standard deviation of floats, covariance and correlation of pairs of floats.
//
// All come from exact sums. variance = f64(n Sxx - Sx^2) / (f64(n) f64(n - 1)): the numerator is
// exact and rounded once. stddev is its square root. Of a single value both are null. Of a
// population n stands for n - 1. The covariance takes n Sxy - Sx Sy instead. The correlation is
// that numerator over the root of the product of the numerators of both variances.
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

// A finite float: size * 2^place, size odd; size 0 for zero, and for what is not finite.
typedef struct Part {
    uint64_t size;
    int      place, width;  // The bits of size.
    bool     minus;
} Part;

static Part part_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t biased = bits >> 52 & 0x7ff, size = bits & ((UINT64_C(1) << 52) - 1);
    if (biased == 0x7ff || (bits << 1) == 0) return (Part){};
    if (biased) size |= UINT64_C(1) << 52;
    int zeros = __builtin_ctzll(size);
    size >>= zeros;
    return (Part){.size = size, .place = (int)(biased ? biased : 1) - 1075 + zeros,
                  .width = 64 - __builtin_clzll(size), .minus = bits >> 63};
}

static int32_t add_wide(SbCall *call, SbWide **wide, unsigned __int128 size, int place,
                        bool minus) {
    if (!*wide) *wide = sb_wide_new(call, SB_SQUARE_CHUNKS);
    if (!*wide) return SB_FAULT_TOO_LARGE;
    sb_wide_add(*wide, size, (uint32_t)(place - SB_SQUARE_LOWEST), minus);
    return SB_OK;
}

static int32_t merge_wide(SbCall *call, SbWide **into, const SbWide *from) {
    if (!from) return SB_OK;
    if (!*into) *into = sb_wide_new(call, SB_SQUARE_CHUNKS);
    if (!*into) return SB_FAULT_TOO_LARGE;
    sb_wide_merge(*into, from);
    return SB_OK;
}

// True if a product of `width` bits fits a window.
static bool fits_window(int place, int width) {
    return place >= SQUARES_LOWEST && place - SQUARES_LOWEST + width <= 256 - SQUARE_ROOM;
}

// Adds a square, or a sum of squares, to the window; false when it is full.
static bool add_window(SbSpread *state, U256 squares) {
    U256 sum = load(state->squares) + squares;
    if (sum < squares) return false;
    store(state->squares, sum);
    return true;
}

// ---- most numbers -------------------------------------------------------------------------------

// A float whose product with another such one fits a window: size * 2^(place + SQUARES_LOWEST / 2),
// and a sign of all ones where it is below zero. Zero has no size.
typedef struct Usual {
    uint64_t size, sign;
    uint32_t place;
} Usual;

enum { USUAL_PLACES = (256 - SQUARE_ROOM - 106) / 2 };

// Zero and others take the same way: columns mix both.
static inline bool is_usual(double x, Usual *out) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t some = bits << 1 != 0;
    uint64_t place = ((bits >> 52 & 0x7ff) - (1075 + SQUARES_LOWEST / 2)) & -some;
    *out = (Usual){.size = (bits & ((UINT64_C(1) << 52) - 1)) | some << 52,
                   .sign = -(bits >> 63), .place = (uint32_t)place};
    return place <= USUAL_PLACES;
}

// A window that stays right whatever product is added: it is below 2^254 in size.
static inline bool has_room(const uint64_t window[4]) {
    return window[3] + (UINT64_C(1) << 62) < UINT64_C(1) << 63;
}

static inline uint64_t add_word(uint64_t *word, uint64_t more, uint64_t carry) {
    unsigned __int128 sum = (unsigned __int128)*word + more + carry;
    *word = (uint64_t)sum;
    return (uint64_t)(sum >> 64);
}

// Adds the product, or takes it off where `sign` is all ones: of two's complement, in three words
// and what their carry changes above.
static inline void add_usual(uint64_t window[4], const Usual *a, const Usual *b, uint64_t sign) {
    unsigned __int128 product = (unsigned __int128)a->size * b->size;
    uint32_t place = a->place + b->place, bit = place & 63, at = place >> 6;
    uint64_t low = (uint64_t)product, high = (uint64_t)(product >> 64), none = bit ^ 63;
    uint64_t carry = add_word(&window[at], low << bit ^ sign, sign & 1);
    carry = add_word(&window[at + 1], (high << bit | low >> 1 >> none) ^ sign, carry);
    if (at == 2) return;  // The rest is the sign.
    carry = add_word(&window[at + 2], (high >> 1 >> none) ^ sign, carry);
    if (at == 1 || carry == (sign & 1)) return;
    window[3] += sign | carry;
}

// ---- any numbers --------------------------------------------------------------------------------

static int32_t add_square(SbCall *call, SbSpread *state, const Part *x) {
    unsigned __int128 square = (unsigned __int128)x->size * x->size;
    int place = 2 * x->place;
    if (!x->size) return SB_OK;
    if (fits_window(place, 2 * x->width) &&
        add_window(state, (U256)square << (place - SQUARES_LOWEST))) {
        return SB_OK;
    }
    return add_wide(call, &state->wide, square, place, false);
}

[[gnu::noinline]] static int32_t add_any(SbCall *call, SbSpread *state, double x) {
    Part part = part_of(x);
    return add_square(call, state, &part);
}

int32_t sb_variance_add(SbCall *call, SbSpread *state, double x) {
    int32_t status = sb_exact_add(call, &state->sum, x);
    Usual usual;
    if (!is_usual(x, &usual) || state->squares[3] >> 62)
        return status == SB_OK ? add_any(call, state, x) : status;
    add_usual(state->squares, &usual, &usual, 0);
    return status;
}

// Moves a window into a wide accumulator.
static int32_t spill(SbCall *call, SbWide **wide, const uint64_t window[4], bool minus) {
    for (int i = 0; i < 4; i++) {
        int32_t status = add_wide(call, wide, window[i], SQUARES_LOWEST + 64 * i, minus);
        if (status != SB_OK) return status;
    }
    return SB_OK;
}

int32_t sb_variance_merge(SbCall *call, SbSpread *into, const SbSpread *from) {
    int32_t status = sb_exact_merge(call, &into->sum, &from->sum);
    if (status == SB_OK && !add_window(into, load(from->squares)))
        status = spill(call, &into->wide, from->squares, false);
    return status == SB_OK ? merge_wide(call, &into->wide, from->wide) : status;
}

// ---- pairs --------------------------------------------------------------------------------------

// Adds a signed number to the window; false when it is full.
static bool add_signed(SbPairs *state, U256 term) {
    U256 old = load(state->products), sum = old + term;
    if (((old ^ sum) & (term ^ sum)) >> 255) return false;
    store(state->products, sum);
    return true;
}

[[gnu::noinline]] static int32_t add_any_pair(SbCall *call, SbPairs *state, double x, double y) {
    Part a = part_of(x), b = part_of(y);
    int32_t status = add_square(call, &state->x, &a);
    if (status == SB_OK) status = add_square(call, &state->y, &b);
    if (status != SB_OK || !a.size || !b.size) return status;
    unsigned __int128 product = (unsigned __int128)a.size * b.size;
    int place = a.place + b.place;
    bool minus = a.minus != b.minus;
    if (fits_window(place, a.width + b.width)) {
        U256 term = (U256)product << (place - SQUARES_LOWEST);
        if (add_signed(state, minus ? -term : term)) return SB_OK;
    }
    return add_wide(call, &state->wide, product, place, minus);
}

int32_t sb_corr_add(SbCall *call, SbPairs *state, double x, double y) {
    int32_t status = sb_exact_add(call, &state->x.sum, x);
    if (status == SB_OK) status = sb_exact_add(call, &state->y.sum, y);
    Usual a, b;
    bool usual = is_usual(x, &a) & is_usual(y, &b) & has_room(state->products);
    if (!usual || (state->x.squares[3] | state->y.squares[3]) >> 62)
        return status == SB_OK ? add_any_pair(call, state, x, y) : status;
    add_usual(state->x.squares, &a, &a, 0);
    add_usual(state->y.squares, &b, &b, 0);
    add_usual(state->products, &a, &b, a.sign ^ b.sign);
    return status;
}

// The window as a size and a sign.
static bool window_size(const uint64_t window[4], uint64_t size[4]) {
    U256 value = load(window);
    bool minus = value >> 255;
    store(size, minus ? -value : value);
    return minus;
}

int32_t sb_corr_merge(SbCall *call, SbPairs *into, const SbPairs *from) {
    int32_t status = sb_variance_merge(call, &into->x, &from->x);
    if (status == SB_OK) status = sb_variance_merge(call, &into->y, &from->y);
    if (status == SB_OK && !add_signed(into, load(from->products))) {
        uint64_t size[4];
        bool minus = window_size(from->products, size);
        status = spill(call, &into->wide, size, minus);
    }
    return status == SB_OK ? merge_wide(call, &into->wide, from->wide) : status;
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

// Makes the settled number of `wide` positive; true if it was below zero.
static bool make_positive(SbWide *wide) {
    bool minus = wide->chunks[wide->count - 1] < 0;
    for (uint32_t i = 0; minus && i < wide->count; i++) wide->chunks[i] = -wide->chunks[i];
    if (minus) sb_wide_settle(wide);
    return minus;
}

// The size of the sum, settled in `room`; true if the sum is below zero.
static bool size_of_sum(const SbExactSum *sum, Room *room) {
    SbWide *wide = copy_of(room, sum->wide, SB_WIDE_CHUNKS);
    bool minus = sum->window < 0;
    unsigned __int128 size = (unsigned __int128)sum->window;
    sb_wide_add(wide, minus ? -size : size, SB_WINDOW_LOWEST - SB_WIDE_LOWEST, minus);
    sb_wide_settle(wide);
    return make_positive(wide);
}

// The size of a window and what is wide, settled in `room`; true if their sum is below zero.
static bool size_of_products(const uint64_t window[4], bool minus, const SbWide *more, Room *room) {
    SbWide *wide = copy_of(room, more, SB_SQUARE_CHUNKS);
    for (uint32_t i = 0; i < 4; i++)
        sb_wide_add(wide, window[i], SQUARES_LOWEST - SB_SQUARE_LOWEST + 64 * i, minus);
    sb_wide_settle(wide);
    return make_positive(wide);
}

// The product of the sizes of two sums.
static void multiply_sums(const SbWide *x, const SbWide *y, Digits *product) {
    int first = 0, end = SB_WIDE_CHUNKS;
    while (first < end && !y->chunks[first]) first++;
    while (end > first && !y->chunks[end - 1]) end--;
    for (int i = 0; i < SB_WIDE_CHUNKS; i++) {
        if (!x->chunks[i]) continue;
        add_multiple(product, y->chunks + first, end - first, i + first, (uint64_t)x->chunks[i]);
    }
}

// Passes all carries on; true if the number is below zero.
static bool settle(Digits *digits) {
    int64_t carry = 0;
    for (int i = 0; i < DIGITS; i++) {
        int64_t digit = digits->chunks[i] + carry;
        carry = digit >> 32;
        digits->chunks[i] = digit & 0xffffffff;
    }
    return carry < 0;
}

// into = the size of into - from, or of into + from; true if the result is below zero.
static bool combine(Digits *into, const Digits *from, bool minus) {
    for (int i = 0; i < DIGITS; i++) into->chunks[i] += minus ? -from->chunks[i] : from->chunks[i];
    if (!settle(into)) return false;
    for (int i = 0; i < DIGITS; i++) into->chunks[i] = -into->chunks[i];
    settle(into);  // The carry that leaves the top is the one of the sign.
    return true;
}

// n Sxx - Sx^2. By Cauchy and Schwarz the square of the sum is at most n times the squares.
static void variance_numerator(const SbSpread *state, Digits *above) {
    Digits square = {};
    Room room;
    size_of_sum(&state->sum, &room);
    multiply_sums(&room.wide, &room.wide, &square);
    size_of_products(state->squares, false, state->wide, &room);
    add_multiple(above, room.wide.chunks, SB_SQUARE_CHUNKS, 0, state->sum.count);
    combine(above, &square, true);
}

// The size of n Sxy - Sx Sy; true if it is below zero.
static bool covariance_numerator(const SbPairs *state, Digits *above) {
    Digits product = {};
    Room x, y, room;
    bool below = size_of_sum(&state->x.sum, &x) != size_of_sum(&state->y.sum, &y);
    multiply_sums(&x.wide, &y.wide, &product);
    uint64_t size[4];
    bool minus = window_size(state->products, size);
    minus = size_of_products(size, minus, state->wide, &room);
    add_multiple(above, room.wide.chunks, SB_SQUARE_CHUNKS, 0, state->x.sum.count);
    return combine(above, &product, minus == below) != minus;
}

// Of a sample over n (n - 1), of a population over n n.
static int32_t spread(const SbSpread *state, bool sample, double *out) {
    uint64_t n = state->sum.count;
    if (n < 1 + (uint64_t)sample) return SB_NULL;
    *out = (double)__builtin_nanf("");
    if (state->sum.special) return SB_OK;
    Digits above = {};
    variance_numerator(state, &above);
    *out = sb_chunks_round(above.chunks, DIGITS, SB_SQUARE_LOWEST) /
           ((double)n * (double)(n - sample));
    return SB_OK;
}

static int32_t covariance(const SbPairs *state, bool sample, double *out) {
    uint64_t n = state->x.sum.count;
    if (n < 1 + (uint64_t)sample) return SB_NULL;
    *out = (double)__builtin_nanf("");
    if (state->x.sum.special || state->y.sum.special) return SB_OK;
    Digits above = {};
    bool minus = covariance_numerator(state, &above);
    double size = sb_chunks_round(above.chunks, DIGITS, SB_SQUARE_LOWEST);
    *out = size / ((double)n * (double)(n - sample));
    if (minus && size != 0) *out = -*out;
    return SB_OK;
}

// A number of any magnitude: size * 2^exponent, 1 <= size < 4 and the exponent even; or size 0.
typedef struct Scaled {
    double size;
    int    exponent;
} Scaled;

static Scaled scaled(const Digits *digits) {
    int top = DIGITS - 1;
    while (top > 0 && !digits->chunks[top]) top--;
    if (!digits->chunks[top]) return (Scaled){};
    int high = (32 * top + 63 - __builtin_clzll((uint64_t)digits->chunks[top])) & ~1;
    return (Scaled){sb_chunks_round(digits->chunks, DIGITS, -high), high + SB_SQUARE_LOWEST};
}

static double power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

// x * 2^exponent for 1/4 < x < 4, rounded once.
static double times_power(double x, int exponent) {
    enum { LEAST = -1100, HALF = -540 };
    if (exponent < LEAST) return 0;
    if (exponent >= HALF) return x * power_of_two(exponent);
    return x * power_of_two(HALF) * power_of_two(exponent - HALF);
}

// Null of fewer than two pairs, and where one side is the same number everywhere.
int32_t sb_corr_end(SbCall *, const SbPairs *state, double *out) {
    if (state->x.sum.count < 2) return SB_NULL;
    *out = (double)__builtin_nanf("");
    if (state->x.sum.special || state->y.sum.special) return SB_OK;
    Digits x = {}, y = {}, above = {};
    variance_numerator(&state->x, &x);
    variance_numerator(&state->y, &y);
    bool minus = covariance_numerator(state, &above);
    Scaled a = scaled(&x), b = scaled(&y), both = scaled(&above);
    if (a.size == 0 || b.size == 0) return SB_NULL;
    double ratio = both.size / __builtin_sqrt(a.size * b.size);
    double size = times_power(ratio, both.exponent - a.exponent / 2 - b.exponent / 2);
    if (size > 1) size = 1;
    *out = minus && size != 0 ? -size : size;
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

// Integers count as their nearest f64.
#define PAIRS_OF(name, T)                                                                         \
    int32_t sb_##name##_add(SbCall *call, SbPairs *state, T x, T y) {                             \
        return sb_corr_add(call, state, (double)x, (double)y);                                    \
    }                                                                                             \
    int32_t sb_##name##_merge(SbCall *call, SbPairs *into, const SbPairs *from) {                 \
        return sb_corr_merge(call, into, from);                                                   \
    }                                                                                             \
    int32_t sb_##name##_end(SbCall *call, const SbPairs *state, double *out)

PAIRS_OF(corr_i64, int64_t) { return sb_corr_end(call, state, out); }
PAIRS_OF(corr_u64, uint64_t) { return sb_corr_end(call, state, out); }
PAIRS_OF(covar_samp, double) { return (void)call, covariance(state, true, out); }
PAIRS_OF(covar_samp_i64, int64_t) { return (void)call, covariance(state, true, out); }
PAIRS_OF(covar_samp_u64, uint64_t) { return (void)call, covariance(state, true, out); }
PAIRS_OF(covar_pop, double) { return (void)call, covariance(state, false, out); }
PAIRS_OF(covar_pop_i64, int64_t) { return (void)call, covariance(state, false, out); }
PAIRS_OF(covar_pop_u64, uint64_t) { return (void)call, covariance(state, false, out); }
