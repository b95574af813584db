// JSON access: looking into a value of type json, whose grammar was checked when it was made.
//
// A path is keys and positions: "address.lines[0]", "[2].id", `"odd key".x`; "" is the value
// itself. A $ in front stands for that too: "$.address". Keys that are $ or * have to be quoted.
// For functions of many values "[*]" and "*" are all parts of a list or struct. A negative position
// counts from the end. Of equal keys the first counts. What is not there, and null, is null. A
// value of another kind is SB_FAULT_JSON_TYPE, a wrong path SB_FAULT_BAD_ARGUMENT.
#ifndef SBC_STDLIB_JSON_ACCESS_H
#define SBC_STDLIB_JSON_ACCESS_H

#include "runtime/abi/call.h"

// Where a path goes wrong, or -1. `many`: may * stand in it?
int64_t sb_json_path_fault(SbStr path, bool many);

int32_t sb_json_get(SbCall *call, SbStr json, SbStr path, SbStr *out);
int32_t sb_json_get_str(SbCall *call, SbStr json, SbStr path, SbStr *out);
int32_t sb_json_get_i64(SbCall *call, SbStr json, SbStr path, int64_t *out);
int32_t sb_json_get_f64(SbCall *call, SbStr json, SbStr path, double *out);
int32_t sb_json_get_bool(SbCall *call, SbStr json, SbStr path, bool *out);
int32_t sb_json_kind(SbCall *call, SbStr json, SbStr *out);
int32_t sb_json_len(SbCall *call, SbStr json, int64_t *out);
int32_t sb_json_keys(SbCall *call, SbStr json, SbList *out);
int32_t sb_json_items(SbCall *call, SbStr json, SbList *out);
int32_t sb_json_values(SbCall *call, SbStr json, SbList *out);
// All values that a path with * leads to, in their order; none for what is not there or null.
int32_t sb_json_all(SbCall *call, SbStr json, SbStr path, SbList *out);
int32_t sb_json_all_str(SbCall *call, SbStr json, SbStr path, SbList *out);
int32_t sb_json_all_i64(SbCall *call, SbStr json, SbStr path, SbList *out);
int32_t sb_json_all_f64(SbCall *call, SbStr json, SbStr path, SbList *out);
int32_t sb_json_all_bool(SbCall *call, SbStr json, SbStr path, SbList *out);
int32_t sb_json_parse(SbCall *call, SbStr text, SbStr *out);
int32_t sb_json_of(SbCall *call, const SbType *type, const void *x, SbStr *out);

#endif
