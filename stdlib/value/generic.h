// Generic: compare, hash and copy a value of which only the SbType is known.
//
// The rules are those of keys (docs/reference.md, Equality): null is equal to null and greatest,
// then NaN, equal to itself; -0.0 is 0.0. str, bytes and json compare by bytes. Lists element by
// element, the shorter first. Structs field by field.
#ifndef SBC_STDLIB_GENERIC_H
#define SBC_STDLIB_GENERIC_H

#include "runtime/abi/value.h"

// < 0, 0 or > 0. `a` and `b` point to values in memory layout, nullable ones with their flag.
int32_t sb_compare(const SbType *type, const void *a, const void *b);

// Equal values under sb_compare give equal hashes. Not visible in outputs: see digest.h.
uint64_t sb_hash_value(uint64_t hash, const SbType *type, const void *value);

// The bits of a float of any width as a key: one for NaN, one for both zeros.
uint64_t sb_float_key(const SbType *type, const void *value);

// Order of two texts by bytes.
int32_t sb_compare_bytes(SbStr a, SbStr b);

#endif
