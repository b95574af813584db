// Aggregates over a column: what P_add does for each row that counts, in loops that vectorise.
//
// They are called once a chunk of at most SB_COLUMN_ROWS values. They end with the same state, or
// one of the same meaning. Sums are exact, so it never shows how values were put together.
#include "stdlib/aggregate/aggregate.h"
#include "stdlib/number.h"

// Checks for undefined behaviour in each turn would leave no loop to vectorise.
#pragma clang attribute push(__attribute__((no_sanitize("undefined"))), apply_to = function)

enum { LANES = 8 };
typedef double   Floats __attribute__((ext_vector_type(LANES)));
typedef uint64_t Words __attribute__((ext_vector_type(LANES)));
typedef int64_t  Sizes __attribute__((ext_vector_type(LANES)));
typedef uint8_t  Bytes __attribute__((ext_vector_type(LANES)));
typedef uint16_t Places __attribute__((ext_vector_type(LANES)));
static_assert(SB_PLACES_SPARE == LANES);

static inline bool counted(const uint8_t *counts, int64_t i) { return !counts || counts[i]; }

static int64_t count_rows(const uint8_t *counts, int64_t rows) {
    if (!counts) return rows;
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) count += counts[i];
    return count;
}

void sb_count_column(int64_t *state, const void *, const uint8_t *counts, int64_t rows) {
    *state += count_rows(counts, rows);
}

// ---- places -------------------------------------------------------------------------------------

// Eight bytes of 0 or 1 as the bits of one: the product adds each, shifted to its place at the top.
static uint8_t bits_of(const uint8_t *counts) {
    uint64_t bytes;
    __builtin_memcpy(&bytes, counts, sizeof bytes);
    return (uint8_t)((bytes * 0x0102040810204080) >> 56);
}

// By bits: the places of the bits that are set, a byte each, the lowest first.
#define BIT(bits, at) ((bits) >> (at) & 1)
#define BELOW(bits, at) ((uint64_t)__builtin_popcount((bits) & ((1 << (at)) - 1)))
#define ONE(bits, at) (BIT(bits, at) ? (uint64_t)(at) << 8 * BELOW(bits, at) : 0)
#define ENTRY(bits)                                                                                \
    (ONE(bits, 1) | ONE(bits, 2) | ONE(bits, 3) | ONE(bits, 4) | ONE(bits, 5) | ONE(bits, 6) |     \
     ONE(bits, 7))
#define FOUR(bits) ENTRY(bits), ENTRY((bits) + 1), ENTRY((bits) + 2), ENTRY((bits) + 3)
#define SIXTEEN(bits) FOUR(bits), FOUR((bits) + 4), FOUR((bits) + 8), FOUR((bits) + 12)
#define MANY(bits) SIXTEEN(bits), SIXTEEN((bits) + 16), SIXTEEN((bits) + 32), SIXTEEN((bits) + 48)
static const uint64_t set_places[256] = {MANY(0), MANY(64), MANY(128), MANY(192)};

void sb_column_places(const uint8_t *counts, int64_t rows, uint16_t *places) {
    int64_t at = 0;
    for (; at + LANES <= rows; at += LANES) {
        uint8_t bits = bits_of(counts + at);
        Bytes set;
        __builtin_memcpy(&set, &set_places[bits], sizeof set);
        Places found = __builtin_convertvector(set, Places) + (uint16_t)at;
        __builtin_memcpy(places, &found, sizeof found);
        places += __builtin_popcount(bits);
    }
    for (; at < rows; at++) {
        *places = (uint16_t)at;
        places += counts[at];
    }
}

#define PICK(bits)                                                                                 \
    for (int64_t i = 0; i < count; i++) {                                                          \
        __builtin_memcpy(to, values + (size_t)places[i] * (bits / 8), bits / 8);                   \
        to += bits / 8;                                                                            \
    }

void sb_column_pick(char *to, const char *values, const uint16_t *places, int64_t count,
                    int32_t size) {
    switch (size) {
    case 1: PICK(8) break;
    case 2: PICK(16) break;
    case 4: PICK(32) break;
    default: PICK(64)
    }
}

// ---- integers -----------------------------------------------------------------------------------

// The low and the high 32 bits of the values are added apart: neither sum runs over.
#define SPLIT_SUM(T, low, high)                                                                    \
    if (counts) {                                                                                  \
        for (int64_t i = 0; i < rows; i++) {                                                       \
            T x = values[i] & -(T)counts[i];                                                       \
            low += x & 0xffffffff;                                                                 \
            high += x >> 32;                                                                       \
        }                                                                                          \
    } else {                                                                                       \
        for (int64_t i = 0; i < rows; i++) {                                                       \
            low += values[i] & 0xffffffff;                                                         \
            high += values[i] >> 32;                                                               \
        }                                                                                          \
    }

static __int128 sum_signed(const int64_t *values, const uint8_t *counts, int64_t rows) {
    int64_t low = 0, high = 0;
    SPLIT_SUM(int64_t, low, high)
    return ((__int128)high << 32) + low;
}

void sb_sum_i64_column(SbIntegerSum *state, const int64_t *values, const uint8_t *counts,
                       int64_t rows) {
    state->total += sum_signed(values, counts, rows);
    state->count += (uint64_t)count_rows(counts, rows);
}

void sb_sum_u64_column(SbIntegerSum *state, const uint64_t *values, const uint8_t *counts,
                       int64_t rows) {
    uint64_t low = 0, high = 0;
    SPLIT_SUM(uint64_t, low, high)
    state->total += ((__int128)high << 32) + low;
    state->count += (uint64_t)count_rows(counts, rows);
}

void sb_mean_i64_column(SbIntegerSum *state, const int64_t *values, const uint8_t *counts,
                        int64_t rows) {
    sb_sum_i64_column(state, values, counts, rows);
}

void sb_mean_u64_column(SbIntegerSum *state, const uint64_t *values, const uint8_t *counts,
                        int64_t rows) {
    sb_sum_u64_column(state, values, counts, rows);
}

void sb_mean_duration_column(SbIntegerSum *state, const int64_t *values, const uint8_t *counts,
                             int64_t rows) {
    sb_sum_i64_column(state, values, counts, rows);
}

void sb_sum_decimal_column(SbDecimalSum *state, const int64_t *values, const uint8_t *counts,
                           int64_t rows) {
    int64_t count = count_rows(counts, rows);
    if (!count) return;
    sb_sum_decimal_add(state, sum_signed(values, counts, rows));
    state->count += (uint64_t)count - 1;  // One sum stands for all.
}

// ---- floats -------------------------------------------------------------------------------------

// A sum of floats without an error, by pieces (after S. M. Rump, "Ultimately fast accurate
// summation", SIAM J. Sci. Comput. 31, 2009). All values are under 2^e in size. (x + M) - M with
// M = 1.5 * 2^(52 + u) is x rounded to a multiple of 2^u, and what is left of x, at most 2^(u-1),
// is exact. With u = e - PIECE_BITS each piece has PIECE_BITS bits, so that SB_COLUMN_ROWS of them
// add up within 53 bits: exactly. A second piece is taken of what is left. Values that leave
// something after even then span more than 2^28; they are added one by one.
enum { PIECE_BITS = 40, PIECE_EXPONENT_MIN = -900, PIECE_EXPONENT_MAX = 950 };
static_assert(SB_COLUMN_ROWS <= 1 << (52 - PIECE_BITS));

static const Words SIGN = 0x8000000000000000;

// Values of rows that do not count are 0.
static inline Words load(const double *values, const uint8_t *counts, int64_t at) {
    Words bits;
    Bytes mask;
    __builtin_memcpy(&bits, values + at, sizeof bits);
    if (!counts) return bits;
    __builtin_memcpy(&mask, counts + at, sizeof mask);
    return bits & -__builtin_convertvector(mask, Words);
}

// The same of the last rows, fewer than LANES.
static Words load_last(const double *values, const uint8_t *counts, int64_t at, int64_t rows) {
    Words bits = 0;
    Bytes mask = 1;
    __builtin_memcpy(&bits, values + at, (size_t)(rows - at) * sizeof *values);
    if (counts) __builtin_memcpy(&mask, counts + at, (size_t)(rows - at));
    return bits & -__builtin_convertvector(mask, Words);
}

static inline Sizes size_of(Words bits) { return (Sizes)(bits & ~SIGN); }

// The bits of the greatest size: they are ordered as the sizes are.
static uint64_t greatest(const double *values, const uint8_t *counts, int64_t rows) {
    Sizes most = 0;
    int64_t at = 0;
    for (; at + LANES <= rows; at += LANES)
        most = __builtin_elementwise_max(most, size_of(load(values, counts, at)));
    if (at < rows)
        most = __builtin_elementwise_max(most, size_of(load_last(values, counts, at, rows)));
    return (uint64_t)__builtin_reduce_max(most);
}

// 1.5 * 2^exponent
static double one_and_a_half(int exponent) {
    uint64_t bits = (uint64_t)(exponent + 1023) << 52 | UINT64_C(1) << 51;
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

typedef struct Pieces {
    double first, second;   // M of both.
    Floats highs, lows;
    Words  left;
} Pieces;

static inline void take_pieces(Pieces *to, Words bits) {
    Floats x = (Floats)bits, piece = (x + to->first) - to->first;
    Floats rest = x - piece, piece_of_rest = (rest + to->second) - to->second;
    to->highs += piece;
    to->lows += piece_of_rest;
    to->left |= (Words)(rest - piece_of_rest);
}

// The sum is high + low, exactly. False: it has more digits than these two can hold.
static bool sum_pieces(const double *values, const uint8_t *counts, int64_t rows, double *high,
                       double *low) {
    uint64_t most = greatest(values, counts, rows);
    *high = *low = 0;
    if (most == 0) return true;
    int exponent = (int)(most >> 52) - 1022;  // Under 2^exponent; nan and infinity are far above.
    if (exponent < PIECE_EXPONENT_MIN || exponent > PIECE_EXPONENT_MAX) return false;
    Pieces pieces = {.first = one_and_a_half(52 + exponent - PIECE_BITS),
                     .second = one_and_a_half(52 + exponent - 2 * PIECE_BITS)};
    int64_t at = 0;
    for (; at + LANES <= rows; at += LANES) take_pieces(&pieces, load(values, counts, at));
    if (at < rows) take_pieces(&pieces, load_last(values, counts, at, rows));
    for (int i = 0; i < LANES; i++) {
        *high += pieces.highs[i];
        *low += pieces.lows[i];
    }
    return (__builtin_reduce_or(pieces.left) & ~SIGN[0]) == 0;
}

int32_t sb_sum_f64_column(SbCall *call, SbExactSum *state, const double *values,
                          const uint8_t *counts, int64_t rows) {
    double pieces[2];
    int32_t status = SB_OK;
    if (sum_pieces(values, counts, rows, &pieces[0], &pieces[1])) {
        uint64_t count = state->count + (uint64_t)count_rows(counts, rows);
        for (int i = 0; i < 2 && status == SB_OK; i++)
            status = sb_exact_add(call, state, pieces[i]);
        state->count = count;
        return status;
    }
    for (int64_t i = 0; i < rows && status == SB_OK; i++)
        if (counted(counts, i)) status = sb_exact_add(call, state, values[i]);
    return status;
}

int32_t sb_mean_f64_column(SbCall *call, SbExactSum *state, const double *values,
                           const uint8_t *counts, int64_t rows) {
    return sb_sum_f64_column(call, state, values, counts, rows);
}

// An f32 has 24 bits. If the exponents of a chunk differ by no more than SPREAD_MAX, all values are
// multiples of the last bit of the smallest one, and every sum of them has 53 bits at most. So f64
// adds them without an error, in any order. Zeros have no exponent.
enum {
    NARROW_LANES = 16, NARROW_BITS = 24, NARROW_INFINITE = 255, ROWS_BITS = 10,
    SPREAD_MAX = 53 - NARROW_BITS - ROWS_BITS,
    EXPONENT_AT = 24,  // Of bits without the sign, at the top.
};
static_assert(SB_COLUMN_ROWS <= 1 << ROWS_BITS);
typedef float    Narrow __attribute__((ext_vector_type(NARROW_LANES)));
typedef double   Widened __attribute__((ext_vector_type(NARROW_LANES)));
typedef uint32_t NarrowWords __attribute__((ext_vector_type(NARROW_LANES)));
typedef uint8_t  NarrowBytes __attribute__((ext_vector_type(NARROW_LANES)));

typedef struct NarrowSum {
    Widened     sums;
    NarrowWords most, least;  // Bits without the sign; least is 1 less, so that 0 is no size.
} NarrowSum;

static inline void take_narrow(NarrowSum *to, NarrowWords bits) {
    NarrowWords size = bits << 1;
    to->most = __builtin_elementwise_max(to->most, size);
    to->least = __builtin_elementwise_min(to->least, size - 1);
    to->sums += __builtin_convertvector((Narrow)bits, Widened);
}

static inline NarrowWords load_narrow(const float *values, const uint8_t *counts, int64_t at) {
    NarrowWords bits;
    NarrowBytes mask;
    __builtin_memcpy(&bits, values + at, sizeof bits);
    if (!counts) return bits;
    __builtin_memcpy(&mask, counts + at, sizeof mask);
    return bits & -__builtin_convertvector(mask, NarrowWords);
}

static NarrowWords load_last_narrow(const float *values, const uint8_t *counts, int64_t at,
                                    int64_t rows) {
    NarrowWords bits = 0;
    NarrowBytes mask = 1;
    __builtin_memcpy(&bits, values + at, (size_t)(rows - at) * sizeof *values);
    if (counts) __builtin_memcpy(&mask, counts + at, (size_t)(rows - at));
    return bits & -__builtin_convertvector(mask, NarrowWords);
}

// False: the exponents differ by more, or not all values are finite.
static bool sum_narrow(const float *values, const uint8_t *counts, int64_t rows, double *sum) {
    NarrowSum all = {.least = UINT32_MAX};
    int64_t at = 0;
    for (; at + NARROW_LANES <= rows; at += NARROW_LANES)
        take_narrow(&all, load_narrow(values, counts, at));
    if (at < rows) take_narrow(&all, load_last_narrow(values, counts, at, rows));
    *sum = 0;
    for (int i = 0; i < NARROW_LANES; i++) *sum += all.sums[i];
    uint32_t most = __builtin_reduce_max(all.most) >> EXPONENT_AT;
    uint32_t least = __builtin_reduce_min(all.least);
    if (least == UINT32_MAX) return true;  // Zeros.
    return most < NARROW_INFINITE && most - ((least + 1) >> EXPONENT_AT) <= SPREAD_MAX;
}

int32_t sb_sum_f64_column_f32(SbCall *call, SbExactSum *state, const float *values,
                              const uint8_t *counts, int64_t rows) {
    double wide[SB_COLUMN_ROWS], sum;
    if (sum_narrow(values, counts, rows, &sum)) {
        uint64_t count = state->count + (uint64_t)count_rows(counts, rows);
        int32_t status = sb_exact_add(call, state, sum);
        state->count = count;
        return status;
    }
    for (int64_t i = 0; i < rows; i++) wide[i] = (double)values[i];
    return sb_sum_f64_column(call, state, wide, counts, rows);
}

int32_t sb_mean_f64_column_f32(SbCall *call, SbExactSum *state, const float *values,
                               const uint8_t *counts, int64_t rows) {
    return sb_sum_f64_column_f32(call, state, values, counts, rows);
}

// ---- bool ---------------------------------------------------------------------------------------

static void see(uint8_t *state, void (*add)(uint8_t *, bool), const bool *values,
                const uint8_t *counts, int64_t rows) {
    uint8_t some = 0, others = 0;
    for (int64_t i = 0; i < rows; i++) {
        uint8_t one = counted(counts, i);
        some |= one & (uint8_t)values[i];
        others |= one & (uint8_t)!values[i];
    }
    if (some) add(state, true);
    if (others) add(state, false);
}

void sb_any_column(uint8_t *state, const bool *values, const uint8_t *counts, int64_t rows) {
    see(state, sb_any_add, values, counts, rows);
}

void sb_all_column(uint8_t *state, const bool *values, const uint8_t *counts, int64_t rows) {
    see(state, sb_all_add, values, counts, rows);
}

// ---- min and max --------------------------------------------------------------------------------

// The best value of a column; a row that does not count offers the worst one. Without `counts` the
// loop is another.
#define BEST(name, T, WINS, WORST)                                                                 \
    static T name(const T *values, const uint8_t *counts, int64_t rows) {                          \
        T best = WORST;                                                                            \
        for (int64_t i = 0; i < rows && !counts; i++)                                              \
            best = values[i] WINS best ? values[i] : best;                                         \
        for (int64_t i = 0; i < rows && counts; i++) {                                             \
            T value = values[i], x = counts[i] ? value : (T)WORST;                                 \
            best = x WINS best ? x : best;                                                         \
        }                                                                                          \
        return best;                                                                               \
    }

#define EXTREME(name, T, word, WINS, WORST)                                                        \
    BEST(word##_##name, T, WINS, WORST)                                                            \
    void sb_##word##_##name##_column(SbExtreme_##name *state, const T *values,                     \
                                     const uint8_t *counts, int64_t rows) {                        \
        if (count_rows(counts, rows))                                                              \
            sb_##word##_##name##_add(state, word##_##name(values, counts, rows));                  \
    }

#define INTEGER(name, T, LEAST, MOST)                                                              \
    EXTREME(name, T, min, <, MOST)                                                                 \
    EXTREME(name, T, max, >, LEAST)
INTEGER(i8, int8_t, INT8_MIN, INT8_MAX)
INTEGER(i16, int16_t, INT16_MIN, INT16_MAX)
INTEGER(i32, int32_t, INT32_MIN, INT32_MAX)
INTEGER(i64, int64_t, INT64_MIN, INT64_MAX)
INTEGER(u8, uint8_t, 0, UINT8_MAX)
INTEGER(u16, uint16_t, 0, UINT16_MAX)
INTEGER(u32, uint32_t, 0, UINT32_MAX)
INTEGER(u64, uint64_t, 0, UINT64_MAX)

// The best of values that all count. False: one of them is a nan.
#define NUMBERS(function, name, T, Bits, WINS, WORST)                                              \
    static bool function(const T *values, int64_t rows, Bits *best) {                              \
        Bits found = WORST, nans = 0;                                                              \
        for (int64_t i = 0; i < rows; i++) {                                                       \
            T x = values[i];                                                                       \
            Bits bits;                                                                             \
            __builtin_memcpy(&bits, &x, sizeof bits);                                              \
            bits = flip_##name(bits);                                                              \
            found = bits WINS found ? bits : found;                                                \
            nans |= x != x;                                                                        \
        }                                                                                          \
        *best = found;                                                                             \
        return !nans;                                                                              \
    }

// Floats compare as integers: the bits, of negative ones all but the sign turned over, which is its
// own inverse. A nan is no number to compare with: these are counted apart.
#define FLOAT(name, T, Bits, LEAST, MOST)                                                          \
    static Bits flip_##name(Bits bits) { return bits ^ (bits < 0 ? MOST : 0); }                    \
    NUMBERS(min_numbers_##name, name, T, Bits, <, MOST)                                            \
    NUMBERS(max_numbers_##name, name, T, Bits, >, LEAST)                                           \
    BEST(min_bits_##name, Bits, <, MOST)                                                           \
    BEST(max_bits_##name, Bits, >, LEAST)                                                          \
    typedef struct Keys_##name {                                                                   \
        Bits    bits[SB_COLUMN_ROWS];                                                              \
        uint8_t numbers[SB_COLUMN_ROWS];                                                           \
        int64_t number_count, nan_count;                                                           \
    } Keys_##name;                                                                                 \
    static void keys_##name(Keys_##name *keys, const T *values, const uint8_t *counts,             \
                            int64_t rows) {                                                        \
        for (int64_t i = 0; i < rows; i++) {                                                       \
            T x = values[i];                                                                       \
            Bits bits;                                                                             \
            __builtin_memcpy(&bits, &x, sizeof bits);                                              \
            keys->bits[i] = flip_##name(bits);                                                     \
            keys->numbers[i] = x == x;                                                             \
        }                                                                                          \
        for (int64_t i = 0; i < rows && counts; i++) keys->numbers[i] &= counts[i];                \
        keys->number_count = count_rows(keys->numbers, rows);                                      \
        keys->nan_count = count_rows(counts, rows) - keys->number_count;                           \
    }                                                                                              \
    FLOAT_EXTREME(name, T, Bits, min)                                                              \
    FLOAT_EXTREME(name, T, Bits, max)

#define FLOAT_EXTREME(name, T, Bits, word)                                                         \
    static void word##_with_nans_##name(SbExtreme_##name *state, const T *values,                  \
                                        const uint8_t *counts, int64_t rows) {                     \
        Keys_##name keys;                                                                          \
        keys_##name(&keys, values, counts, rows);                                                  \
        Bits best = flip_##name(word##_bits_##name(keys.bits, keys.numbers, rows));                \
        T value;                                                                                   \
        __builtin_memcpy(&value, &best, sizeof value);                                             \
        if (keys.number_count) sb_##word##_##name##_add(state, value);                             \
        if (keys.nan_count) sb_##word##_##name##_add(state, (T)__builtin_nanf(""));                \
    }                                                                                              \
    void sb_##word##_##name##_column(SbExtreme_##name *state, const T *values,                     \
                                     const uint8_t *counts, int64_t rows) {                        \
        Bits best;                                                                                 \
        bool numbers = !counts && word##_numbers_##name(values, rows, &best);                      \
        if (!numbers) {                                                                            \
            word##_with_nans_##name(state, values, counts, rows);                                  \
            return;                                                                                \
        }                                                                                          \
        T value;                                                                                   \
        best = flip_##name(best);                                                                  \
        __builtin_memcpy(&value, &best, sizeof value);                                             \
        if (rows) sb_##word##_##name##_add(state, value);                                          \
    }

FLOAT(f32, float, int32_t, INT32_MIN, INT32_MAX)
FLOAT(f64, double, int64_t, INT64_MIN, INT64_MAX)

#pragma clang attribute pop
