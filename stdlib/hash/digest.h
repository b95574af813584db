// Digest: hashes that users see. Frozen: the same value for the same input, in every version.
//
//   hash(x)  XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), seed 0, of
//            str, bytes, json: the bytes; bool, integers, date, timestamp, duration: the value as
//            64 bits, little-endian; floats: the f64, with one zero and one nan
//            (0x7ff8000000000000); decimals: the unscaled value as 128 bits and the scale as one
//            byte; lists and structs: the hashes of the elements one after the other, the hash of
//            a null being 0.
//   md5      RFC 1321          sha1, sha256  FIPS 180-4
//   crc32    IEEE 802.3, as in zlib and gzip
#ifndef SBC_STDLIB_DIGEST_H
#define SBC_STDLIB_DIGEST_H

#include "runtime/abi/kept.h"

uint64_t sb_xxh64(const char *ptr, int64_t len, uint64_t seed);

uint64_t sb_hash_text(SbStr s);
void     sb_hash_text_each(char *records, int64_t count, const SbEach *each);
uint64_t sb_hash_i64(int64_t x);
uint64_t sb_hash_u64(uint64_t x);
uint64_t sb_hash_f64(double x);
int32_t sb_hash_any(SbCall *call, const SbType *type, const void *x, uint64_t *out);

int64_t sb_crc32(SbStr s);
int32_t sb_md5(SbCall *call, SbStr s, SbStr *out);     // Lower-case hexadecimal digits.
int32_t sb_sha1(SbCall *call, SbStr s, SbStr *out);
int32_t sb_sha256(SbCall *call, SbStr s, SbStr *out);

#endif
