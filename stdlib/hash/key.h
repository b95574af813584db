// Key: comparing texts, and texts as keys of hash tables (SbKeyStr). Small enough to be inlined.
#ifndef SBC_STDLIB_KEY_H
#define SBC_STDLIB_KEY_H

#include "runtime/abi/kept.h"

bool    sb_str_equal(SbStr a, SbStr b);
int32_t sb_str_compare(SbStr a, SbStr b);  // By bytes; < 0, 0, > 0.

// The first 8 and the next 8 bytes of a text as numbers, bytes after its end zero.
uint64_t sb_key_head(const char *ptr, int64_t len);
uint64_t sb_key_tail(const char *ptr, int64_t len);

// sb_hash_word as a call.
uint64_t sb_key_word(uint64_t hash, uint64_t word);

// Hash of a text given its head and tail.
uint64_t sb_key_hash(uint64_t seed, uint64_t head, uint64_t tail, SbStr text);

// Is the stored key the text whose head and tail are given?
bool sb_key_equal(const SbKeyStr *key, uint64_t head, uint64_t tail, SbStr text);

// The text of a stored key.
SbStr sb_key_text(const SbKeyStr *key);

// Two stored keys.
bool sb_keys_equal(const SbKeyStr *a, const SbKeyStr *b);

// The first eight bytes as a number that orders as they do: for sorting by prefix.
uint64_t sb_str_prefix(SbStr text);

// A number that orders as the float does: NaN greatest and one, -0.0 as 0.0.
uint64_t sb_order_f64(double value);

#endif
