// Identity of rows, as docs/identity.md fixes it.
#ifndef SBC_CODEGEN_REFERENCE_IDENTITY_H
#define SBC_CODEGEN_REFERENCE_IDENTITY_H

#include "stdlib/hash.h"

static const uint64_t IDENTITY_START = 0x243f6a8885a308d3;

static inline uint64_t identity_of(uint64_t source, uint64_t file, uint64_t offset) {
    return sb_hash_word(sb_hash_word(sb_hash_word(IDENTITY_START, source), file), offset);
}

static inline uint64_t identity_draw(uint64_t seed, uint64_t identity) {
    return sb_hash_word(sb_hash_word(sb_hash_word(IDENTITY_START, seed), identity), identity);
}

#endif
