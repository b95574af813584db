// Field: what a CSV field holds: quotes taken off, null words found (docs/text_forms.md).
#ifndef SBC_STDLIB_FIELD_H
#define SBC_STDLIB_FIELD_H

#include "runtime/abi/call.h"
#include "stdlib/json.h"

typedef struct SbFieldRules {
    const SbStr *nulls;
    uint32_t     null_count;
    char         quote;    // 0: none.
    uint8_t      number;   // Outer spaces do not count.
    uint8_t      is_text;  // A str: an empty field is a value unless it is a null word.
    char         thousands;  // Of numbers: stands between groups of three digits; 0: nothing does.
} SbFieldRules;

// SB_OK with the text of the field, quotes taken off, and of a number what stands between groups of
// digits. SB_NULL for an unquoted null word.
// SB_FAULT_MISSING for an empty unquoted field that is neither a null word nor a text. Or
// SB_FAULT_TOO_LARGE.
int32_t sb_field_text(SbCall *call, const SbFieldRules *rules, const char *ptr, int64_t len,
                      SbStr *out);

// Is the unquoted field a null word?
bool sb_field_is_null(const SbFieldRules *rules, const char *ptr, int64_t len);

// A field that holds one JSON value, as a value (list, struct, json) in memory layout.
int32_t sb_field_json(SbCall *call, SbJsonAs as, const char *ptr, int64_t len, void *out);

#endif
