// Aggregates that add up or multiply: count, sum, mean, product, any, all. Their add functions are
// inlined in stages.
#include "stdlib/aggregate/aggregate.h"
#include "stdlib/number.h"

#define LIKELY(condition) __builtin_expect((condition), 1)

// ---- count(x) ----------------------------------------------------------------------------------

void sb_count_add(int64_t *state, const void *) { ++*state; }
void sb_count_merge(int64_t *into, const int64_t *from) { *into += *from; }
int64_t sb_count_end(const int64_t *state) { return *state; }

// ---- integers: 128 bits hold the sum of 2^64 of them --------------------------------------------

void sb_sum_i64_add(SbIntegerSum *state, int64_t x) { state->total += x, state->count++; }
void sb_sum_u64_add(SbIntegerSum *state, uint64_t x) { state->total += x, state->count++; }

void sb_sum_i64_merge(SbIntegerSum *into, const SbIntegerSum *from) {
    into->total += from->total;
    into->count += from->count;
}

void sb_sum_u64_merge(SbIntegerSum *into, const SbIntegerSum *from) {
    sb_sum_i64_merge(into, from);
}

int32_t sb_sum_i64_end(const SbIntegerSum *state, int64_t *out) {
    if (state->total < INT64_MIN || state->total > INT64_MAX) return SB_FAULT_OVERFLOW;
    *out = (int64_t)state->total;
    return SB_OK;
}

int32_t sb_sum_u64_end(const SbIntegerSum *state, uint64_t *out) {
    if (state->total > UINT64_MAX) return SB_FAULT_OVERFLOW;
    *out = (uint64_t)state->total;
    return SB_OK;
}

void sb_mean_i64_add(SbIntegerSum *state, int64_t x) { sb_sum_i64_add(state, x); }
void sb_mean_u64_add(SbIntegerSum *state, uint64_t x) { sb_sum_u64_add(state, x); }
void sb_mean_i64_merge(SbIntegerSum *into, const SbIntegerSum *from) {
    sb_sum_i64_merge(into, from);
}
void sb_mean_u64_merge(SbIntegerSum *into, const SbIntegerSum *from) {
    sb_sum_i64_merge(into, from);
}

int32_t sb_mean_i64_end(const SbIntegerSum *state, double *out) {
    if (state->count == 0) return SB_NULL;
    *out = (double)state->total / (double)state->count;
    return SB_OK;
}

int32_t sb_mean_u64_end(const SbIntegerSum *state, double *out) {
    return sb_mean_i64_end(state, out);
}

// A duration: whole microseconds, halves away from zero.
void sb_mean_duration_add(SbIntegerSum *state, int64_t x) { sb_sum_i64_add(state, x); }
void sb_mean_duration_merge(SbIntegerSum *into, const SbIntegerSum *from) {
    sb_sum_i64_merge(into, from);
}

int32_t sb_mean_duration_end(const SbIntegerSum *state, int64_t *out) {
    if (state->count == 0) return SB_NULL;
    __int128 count = (__int128)state->count, half = state->total < 0 ? -(count / 2) : count / 2;
    *out = (int64_t)((state->total + half) / count);
    return SB_OK;
}

void sb_mean_date_add(SbIntegerSum *state, int32_t x) { sb_sum_i64_add(state, x); }
void sb_mean_date_merge(SbIntegerSum *into, const SbIntegerSum *from) {
    sb_sum_i64_merge(into, from);
}

int32_t sb_mean_date_end(const SbIntegerSum *state, int32_t *out) {
    int64_t days;
    int32_t status = sb_mean_timestamp_end(state, nullptr, &days);
    if (status == SB_OK) *out = (int32_t)days;
    return status;
}

void sb_mean_timestamp_add(SbIntegerSum *state, const SbType *, int64_t x) {
    sb_sum_i64_add(state, x);
}

void sb_mean_timestamp_merge(SbIntegerSum *into, const SbType *, const SbIntegerSum *from) {
    sb_sum_i64_merge(into, from);
}

int32_t sb_mean_timestamp_end(const SbIntegerSum *state, const SbType *, int64_t *out) {
    if (state->count == 0) return SB_NULL;
    __int128 count = (__int128)state->count;
    *out = (int64_t)(state->total / count - (state->total % count < 0));
    return SB_OK;
}

// ---- products of integers: a size beyond 64 bits stays beyond, for no factor but zero is below 1

enum : uint32_t { PRODUCT_MINUS = 1, PRODUCT_ZERO = 2, PRODUCT_BEYOND = 4 };

static void multiply(SbProduct *state, uint64_t size, uint32_t marks) {
    uint64_t product;
    if (__builtin_mul_overflow(state->less + 1, size, &product)) {
        product = 1;
        marks |= PRODUCT_BEYOND;
    }
    state->less = product - 1;
    state->marks = (state->marks ^ (marks & PRODUCT_MINUS)) | (marks & ~PRODUCT_MINUS);
}

void sb_product_i64_add(SbProduct *state, int64_t x) {
    uint64_t size = x < 0 ? -(uint64_t)x : (uint64_t)x;
    multiply(state, size ? size : 1, size ? x < 0 ? PRODUCT_MINUS : 0 : PRODUCT_ZERO);
}

void sb_product_u64_add(SbProduct *state, uint64_t x) {
    multiply(state, x ? x : 1, x ? 0 : PRODUCT_ZERO);
}

void sb_product_i64_merge(SbProduct *into, const SbProduct *from) {
    multiply(into, from->less + 1, from->marks);
}

void sb_product_u64_merge(SbProduct *into, const SbProduct *from) {
    sb_product_i64_merge(into, from);
}

int32_t sb_product_u64_end(const SbProduct *state, uint64_t *out) {
    bool zero = state->marks & PRODUCT_ZERO;
    if (!zero && (state->marks & PRODUCT_BEYOND)) return SB_FAULT_OVERFLOW;
    *out = zero ? 0 : state->less + 1;
    return SB_OK;
}

int32_t sb_product_i64_end(const SbProduct *state, int64_t *out) {
    uint64_t size;
    int32_t status = sb_product_u64_end(state, &size);
    if (status != SB_OK) return status;
    bool minus = state->marks & PRODUCT_MINUS;
    if (size > (uint64_t)INT64_MAX + minus) return SB_FAULT_OVERFLOW;
    *out = (int64_t)(minus ? -size : size);
    return SB_OK;
}

// ---- floats: exact ---------------------------------------------------------------------------

int32_t sb_sum_f64_add(SbCall *call, SbExactSum *state, double x) {
    return sb_exact_add(call, state, x);
}

int32_t sb_sum_f64_merge(SbCall *call, SbExactSum *into, const SbExactSum *from) {
    return sb_exact_merge(call, into, from);
}

double sb_sum_f64_end(SbCall *, const SbExactSum *state) { return sb_exact_value(state); }

int32_t sb_mean_f64_add(SbCall *call, SbExactSum *state, double x) {
    return sb_exact_add(call, state, x);
}

int32_t sb_mean_f64_merge(SbCall *call, SbExactSum *into, const SbExactSum *from) {
    return sb_exact_merge(call, into, from);
}

int32_t sb_mean_f64_end(SbCall *, const SbExactSum *state, double *out) {
    if (state->count == 0) return SB_NULL;
    *out = sb_exact_value(state) / (double)state->count;
    return SB_OK;
}

// ---- decimals: the 128-bit sum and what it carried ----------------------------------------------

void sb_sum_decimal_add(SbDecimalSum *state, SbDecimal x) {
    __int128 total;
    if (!LIKELY(!__builtin_add_overflow(state->low, x, &total))) state->carry += x < 0 ? -1 : 1;
    state->low = total;
    state->count++;
}

void sb_sum_decimal_merge(SbDecimalSum *into, const SbDecimalSum *from) {
    uint64_t count = into->count + from->count;
    sb_sum_decimal_add(into, from->low);
    into->carry += from->carry;
    into->count = count;
}

int32_t sb_sum_decimal_end(const SbDecimalSum *state, SbDecimal *out) {
    if (state->carry || !sb_decimal_fits(state->low, 38)) return SB_FAULT_OVERFLOW;
    *out = state->low;
    return SB_OK;
}

void sb_mean_decimal_add(SbDecimalSum *state, const SbType *, SbDecimal x) {
    sb_sum_decimal_add(state, x);
}

void sb_mean_decimal_merge(SbDecimalSum *into, const SbType *, const SbDecimalSum *from) {
    sb_sum_decimal_merge(into, from);
}

int32_t sb_mean_decimal_end(const SbDecimalSum *state, const SbType *type, double *out) {
    if (state->count == 0) return SB_NULL;
    if (!state->carry) {
        *out = sb_decimal_f64(state->low, type->scale) / (double)state->count;
        return SB_OK;
    }
    // low + carry 2^128, as 192 bits.
    __int128 high = (__int128)state->carry + (state->low < 0 ? -1 : 0);
    unsigned __int128 low = (unsigned __int128)state->low;
    bool minus = high < 0;
    if (minus) {
        low = -low;
        high = -high - (low != 0);
    }
    uint64_t words[] = {(uint64_t)low, (uint64_t)(low >> 64), (uint64_t)high};
    double sum = sb_words_f64(words, 3, type->scale);
    *out = (minus ? -sum : sum) / (double)state->count;
    return SB_OK;
}

// ---- bool ---------------------------------------------------------------------------------------

enum : uint8_t { SEEN_FALSE = 1, SEEN_TRUE = 2 };

void sb_any_add(uint8_t *state, bool x) { *state |= x ? SEEN_TRUE : SEEN_FALSE; }
void sb_any_merge(uint8_t *into, const uint8_t *from) { *into |= *from; }
void sb_all_add(uint8_t *state, bool x) { *state |= x ? SEEN_TRUE : SEEN_FALSE; }
void sb_all_merge(uint8_t *into, const uint8_t *from) { *into |= *from; }

int32_t sb_any_end(const uint8_t *state, bool *out) {
    *out = *state & SEEN_TRUE;
    return *state ? SB_OK : SB_NULL;
}

int32_t sb_all_end(const uint8_t *state, bool *out) {
    *out = !(*state & SEEN_FALSE);
    return *state ? SB_OK : SB_NULL;
}
