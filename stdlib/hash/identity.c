#include "stdlib/hash/identity.h"

uint64_t sb_identity_text(uint64_t source, uint64_t file, uint64_t offset) {
    return sb_hash_word(sb_hash_word(sb_hash_word(SB_IDENTITY_SEED, source), file), offset);
}

uint64_t sb_identity_next(uint64_t identity, uint64_t number) {
    return sb_hash_word(identity, number);
}

uint64_t sb_identity_draw(int64_t seed, uint64_t identity) {
    uint64_t hash = sb_hash_word(SB_IDENTITY_SEED, (uint64_t)seed);
    return sb_hash_word(sb_hash_word(hash, identity), identity);
}

bool sb_sampled(int64_t seed, uint64_t identity, double fraction) {
    return (double)(sb_identity_draw(seed, identity) >> 11) * 0x1p-53 < fraction;
}
