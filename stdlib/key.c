#include "stdlib/key.h"

#include "stdlib/hash.h"

#include <string.h>

static inline uint64_t load8(const char *ptr) {
    uint64_t word;
    memcpy(&word, ptr, sizeof word);
    return word;
}

// What is kept of the second of two words of a text, by the bytes of both; behind eight zeros, what
// is kept of the first. A mask is looked up: texts come in all lengths, and a branch would be
// guessed wrong.
static const uint64_t kept[17] = {
    [9] = 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
    UINT64_MAX,
};

// The low `bytes` bytes of a word; all of it from 8 on.
static inline uint64_t low_bytes(uint64_t word, int64_t bytes) {
    return word & kept[8 + ((uint64_t)bytes < 8 ? bytes : 8)];
}

// The low `bytes` - 8 bytes of a word; all of it from 16 on, none up to 8.
static inline uint64_t low_bytes_behind(uint64_t word, int64_t bytes) {
    return word & kept[(uint64_t)bytes < 16 ? bytes : 16];
}

static inline bool same16(const char *a, const char *b) {
    typedef uint64_t Words __attribute__((vector_size(16)));
    Words x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    x ^= y;
    return (x[0] | x[1]) == 0;
}

// Texts of one length beyond SB_KEY_INLINE: their first and last 16 bytes, which are all of most.
static inline bool long_equal(const char *a, const char *b, int64_t len) {
    if (!same16(a, b) || !same16(a + len - 16, b + len - 16)) return false;
    return len <= 32 || memcmp(a + 16, b + 16, (size_t)len - 32) == 0;
}

bool sb_str_equal(SbStr a, SbStr b) {
    if (a.len != b.len) return false;
    if (a.len == 0) return true;  // The text of a null may be nowhere.
    if (a.len <= SB_KEY_INLINE)
        return low_bytes(load8(a.ptr) ^ load8(b.ptr), a.len) == 0 &&
               (a.len <= 8 || low_bytes(load8(a.ptr + 8) ^ load8(b.ptr + 8), a.len - 8) == 0);
    return long_equal(a.ptr, b.ptr, a.len);
}

int32_t sb_str_compare(SbStr a, SbStr b) {
    int64_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.ptr, b.ptr, (size_t)len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

uint64_t sb_key_head(const char *ptr, int64_t len) { return low_bytes(load8(ptr), len); }

uint64_t sb_key_tail(const char *ptr, int64_t len) { return low_bytes_behind(load8(ptr + 8), len); }

uint64_t sb_key_word(uint64_t hash, uint64_t word) { return sb_hash_word(hash, word); }

uint64_t sb_key_hash(uint64_t seed, uint64_t head, uint64_t tail, SbStr text) {
    uint64_t hash = sb_mix(seed ^ head ^ (uint64_t)text.len * 0xa0761d6478bd642f,
                           tail ^ 0xe7037ed1a0b428db);
    if (__builtin_expect(text.len > SB_KEY_INLINE, 0))
        hash = sb_hash_bytes(hash, text.ptr, text.len);
    return hash;
}

bool sb_key_equal(const SbKeyStr *key, uint64_t head, uint64_t tail, SbStr text) {
    uint64_t stored_head = load8(key->bytes), stored_tail = load8(key->bytes + 8);
    if (key->len != text.len || stored_head != head) return false;
    if (text.len <= SB_KEY_INLINE) return stored_tail == tail;
    return long_equal(key->far.ptr, text.ptr, text.len);
}

SbStr sb_key_text(const SbKeyStr *key) {
    return (SbStr){key->len <= SB_KEY_INLINE ? key->bytes : key->far.ptr, key->len};
}

bool sb_keys_equal(const SbKeyStr *a, const SbKeyStr *b) {
    if (a->len != b->len || load8(a->bytes) != load8(b->bytes)) return false;
    if (a->len <= SB_KEY_INLINE) return load8(a->bytes + 8) == load8(b->bytes + 8);
    return long_equal(a->far.ptr, b->far.ptr, a->len);
}

uint64_t sb_str_prefix(SbStr text) {
    return __builtin_bswap64(low_bytes(load8(text.ptr), text.len));
}

uint64_t sb_order_f64(double value) {
    uint64_t bits;
    value += 0.0;  // -0.0 becomes 0.0.
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return ~UINT64_C(0);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}
