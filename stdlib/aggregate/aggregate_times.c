// quantile and median of dates, timestamps and durations: of their whole numbers, exactly.
//
// All values are kept, then sorted. Between two of them the result is a + (b - a) t, with t of
// sb_sample_place. The product is exact, and the sum is rounded once to a whole number.
#include "stdlib/aggregate/aggregate.h"
#include "stdlib/aggregate/sample_keys.h"

typedef enum Rounding { DOWN, NEAREST } Rounding;  // NEAREST: halves away from zero.

// a + (b - a) part, for a <= b and 0 < part < 1.
static int64_t between(int64_t a, int64_t b, double part, Rounding rounding) {
    uint64_t bits, apart = (uint64_t)b - (uint64_t)a;
    memcpy(&bits, &part, sizeof bits);
    uint64_t biased = bits >> 52, size = bits & ((UINT64_C(1) << 52) - 1);
    if (biased) size |= UINT64_C(1) << 52;
    uint64_t places = 1075 - (biased ? biased : 1);  // part = size 2^-places, 53 bits and more.
    unsigned __int128 product = (unsigned __int128)apart * size, one = 1;
    enum { PRODUCT_BITS = 64 + 53 };
    if (places > PRODUCT_BITS) return a;  // Less than a half.
    int64_t low = (int64_t)((uint64_t)a + (uint64_t)(product >> places));
    if (rounding == DOWN) return low;
    unsigned __int128 rest = product & ((one << places) - 1), half = one << (places - 1);
    return low + (rest > half || (rest == half && low >= 0));
}

static int32_t quantile(SbCall *call, const SbSample *state, double fraction, Rounding rounding,
                        int64_t *out) {
    if (state->count == 0) return SB_NULL;
    if (!(fraction >= 0 && fraction <= 1)) return SB_FAULT_BAD_ARGUMENT;
    const uint64_t *keys = sb_sample_sorted(call, state);
    if (!keys) return SB_FAULT_TOO_LARGE;
    uint64_t at;
    double part = sb_sample_place(state->count, fraction, &at);
    *out = sb_time_value(keys[at]);
    if (part > 0) *out = between(*out, sb_time_value(keys[at + 1]), part, rounding);
    return SB_OK;
}

// TYPE: what stands after the state, of timestamps their type. FRACTION: what stands before the
// result.
#define TIMES(name, T, rounding, TYPE, FRACTION, fraction)                                        \
    int32_t sb_##name##_add(SbCall *call, SbSample *state, TYPE T x) {                            \
        return sb_sample_add(call, state, sb_time_key(x));                                        \
    }                                                                                             \
    int32_t sb_##name##_merge(SbCall *call, SbSample *into, TYPE const SbSample *from) {          \
        return sb_sample_merge(call, into, from);                                                 \
    }                                                                                             \
    int32_t sb_##name##_end(SbCall *call, const SbSample *state, TYPE FRACTION T *out) {          \
        int64_t x = 0;                                                                            \
        int32_t status = quantile(call, state, fraction, rounding, &x);                           \
        *out = (T)x;                                                                              \
        return status;                                                                            \
    }
#define NOTHING
#define UNIT const SbType *,
#define GIVEN double q,
TIMES(quantile_duration, int64_t, NEAREST, NOTHING, GIVEN, q)
TIMES(median_duration, int64_t, NEAREST, NOTHING, NOTHING, 0.5)
TIMES(quantile_date, int32_t, DOWN, NOTHING, GIVEN, q)
TIMES(median_date, int32_t, DOWN, NOTHING, NOTHING, 0.5)
TIMES(quantile_timestamp, int64_t, DOWN, UNIT, GIVEN, q)
TIMES(median_timestamp, int64_t, DOWN, UNIT, NOTHING, 0.5)
