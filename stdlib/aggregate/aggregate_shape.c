// Skewness and kurtosis: the third and the fourth moment about the mean, of all values in order.
//
// The values are kept, as those of quantile, so that the result does not depend on the order in
// which they come. With d the distance from the mean, and u = d over the greatest |d|:
// g1 = m3 / (m2 sqrt(m2)) and g2 = m4 / (m2 m2) - 3, mk the mean of u^k. Of a sample they are
// corrected as SAS and DuckDB do: G1 = g1 sqrt(n (n - 1)) / (n - 2), and
// G2 = (n - 1) / ((n - 2) (n - 3)) ((n + 1) g2 + 6). Source: Joanes and Gill, Comparing measures
// of sample skewness and kurtosis, The Statistician 47 (1998).
#include "stdlib/aggregate/aggregate.h"
#include "stdlib/aggregate/sample_keys.h"
#include "stdlib/number.h"

typedef struct Shape {
    bool fourth;  // Kurtosis.
    bool sample;  // Corrected.
} Shape;

// The mean, with what rounding left out of it added once more.
static double mean_of(const uint64_t *keys, uint64_t count) {
    double sum = 0, rest = 0, n = (double)count;
    for (uint64_t i = 0; i < count; i++) sum += sb_sample_value(keys[i]);
    double mean = sum / n;
    for (uint64_t i = 0; i < count; i++) rest += sb_sample_value(keys[i]) - mean;
    return mean + rest / n;
}

static double corrected(Shape shape, double value, double n) {
    if (!shape.sample) return value;
    if (!shape.fourth) return value * __builtin_sqrt(n * (n - 1)) / (n - 2);
    return (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * value + 6);
}

// Null of too few values, and of values that are all the same.
static int32_t finish(SbCall *call, const SbSample *state, Shape shape, double *out) {
    uint64_t least = !shape.sample ? 1 : shape.fourth ? 4 : 3;
    if (state->count < least) return SB_NULL;
    const uint64_t *keys = sb_sample_sorted(call, state);
    if (!keys) return SB_FAULT_TOO_LARGE;
    double n = (double)state->count, mean = mean_of(keys, state->count);
    double low = mean - sb_sample_value(keys[0]);
    double high = sb_sample_value(keys[state->count - 1]) - mean;
    double most = low > high ? low : high;
    *out = (double)__builtin_nanf("");
    if (!__builtin_isfinite(low) || !__builtin_isfinite(high)) return SB_OK;
    if (keys[0] == keys[state->count - 1]) return SB_NULL;
    double squares = 0, others = 0;
    for (uint64_t i = 0; i < state->count; i++) {
        double u = (sb_sample_value(keys[i]) - mean) / most, square = u * u;
        squares += square;
        others += shape.fourth ? square * square : square * u;
    }
    double m2 = squares / n, m = others / n;
    *out = corrected(shape, shape.fourth ? m / (m2 * m2) - 3 : m / (m2 * __builtin_sqrt(m2)), n);
    return SB_OK;
}

#define OF(name, type, T)                                                                         \
    int32_t sb_##name##_##type##_add(SbCall *call, SbSample *state, T x) {                        \
        return sb_quantile_f64_add(call, state, (double)x);                                       \
    }                                                                                             \
    int32_t sb_##name##_##type##_merge(SbCall *call, SbSample *into, const SbSample *from) {      \
        return sb_quantile_f64_merge(call, into, from);                                           \
    }                                                                                             \
    int32_t sb_##name##_##type##_end(SbCall *call, const SbSample *state, double *out) {          \
        return sb_##name##_of(call, state, out);                                                  \
    }

// Decimals count as their nearest f64.
#define SHAPE(name, ...)                                                                          \
    static int32_t sb_##name##_of(SbCall *call, const SbSample *state, double *out) {             \
        return finish(call, state, (Shape){__VA_ARGS__}, out);                                    \
    }                                                                                             \
    OF(name, f64, double)                                                                         \
    OF(name, i64, int64_t)                                                                        \
    OF(name, u64, uint64_t)                                                                       \
    int32_t sb_##name##_decimal_add(SbCall *call, SbSample *state, const SbType *type,            \
                                    SbDecimal x) {                                                \
        return sb_quantile_f64_add(call, state, sb_decimal_f64(x, type->scale));                  \
    }                                                                                             \
    int32_t sb_##name##_decimal_merge(SbCall *call, SbSample *into, const SbType *,               \
                                      const SbSample *from) {                                     \
        return sb_quantile_f64_merge(call, into, from);                                           \
    }                                                                                             \
    int32_t sb_##name##_decimal_end(SbCall *call, const SbSample *state, const SbType *,          \
                                    double *out) {                                                \
        return sb_##name##_of(call, state, out);                                                  \
    }
SHAPE(skewness, .sample = true)
SHAPE(skewness_pop)
SHAPE(kurtosis, .fourth = true, .sample = true)
SHAPE(kurtosis_pop, .fourth = true)
