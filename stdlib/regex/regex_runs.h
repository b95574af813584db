// Regex runs: patterns like [a-z0-9]+ (REGEX_RUNS), 64 bytes at a time.
#ifndef SBC_STDLIB_REGEX_RUNS_H
#define SBC_STDLIB_REGEX_RUNS_H

#include "stdlib/regex/regex.h"
#include "stdlib/text.h"

// Bit i: byte i is in the set.
static inline uint64_t regex_run_mask(const SbRegex *regex, const char *ptr) {
    Bytes64 bytes = bytes64_load(ptr), in = {0};
    for (uint32_t i = 0; i < regex->run_ranges; i++) {
        in |= (Bytes64)(bytes - regex->run_first[i] <= regex->run_span[i]);
    }
    return bytes64_mask(in);
}

// The same from text[at] on; `at` <= text.len.
static inline uint64_t regex_run_mask_until(const SbRegex *regex, SbStr text, int64_t at) {
    return bytes64_until(regex_run_mask(regex, text.ptr + at), text.len - at);
}

#endif
