// UTF-8: is a text valid, and how many characters does it hold.
#ifndef SBC_STDLIB_UTF8_H
#define SBC_STDLIB_UTF8_H

#include "runtime/abi/value.h"

// Is it well-formed UTF-8 (RFC 3629: no surrogates, nothing overlong, at most U+10FFFF)? Reads up
// to SB_SLACK bytes past the end. After Keiser and Lemire, "Validating UTF-8 In Less Than One
// Instruction Per Byte" (arXiv 2010.03090).
bool sb_utf8_valid(const char *ptr, int64_t len);

// Characters of a valid text.
int64_t sb_utf8_count(const char *ptr, int64_t len);

// Writes a code point (a scalar value) as UTF-8; returns the bytes written, 1 to 4.
static inline int sb_utf8_put(char *out, uint32_t point) {
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

#endif
