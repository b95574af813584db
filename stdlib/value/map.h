// Map: functions over maps. `type` is the map's, whose elements are entries {key: str, value: T} in
// memory layout. Keys stand in the order in which they came, and none stands twice.
#ifndef SBC_STDLIB_MAP_H
#define SBC_STDLIB_MAP_H

#include "runtime/abi/call.h"

// SB_OK, SB_FAULT_DUPLICATE_KEY, or SB_FAULT_TOO_LARGE. Keeps no memory.
int32_t sb_map_check(SbCall *call, const SbType *type, SbList entries);

// SB_NULL where the map has no such key, or null there.
int32_t sb_map_get(const SbType *type, SbList map, SbStr key, void *out);
bool sb_map_has(const SbType *type, SbList map, SbStr key);

// A view.
SbList sb_map_entries(SbList map);

// Made in scratch memory: SB_OK or SB_FAULT_TOO_LARGE.
int32_t sb_map_keys(SbCall *call, const SbType *type, SbList map, SbList *out);
int32_t sb_map_values(SbCall *call, const SbType *type, SbList map, SbList *out);

// From a list of entries, a view of it: SB_FAULT_DUPLICATE_KEY too. `type` is the list's.
int32_t sb_map_of(SbCall *call, const SbType *type, SbList entries, SbList *out);

#endif
