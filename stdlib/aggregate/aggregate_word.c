// min and max of values of any type. What is one word, a timestamp or a short decimal, is compared
// where stages inline this; the rest and each new value go to aggregate_value.c.
#include "stdlib/aggregate/aggregate.h"

#include <string.h>

#define LIKELY(condition) __builtin_expect((condition), 1)

// Is a value one signed word, ordered as that is? The type is constant where this is inlined.
static inline bool is_word(const SbType *type) {
    return type->kind == SB_TIMESTAMP || (type->kind == SB_DECIMAL && type->precision <= 18);
}

static inline int64_t word_of(const void *value) {
    int64_t word;
    memcpy(&word, value, sizeof word);
    return word;
}

int32_t sb_min_add(SbCall *call, SbKept *state, const SbType *type, const void *x) {
    if (is_word(type) && LIKELY(state->value && word_of(x) >= word_of(state->value))) return SB_OK;
    return sb_min_add_any(call, state, type, x);
}

int32_t sb_max_add(SbCall *call, SbKept *state, const SbType *type, const void *x) {
    if (is_word(type) && LIKELY(state->value && word_of(x) <= word_of(state->value))) return SB_OK;
    return sb_max_add_any(call, state, type, x);
}
