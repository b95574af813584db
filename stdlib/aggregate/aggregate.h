// Aggregates: the states and functions of sum, mean, min, max and the others.
//
// stdlib/README.md says how add, merge and end look; all-zero bytes are the empty state of each. A
// result depends on the set of values (and on row orders, where it takes one), never on the way
// they were spread over threads.
#ifndef SBC_STDLIB_AGGREGATE_H
#define SBC_STDLIB_AGGREGATE_H

#include "runtime/abi/kept.h"
#include "stdlib/number.h"

typedef struct SbIntegerSum {
    __int128 total;
    uint64_t count;
} SbIntegerSum;

typedef struct SbDecimalSum {
    SbDecimal low;    // The sum modulo 2^128.
    int64_t   carry;  // The multiples of 2^128 in the sum.
    uint64_t  count;
} SbDecimalSum;

// A product of integers. All-zero bytes are 1.
typedef struct SbProduct {
    uint64_t less;   // The size of the product, less 1; any number when the size is beyond 64 bits.
    uint32_t marks;  // A minus sign, a zero among the factors, a size beyond 64 bits.
} SbProduct;

// What add and merge of each aggregate look like: V void, S a status.
#define PLAIN(name, State, X)                                                                     \
    void name##_add(State *state, X x);                                                           \
    void name##_merge(State *into, const State *from);
#define CALLED(name, State, X)                                                                    \
    int32_t name##_add(SbCall *call, State *state, X x);                                          \
    int32_t name##_merge(SbCall *call, State *into, const State *from);
#define GENERIC(name, State)                                                                      \
    int32_t name##_add(SbCall *call, State *state, const SbType *type, const void *x);            \
    int32_t name##_merge(SbCall *call, State *into, const SbType *type, const State *from);
#define ORDERED(name, State)                                                                      \
    int32_t name##_add(SbCall *call, State *state, uint64_t order, const SbType *type,            \
                       const void *x);                                                            \
    int32_t name##_merge(SbCall *call, State *into, const SbType *type, const State *from);

PLAIN(sb_count, int64_t, const void *)
int64_t sb_count_end(const int64_t *state);

PLAIN(sb_sum_i64, SbIntegerSum, int64_t)
int32_t sb_sum_i64_end(const SbIntegerSum *state, int64_t *out);
PLAIN(sb_sum_u64, SbIntegerSum, uint64_t)
int32_t sb_sum_u64_end(const SbIntegerSum *state, uint64_t *out);
PLAIN(sb_product_i64, SbProduct, int64_t)
int32_t sb_product_i64_end(const SbProduct *state, int64_t *out);
PLAIN(sb_product_u64, SbProduct, uint64_t)
int32_t sb_product_u64_end(const SbProduct *state, uint64_t *out);
CALLED(sb_sum_f64, SbExactSum, double)
double sb_sum_f64_end(SbCall *call, const SbExactSum *state);
PLAIN(sb_sum_decimal, SbDecimalSum, SbDecimal)
int32_t sb_sum_decimal_end(const SbDecimalSum *state, SbDecimal *out);

PLAIN(sb_mean_i64, SbIntegerSum, int64_t)
int32_t sb_mean_i64_end(const SbIntegerSum *state, double *out);
PLAIN(sb_mean_u64, SbIntegerSum, uint64_t)
int32_t sb_mean_u64_end(const SbIntegerSum *state, double *out);
PLAIN(sb_mean_duration, SbIntegerSum, int64_t)
int32_t sb_mean_duration_end(const SbIntegerSum *state, int64_t *out);
// The middle of all: rounded down to a day, or to the unit of the timestamps.
PLAIN(sb_mean_date, SbIntegerSum, int32_t)
int32_t sb_mean_date_end(const SbIntegerSum *state, int32_t *out);
void sb_mean_timestamp_add(SbIntegerSum *state, const SbType *type, int64_t x);
void sb_mean_timestamp_merge(SbIntegerSum *into, const SbType *type, const SbIntegerSum *from);
int32_t sb_mean_timestamp_end(const SbIntegerSum *state, const SbType *type, int64_t *out);
CALLED(sb_mean_f64, SbExactSum, double)
int32_t sb_mean_f64_end(SbCall *call, const SbExactSum *state, double *out);
void sb_mean_decimal_add(SbDecimalSum *state, const SbType *type, SbDecimal x);
void sb_mean_decimal_merge(SbDecimalSum *into, const SbType *type, const SbDecimalSum *from);
int32_t sb_mean_decimal_end(const SbDecimalSum *state, const SbType *type, double *out);

PLAIN(sb_any, uint8_t, bool)
int32_t sb_any_end(const uint8_t *state, bool *out);
PLAIN(sb_all, uint8_t, bool)
int32_t sb_all_end(const uint8_t *state, bool *out);

// ---- columns ------------------------------------------------------------------------------------

// The forms for columns: P_column adds `rows` values, at most SB_COLUMN_ROWS. counts[i] is 1 where
// row i counts, else 0; null: all do. Decimals come in 64 bits.
enum { SB_COLUMN_ROWS = 1024 };

// The places i with counts[i] = 1, in order. Up to SB_PLACES_SPARE more than there are are written.
enum { SB_PLACES_SPARE = 8 };
void sb_column_places(const uint8_t *counts, int64_t rows, uint16_t *places);
// Copies the values at these places, of 1, 2, 4 or 8 bytes each.
void sb_column_pick(char *to, const char *values, const uint16_t *places, int64_t count,
                    int32_t size);

#define COLUMN(name, State, X)                                                                    \
    void name##_column(State *state, const X *values, const uint8_t *counts, int64_t rows);
#define CALLED_COLUMN(name, State, X)                                                             \
    int32_t name##_column(SbCall *call, State *state, const X *values, const uint8_t *counts,     \
                          int64_t rows);
COLUMN(sb_count, int64_t, void)
COLUMN(sb_sum_i64, SbIntegerSum, int64_t)
COLUMN(sb_sum_u64, SbIntegerSum, uint64_t)
COLUMN(sb_sum_decimal, SbDecimalSum, int64_t)
CALLED_COLUMN(sb_sum_f64, SbExactSum, double)
COLUMN(sb_mean_i64, SbIntegerSum, int64_t)
COLUMN(sb_mean_u64, SbIntegerSum, uint64_t)
COLUMN(sb_mean_duration, SbIntegerSum, int64_t)
CALLED_COLUMN(sb_mean_f64, SbExactSum, double)
COLUMN(sb_any, uint8_t, bool)
COLUMN(sb_all, uint8_t, bool)
// The same of f32 values.
int32_t sb_sum_f64_column_f32(SbCall *call, SbExactSum *state, const float *values,
                              const uint8_t *counts, int64_t rows);
int32_t sb_mean_f64_column_f32(SbCall *call, SbExactSum *state, const float *values,
                               const uint8_t *counts, int64_t rows);


// ---- min and max --------------------------------------------------------------------------------

#define SB_EXTREMES(X)                                                                            \
    X(i8, int8_t) X(i16, int16_t) X(i32, int32_t) X(i64, int64_t)                                 \
    X(u8, uint8_t) X(u16, uint16_t) X(u32, uint32_t) X(u64, uint64_t) X(f32, float) X(f64, double)

#define STATE(name, T)                                                                            \
    typedef struct SbExtreme_##name {                                                             \
        T       value;                                                                            \
        uint8_t seen;                                                                             \
    } SbExtreme_##name;                                                                           \
    PLAIN(sb_min_##name, SbExtreme_##name, T)                                                     \
    int32_t sb_min_##name##_end(const SbExtreme_##name *state, T *out);                           \
    PLAIN(sb_max_##name, SbExtreme_##name, T)                                                     \
    int32_t sb_max_##name##_end(const SbExtreme_##name *state, T *out);                           \
    COLUMN(sb_min_##name, SbExtreme_##name, T)                                                    \
    COLUMN(sb_max_##name, SbExtreme_##name, T)
SB_EXTREMES(STATE)
#undef STATE

typedef struct SbExtremeStr {
    char   *ptr;     // A copy; null: nothing seen.
    int64_t len, room;
} SbExtremeStr;

CALLED(sb_min_str, SbExtremeStr, SbStr)
int32_t sb_min_str_end(SbCall *call, const SbExtremeStr *state, SbStr *out);
CALLED(sb_max_str, SbExtremeStr, SbStr)
int32_t sb_max_str_end(SbCall *call, const SbExtremeStr *state, SbStr *out);

// ---- values of any type -------------------------------------------------------------------------

// Copies a value in memory layout with all that it points to; SB_OK or SB_FAULT_TOO_LARGE.
int32_t sb_value_copy(SbCall *call, const SbType *type, void *to, const void *from);

typedef struct SbKept {
    void    *value;  // In memory layout; null: none.
    uint64_t order;
} SbKept;

// min and max are inlined; a value that may be kept goes to the functions of any type.
int32_t sb_min_add_any(SbCall *call, SbKept *state, const SbType *type, const void *x);
int32_t sb_max_add_any(SbCall *call, SbKept *state, const SbType *type, const void *x);
GENERIC(sb_min, SbKept)
int32_t sb_min_end(SbCall *call, const SbKept *state, const SbType *type, void *out);
GENERIC(sb_max, SbKept)
int32_t sb_max_end(SbCall *call, const SbKept *state, const SbType *type, void *out);
ORDERED(sb_first, SbKept)
int32_t sb_first_end(SbCall *call, const SbKept *state, const SbType *type, void *out);
ORDERED(sb_last, SbKept)
int32_t sb_last_end(SbCall *call, const SbKept *state, const SbType *type, void *out);

// The distinct values with their counts: open addressing, at most half full, as all tables below.
typedef struct SbDistinctSlot {
    uint64_t hash, count;  // count 0: free.
    uint64_t order;        // The least: of the first row with the value.
    void    *value;
} SbDistinctSlot;

typedef struct SbDistinct {
    SbDistinctSlot *slots;
    uint64_t        room, used;  // room is a power of two.
} SbDistinct;

ORDERED(sb_mode, SbDistinct)
int32_t sb_mode_end(SbCall *call, const SbDistinct *state, const SbType *type, void *out);

// A set of 64-bit words, each in its slot; 0 marks a free one, so that the word 0 has a flag. A
// large one of words that most often differ is a list (word_list.h).
typedef struct SbWordSet {
    uint64_t *slots;
    uint64_t  room, used;  // room is a power of two; the word 0 is used but has no slot.
    uint32_t  has_zero;
    uint32_t  list_room;   // Of a list, whose room is 0 and whose words may repeat; else 0.
} SbWordSet;

// A text in a set of texts: short ones inside the slot. Growing never looks at long ones.
typedef struct SbTextSlot {
    uint64_t hash;         // 0: free.
    SbKeyStr key;
} SbTextSlot;

typedef struct SbTextSet {
    SbTextSlot *slots;
    uint64_t    room, used;
} SbTextSet;

// By type: words for what fits 64 bits, texts, and any other value.
typedef union SbAnySet {
    SbWordSet  words;
    SbTextSet  texts;
    SbDistinct values;
} SbAnySet;

// Which of them holds values of a type.
typedef enum SbSetKind { SB_SET_WORDS, SB_SET_TEXTS, SB_SET_VALUES } SbSetKind;
SbSetKind sb_set_kind(const SbType *type);

CALLED(sb_count_distinct_u64, SbWordSet, uint64_t)
int64_t sb_count_distinct_u64_end(SbCall *call, const SbWordSet *state);
CALLED(sb_count_distinct_i64, SbWordSet, int64_t)
int64_t sb_count_distinct_i64_end(SbCall *call, const SbWordSet *state);
CALLED(sb_count_distinct_f64, SbWordSet, double)
int64_t sb_count_distinct_f64_end(SbCall *call, const SbWordSet *state);
CALLED(sb_count_distinct_str, SbTextSet, SbStr)
int64_t sb_count_distinct_str_end(SbCall *call, const SbTextSet *state);
GENERIC(sb_count_distinct, SbAnySet)
int64_t sb_count_distinct_end(SbCall *call, const SbAnySet *state, const SbType *type);

typedef struct SbCollected {
    SbKept  *items;
    uint64_t count, room;
} SbCollected;

ORDERED(sb_collect, SbCollected)
int32_t sb_collect_end(SbCall *call, const SbCollected *state, const SbType *type, SbList *out);
int32_t sb_string_agg_add(SbCall *call, SbCollected *state, uint64_t order, const SbType *type,
                          SbStr x);
int32_t sb_string_agg_merge(SbCall *call, SbCollected *into, const SbType *type,
                            const SbCollected *from);
int32_t sb_string_agg_end(SbCall *call, const SbCollected *state, const SbType *type,
                          SbStr separator, SbStr *out);

// The value of the row whose `by` is least or greatest, of equal ones the first row.
typedef struct SbArgState {
    SbKept kept;
    union {
        int64_t  i64;
        uint64_t u64;
        double   f64;
        SbExtremeStr str;
    } by;
} SbArgState;

#define ARG(name, T)                                                                              \
    int32_t name##_add(SbCall *call, SbArgState *state, uint64_t order, const SbType *type,       \
                       const void *x, T by);                                                      \
    int32_t name##_merge(SbCall *call, SbArgState *into, const SbType *type,                      \
                         const SbArgState *from);                                                 \
    int32_t name##_end(SbCall *call, const SbArgState *state, const SbType *type, void *out);
ARG(sb_arg_min_i64, int64_t)
ARG(sb_arg_min_date, int32_t)
ARG(sb_arg_min_u64, uint64_t)
ARG(sb_arg_min_f64, double)
ARG(sb_arg_min_str, SbStr)
ARG(sb_arg_max_i64, int64_t)
ARG(sb_arg_max_date, int32_t)
ARG(sb_arg_max_u64, uint64_t)
ARG(sb_arg_max_f64, double)
ARG(sb_arg_max_str, SbStr)
#undef ARG

// ---- distribution -------------------------------------------------------------------------------

typedef struct SbSample {
    uint64_t *keys;  // Of the values, in the order in which these are sorted (sample_keys.h).
    uint64_t  count, room;
} SbSample;

CALLED(sb_quantile_f64, SbSample, double)
int32_t sb_quantile_f64_end(SbCall *call, const SbSample *state, double fraction, double *out);
CALLED(sb_quantile_i64, SbSample, int64_t)
int32_t sb_quantile_i64_end(SbCall *call, const SbSample *state, double fraction, double *out);
CALLED(sb_median_f64, SbSample, double)
int32_t sb_median_f64_end(SbCall *call, const SbSample *state, double *out);
CALLED(sb_median_i64, SbSample, int64_t)
int32_t sb_median_i64_end(SbCall *call, const SbSample *state, double *out);

CALLED(sb_quantile_u64, SbSample, uint64_t)
int32_t sb_quantile_u64_end(SbCall *call, const SbSample *state, double fraction, double *out);
CALLED(sb_median_u64, SbSample, uint64_t)
int32_t sb_median_u64_end(SbCall *call, const SbSample *state, double *out);

// Of times, exactly: in microseconds with halves away from zero for durations; in days and in the
// unit of the timestamps, rounded down (aggregate_times.c).
CALLED(sb_quantile_duration, SbSample, int64_t)
int32_t sb_quantile_duration_end(SbCall *call, const SbSample *state, double fraction,
                                 int64_t *out);
CALLED(sb_median_duration, SbSample, int64_t)
int32_t sb_median_duration_end(SbCall *call, const SbSample *state, int64_t *out);
CALLED(sb_quantile_date, SbSample, int32_t)
int32_t sb_quantile_date_end(SbCall *call, const SbSample *state, double fraction, int32_t *out);
CALLED(sb_median_date, SbSample, int32_t)
int32_t sb_median_date_end(SbCall *call, const SbSample *state, int32_t *out);
#define TIMED(name)                                                                               \
    int32_t name##_add(SbCall *call, SbSample *state, const SbType *type, int64_t x);             \
    int32_t name##_merge(SbCall *call, SbSample *into, const SbType *type, const SbSample *from);
TIMED(sb_quantile_timestamp)
int32_t sb_quantile_timestamp_end(SbCall *call, const SbSample *state, const SbType *type,
                                  double fraction, int64_t *out);
TIMED(sb_median_timestamp)
int32_t sb_median_timestamp_end(SbCall *call, const SbSample *state, const SbType *type,
                                int64_t *out);
#undef TIMED

#define SAMPLED(name)                                                                             \
    int32_t name##_add(SbCall *call, SbSample *state, const SbType *type, SbDecimal x);           \
    int32_t name##_merge(SbCall *call, SbSample *into, const SbType *type, const SbSample *from);
SAMPLED(sb_quantile_decimal)
int32_t sb_quantile_decimal_end(SbCall *call, const SbSample *state, const SbType *type,
                                double fraction, double *out);
SAMPLED(sb_median_decimal)
int32_t sb_median_decimal_end(SbCall *call, const SbSample *state, const SbType *type,
                              double *out);

// The third and the fourth moment about the mean (aggregate_shape.c).
#define SHAPE(name)                                                                               \
    CALLED(sb_##name##_f64, SbSample, double)                                                     \
    int32_t sb_##name##_f64_end(SbCall *call, const SbSample *state, double *out);                \
    CALLED(sb_##name##_i64, SbSample, int64_t)                                                    \
    int32_t sb_##name##_i64_end(SbCall *call, const SbSample *state, double *out);                \
    CALLED(sb_##name##_u64, SbSample, uint64_t)                                                   \
    int32_t sb_##name##_u64_end(SbCall *call, const SbSample *state, double *out);                \
    SAMPLED(sb_##name##_decimal)                                                                  \
    int32_t sb_##name##_decimal_end(SbCall *call, const SbSample *state, const SbType *type,      \
                                    double *out);
SHAPE(skewness)
SHAPE(skewness_pop)
SHAPE(kurtosis)
SHAPE(kurtosis_pop)
#undef SHAPE
#undef SAMPLED

// Exact sums of x and of its squares.
typedef struct SbSpread {
    SbExactSum sum;
    uint64_t   squares[4];  // 256 bits in units of 2^-160, lowest first.
    SbWide    *wide;        // Squares that do not fit there, in units of 2^SB_SQUARE_LOWEST.
} SbSpread;

CALLED(sb_variance, SbSpread, double)
int32_t sb_variance_end(SbCall *call, const SbSpread *state, double *out);
CALLED(sb_stddev, SbSpread, double)
int32_t sb_stddev_end(SbCall *call, const SbSpread *state, double *out);

CALLED(sb_variance_pop, SbSpread, double)
int32_t sb_variance_pop_end(SbCall *call, const SbSpread *state, double *out);
CALLED(sb_stddev_pop, SbSpread, double)
int32_t sb_stddev_pop_end(SbCall *call, const SbSpread *state, double *out);

// Exact sums of x and y, of their squares and of their products. Both sums count the pairs.
typedef struct SbPairs {
    SbSpread x, y;
    uint64_t products[4];  // 256 bits in two's complement, in units of 2^-160, lowest first.
    SbWide  *wide;         // Products that do not fit there, in units of 2^SB_SQUARE_LOWEST.
} SbPairs;

#define PAIRS(name, X)                                                                            \
    int32_t sb_##name##_add(SbCall *call, SbPairs *state, X x, X y);                              \
    int32_t sb_##name##_merge(SbCall *call, SbPairs *into, const SbPairs *from);                  \
    int32_t sb_##name##_end(SbCall *call, const SbPairs *state, double *out);
#define PAIRS_OF_NUMBERS(name)                                                                    \
    PAIRS(name, double)                                                                           \
    PAIRS(name##_i64, int64_t)                                                                    \
    PAIRS(name##_u64, uint64_t)
PAIRS_OF_NUMBERS(corr)
PAIRS_OF_NUMBERS(covar_samp)
PAIRS_OF_NUMBERS(covar_pop)
#undef PAIRS_OF_NUMBERS
#undef PAIRS

// The sums of SbSpread for integers, and for decimals without their scale.
typedef struct SbWholeSpread {
    uint64_t count;
    uint64_t sum[3];      // 192 bits in two's complement, lowest first.
    uint64_t squares[5];  // 320 bits.
} SbWholeSpread;

#define WHOLE(name)                                                                               \
    PLAIN(sb_##name##_i64, SbWholeSpread, int64_t)                                                \
    int32_t sb_##name##_i64_end(const SbWholeSpread *state, double *out);                         \
    PLAIN(sb_##name##_u64, SbWholeSpread, uint64_t)                                               \
    int32_t sb_##name##_u64_end(const SbWholeSpread *state, double *out);                         \
    void sb_##name##_decimal_add(SbWholeSpread *state, const SbType *type, SbDecimal x);          \
    void sb_##name##_decimal_merge(SbWholeSpread *into, const SbType *type,                       \
                                   const SbWholeSpread *from);                                    \
    int32_t sb_##name##_decimal_end(const SbWholeSpread *state, const SbType *type, double *out);
WHOLE(variance)
WHOLE(variance_pop)
WHOLE(stddev)
WHOLE(stddev_pop)
#undef WHOLE

// The states as functions.decl gives them.
static_assert(sizeof(SbIntegerSum) == 32 && sizeof(SbDecimalSum) == 32 && sizeof(SbExactSum) == 48);
static_assert(sizeof(SbKept) == 16 && sizeof(SbDistinct) == 24 && sizeof(SbCollected) == 24);
static_assert(sizeof(SbArgState) == 40 && sizeof(SbSample) == 24 && sizeof(SbExtremeStr) == 24);
static_assert(sizeof(SbWordSet) == 32 && sizeof(SbTextSet) == 24 && sizeof(SbAnySet) == 32);
static_assert(sizeof(SbSpread) == 96 && alignof(SbSpread) == 16 && sizeof(SbExtreme_f64) == 16);
static_assert(sizeof(SbWholeSpread) == 72);
static_assert(sizeof(SbProduct) == 16 && alignof(SbProduct) == 8);
static_assert(sizeof(SbPairs) == 240 && alignof(SbPairs) == 16);

#undef PLAIN
#undef COLUMN
#undef CALLED_COLUMN
#undef CALLED
#undef GENERIC
#undef ORDERED

#endif
