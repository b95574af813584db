#include "runtime/host/checksum.h"

#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct ChecksumState {
    XXH3_state_t xxh;
};

static Checksum checksum(XXH128_hash_t hash) { return (Checksum){hash.low64, hash.high64}; }

Checksum checksum_of(const void *bytes, int64_t len) {
    return checksum(XXH3_128bits(bytes, (size_t)len));
}

uint64_t checksum_next(uint64_t sum, const void *bytes, int64_t len) {
    return XXH3_64bits_withSeed(bytes, (size_t)len, sum);
}

void checksum_text(Checksum sum, char text[static CHECKSUM_DIGITS + 1]) {
    snprintf(text, CHECKSUM_DIGITS + 1, "%016llx%016llx", (unsigned long long)sum.high,
             (unsigned long long)sum.low);
}

ChecksumState *checksum_open(void) {
    XXH3_state_t *state = XXH3_createState();  // Its alignment is over that of malloc.
    if (state) XXH3_128bits_reset(state);
    return (ChecksumState *)(void *)state;
}

void checksum_begin(ChecksumState *state) { XXH3_128bits_reset(&state->xxh); }

void checksum_add(ChecksumState *state, const void *bytes, int64_t len) {
    XXH3_128bits_update(&state->xxh, bytes, (size_t)len);
}

Checksum checksum_value(const ChecksumState *state) {
    return checksum(XXH3_128bits_digest(&state->xxh));
}

void checksum_close(ChecksumState *state) {
    if (state) XXH3_freeState(&state->xxh);
}
