// The steps over JSON text that the checker and the readers share. Private to stdlib/json_*.c.
#ifndef SBC_STDLIB_JSON_TEXT_H
#define SBC_STDLIB_JSON_TEXT_H

#include "stdlib/json.h"

static inline const char *sb_json_space(const char *at, const char *end) {
    while (at < end && (uint8_t)*at <= ' ') {  // Mostly there is none.
        if (*at != ' ' && *at != '\t' && *at != '\n' && *at != '\r') break;
        at++;
    }
    return at;
}

// Behind the closing quote of the valid string whose opening quote is at `at`.
static inline const char *sb_json_string_end(const char *at) {
    for (at++; *at != '"'; at++) at += *at == '\\';
    return at + 1;
}

// Behind the value that starts at `at`; its grammar was checked and it ends at `end` at the latest.
const char *sb_json_value_end(const char *at, const char *end);

// Four hexadecimal digits, or -1.
static inline int32_t sb_json_hex4(const char *at) {
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        const char c = at[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9') value = value << 4 | (c - '0');
        else if (lower >= 'a' && lower <= 'f') value = value << 4 | (lower - 'a' + 10);
        else return -1;
    }
    return value;
}

// The code point of the \u escape at `at` (the backslash), moving it on; -1 for half a pair.
static inline int32_t sb_json_escaped_point(const char **at) {
    int32_t unit = sb_json_hex4(*at + 2);
    *at += 6;
    if (unit < 0xd800 || unit >= 0xe000) return unit;
    if (unit >= 0xdc00 || (*at)[0] != '\\' || (*at)[1] != 'u') return -1;
    int32_t low = sb_json_hex4(*at + 2);
    if (low < 0xdc00 || low >= 0xe000) return -1;
    *at += 6;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

#endif
