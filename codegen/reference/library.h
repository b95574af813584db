// Library: how the interpreter reaches the C of the standard library: values in memory layout,
// types as SbType, functions by name.
#ifndef SBC_CODEGEN_REFERENCE_LIBRARY_H
#define SBC_CODEGEN_REFERENCE_LIBRARY_H

#include "codegen/reference/value.h"
#include "runtime/abi.h"

struct SbRegex;
struct SbZone;

// The function `symbol` of the program, or null.
void *library_symbol(Text symbol);
// The same, or what a user's C file defines.
void *library_function(const FnRef *fn);

// The type as the library wants it, in `arena`.
const SbType *library_type(Arena *arena, const Type *type);

// Writes a value in memory layout (its flag too, when the type is nullable) and reads it back.
void  library_put(Arena *arena, const Type *type, const Value *value, void *memory);
Value library_get(Arena *arena, const Type *type, const void *memory);

// The rules of a zone by name, or null for UTC and for a name that is none.
const struct SbZone *library_zone(Text name);
// The rules of a zone by the number that sb_zone_number gives.
const struct SbZone *library_zone_at(int64_t number);
// Seconds of a wall clock in the zone as seconds since the epoch.
int64_t library_zone_to_utc(const struct SbZone *zone, int64_t local);

// The tables of a pattern, or null for one that is none.
struct SbRegex *library_regex(Text pattern);
void            library_regex_free(struct SbRegex *regex);

#endif
