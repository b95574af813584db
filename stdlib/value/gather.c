// Gather: copying parts of tensors by their places.
#include "stdlib/value/gather.h"

#include <string.h>

// One number for each place: copied without a call.
#define GATHER_NUMBERS(name, T)                                                                    \
    static void name(const SbGather *sizes, const T *from, SbList places, T *to) {                 \
        const int64_t *at = places.ptr;                                                            \
        for (uint64_t k = 0; k < sizes->outer; k++, from += sizes->size)                           \
            for (int64_t i = 0; i < places.len; i++) *to++ = from[at[i]];                          \
    }

GATHER_NUMBERS(gather8, uint8_t)
GATHER_NUMBERS(gather16, uint16_t)
GATHER_NUMBERS(gather32, uint32_t)
GATHER_NUMBERS(gather64, uint64_t)

static void gather_parts(const SbGather *sizes, const char *from, SbList places, char *to) {
    const int64_t *at = places.ptr;
    for (uint64_t k = 0; k < sizes->outer; k++, from += sizes->size * sizes->inner)
        for (int64_t i = 0; i < places.len; i++, to += sizes->inner)
            memcpy(to, from + (uint64_t)at[i] * sizes->inner, sizes->inner);
}

int32_t sb_gather(const SbGather *sizes, const void *tensor, SbList places, void *out) {
    const int64_t *at = places.ptr;
    bool bad = false;
    for (int64_t i = 0; i < places.len; i++) bad |= (uint64_t)at[i] >= sizes->size;
    if (bad) return SB_FAULT_OUT_OF_BOUNDS;
    switch (sizes->inner) {
    case sizeof(uint8_t): gather8(sizes, tensor, places, out); break;
    case sizeof(uint16_t): gather16(sizes, tensor, places, out); break;
    case sizeof(uint32_t): gather32(sizes, tensor, places, out); break;
    case sizeof(uint64_t): gather64(sizes, tensor, places, out); break;
    default: gather_parts(sizes, tensor, places, out);
    }
    return SB_OK;
}
