// approx_count_distinct and approx_quantile: sketches of what was seen.
#include "stdlib/aggregate/approx.h"

#include "stdlib/aggregate/sample_keys.h"
#include "stdlib/hash.h"
#include "stdlib/number.h"

#include <string.h>

// ---- distinct values ----------------------------------------------------------------------------

enum { INDEX_BITS = 12, RANK_MAX = 64 - INDEX_BITS + 1 };
static_assert(1 << INDEX_BITS == SB_SKETCH_REGISTERS);

// The first bits of a hash name a register, which keeps the place of the first 1 of the others.
static void note(uint8_t *registers, uint64_t hash) {
    uint64_t rest = hash << INDEX_BITS | UINT64_C(1) << (INDEX_BITS - 1);
    uint8_t *place = &registers[hash >> (64 - INDEX_BITS)];
    uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
    if (rank > *place) *place = rank;
}

static int32_t use_registers(SbCall *call, SbDistinctSketch *state) {
    uint8_t *registers = sb_take(call, SB_SKETCH_REGISTERS);
    if (!registers) return SB_FAULT_TOO_LARGE;
    memset(registers, 0, SB_SKETCH_REGISTERS);
    for (uint64_t i = 0; i < state->few.room; i++)
        if (state->few.slots[i]) note(registers, state->few.slots[i]);
    if (state->few.has_zero) note(registers, 0);
    *state = (SbDistinctSketch){.registers = registers};
    return SB_OK;
}

static int32_t add_hash(SbCall *call, SbDistinctSketch *state, uint64_t hash) {
    if (state->registers) {
        note(state->registers, hash);
        return SB_OK;
    }
    int32_t status = sb_count_distinct_u64_add(call, &state->few, hash);
    if (status == SB_OK && state->few.used > SB_SKETCH_FEW) status = use_registers(call, state);
    return status;
}

static int32_t merge(SbCall *call, SbDistinctSketch *into, const SbDistinctSketch *from) {
    int32_t status = SB_OK;
    if (from->registers) {
        if (!into->registers) status = use_registers(call, into);
        for (uint64_t i = 0; i < SB_SKETCH_REGISTERS && status == SB_OK; i++)
            if (from->registers[i] > into->registers[i]) into->registers[i] = from->registers[i];
        return status;
    }
    if (from->few.has_zero) status = add_hash(call, into, 0);
    for (uint64_t i = 0; i < from->few.room && status == SB_OK; i++)
        if (from->few.slots[i]) status = add_hash(call, into, from->few.slots[i]);
    return status;
}

// Ertl's sigma: x + the sum of x^(2^k) 2^(k - 1).
static double sigma(double x) {
    double sum = x, last = -1, scale = 1;
    if (x == 1) return (double)__builtin_inff();
    while (sum != last) {
        x *= x;
        last = sum;
        sum += x * scale;
        scale += scale;
    }
    return sum;
}

// Ertl's tau: (1 - x - the sum of (1 - x^(2^-k))^2 2^-k) / 3.
static double tau(double x) {
    double sum = 1 - x, last = -1, scale = 1;
    if (x == 0 || x == 1) return 0;
    while (sum != last) {
        x = __builtin_sqrt(x);
        last = sum;
        scale *= 0.5;
        sum -= (1 - x) * (1 - x) * scale;
    }
    return sum / 3;
}

static int64_t estimate(const SbDistinctSketch *state) {
    const double m = (double)SB_SKETCH_REGISTERS, two_ln_2 = 1.3862943611198906;
    uint64_t ranks[RANK_MAX + 1] = {0};
    if (!state->registers) return (int64_t)state->few.used;
    for (uint64_t i = 0; i < SB_SKETCH_REGISTERS; i++) ranks[state->registers[i]]++;
    double sum = m * tau(1 - (double)ranks[RANK_MAX] / m);
    for (int k = RANK_MAX - 1; k >= 1; k--) sum = 0.5 * (sum + (double)ranks[k]);
    sum += m * sigma((double)ranks[0] / m);
    return (int64_t)(m * m / (two_ln_2 * sum) + 0.5);
}

#define DISTINCT(type_name, T, hash)                                                              \
    int32_t sb_approx_distinct_##type_name##_add(SbCall *call, SbDistinctSketch *state, T x) {    \
        return add_hash(call, state, hash(x));                                                    \
    }                                                                                             \
    int32_t sb_approx_distinct_##type_name##_merge(SbCall *call, SbDistinctSketch *into,          \
                                                   const SbDistinctSketch *from) {                \
        return merge(call, into, from);                                                           \
    }                                                                                             \
    int64_t sb_approx_distinct_##type_name##_end(SbCall *, const SbDistinctSketch *state) {       \
        return estimate(state);                                                                   \
    }
DISTINCT(i64, int64_t, sb_hash_i64)
DISTINCT(u64, uint64_t, sb_hash_u64)
DISTINCT(f64, double, sb_hash_f64)
DISTINCT(str, SbStr, sb_hash_text)

int32_t sb_approx_distinct_add(SbCall *call, SbDistinctSketch *state, const SbType *type,
                               const void *x) {
    uint64_t hash;
    int32_t status = sb_hash_any(call, type, x, &hash);
    return status == SB_OK ? add_hash(call, state, hash) : status;
}

int32_t sb_approx_distinct_merge(SbCall *call, SbDistinctSketch *into, const SbType *,
                                 const SbDistinctSketch *from) {
    return merge(call, into, from);
}

int64_t sb_approx_distinct_end(SbCall *, const SbDistinctSketch *state, const SbType *) {
    return estimate(state);
}

// ---- quantiles ----------------------------------------------------------------------------------

enum { DROPPED_BITS = 52 - SB_BUCKET_BITS };
enum : uint32_t { ROOM_MIN = 16 };

static SbBucket *slot_of(const SbBuckets *state, uint64_t number) {
    uint64_t at = sb_hash_word(0, number);
    while (state->slots[at & (state->room - 1)].count &&
           state->slots[at & (state->room - 1)].number != number)
        at++;
    return &state->slots[at & (state->room - 1)];
}

static int32_t grow(SbCall *call, SbBuckets *state) {
    SbBuckets wider = *state;
    wider.room = state->room ? 2 * state->room : ROOM_MIN;
    wider.slots = sb_take(call, (int64_t)(wider.room * sizeof *wider.slots));
    if (!wider.slots) return SB_FAULT_TOO_LARGE;
    memset(wider.slots, 0, wider.room * sizeof *wider.slots);
    for (uint64_t i = 0; i < state->room; i++)
        if (state->slots[i].count) *slot_of(&wider, state->slots[i].number) = state->slots[i];
    *state = wider;
    return SB_OK;
}

static int32_t add_to_bucket(SbCall *call, SbBuckets *state, SbBucket more) {
    if (2 * state->used >= state->room) {
        int32_t status = grow(call, state);
        if (status != SB_OK) return status;
    }
    SbBucket *slot = slot_of(state, more.number);
    state->used += slot->count == 0;
    slot->number = more.number;
    slot->count += more.count;
    return SB_OK;
}

static void widen(SbBuckets *state, uint64_t least, uint64_t greatest) {
    if (!state->count || least < state->least) state->least = least;
    if (!state->count || greatest > state->greatest) state->greatest = greatest;
}

int32_t sb_approx_quantile_f64_add(SbCall *call, SbBuckets *state, double x) {
    uint64_t key = sb_sample_key(x);
    int32_t status = add_to_bucket(call, state, (SbBucket){key >> DROPPED_BITS, 1});
    if (status != SB_OK) return status;
    widen(state, key, key);
    state->count++;
    return SB_OK;
}

int32_t sb_approx_quantile_f64_merge(SbCall *call, SbBuckets *into, const SbBuckets *from) {
    int32_t status = SB_OK;
    for (uint64_t i = 0; i < from->room && status == SB_OK; i++)
        if (from->slots[i].count) status = add_to_bucket(call, into, from->slots[i]);
    if (status != SB_OK || !from->count) return status;
    widen(into, from->least, from->greatest);
    into->count += from->count;
    return SB_OK;
}

// The middle of a bucket.
static double middle(uint64_t number) {
    uint64_t bits, low = (UINT64_C(1) << DROPPED_BITS) - 1;
    double value = sb_sample_value(number << DROPPED_BITS);
    memcpy(&bits, &value, sizeof bits);
    if ((bits & ~low) << 1 == 0) return 0;
    if ((bits >> 52 & 0x7ff) == 0x7ff) bits &= ~low;
    else bits = (bits & ~low) | (low + 1) >> 1;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The numbers of all buckets in order, in one of two places for as many as are used.
static const uint64_t *numbers_of(const SbBuckets *state, uint64_t *numbers, uint64_t *spare) {
    uint64_t used = 0;
    for (uint64_t i = 0; i < state->room; i++)
        if (state->slots[i].count) numbers[used++] = state->slots[i].number;
    return sb_sort_keys(numbers, spare, used);
}

// The place of a fraction: the least or the greatest key (true), or the number of a bucket.
static int32_t find_place(SbCall *call, const SbBuckets *state, double fraction, bool *end,
                          uint64_t *out) {
    if (state->count == 0) return SB_NULL;
    if (!(fraction >= 0 && fraction <= 1)) return SB_FAULT_BAD_ARGUMENT;
    uint64_t place = (uint64_t)(fraction * (double)(state->count - 1));
    *end = place == 0 || place >= state->count - 1;
    *out = place == 0 ? state->least : state->greatest;
    if (*end) return SB_OK;
    int64_t bytes = (int64_t)(state->used * sizeof(uint64_t));
    uint64_t *room = sb_alloc(call, bytes), *spare = room ? sb_alloc(call, bytes) : nullptr;
    if (!spare) return SB_FAULT_TOO_LARGE;
    const uint64_t *numbers = numbers_of(state, room, spare);
    for (uint64_t here; place >= (here = slot_of(state, *numbers)->count); numbers++) place -= here;
    *out = *numbers;
    return SB_OK;
}

int32_t sb_approx_quantile_f64_end(SbCall *call, const SbBuckets *state, double fraction,
                                   double *out) {
    bool end;
    uint64_t found;
    int32_t status = find_place(call, state, fraction, &end, &found);
    if (status != SB_OK) return status;
    *out = end ? sb_sample_value(found) : middle(found);
    if (sb_sample_key(*out) < state->least) *out = sb_sample_value(state->least);
    if (sb_sample_key(*out) > state->greatest) *out = sb_sample_value(state->greatest);
    return SB_OK;
}

#define QUANTILE(type_name, T)                                                                    \
    int32_t sb_approx_quantile_##type_name##_add(SbCall *call, SbBuckets *state, T x) {           \
        return sb_approx_quantile_f64_add(call, state, (double)x);                                \
    }                                                                                             \
    int32_t sb_approx_quantile_##type_name##_merge(SbCall *call, SbBuckets *into,                 \
                                                   const SbBuckets *from) {                       \
        return sb_approx_quantile_f64_merge(call, into, from);                                    \
    }                                                                                             \
    int32_t sb_approx_quantile_##type_name##_end(SbCall *call, const SbBuckets *state,            \
                                                 double fraction, double *out) {                  \
        return sb_approx_quantile_f64_end(call, state, fraction, out);                            \
    }
QUANTILE(i64, int64_t)
QUANTILE(u64, uint64_t)

int32_t sb_approx_quantile_decimal_add(SbCall *call, SbBuckets *state, const SbType *type,
                                       SbDecimal x) {
    return sb_approx_quantile_f64_add(call, state, sb_decimal_f64(x, type->scale));
}

int32_t sb_approx_quantile_decimal_merge(SbCall *call, SbBuckets *into, const SbType *,
                                         const SbBuckets *from) {
    return sb_approx_quantile_f64_merge(call, into, from);
}

int32_t sb_approx_quantile_decimal_end(SbCall *call, const SbBuckets *state, const SbType *,
                                       double fraction, double *out) {
    return sb_approx_quantile_f64_end(call, state, fraction, out);
}

int32_t sb_approx_quantile_duration_add(SbCall *call, SbBuckets *state, int64_t x) {
    return sb_approx_quantile_f64_add(call, state, (double)x);
}

int32_t sb_approx_quantile_duration_merge(SbCall *call, SbBuckets *into, const SbBuckets *from) {
    return sb_approx_quantile_f64_merge(call, into, from);
}

int32_t sb_approx_quantile_duration_end(SbCall *call, const SbBuckets *state, double fraction,
                                        int64_t *out) {
    double x = 0;
    int32_t status = sb_approx_quantile_f64_end(call, state, fraction, &x);
    x = x < 0 ? __builtin_ceil(x - 0.5) : __builtin_floor(x + 0.5);
    *out = x >= 0x1p63 ? INT64_MAX : (int64_t)x;
    return status;
}

// ---- quantiles of dates and timestamps ----------------------------------------------------------

// Buckets 2^more times as wide.
static void coarsen(SbBuckets *state, uint32_t more) {
    SbBucket kept[SB_SPAN_BUCKETS + 1];
    uint32_t count = 0;
    for (uint64_t i = 0; i < state->room; i++)
        if (state->slots[i].count) kept[count++] = state->slots[i];
    if (state->room) memset(state->slots, 0, state->room * sizeof *state->slots);
    state->used = 0;
    state->shift += more;
    for (uint32_t i = 0; i < count; i++) {
        SbBucket *slot = slot_of(state, kept[i].number >> more);
        state->used += slot->count == 0;
        slot->number = kept[i].number >> more;
        slot->count += kept[i].count;
    }
}

// Counts keys that have a number, and widens the buckets when they are one too many.
static int32_t add_to_span(SbCall *call, SbBuckets *state, SbBucket bucket) {
    int32_t status = add_to_bucket(call, state, bucket);
    if (status != SB_OK || state->used <= SB_SPAN_BUCKETS) return status;
    uint64_t room[SB_SPAN_BUCKETS + 1], spare[SB_SPAN_BUCKETS + 1];
    const uint64_t *numbers = numbers_of(state, room, spare);
    int more = 64;
    for (uint32_t i = 1; i < state->used; i++) {
        int bits = 64 - __builtin_clzll(numbers[i] ^ numbers[i - 1]);
        if (bits < more) more = bits;
    }
    coarsen(state, (uint32_t)more);
    return SB_OK;
}

static int32_t add_time(SbCall *call, SbBuckets *state, int64_t x) {
    uint64_t key = sb_time_key(x);
    int32_t status = add_to_span(call, state, (SbBucket){key >> state->shift, 1});
    if (status != SB_OK) return status;
    widen(state, key, key);
    state->count++;
    return SB_OK;
}

static int32_t merge_times(SbCall *call, SbBuckets *into, const SbBuckets *from) {
    int32_t status = SB_OK;
    if (!from->count) return SB_OK;
    if (into->shift < from->shift) coarsen(into, from->shift - into->shift);
    for (uint64_t i = 0; i < from->room && status == SB_OK; i++) {
        SbBucket bucket = from->slots[i];
        bucket.number >>= into->shift - from->shift;
        if (bucket.count) status = add_to_span(call, into, bucket);
    }
    if (status != SB_OK) return status;
    widen(into, from->least, from->greatest);
    into->count += from->count;
    return SB_OK;
}

static int32_t time_at(SbCall *call, const SbBuckets *state, double fraction, int64_t *out) {
    bool end;
    uint64_t key;
    int32_t status = find_place(call, state, fraction, &end, &key);
    if (status != SB_OK) return status;
    if (!end) key = (key << state->shift) + ((UINT64_C(1) << state->shift) >> 1);
    if (key < state->least) key = state->least;
    if (key > state->greatest) key = state->greatest;
    *out = sb_time_value(key);
    return SB_OK;
}

int32_t sb_approx_quantile_date_add(SbCall *call, SbBuckets *state, int32_t x) {
    return add_time(call, state, x);
}

int32_t sb_approx_quantile_date_merge(SbCall *call, SbBuckets *into, const SbBuckets *from) {
    return merge_times(call, into, from);
}

int32_t sb_approx_quantile_date_end(SbCall *call, const SbBuckets *state, double fraction,
                                    int32_t *out) {
    int64_t x = 0;
    int32_t status = time_at(call, state, fraction, &x);
    *out = (int32_t)x;
    return status;
}

int32_t sb_approx_quantile_timestamp_add(SbCall *call, SbBuckets *state, const SbType *,
                                         int64_t x) {
    return add_time(call, state, x);
}

int32_t sb_approx_quantile_timestamp_merge(SbCall *call, SbBuckets *into, const SbType *,
                                           const SbBuckets *from) {
    return merge_times(call, into, from);
}

int32_t sb_approx_quantile_timestamp_end(SbCall *call, const SbBuckets *state, const SbType *,
                                         double fraction, int64_t *out) {
    return time_at(call, state, fraction, out);
}
