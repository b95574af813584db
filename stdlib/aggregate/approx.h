// Approx: aggregates that keep a sketch instead of all values. What comes out depends on the values
// alone, never on the order in which they came or states were merged.
#ifndef SBC_STDLIB_APPROX_H
#define SBC_STDLIB_APPROX_H

#include "stdlib/aggregate/aggregate.h"

// approx_count_distinct: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, 2007) over the hashes of
// `hash`, with the estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog
// sketches" (arXiv 1702.01284). The standard error is 1.04 / sqrt(registers), 1.6 %. Up to
// SB_SKETCH_FEW values are counted one by one.
enum : uint64_t { SB_SKETCH_REGISTERS = 4096, SB_SKETCH_FEW = 256 };

typedef struct SbDistinctSketch {
    SbWordSet few;        // All hashes, while there are few.
    uint8_t  *registers;  // SB_SKETCH_REGISTERS; null: the hashes are in `few`.
} SbDistinctSketch;
static_assert(sizeof(SbDistinctSketch) == 40);  // As functions.decl says; so below.

#define SKETCHED(name, T)                                                                         \
    int32_t name##_add(SbCall *call, SbDistinctSketch *state, T x);                               \
    int32_t name##_merge(SbCall *call, SbDistinctSketch *into, const SbDistinctSketch *from);     \
    int64_t name##_end(SbCall *call, const SbDistinctSketch *state);
SKETCHED(sb_approx_distinct_i64, int64_t)
SKETCHED(sb_approx_distinct_u64, uint64_t)
SKETCHED(sb_approx_distinct_f64, double)
SKETCHED(sb_approx_distinct_str, SbStr)
#undef SKETCHED
int32_t sb_approx_distinct_add(SbCall *call, SbDistinctSketch *state, const SbType *type,
                               const void *x);
int32_t sb_approx_distinct_merge(SbCall *call, SbDistinctSketch *into, const SbType *type,
                                 const SbDistinctSketch *from);
int64_t sb_approx_distinct_end(SbCall *call, const SbDistinctSketch *state, const SbType *type);

// approx_quantile: how many values lie in each bucket. A bucket has all numbers of one sign, one
// exponent and the same SB_BUCKET_BITS bits after it, so that its middle is within 2^-8, 0.4 %, of
// each. Numbers nearer to 0 than 2^-1029 count as 0.
enum { SB_BUCKET_BITS = 7 };

typedef struct SbBucket {
    uint64_t number;  // The first bits of the key, and 1; 0: the slot is free.
    uint64_t count;
} SbBucket;

typedef struct SbBuckets {
    SbBucket *slots;
    uint64_t  room, used;       // room is a power of two.
    uint64_t  count;            // Of values.
    uint64_t  least, greatest;  // Keys of values.
} SbBuckets;
static_assert(sizeof(SbBuckets) == 48);

#define BUCKETED(name, T)                                                                         \
    int32_t name##_add(SbCall *call, SbBuckets *state, T x);                                      \
    int32_t name##_merge(SbCall *call, SbBuckets *into, const SbBuckets *from);                   \
    int32_t name##_end(SbCall *call, const SbBuckets *state, double fraction, double *out);
BUCKETED(sb_approx_quantile_f64, double)
BUCKETED(sb_approx_quantile_i64, int64_t)
BUCKETED(sb_approx_quantile_u64, uint64_t)
#undef BUCKETED
int32_t sb_approx_quantile_decimal_add(SbCall *call, SbBuckets *state, const SbType *type,
                                       SbDecimal x);
int32_t sb_approx_quantile_decimal_merge(SbCall *call, SbBuckets *into, const SbType *type,
                                         const SbBuckets *from);
int32_t sb_approx_quantile_decimal_end(SbCall *call, const SbBuckets *state, const SbType *type,
                                       double fraction, double *out);

#endif
