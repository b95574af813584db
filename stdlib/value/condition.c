// Condition: null_if, clamp, greatest, least.
#include "stdlib/value/condition.h"

#include "stdlib/value/generic.h"

#include <string.h>

static int32_t give(const SbType *type, const void *x, void *out) {
    memcpy(out, x, (size_t)sb_base_size(type));
    return SB_OK;
}

int32_t sb_null_if(const SbType *type, const void *x, const void *y, void *out) {
    return sb_compare(type, x, y) == 0 ? SB_NULL : give(type, x, out);
}

int32_t sb_clamp(const SbType *type, const void *x, const void *low, const void *high, void *out) {
    if (sb_compare(type, x, low) < 0) return give(type, low, out);
    return give(type, sb_compare(type, x, high) > 0 ? high : x, out);
}

int32_t sb_greatest(const SbType *type, const void *x, const void *y, void *out) {
    return give(type, sb_compare(type, x, y) < 0 ? y : x, out);
}

int32_t sb_least(const SbType *type, const void *x, const void *y, void *out) {
    return give(type, sb_compare(type, x, y) > 0 ? y : x, out);
}
