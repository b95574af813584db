// min and max of values of any type. What is a signed number of one word or two, a timestamp or a
// decimal, is compared where stages inline this; the rest and each new value go to
// aggregate_value.c.
#include "stdlib/aggregate/aggregate.h"

#include <string.h>

#define LIKELY(condition) __builtin_expect((condition), 1)

// Is a value a signed number, ordered as that is? The type is constant where this is inlined.
static inline bool is_number(const SbType *type) {
    return type->kind == SB_TIMESTAMP || type->kind == SB_DECIMAL;
}

static inline bool is_word(const SbType *type) {
    return type->kind == SB_TIMESTAMP || type->precision <= 18;
}

static inline SbDecimal number_of(const SbType *type, const void *value) {
    int64_t word;
    SbDecimal wide;
    memcpy(&word, value, sizeof word);
    if (is_word(type)) return word;
    memcpy(&wide, value, sizeof wide);
    return wide;
}

int32_t sb_min_add(SbCall *call, SbKept *state, const SbType *type, const void *x) {
    if (is_number(type) && LIKELY(state->value != nullptr) &&
        LIKELY(number_of(type, x) >= number_of(type, state->value)))
        return SB_OK;
    return sb_min_add_any(call, state, type, x);
}

int32_t sb_max_add(SbCall *call, SbKept *state, const SbType *type, const void *x) {
    if (is_number(type) && LIKELY(state->value != nullptr) &&
        LIKELY(number_of(type, x) <= number_of(type, state->value)))
        return SB_OK;
    return sb_max_add_any(call, state, type, x);
}
