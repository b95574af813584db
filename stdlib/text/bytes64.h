// Bytes64: 64 bytes of text at a time, for files that are compiled for a CPU level with vectors.
#ifndef SBC_STDLIB_BYTES64_H
#define SBC_STDLIB_BYTES64_H

#include "runtime/abi/value.h"

#include <string.h>

typedef uint8_t Bytes64 __attribute__((vector_size(64), aligned(1)));
typedef bool Mask64 __attribute__((ext_vector_type(64)));

static_assert(sizeof(Bytes64) <= SB_SLACK);  // So that any text may be loaded to its end.

static inline Bytes64 bytes64_load(const char *ptr) {
    Bytes64 bytes;
    memcpy(&bytes, ptr, sizeof bytes);
    return bytes;
}

// Bit i: byte i is not zero; of the 0 and 255 that comparisons give.
static inline uint64_t bytes64_mask(Bytes64 bytes) {
    Mask64 mask = __builtin_convertvector(bytes, Mask64);
    uint64_t bits;
    memcpy(&bits, &mask, sizeof bits);
    return bits;
}

// Bit i: byte i is `wanted`.
static inline uint64_t bytes64_hits(const char *ptr, char wanted) {
    return bytes64_mask((Bytes64)(bytes64_load(ptr) == (uint8_t)wanted));
}

// The bits of the bytes in front of the end of a text, of which `left` >= 0 bytes remain.
static inline uint64_t bytes64_until(uint64_t bits, int64_t left) {
    return left < 64 ? bits & ((UINT64_C(1) << left) - 1) : bits;
}

#endif
