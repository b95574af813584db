// Variance and quantile of whole numbers times 10^-scale: integers and decimals.
//
// The sums of the values and of their squares are exact integers, so the numerator n Sxx - Sx^2 is
// too; it is rounded once. Integers are decimals of scale 0 here.
#include "stdlib/aggregate/aggregate.h"
#include "stdlib/number.h"

typedef unsigned _BitInt(192) U192;
typedef unsigned _BitInt(320) U320;
typedef unsigned _BitInt(384) U384;

static U192 load_sum(const SbWholeSpread *state) {
    return (U192)state->sum[2] << 128 | (U192)state->sum[1] << 64 | state->sum[0];
}

static U320 load_squares(const SbWholeSpread *state) {
    U320 squares = 0;
    for (int i = 4; i >= 0; i--) squares = squares << 64 | state->squares[i];
    return squares;
}

static void store(SbWholeSpread *state, U192 sum, U320 squares) {
    for (int i = 0; i < 3; i++, sum >>= 64) state->sum[i] = (uint64_t)sum;
    for (int i = 0; i < 5; i++, squares >>= 64) state->squares[i] = (uint64_t)squares;
}

// |x| < 2^127, and 2^64 of them at most: the sum of squares stays below 2^318.
static void add(SbWholeSpread *state, __int128 x) {
    unsigned __int128 size = x < 0 ? -(unsigned __int128)x : (unsigned __int128)x;
    U192 sum = load_sum(state);
    store(state, x < 0 ? sum - size : sum + size, load_squares(state) + (U320)size * size);
    state->count++;
}

static void merge(SbWholeSpread *into, const SbWholeSpread *from) {
    store(into, load_sum(into) + load_sum(from), load_squares(into) + load_squares(from));
    into->count += from->count;
}

// The numerator over n (n - 1), or over n n.
static int32_t spread(const SbWholeSpread *state, uint32_t scale, bool sample, double *out) {
    uint64_t n = state->count;
    if (n < 1 + (uint64_t)sample) return SB_NULL;
    U192 sum = load_sum(state);
    if (sum >> 191) sum = -sum;
    U384 numerator = (U384)load_squares(state) * n - (U384)sum * sum;
    uint64_t words[6];
    for (int i = 0; i < 6; i++, numerator >>= 64) words[i] = (uint64_t)numerator;
    *out = sb_words_f64(words, 6, 2 * scale) / ((double)n * (double)(n - sample));
    return SB_OK;
}

// Those of decimals take the type, which has the scale.
#define INTEGERS(name, T)                                                                         \
    void sb_##name##_add(SbWholeSpread *state, T x) { add(state, x); }                            \
    void sb_##name##_merge(SbWholeSpread *into, const SbWholeSpread *from) { merge(into, from); } \
    int32_t sb_##name##_end(const SbWholeSpread *state, double *out)
#define DECIMALS(name)                                                                            \
    void sb_##name##_add(SbWholeSpread *state, const SbType *, SbDecimal x) { add(state, x); }    \
    void sb_##name##_merge(SbWholeSpread *into, const SbType *, const SbWholeSpread *from) {      \
        merge(into, from);                                                                        \
    }                                                                                             \
    int32_t sb_##name##_end(const SbWholeSpread *state, const SbType *type, double *out)

static int32_t root(int32_t status, double *out) {
    if (status == SB_OK) *out = __builtin_sqrt(*out);
    return status;
}

INTEGERS(variance_i64, int64_t) { return spread(state, 0, true, out); }
INTEGERS(variance_u64, uint64_t) { return spread(state, 0, true, out); }
INTEGERS(variance_pop_i64, int64_t) { return spread(state, 0, false, out); }
INTEGERS(variance_pop_u64, uint64_t) { return spread(state, 0, false, out); }
INTEGERS(stddev_i64, int64_t) { return root(spread(state, 0, true, out), out); }
INTEGERS(stddev_u64, uint64_t) { return root(spread(state, 0, true, out), out); }
INTEGERS(stddev_pop_i64, int64_t) { return root(spread(state, 0, false, out), out); }
INTEGERS(stddev_pop_u64, uint64_t) { return root(spread(state, 0, false, out), out); }
DECIMALS(variance_decimal) { return spread(state, type->scale, true, out); }
DECIMALS(variance_pop_decimal) { return spread(state, type->scale, false, out); }
DECIMALS(stddev_decimal) { return root(spread(state, type->scale, true, out), out); }
DECIMALS(stddev_pop_decimal) { return root(spread(state, type->scale, false, out), out); }

// ---- quantile and median ------------------------------------------------------------------------

int32_t sb_quantile_u64_add(SbCall *call, SbSample *state, uint64_t x) {
    return sb_quantile_f64_add(call, state, (double)x);
}

int32_t sb_quantile_u64_merge(SbCall *call, SbSample *into, const SbSample *from) {
    return sb_quantile_f64_merge(call, into, from);
}

int32_t sb_quantile_u64_end(SbCall *call, const SbSample *state, double fraction, double *out) {
    return sb_quantile_f64_end(call, state, fraction, out);
}

int32_t sb_median_u64_add(SbCall *call, SbSample *state, uint64_t x) {
    return sb_quantile_f64_add(call, state, (double)x);
}

int32_t sb_median_u64_merge(SbCall *call, SbSample *into, const SbSample *from) {
    return sb_quantile_f64_merge(call, into, from);
}

int32_t sb_median_u64_end(SbCall *call, const SbSample *state, double *out) {
    return sb_quantile_f64_end(call, state, 0.5, out);
}

int32_t sb_quantile_decimal_add(SbCall *call, SbSample *state, const SbType *type, SbDecimal x) {
    return sb_quantile_f64_add(call, state, sb_decimal_f64(x, type->scale));
}

int32_t sb_quantile_decimal_merge(SbCall *call, SbSample *into, const SbType *,
                                  const SbSample *from) {
    return sb_quantile_f64_merge(call, into, from);
}

int32_t sb_quantile_decimal_end(SbCall *call, const SbSample *state, const SbType *,
                                double fraction, double *out) {
    return sb_quantile_f64_end(call, state, fraction, out);
}

int32_t sb_median_decimal_add(SbCall *call, SbSample *state, const SbType *type, SbDecimal x) {
    return sb_quantile_decimal_add(call, state, type, x);
}

int32_t sb_median_decimal_merge(SbCall *call, SbSample *into, const SbType *,
                                const SbSample *from) {
    return sb_quantile_f64_merge(call, into, from);
}

int32_t sb_median_decimal_end(SbCall *call, const SbSample *state, const SbType *, double *out) {
    return sb_quantile_f64_end(call, state, 0.5, out);
}
