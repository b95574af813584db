// XXH64 by its specification, and the hashes of texts and numbers that stages inline.
#include "stdlib/hash/digest.h"

#include <string.h>

#define INLINE [[gnu::always_inline]] static inline

enum : uint64_t {
    P1 = 0x9e3779b185ebca87,
    P2 = 0xc2b2ae3d27d4eb4f,
    P3 = 0x165667b19e3779f9,
    P4 = 0x85ebca77c2b2ae63,
    P5 = 0x27d4eb2f165667c5,
};

INLINE uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

INLINE uint64_t load8(const char *ptr) {
    uint64_t x;
    memcpy(&x, ptr, sizeof x);
    return x;
}

INLINE uint64_t load4(const char *ptr) {
    uint32_t x;
    memcpy(&x, ptr, sizeof x);
    return x;
}

INLINE uint64_t round_of(uint64_t lane, uint64_t input) {
    return rotate(lane + input * P2, 31) * P1;
}

// What is after the last stripe goes in by eight bytes, by four, and one by one.
INLINE uint64_t mix8(uint64_t hash, uint64_t input) {
    return rotate(hash ^ round_of(0, input), 27) * P1 + P4;
}

INLINE uint64_t mix4(uint64_t hash, uint64_t input) {
    return rotate(hash ^ input * P1, 23) * P2 + P3;
}

INLINE uint64_t mix1(uint64_t hash, char input) {
    return rotate(hash ^ (uint8_t)input * P5, 11) * P1;
}

INLINE uint64_t finish(uint64_t hash) {
    hash = (hash ^ hash >> 33) * P2;
    hash = (hash ^ hash >> 29) * P3;
    return hash ^ hash >> 32;
}

static uint64_t stripes(const char *ptr, int64_t count, uint64_t seed) {
    uint64_t lanes[4] = {seed + P1 + P2, seed + P2, seed, seed - P1};
    for (; count; count--, ptr += 32)
        for (int i = 0; i < 4; i++) lanes[i] = round_of(lanes[i], load8(ptr + 8 * i));
    uint64_t hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) +
                    rotate(lanes[3], 18);
    for (int i = 0; i < 4; i++) hash = (hash ^ round_of(0, lanes[i])) * P1 + P4;
    return hash;
}

uint64_t sb_xxh64(const char *ptr, int64_t len, uint64_t seed) {
    uint64_t hash = len >= 32 ? stripes(ptr, len / 32, seed) : seed + P5;
    const char *at = ptr + len / 32 * 32;
    int64_t left = len % 32;
    hash += (uint64_t)len;
    for (; left >= 8; at += 8, left -= 8) hash = mix8(hash, load8(at));
    if (left >= 4) {
        hash = mix4(hash, load4(at));
        at += 4;
        left -= 4;
    }
    for (; left; at++, left--) hash = mix1(hash, *at);
    return finish(hash);
}

// `a` or `b`, both computed: texts end in any number of bytes, and a branch would be guessed wrong.
INLINE uint64_t choose(bool condition, uint64_t a, uint64_t b) {
    return __builtin_unpredictable(condition) ? a : b;
}

[[gnu::always_inline]] uint64_t sb_hash_text(SbStr s) {
    if (__builtin_expect(s.len >= 32, 0)) return sb_xxh64(s.ptr, s.len, 0);
    const char *at = s.ptr;
    uint64_t hash = P5 + (uint64_t)s.len;
    int64_t left = s.len;
    for (; left >= 8; at += 8, left -= 8) hash = mix8(hash, load8(at));
    hash = choose(left & 4, mix4(hash, load4(at)), hash);
    at += left & 4;
    left &= 3;
    hash = choose(left > 0, mix1(hash, at[0]), hash);
    hash = choose(left > 1, mix1(hash, at[1]), hash);
    hash = choose(left > 2, mix1(hash, at[2]), hash);
    return finish(hash);
}

// ---- of many texts ------------------------------------------------------------------------------

// The multiplications of one text wait for each other; those of eight go on side by side.
enum { LANES = 8 };

typedef uint64_t Words __attribute__((vector_size(8 * LANES)));

typedef struct Texts {
    const char *at[LANES];  // What comes next...
    Words       next;       // ...and its first eight bytes.
    Words       left;       // Bytes.
} Texts;

INLINE Words all(uint64_t x) { return (Words){0} + x; }

INLINE Words rotate_all(Words x, int bits) { return x << bits | x >> (64 - bits); }

INLINE Words mix8_all(Words hash, Words input) {
    Words round = rotate_all(input * all(P2), 31) * all(P1);
    return rotate_all(hash ^ round, 27) * all(P1) + all(P4);
}

INLINE Words mix4_all(Words hash, Words input) {
    return rotate_all(hash ^ input * all(P1), 23) * all(P2) + all(P3);
}

INLINE Words mix1_all(Words hash, Words input) {
    return rotate_all(hash ^ input * all(P5), 11) * all(P1);
}

INLINE Words finish_all(Words hash) {
    hash = (hash ^ hash >> 33) * all(P2);
    hash = (hash ^ hash >> 29) * all(P3);
    return hash ^ hash >> 32;
}

INLINE Words choose_all(Words condition, Words a, Words b) {
    return (a & condition) | (b & ~condition);
}

// The eight bytes of those texts that have as many left.
INLINE Words mix_eights(Texts *texts, Words hash) {
    while (__builtin_reduce_max(texts->left) >= 8) {
        Words has = (Words)(texts->left >= 8);
        hash = choose_all(has, mix8_all(hash, texts->next), hash);
        texts->left -= has & 8;
        for (int i = 0; i < LANES; i++) {
            texts->at[i] += has[i] & 8;
            texts->next[i] = load8(texts->at[i]);
        }
    }
    return hash;
}

// Texts shorter than a stripe.
INLINE Words hash_short(Texts *texts) {
    Words hash = mix_eights(texts, all(P5) + texts->left), next = texts->next, left = texts->left;
    Words four = (Words)((left & 4) != 0);
    hash = choose_all(four, mix4_all(hash, next & UINT32_MAX), hash);
    next >>= four & 32;
    left &= 3;
    for (uint64_t i = 0; i < 3; i++, next >>= 8)
        hash = choose_all((Words)(left > i), mix1_all(hash, next & UINT8_MAX), hash);
    return finish_all(hash);
}

INLINE SbStr text_of(const char *record, const SbEach *each) {
    SbStr text;
    memcpy(&text.ptr, record + each->ptr_offset, sizeof text.ptr);
    memcpy(&text.len, record + each->len_offset, sizeof text.len);
    return text;
}

static void hash_record(char *record, const SbEach *each) {
    uint64_t hash = sb_hash_text(text_of(record, each));
    memcpy(record + each->out_offset, &hash, sizeof hash);
}

static void hash_lanes(char *records, const SbEach *each) {
    Texts texts;
    for (int i = 0; i < LANES; i++) {
        SbStr text = text_of(records + i * each->record_bytes, each);
        texts.at[i] = text.ptr;
        texts.next[i] = load8(text.ptr);
        texts.left[i] = (uint64_t)text.len;
    }
    if (__builtin_expect(__builtin_reduce_max(texts.left) >= 32, 0)) {
        for (int i = 0; i < LANES; i++) hash_record(records + i * each->record_bytes, each);
        return;
    }
    Words hash = hash_short(&texts);
    for (int i = 0; i < LANES; i++)
        memcpy(records + i * each->record_bytes + each->out_offset, (uint64_t[]){hash[i]}, 8);
}

void sb_hash_text_each(char *records, int64_t count, const SbEach *each) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) hash_lanes(records + i * each->record_bytes, each);
    for (; i < count; i++) hash_record(records + i * each->record_bytes, each);
}

uint64_t sb_hash_u64(uint64_t x) { return finish(mix8(P5 + sizeof x, x)); }

uint64_t sb_hash_i64(int64_t x) { return sb_hash_u64((uint64_t)x); }

uint64_t sb_hash_f64(double x) {
    uint64_t bits;
    if (x == 0) x = 0;
    memcpy(&bits, &x, sizeof bits);
    return sb_hash_u64(x != x ? UINT64_C(0x7ff8000000000000) : bits);
}
