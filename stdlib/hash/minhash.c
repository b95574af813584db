// MinHash: signatures of sets, their bands, and their estimate.
#include "stdlib/hash/minhash.h"

#include "stdlib/hash/digest.h"

// The step and the output of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", 2014).
static uint64_t permuted(uint64_t hash, int64_t permutation) {
    uint64_t x = hash + (uint64_t)(permutation + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

int32_t sb_minhash(SbCall *call, SbList texts, int64_t count, SbList *out) {
    if (count < 1 || count > MINHASH_VALUES_MAX) return SB_FAULT_BAD_ARGUMENT;
    const SbStr *text = texts.ptr;
    uint64_t *least = sb_alloc(call, count * (int64_t)sizeof *least);
    if (!least) return SB_FAULT_TOO_LARGE;
    for (int64_t k = 0; k < count; k++) least[k] = UINT64_MAX;
    for (int64_t i = 0; i < texts.len; i++) {
        uint64_t hash = sb_hash_text(text[i]);
        for (int64_t k = 0; k < count; k++) {
            uint64_t value = permuted(hash, k);
            least[k] = value < least[k] ? value : least[k];
        }
    }
    *out = (SbList){least, count};
    return SB_OK;
}

int32_t sb_minhash_bands(SbCall *call, SbList values, int64_t rows, SbList *out) {
    if (rows < 1) return SB_FAULT_BAD_ARGUMENT;
    const uint64_t *value = values.ptr;
    int64_t bands = values.len / rows;
    uint64_t *hashes = sb_alloc(call, bands * (int64_t)sizeof *hashes);
    if (!hashes) return SB_FAULT_TOO_LARGE;
    for (int64_t band = 0; band < bands; band++) {
        uint64_t hash = (uint64_t)band;
        for (int64_t k = 0; k < rows; k++) hash = permuted(hash ^ value[band * rows + k], k);
        hashes[band] = hash;
    }
    *out = (SbList){hashes, bands};
    return SB_OK;
}

int32_t sb_minhash_similarity(SbList a, SbList b, double *out) {
    const uint64_t *x = a.ptr, *y = b.ptr;
    int64_t equal = 0;
    if (a.len != b.len || !a.len) return SB_FAULT_BAD_ARGUMENT;
    for (int64_t i = 0; i < a.len; i++) equal += x[i] == y[i];
    *out = (double)equal / (double)a.len;
    return SB_OK;
}
