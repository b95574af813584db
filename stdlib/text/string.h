// String: searching, cutting and building texts. Positions and lengths count characters from 0; a
// negative position counts from the end. Texts are valid UTF-8.
#ifndef SBC_STDLIB_STRING_H
#define SBC_STDLIB_STRING_H

#include "runtime/abi/call.h"

// ---- looking (string.c): nothing is allocated, results are views --------------------------------

int64_t sb_str_len(SbStr s);
int64_t sb_byte_len(SbStr s);
bool sb_is_ascii(SbStr s);
bool sb_contains(SbStr s, SbStr part);
bool sb_starts_with(SbStr s, SbStr part);
bool sb_ends_with(SbStr s, SbStr part);
int32_t sb_index_of(SbStr s, SbStr part, int64_t *out);
int32_t sb_last_index_of(SbStr s, SbStr part, int64_t *out);
int64_t sb_count_of(SbStr s, SbStr part);
SbStr sb_trim(SbStr s);
SbStr sb_ltrim(SbStr s);
SbStr sb_rtrim(SbStr s);
SbStr sb_trim_of(SbStr s, SbStr chars);
SbStr sb_ltrim_of(SbStr s, SbStr chars);
SbStr sb_rtrim_of(SbStr s, SbStr chars);
SbStr sb_remove_prefix(SbStr s, SbStr part);
SbStr sb_remove_suffix(SbStr s, SbStr part);
SbStr sb_substr(SbStr s, int64_t begin, int64_t count);
SbStr sb_substr_rest(SbStr s, int64_t begin);
SbStr sb_left(SbStr s, int64_t count);
SbStr sb_right(SbStr s, int64_t count);
SbStr sb_basename(SbStr path);
SbStr sb_dirname(SbStr path);
SbStr sb_extension(SbStr path);
SbStr sb_stem(SbStr path);
int32_t sb_split_part(SbStr s, SbStr separator, int64_t index, SbStr *out);
int32_t sb_char_code(SbStr s, int64_t *out);
int32_t sb_str_of_bytes(SbStr bytes, SbStr *out);
SbStr sb_bytes_of_str(SbStr s);

// First occurrence of `part` at or after byte `from`, or -1. `part` is not empty.
int64_t sb_find_bytes(SbStr s, SbStr part, int64_t from);

// Bytes of the character that begins with this byte.
static inline int64_t sb_utf8_bytes(char lead) {
    uint8_t c = (uint8_t)lead;
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static inline bool sb_utf8_inside(char c) { return ((uint8_t)c & 0xc0) == 0x80; }

// The code point of the character at ptr.
static inline uint32_t sb_utf8_read(const char *ptr) {
    const uint8_t *s = (const uint8_t *)ptr;
    if (s[0] < 0x80) return s[0];
    if (s[0] < 0xe0) return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    if (s[0] < 0xf0) return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    return (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
}

// Unicode's White_Space.
static inline bool sb_is_space(uint32_t c) {
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

// ---- making (string_make.c) ---------------------------------------------------------------------

int32_t sb_replace(SbCall *call, SbStr s, SbStr part, SbStr with, SbStr *out);
int32_t sb_replace_first(SbCall *call, SbStr s, SbStr part, SbStr with, SbStr *out);
int32_t sb_repeat(SbCall *call, SbStr s, int64_t count, SbStr *out);
int32_t sb_reverse(SbCall *call, SbStr s, SbStr *out);
int32_t sb_pad_left(SbCall *call, SbStr s, int64_t width, SbStr *out);
int32_t sb_pad_right(SbCall *call, SbStr s, int64_t width, SbStr *out);
int32_t sb_pad_left_with(SbCall *call, SbStr s, int64_t width, SbStr fill, SbStr *out);
int32_t sb_pad_right_with(SbCall *call, SbStr s, int64_t width, SbStr fill, SbStr *out);
int32_t sb_split(SbCall *call, SbStr s, SbStr separator, SbList *out);
int32_t sb_join(SbCall *call, SbList parts, SbStr separator, SbStr *out);
int32_t sb_lines_of(SbCall *call, SbStr s, SbList *out);
int32_t sb_words(SbCall *call, SbStr s, SbList *out);
// Each character of `from` becomes that of `to` at its position, or goes where `to` is shorter.
int32_t sb_translate(SbCall *call, SbStr s, SbStr from, SbStr to, SbStr *out);
int32_t sb_char_of(SbCall *call, int64_t code, SbStr *out);

// ---- case and normal forms (unicode.c): Unicode 15, simple mappings -----------------------------

int32_t sb_upper(SbCall *call, SbStr s, SbStr *out);
int32_t sb_lower(SbCall *call, SbStr s, SbStr *out);
int32_t sb_title(SbCall *call, SbStr s, SbStr *out);
int32_t sb_capitalize(SbCall *call, SbStr s, SbStr *out);
int32_t sb_strip_accents(SbCall *call, SbStr s, SbStr *out);
int32_t sb_nfc(SbCall *call, SbStr s, SbStr *out);
int32_t sb_nfkc(SbCall *call, SbStr s, SbStr *out);

#endif
