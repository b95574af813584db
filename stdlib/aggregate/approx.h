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
    uint64_t number;  // The first bits of the key.
    uint64_t count;   // 0: the slot is free.
} SbBucket;

typedef struct SbBuckets {
    SbBucket *slots;
    uint32_t  room, used;       // room is a power of two.
    uint64_t  count;            // Of values.
    uint64_t  least, greatest;  // Keys of values.
    uint32_t  shift;            // Of dates and timestamps: bits that a number leaves out of a key.
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

// Of durations as of their microseconds, in whole ones.
int32_t sb_approx_quantile_duration_add(SbCall *call, SbBuckets *state, int64_t x);
int32_t sb_approx_quantile_duration_merge(SbCall *call, SbBuckets *into, const SbBuckets *from);
int32_t sb_approx_quantile_duration_end(SbCall *call, const SbBuckets *state, double fraction,
                                        int64_t *out);

// Of dates and timestamps a bucket has 2^shift days or units. The shift is the least with which all
// values lie in SB_SPAN_BUCKETS buckets: it depends on the values alone. With half of such a width
// there would be more buckets. So the middle of a bucket is near each value in it, within a
// thousandth of the time between the least and the greatest value.
enum : uint32_t { SB_SPAN_BUCKETS = 1001 };
int32_t sb_approx_quantile_date_add(SbCall *call, SbBuckets *state, int32_t x);
int32_t sb_approx_quantile_date_merge(SbCall *call, SbBuckets *into, const SbBuckets *from);
int32_t sb_approx_quantile_date_end(SbCall *call, const SbBuckets *state, double fraction,
                                    int32_t *out);
int32_t sb_approx_quantile_timestamp_add(SbCall *call, SbBuckets *state, const SbType *type,
                                         int64_t x);
int32_t sb_approx_quantile_timestamp_merge(SbCall *call, SbBuckets *into, const SbType *type,
                                           const SbBuckets *from);
int32_t sb_approx_quantile_timestamp_end(SbCall *call, const SbBuckets *state, const SbType *type,
                                         double fraction, int64_t *out);

#endif
