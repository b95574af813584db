// quantile and median: all values are kept, then sorted.
//
// Between two values the result is a + (b - a) t, with t of sb_sample_place. nan is the greatest
// value, -0.0 counts as 0.0.
#include "stdlib/aggregate/aggregate.h"
#include "stdlib/aggregate/sample_keys.h"

static int32_t reserve(SbCall *call, SbSample *state, uint64_t count) {
    if (state->count + count <= state->room) return SB_OK;
    uint64_t room = state->room ? 2 * state->room : 16;
    if (room < state->count + count) room = state->count + count;
    uint64_t *keys = sb_alloc(call, (int64_t)(room * sizeof *keys));
    if (!keys) return SB_FAULT_TOO_LARGE;
    if (state->count) memcpy(keys, state->keys, state->count * sizeof *keys);
    state->keys = keys;
    state->room = room;
    return SB_OK;
}

int32_t sb_sample_add(SbCall *call, SbSample *state, uint64_t key) {
    int32_t status = reserve(call, state, 1);
    if (status == SB_OK) state->keys[state->count++] = key;
    return status;
}

int32_t sb_sample_merge(SbCall *call, SbSample *into, const SbSample *from) {
    int32_t status = reserve(call, into, from->count);
    if (status != SB_OK || !from->count) return status;
    memcpy(into->keys + into->count, from->keys, from->count * sizeof *from->keys);
    into->count += from->count;
    return SB_OK;
}

int32_t sb_quantile_f64_add(SbCall *call, SbSample *state, double x) {
    return sb_sample_add(call, state, sb_sample_key(x));
}

int32_t sb_quantile_f64_merge(SbCall *call, SbSample *into, const SbSample *from) {
    return sb_sample_merge(call, into, from);
}

// Sorts by bytes, the lowest first; a byte that all keys share costs one count.
uint64_t *sb_sort_keys(uint64_t *keys, uint64_t *spare, uint64_t count) {
    for (int shift = 0; shift < 64; shift += 8) {
        uint64_t places[256] = {};
        for (uint64_t i = 0; i < count; i++) places[keys[i] >> shift & 0xff]++;
        if (places[keys[0] >> shift & 0xff] == count) continue;
        uint64_t place = 0;
        for (int byte = 0; byte < 256; byte++) {
            uint64_t here = places[byte];
            places[byte] = place;
            place += here;
        }
        for (uint64_t i = 0; i < count; i++) spare[places[keys[i] >> shift & 0xff]++] = keys[i];
        uint64_t *sorted = spare;
        spare = keys;
        keys = sorted;
    }
    return keys;
}

const uint64_t *sb_sample_sorted(SbCall *call, const SbSample *state) {
    int64_t bytes = (int64_t)(state->count * sizeof(uint64_t));
    uint64_t *keys = sb_alloc(call, bytes), *spare = keys ? sb_alloc(call, bytes) : nullptr;
    if (!spare) return nullptr;
    memcpy(keys, state->keys, (size_t)bytes);
    return sb_sort_keys(keys, spare, state->count);
}

int32_t sb_quantile_f64_end(SbCall *call, const SbSample *state, double fraction, double *out) {
    if (state->count == 0) return SB_NULL;
    if (!(fraction >= 0 && fraction <= 1)) return SB_FAULT_BAD_ARGUMENT;
    const uint64_t *keys = sb_sample_sorted(call, state);
    if (!keys) return SB_FAULT_TOO_LARGE;
    uint64_t at;
    double part = sb_sample_place(state->count, fraction, &at), low = sb_sample_value(keys[at]);
    *out = low;
    if (part > 0) *out = low + (sb_sample_value(keys[at + 1]) - low) * part;
    return SB_OK;
}

int32_t sb_quantile_i64_add(SbCall *call, SbSample *state, int64_t x) {
    return sb_quantile_f64_add(call, state, (double)x);
}

int32_t sb_quantile_i64_merge(SbCall *call, SbSample *into, const SbSample *from) {
    return sb_quantile_f64_merge(call, into, from);
}

int32_t sb_quantile_i64_end(SbCall *call, const SbSample *state, double fraction, double *out) {
    return sb_quantile_f64_end(call, state, fraction, out);
}

int32_t sb_median_f64_add(SbCall *call, SbSample *state, double x) {
    return sb_quantile_f64_add(call, state, x);
}

int32_t sb_median_f64_merge(SbCall *call, SbSample *into, const SbSample *from) {
    return sb_quantile_f64_merge(call, into, from);
}

int32_t sb_median_f64_end(SbCall *call, const SbSample *state, double *out) {
    return sb_quantile_f64_end(call, state, 0.5, out);
}

int32_t sb_median_i64_add(SbCall *call, SbSample *state, int64_t x) {
    return sb_quantile_f64_add(call, state, (double)x);
}

int32_t sb_median_i64_merge(SbCall *call, SbSample *into, const SbSample *from) {
    return sb_quantile_f64_merge(call, into, from);
}

int32_t sb_median_i64_end(SbCall *call, const SbSample *state, double *out) {
    return sb_quantile_f64_end(call, state, 0.5, out);
}
