// json_oracle.h: RFC 8259 by recursive descent, one function a rule, to compare the scanner with.
#ifndef SBC_TESTS_UNIT_JSON_ORACLE_H
#define SBC_TESTS_UNIT_JSON_ORACLE_H

#include "stdlib/json/json.h"

#include <string.h>

enum { ORACLE_KEYS = 8 };

// Each returns behind what it read, or null.
static inline const char *oracle_value(const char *at, const char *end);

static inline const char *oracle_space(const char *at, const char *end) {
    while (at < end && memchr(" \t\n\r", *at, 4)) at++;
    return at;
}

static inline const char *oracle_string(const char *at, const char *end) {
    if (at == end || *at++ != '"') return nullptr;
    for (; at < end && *at != '"'; at++) {
        if ((unsigned char)*at < 0x20) return nullptr;
        if (*at != '\\') continue;
        if (++at == end) return nullptr;
        if (*at != 'u') {
            if (!memchr("\"\\/bfnrt", *at, 8)) return nullptr;
            continue;
        }
        for (int i = 0; i < 4; i++) {
            if (++at == end || !memchr("0123456789abcdefABCDEF", *at, 22)) return nullptr;
        }
    }
    return at < end ? at + 1 : nullptr;
}

static inline const char *oracle_digits(const char *at, const char *end) {
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at > start ? at : nullptr;
}

static inline const char *oracle_number(const char *at, const char *end) {
    if (at < end && *at == '-') at++;
    if (at < end && *at == '0') at++;
    else if (!(at = oracle_digits(at, end))) return nullptr;
    if (at < end && *at == '.' && !(at = oracle_digits(at + 1, end))) return nullptr;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        at = oracle_digits(at, end);
    }
    return at;
}

static inline const char *oracle_items(const char *at, const char *end, bool object) {
    char close = object ? '}' : ']';
    at = oracle_space(at + 1, end);
    if (at < end && *at == close) return at + 1;
    for (;;) {
        at = oracle_space(at, end);
        if (object) {
            if (!(at = oracle_string(at, end))) return nullptr;
            at = oracle_space(at, end);
            if (at == end || *at++ != ':') return nullptr;
            at = oracle_space(at, end);
        }
        if (!(at = oracle_value(at, end))) return nullptr;
        at = oracle_space(at, end);
        if (at == end) return nullptr;
        if (*at == close) return at + 1;
        if (*at++ != ',') return nullptr;
    }
}

static inline const char *oracle_value(const char *at, const char *end) {
    if (at == end) return nullptr;
    switch (*at) {
    case '{': return oracle_items(at, end, true);
    case '[': return oracle_items(at, end, false);
    case '"': return oracle_string(at, end);
    case 't': return end - at >= 4 && memcmp(at, "true", 4) == 0 ? at + 4 : nullptr;
    case 'f': return end - at >= 5 && memcmp(at, "false", 5) == 0 ? at + 5 : nullptr;
    case 'n': return end - at >= 4 && memcmp(at, "null", 4) == 0 ? at + 4 : nullptr;
    default: return oracle_number(at, end);
    }
}

static inline bool oracle_is_object(const char *at, const char *end) {
    at = oracle_space(at, end);
    if (at == end || *at != '{' || !(at = oracle_value(at, end))) return false;
    return oracle_space(at, end) == end;
}

// Do the slots name the members of a valid object with these names? Keys without escapes only.
static inline bool oracle_slots_agree(const char *at, const char *end, const SbJsonShape *shape,
                                      const SbJsonSlot *slots) {
    uint32_t seen[ORACLE_KEYS] = {0};
    at = oracle_space(at, end) + 1;
    for (at = oracle_space(at, end); *at != '}';) {
        const char *key = at + 1;
        at = oracle_string(at, end);
        int64_t len = at - 1 - key;
        at = oracle_space(at, end) + 1;
        at = oracle_space(at, end);
        const char *value = at;
        at = oracle_value(at, end);
        for (uint32_t i = 0; i < shape->count; i++) {
            SbStr name = shape->keys[i].name;
            if (name.len != len || memcmp(name.ptr, key, (size_t)len) != 0) continue;
            seen[i]++;
            if (slots[i].twice) continue;
            if (slots[i].ptr != value || slots[i].len != at - value) return false;
        }
        at = oracle_space(at, end);
        if (*at == ',') at = oracle_space(at + 1, end);
    }
    for (uint32_t i = 0; i < shape->count; i++) {
        if ((seen[i] > 0) != (slots[i].kind != SB_JSON_MISSING)) return false;
        if ((seen[i] > 1) != slots[i].twice) return false;
    }
    return true;
}

#endif
