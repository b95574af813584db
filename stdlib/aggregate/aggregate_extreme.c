// min and max of numbers and texts. Their add functions are inlined in stages: once a group has
// seen a few values, nearly all calls end at the first comparison.
#include "stdlib/aggregate/aggregate.h"

#include <string.h>

#define LIKELY(condition) __builtin_expect((condition), 1)

// Floats: nan equals itself and is greatest; -0.0 is 0.0 and comes out as that. `x OP value` is
// false for nan on either side, so what remains are a better value and nans.
static inline double plain(double x) { return x != x ? (double)__builtin_nanf("") : x + 0.0; }

#define FLOAT_ADD(name, T)                                                                        \
    void sb_min_##name##_add(SbExtreme_##name *state, T x) {                                      \
        if (LIKELY(state->seen && x >= state->value)) return;                                     \
        if (state->seen && x != x) return;                                                        \
        *state = (SbExtreme_##name){(T)plain((double)x), 1};                                      \
    }                                                                                             \
    void sb_max_##name##_add(SbExtreme_##name *state, T x) {                                      \
        if (LIKELY(state->seen && x <= state->value)) return;                                     \
        if (state->seen && state->value != state->value) return;                                  \
        *state = (SbExtreme_##name){(T)plain((double)x), 1};                                      \
    }

#define INTEGER_ADD(name, T)                                                                      \
    void sb_min_##name##_add(SbExtreme_##name *state, T x) {                                      \
        if (LIKELY(state->seen && x >= state->value)) return;                                     \
        *state = (SbExtreme_##name){x, 1};                                                        \
    }                                                                                             \
    void sb_max_##name##_add(SbExtreme_##name *state, T x) {                                      \
        if (LIKELY(state->seen && x <= state->value)) return;                                     \
        *state = (SbExtreme_##name){x, 1};                                                        \
    }

#define REST(name, T)                                                                             \
    void sb_min_##name##_merge(SbExtreme_##name *into, const SbExtreme_##name *from) {            \
        if (from->seen) sb_min_##name##_add(into, from->value);                                   \
    }                                                                                             \
    void sb_max_##name##_merge(SbExtreme_##name *into, const SbExtreme_##name *from) {            \
        if (from->seen) sb_max_##name##_add(into, from->value);                                   \
    }                                                                                             \
    int32_t sb_min_##name##_end(const SbExtreme_##name *state, T *out) {                          \
        *out = state->value;                                                                      \
        return state->seen ? SB_OK : SB_NULL;                                                     \
    }                                                                                             \
    int32_t sb_max_##name##_end(const SbExtreme_##name *state, T *out) {                          \
        *out = state->value;                                                                      \
        return state->seen ? SB_OK : SB_NULL;                                                     \
    }

INTEGER_ADD(i8, int8_t)
INTEGER_ADD(i16, int16_t)
INTEGER_ADD(i32, int32_t)
INTEGER_ADD(i64, int64_t)
INTEGER_ADD(u8, uint8_t)
INTEGER_ADD(u16, uint16_t)
INTEGER_ADD(u32, uint32_t)
INTEGER_ADD(u64, uint64_t)
FLOAT_ADD(f32, float)
FLOAT_ADD(f64, double)
SB_EXTREMES(REST)

// ---- str ----------------------------------------------------------------------------------------

static inline int compare(const SbExtremeStr *state, SbStr x) {
    int order = memcmp(x.ptr, state->ptr, (size_t)(x.len < state->len ? x.len : state->len));
    return order ? order : (x.len > state->len) - (x.len < state->len);
}

static int32_t keep(SbCall *call, SbExtremeStr *state, SbStr x) {
    if (!state->ptr || x.len > state->room) {
        state->room = x.len < 32 ? 32 : 2 * x.len;
        state->ptr = sb_alloc(call, state->room);
        if (!state->ptr) return SB_FAULT_TOO_LARGE;
    }
    memcpy(state->ptr, x.ptr, (size_t)x.len);
    state->len = x.len;
    return SB_OK;
}

int32_t sb_min_str_add(SbCall *call, SbExtremeStr *state, SbStr x) {
    if (LIKELY(state->ptr && compare(state, x) >= 0)) return SB_OK;
    return keep(call, state, x);
}

int32_t sb_max_str_add(SbCall *call, SbExtremeStr *state, SbStr x) {
    if (LIKELY(state->ptr && compare(state, x) <= 0)) return SB_OK;
    return keep(call, state, x);
}

int32_t sb_min_str_merge(SbCall *call, SbExtremeStr *into, const SbExtremeStr *from) {
    return from->ptr ? sb_min_str_add(call, into, (SbStr){from->ptr, from->len}) : SB_OK;
}

int32_t sb_max_str_merge(SbCall *call, SbExtremeStr *into, const SbExtremeStr *from) {
    return from->ptr ? sb_max_str_add(call, into, (SbStr){from->ptr, from->len}) : SB_OK;
}

int32_t sb_min_str_end(SbCall *, const SbExtremeStr *state, SbStr *out) {
    *out = (SbStr){state->ptr, state->len};
    return state->ptr ? SB_OK : SB_NULL;
}

int32_t sb_max_str_end(SbCall *call, const SbExtremeStr *state, SbStr *out) {
    return sb_min_str_end(call, state, out);
}
