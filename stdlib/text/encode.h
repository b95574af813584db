// Encode: bytes and texts as base64, hexadecimal digits and URL text, and back.
#ifndef SBC_STDLIB_ENCODE_H
#define SBC_STDLIB_ENCODE_H

#include "runtime/abi/call.h"

// Of a hexadecimal digit; -1: it is none.
int sb_hex_value(char c);
int32_t sb_base64_encode(SbCall *call, SbStr bytes, SbStr *out);
int32_t sb_base64_decode(SbCall *call, SbStr text, SbStr *out);
int32_t sb_hex_encode(SbCall *call, SbStr bytes, SbStr *out);
int32_t sb_hex_decode(SbCall *call, SbStr text, SbStr *out);
// RFC 3986: all but letters, digits and -._~ as %XX. Decoding leaves + alone.
int32_t sb_url_encode(SbCall *call, SbStr text, SbStr *out);
int32_t sb_url_decode(SbCall *call, SbStr text, SbStr *out);
// Numbers by a pattern: ["+"] ["0"] [width] [","] ["." decimals] ["f" | "e" | "%" | "x"].
// Is the text a format of numbers; of integers, if `whole`?
bool sb_format_is_good(SbStr text, bool whole);
int32_t sb_format_f64(SbCall *call, double x, SbStr spec, SbStr *out);
int32_t sb_format_i64(SbCall *call, int64_t x, SbStr spec, SbStr *out);

#endif
