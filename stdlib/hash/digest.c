// Digest: CRC-32, MD5 and SHA-256, written from their specifications, and hashes of any value.
#include "stdlib/hash/digest.h"

#include "stdlib/number.h"
#include "stdlib/text.h"

static uint32_t rotate32(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

static uint32_t load32(const char *ptr) {
    uint32_t x;
    memcpy(&x, ptr, sizeof x);
    return x;
}

// ---- hash(x) ------------------------------------------------------------------------------------

static uint64_t hash_decimal(SbDecimal x, uint8_t scale) {
    char bytes[17];
    memcpy(bytes, &x, sizeof x);
    bytes[16] = (char)scale;
    return sb_xxh64(bytes, sizeof bytes, 0);
}

static int32_t hash_parts(SbCall *call, const SbType *type, const void *x, uint64_t *out) {
    bool list = sb_is_sequence(type);
    const SbList *items = x;
    int64_t count = list ? items->len : (int64_t)type->field_count;
    SbCall before = *call;
    uint64_t *parts = sb_alloc(call, count * (int64_t)sizeof *parts);
    if (!parts) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < count; i++) {
        const SbType *part = list ? type->elem : type->fields[i].type;
        const char *value = list ? (const char *)items->ptr + i * (int64_t)part->size
                                 : (const char *)x + type->fields[i].offset;
        int32_t status = sb_hash_any(call, part, value, &parts[i]);
        if (status) return status;
    }
    *out = sb_xxh64((const char *)parts, count * (int64_t)sizeof *parts, 0);
    sb_release(call, &before);
    return SB_OK;
}

#define READ(T, value) (*(const T *)(value))

int32_t sb_hash_any(SbCall *call, const SbType *type, const void *x, uint64_t *out) {
    *out = 0;
    if (!sb_is_valid(type, x)) return SB_OK;
    switch ((SbKind)type->kind) {
    case SB_BOOL: case SB_U8: *out = sb_hash_u64(READ(uint8_t, x)); break;
    case SB_U16: *out = sb_hash_u64(READ(uint16_t, x)); break;
    case SB_U32: *out = sb_hash_u64(READ(uint32_t, x)); break;
    case SB_U64: *out = sb_hash_u64(READ(uint64_t, x)); break;
    case SB_I8: *out = sb_hash_i64(READ(int8_t, x)); break;
    case SB_I16: *out = sb_hash_i64(READ(int16_t, x)); break;
    case SB_I32: case SB_DATE: *out = sb_hash_i64(READ(int32_t, x)); break;
    case SB_I64: case SB_TIMESTAMP: case SB_DURATION: *out = sb_hash_i64(READ(int64_t, x)); break;
    case SB_F16: case SB_BF16: case SB_F32:
        *out = sb_hash_f64(sb_float_value(type, x));
        break;
    case SB_F64: *out = sb_hash_f64(READ(double, x)); break;
    case SB_DECIMAL:
        *out = hash_decimal(type->precision <= 18 ? READ(int64_t, x) : READ(SbDecimal, x),
                            type->scale);
        break;
    case SB_STR: case SB_BYTES: case SB_JSON: *out = sb_hash_text(READ(SbStr, x)); break;
    case SB_LIST: case SB_STRUCT: case SB_TENSOR: case SB_MAP:
        return hash_parts(call, type, x, out);
    }
    return SB_OK;
}

// ---- CRC-32 -------------------------------------------------------------------------------------

int64_t sb_crc32(SbStr s) {
    static const uint32_t nibble[16] = {
        // Remainders of 0..15, bits reversed.
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = UINT32_MAX;
    for (int64_t i = 0; i < s.len; i++) {
        crc ^= (uint8_t)s.ptr[i];
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return (int64_t)~crc & UINT32_MAX;
}

// ---- MD5 and SHA-256: the same frame, 64-byte blocks and a length at the end --------------------

typedef void BlockFn(uint32_t *state, const char *block);

static uint32_t big_endian(uint32_t x) { return __builtin_bswap32(x); }

static void md5_block(uint32_t *state, const char *block) {
    static const uint8_t turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    static const uint32_t sines[64] = {
        // floor(2^32 * |sin(i + 1)|)
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
        0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
        0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
        0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
        0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
        0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
        0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
        0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
        0xeb86d391,
    };
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 64; i++) {
        uint32_t mix;
        int word;
        if (i < 16) mix = (b & c) | (~b & d), word = i;
        else if (i < 32) mix = (d & b) | (~d & c), word = (5 * i + 1) % 16;
        else if (i < 48) mix = b ^ c ^ d, word = (3 * i + 5) % 16;
        else mix = c ^ (b | ~d), word = 7 * i % 16;
        uint32_t sum = a + mix + sines[i] + load32(block + 4 * word);
        a = d, d = c, c = b;
        b += rotate32(sum, turns[i / 16][i % 4]);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

static void sha1_block(uint32_t *state, const char *block) {
    // 2^30 times the square roots of 2, 3, 5 and 10.
    static const uint32_t roots[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t w[80], v[5];
    for (int i = 0; i < 16; i++) w[i] = big_endian(load32(block + 4 * i));
    for (int i = 16; i < 80; i++)
        w[i] = rotate32(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 80; i++) {
        uint32_t b = v[1], c = v[2], d = v[3];
        uint32_t mix = i < 20                ? (b & c) | (~b & d)
                       : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
                                             : b ^ c ^ d;
        uint32_t sum = rotate32(v[0], 5) + mix + v[4] + roots[i / 20] + w[i];
        memmove(v + 1, v, 4 * sizeof *v);
        v[0] = sum;
        v[2] = rotate32(b, 30);
    }
    for (int i = 0; i < 5; i++) state[i] += v[i];
}

static void sha256_block(uint32_t *state, const char *block) {
    static const uint32_t roots[64] = {
        // Fractions of the cube roots of the first 64 primes.
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    };
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++) w[i] = big_endian(load32(block + 4 * i));
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate32(x, 25) ^ rotate32(x, 14) ^ x >> 3) +
               (rotate32(y, 15) ^ rotate32(y, 13) ^ y >> 10);
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t one = v[7] + (rotate32(e, 26) ^ rotate32(e, 21) ^ rotate32(e, 7)) +
                       ((e & v[5]) ^ (~e & v[6])) + roots[i] + w[i];
        uint32_t two = (rotate32(a, 30) ^ rotate32(a, 19) ^ rotate32(a, 10)) +
                       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

typedef struct Digest {
    BlockFn *block;
    uint32_t state[8];
    int      words;     // Of the state that are the result.
    bool     big;       // Big-endian.
} Digest;

static int32_t digest(SbCall *call, Digest *how, SbStr s, SbStr *out) {
    static const char digits[] = "0123456789abcdef";
    char tail[128] = {0}, *text = sb_alloc(call, how->words * 8);
    if (!text) return SB_FAULT_TOO_LARGE;
    int64_t whole = s.len / 64 * 64, left = s.len - whole, end = left < 56 ? 64 : 128;
    for (int64_t i = 0; i < whole; i += 64) how->block(how->state, s.ptr + i);
    if (left) memcpy(tail, s.ptr + whole, (size_t)left);
    tail[left] = (char)0x80;
    uint64_t bits = (uint64_t)s.len * 8;
    if (how->big) bits = __builtin_bswap64(bits);
    memcpy(tail + end - 8, &bits, sizeof bits);
    for (int64_t i = 0; i < end; i += 64) how->block(how->state, tail + i);
    for (int i = 0; i < how->words * 4; i++) {
        uint32_t word = how->big ? big_endian(how->state[i / 4]) : how->state[i / 4];
        uint32_t byte = word >> 8 * (i % 4) & 0xff;
        text[2 * i] = digits[byte >> 4];
        text[2 * i + 1] = digits[byte & 15];
    }
    *out = (SbStr){text, how->words * 8};
    return SB_OK;
}

int32_t sb_md5(SbCall *call, SbStr s, SbStr *out) {
    Digest how = {md5_block, {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, 4, false};
    return digest(call, &how, s, out);
}

int32_t sb_sha1(SbCall *call, SbStr s, SbStr *out) {
    Digest how = {sha1_block,
                  {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}, 5, true};
    return digest(call, &how, s, out);
}

int32_t sb_sha256(SbCall *call, SbStr s, SbStr *out) {
    Digest how = {sha256_block,
                  {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                   0x1f83d9ab, 0x5be0cd19},
                  8, true};
    return digest(call, &how, s, out);
}
