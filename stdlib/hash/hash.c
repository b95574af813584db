#include "stdlib/hash/hash.h"

#include <string.h>

static uint64_t load8(const char *ptr) {
    uint64_t word;
    memcpy(&word, ptr, sizeof word);
    return word;
}

uint64_t sb_hash_bytes(uint64_t hash, const char *ptr, int64_t len) {
    hash = sb_hash_word(hash, (uint64_t)len);
    for (; len >= 8; ptr += 8, len -= 8) hash = sb_hash_word(hash, load8(ptr));
    if (len) hash = sb_hash_word(hash, load8(ptr) & (~UINT64_C(0) >> (64 - 8 * len)));
    return hash;
}
