#include "stdlib/hash/key.h"

#include "stdlib/hash/hash.h"

#include <string.h>

static inline uint64_t load8(const char *ptr) {
    uint64_t word;
    memcpy(&word, ptr, sizeof word);
    return word;
}

// Masks that keep the first bytes of two words of a text, by the bytes that there are. They are
// looked up: texts come in all lengths, and a branch would be guessed wrong.
static const struct {
    uint64_t first, second;
} kept[SB_KEY_INLINE + 1] = {
    {0, 0},
    {0xff, 0},
    {0xffff, 0},
    {0xffffff, 0},
    {0xffffffff, 0},
    {0xffffffffff, 0},
    {0xffffffffffff, 0},
    {0xffffffffffffff, 0},
    {UINT64_MAX, 0},
    {UINT64_MAX, 0xff},
    {UINT64_MAX, 0xffff},
    {UINT64_MAX, 0xffffff},
    {UINT64_MAX, 0xffffffff},
    {UINT64_MAX, 0xffffffffff},
    {UINT64_MAX, 0xffffffffffff},
    {UINT64_MAX, 0xffffffffffffff},
    {UINT64_MAX, UINT64_MAX},
};

static inline uint64_t kept_bytes(int64_t len) {
    return (uint64_t)len < SB_KEY_INLINE ? (uint64_t)len : SB_KEY_INLINE;
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
    if (a.len <= SB_KEY_INLINE) {
        uint64_t first = load8(a.ptr) ^ load8(b.ptr), second = load8(a.ptr + 8) ^ load8(b.ptr + 8);
        return ((first & kept[a.len].first) | (second & kept[a.len].second)) == 0;
    }
    return long_equal(a.ptr, b.ptr, a.len);
}

int32_t sb_str_compare(SbStr a, SbStr b) {
    int64_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.ptr, b.ptr, (size_t)len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

uint64_t sb_key_head(const char *ptr, int64_t len) {
    return load8(ptr) & kept[kept_bytes(len)].first;
}

uint64_t sb_key_tail(const char *ptr, int64_t len) {
    return load8(ptr + 8) & kept[kept_bytes(len)].second;
}

uint64_t sb_key_word(uint64_t hash, uint64_t word) { return sb_hash_word(hash, word); }

uint64_t sb_key_hash(uint64_t seed, uint64_t head, uint64_t tail, SbStr text) {
    uint64_t hash = sb_mix(seed ^ head, tail ^ (uint64_t)text.len ^ 0xe7037ed1a0b428db);
    if (__builtin_expect(text.len > SB_KEY_INLINE, 0))
        hash = sb_hash_bytes(hash, text.ptr, text.len);
    return hash;
}

bool sb_key_equal(const SbKeyStr *key, uint64_t head, uint64_t tail, SbStr text) {
    if (key->len != text.len || load8(key->bytes) != head) return false;
    if (__builtin_expect(text.len > SB_KEY_INLINE, 0))
        return long_equal(key->far.ptr, text.ptr, text.len);
    return load8(key->bytes + 8) == tail;
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
    return __builtin_bswap64(sb_key_head(text.ptr, text.len));
}

uint64_t sb_order_f64(double value) {
    uint64_t bits;
    value += 0.0;  // -0.0 becomes 0.0.
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return ~UINT64_C(0);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}
